"""A store of its own and the feed that reads it, for tests of what pages read."""

import pytest
from databases import open_filled

from topiary.app.live.feed import Feed


@pytest.fixture
def db(tmp_path):
    database = open_filled(tmp_path / "store.db")
    yield database
    database.close()


@pytest.fixture
def feed(db):
    made = Feed(db)
    yield made
    made.stop()
