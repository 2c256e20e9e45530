"""What the subcommands of ``topiary`` do; each takes the parsed options and gives the exit status."""

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import launcher
from app.forks import origin
from app.orders import OrderError, place
from app.orders import fork as order_fork
from app.ports import ServeError
from app.progress import Progress, duration
from store import corpora as corpora_of
from store import labels, runs, snapshots
from store import points as points_of
from store.corpora import CorpusRow
from store.database import Database, open_database
from store.errors import NotFound, StoreError
from store.runs import RunRow

if TYPE_CHECKING:
    from app.frame import Frame

FILL_SECONDS = 5.0  # a worker needs a moment to claim its run
WATCHING = 0.1  # evaluation and snapshots take about this part of training time
ENDED = ("finished", "failed", "stopped", "paused", "silent")


class Mistake(Exception):  # noqa: N818 - what the user made
    """Something the user can put right, in one sentence."""


MISTAKES = (Mistake, OrderError, ServeError, StoreError)


def demo(wanted: argparse.Namespace) -> int:
    """Import the built-in corpus, train on it and show it."""
    from app.demo import run

    return int(run(wanted.store, port=wanted.port, open_browser=not wanted.no_browser))


def serve(wanted: argparse.Namespace) -> int:
    """Show the store in the browser until told to stop."""
    from app.serve import serve as serve_app

    serve_app(wanted.store, wanted.port, address=wanted.address, open_browser=wanted.open)
    return 0


def import_corpus(wanted: argparse.Namespace) -> int:
    """Make a corpus of a file or folder."""
    from app.cli import IMPORT_HELP
    from app.ingest.errors import IngestError
    from app.ingest.importing import import_path
    from app.ingest.options import ImportOptions, OptionError

    given = {name: getattr(wanted, name) for name in IMPORT_HELP if hasattr(wanted, name)}
    progress = Progress()
    db = open_database(wanted.store)
    try:
        row = import_path(db, Path(wanted.path), ImportOptions(**given), progress.show)
    except (IngestError, OptionError) as error:
        raise Mistake(str(error)) from error
    finally:
        progress.end()
    if wanted.json:
        _print_json(_corpus_facts(row))
    else:
        _say(
            f"corpus {row.number}, {row.name}: {row.documents:,} documents ({row.train_documents:,} to train on), "
            f"{row.words:,} words, {row.tokens:,} tokens"
        )
    return 0


def corpora(wanted: argparse.Namespace) -> int:
    """List corpora, or delete one."""
    db = open_database(wanted.store)
    if wanted.action == "delete":
        if wanted.corpus is None:
            raise Mistake("say which corpus to delete, by name or number")
        row = corpora_of.find(db, wanted.corpus)
        corpora_of.delete(db, row.number)
        _say(f"deleted corpus {row.number}, {row.name}")
        return 0
    rows = corpora_of.every(db)
    if wanted.json:
        _print_json([_corpus_facts(row) for row in rows])
        return 0
    _print_table(
        ("corpus", "name", "documents", "words", "tokens", "kind"),
        [(row.number, row.name, f"{row.documents:,}", f"{row.words:,}", f"{row.tokens:,}", row.kind) for row in rows],
        "there is no corpus yet; make one with topiary import PATH, or try topiary demo",
    )
    return 0


def train(wanted: argparse.Namespace) -> int:
    """Order a run and start it in the background."""
    db = open_database(wanted.store)
    texts = dict(_setting(text) for text in wanted.settings)
    texts |= {name: value for name in ("layers", "inference") if (value := getattr(wanted, name)) is not None}
    row = place(
        db,
        wanted.corpus,
        model=wanted.model,
        texts=texts,
        minibatches=wanted.minibatches,
        seed=wanted.seed,
        threads=wanted.threads or launcher.threads(),
        averaged=wanted.averaged,
        burn_in=wanted.burn_in,
        samples=wanted.samples,
        paper_point=wanted.paper_point,
        name=wanted.name,
    )
    return _start(db, row, wanted)


def fork(wanted: argparse.Namespace) -> int:
    """Order a run that goes on from a snapshot of another one, and start it in the background."""
    db = open_database(wanted.store)
    begin = origin(db, find_run(db, wanted.run).number, minibatch=_minibatch(wanted.snapshot))
    row = order_fork(
        db,
        begin,
        model=wanted.model,
        texts=dict(_setting(text) for text in wanted.settings),
        minibatches=wanted.minibatches,
        seed=wanted.seed,
        threads=wanted.threads or launcher.threads(),
        averaged=wanted.averaged,
        name=wanted.name,
    )
    _tell(f"run {row.number} goes on from run {begin.run.number} at mini-batch {begin.snapshot.minibatch:,}")
    return _start(db, row, wanted)


def _start(db: Database, row: RunRow, wanted: argparse.Namespace) -> int:
    _say(row.number)
    if row.number not in launcher.fill(db):
        _tell(f"run {row.number} waits until another one ends")
    return wait(db, row.number) if wanted.wait else 0


def _minibatch(text: str) -> int | None:
    if text == "latest":
        return None
    if not text.isdecimal():
        raise Mistake(f"--snapshot is a mini-batch, or latest; got {text!r}")
    return int(text)


def wait(db: Database, run: int) -> int:
    """Show the progress of a run until it ends; 0 unless it failed or fell silent."""
    progress = Progress()
    looked = time.monotonic()
    try:
        while True:
            row = runs.get(db, run)
            state = launcher.state_of(row)
            if state in ENDED:
                break
            if state == "queued" and time.monotonic() - looked > FILL_SECONDS:
                launcher.fill(db)
                looked = time.monotonic()
            _show_progress(progress, row)
            time.sleep(0.3)
    except KeyboardInterrupt:
        progress.end(f"run {run} goes on in the background; topiary stop {run} ends it")
        return 130
    progress.end(_last_words(row, state))
    return 1 if state in ("failed", "silent") else 0


def list_runs(wanted: argparse.Namespace) -> int:
    """List all runs."""
    rows = runs.every(open_database(wanted.store))
    if wanted.json:
        _print_json([run_facts(row) for row in rows])
        return 0
    _print_table(
        ("run", "corpus", "model", "layers", "state", "mini-batches", "perplexity"),
        [
            (
                row.number,
                row.corpus_name,
                f"{row.model} {row.inference}",
                "-".join(map(str, row.layers)),
                launcher.state_of(row),
                f"{row.minibatch:,}/{row.planned:,}",
                _number(row.point_perplexity),
            )
            for row in rows
        ],
        "there is no run yet; start one with topiary train CORPUS, or try topiary demo",
    )
    return 0


def show(wanted: argparse.Namespace) -> int:
    """Show one run."""
    db = open_database(wanted.store)
    row = find_run(db, wanted.run)
    facts = run_facts(row) | {"parent_exists": any(other.number == row.parent for other in runs.every(db))}
    if wanted.json:
        _print_json(facts)
        return 0
    for name, value in facts.items():
        if value not in (None, "", {}):
            _say(f"{name.replace('_', ' '):<22}{_plain(value)}")
    return 0


def stop(wanted: argparse.Namespace) -> int:
    """Stop a run."""
    return _steer(wanted, launcher.stop, "stops")


def pause(wanted: argparse.Namespace) -> int:
    """Pause a run."""
    return _steer(wanted, launcher.pause, "pauses")


def resume(wanted: argparse.Namespace) -> int:
    """Go on with a run."""
    db = open_database(wanted.store)
    run = find_run(db, wanted.run).number
    launcher.resume(db, run)
    _tell(f"run {run} goes on from its checkpoint")
    return wait(db, run) if wanted.wait else 0


def delete(wanted: argparse.Namespace) -> int:
    """Delete a run."""
    db = open_database(wanted.store)
    run = find_run(db, wanted.run).number
    launcher.delete(db, run)
    _say(f"deleted run {run}")
    return 0


def topics(wanted: argparse.Namespace) -> int:
    """List topics, most popular first."""
    from app.export.topics import topics_table

    frame = _frame(wanted)
    try:
        table = topics_table(frame, wanted.layer)
    except LookupError as error:
        raise Mistake(str(error.args[0])) from error
    if wanted.json:
        _print_json(table)
        return 0
    for row in table:
        _say(f"L{row['layer']}  {row['rank']:>4}  {100 * row['share']:5.1f} %  {row['name'] or ' '.join(row['words'])}")
    return 0


def tree(wanted: argparse.Namespace) -> int:
    """Write the tree under (or over) some topics."""
    from app.export.trees import write

    frame = _frame(wanted)
    layer = wanted.layer or frame.n_layers
    try:
        roots = [frame.at_rank(layer, rank) for rank in wanted.node or [1]]
        path = write(frame, roots, wanted.threshold, "up" if wanted.up else "down", wanted.output)
    except (LookupError, ValueError, OSError) as error:
        raise Mistake(str(error.args[0] if len(error.args) == 1 else error)) from error
    _say(path)
    return 0


def compare(wanted: argparse.Namespace) -> int:
    """Say how the topics of two runs differ."""
    from app.compare_command import compare_runs

    db = open_database(wanted.store)
    rows = find_run(db, wanted.run_a), find_run(db, wanted.run_b)
    frames = _frame_of(db, rows[0], wanted.minibatch_a), _frame_of(db, rows[1], wanted.minibatch_b)
    try:
        text = compare_runs(db, frames, wanted.threshold, most=wanted.most, as_json=wanted.json)
    except ValueError as error:
        raise Mistake(str(error)) from error
    _say(text)
    return 0


def points(wanted: argparse.Namespace) -> int:
    """Print every point of a run as CSV."""
    db = open_database(wanted.store)
    run = find_run(db, wanted.run).number
    _say("minibatch,documents,seconds,name,layer,value")
    for point in points_of.table(db, run):
        value = "" if point.value is None else repr(point.value)
        _say(f"{point.minibatch},{point.documents},{point.seconds!r},{point.name},{point.layer},{value}")
    return 0


def infer(wanted: argparse.Namespace) -> int:
    """Place the documents of a file in the topics of a run."""
    from app.place_commands import infer as place_documents

    return place_documents(wanted)


def classify(wanted: argparse.Namespace) -> int:
    """Say how well a run predicts classes."""
    from app.class_commands import classify as judge

    return judge(wanted)


def interpolate(wanted: argparse.Namespace) -> int:
    """Show what lies between two documents."""
    from app.place_commands import interpolate as mix_documents

    return mix_documents(wanted)


def run_facts(row: RunRow) -> dict[str, Any]:
    """What ``show --json`` says of a run; numbers that are not known are null."""
    return {
        "run": row.number,
        "name": row.name,
        "corpus": row.corpus_name,
        "state": launcher.state_of(row),
        "model": row.model,
        "inference": row.inference,
        "layers": list(row.layers),
        "minibatch": row.minibatch,
        "minibatches": row.planned,
        "point_perplexity": _finite(row.point_perplexity),
        "averaged_perplexity": _finite(row.averaged_perplexity),
        "seconds": row.seconds,
        "tokens_per_second": _finite(row.tokens_per_second),
        "message": row.message,
        "seed": row.seed,
        "parent": row.parent,
        "parent_minibatch": row.parent_minibatch,
        "parent_snapshot": row.parent_snapshot,
        "attempt": row.attempt,
        "heartbeat_age": row.heartbeat_age,
        "created": row.created.isoformat(),
        "started": row.started.isoformat() if row.started else None,
        "ended": row.ended.isoformat() if row.ended else None,
        "settings": row.settings,
        "plan": row.plan,
        "traceback": row.traceback,
    }


def _steer(wanted: argparse.Namespace, act: Any, verb: str) -> int:
    db = open_database(wanted.store)
    run = find_run(db, wanted.run).number
    act(db, run)
    _tell(f"run {run} {verb}")
    return 0


def find_run(db: Database, text: str) -> RunRow:
    """The run that a command names by its number, or as "last"."""
    if text == "last":
        rows = runs.every(db)
        if not rows:
            raise NotFound("there is no run yet; start one with topiary train CORPUS")
        return max(rows, key=lambda row: row.number)
    if not text.isdecimal():
        raise Mistake(f"a run is named by its number, or last; got {text!r}")
    return runs.get(db, int(text))


def _frame(wanted: argparse.Namespace) -> "Frame":
    db = open_database(wanted.store)
    return _frame_of(db, find_run(db, wanted.run), wanted.minibatch)


def _frame_of(db: Database, row: RunRow, minibatch: int | None) -> "Frame":
    from app.frame import build_frame

    rows = sorted(snapshots.every(db, row.number), key=lambda snapshot: snapshot.minibatch)
    if minibatch is not None:
        rows = [snapshot for snapshot in rows if snapshot.minibatch <= minibatch]
    if not rows:
        raise Mistake(f"run {row.number} has no topics yet ({launcher.state_of(row)}: {row.message})")
    chosen = rows[-1]
    about = corpora_of.get(db, row.corpus)
    words = corpora_of.vocabulary(db, row.corpus)
    names = labels.every(db, row.number)
    arrays = snapshots.load(db, chosen.number)
    return build_frame(arrays, words, names, row, chosen, image_shape=about.image_shape)


def _show_progress(progress: Progress, row: RunRow) -> None:
    rest = [f"{row.minibatch:,}/{row.planned:,}"]
    if row.point_perplexity is not None:
        rest.append(f"point perplexity {row.point_perplexity:,.1f}")
    if row.minibatch > 0 and row.seconds > 0:
        each = (1 + WATCHING) * row.seconds / row.minibatch
        rest.append(f"{duration(each * (row.planned - row.minibatch))} left")
    words = row.message.partition(";")[0] or row.state
    progress.show(f"run {row.number}: {words}", row.minibatch / max(1, row.planned), "  ".join(rest))


def _last_words(row: RunRow, state: str) -> str:
    if state == "silent":
        return f"run {row.number} has fallen silent: its worker is gone; topiary resume {row.number} goes on"
    return f"run {row.number} {row.message if row.message.startswith(state) else f'{state}: {row.message}'}"


def _setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise Mistake(f"--set wants NAME=VALUE, as in eta=0.05; got {text!r}")
    return name.strip(), value.strip()


def _corpus_facts(row: CorpusRow) -> dict[str, Any]:
    return {
        "corpus": row.number,
        "name": row.name,
        "documents": row.documents,
        "train_documents": row.train_documents,
        "words": row.words,
        "tokens": row.tokens,
        "kind": row.kind,
        "labels": len(row.label_names),
        "source": row.source,
        "content_hash": row.content_hash,
        "created": row.created.isoformat(),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_plain(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "-".join(map(str, value))
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _print_json(value: Any) -> None:
    _say(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1))


def _print_table(heads: tuple[str, ...], rows: list[tuple[Any, ...]], when_empty: str) -> None:
    if not rows:
        _tell(when_empty)
        return
    cells = [heads, *([str(item) for item in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        _say("  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip())
