"""The process that trains one run: ``python -P -m app.jobs.worker [--store URL] --run N``.

It claims the run, trains it (:mod:`app.jobs.trainer`), starts the process that makes the map of its documents
(:mod:`app.jobs.map_work`) and ends; it communicates through the store only.
"""

import argparse
import logging
import os
import sys

from topiary.app.jobs import launcher, logs
from topiary.app.jobs.claim import OUT_OF_MEMORY, SENTENCE_ERRORS, Interrupt, lacks_memory
from topiary.app.jobs.map_work import try_start_map
from topiary.app.jobs.trainer import train_run
from topiary.store.database import Database, open_database
from topiary.store.errors import Conflict, DamagedRow, LostClaim, NotFound, StoreError

LOST = 3  # exit status: the run belongs to another process, or the store cannot be used


def main(argv: list[str] | None = None) -> int:
    """Train one run; return the exit status: 0, 1 for invalid settings, 3 if the run cannot be claimed or stored."""
    parser = argparse.ArgumentParser(prog="topiary.app.jobs.worker", description="Train one run of a store.")
    parser.add_argument("--store", help="URL or path of the store (default: TOPIARY_STORE, or your data folder)")
    parser.add_argument("--run", required=True, type=int, help="number of the run")
    arguments = parser.parse_args(argv)
    logging.basicConfig(
        format="%(asctime)s  %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
    )  # the format of `logs.write_line`
    interrupt = Interrupt()
    interrupt.listen()
    try:
        db = open_database(arguments.store)
    except StoreError as error:
        logs.write_line(str(error))
        return LOST
    interrupt.db = db
    status, store_works = 0, True
    logs.write_line(f"run {arguments.run}: process {os.getpid()} begins")
    try:
        train_run(db, arguments.run, interrupt=interrupt)
    except StoreError as error:
        logs.write_line(str(error))
        status, store_works = LOST, isinstance(error, (Conflict, DamagedRow, LostClaim, NotFound))
    except SENTENCE_ERRORS as error:
        logs.write_line(str(error))
        status = 1
    except (MemoryError, ImportError, OSError) as error:
        if not lacks_memory(error):
            raise
        logs.write_line(OUT_OF_MEMORY)
        status = 1
    finally:
        if store_works:  # without a usable store, workers would start each other for ever
            if not status:  # else another worker may have trained the run, and starts it
                try_start_map(db, arguments.run)
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
