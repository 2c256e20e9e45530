"""Faults of a cluster: of its workers, its scheduler, its network, and the store that all of them read."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.process import BaseProcess

import psutil

from tests.faults.children import Outcome, wait_until
from tests.faults.clusters import Cluster, ClusterBench, Wire
from tests.faults.scenes import Scene

KILLS_OF_A_RUN = 10
LINK = "topiary-fault"  # of the network that is cut; links have names of 15 letters at most
HERE, THERE = "10.213.77.1", "10.213.77.2"


def cluster_killed(bench: ClusterBench, number: int) -> Outcome:
    """``kill -9`` of a worker at random moments, up to ten times in each of so many runs."""
    return _killed(bench, number, 1)


def cluster_two_killed(bench: ClusterBench, number: int) -> Outcome:
    """``kill -9`` of both workers at once, up to ten times in each of so many runs."""
    return _killed(bench, number, 2)


def _killed(bench: ClusterBench, number: int, at_once: int) -> Outcome:
    injected = lost = 0
    for _ in range(number):
        run = bench.order()
        child = bench.start(run)
        kills = 0
        while kills < KILLS_OF_A_RUN and child.exitcode is None:
            child.join(bench.rng.uniform(0.0, bench.seconds / 16))  # while steps are made, or while it begins again
            kills += child.exitcode is None and _kill(bench, at_once)
        injected += kills
        lost += not _as_expected(bench, child, run)
    return Outcome(injected, lost)


def _kill(bench: ClusterBench, at_once: int) -> bool:
    """Kill so many workers, as soon as they are there."""
    wait_until(lambda: len(bench.cluster.workers()) >= at_once)
    there = bench.cluster.workers()
    for chosen in bench.rng.permutation(len(there))[:at_once]:
        with suppress(psutil.NoSuchProcess):
            there[int(chosen)].kill()
    return True


def cluster_worker_stopped(bench: ClusterBench, number: int, seconds: float = 60.0) -> Outcome:
    """SIGSTOP of a worker for a minute, as when a machine hangs."""
    return _stopped(bench, number, seconds, lambda: bench.cluster.workers()[int(bench.rng.integers(2))])


def cluster_scheduler_stopped(bench: ClusterBench, number: int, seconds: float = 60.0) -> Outcome:
    """SIGSTOP of the scheduler for a minute."""
    return _stopped(bench, number, seconds, bench.cluster.scheduler)


def _stopped(bench: ClusterBench, number: int, seconds: float, which: Callable[[], psutil.Process]) -> Outcome:
    lost = 0
    for _ in range(number):
        run, child = _begun(bench)
        process = which()
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
        lost += not _as_expected(bench, child, run)
    return Outcome(number, lost)


def cluster_network_cut(bench: ClusterBench, number: int, seconds: float = 60.0) -> Outcome:
    """The network between the workers and everybody else is gone for a minute."""
    lost = 0
    for _ in range(number):
        run, child = _begun(bench)
        _ip("link", "set", f"{LINK}0", "down")
        time.sleep(seconds)
        _ip("link", "set", f"{LINK}0", "up")
        lost += not _as_expected(bench, child, run)
    return Outcome(number, lost)


def cluster_scheduler_restarted(bench: ClusterBench, number: int) -> Outcome:
    """``kill -9`` of the scheduler, which begins again, and with it the workers."""
    lost = 0
    for _ in range(number):
        run, child = _begun(bench)
        bench.cluster.scheduler().kill()
        lost += not _as_expected(bench, child, run)
    return Outcome(number, lost)


def cluster_server_restarted(bench: ClusterBench, number: int, restart: Callable[[], None]) -> Outcome:
    """The PostgreSQL server restarts, which the run and all workers wait for."""
    lost = 0
    for _ in range(number):
        run, child = _begun(bench)
        restart()
        lost += not _as_expected(bench, child, run)
    return Outcome(number, lost)


def _begun(bench: ClusterBench) -> tuple[int, BaseProcess]:
    """A run, at a random moment."""
    run = bench.order()
    child = bench.start(run)
    child.join(bench.rng.uniform(0.0, bench.seconds))
    wait_until(lambda: len(bench.cluster.workers()) == 2)  # there again after the last fault
    return run, child


def _as_expected(bench: ClusterBench, child: BaseProcess, run: int) -> bool:
    """Whether a run ends within minutes, finished or with a sentence, and in the bits of one that nobody touched."""
    return bench.ended(run, child) and bench.finish(run)


@contextmanager
def wire() -> Iterator[Wire]:
    """A network of its own for workers, which can be cut."""
    with suppress(subprocess.CalledProcessError):
        _ip("netns", "delete", LINK)  # left by a process that was killed
    _ip("netns", "add", LINK)
    try:
        _ip("link", "add", f"{LINK}0", "type", "veth", "peer", "name", f"{LINK}1", "netns", LINK)
        _ip("address", "add", f"{HERE}/24", "dev", f"{LINK}0")
        _ip("link", "set", f"{LINK}0", "up")
        _ip("-n", LINK, "address", "add", f"{THERE}/24", "dev", f"{LINK}1")
        _ip("-n", LINK, "link", "set", f"{LINK}1", "up")
        _ip("-n", LINK, "link", "set", "lo", "up")
        yield Wire(HERE, ("ip", "netns", "exec", LINK))
    finally:
        _ip("netns", "delete", LINK)  # and with it the link


def can_cut() -> bool:
    """Whether this user may make networks here."""
    name = f"{LINK}-{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "delete", name)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def bench_of(scene: Scene, url: str, seed: int = 1, *, minibatches: int = 500) -> Iterator[ClusterBench]:
    """A cluster of two workers for a scene, on the store at an address, which is empty."""
    with ExitStack() as stack:
        line = stack.enter_context(wire()) if scene.function is cluster_network_cut else Wire()
        cluster = stack.enter_context(Cluster(wire=line))
        yield ClusterBench(url, cluster, minibatches, seed)


CLUSTER_SCENES = (
    Scene("a worker of a cluster killed (`kill -9`), up to ten times in a run", "sqlite", cluster_killed, 20, 1),
    Scene("both workers killed at once, up to ten times in a run", "sqlite", cluster_two_killed, 5, 1),
    Scene("a worker stopped for a minute", "sqlite", cluster_worker_stopped, 5, 1),
    Scene("scheduler stopped for a minute", "sqlite", cluster_scheduler_stopped, 5, 1),
    Scene("network of the workers cut for a minute", "sqlite", cluster_network_cut, 5, 1),
    Scene("scheduler killed, and begun again with its workers", "sqlite", cluster_scheduler_restarted, 10, 1),
    Scene("server restarted under a run on a cluster", "postgresql", cluster_server_restarted, 10, 1),
)
