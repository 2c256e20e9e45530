"""The tables of a run that pages, commands and the library export: one definition of each, so that numbers agree."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from topiary.app.analysis.document_table import find_layer_strongest, make_title
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import FilterSources
from topiary.app.analysis.hierarchy import Hierarchy, Relative, format_identity
from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.passages import list_contexts
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.reader import GROUPS, TIME, RunDocuments, StoreReader, TrendQuestion
from topiary.app.analysis.shares import infer_theta
from topiary.app.analysis.trends import measure_shares
from topiary.app.export.tables import ExportTable
from topiary.app.export.topics import list_topics
from topiary.app.names import IntervalKind
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.moments import Weighting
from topiary.store import corpora
from topiary.store.corpus_rows import LABEL, NUMBER, CorpusRow
from topiary.store.database import Database
from topiary.store.full_text import TextQuery
from topiary.store.run_rows import RunRow
from topiary.store.shares import UNITS

_ROWS = 2000  # of one frame
_RELATIVES = 6  # parents and children of a topic
_DOCUMENTS = 10  # documents of a topic
_LEAST = 0.01  # weight of a parent or child that is listed
_OWN_COLUMNS = ("document", "title", "label", "tokens", "topic", "topic_title", "topic_share", "rest")  # of documents


class RunTableRequest(NamedTuple):
    """What a table is about.

    Attributes
    ----------
    corpus : CorpusRow
        The corpus of the run.
    layer : int or None
        The layer of a table of one layer; None for its default.
    query : str
        The search of a table of matches, and of the documents in a table of documents, as in `store.full_text`.
    column : str
        Name of the column of dates or groups; by default the first one of a fitting kind.
    unit : str or None
        Length of the periods; None to choose it by density.
    by : "tokens" or "documents"
        Weight of a document in shares over time and by group.
    interval : "documents" or "topics"
        Whether intervals of shares have the differences between documents, or also those between samples of the topics.
    where : sequence of str
        Conditions on documents (`app.analysis.filters`); in a table of topics, the shares are those in these documents.
    note : str
        A sentence on topics and shares that are not of the newest snapshot; may be empty.
    """

    db: Database
    run: RunRow
    corpus: CorpusRow
    hierarchy: Hierarchy
    layer: int | None = None
    query: str = ""
    column: str = ""
    unit: str | None = None
    by: Weighting = "tokens"
    interval: IntervalKind = "documents"
    where: Sequence[str] = ()
    note: str = ""


def read_request(
    db: Database, row: RunRow, kind: str, *, minibatch: int | None = None, **options: Any
) -> RunTableRequest:
    """Return the request for a table of the snapshot at or before a mini-batch.

    Parameters
    ----------
    kind : str
        One of the `TABLES`.
    minibatch : int, optional
        By default, the table is of the newest snapshot; one with shares, of the newest snapshot that has them.
    **options
        Fields of `RunTableRequest`.

    Raises
    ------
    NotFound
        If there is no such snapshot.
    """
    reader, note = StoreReader(db), ""
    if reads_shares(kind, options.get("where", ())):
        hierarchy, _, note, _ = reader.placed_at(row, minibatch)
    else:
        hierarchy = reader.hierarchy_at(row, minibatch)
    hierarchy = reader.add_recurrence(row, hierarchy)
    return RunTableRequest(db, row, corpora.get_run_corpus(db, row), hierarchy, note=note, **options)


def reads_shares(kind: str, where: Sequence[str]) -> bool:
    """Return whether a table reads the shares of topics in documents: only a table of all topics does not."""
    return kind != "topics" or len(where) > 0


def build_table(kind: str, request: RunTableRequest) -> ExportTable:
    """Return one of the `TABLES` of a run.

    Raises
    ------
    ReadError
        If there is no such kind, or something that it needs is missing; the message is one sentence.
    LookupError
        If the run has no such layer.
    """
    if kind not in TABLES:
        raise ReadError(f"there is no table {kind!r}; choose one of {', '.join(TABLES)}")
    return TABLES[kind](request)


def _build_topics(request: RunTableRequest) -> ExportTable:
    """Return the table of topics: names, words, shares, certainty, parents, children and documents.

    With conditions, the shares are those of the words of the documents that meet them, as on Explore.
    """
    hierarchy = request.hierarchy
    if request.where:
        hierarchy = replace(hierarchy, shares=_measure_selected(request))
    reader = StoreReader(request.db)
    rows = [_describe_topic(reader, hierarchy, facts) for facts in list_topics(hierarchy, request.layer)]
    return ExportTable("topics", (pd.DataFrame(rows),))


def _measure_selected(request: RunTableRequest) -> tuple[Array, ...]:
    """Return the shares of the topics of every layer in the documents that meet the conditions."""
    hierarchy, documents = request.hierarchy, _open_documents(request)
    if not documents.count:
        raise ReadError("no document meets all conditions, so that topics have no shares; give others with --where")
    layers = range(1, hierarchy.n_layers + 1)
    return tuple(
        measure_shares(hierarchy, layer, documents.sources.read_use(layer), documents.selected) for layer in layers
    )


def _describe_topic(reader: StoreReader, hierarchy: Hierarchy, facts: Mapping[str, Any]) -> dict[str, Any]:
    node = hierarchy.find_topic(facts["topic"])
    is_known = len(hierarchy.steadiness) >= node.layer
    steady = hierarchy.steadiness[node.layer - 1][hierarchy.place(node)] if is_known else np.nan
    return {
        "topic": facts["topic"],
        "layer": node.layer,
        "rank": facts["rank"],
        "share": facts["share"],
        "weight": hierarchy.weight(node),
        "name": facts["name"],
        "title": facts["title"],
        "words": " ".join(facts["words"]),
        "role": facts["role"],
        "npmi": np.nan if facts["npmi"] is None else facts["npmi"],
        "steadiness": float(steady),
        "found_in": facts.get("found_in", np.nan),
        "of_runs": facts.get("of_runs", np.nan),
        "parents": _join_relatives(hierarchy, hierarchy.parents(node, _RELATIVES)),
        "children": _join_relatives(hierarchy, hierarchy.children(node, _RELATIVES)),
        "documents": " ".join(map(str, reader.rank(hierarchy, node).numbers[:_DOCUMENTS].tolist())),
    }


def _join_relatives(hierarchy: Hierarchy, relatives: list[Relative]) -> str:
    """Return parents or children with their weights, as in ``L2:17 moon landing 0.412, L2:3 rocket engine 0.078``."""
    heavy = (each for each in relatives if abs(each.weight) >= _LEAST)
    return ", ".join(f"{hierarchy.cite(each.node)} {each.weight:.3f}" for each in heavy)


def _build_contexts(request: RunTableRequest) -> ExportTable:
    """Return the table of all places where a search finds something, with the text around them."""
    query = TextQuery(request.query)
    if query.is_empty:
        raise ReadError("a table of contexts needs a search: --query WORDS")
    selected = _keep_matches(request, _open_documents(request).selected)
    return ExportTable("contexts", _read_contexts(request, query, selected))


def _keep_matches(request: RunTableRequest, selected: Array | None) -> Array:
    """Return which of the selected documents the search finds, as a mask."""
    numbers = corpora.find_documents(request.db, request.corpus.number, request.query)
    found = np.zeros(request.corpus.documents, bool)
    found[numbers[numbers < len(found)]] = True
    return found if selected is None else found & selected


def _read_contexts(request: RunTableRequest, query: TextQuery, selected: Array) -> Iterator[pd.DataFrame]:
    columns = ["document", "title", "label", "place", "before", "match", "after"]
    inside = np.flatnonzero(selected).tolist()
    rows: list[tuple[Any, ...]] = []
    is_first = True
    for line in list_contexts(request.db, request.corpus.number, query, inside):
        rows.append(tuple(line))
        if len(rows) == _ROWS:
            yield pd.DataFrame(rows, columns=columns)
            rows, is_first = [], False
    if rows or is_first:
        yield pd.DataFrame(rows, columns=columns)


def _choose_layer(request: RunTableRequest, default: int) -> int:
    """Return the layer of a table of one layer; raise LookupError if the run does not have it."""
    layer = default if request.layer is None else request.layer
    request.hierarchy.at_rank(layer, 1)
    return layer


def _open_documents(request: RunTableRequest) -> RunDocuments:
    """Return the documents that meet the conditions, with their columns and shares."""
    reader = StoreReader(request.db)
    return reader.documents(request.corpus, request.hierarchy, request.where, interval=request.interval)


def _build_documents(request: RunTableRequest) -> ExportTable:
    """Return the table of documents with the shares of the topics of a layer, layer 1 by default."""
    layer, documents = _choose_layer(request, 1), _open_documents(request)
    sources, selected = documents.sources, documents.selected
    if not TextQuery(request.query).is_empty:
        selected = _keep_matches(request, selected)
    return ExportTable("documents", _read_documents(request, layer, sources, selected))


def _describe_documents(request: RunTableRequest, sources: FilterSources, some: Array) -> pd.DataFrame:
    """Return numbers, titles, labels and all columns of documents; a column named like one of ours says so."""
    documents = corpora.read_documents(request.db, request.corpus.number, some.tolist())
    frame = pd.DataFrame(
        {
            "document": some,
            "title": [make_title(each.title, each.text, each.columns) for each in documents],
            "label": [each.label or "" for each in documents],
        }
    )
    for column in sources.columns:
        if column.place != LABEL:
            name = f"{column.name} (column)" if column.name in _OWN_COLUMNS else column.name
            texts = [each.columns.get(column.name, "") for each in documents]
            frame[name] = sources.read_column(column)[some] if column.kind == NUMBER else texts
    return frame


def _read_documents(
    request: RunTableRequest, layer: int, sources: FilterSources, selected: Array | None
) -> Iterator[pd.DataFrame]:
    """Yield documents with their columns, their strongest topic as on the page, and their shares, some at a time."""
    hierarchy, use = request.hierarchy, sources.read_use(layer)
    n = len(use.layer.rest)
    numbers = np.arange(n) if selected is None else np.flatnonzero(selected[:n])
    nodes = hierarchy.nodes(layer)
    places = np.empty(len(nodes), np.int64)
    places[[hierarchy.place(node) for node in nodes]] = np.arange(len(nodes))
    names = [hierarchy.cite(node) for node in nodes]
    for first in range(0, max(len(numbers), 1), _ROWS):
        some = numbers[first : first + _ROWS]
        part = use.layer.select_rows(some)
        table = np.zeros((len(some), len(nodes)), np.float32)
        rows = np.repeat(np.arange(len(some)), np.diff(part.starts))
        table[rows, places[part.topics]] = np.round(part.shares, 4)
        strongest = [find_layer_strongest(hierarchy, layer, part, row) for row in range(len(some))]
        frame = _describe_documents(request, sources, some).assign(
            tokens=use.tokens[some],
            topic=[each and format_identity(each.node) for each in strongest],
            topic_title=[each and hierarchy.title(each.node) for each in strongest],
            topic_share=[np.nan if each is None else round(each.share, 4) for each in strongest],
        )
        shares = pd.DataFrame(table, columns=names)
        yield pd.concat([frame, shares.assign(rest=np.round(part.rest / np.float32(UNITS), 4))], axis=1)


def _build_theta(request: RunTableRequest) -> ExportTable:
    """Return the table of documents with the activations of all topics of a layer, layer 1 by default."""
    layer, documents = _choose_layer(request, 1), _open_documents(request)
    sources, selected = documents.sources, documents.selected
    if not TextQuery(request.query).is_empty:
        selected = _keep_matches(request, selected)
    numbers = np.arange(request.corpus.documents) if selected is None else np.flatnonzero(selected)
    return ExportTable("theta", _read_theta(request, layer, sources, numbers))


def _read_theta(request: RunTableRequest, layer: int, sources: FilterSources, numbers: Array) -> Iterator[pd.DataFrame]:
    """Yield documents with their activations, some at a time."""
    hierarchy = request.hierarchy
    nodes = hierarchy.nodes(layer)
    order, names = [hierarchy.place(node) for node in nodes], [hierarchy.cite(node) for node in nodes]
    snapshot = find_snapshot(request.db, request.run.number, hierarchy.snapshot)
    inference = open_inference(request.db, request.run, snapshot)
    for some, theta in infer_theta(request.db, inference, layer, numbers):
        table = pd.DataFrame(theta[:, order].astype(np.float32), columns=names)
        yield pd.concat([_describe_documents(request, sources, some), table], axis=1)


def _build_time(request: RunTableRequest) -> ExportTable:
    """Return the table of topics over time, the top layer by default."""
    layer, hierarchy = _choose_layer(request, request.hierarchy.n_layers), request.hierarchy
    nodes = hierarchy.nodes(layer)
    question = TrendQuestion(TIME, layer, request.column, nodes, unit=request.unit, by=request.by)
    figure = _open_documents(request).measure(question).over_time
    if figure is None:
        raise AssertionError("a question about time has its answer")
    mean, low, high = (np.array([each[place] for each in figure.series]) for place in (1, 2, 3))  # by topic and period
    starts = [str(np.datetime64(start, "ms").astype("datetime64[D]")) for start in figure.periods.starts[:-1].tolist()]
    frames = [
        _describe_shares(hierarchy, nodes, mean[:, place], low[:, place], high[:, place]).assign(
            period=start, unit=figure.periods.unit, documents=int(figure.documents[place]), topic_samples=figure.samples
        )
        for place, start in enumerate(starts)
    ]
    return ExportTable("time", frames or (_describe_shares(hierarchy, (), *(np.zeros(0),) * 3),))


def _describe_shares(hierarchy: Hierarchy, nodes: Sequence[Node], mean: Array, low: Array, high: Array) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "topic": [format_identity(node) for node in nodes],
            "title": [hierarchy.title(node) for node in nodes],
            "share": mean,
            "low": low,
            "high": high,
        }
    )


def _build_groups(request: RunTableRequest) -> ExportTable:
    """Return the table of topics by group, with the differences of every group from all others."""
    layer, hierarchy = _choose_layer(request, request.hierarchy.n_layers), request.hierarchy
    question = TrendQuestion(GROUPS, layer, request.column, by=request.by)
    figure = _open_documents(request).measure(question).by_group
    if figure is None:
        raise AssertionError("a question about groups has its answer")
    nodes = hierarchy.nodes(layer)
    order = [hierarchy.place(node) for node in nodes]
    effects = figure.effects
    frames = [
        _describe_shares(
            hierarchy, nodes, *(each[group][order] for each in (figure.shares.mean, figure.low, figure.high))
        ).assign(
            group=name,
            documents=int(figure.shares.documents[group]),
            difference=effects.value[group][order],
            difference_low=effects.interval.low[group][order],
            difference_high=effects.interval.high[group][order],
            beyond_chance=effects.beyond[group][order],
            comparisons=effects.comparisons,
            topic_samples=figure.samples,
        )
        for group, name in enumerate(figure.groups.names)
    ]
    return ExportTable("groups", frames or (_describe_shares(hierarchy, (), *(np.zeros(0),) * 3),))


TABLES: Mapping[str, Callable[[RunTableRequest], ExportTable]] = {
    "topics": _build_topics,
    "documents": _build_documents,
    "theta": _build_theta,
    "time": _build_time,
    "groups": _build_groups,
    "contexts": _build_contexts,
}
