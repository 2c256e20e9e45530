"""Several programs at one store: nobody is locked out, nobody loses, nobody writes behind another's back."""

import threading

import numpy as np
import pytest
from sqlalchemy import select
from store_samples import block, claimed_run, new_run, python, write_corpus

from store import checkpoints, corpora, corpus_writer, points, runs, snapshots, tables
from store.database import open_database
from store.errors import Conflict
from store.points import Point

READER = """
import sys
from store import checkpoints, corpora, points, runs, snapshots
from store.database import open_database

db = open_database(sys.argv[1], readonly=True)
run, cursor, seen, polls = int(sys.argv[2]), 0, 0, 0
print("ready", flush=True)
while True:
    row = runs.get(db, run)
    new, cursor = points.since(db, run, cursor)
    assert [point.minibatch for _, point in new] == list(range(seen + 1, seen + 1 + len(new)))
    seen += len(new)
    corpora.every(db)
    runs.every(db)
    points.series(db, run, "elbo", most=50)
    latest = snapshots.latest(db, run)
    if latest is not None:
        assert snapshots.load(db, latest.number)["r"][0] == latest.minibatch
    polls += 1
    if row.state == "finished" and not new:
        break
print(seen, polls > 3, flush=True)
db.close()
"""

WRITER = """
import sys
import numpy as np
from store import checkpoints, points, runs, snapshots
from store.database import open_database
from store.points import Point

db = open_database(sys.argv[1])
run = int(sys.argv[2])
attempt = runs.claim(db, run, {}).attempt
print("ready", flush=True)
sys.stdin.readline()
for m in range(1, 61):
    runs.beat(db, run, attempt, minibatch=m, seconds=m, points=[Point(m, m, m, "elbo", 0, m)])
    if m % 10 == 0:
        snapshots.append(db, run, attempt, m, m, {"r": np.full(3, m)})
        checkpoints.save_checkpoint(db, run, attempt, m, m, {"r": np.random.default_rng(m).random(200_000)}, {})
runs.finish(db, run, attempt, "finished")
db.close()
print("done", flush=True)
"""

CHECKPOINT = """
import sys
import time
import numpy as np
from store import checkpoints, runs
from store.database import open_database

db = open_database(sys.argv[1])
run, where = int(sys.argv[2]), sys.argv[3]
attempt = runs.claim(db, run, {}).attempt
checkpoints._PART_BYTES = 1000
old = {str(i): np.full(200, i) for i in range(8)}
checkpoints.save_checkpoint(db, run, attempt, 10, 1.0, old, {"which": "old"})

def hang():
    print("now", flush=True)
    time.sleep(600)

real = getattr(checkpoints, where)
calls = []

def stop_inside(connection, **values):
    result = real(connection, **values)
    calls.append(1)
    if where != "_add_part" or len(calls) == 3:
        hang()
    return result

setattr(checkpoints, where, stop_inside)
new = {str(i): np.random.default_rng(i).random(200) for i in range(8)}
checkpoints.save_checkpoint(db, run, attempt, 20, 2.0, new, {"which": "new"})
"""

IMPORT = """
import sys
import time
from store import checkpoints, corpora
from store.database import open_database
from store_samples import LABELS, WORDS, block

with corpora.writer(open_database(sys.argv[1]), "killed", WORDS, label_names=LABELS) as writer:
    writer.add(block(0))
    print("now", flush=True)
    time.sleep(600)
"""


def finished(process):
    """What a process printed; it must have ended well and said nothing on its error stream."""
    output, errors = process.communicate("go\n" if process.stdin else None, timeout=120)
    assert (process.returncode, errors) == (0, ""), errors
    return output


def killed_at(process, line):
    """Kill a process (SIGKILL; on Windows, TerminateProcess) when it has printed a line."""
    assert process.stdout.readline() == line, process.communicate()[1]
    process.kill()
    process.communicate()


def test_readers_that_poll_while_a_worker_writes_see_every_point_once_and_no_lock(db, database_url):
    run = claimed_run(db)
    readers = [python(READER, database_url, str(run.number)) for _ in range(2)]
    assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 2
    for m in range(1, 101):
        runs.beat(db, run.number, 1, minibatch=m, seconds=m, points=[Point(m, m, m, "elbo", 0, m)])
        if m % 5 == 0:
            snapshots.append(db, run.number, 1, m, m, {"r": np.full(3, m)})
        if m % 25 == 0:
            checkpoints.save_checkpoint(db, run.number, 1, m, m, {"r": np.random.default_rng(m).random(100_000)}, {})
            write_corpus(db, f"corpus {m}")
    runs.finish(db, run.number, 1, "finished")
    assert [finished(reader) for reader in readers] == ["100 True\n"] * 2


def test_workers_that_write_at_the_same_time_all_get_through(db, database_url):
    numbers = [new_run(db).number for _ in range(3)]
    workers = [python(WRITER, database_url, str(number)) for number in numbers]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 3
    assert [finished(worker) for worker in workers] == ["done\n"] * 3
    for number in numbers:
        assert [point.minibatch for point in points.table(db, number)] == list(range(1, 61))
        assert [row.minibatch for row in snapshots.every(db, number)] == list(range(10, 61, 10))
        assert checkpoints.load_checkpoint(db, number).minibatch == 60


def test_of_workers_that_claim_at_once_exactly_one_wins(db, database_url):
    for _ in range(5):
        number = new_run(db).number
        databases = [open_database(database_url) for _ in range(4)]
        start, outcomes = threading.Barrier(4), []

        def claim(database, number=number, start=start, outcomes=outcomes):
            start.wait()
            try:
                outcomes.append(runs.claim(database, number, {}).attempt)
            except Conflict as error:
                outcomes.append(str(error))

        threads = [threading.Thread(target=claim, args=(database,)) for database in databases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for database in databases:
            database.close()
        assert outcomes.count(1) == 1, outcomes
        assert sum("already being trained" in str(outcome) for outcome in outcomes) == 3, outcomes


def test_threads_share_one_open_store(db):
    run = claimed_run(db).number
    errors = []

    def work(first):
        try:
            for m in range(first, first + 10):
                points.append(db, run, 1, [Point(m, m, m, "elbo", 0, m)])
                points.since(db, run)
        except Exception as error:  # noqa: BLE001  (whatever it is, the test tells it)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(list(points.table(db, run))) == 60


@pytest.mark.parametrize("where", ["_begin_generation", "_add_part", "_replace"])
def test_a_worker_killed_in_the_middle_of_a_checkpoint_leaves_the_old_one(db, database_url, where):
    run = new_run(db).number
    killed_at(python(CHECKPOINT, database_url, str(run), where), "now\n")
    found = checkpoints.load_checkpoint(db, run)
    assert (found.minibatch, found.meta) == (10, {"which": "old"})
    assert [found.arrays[str(i)].tolist() for i in range(8)] == [[i] * 200 for i in range(8)]
    again = runs.claim(db, run, {}, force=True)
    assert (again.attempt, again.minibatch) == (2, 10)
    with db.read() as connection:
        parts = tables.checkpoint_parts.c.generation
        assert len(connection.execute(select(parts).distinct()).all()) == 1
    checkpoints.save_checkpoint(db, run, 2, 20, 2.0, {"r": np.arange(3)}, {})
    assert checkpoints.load_checkpoint(db, run).minibatch == 20


def test_an_import_that_is_killed_is_never_seen_and_locks_nobody_out(db, database_url):
    killed_at(python(IMPORT, database_url), "now\n")
    assert corpora.every(db) == []
    row = write_corpus(db, "killed")
    assert corpora.find(db, "killed") == row


def test_an_import_does_not_keep_workers_waiting(db):
    run = claimed_run(db)
    other = open_database(db.url)
    other.patience = 0.0
    with corpora.writer(db, "slow", ["a", "b", "c", "d", "e", "f"], label_names=["x", "y"]) as writer:
        writer.add(block(0))
        assert runs.beat(other, run.number, 1, minibatch=1, seconds=1.0) == "run"
        writer.add(block(3))
    other.close()
    assert corpus_writer.ABANDONED_SECONDS >= 600
