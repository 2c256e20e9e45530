"""A store of its own and the feed that reads it, for tests of what pages read."""

import pytest

from topiary.app.live.feed import Feed
from topiary.store.database import open_database


@pytest.fixture
def db(tmp_path):
    database = open_database(tmp_path / "store.db")
    yield database
    database.close()


@pytest.fixture
def feed(db):
    made = Feed(db)
    yield made
    made.stop()
