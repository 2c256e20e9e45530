"""Real workers on small corpora: on SQLite, and where the dialect may matter on PostgreSQL too."""

from contextlib import closing

import pytest
from databases import database_url, db, parametrize_databases, postgresql_server
from process_samples import SMALL, open_copy, order, small_corpus, writing_seldom

from topiary.app.jobs import compile_kernels, trainer
from topiary.engine import models, settings
from topiary.store.database import open_database

__all__ = ["database_url", "db", "postgresql_server"]


def pytest_generate_tests(metafunc):
    """Run a test on SQLite alone, and at night on both if it is marked: what lies below has tests on both."""
    both = metafunc.definition.get_closest_marker("dialects") is not None
    parametrize_databases(metafunc, both=both, marks=(pytest.mark.nightly,))


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Kernels are compiled once before the tests, so that no test waits for several workers to do it."""
    config = settings.to_json(settings.parse(models.load("dlda").Config, SMALL))
    for averaged in (False, True):
        request = compile_kernels.KernelRequest("dlda", config, real=False, scored=False, averaged=averaged)
        for part in compile_kernels.PARTS:
            compile_kernels.compile_part(request, part)


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Logs go to the test's own folder, and as many workers may run as a test starts."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setenv("TOPIARY_WORKERS", "4")
    monkeypatch.delenv("TOPIARY_STORE", raising=False)


@pytest.fixture(scope="module")
def seldom():
    """Short runs of this process write some snapshots and checkpoints, and not both at every step."""
    with writing_seldom():
        yield


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory):
    """A folder whose ``store.db`` has a small corpus, to be copied."""
    folder = tmp_path_factory.mktemp("corpus")
    with closing(open_database(str(folder / "store.db"))) as database:
        small_corpus(database)
    return folder


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory, corpus_folder):
    """A folder whose ``store.db`` has a small corpus and a finished run on it, number 1, to be copied."""
    folder = tmp_path_factory.mktemp("trained")
    with closing(open_copy(corpus_folder, folder)) as database, writing_seldom():
        trainer.train_run(database, order(database).number)
    return folder


@pytest.fixture
def file(corpus_folder, tmp_path):
    """A small corpus in a store of SQLite, for tests that PostgreSQL does not change."""
    database = open_copy(corpus_folder, tmp_path)
    yield database
    database.close()


@pytest.fixture
def trained(trained_folder, tmp_path):
    """A store of SQLite with a small corpus and a finished run on it, number 1."""
    database = open_copy(trained_folder, tmp_path)
    yield database
    database.close()
