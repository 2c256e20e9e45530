"""The commands ``topiary inspect``, ``import``, ``append``, ``corpora`` and ``columns``."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from topiary.app.cli.console import UserError, notify, print_json, print_table, say, translate_errors
from topiary.app.export.records import list_corpus_facts
from topiary.app.ingest.report import (
    Report,
    describe_addition,
    describe_parts,
    list_columns,
    list_cuts,
    list_lines,
    list_summary,
    load_report,
)
from topiary.app.jobs import logs
from topiary.app.jobs.progress import Progress
from topiary.store import corpora as corpora_of
from topiary.store import corpus_writer
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_database, open_existing
from topiary.store.run_rows import describe_left_out


def inspect(arguments: argparse.Namespace) -> int:
    """Print how an import would read files, and store nothing."""
    from topiary.app.ingest.importing import inspect_path
    from topiary.app.ingest.options import ImportOptions
    from topiary.app.ingest.registry import name_input, spool_input

    given = list_given_options(arguments)
    with _show_reading_progress() as progress, spool_input(arguments.path, given.get("format")) as paths:
        options, show = ImportOptions(**given), make_import_callback(progress, notes=False)
        report = inspect_path(paths, options, show, display_name=name_input(arguments.path))
    if arguments.json:
        print_json(report.to_json())
    else:
        print_report(report)
        notify(f"nothing is stored yet; make a corpus of it with topiary import {_quote_paths(arguments.path)}")
    return 0


def import_corpus(arguments: argparse.Namespace) -> int:
    """Make a corpus of a file or folder, of several files, or of standard input."""
    from topiary.app.ingest.importing import import_path
    from topiary.app.ingest.options import ImportOptions
    from topiary.app.ingest.registry import name_input, spool_input
    from topiary.app.jobs.cluster.reading import open_map

    given = list_given_options(arguments)
    db = open_database(arguments.store)
    with (
        _show_reading_progress() as progress,
        spool_input(arguments.path, given.get("format")) as paths,
        open_map(arguments.on) as map_batches,
    ):
        options, show = ImportOptions(**given), make_import_callback(progress)
        row = import_path(db, paths, options, show, display_name=name_input(arguments.path), map_batches=map_batches)
    if arguments.json:
        print_json(list_corpus_facts(row))
        return 0
    say(describe_corpus(row))
    if (record := load_report(row.meta)) is not None:
        print_summary(record)
    return 0


def append(arguments: argparse.Namespace) -> int:
    """Append more documents to a corpus."""
    from topiary.app.ingest.appending import append_path
    from topiary.app.ingest.options import ImportOptions
    from topiary.app.ingest.registry import name_input, spool_input
    from topiary.app.jobs.cluster.reading import open_map

    given = list_given_options(arguments)
    db = open_existing(arguments.store)
    with (
        _show_reading_progress() as progress,
        spool_input(arguments.path, given.get("format")) as paths,
        open_map(arguments.on) as map_batches,
    ):
        options, show, name = ImportOptions(**given), make_import_callback(progress), name_input(arguments.path)
        added = append_path(db, arguments.corpus, paths, options, show, display_name=name, map_batches=map_batches)
    if arguments.json:
        facts = {"documents": added.documents, "train_documents": added.train}
        facts |= {"validation_documents": added.validation, "tokens_read": added.tokens}
        print_json(facts | {"outside": added.outside, "corpus": list_corpus_facts(added.corpus)})
        return 0
    say(added)
    say(describe_corpus(added.corpus))
    return 0


def corpora(arguments: argparse.Namespace) -> int:
    """List corpora, show one, or delete one."""
    db = open_existing(arguments.store)
    if arguments.action == "delete":
        if arguments.corpus is None:
            raise UserError("say which corpus to delete, by name or number")
        row = corpora_of.find_exact_corpus(db, arguments.corpus)
        corpora_of.delete_corpus(db, row.number)
        logs.record_action(db.place, f"deleted {logs.name_subject('corpus', row.number, row.name)}")
        say(f"deleted corpus {row.number}, {row.name}")
        return 0
    if arguments.action != "list":
        if arguments.corpus is not None and arguments.action != "show":
            raise UserError(f"corpora does list, show or delete, and not {arguments.action!r}; say which")
        if arguments.corpus is None and arguments.action == "show":
            raise UserError("say which corpus to show, by name or number")
        return show_corpus(db, arguments.corpus or arguments.action, as_json=arguments.json)
    if arguments.corpus is not None:
        raise UserError(f"corpora list names all of them; leave {arguments.corpus!r} out, or say corpora show")
    rows = corpora_of.list_corpora(db)
    if arguments.json:
        print_json([list_corpus_facts(row) for row in rows])
        return 0
    print_table(
        ("corpus", "name", "documents", "words", "tokens", "kind"),
        [
            (row.number, row.name, *(f"{size:,}" for size in (row.documents, row.words, row.tokens)), row.kind)
            for row in rows
        ],
        "there is no corpus yet; make one with topiary import PATH, or try topiary demo",
    )
    if sentence := describe_left_out(db):
        notify(sentence)
    return 0


def list_given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the import options that were given on the command line."""
    from topiary.app.ingest.options import HELP

    return {name: getattr(arguments, name) for name in HELP if hasattr(arguments, name)}


@contextmanager
def _show_reading_progress() -> Iterator[Progress]:
    """Yield a progress line for a command that reads files; refused input is reported as a mistake of the user."""
    from topiary.app.ingest.options import HELP

    progress = Progress()
    try:
        with translate_errors(HELP):
            yield progress
    finally:
        progress.end()


def make_import_callback(progress: Progress, *, notes: bool = True) -> Any:
    """Return a callback that shows the progress of an import; notes are kept on lines of their own, or dropped."""

    def show(words: str, share: float | None = None) -> None:
        if not words.startswith("Note: "):
            progress.show(words, share)
        elif notes:
            progress.end(words)

    return show


def print_report(report: Report) -> None:
    """Print a report: how the files were read, tables of columns and of what was left out, notes and warnings."""
    for name, line in list_lines(report):
        say(f"{name:<10} {line}")
    _print_rows("columns", list_columns(report))
    _print_rows("left out", list_cuts(report))
    for note in report.notes:
        say(f"note       {note}")
    for warning in report.warnings:
        say(f"warning    {warning}")


def print_summary(report: Report) -> None:
    """Print the summary of an import in five lines, and the warnings."""
    for line in list_summary(report):
        say(f"  {line}")
    for warning in report.warnings:
        say(f"  warning: {warning}")


def show_corpus(db: Database, name: str, *, as_json: bool) -> int:
    """Print the sizes of a corpus, and the record of how its files were read and with which options."""
    row = corpora_of.find_corpus(db, name)
    record = load_report(row.meta)
    if as_json:
        print_json(list_corpus_facts(row) | {"record": None if record is None else record.to_json()})
        return 0
    say(describe_corpus(row))
    if record is None and row.meta.get("record") is not None:
        notify("its record of how its files were read is damaged")
    elif record is None:
        notify("it keeps no record of how its files were read: an earlier version imported it")
    if record is not None:
        print_report(record)
    for added in row.meta.get(corpus_writer.ADDITIONS, ()):
        say(f"{'appended':<10} {describe_addition(added)}")
    return 0


def describe_corpus(row: CorpusRow) -> str:
    """Describe a corpus in one line."""
    parts = describe_parts(row.documents, row.train_documents, row.validation_documents)
    return (
        f"corpus {row.number}, {row.name}: {row.documents:,} documents ({parts}), {row.words:,} words, "
        f"{row.tokens:,} tokens"
    )


def _print_rows(label: str, rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows of cells in aligned columns, with a label before the first row."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        say(f"{label if number == 0 else '':<10} {'  '.join([*cells, row[-1]])}".rstrip())


def _quote_paths(paths: Sequence[str]) -> str:
    return " ".join(repr(path) if " " in path else path for path in map(str, map(Path, paths)))


def columns(arguments: argparse.Namespace) -> int:
    """List the columns of a corpus with their kinds, after changing the kinds of those that are named."""
    from topiary.app.export.columns import list_column_facts

    requested = [_split_request(text) for text in arguments.kinds]
    db = open_existing(arguments.store)
    row = corpora_of.find_corpus(db, arguments.corpus)
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
                f"{100 * each.share:.0f}%",
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
