"""Make a corpus of the documents of a run that meet conditions, such as those of one topic."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from topiary.app.analysis.filters import Condition, parse_condition
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.ingest.importing import ignore_progress
from topiary.app.ingest.refining import RefineError, refine_corpus
from topiary.app.ingest.source import Progress
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.full_text import TextQuery
from topiary.store.run_rows import RunRow

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
    run : RunRow
    hierarchy : Hierarchy
        A snapshot of the run, under which shares of documents are stored.
    name : str, optional
        Name of the new corpus; by default it is made from the names of the corpus and of the topic.
    topic : Node, optional
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
