"""A sample of two faults, and at night of every fault: nothing is lost by it; and what is lost would be counted."""

import sys

import pytest
from sqlalchemy import update

from tests.faults import scenes
from tests.faults.children import MINIBATCHES, Bench
from tests.faults.scenes import SCENES
from tests.samples.databases import Server, programs, schema
from topiary.app.jobs import claim
from topiary.store import tables

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="the children are made by forking")]
ALWAYS = (scenes.killed, scenes.disk_full)  # on SQLite; the others at night
ON_FILE = [scene for scene in SCENES if scene.database == "sqlite"]
ON_SERVER = [scene for scene in SCENES if scene.database == "postgresql"]


def cases(some):
    """Return the parameters of a test of some scenes."""
    return [pytest.param(scene, id=scene.function.__name__, marks=marks_of(scene)) for scene in some]


def marks_of(scene):
    """Which tests of a scene run: some always, and the one that asks for processors with several numbers of them."""
    if scene.database != "sqlite" or scene.function not in ALWAYS:
        return [pytest.mark.nightly]
    return [pytest.mark.cores] if scene.function is scenes.killed else []


@pytest.fixture(scope="module", autouse=True)
def every_beat():
    """The bench lets workers beat at every step; later tests have the usual pace again."""
    usual = claim.BEAT_SECONDS
    yield
    claim.BEAT_SECONDS = usual


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(f"sqlite:///{tmp_path_factory.mktemp('faults') / 'store.db'}")


@pytest.fixture(scope="module")
def server():
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL programs: install PostgreSQL (Debian: apt-get install postgresql)")
    with Server(found) as made:
        yield made


@pytest.fixture(scope="module")
def server_bench(server):
    with schema(server.url) as url:
        yield Bench(url)


@pytest.mark.parametrize("scene", cases(ON_FILE))
def test_nothing_is_lost_on_sqlite(bench, scene):
    more = {"seconds": 1.5} if scene.function is scenes.locked else {}
    injected, lost = scene.function(bench, scene.sample, **more)
    assert (injected >= 1, lost) == (True, 0)


@pytest.mark.database
@pytest.mark.parametrize("scene", cases(ON_SERVER))
def test_nothing_is_lost_on_postgresql(server, server_bench, scene):
    def restart():
        server.stop()
        server.start()

    more = {"restart": restart} if scene.function in (scenes.restarted, scenes.restarted_often) else {}
    injected, lost = scene.function(server_bench, scene.sample, **more)
    assert (injected >= 1, lost) == (True, 0)


def test_a_run_that_differs_in_one_number_counts_as_lost(bench):
    run = bench.order()
    bench.whole(run)
    with bench.store() as db, db.write() as connection:
        mine = (tables.points.c.run == run) & (tables.points.c.minibatch == MINIBATCHES)
        value = tables.points.c.value * (1 + 1e-15)
        connection.execute(
            update(tables.points).where(mine, tables.points.c.name == "point_perplexity").values(value=value)
        )
    assert not bench.is_as_expected(run)
