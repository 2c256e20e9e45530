"""The command ``topiary export``: tables of a run as files."""

import argparse

from app.cli.console import UserError, find_run, make_file_error, say
from app.export.run_tables import build_table, read_request
from app.export.tables import TableFileError, write_table
from app.jobs.progress import Progress
from store.database import open_existing


def export(arguments: argparse.Namespace) -> int:
    """Write a table of a run to a file and print the path of the file."""
    db, progress = open_existing(arguments.store), Progress()
    row = find_run(db, arguments.run)
    try:
        names = ("minibatch", "layer", "query", "column", "unit", "by", "where")
        request = read_request(db, row, **{name: getattr(arguments, name) for name in names})
        table = build_table(arguments.table, request)
        path = write_table(table, arguments.output, lambda rows: progress.show(f"writing {rows:,} rows"))
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except (LookupError, TableFileError) as error:
        raise UserError(str(error.args[0])) from error
    finally:
        progress.end()
    say(path)
    return 0
