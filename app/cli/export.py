"""The commands ``topiary export`` and ``refine``: tables of a run as files, and parts of its corpus as a corpus."""

import argparse

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.refinements import refine_run
from topiary.app.cli.console import UserError, find_run, make_file_error, name_topics, notify, say
from topiary.app.export.bridges import PYLDAVIS, write_pyldavis
from topiary.app.export.run_tables import build_table, read_request
from topiary.app.export.tables import write_table
from topiary.app.ingest.refining import RefineError
from topiary.app.jobs.progress import Progress
from topiary.store.database import open_existing


def export(arguments: argparse.Namespace) -> int:
    """Write a table of a run, or the data of pyLDAvis, to a file and print the path of the file."""
    db, progress = open_existing(arguments.store), Progress()
    row = find_run(db, arguments.run)
    try:
        if arguments.table == PYLDAVIS:
            snapshot = find_snapshot_at(db, row, arguments.minibatch)
            say(write_pyldavis(db, row, snapshot, arguments.layer or 1, arguments.output))
            return 0
        names = ("minibatch", "layer", "query", "column", "unit", "by", "interval", "where")
        request = read_request(db, row, arguments.table, **{name: getattr(arguments, name) for name in names})
        table = build_table(arguments.table, request)
        if request.note:
            notify(request.note)
        name_topics(request.hierarchy, (), arguments.where)
        path = write_table(table, arguments.output, lambda rows: progress.show(f"writing {rows:,} rows"))
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except (LookupError, ReadError) as error:
        raise UserError(str(error.args[0])) from error
    finally:
        progress.end()
    say(path)
    return 0


def refine(arguments: argparse.Namespace) -> int:
    """Make a corpus of some documents of a run, and print its name and how to train on it."""
    db, progress = open_existing(arguments.store), Progress()
    row = find_run(db, arguments.run)
    hierarchy = StoreReader(db).placed_at(row, arguments.minibatch).hierarchy
    try:
        topic = hierarchy.find_topic(arguments.topic) if arguments.topic else None
        name_topics(hierarchy, [] if topic is None else [topic], arguments.where)
        corpus = refine_run(
            db, row, hierarchy, arguments.name, topic=topic, share=arguments.share, where=arguments.where,
            query=arguments.query, progress=progress.show,
        )  # fmt: skip
    except (ReadError, RefineError) as error:
        raise UserError(str(error)) from error
    except LookupError as error:
        raise UserError(str(error.args[0])) from error
    finally:
        progress.end()
    say(f"corpus {corpus.number}, {corpus.name}: {corpus.documents:,} documents, {corpus.words:,} words")
    say(f"topiary train {corpus.number} finds its topics")
    return 0
