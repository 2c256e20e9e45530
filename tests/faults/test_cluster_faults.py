"""A sample of a fault of a cluster, and at night of every fault: nothing is lost by it."""

import sys

import pytest

from tests.faults import cluster_scenes as scenes
from tests.faults.cluster_scenes import CLUSTER_SCENES, bench_of, can_cut
from tests.faults.clusters import Cluster, ClusterBench
from tests.samples.databases import HOW, Server, programs, schema

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="the children are made by forking"),
]
SHORT = 60  # mini-batches
SECONDS = 3.0  # instead of a minute
OWN = (scenes.cluster_network_cut, scenes.cluster_server_restarted)  # which need a cluster or a store of their own
ALWAYS = (scenes.cluster_killed,)
FEW = 1  # kills of a run, instead of ten at night
ON_FILE = [scene for scene in CLUSTER_SCENES if scene.function not in OWN]
NETWORK, SERVER = (scene for scene in CLUSTER_SCENES if scene.function in OWN)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with Cluster() as cluster:
        yield ClusterBench(f"sqlite:///{tmp_path_factory.mktemp('cluster') / 'store.db'}", cluster, SHORT)


@pytest.mark.parametrize(
    ("scene", "kills"),
    [
        *(pytest.param(scene, FEW, id=scene.function.__name__) for scene in ON_FILE if scene.function in ALWAYS),
        *(
            pytest.param(scene, 10, id=f"{scene.function.__name__}, ten times", marks=pytest.mark.nightly)
            for scene in ON_FILE
        ),
    ],
)
def test_nothing_is_lost_by_what_happens_to_a_cluster(bench, scene, kills, monkeypatch):
    monkeypatch.setattr(scenes, "KILLS_OF_A_RUN", kills)
    more = {"seconds": SECONDS} if "stopped" in scene.function.__name__ else {}
    injected, lost = scene.function(bench, scene.sample, **more)
    assert (injected >= 1, lost) == (True, 0)


@pytest.mark.nightly
def test_nothing_is_lost_when_the_network_is_cut(tmp_path):
    if not can_cut():
        pytest.skip("a network of its own needs Linux, the program ip and root")
    with bench_of(NETWORK, f"sqlite:///{tmp_path / 'store.db'}", minibatches=SHORT) as bench:
        assert scenes.cluster_network_cut(bench, NETWORK.sample, seconds=SECONDS) == (1, 0)


@pytest.mark.nightly
@pytest.mark.database
def test_nothing_is_lost_when_the_server_restarts():
    found = programs()
    if found is None:
        pytest.skip(HOW)

    def restart():
        server.stop()
        server.start()

    with Server(found) as server, schema(server.url) as url, bench_of(SERVER, url, minibatches=SHORT) as bench:
        assert scenes.cluster_server_restarted(bench, SERVER.sample, restart) == (1, 0)
