"""What every test of Watch begins with."""

import pytest
from process_samples import small_corpus

from store.database import open_database


@pytest.fixture
def db(tmp_path):
    """A store with a small corpus."""
    opened = open_database(str(tmp_path / "store.db"))
    small_corpus(opened)
    yield opened
    opened.close()
