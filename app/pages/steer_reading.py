"""What the page Steer reads in other threads: topics and journal, what edits would do, and words of documents."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.journal import JournalEntry
from topiary.app.analysis.typical import find_typical_words, sum_corpus_words
from topiary.app.jobs.edit_orders import EditOrder, list_steerable
from topiary.app.jobs.edit_previews import UntriedEdit, preview_edit
from topiary.app.pages.filters import open_documents
from topiary.app.pages.messages import find_topics, list_moments
from topiary.app.pages.session import Context
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.steer import EditTrial, SeedSource
from topiary.engine.steering.edit import SEED, EditRefused
from topiary.store import corpora, runs
from topiary.store.errors import NotFound
from topiary.store.full_text import QueryError, TextQuery

_SEEDS = 6  # words of documents from which a new topic is made


class SteerAnswer(NamedTuple):
    """What was read of a run; without topics, a sentence says why there are none."""

    run: int
    snapshot: int
    note: str = ""
    hierarchy: Hierarchy | None = None
    journal: tuple[JournalEntry, ...] = ()
    moments: tuple[SnapshotOption, ...] = ()
    steers: frozenset[str] = frozenset()
    refusal: str = ""

    @property
    def last_edit(self) -> int:
        """Number of the last edit that the run has made itself."""
        return max((each.number for each in self.journal if each.state == "applied" and each.step > 0), default=0)

    def find_moments(self) -> tuple[int | None, int | None]:
        """Return the numbers of the last snapshot before the last edit that was made, and of the newest one (0)."""
        made = [each.step for each in self.journal if each.state == "applied" and each.step > 0]
        if not made:
            return None, None
        earlier = [moment.number for moment in self.moments if moment.minibatch <= made[-1]]
        return (earlier[-1] if earlier else None), 0


def read_steering(context: Context, run: int, snapshot: int) -> SteerAnswer:
    """Read the topics and the journal of a run; this waits for the store."""
    topics = find_topics(context, run, snapshot)
    if isinstance(topics, str):
        return SteerAnswer(run, snapshot, topics)
    row, hierarchy = topics
    steers, refusal = list_steerable(context.db, row)
    journal, moments = context.reader.edits(row), list_moments(context, run)
    return SteerAnswer(run, snapshot, "", hierarchy, tuple(journal), moments, steers, refusal)


def try_edit(context: Context, run: int, order: EditOrder) -> EditTrial:
    """Return what an edit would do to the topics that the tokens of a run have now."""
    try:
        return EditTrial(preview_edit(context.db, runs.get_run(context.db, run), order))
    except EditRefused as error:
        return EditTrial(note=str(error), is_refused=not isinstance(error, UntriedEdit))


def read_seeds(context: Context, run: int, snapshot: int, where: tuple[str, ...], query: str) -> SeedSource:
    """Return the words that distinguish the documents that meet conditions, and what a topic of these would be."""
    topics = find_topics(context, run, snapshot)
    if isinstance(topics, str):
        return SeedSource()
    row, hierarchy = topics
    corpus, n_words, selected = corpora.get_run_corpus(context.db, row), len(hierarchy.vocabulary), None
    with suppress(NotFound, ReadError, QueryError):  # conditions that mean nothing select nothing
        selected = open_documents(context, corpus, hierarchy, where).selected
        if not TextQuery(query).is_empty:
            found = np.isin(np.arange(corpus.documents), corpora.find_documents(context.db, corpus.number, query))
            selected = found if selected is None else found & selected
    if selected is None or not selected.any() or selected.all():
        return SeedSource()
    everything = context.reader.sum_words(corpus, n_words)
    own = sum_corpus_words(context.db, corpus, n_words, selected)
    typical = find_typical_words(own, everything, hierarchy.vocabulary, _SEEDS).more
    words = tuple(each.word for each in typical)
    trial = try_edit(context, run, EditOrder(SEED, (), words)) if len(words) > 1 else EditTrial()
    return SeedSource(int(selected.sum()), words, trial)
