"""Say what an import of a file or folder would make of it, without a store."""

from app.ingest.importing import quiet
from app.ingest.openings import Paths, open_paths
from app.ingest.options import ImportOptions
from app.ingest.preparing import prepare, ready
from app.ingest.report import Report
from app.ingest.reporting import report
from app.ingest.source import Progress


def inspect_path(
    path: Paths, options: ImportOptions | None = None, progress: Progress = quiet, *, called: str = ""
) -> Report:
    """The report of a file or folder, or of several files of one format; nothing is stored.

    It is made by what an import does before it stores, so that both say the same.

    Parameters
    ----------
    path : path, or sequence of paths
    options : ImportOptions, optional
    progress, called
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When it cannot become a corpus; one sentence with file, line and cause.
    """
    options = options or ImportOptions()
    opening = open_paths(path, options, called)
    progress(f"Reading {opening.file}", None)
    prepared = prepare(opening.source, options, progress)
    if prepared.observer.tally is None:  # counts that nobody has read yet
        done, total = 0, len(prepared.stays)
        for rows, _ in ready(prepared):
            done += len(rows.labels)
            progress(f"Reading documents: {done:,}", done / total)
    return report(prepared, options, file=opening.file, form=opening.format, why=opening.why)
