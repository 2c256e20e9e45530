"""``python -m tests.faults``: put every fault in, and print a table of how many cost anything.

Whoever runs it needs PostgreSQL's programs; without them the rows about it are left out, and without
root on Linux the row about a network.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is there, as the launcher starts workers

from tests.faults import cluster_scenes as clusters  # noqa: E402
from tests.faults.children import Bench, Outcome  # noqa: E402
from tests.faults.scenes import SCENES, Scene, restarted, restarted_often  # noqa: E402
from tests.samples.databases import Server, programs, schema  # noqa: E402


def main(argv: list[str] | None = None) -> int:
    """Print the table; the status is 1 when anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, help="kill -9 on SQLite (default 1000; on PostgreSQL a fifth of it)")
    parser.add_argument("--times", type=int, help="how often every other fault is put in, at most")
    parser.add_argument("--on", choices=("sqlite", "postgresql"), help="only on this database")
    parser.add_argument("--only", default="", metavar="WORD", help="only faults whose function has this in its name")
    parser.add_argument("--sample", action="store_true", help="a few of each, as in the suite")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    arguments = parser.parse_args(argv)
    logger = logging.getLogger("topiary")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        return _table(arguments)
    finally:
        logger.setLevel(level)


def _table(arguments: argparse.Namespace) -> int:
    """Print a row for every fault that is wanted."""
    outcomes = []
    _say("| fault | on | injected | lost | seconds |\n| --- | --- | --- | --- | --- |")
    for scene in (*SCENES, *clusters.CLUSTER_SCENES):
        if arguments.only not in scene.function.__name__:
            continue
        if arguments.on not in (None, scene.database):
            continue
        if scene.database == "postgresql" and programs() is None:
            continue
        if scene.function is clusters.cluster_network_cut and not clusters.can_cut():
            continue
        number = _number(scene, arguments)
        began = time.monotonic()
        found = play(scene, number, arguments.seed)
        outcomes.append(found)
        database = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[scene.database]
        seconds = time.monotonic() - began
        _say(f"| {scene.name} | {database} | {found.injected:,} | {found.lost} | {seconds:,.0f} |")
    return int(any(outcome.lost for outcome in outcomes))


def _number(scene: Scene, arguments: argparse.Namespace) -> int:
    """How often a fault is put in."""
    if scene.function.__name__ == "killed" and arguments.kills is not None:
        return max(1, arguments.kills // (5 if scene.database == "postgresql" else 1))
    if scene.function.__name__ == "killed" or arguments.times is None:
        return scene.sample if arguments.sample else scene.number
    return min(arguments.times, scene.number)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def play(scene: Scene, number: int, seed: int = 1, **more: float) -> Outcome:
    """Put a fault in so many times, on a bench of its own."""
    with _bench(scene, seed) as (bench, server):
        if scene.function in (restarted, restarted_often, clusters.cluster_server_restarted):
            return scene.function(bench, number, lambda: _restart(server))
        return scene.function(bench, number, **more)


@contextmanager
def _bench(scene: Scene, seed: int) -> Iterator[tuple[Bench, Server | None]]:
    with ExitStack() as stack:
        server = None
        if scene.database == "sqlite":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="topiary-faults-")))
            url = f"sqlite:///{folder / 'store.db'}"
        else:
            found = programs()
            assert found is not None
            server = stack.enter_context(Server(found))
            url = stack.enter_context(schema(server.url))
        if scene in clusters.CLUSTER_SCENES:
            yield stack.enter_context(clusters.bench_of(scene, url, seed)), server
        else:
            yield Bench(url, seed), server


def _restart(server: Server | None) -> None:
    assert server is not None
    server.stop()
    time.sleep(1.0)
    server.start()


if __name__ == "__main__":
    sys.exit(main())
