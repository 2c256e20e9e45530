"""The report of a run as one HTML file: corpus, tree, a section for every topic with quotations, and the method."""

import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.notes import read_document_notes
from topiary.app.analysis.passages import TopicPassage, choose_passages, weigh_words
from topiary.app.analysis.reader import GROUPS, TIME, StoreReader, TrendQuestion
from topiary.app.analysis.refinements import FinerRun, describe_conditions, read_finer_runs
from topiary.app.analysis.trends import GroupFigure, TimeFigure, describe_bands
from topiary.app.export.film import choose_film_tree
from topiary.app.export.texts import find_format
from topiary.app.ingest.new_documents import Rules, find_rules
from topiary.app.jobs.estimates import choose_headline, read_latest, summarize_estimate
from topiary.app.machine import find_asset, find_version
from topiary.app.names import STEPS, name_inference, name_model, name_step
from topiary.app.views.report import ReportContents, ReportRefinement, ReportTopic, draw_report
from topiary.app.views.report_trends import ReportTrends
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.picture import TreeChoice, draw_tree, list_below
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, snapshots
from topiary.store.columns import find_column
from topiary.store.corpora import Document
from topiary.store.corpus_rows import DATE, NUMBER, CorpusColumn, CorpusRow
from topiary.store.database import Database
from topiary.store.errors import NotFound
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow


def measure_report_trends(
    reader: StoreReader, corpus: CorpusRow, hierarchy: Hierarchy, nodes: Sequence[Node], names: Sequence[str] = ()
) -> ReportTrends:
    """Return topics over time and by group, of all documents; without stored shares, a note that says so.

    Parameters
    ----------
    corpus : CorpusRow
        The corpus of the run.
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


QUOTES = 3  # passages of a topic
_READ = 8  # documents of a topic among which they are sought
_TOPICS_AT_ONCE = 16  # topics whose documents are in memory


def write_report(
    db: Database,
    row: RunRow,
    snapshot: SnapshotRow,
    path: str | Path,
    *,
    topics: Collection[Node] = (),
    below: Collection[Node] = (),
    marked: bool = False,
    choice: TreeChoice | None = None,
    quotes: bool = True,
    columns: Sequence[str] = (),
    report: Callable[[float], None] = lambda _: None,
) -> Path:
    """Write the report of a run to an HTML file; see :func:`render_report`.

    Raises
    ------
    ValueError
        If the name does not end in ``.html``, or the run has none of the topics.
    NotFound
        If the corpus has no such column.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    find_format(path, ("html",), f"a report as {str(path)!r}")
    text = render_report(
        db, row, snapshot, topics=topics, below=below, marked=marked, choice=choice, quotes=quotes, columns=columns,
        report=report,
    )  # fmt: skip
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def render_report(
    db: Database,
    row: RunRow,
    snapshot: SnapshotRow,
    *,
    topics: Collection[Node] = (),
    below: Collection[Node] = (),
    marked: bool = False,
    choice: TreeChoice | None = None,
    quotes: bool = True,
    columns: Sequence[str] = (),
    report: Callable[[float], None] = lambda _: None,
) -> str:
    """Return the report of a run as an HTML page that needs no other file.

    Parameters
    ----------
    topics : collection of Node
        Topics to include; without any, nor ``below`` nor ``marked``, all but those with few tokens.
    below : collection of Node
        Topics to include with all topics that the tree has below them.
    marked : bool
        Whether topics with a name, a note or a tag are included.
    choice : TreeChoice, optional
        The part of the tree that is drawn; by default that with which the page Explore opens.
    quotes : bool
        Whether passages of documents are quoted.
    columns : sequence of str
        Columns by which topics are shown over time and by group; by default the first that fit.
    report : (share) -> None
        Called with the share of the work that is done.

    Raises
    ------
    ValueError
        If the run lacks one of the topics, no topic is marked, or a column is of no fitting kind.
    NotFound
        If the corpus has no such column.
    """
    reader = StoreReader(db)
    hierarchy = reader.add_recurrence(row, reader.hierarchy(row, snapshot))
    corpus = corpora.get_run_corpus(db, row)
    choice = choice or choose_film_tree(hierarchy)
    nodes = _choose_nodes(hierarchy, choice, topics, below, marked=marked)
    finer = read_finer_runs(reader, row.number)
    trends = measure_report_trends(reader, corpus, hierarchy, nodes, columns)
    found = _find_quotes(reader, corpus, hierarchy, nodes, report) if quotes and hierarchy.image_shape is None else {}
    quoted = {quote.document for each in found.values() for quote in each}
    report(1.0)
    contents = ReportContents(
        title=f"What “{corpus.name}” is about",
        lead=_write_lead(hierarchy, corpus, row),
        hierarchy=hierarchy,
        topics=[ReportTopic(node, found.get(node, ())) for node in nodes],
        apart=choice.without,
        tree=draw_tree(hierarchy, choice, theme=LIGHT).svg,
        facts=_list_facts(db, row, corpus, hierarchy) | ({"Time and groups": trends.note} if trends.note else {}),
        trends=trends,
        document_notes=read_document_notes(db, corpus.number, quoted),
        refinements={node: [_describe_finer_run(each) for each in own] for node, own in finer.items()},
    )
    return draw_report(contents, find_asset("css/report.css").read_text(encoding="utf-8"))


def _choose_nodes(
    hierarchy: Hierarchy, choice: TreeChoice, topics: Collection[Node], below: Collection[Node], *, marked: bool
) -> list[Node]:
    """Return the topics of the report, by layer from the top, most popular first."""
    if missing := [node for node in (*topics, *below) if not hierarchy.has(node)]:
        names = ", ".join(map(format_identity, missing))
        raise ValueError(f"run {hierarchy.run} has no topic {names}; its layers have {hierarchy.widths} topics")
    layers = range(hierarchy.n_layers, 0, -1)
    every = [node for layer in layers for node in hierarchy.nodes(layer)]
    if not (topics or below or marked):
        return [node for node in every if node not in hierarchy.light]
    chosen = {*topics, *(node for root in below for node in list_below(hierarchy, choice, root))}
    if marked:
        chosen |= {*hierarchy.list_marked()}
    if not chosen:
        raise ValueError(f"no topic of run {hierarchy.run} has a name, a note or a tag")
    return [node for node in every if node in chosen]


def _describe_finer_run(found: FinerRun) -> ReportRefinement:
    where = " and ".join(describe_conditions(found.origin))
    return ReportRefinement(found.row.name, found.corpus.documents, where, found.hierarchy)


def _find_quotes(
    reader: StoreReader, corpus: CorpusRow, hierarchy: Hierarchy, nodes: list[Node], report: Callable[[float], None]
) -> dict[Node, list[TopicPassage]]:
    """Return the passages that are quoted for each topic; a topic whose documents have no texts has none."""
    rules = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary)
    quotes: dict[Node, list[TopicPassage]] = {}
    for first in range(0, len(nodes), _TOPICS_AT_ONCE):
        report(first / len(nodes))
        part = nodes[first : first + _TOPICS_AT_ONCE]
        wanted = {node: reader.rank(hierarchy, node).numbers[:_READ].tolist() for node in part}
        numbers = sorted({number for each in wanted.values() for number in each if number < corpus.documents})
        documents = {each.number: each for each in corpora.read_documents(reader.db, corpus.number, numbers)}
        for node, used in wanted.items():
            quotes[node] = _quote_topic(hierarchy, node, rules, (documents[n] for n in used if n in documents))
    return quotes


def _quote_topic(hierarchy: Hierarchy, node: Node, rules: Rules, documents: Iterable[Document]) -> list[TopicPassage]:
    with_text = (document for document in documents if document.text.strip())
    return choose_passages(with_text, rules, weigh_words(hierarchy, node), QUOTES)


def _write_lead(hierarchy: Hierarchy, corpus: CorpusRow, row: RunRow) -> str:
    layers = ", ".join(f"{width:,}" for width in hierarchy.widths)
    counted = f" with {corpus.tokens:,} words, {corpus.words:,} of them different," if corpus.kind != "real" else ""
    several = f"in {hierarchy.n_layers} layers" if hierarchy.n_layers > 1 else "in one layer"
    return (
        f"{corpus.documents:,} documents{counted} and the topics that {name_model(row.model)} found in them: "
        f"{layers} topics {several}, from the words up."
    )


def _list_facts(db: Database, row: RunRow, corpus: CorpusRow, hierarchy: Hierarchy) -> dict[str, str]:
    """Return how the report was made, so that it can be repeated."""
    best = choose_headline(row, read_latest(db, row.number))
    method = name_inference(row.model, row.inference)
    n_seeds = hierarchy.recurrence.n_runs if hierarchy.recurrence is not None else 0
    newest = snapshots.find_latest(db, row.number)
    newer = newest.minibatch if newest is not None and newest.minibatch > hierarchy.minibatch else 0
    settings = ", ".join(f"{name} {value}" for name, value in row.settings.items() if name != "layers")
    facts = {
        "Corpus": f"{corpus.name}, read from {corpus.source}" if corpus.source else corpus.name,
        "Documents": f"{corpus.train_documents:,} for training, {corpus.validation_documents:,} for validation, "
        f"{corpus.test_documents:,} for tests",
        "Content hash": corpus.content_hash,
        "Model": f"{name_model(row.model)}{f', {method}' if method else ''}, {'-'.join(map(str, hierarchy.widths))}",
        "Run": f"{row.number}{f' ({row.name})' if row.name else ''}, seed {row.seed}, "
        f"{hierarchy.minibatch:,} {STEPS[name_step(row)]}",
        "Newer topics": f"the run has those after {newer:,} {STEPS[name_step(row)]} too" if newer else "",
        "Other seeds": f"compared with {n_seeds - 1} runs that differ in the seed alone" if n_seeds > 1 else "",
        "How well it predicts words": "" if best is None else summarize_estimate(row, best, ""),
        "Settings": settings,
        "Versions": f"Topiary {find_version()}, NumPy {version('numpy')}, Numba {version('numba')}, "
        f"Python {platform.python_version()}",
        "Date": datetime.now().astimezone().strftime("%-d %B %Y"),
    }
    return {name: value for name, value in facts.items() if value}
