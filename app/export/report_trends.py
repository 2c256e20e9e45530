"""The measurements of topics over time and by group for the report of a run."""

from collections.abc import Sequence

from topiary.app.analysis.filters import read_sources
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.trends import (
    GroupFigure,
    TimeFigure,
    describe_bands,
    group_documents,
    measure_by_group,
    measure_over_time,
)
from topiary.app.views.report_trends import ReportTrends
from topiary.engine.hierarchy.tree import Node
from topiary.store.column_rows import CATEGORY, DATE, NUMBER, CorpusColumn
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import NotFound
from topiary.store.run_rows import RunRow

_GROUPED = (CATEGORY, NUMBER)


def measure_report_trends(
    db: Database, row: RunRow, corpus: CorpusRow, hierarchy: Hierarchy, nodes: Sequence[Node], names: Sequence[str] = ()
) -> ReportTrends:
    """Return topics over time and by group, of all documents; without stored shares, a note that says so.

    Parameters
    ----------
    db : Database
    row : RunRow
    corpus : CorpusRow
        The corpus of the run.
    hierarchy : Hierarchy
    nodes : sequence of Node
        The topics of the report.
    names : sequence of str
        Columns of the corpus: the first one of dates is used for time, those of categories and numbers for groups.  By
        default the first column of dates, and the first one of categories, or of numbers if there is none.

    Raises
    ------
    NotFound
        If the corpus has no such column.
    ValueError
        If a column that was named holds neither dates nor categories nor numbers.
    """
    sources = read_sources(db, row, corpus, hierarchy)
    dates, grouped = _choose_columns(sources.columns, names)
    layers = sorted({node.layer for node in nodes}, reverse=True)
    if not layers or not (dates or grouped):
        return ReportTrends()
    try:
        uses = {layer: sources.read_use(layer) for layer in layers}
    except NotFound as error:
        return ReportTrends(note=str(error))
    notes = [f"groups by {', '.join(column.name for column in grouped)}"] if grouped else []
    over_time: dict[int, TimeFigure] = {}
    if dates is not None:
        try:
            values = sources.read_column(dates)
            for layer in layers:
                own = [node for node in nodes if node.layer == layer]
                over_time[layer] = measure_over_time(hierarchy, layer, uses[layer], values, nodes=own)
            notes.insert(0, f"time by {dates.name}")
        except ValueError as error:  # too few dates in too long a time
            over_time = {}
            notes.insert(0, f"no time, because {error}")
    by_group: dict[str, dict[int, GroupFigure]] = {}
    for column in grouped:
        groups = group_documents(column, sources.read_column(column))
        if groups.names:
            by_group[column.name] = {layer: measure_by_group(hierarchy, layer, uses[layer], groups) for layer in layers}
    numbers = [column.name for column in grouped if column.kind == NUMBER]
    return ReportTrends(
        over_time, by_group, numbers, f"{'; '.join(notes)}; weighted by words, with {describe_bands(0)}"
    )


def _choose_columns(
    columns: Sequence[CorpusColumn], names: Sequence[str]
) -> tuple[CorpusColumn | None, list[CorpusColumn]]:
    """Return the column of dates, if there is one, and the columns by which documents are grouped."""
    chosen = [find_column(columns, name) for name in names]
    for column in chosen:
        if column.kind not in (DATE, *_GROUPED):
            raise ValueError(
                f"column {column.name!r} is of kind {column.kind}; topics change by dates, and differ by "
                "categories and numbers"
            )
    offered = chosen or columns
    dates = next((column for column in (*offered, *columns) if column.kind == DATE), None)
    grouped = [column for column in chosen if column.kind in _GROUPED]
    if not grouped:
        grouped = [column for kind in _GROUPED for column in columns if column.kind == kind][:1]
    return dates, grouped
