"""``topiary queue`` and ``log``: the order in which runs start, and what happened to one."""

import argparse
from pathlib import Path
from typing import Any

from app.cli.console import Mistake, find_run, notify, print_json, print_table, say
from app.jobs import logs
from app.jobs.logs import list_events, read_tail
from store import queue as queue_of
from store.database import open_existing
from store.run_rows import RunRow


def queue(arguments: argparse.Namespace) -> int:
    """List the queued runs in the order in which they start, after one of them was moved where that is asked for."""
    db = open_existing(arguments.store)
    moves = arguments.first or arguments.last or arguments.before is not None
    if moves and arguments.run is None:
        raise Mistake("say which run is to start first, last or before another one: topiary queue RUN --first")
    if arguments.run is None:
        rows = queue_of.list_waiting(db)
    elif not moves:
        raise Mistake("say where the run is to go: --first, --last or --before RUN")
    else:
        run = find_run(db, arguments.run).number
        before = None if arguments.before is None else find_run(db, arguments.before).number
        rows = queue_of.move_run(db, run, before=before, last=arguments.last)
    if arguments.json:
        print_json([_facts(place, row) for place, row in enumerate(rows, 1)])
        return 0
    print_table(
        ("place", "run", "name", "corpus", "model", "mini-batches"),
        [
            (place, row.number, row.name, row.corpus_name, f"{row.model} {row.inference}", f"{row.planned:,}")
            for place, row in enumerate(rows, 1)
        ],
        "no run is queued",
    )
    return 0


def _facts(place: int, row: RunRow) -> dict[str, Any]:
    return {"place": place, "run": row.number, "name": row.name, "corpus": row.corpus_name, "model": row.model}


def log(arguments: argparse.Namespace) -> int:
    """Show what happened to a run and the end of its worker's log, and say where that is."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    events = list_events(db, row.number)[-arguments.lines :]
    path = logs.find_log(db.url, row.number)
    lines = read_tail(path, arguments.lines)
    if arguments.json:
        told = [event._asdict() | {"created": event.created.isoformat()} for event in events]
        print_json({"run": row.number, "events": told, "log": str(path), "lines": lines, "traceback": row.traceback})
        return 0
    for event in events:
        when = event.created.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        say(f"{when}  mini-batch {event.minibatch:>6,}  {event.kind}{': ' if event.text else ''}{event.text}")
    _print_log(path, lines)
    return 0


def _print_log(path: Path, lines: list[str]) -> None:
    notify(f"the end of {path}:" if lines else f"there is nothing in {path}: no worker on this machine wrote anything")
    for line in lines:
        say(line)
