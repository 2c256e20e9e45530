"""Fixtures every room uses: the shared corpora, and stores on both databases."""

import gc
import os
import sys
from functools import cache, wraps
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from topiary.app.cli import main
from topiary.app.jobs import compile_kernels
from topiary.store import database

# As the launcher starts workers, and before numpy is there: small products lose by threads.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what tests start would compile our modules each time
sys.dont_write_bytecode = False
os.environ["TOPIARY_MAPS"] = "0"  # the tests that look at maps make them
os.nice = lambda _: 0  # what lowers the priority of its own process would lower that of the tests

hypothesis.settings.register_profile(
    "topiary", deadline=None, max_examples=50
)  # machines are shared: what is slow has not failed
hypothesis.settings.load_profile("topiary")

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_collection_finish() -> None:
    """What is imported now stays: the garbage collector shall not look through it again, most of a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests delete and train is logged in a folder of theirs, not among the user's own logs."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session", autouse=True)
def kernels_compiled_here() -> None:
    """Kernels that a run in this process needs are compiled or loaded by it, and not by two more processes before."""
    compile_kernels.start_compilers = wraps(compile_kernels.start_compilers)(lambda request, store: [])


@pytest.fixture(scope="session", autouse=True)
def made_once() -> None:
    """Parser and SQL statements are made once for all commands and files that tests open, not for each anew."""
    main.build_parser = cache(main.build_parser)
    statements, make_engine = LRUCache(5000), database.create_engine
    SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(self) is type(other)
    SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))

    def share_statements(*arguments: Any, **named: Any) -> Any:
        engine = make_engine(*arguments, **named)
        if isinstance(engine.dialect, SQLiteDialect_pysqlite):
            engine._compiled_cache = statements
        return engine

    database.create_engine = share_statements


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test corpora; tests that need it are skipped, with a sentence, where it is absent."""
    folder = Path(os.environ.get("TOPIARY_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the shared corpora at {folder}; set TOPIARY_SHARED_DATA to where they are")
    return folder
