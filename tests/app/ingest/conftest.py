"""A store to import into."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from topiary.store.database import Database, open_database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty store in a file."""
    database = open_database(tmp_path / "store" / "corpora.db")
    yield database
    database.close()
