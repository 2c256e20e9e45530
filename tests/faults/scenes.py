"""The faults: each a function of a bench and a number, which gives how many were put in and how many cost anything."""

import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from sqlalchemy import event, select, update

from tests.faults.children import MINIBATCHES, Bench, Fault, Outcome, wait_until
from topiary.app.jobs import training
from topiary.app.live.feed import Feed
from topiary.store import run_rows, runs, snapshots, tables
from topiary.store.check import check_store
from topiary.store.database import Database, open_database
from topiary.store.errors import SchemaMismatch
from topiary.store.upkeep import vacuum_store

STALE = 2 * run_rows.STALE_SECONDS


def killed(bench: Bench, number: int) -> Outcome:
    """``kill -9`` at random moments; a run is resumed until it is finished."""
    injected = lost = 0
    run = bench.order()
    while injected < number:
        child = bench.start(run)
        child.join(bench.rng.uniform(0.0, bench.seconds))
        if child.exitcode is None:
            os.kill(int(child.pid or 0), signal.SIGKILL)
            child.join()
            injected += 1
        if not bench.resume(run):
            lost += not bench.is_as_expected(run)
            run = bench.order()
    return Outcome(injected, lost + (not bench.finish(run)))


def halted(bench: Bench, number: int) -> Outcome:
    """SIGSTOP past the heartbeat; a second worker takes the run over, and the first one wakes up after it."""
    lost = 0
    for _ in range(number):
        run = bench.order()
        first = bench.start(run, partial(_at_step, _moment(bench), lambda: os.kill(os.getpid(), signal.SIGSTOP)))
        about = psutil.Process(int(first.pid or 0))
        wait_until(lambda about=about: about.status() == psutil.STATUS_STOPPED)
        with bench.store() as db, db.write() as connection:
            silent = tables.runs.c.heartbeat - STALE
            connection.execute(update(tables.runs).where(tables.runs.c.number == run).values(heartbeat=silent))
        bench.whole(run)
        os.kill(about.pid, signal.SIGCONT)
        first.join(60)
        lost += first.exitcode != 1 or not bench.is_as_expected(run)  # 1: it lost its claim, and left
    return Outcome(number, lost)


def disk_full(bench: Bench, number: int) -> Outcome:
    """No page more fits into the file from some moment on."""
    return _broken(bench, number, "PRAGMA max_page_count = 1")


def read_only(bench: Bench, number: int) -> Outcome:
    """The store may not be written any more from some moment on."""
    return _broken(bench, number, "PRAGMA query_only = ON")


def file_limit(bench: Bench, number: int) -> Outcome:
    """A quota: no file may become larger than the store is, or a little larger."""

    def limit(more: int, db: Database) -> None:
        import resource

        size = Path(str(db.path)).stat().st_size + more
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return _failing(bench, number, lambda: partial(limit, int(bench.rng.integers(0, 40_000))))


def _broken(bench: Bench, number: int, statement: str) -> Outcome:
    """Every transaction after a random moment begins with a statement that breaks it."""
    return _failing(bench, number, lambda: partial(_from_step, _moment(bench), statement))


def _failing(bench: Bench, number: int, fault: Callable[[], Fault]) -> Outcome:
    """Runs that a fault makes fail, as far as it meets them: some have written all they need by then."""
    injected = lost = 0
    while injected < number:
        with bench.store() as db:
            vacuum_store(db)  # what was deleted leaves room in the file, and a run that fits into it meets no fault
        run = bench.order()
        child = bench.start(run, fault())
        child.join()
        injected += child.exitcode != 0
        lost += not bench.finish(run)
    return Outcome(injected, lost)


def _from_step(step: int, statement: str, db: Database) -> None:
    broken = False

    def begin() -> None:
        nonlocal broken
        broken = True

    def before(connection: Any) -> None:
        if broken:
            connection.exec_driver_sql(statement)

    event.listen(db._engine, "begin", before)
    _at_step(step, begin, db)


def _at_step(step: int, happen: Callable[[], None], _: Database | None = None) -> None:
    """Let something happen before a step of training in this process."""
    real = training.Training.step

    def stepping(self: Any, position: Any) -> Any:
        if position.minibatch == step:
            happen()
        return real(self, position)

    training.Training.step = stepping


def locked(bench: Bench, number: int, seconds: float = 60.0) -> Outcome:
    """Another program holds the lock for a minute."""
    lost = 0
    for _ in range(number):
        run = bench.order()
        with bench.store() as db:
            place = str(db.path)
        child = bench.start(run)
        time.sleep(bench.rng.uniform(0.0, bench.seconds))
        with closing(sqlite3.connect(place, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            other.execute("ROLLBACK")
        child.join()
        lost += child.exitcode != 0 or not bench.finish(run)
    return Outcome(number, lost)


def clock_jumps(bench: Bench, number: int) -> Outcome:
    """The clock of the database jumps by up to a day, back and forth, at every beat."""

    def jump(seed: int, db: Database) -> None:
        rng = np.random.default_rng(seed)

        def shift(_c: Any, _u: Any, statement: str, parameters: Any, _x: Any, _m: Any) -> tuple[str, Any]:
            days = rng.uniform(-1.0, 1.0)
            return statement.replace("julianday('now')", f"(julianday('now') + ({days}))"), parameters

        event.listen(db._engine, "before_cursor_execute", shift, retval=True)

    lost = 0
    for _ in range(number):
        run = bench.order()
        child = bench.start(run, partial(jump, int(bench.rng.integers(2**31))))
        child.join()
        lost += child.exitcode != 0 or not bench.finish(run)
    return Outcome(number, lost)


def nonsense(bench: Bench, number: int) -> Outcome:
    """Topics become NaN in some step: the run fails with a sentence, and nothing of it is written."""

    def plant(step: int, _: Database) -> None:
        real = training.Training.step

        def stepping(self: Any, position: Any) -> Any:
            position, info = real(self, position)
            if position.minibatch >= step:
                phi = tuple(layer * np.nan for layer in position.state.phi)
                position = position._replace(state=position.state._replace(phi=phi))
            return position, info

        training.Training.step = stepping

    lost = 0
    for _ in range(number):
        run = bench.order()
        bench.start(run, partial(plant, 1 + _moment(bench))).join()
        with bench.store() as db:
            row = runs.get_run(db, run)
            said = row.state == "failed" and "no longer finite" in row.message
            arrays = [snapshots.load_snapshot(db, each.number) for each in snapshots.list_snapshots(db, run)]
        clean = all(np.isfinite(array).all() for each in arrays for array in each.values() if array.dtype.kind == "f")
        lost += not (said and clean and bench.finish(run))
    return Outcome(number, lost)


def flipped(bench: Bench, number: int) -> Outcome:
    """One bit of a stored array flips: it is noticed by a check, and the run comes to the same end."""
    lost = 0
    for turn in range(number):
        run = bench.order()
        bench.start(run, partial(_at_step, 1 + _moment(bench), _stop)).join()
        table = (tables.checkpoint_parts, tables.snapshot_parts)[turn % 2]
        with bench.store() as db:
            noticed = _flip(bench.rng, db, table, run)
        lost += not (noticed and bench.finish(run))
    return Outcome(number, lost)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _flip(rng: np.random.Generator, db: Database, table: Any, run: int) -> bool:
    """Flip a bit of a random row of a run; whether a check notices it, or there is no row yet."""
    key = table.primary_key.columns.values()
    with db.write() as connection:
        of_run = table.c.run == run if "run" in table.c else table.c.snapshot.in_(_select_snapshots(run))
        rows = connection.execute(select(*key, table.c.arrays).where(of_run)).all()
        if not rows:
            return True
        row = rows[int(rng.integers(len(rows)))]
        blob = bytearray(row.arrays)
        blob[int(rng.integers(len(blob)))] ^= 1 << int(rng.integers(8))
        mine = [column == value for column, value in zip(key, row[:-1], strict=True)]
        connection.execute(update(table).where(*mine).values(arrays=bytes(blob)))
    whole = {generation for (generation,) in _generations(db, run)}
    used = table is tables.snapshot_parts or row.generation in whole
    return bool(check_store(db).damages) or not used


def _select_snapshots(run: int) -> Any:
    return select(tables.snapshots.c.number).where(tables.snapshots.c.run == run)


def _generations(db: Database, run: int) -> list[Any]:
    with db.read() as connection:
        found = []
        for table in (tables.checkpoints, tables.earlier_checkpoints):
            found += connection.execute(select(table.c.generation).where(table.c.run == run)).all()
        return found


def taken_away(bench: Bench, number: int) -> Outcome:
    """The file is moved away under its worker, which leaves; it is put back."""
    lost = 0
    for _ in range(number):
        run = bench.order()
        with bench.store() as db:
            path = Path(str(db.path))
        child = bench.start(run)
        time.sleep(bench.rng.uniform(0.0, bench.seconds))
        away = [(each, each.with_name(f"away-{each.name}")) for each in path.parent.glob(f"{path.name}*")]
        for here, there in away:
            here.rename(there)
        child.join(60)
        left = child.exitcode is not None
        made = list(path.parent.glob(f"{path.name}*"))
        for each in made:
            each.unlink()
        for here, there in away:
            there.rename(here)
        lost += not left or bool(made) or not bench.finish(run)
    return Outcome(number, lost)


def other_versions(bench: Bench, number: int) -> Outcome:
    """Stores of versions that this program does not know, and tables of others: refused, and left as they are."""
    lost = 0
    with bench.store() as db:
        path = Path(str(db.path))
    for turn in range(number):
        copy = path.with_name(f"other-{turn}.db")
        shutil.copy(path, copy)
        version = int(bench.rng.choice([0, -1, tables.VERSION + 1, tables.VERSION + 90]))
        with closing(sqlite3.connect(copy)) as other:
            drop = bench.rng.random() < 0.2
            other.execute("DROP TABLE store_version" if drop else f"UPDATE store_version SET version = {version}")
            other.commit()
            before = list(other.iterdump())
        try:
            open_database(copy).close()
            lost += 1
        except SchemaMismatch:
            with closing(sqlite3.connect(copy)) as other:
                lost += list(other.iterdump()) != before
        copy.unlink()
    return Outcome(number, lost)


def tabs(bench: Bench, number: int) -> Outcome:
    """Five readers look as open pages do, for so many seconds, while runs train and are renamed: no error at all."""
    errors: list[str] = []
    stop = threading.Event()

    def look() -> None:
        db = open_database(bench.url, readonly=True)
        feed = Feed(db)
        while not stop.wait(0.1):
            feed.look_now()
            for row in feed.runs():
                feed.history(row.number)
            if feed.trouble:
                errors.append(feed.trouble)
        feed.stop()
        db.close()

    end, lost, done = time.monotonic() + number, 0, 0
    while time.monotonic() < end:
        run = bench.order()
        child = bench.start(run)  # made before there are threads
        stop.clear()
        readers = [threading.Thread(target=look) for _ in range(5)]
        for reader in readers:
            reader.start()
        while child.exitcode is None:
            with bench.store() as db:
                runs.rename_run(db, run, f"name {done}")
            child.join(0.2)
        stop.set()
        for reader in readers:
            reader.join()
        with bench.store() as db:
            runs.rename_run(db, run, "")
        lost += child.exitcode != 0 or not bench.is_as_expected(run)
        done += 1
    return Outcome(done, lost + len(errors))


def restarted(bench: Bench, number: int, restart: Callable[[], None]) -> Outcome:
    """The PostgreSQL server restarts while a worker trains, which waits for it."""
    lost = 0
    for _ in range(number):
        run = bench.order()
        child = bench.start(run)
        time.sleep(bench.rng.uniform(0.0, bench.seconds))
        restart()
        child.join()
        lost += not bench.finish(run)
    return Outcome(number, lost)


def restarted_often(bench: Bench, number: int, restart: Callable[[], None]) -> Outcome:
    """The PostgreSQL server restarts four times in a row while a worker trains, which goes on to its end by itself."""
    lost = 0
    for _ in range(number):
        run = bench.order()
        child = bench.start(run)
        for _ in range(4):
            time.sleep(bench.rng.uniform(0.0, bench.seconds / 2))
            restart()
        child.join()
        lost += child.exitcode != 0 or not bench.finish(run)
    return Outcome(number, lost)


def _moment(bench: Bench) -> int:
    return int(bench.rng.integers(0, MINIBATCHES - 1))


class Scene(NamedTuple):
    """A fault, on which database, how often in the whole table and in the sample of the suite."""

    name: str
    database: str
    function: Callable[..., Outcome]
    number: int
    sample: int


SCENES = (
    Scene("killed (`kill -9`) at a random moment", "sqlite", killed, 1000, 3),
    Scene("killed (`kill -9`) at a random moment", "postgresql", killed, 200, 4),
    Scene("halted past its heartbeat, a second worker takes over", "sqlite", halted, 20, 1),
    Scene("halted past its heartbeat, a second worker takes over", "postgresql", halted, 20, 1),
    Scene("disk full", "sqlite", disk_full, 20, 1),
    Scene("quota of the file reached", "sqlite", file_limit, 20, 1),
    Scene("store turns read-only", "sqlite", read_only, 20, 1),
    Scene("store locked for a minute by another program", "sqlite", locked, 3, 1),
    Scene("server restarted", "postgresql", restarted, 10, 1),
    Scene("server restarted four times in ten seconds", "postgresql", restarted_often, 10, 1),
    Scene("clock jumps by up to a day, at every beat", "sqlite", clock_jumps, 20, 1),
    Scene("topics become NaN", "sqlite", nonsense, 20, 1),
    Scene("a bit of a stored array flips", "sqlite", flipped, 100, 2),
    Scene("store moved away under its worker, and put back", "sqlite", taken_away, 20, 1),
    Scene("store of another version, or of another program", "sqlite", other_versions, 40, 4),
    Scene("five pages open while runs train (seconds)", "sqlite", tabs, 600, 2),
)
