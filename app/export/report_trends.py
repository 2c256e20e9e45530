"""The measurements of topics over time and by group for the report of a run."""

from collections.abc import Sequence

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.reader import GROUPS, TIME, Reader, TrendQuestion
from topiary.app.analysis.trends import GroupFigure, TimeFigure, describe_bands
from topiary.app.views.report_trends import ReportTrends
from topiary.engine.hierarchy.tree import Node
from topiary.store.column_rows import DATE, NUMBER, CorpusColumn
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CorpusRow
from topiary.store.errors import NotFound


def measure_report_trends(
    reader: Reader, corpus: CorpusRow, hierarchy: Hierarchy, nodes: Sequence[Node], names: Sequence[str] = ()
) -> ReportTrends:
    """Return topics over time and by group, of all documents; without stored shares, a note that says so.

    Parameters
    ----------
    reader : Reader
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
    documents = reader.documents(corpus, hierarchy)
    dates, grouped = _choose_columns(documents.sources.columns, names)
    layers = sorted({node.layer for node in nodes}, reverse=True)
    if not layers or not (dates or grouped):
        return ReportTrends()
    try:
        for layer in layers:
            documents.sources.read_use(layer)
    except NotFound as error:
        return ReportTrends(note=str(error))
    notes = [f"groups by {', '.join(column.name for column in grouped)}"] if grouped else []
    over_time: dict[int, TimeFigure] = {}
    if dates is not None:
        try:
            for layer in layers:
                own = [node for node in nodes if node.layer == layer]
                figure = documents.measure(TrendQuestion(TIME, layer, dates.name, own)).over_time
                over_time |= {} if figure is None else {layer: figure}
            notes.insert(0, f"time by {dates.name}")
        except ValueError as error:  # too few dates in too long a time
            over_time = {}
            notes.insert(0, f"no time, because {error}")
    by_group: dict[str, dict[int, GroupFigure]] = {}
    for column in grouped:
        measured = {layer: documents.measure(TrendQuestion(GROUPS, layer, column.name)).by_group for layer in layers}
        known = {layer: figure for layer, figure in measured.items() if figure is not None and figure.groups.names}
        by_group |= {column.name: known} if known else {}
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
        if column.kind not in (DATE, *GROUPS):
            raise ValueError(
                f"column {column.name!r} is of kind {column.kind}; topics change by dates, and differ by "
                "categories and numbers"
            )
    offered = chosen or columns
    dates = next((column for column in (*offered, *columns) if column.kind == DATE), None)
    grouped = [column for column in chosen if column.kind in GROUPS]
    if not grouped:
        grouped = [column for kind in GROUPS for column in columns if column.kind == kind][:1]
    return dates, grouped
