"""The command ``topiary edit``: tell the topics of a run what you know, list its journal, and undo."""

import argparse
from collections.abc import Sequence

from topiary.app.analysis.hierarchy import parse_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.cli.console import UserError, find_run, name_topics, notify, print_json, print_table, say
from topiary.app.jobs import steering
from topiary.app.jobs.edit_orders import EditOrder, list_steerable
from topiary.app.jobs.edit_previews import find_hints, preview_edit
from topiary.app.jobs.process import find_state
from topiary.app.names import name_step, plural
from topiary.app.views.steer import suggest_edits
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import EditRefused
from topiary.store.database import Database, open_existing
from topiary.store.run_rows import RunRow

APPLY = "apply"  # makes the edits that wait
SUGGEST = "suggest"  # lists edits that may be worth while


def edit(arguments: argparse.Namespace) -> int:
    """Add an edit to the journal of a run, have those that wait made, undo one, or list all."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    given = [arguments.action is not None, arguments.undo is not None, arguments.list]
    if sum(given) > 1:
        raise UserError("give one of an edit, --undo and --list")
    try:
        if arguments.undo is not None:
            return _undo(db, row, arguments.undo)
        if arguments.action == APPLY:
            return _apply(db, row, arguments.train)
        if arguments.action == SUGGEST:
            return _suggest(db, row, as_json=arguments.json)
        if arguments.action is not None:
            return _add(db, row, arguments)
    except (EditRefused, LookupError) as error:
        raise UserError(str(error.args[0])) from error
    return _print_journal(db, row, as_json=arguments.json)


def _add(db: Database, row: RunRow, arguments: argparse.Namespace) -> int:
    """Add an edit, and print its number; with ``--preview`` print what it would do, and add nothing."""
    named = [term for term in arguments.terms if parse_identity(term) is not None]
    words = tuple(term for term in arguments.terms if term not in named)
    order = EditOrder(arguments.action, _find_topics(db, row, named), words, arguments.strength, arguments.name)
    if arguments.preview:
        return _preview(db, row, order, as_json=arguments.json)
    (added,) = steering.queue_edits(db, row.number, [order])
    notify(steering.summarize_waiting(row, 1))
    say(added.edit)
    return 0


def _preview(db: Database, row: RunRow, order: EditOrder, *, as_json: bool) -> int:
    """Print the topics that an edit would make and change."""
    preview = preview_edit(db, row, order)
    rows = preview.list_rows()
    if as_json:
        print_json(rows)
        return 0
    notify(
        f"tried at {preview.moment}, not made: {plural(preview.tokens, 'token')} of "
        f"{plural(preview.documents, 'document')} would move"
    )
    table = [(each["topic"], f"{each['share']:.1%}", each["documents"], " ".join(each["words"])) for each in rows]
    print_table(("topic", "share", "documents", "words"), table, "it would move no token of layer 1")
    return 0


def _suggest(db: Database, row: RunRow, *, as_json: bool) -> int:
    """Print edits that may be worth while, each as it is written."""
    hints = find_hints(db, row)
    if isinstance(hints, str):
        notify(f"merges are judged by the likeness of words: {hints}")
    found = suggest_edits(StoreReader(db).hierarchy_at(row), list_steerable(db, row)[0], hints)
    if as_json:
        print_json([{"edit": each.command, "why": each.sentence} for each in found])
    else:
        print_table(("edit", "why"), [(each.command, each.sentence) for each in found], "nothing to suggest")
    return 0


def _find_topics(db: Database, row: RunRow, named: Sequence[str]) -> tuple[Node, ...]:
    """Return topics that the newest snapshot has, and say which they are."""
    if not named:
        return ()
    hierarchy = StoreReader(db).hierarchy_at(row)
    nodes = hierarchy.find_topics(named)
    name_topics(hierarchy, nodes)
    return tuple(nodes)


def _apply(db: Database, row: RunRow, steps: int) -> int:
    """Have the edits that wait made, and print the number of the run that makes them."""
    made = steering.apply_edits(db, row.number, steps)
    goes_on = f"run {made.number} goes on from run {row.number} with them" if made.number != row.number else ""
    notify(goes_on or f"run {row.number} makes them as it trains")
    say(made.number)
    return 0


def _undo(db: Database, row: RunRow, number: int) -> int:
    """Undo an edit, and print the number of the run that goes on without it."""
    made = steering.undo_edit(db, row.number, number)
    if made.number == row.number:
        notify(f"edit {number} is withdrawn")
    else:
        where = f"{name_step(row)} {made.parent_minibatch:,}"
        stops = f"; run {row.number} stops" if find_state(row) in ("queued", "running") else ""
        notify(f"run {made.number} goes on from run {row.number} at {where}, before edit {number}{stops}")
    say(made.number)
    return 0


def _print_journal(db: Database, row: RunRow, *, as_json: bool) -> int:
    entries = StoreReader(db).edits(row)
    if as_json:
        print_json([each._asdict() | {"created": each.created.isoformat()} for each in entries])
        return 0
    print_table(
        ("number", "state", name_step(row), "edit", "result", "author", "time"),
        [
            (
                *(each.number, each.state, each.step, each.what, each.result, each.author),
                f"{each.created.astimezone():%Y-%m-%d %H:%M}",
            )
            for each in entries
        ],
        f"run {row.number} has no edit yet; make one as in topiary edit {row.number} ban WORD",
    )
    return 0
