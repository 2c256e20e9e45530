"""Corpora of the documents of a run that meet conditions, and the runs that look closer at a topic with them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topiary.app.analysis.filters import Condition, parse_condition
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.shares import LayerUse, read_topic_shares
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.ingest.refining import ORIGIN, RefineError, refine_corpus
from topiary.app.ingest.source import Progress, ignore_progress
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs, snapshots
from topiary.store.blocks import TRAIN
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.full_text import TextQuery
from topiary.store.run_rows import RunRow

SHARES = (0.1, 0.2, 0.3, 0.5)  # least shares of a topic that are offered


class CorpusOrigin(NamedTuple):
    """Where a corpus of some documents of another one comes from.

    Attributes
    ----------
    run : int
        The run by whose topics, or on whose page, they were selected.
    topic : Node or None
        The topic of that run that they have in common.
    title : str
        Its title at that time.
    where : tuple of str
        The conditions that they meet.
    name : str
        Name of the corpus from which they were taken.
    """

    run: int
    topic: Node | None
    title: str
    where: tuple[str, ...]
    name: str


class FinerRun(NamedTuple):
    """A run on documents of a topic of another run: its row, corpus and origin, and the topics of its last snapshot."""

    row: RunRow
    corpus: CorpusRow
    origin: CorpusOrigin
    hierarchy: Hierarchy


class DocumentCount(NamedTuple):
    """How many documents have at least so much of a topic, how many of these are for training, and their words."""

    share: float
    documents: int
    training: int
    words: float


def read_origin(corpus: CorpusRow) -> CorpusOrigin | None:
    """Return where a corpus comes from; None if it was not made of documents of another one."""
    match corpus.meta.get(ORIGIN):
        case {"run": int(run), "name": str(name), "topic": str(topic), "title": str(title), "where": [*where]}:
            return CorpusOrigin(run, parse_identity(topic), title, tuple(map(str, where)), name)
    return None


def describe_conditions(origin: CorpusOrigin) -> list[str]:
    """Return what the documents of a corpus have in common, with the topic's least share in words.

    >>> describe_conditions(CorpusOrigin(1, Node(2, 2), "trade", ("day=2004", "L2:3=50%.."), "news"))
    ['day=2004', 'at least 50% of the topic']
    """
    own = "" if origin.topic is None else f"{format_identity(origin.topic)}="
    return [
        f"at least {text.removeprefix(own).removesuffix('..')} of the topic"
        if own and text.startswith(own) and text.endswith("..")
        else text
        for text in origin.where
    ]


def list_refinements(db: Database, run: int) -> list[tuple[CorpusRow, CorpusOrigin]]:
    """Return the corpora that were made of documents of a run, oldest first, with their origins."""
    found = ((corpus, read_origin(corpus)) for corpus in corpora.list_corpora(db))
    return [(corpus, origin) for corpus, origin in found if origin is not None and origin.run == run]


def read_finer_runs(reader: TopicReader, run: int) -> dict[Node, list[FinerRun]]:
    """Return the runs with topics that refine a topic of a run, by that topic, the oldest run first."""
    db = reader.db
    made = {corpus.number: (corpus, origin) for corpus, origin in list_refinements(db, run)}
    rows = [row for row in runs.list_runs(db) if row.corpus in made]
    newest = snapshots.find_newest(db, (row.number for row in rows))
    found: dict[Node, list[FinerRun]] = {}
    for row in rows:
        corpus, origin = made[row.corpus]
        if origin.topic is not None and row.number in newest:
            hierarchy = reader.hierarchy(row, newest[row.number])
            found.setdefault(origin.topic, []).append(FinerRun(row, corpus, origin, hierarchy))
    return found


def count_documents(
    use: LayerUse, column: int, part: Array, selected: Array | None, shares: Sequence[float] = SHARES
) -> list[DocumentCount]:
    """Count the documents that have at least so much of a topic.

    Parameters
    ----------
    use : LayerUse
        Shares of the topics of its layer.
    column : int
        Column of the topic.
    part : (N,) int8
        Part of every document.
    selected : (N,) bool, or None
        The documents among which they are counted.
    """
    own = read_topic_shares(use, column)
    n = len(own)
    inside = np.ones(n, bool) if selected is None else selected[:n]
    is_training = part[:n] == TRAIN
    counts = []
    for share in shares:
        has = inside & (own >= share)
        words = float(np.asarray(use.tokens)[has].sum())
        counts.append(DocumentCount(share, int(has.sum()), int((has & is_training).sum()), words))
    return counts


SHARE = 0.2  # of a document that belongs to the topic, at least


def refine_run(
    db: Database,
    run: RunRow,
    hierarchy: Hierarchy,
    name: str = "",
    *,
    topic: Node | None = None,
    share: float = SHARE,
    where: Sequence[str] = (),
    query: str = "",
    progress: Progress = ignore_progress,
) -> CorpusRow:
    """Write the documents of a topic, or those that meet conditions or that a search finds, as a corpus of its own.

    Parameters
    ----------
    db : Database
        Open for writing.
    hierarchy : Hierarchy
        A snapshot of the run, under which shares of documents are stored.
    name : str, optional
        Name of the new corpus; by default it is made from the names of the corpus and of the topic.
    share : float
        Least share of the topic in a document.
    where : sequence of str
        Conditions (`app.analysis.filters`).
    query : str
        A search that finds the documents (`store.full_text`).
    progress : Progress
        Called with the activity and its share.

    Raises
    ------
    RefineError
        If nothing is selected, or too little; also if the run has no such topic.
    ReadError, store.full_text.QueryError
        If a condition or the search means nothing.
    Conflict
        If the name is taken.
    """
    if topic is None and not where and TextQuery(query).is_empty:
        raise RefineError("say which documents: give a topic, a condition or a search")
    if topic is not None and not hierarchy.has(topic):
        raise RefineError(f"run {run.number} has no topic {format_identity(topic)}")
    corpus = corpora.get_run_corpus(db, run)
    own = [] if topic is None else [Condition(format_identity(topic), f"{100 * share:g}%..")]
    conditions = [*map(parse_condition, where), *own]
    selected = StoreReader(db).documents(corpus, hierarchy, [str(condition) for condition in conditions]).selected
    numbers = np.arange(corpus.documents) if selected is None else np.flatnonzero(selected)
    if not TextQuery(query).is_empty:
        numbers = np.intersect1d(numbers, corpora.find_documents(db, corpus.number, query))
    origin = {
        "run": run.number,
        "snapshot": hierarchy.snapshot,
        "minibatch": hierarchy.minibatch,
        "topic": "" if topic is None else format_identity(topic),
        "title": "" if topic is None else hierarchy.title(topic),
        "where": [str(condition) for condition in conditions] + ([query.strip()] if query.strip() else []),
    }
    return refine_corpus(db, corpus, numbers, name or _choose_name(db, corpus, origin), origin, progress)


def _choose_name(db: Database, corpus: CorpusRow, origin: dict[str, Any]) -> str:
    """Return a name that is free: that of the corpus and of the topic, or the conditions."""
    base = f"{corpus.name} · {origin['title'] or ', '.join(origin['where'])}"[:80]
    taken = {row.name for row in corpora.list_corpora(db)}
    return next(each for each in (base, *(f"{base} {n}" for n in range(2, len(taken) + 3))) if each not in taken)
