"""A store to import into."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from databases import open_filled

from topiary.app.ingest.readers import counts_arrays
from topiary.store.database import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty store in a file."""
    database = open_filled(tmp_path / "store" / "corpora.db")
    yield database
    database.close()


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """MATLAB files are read in this process: another one, which a test of its own starts, loads SciPy for each."""
    monkeypatch.setattr(counts_arrays, "read_apart", counts_arrays.read_arrays)
