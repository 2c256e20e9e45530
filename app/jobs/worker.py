"""The process that trains one run: ``python -P -m app.jobs.worker [--store URL] --run N``.

With ``--ahead`` in place of ``--run``, it loads modules and kernels, and reads the store and the number of the run from
its standard input, so that it begins sooner when there is a run (:func:`app.jobs.process.start_worker_ahead`).

It claims the run, trains it (:mod:`app.jobs.trainer`), starts the process that makes the map of its documents
(:mod:`app.jobs.map_work`) and ends; it communicates through the store only.
"""

import argparse
import importlib
import json
import logging
import os
import sys

from topiary.app.jobs import compile_kernels, launcher, logs
from topiary.app.jobs.claim import OUT_OF_MEMORY, SENTENCE_ERRORS, Interrupt, lacks_memory
from topiary.app.jobs.map_work import try_start_map
from topiary.app.jobs.trainer import train_run
from topiary.store.database import Database, open_database
from topiary.store.errors import Conflict, DamagedRow, LostClaim, NotFound, StoreError

# Loaded before the run is known; the last is that of most runs.
_MODULES = tuple(f"topiary.{name}" for name in ("app.jobs.training", "app.jobs.edit_work", "engine.models.dlda.kernel"))
LOST = 3  # exit status: the run belongs to another process, or the store cannot be used


def main(argv: list[str] | None = None) -> int:
    """Train one run; return the exit status: 0, 1 for invalid settings, 3 if the run cannot be claimed or stored."""
    parser = argparse.ArgumentParser(prog="topiary.app.jobs.worker", description="Train one run of a store.")
    parser.add_argument("--store", help="URL or path of the store (default: TOPIARY_STORE, or your data folder)")
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--run", type=int, help="number of the run")
    either.add_argument("--ahead", help="JSON of the kernels to load, before standard input names the run")
    arguments = parser.parse_args(argv)
    store, run = (arguments.store, arguments.run) if arguments.run else _await_run(arguments.ahead)
    if not run:
        return 0
    logging.basicConfig(
        format="%(asctime)s  %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
    )  # the format of `logs.write_line`
    interrupt = Interrupt()
    interrupt.listen()
    try:
        db = open_database(store)
    except StoreError as error:
        logs.write_line(str(error))
        return LOST
    interrupt.db = db
    if arguments.ahead:
        _write_to_log(db.url, run)
    status, store_works = 0, True
    logs.write_line(f"run {run}: process {os.getpid()} begins")
    try:
        train_run(db, run, interrupt=interrupt)
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
                try_start_map(db, run)
            _start_next(db)
        db.close()
    logs.write_line(f"run {run}: process {os.getpid()} ends")
    return status


def _await_run(text: str) -> tuple[str, int]:
    """Load modules and kernels and return the store and number of the run, once they are known.

    The number is 0 if the process that would tell them has ended, or has no run.
    """
    if kernels := json.loads(text):
        for part in compile_kernels.PARTS:
            compile_kernels.compile_here(compile_kernels.KernelRequest(**kernels), part)
    else:
        for name in _MODULES:
            importlib.import_module(name)
    store, run = json.loads(sys.stdin.read() or '["", 0]')
    return store, run


def _write_to_log(db_url: str, run: int) -> None:
    """Write to the log of a run from now on."""
    with logs.open_log(db_url, run) as log:
        for output in (sys.stdout, sys.stderr):
            os.dup2(log.fileno(), output.fileno())


def _start_next(db: Database) -> None:
    """Start the next queued run; an error here is only logged."""
    try:
        launcher.start_queued_runs(db)
    except StoreError as error:
        logs.write_line(f"no other run was started: {error}")


if __name__ == "__main__":
    sys.exit(main())
