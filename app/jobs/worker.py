"""One training process: ``python -P -m app.jobs.worker [--store URL] --run N``.

It claims the run, trains it (:mod:`app.jobs.trainer`), and goes; the store is its only channel.
"""

import argparse
import logging
import os
import sys

from app.jobs import launcher, logs
from app.jobs.claim import Interrupt
from app.jobs.trainer import train_run
from engine.settings import SettingError
from store.database import Database, open_database
from store.errors import Conflict, DamagedRow, LostClaim, NotFound, StoreError

LOST = 3  # exit status: the run belongs to another process


def main(argv: list[str] | None = None) -> int:
    """Train one run; the exit status is 0, or 3 when the run belongs to another process."""
    parser = argparse.ArgumentParser(prog="app.jobs.worker", description="Train one run of a store.")
    parser.add_argument("--store", help="URL or path of the store (default: TOPIARY_STORE, or your data folder)")
    parser.add_argument("--run", required=True, type=int, help="number of the run")
    arguments = parser.parse_args(argv)
    logging.basicConfig(format="%(asctime)s  %(message)s", datefmt="%Y-%m-%d %H:%M:%S")  # as `logs.write_line` writes
    interrupt = Interrupt()
    interrupt.listen()
    try:
        db = open_database(arguments.store)
    except StoreError as error:
        logs.write_line(str(error))
        return LOST
    interrupt.db = db
    status, works = 0, True
    logs.write_line(f"run {arguments.run}: process {os.getpid()} begins")
    try:
        train_run(db, arguments.run, interrupt=interrupt)
    except StoreError as error:
        logs.write_line(str(error))
        status, works = LOST, isinstance(error, (Conflict, DamagedRow, LostClaim, NotFound))
    except SettingError as error:
        logs.write_line(str(error))
        status = 1
    finally:
        if works:  # else workers that start others without a usable store would never end
            _start_next(db)
        db.close()
    logs.write_line(f"run {arguments.run}: process {os.getpid()} ends")
    return status


def _start_next(db: Database) -> None:
    """Start the next queued run; an error here is only logged."""
    try:
        launcher.start_queued_runs(db)
    except StoreError as error:
        logs.write_line(f"no other run was started: {error}")


if __name__ == "__main__":
    sys.exit(main())
