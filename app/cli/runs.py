"""The commands that start, control and delete runs: ``topiary train``, ``fork``, ``stop``, ``queue``, ``gpu`` ..."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topiary.app.cli.console import (
    OutputClosed,
    UserError,
    find_run,
    notify,
    print_json,
    print_table,
    read_settings,
    say,
)
from topiary.app.jobs import control, launcher, logs, process
from topiary.app.jobs.cluster.whole import is_on_cluster
from topiary.app.jobs.forks import find_origin
from topiary.app.jobs.gpu import EXTRA_MISSING, GIGABYTE, is_extra_installed, list_cards
from topiary.app.jobs.logs import list_events, read_tail
from topiary.app.jobs.new_run import request_fork
from topiary.app.jobs.run_rules import RunRequest, describe_widths, proposes_widths
from topiary.app.names import BROKEN, STEPS, name_step, parse_count
from topiary.engine.gpu.memory import count_bytes
from topiary.store import corpora as corpora_of
from topiary.store import runs
from topiary.store import runs as queue_of
from topiary.store.database import Database, open_existing
from topiary.store.run_rows import RunRow

if TYPE_CHECKING:
    from topiary.app.jobs.topic_guide import TopicGuide

LAYERS, WORDS, LENGTH = (128, 64, 32), 10_000, 100  # of the corpus that tells how much fits
NO_CARDS = "no graphics processor of NVIDIA is here, or no driver; runs are trained by the processor"


def train(arguments: argparse.Namespace) -> int:
    """Create a run, or one for each seed and combination of settings; start those that may train now."""
    texts = read_settings(arguments.settings, layers=arguments.layers, inference=arguments.inference)
    options = _collect_options(arguments)
    if arguments.seeds is not None and arguments.seed is not None:
        raise UserError("--seed and --seeds say the same twice; give one of them")
    seeds, grid = arguments.seeds or (), _read_grid(arguments.grid)
    guide = None if arguments.topics is None else _read_guide(arguments.topics)
    db = open_existing(arguments.store)
    request = RunRequest(corpus=arguments.corpus, texts=texts, seeds=seeds, grid=grid, guide=guide, **options)
    rows, started = control.start_runs(db, request)  # before printing, which fails when nobody reads the output
    process.dismiss_worker()
    corpus = corpora_of.get_corpus(db, rows[0].corpus)
    proposed = proposes_widths(texts | dict(arguments.grid))
    tried = bool(rows[0].options.get("tries_widths"))
    note = describe_widths(rows[0].layers, corpus, tried=tried) if proposed else ""
    return _report_start(db, rows, started, arguments, note)


def _read_guide(path: str) -> "TopicGuide":
    """Return the topics of a file; raise an error if it is not a guide."""
    from topiary.app.jobs.topic_guide import read_guide  # most runs do without
    from topiary.engine.steering.edit import EditRefused

    try:
        return read_guide(Path(path))
    except EditRefused as error:
        raise UserError(str(error)) from error


def _read_grid(given: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the values of settings by name; raise an error if a setting is given twice."""
    names = [name for name, _ in given]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise UserError(f"--grid names {duplicate} twice; give all its values at once, as in {duplicate}=VALUE,VALUE")
    return dict(given)


def fork(arguments: argparse.Namespace) -> int:
    """Create a run that continues a snapshot of another one, and start it in the background."""
    texts = read_settings(arguments.settings)
    options = _collect_options(arguments)
    db = open_existing(arguments.store)
    origin = find_origin(db, find_run(db, arguments.run).number, minibatch=_read_minibatch(arguments.snapshot))
    rows, started = control.start_runs(db, request_fork(origin, texts=texts, **options))
    parent = f"goes on from run {origin.run.number} at {name_step(origin.run)} {origin.snapshot.minibatch:,}"
    return _report_start(db, rows, started, arguments, f"run {rows[0].number} {parent}")


def _collect_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a request for a run that options give, other than the settings of the model."""
    names = {each.name for each in fields(RunRequest)} & vars(arguments).keys() - {"corpus", "seeds", "grid"}
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _report_start(
    db: Database, rows: Sequence[RunRow], started: Sequence[int], arguments: argparse.Namespace, note: str
) -> int:
    """Print the numbers of new runs, given those of all that were started with them; return the exit status."""
    if note:
        notify(note)
    subject = f"run {rows[0].number} is" if len(rows) == 1 else f"runs {rows[0].number} to {rows[-1].number} are"
    try:
        say("\n".join(str(row.number) for row in rows))
    except OutputClosed as error:
        raise OutputClosed(f"{subject} ordered, but {error}") from error
    running = set(started) | {
        row.number for row in runs.list_runs(db) if row.state != "queued" or launcher.is_starting(row)
    }
    waiting = [row.number for row in rows if row.number not in running]
    if waiting and is_on_cluster(rows[0]):
        notify(f"{subject} waiting: {list_events(db, waiting[0])[-1].text}")
    elif len(rows) == 1 and waiting:
        notify(f"run {waiting[0]} waits until another one ends")
    elif waiting:
        notify(f"{len(waiting)} of these {len(rows)} runs wait until others end; topiary queue shows their order")
    if arguments.command == "train" and arguments.seeds is not None and len(arguments.seeds) > 1:
        first = rows[0].number
        notify(f"what comes back in all of them: topiary seeds {first}, or ?page=seeds&run={first} in the app")
    return max(wait_for_run(db, row.number) for row in rows) if arguments.wait else 0


def _read_minibatch(text: str) -> int | None:
    """Return the mini-batch that a text names, None for "latest"."""
    if text == "latest":
        return None
    number = parse_count(text)
    if number is None:
        raise UserError(f"--snapshot is a mini-batch, or latest; got {text!r}")
    return number


def wait_for_run(db: Database, run: int) -> int:
    """Show the progress of a run until it ends; return 1 if it or its worker failed, 130 after Ctrl-C, else 0."""
    from topiary.app.jobs.control import ENDED, describe_end, follow_run, show_progress  # most commands do not wait
    from topiary.app.jobs.estimates import read_latest
    from topiary.app.jobs.progress import Progress

    progress = Progress()
    row, state = runs.get_run(db, run), ""
    try:
        for row, state in follow_run(db, run):
            if state not in ENDED:
                show_progress(progress, row, read_latest(db, run))
    except KeyboardInterrupt:
        progress.end(f"run {run} goes on in the background; topiary stop {run} ends it")
        return 130
    progress.end(describe_end(db, row, state))
    return 1 if state in BROKEN else 0


def stop(arguments: argparse.Namespace) -> int:
    """Stop a run."""
    return _control_run(arguments, control.stop_run, "stops")


def pause(arguments: argparse.Namespace) -> int:
    """Pause a run."""
    return _control_run(arguments, control.pause_run, "pauses")


def resume(arguments: argparse.Namespace) -> int:
    """Resume a run from its checkpoint."""
    from topiary.store import checkpoints

    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    run = row.number
    saved = checkpoints.find_checkpoint(db, run)
    control.resume_run(db, run, arguments.on)
    if saved is None:
        notify(f"run {run} begins from the start: it has no checkpoint yet")
    else:
        notify(f"run {run} goes on from its checkpoint at {name_step(row)} {saved:,}")
    return wait_for_run(db, run) if arguments.wait else 0


def delete(arguments: argparse.Namespace) -> int:
    """Delete a run."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run).number
    control.delete_run(db, run)
    say(f"deleted run {run}")
    return 0


def _control_run(arguments: argparse.Namespace, act: Callable[[Database, int], None], present: str) -> int:
    """Apply ``act`` to a run, and notify the user with its verb in the present tense."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run).number
    act(db, run)
    notify(f"run {run} {present}")
    return 0


def queue(arguments: argparse.Namespace) -> int:
    """Print the queued runs in the order in which they will start, after moving one of them if requested."""
    db = open_existing(arguments.store)
    moves = arguments.first or arguments.last or arguments.before is not None
    if moves and arguments.run is None:
        raise UserError("say which run is to start first, last or before another one: topiary queue RUN --first")
    if arguments.run is None:
        rows = queue_of.list_waiting(db)
    elif not moves:
        raise UserError("say where the run is to go: --first, --last or --before RUN")
    else:
        run = find_run(db, arguments.run).number
        before = None if arguments.before is None else find_run(db, arguments.before).number
        rows = queue_of.move_run(db, run, before=before, last=arguments.last)
    if arguments.json:
        print_json([_list_facts(position, row) for position, row in enumerate(rows, 1)])
        return 0
    print_table(
        ("place", "run", "name", "corpus", "model", "length"),
        [
            (position, row.number, row.name, row.corpus_name, f"{row.model} {row.inference}", _name_length(row))
            for position, row in enumerate(rows, 1)
        ],
        "no run is queued",
    )
    return 0


def _name_length(row: RunRow) -> str:
    return f"{row.planned:,} {STEPS[name_step(row)]}"


def _list_facts(position: int, row: RunRow) -> dict[str, Any]:
    return {"place": position, "run": row.number, "name": row.name, "corpus": row.corpus_name, "model": row.model}


def log(arguments: argparse.Namespace) -> int:
    """Print the events of a run and the end of its worker's log, with the path of the log."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    events = list_events(db, row.number)[-arguments.lines :]
    path = logs.find_log(db.url, row.number)
    lines = read_tail(path, arguments.lines)
    if arguments.json:
        event_facts = [event._asdict() | {"created": event.created.isoformat()} for event in events]
        print_json(
            {"run": row.number, "events": event_facts, "log": str(path), "lines": lines, "traceback": row.traceback}
        )
        return 0
    for event in events:
        when = event.created.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        say(f"{when}  {name_step(row)} {event.minibatch:>6,}  {event.kind}{': ' if event.text else ''}{event.text}")
    _print_log(path, lines)
    return 0


def _print_log(path: Path, lines: list[str]) -> None:
    notify(f"the end of {path}:" if lines else f"there is nothing in {path}: no worker on this machine wrote anything")
    for line in lines:
        say(line)


def gpu(arguments: argparse.Namespace) -> int:
    """List the graphics processors, and about how many documents fit on each."""
    cards = list_cards()
    if arguments.json:
        rows = [card._asdict() | {"documents": count_fitting(card.memory)} for card in cards]
        print_json({"cards": rows, "installed": is_extra_installed()})
        return 0
    if not cards:
        say(NO_CARDS)
        return 0
    for card in cards:
        say(f"{card.name}, {card.memory / GIGABYTE:.0f} GB, CUDA {card.cuda}: fits about {describe_fit(card.memory)}")
    if not is_extra_installed():
        say(EXTRA_MISSING)
    return 0


def count_fitting(memory: int) -> int:
    """Return about how many documents of ``LENGTH`` tokens fit in this memory, for layers of the usual widths."""
    fixed = count_bytes(LAYERS, WORDS, 0, 0)
    million = count_bytes(LAYERS, WORDS, 10**6, LENGTH * 10**6) - count_bytes(LAYERS, WORDS, 0, 0)
    return max(0, (memory - fixed) * 10**6 // million)


def describe_fit(memory: int) -> str:
    """Return how many documents fit in this memory."""
    widths = "-".join(map(str, LAYERS))
    return f"{count_fitting(memory):,} documents of {LENGTH} words, with {widths} topics"
