"""Several programs at one store: nobody is locked out, nobody loses, nobody writes behind another's back."""

import threading
from functools import partial

import numpy as np
import pytest
from sqlalchemy import select
from store_samples import append_points, block, claimed_run, new_run, python, write_corpus

from topiary.store import checkpoints, corpora, corpus_writer, events, points, run_rows, runs, snapshots, tables
from topiary.store.database import open_database
from topiary.store.errors import Conflict
from topiary.store.points import Point
from topiary.store.run_rows import RunWatch

READER = """
import sys
from topiary.store import checkpoints, corpora, points, runs, snapshots
from topiary.store.database import open_database

db = open_database(sys.argv[1], readonly=True)
run, cursor, seen, polls = int(sys.argv[2]), 0, 0, 0
print("ready", flush=True)
while True:
    row = runs.get_run(db, run)
    new, cursor = points.read_new_points(db, run, cursor)
    assert [point.minibatch for point in new] == list(range(seen + 1, seen + 1 + len(new)))
    seen += len(new)
    corpora.list_corpora(db)
    runs.list_runs(db)
    points.read_series(db, run, "elbo", most=50)
    latest = snapshots.find_latest(db, run)
    if latest is not None:
        assert snapshots.load_snapshot(db, latest.number)["r"][0] == latest.minibatch
    polls += 1
    if row.state == "finished" and not new:
        break
print(seen, polls > 3, flush=True)
db.close()
"""

WRITER = """
import sys
import numpy as np
from topiary.store import checkpoints, points, runs, snapshots
from topiary.store.database import open_database
from topiary.store.points import Point

db = open_database(sys.argv[1])
run = int(sys.argv[2])
attempt = runs.claim_run(db, run, {}).attempt
print("ready", flush=True)
sys.stdin.readline()
for m in range(1, 61):
    runs.record_progress(db, run, attempt, minibatch=m, seconds=m, points=[Point(m, m, m, "elbo", 0, m)])
    if m % 10 == 0:
        snapshots.append_snapshot(db, run, attempt, m, m, {"r": np.full(3, m)})
        checkpoints.save_checkpoint(db, run, attempt, m, m, {"r": np.random.default_rng(m).random(200_000)}, {})
runs.finish_run(db, run, attempt, "finished")
db.close()
print("done", flush=True)
"""

CHECKPOINT = """
import sys
import time
import numpy as np
from topiary.store import arrays, checkpoints, runs
from topiary.store.database import open_database

db = open_database(sys.argv[1])
run, where = int(sys.argv[2]), sys.argv[3]
attempt = runs.claim_run(db, run, {}).attempt
arrays.PART_BYTES = 1000
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
from topiary.store import corpus_writer
from topiary.store.database import open_database
from store_samples import LABELS, WORDS, block

with corpus_writer.write_corpus(open_database(sys.argv[1]), "killed", WORDS, label_names=LABELS) as writer:
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
        runs.record_progress(db, run.number, 1, minibatch=m, seconds=m, points=[Point(m, m, m, "elbo", 0, m)])
        if m % 5 == 0:
            snapshots.append_snapshot(db, run.number, 1, m, m, {"r": np.full(3, m)})
        if m % 25 == 0:
            checkpoints.save_checkpoint(db, run.number, 1, m, m, {"r": np.random.default_rng(m).random(100_000)}, {})
            write_corpus(db, f"corpus {m}")
    runs.finish_run(db, run.number, 1, "finished")
    assert [finished(reader) for reader in readers] == ["100 True\n"] * 2


def test_workers_that_write_at_the_same_time_all_get_through(db, database_url):
    numbers = [new_run(db).number for _ in range(3)]
    workers = [python(WRITER, database_url, str(number)) for number in numbers]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 3
    assert [finished(worker) for worker in workers] == ["done\n"] * 3
    for number in numbers:
        assert [point.minibatch for point in points.read_points(db, number)] == list(range(1, 61))
        assert [row.minibatch for row in snapshots.list_snapshots(db, number)] == list(range(10, 61, 10))
        assert checkpoints.load_checkpoint(db, number).minibatch == 60


def test_of_workers_that_claim_at_once_exactly_one_wins(db, database_url):
    for _ in range(5):
        number = new_run(db).number
        databases = [open_database(database_url) for _ in range(4)]
        start, outcomes = threading.Barrier(4), []

        def claim(database, number=number, start=start, outcomes=outcomes):
            start.wait()
            try:
                outcomes.append(runs.claim_run(database, number, {}).attempt)
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
                append_points(db, run, 1, [Point(m, m, m, "elbo", 0, m)])
                points.read_new_points(db, run)
        except Exception as error:  # noqa: BLE001  (whatever it is, the test tells it)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(list(points.read_points(db, run))) == 60


@pytest.mark.parametrize("where", ["_begin_generation", "_add_part", "_replace_checkpoint"])
def test_a_worker_killed_in_the_middle_of_a_checkpoint_leaves_the_old_one(db, database_url, where):
    run = new_run(db).number
    killed_at(python(CHECKPOINT, database_url, str(run), where), "now\n")
    found = checkpoints.load_checkpoint(db, run)
    assert (found.minibatch, found.meta) == (10, {"which": "old"})
    assert [found.arrays[str(i)].tolist() for i in range(8)] == [[i] * 200 for i in range(8)]
    again = runs.claim_run(db, run, {}, force=True)
    assert (again.attempt, again.minibatch) == (2, 10)
    with db.read() as connection:
        parts = tables.checkpoint_parts.c.generation
        assert len(connection.execute(select(parts).distinct()).all()) == 1
    checkpoints.save_checkpoint(db, run, 2, 20, 2.0, {"r": np.arange(3)}, {})
    assert checkpoints.load_checkpoint(db, run).minibatch == 20


def test_an_import_that_is_killed_is_never_seen_and_locks_nobody_out(db, database_url):
    killed_at(python(IMPORT, database_url), "now\n")
    assert corpora.list_corpora(db) == []
    row = write_corpus(db, "killed")
    assert corpora.find_corpus(db, "killed") == row


def test_an_import_does_not_keep_workers_waiting(db):
    run = claimed_run(db)
    other = open_database(db.url)
    other.patience = 0.0
    with corpus_writer.write_corpus(db, "slow", ["a", "b", "c", "d", "e", "f"], label_names=["x", "y"]) as writer:
        writer.add(block(0))
        assert runs.record_progress(other, run.number, 1, minibatch=1, seconds=1.0) == "run"
        writer.add(block(3))
    other.close()
    assert corpus_writer.ABANDONED_SECONDS >= 600


ME = {"pid": 1, "created": 1.0, "host": "here"}


@pytest.fixture
def make(db):
    """Makes a queued run."""
    corpus = write_corpus(db, "food").number
    order = {"model": "dlda", "inference": "tlasgr", "layers": (3, 2), "settings": {"eta": 0.1}, "seed": 1}
    return partial(runs.create_run, db, corpus=corpus, options={"minibatches": 9}, **order)


def report(rows):
    """Rows without the ages of heartbeats, which no two looks have in common."""
    return [vars(row) | {"heartbeat_age": None} for row in rows]


GREW = events.StructureChange(1, (3,), 3, 2)
VERBS = {
    "claimed": lambda db, n: runs.claim_run(db, n, ME),
    "beats": lambda db, n: runs.record_progress(
        db, n, 1, minibatch=1, seconds=0.5, points=[Point(1, 5, 0.5, "elbo", 0, 1.0)]
    ),
    "measured": lambda db, n: runs.record_progress(
        db, n, 1, minibatch=1, seconds=0.5, point_perplexity=5.0, message="so far"
    ),
    "grown": lambda db, n: runs.record_layers(db, n, 1, 1, (2, 2), [("pruned", "a topic", GREW)]),
    "asked": lambda db, n: runs.send_request(db, n, "pause"),
    "paused": lambda db, n: runs.finish_run(db, n, 1, "paused"),
    "stopped": lambda db, n: runs.send_request(db, n, "stop"),
    "queued": runs.requeue_run,
    "abandoned": lambda db, n: runs.abandon_run(db, n, "stopped", "nobody was at it"),
    "renamed": lambda db, n: runs.rename_run(db, n, "roses"),
    "again": runs.requeue_run,
    "taken": lambda db, n: runs.claim_run(db, n, ME | {"pid": 2}),
    "failed": lambda db, n: runs.finish_run(db, n, 3, "failed", "ValueError: no", "line 1\nline 2"),
}


def test_every_change_is_seen_and_nothing_else_is_read_again(db, make):
    quiet, busy = make(name="quiet").number, make(name="busy").number
    watch = RunWatch(db)
    still = watch.look()[quiet]
    for verb, act in VERBS.items():
        act(db, busy)
        rows = watch.look()
        assert report(rows.values()) == report(runs.list_runs(db)), verb
        assert rows[quiet] is still, verb


def test_a_verb_that_follows_another_before_the_next_look_is_seen_too(db, make):
    watch = RunWatch(db)
    for length in range(1, len(VERBS) + 1):
        run = make().number
        watch.look()
        for act in list(VERBS.values())[:length]:
            act(db, run)
        assert report(watch.look().values()) == report(runs.list_runs(db))


def test_runs_that_come_and_go_are_seen(db, make, monkeypatch):
    monkeypatch.setattr(run_rows, "_AT_ONCE", 2)
    numbers = [make().number for _ in range(5)]
    watch = RunWatch(db)
    assert list(watch.look()) == numbers
    runs.delete_run(db, numbers[1])
    numbers.append(make().number)
    assert list(watch.look()) == [number for number in numbers if number != numbers[1]]


def test_a_run_that_trains_has_its_age_told_anew(db, make):
    run = make().number
    runs.claim_run(db, run, ME)
    watch = RunWatch(db)
    first = watch.look()[run]
    assert watch.look()[run].heartbeat_age >= first.heartbeat_age
    assert watch.look()[run] is not first
