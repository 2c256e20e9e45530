"""The tables of a run that pages, commands and the library export: one definition of each, so that numbers agree."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from app.analysis.concordance import list_contexts
from app.analysis.hierarchy import Hierarchy, Relative, format_identity
from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.analysis.recurrence import read_recurrence
from app.export.tables import ExportTable, TableFileError
from app.export.topics import list_topics
from engine.hierarchy.tree import Node
from store import corpora
from store.corpus_rows import CorpusRow
from store.database import Database
from store.run_rows import RunRow
from store.text_query import TextQuery

_ROWS = 2000  # of one frame
_RELATIVES = 6  # parents and children of a topic
_DOCUMENTS = 10  # documents of a topic
_LEAST = 0.01  # weight of a parent or child that is listed


class RunTableRequest(NamedTuple):
    """What a table is about.

    Attributes
    ----------
    db : Database
    corpus : CorpusRow
        The corpus of the run.
    hierarchy : Hierarchy
    layer : int or None
        The layer of a table of one layer; None for its default.
    query : str
        The search of a table of matches, as in `store.text_query`.
    """

    db: Database
    corpus: CorpusRow
    hierarchy: Hierarchy
    layer: int | None = None
    query: str = ""


def read_request(
    db: Database, row: RunRow, *, minibatch: int | None = None, layer: int | None = None, query: str = ""
) -> RunTableRequest:
    """Return the request for a table of the snapshot at or before a mini-batch, the newest one by default.

    Raises
    ------
    NotFound
        If there is no such snapshot.
    """
    hierarchy = read_hierarchy(db, row, find_snapshot_at(db, row, minibatch))
    hierarchy = read_recurrence(db, row, hierarchy)[1]
    return RunTableRequest(db, corpora.get_run_corpus(db, row), hierarchy, layer, query)


def build_table(kind: str, request: RunTableRequest) -> ExportTable:
    """Return one of the `TABLES` of a run.

    Raises
    ------
    TableFileError
        If there is no such kind, or something that it needs is missing; the message is one sentence.
    LookupError
        If the run has no such layer.
    """
    if kind not in TABLES:
        raise TableFileError(f"there is no table {kind!r}; choose one of {', '.join(TABLES)}")
    return TABLES[kind](request)


def _build_topics(request: RunTableRequest) -> ExportTable:
    """Return the table of topics: names, words, shares, certainty, parents, children and documents."""
    hierarchy = request.hierarchy
    rows = [_describe_topic(hierarchy, facts) for facts in list_topics(hierarchy, request.layer)]
    return ExportTable("topics", (pd.DataFrame(rows),))


def _describe_topic(hierarchy: Hierarchy, facts: Mapping[str, Any]) -> dict[str, Any]:
    node = Node(facts["layer"], facts["topic"] - 1)
    is_known = len(hierarchy.steadiness) >= node.layer
    steady = hierarchy.steadiness[node.layer - 1][hierarchy.place(node)] if is_known else np.nan
    return {
        "topic": format_identity(node),
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
        "parents": _join_relatives(hierarchy.parents(node, _RELATIVES)),
        "children": _join_relatives(hierarchy.children(node, _RELATIVES)),
        "documents": " ".join(str(use.document) for use in hierarchy.uses(node, _DOCUMENTS)),
    }


def _join_relatives(relatives: list[Relative]) -> str:
    """Return parents or children with their weights, as in ``L2:17 0.412, L2:3 0.078``."""
    heavy = (each for each in relatives if abs(each.weight) >= _LEAST)
    return ", ".join(f"{format_identity(each.node)} {each.weight:.3f}" for each in heavy)


def _build_contexts(request: RunTableRequest) -> ExportTable:
    """Return the table of all places where a search finds something, with the text around them."""
    query = TextQuery(request.query)
    if query.is_empty:
        raise TableFileError("a table of contexts needs a search: --query WORDS")
    return ExportTable("contexts", _read_contexts(request, query))


def _read_contexts(request: RunTableRequest, query: TextQuery) -> Iterator[pd.DataFrame]:
    columns = ["document", "title", "label", "place", "before", "match", "after"]
    numbers = corpora.find_documents(request.db, request.corpus.number, request.query)
    inside = numbers[numbers < request.corpus.documents].tolist()
    rows: list[tuple[Any, ...]] = []
    is_first = True
    for line in list_contexts(request.db, request.corpus.number, query, inside):
        rows.append(tuple(line))
        if len(rows) == _ROWS:
            yield pd.DataFrame(rows, columns=columns)
            rows, is_first = [], False
    if rows or is_first:
        yield pd.DataFrame(rows, columns=columns)


TABLES: Mapping[str, Callable[[RunTableRequest], ExportTable]] = {"topics": _build_topics, "contexts": _build_contexts}
