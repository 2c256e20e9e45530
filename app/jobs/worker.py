"""One training process: ``python -P -m app.jobs.worker [--store URL] --run N``.

It claims the run, trains it (:mod:`app.jobs.session`), and goes; the store is its only channel.
"""

import argparse
import logging
import os
import sys

from app.jobs import launcher, process, run_log
from app.jobs.claim import Claim, Interrupt
from app.jobs.cluster.lost import WorkerLostError
from app.jobs.cluster.workers import gone_before
from app.jobs.session import Session
from engine.settings import SettingError
from store import events, runs
from store.database import Database, open_database
from store.errors import Conflict, DamagedRow, LostClaim, NotFound, StoreError
from store.run_rows import RunRow

MOST_LOSSES = 10  # of workers, one after the other without a new checkpoint, after which a run gives up
LOST = 3  # exit status: the run belongs to somebody else


def train(db: Database, run: int, *, interrupt: Interrupt | None = None) -> None:
    """Claim a queued run (or one whose worker has long been silent) and train it in this process.

    Raises
    ------
    StoreError
        When the run cannot be claimed, or was claimed by somebody else meanwhile (LostClaim).
    """
    found = runs.get_run(db, run)
    if found.state not in ("queued", "running"):
        raise Conflict(f"run {run} is {found.state}; topiary resume {run} queues it again")
    interrupt = interrupt or Interrupt()
    row = runs.claim_run(db, run, process.identity() | gone_before(found.process))
    losses = 0
    while lost := _trained(db, row, interrupt):
        before = row.minibatch
        again = process.identity() | gone_before(runs.get_run(db, run).process)
        row = runs.claim_run(db, run, again, force=True)
        losses = losses + 1 if row.minibatch <= before else 1
        events.append_event(
            db, run, row.attempt, row.minibatch, "worker lost", f"{lost}; back to mini-batch {row.minibatch:,}"
        )
        if losses == MOST_LOSSES:
            runs.finish_run(
                db,
                run,
                row.attempt,
                "failed",
                f"{lost}, for the {losses}th time since mini-batch "
                f"{row.minibatch:,}; look at the logs of the workers, give them more memory, then resume",
            )
            return


def _trained(db: Database, row: RunRow, interrupt: Interrupt) -> str:
    """One attempt at a run; what happened where a worker of a cluster was lost, and it goes back to its checkpoint."""
    with Claim(db, row, interrupt) as claim:
        claim.say("starting")
        try:
            Session(claim).run()
        except WorkerLostError as lost:  # inside, so that nobody sees the run as failed
            return str(lost)
    return ""


def main(argv: list[str] | None = None) -> int:
    """Train one run; the exit status is 0, or 3 when the run belongs to somebody else."""
    parser = argparse.ArgumentParser(prog="app.jobs.worker", description="Train one run of a store.")
    parser.add_argument("--store", help="URL or path of the store (default: TOPIARY_STORE, or your data folder)")
    parser.add_argument("--run", required=True, type=int, help="number of the run")
    arguments = parser.parse_args(argv)
    logging.basicConfig(format="%(asctime)s  %(message)s", datefmt="%Y-%m-%d %H:%M:%S")  # as run_log writes
    interrupt = Interrupt()
    interrupt.listen()
    try:
        db = open_database(arguments.store)
    except StoreError as error:
        run_log.write(str(error))
        return LOST
    interrupt.db = db
    status, works = 0, True
    run_log.write(f"run {arguments.run}: process {os.getpid()} begins")
    try:
        train(db, arguments.run, interrupt=interrupt)
    except StoreError as error:
        run_log.write(str(error))
        status, works = LOST, isinstance(error, (Conflict, DamagedRow, LostClaim, NotFound))
    except SettingError as error:
        run_log.write(str(error))
        status = 1
    finally:
        if works:  # where nothing can be written, workers that start others would never end
            _start_next(db)
        db.close()
    run_log.write(f"run {arguments.run}: process {os.getpid()} ends")
    return status


def _start_next(db: Database) -> None:
    """Start the run that waits; an error here is not the one that ended this run."""
    try:
        launcher.fill(db)
    except StoreError as error:
        run_log.write(f"no other run was started: {error}")


if __name__ == "__main__":
    sys.exit(main())
