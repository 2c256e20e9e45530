"""A server in a thread of the test's process, on a small store."""

import garden
import pytest
from databases import open_filled
from raw_sessions import ANALYSTS, VIEWERS, running

from topiary.app.live.actions import Actions
from topiary.app.live.feed import Feed
from topiary.app.server import serve
from topiary.app.server.access import Authentication, Passwords
from topiary.app.server.hosts import Hosts
from topiary.app.server.visit import Site
from topiary.store import corpora


@pytest.fixture
def make_site(tmp_path):
    """Make what all sessions share, with passwords or without."""
    db = open_filled(tmp_path / "store.db", garden.plant)
    row = garden.begin(db, corpora.list_corpora(db)[0].number, "second spring")
    garden.advance(db, row, 10, snapshot=True)
    feed = Feed(db)
    feed.look_now()
    actions = Actions(db.url, feed)
    yield lambda passwords: Site(db, feed, actions, {}, Authentication(passwords))
    feed.stop()
    actions.close()
    db.close()


@pytest.fixture
def site(make_site):
    """What all sessions of a server with two passwords share."""
    return make_site(Passwords(ANALYSTS, VIEWERS))


def _running(site, **reach):
    return running(lambda: serve._bind_server(site, "127.0.0.1", 0, serve.ServerReach(Hosts("127.0.0.1"), **reach)))


@pytest.fixture
def server(site):
    """A server with two passwords."""
    with _running(site) as found:
        yield found


@pytest.fixture
def open_server(make_site):
    """A server without passwords."""
    with _running(make_site(Passwords())) as found:
        yield found
