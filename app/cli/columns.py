"""The command ``topiary columns``."""

import argparse
from collections.abc import Sequence

from topiary.app.cli.console import UserError, notify, print_json, print_table
from topiary.app.jobs.progress import Progress
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_existing


def columns(arguments: argparse.Namespace) -> int:
    """List the columns of a corpus with their kinds, after changing the kinds of those that are named."""
    from topiary.app.export.columns import list_column_facts

    requested = [_split_request(text) for text in arguments.kinds]
    db = open_existing(arguments.store)
    row = corpora.find_corpus(db, arguments.corpus)
    progress = Progress()
    try:
        _change_kinds(db, row, requested)
        facts = list_column_facts(db, row, progress.show)
    finally:
        progress.end()
    if arguments.json:
        print_json([each.to_json() for each in facts])
        return 0
    print_table(
        ("column", "kind", "filled", "values"),
        [
            (
                each.column,
                f"{each.kind}, label" if each.is_label else each.kind,
                f"{100 * each.share:.0f} %",
                "; ".join(filter(None, (each.describe(), f"{each.invalid:,} invalid" if each.invalid else ""))),
            )
            for each in facts
        ],
        f"corpus {row.name} has no columns",
    )
    return 0


def _split_request(text: str) -> tuple[str, str]:
    """Return the name and the kind in NAME=KIND; the name may contain an equals sign."""
    name, equals, kind = text.rpartition("=")
    if not equals or not name or not kind:
        raise UserError(f"--kind is NAME=KIND, such as --kind year=date; got {text!r}")
    return name, kind.strip()


def _change_kinds(db: Database, row: CorpusRow, requested: Sequence[tuple[str, str]]) -> None:
    """Change the kinds of columns, and say how many of their texts are no values of it."""
    from topiary.app.ingest.column_kinds import KindError, change_kind, describe_invalid

    for name, kind in requested:
        try:
            changed = change_kind(db, row, name, kind)
        except KindError as error:
            raise UserError(str(error)) from error
        if changed.invalid:
            notify(describe_invalid(changed, changed.invalid))
