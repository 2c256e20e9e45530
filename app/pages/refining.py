"""A closer look from a page: corpora of the documents of a topic or of a selection, and the runs on them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy, parse_identity
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.app.analysis.refinements import (
    SHARES,
    CorpusOrigin,
    count_documents,
    describe_conditions,
    list_refinements,
    read_origin,
)
from topiary.app.ingest.refining import LEAST_DOCUMENTS, RefineError
from topiary.app.jobs.run_rules import NewRunError, RunRequest
from topiary.app.live.feed import Tick
from topiary.app.pages.filters import find_placed, open_documents
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import ANOTHER_RUN, FROM_DOCUMENTS, Context
from topiary.app.views.explore.refining import CloserLook, FinerTopic, RefiningRun, draw_closer_look, draw_run_origin
from topiary.app.views.text import end_sentence
from topiary.app.views.tree.opening import list_top_topics
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.errors import NotFound
from topiary.store.full_text import QueryError
from topiary.store.run_rows import RunRow

_TOPICS = 6  # of a run that refines a topic, in its panel
_CHILDREN = 4  # of each
LookSubject: TypeAlias = tuple[int, int, Node, tuple[str, ...]]  # run, snapshot, topic, and the conditions of the view


class MadeRun(NamedTuple):
    """The run on a new corpus, 0 if there is none, and a sentence about it."""

    run: int
    sentence: str


class CorpusRefiner(MessagePart):
    """Makes corpora for a closer look, and opens the runs on them.

    Parameters
    ----------
    changed : () -> None
        Draws the page again after something was made or read.
    conditions : () -> tuple of str, optional
        Returns further conditions on the documents of a selection; by default there are only the filters of the view.
    query : () -> str, optional
        Returns the search that finds the documents of a selection.

    Attributes
    ----------
    busy : bool
        Whether a corpus is being made.
    """

    def __init__(
        self,
        context: Context,
        changed: Callable[[], None],
        conditions: Callable[[], tuple[str, ...]] = tuple,
        query: Callable[[], str] = str,
    ) -> None:
        super().__init__(context)
        self.busy = False
        self._changed = changed
        self._conditions = conditions
        self._query = query

    @on("refine")
    def _refine(self, message: dict[str, Any], share: str = "") -> None:
        """Look closer at a topic, if the message names one, or at the documents that are selected."""
        if "id" not in message:
            self._start({"where": (*self._view.where, *self._conditions()), "query": self._query()})
            return
        node, least = parse_identity(str(message["id"])), next((each for each in SHARES if f"{each:g}" == share), None)
        if node is not None and least is not None:
            self._start({"topic": node, "share": least, "where": self._view.where})

    @on("seed-topic")
    def _begin_topic(self) -> None:
        """Begin a new topic, on the page Steer, with the words of the documents that are selected."""
        where = tuple(dict.fromkeys((*self._view.where, *self._conditions())))
        self._put(page="steer", tab=FROM_DOCUMENTS, where=where, query=self._query())

    @on("open-run")
    def _open_run(self, number: int, topic: Node | None = None) -> None:
        open_run(self._context, number, topic)

    def _start(self, options: Mapping[str, Any]) -> None:
        if self.busy:
            return
        self.busy = True
        self._changed()
        work = partial(refine_and_train, self._context, self._view.run, self._view.snapshot, options)
        self._context.aside(work, self._receive, self._end)

    def _receive(self, made: MadeRun) -> None:
        self._context.notify(made.sentence, "success" if made.run else "warning")
        self._end()

    def _end(self) -> None:
        self.busy = False
        self._changed()


def open_run(context: Context, run: int, node: Node | None) -> None:
    """Show a run on Explore, at one of its topics if one is given."""
    at = {} if node is None else {"layer": node.layer, "topic": node.column + 1}
    with suppress(ValueError):  # a number out of the bounds of the view
        context.view.param.update(**(ANOTHER_RUN | {"page": "explore", "run": run, "tab": ""} | at))


def refine_and_train(context: Context, run: int, snapshot: int, options: Mapping[str, Any]) -> MadeRun:
    """Make a corpus of some documents of a run and queue a run of the same model on it; this waits for the store.

    Parameters
    ----------
    run, snapshot : int
        As in the view.
    options : mapping
        Which documents: arguments of :meth:`app.live.actions.Actions.refine`.
    """
    row = runs.get_run(context.db, run)
    hierarchy = context.feed.hierarchy(run, snapshot or None)
    if hierarchy is None:
        return MadeRun(0, f"Run {run} has no topics yet.")
    moment = find_snapshot_at(context.db, row, context.reader.place(hierarchy, latest=not snapshot).hierarchy.minibatch)
    try:
        corpus = context.actions.refine(run, moment, **options)
    except (RefineError, ReadError, QueryError, NotFound) as error:
        return MadeRun(0, end_sentence(f"No corpus was made: {error}"))
    try:
        request = RunRequest(corpus=corpus.number, model=row.model, texts={}, minibatches=None, name=corpus.name)
        (new,) = context.actions.create(request)
    except NewRunError as error:
        return MadeRun(
            0, end_sentence(f"Corpus {corpus.name} is made, but {row.model} cannot be trained on it: {error}")
        )
    documents = f"{corpus.documents:,} documents, {corpus.words:,} words"
    return MadeRun(new.number, f"Run {new.number} is queued on the corpus {corpus.name}: {documents}.")


class CloserLooks:
    """What the panels of topics say of a closer look, and where the run on screen comes from, read in other threads.

    Parameters
    ----------
    changed : () -> None
        Draws the panel of a topic again.
    origin_changed : () -> None
        Draws the line about where the documents come from again.
    """

    def __init__(self, context: Context, changed: Callable[[], None], origin_changed: Callable[[], None]) -> None:
        self._context = context
        self._changed = changed
        self._origin_changed = origin_changed
        self._subject: LookSubject | None = None  # of the look that was read last
        self._pending: LookSubject | None = None
        self._stamp: tuple[object, ...] = ()  # of the runs at that time
        self._look: CloserLook | None = None
        self._origins: dict[int, str] = {}
        context.on_tick(self._on_tick)

    def draw_topic(self, hierarchy: Hierarchy, node: Node, *, busy: bool) -> str:
        """Return the section of a topic's panel; what is missing is read, and the page drawn again."""
        subject = hierarchy.run, hierarchy.snapshot, node, self._context.view.where
        if (subject != self._subject or self._stamp != self._stamp_runs()) and subject != self._pending:
            self._pending = subject
            work = partial(read_closer_look, self._context, hierarchy, node, subject[3])
            self._context.later(work, partial(self._receive, subject), self._fail)
        if self._look is None or subject != self._subject:
            return ""
        return draw_closer_look(node, self._look, busy=busy)

    def count(self, hierarchy: Hierarchy, node: Node, least: float) -> int:
        """Return how many documents have at least so much of a topic; 0 while that is not known."""
        subject = hierarchy.run, hierarchy.snapshot, node, self._context.view.where
        counts = self._look.counts if self._look is not None and subject == self._subject else None
        for each in counts or ():
            if each.share == least:
                return each.documents
        return 0

    def draw_origin(self, run: int) -> str:
        """Return the line about where the documents of a run come from; empty for a corpus that was imported."""
        found = self._origins.get(run)
        if found is None:
            self._origins[run] = ""
            work = partial(draw_stored_origin, self._context, run)
            self._context.later(work, partial(self._receive_origin, run), partial(self._forget_origin, run))
        return found or ""

    def _stamp_runs(self) -> tuple[object, ...]:
        """Return what changes when there are more runs, or when those that refine the topic have other topics."""
        feed, look = self._context.feed, self._look
        refining = () if look is None else look.refining
        return len(feed.runs()), *((run.number, feed.state(run.number), feed.latest(run.number)) for run in refining)

    def _on_tick(self, _: Tick) -> None:
        if self._subject is not None and self._context.view.page == "explore" and self._stamp != self._stamp_runs():
            self._changed()

    def _receive(self, subject: LookSubject, look: CloserLook) -> None:
        if subject == self._pending:
            self._pending, self._subject, self._look = None, subject, look
            self._stamp = self._stamp_runs()
            self._changed()

    def _fail(self) -> None:
        self._pending = None

    def _forget_origin(self, run: int) -> None:
        self._origins.pop(run, None)

    def _receive_origin(self, run: int, line: str) -> None:
        self._origins[run] = line
        if line:
            self._origin_changed()


def read_closer_look(context: Context, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> CloserLook:
    """Count the documents of a topic, and find the runs that refine it; this waits for the store."""
    corpus = corpora.get_run_corpus(context.db, context.reader.find_run(hierarchy.run))
    counts, among = None, corpus.documents
    with suppress(NotFound, ReadError):  # the shares are not known yet, or a condition means nothing
        placed = find_placed(context, hierarchy)
        hierarchy = placed.hierarchy
        if placed.shares is not None or where:
            documents = open_documents(context, corpus, hierarchy, where)
            among = documents.count
            use = documents.sources.read_use(node.layer)
            if hierarchy.has(node):
                part = corpora.read_marks(context.db, corpus).part
                counts = count_documents(use, hierarchy.place(node), part, documents.selected)
    refining = [
        _describe_run(context, run, made, origin)
        for made, origin in list_refinements(context.db, hierarchy.run)
        if origin.topic == node
        for run in reversed(context.feed.runs())
        if run.corpus == made.number
    ]
    return CloserLook(counts, among, corpus.documents, LEAST_DOCUMENTS, refining)


def _describe_run(context: Context, run: RunRow, corpus: CorpusRow, origin: CorpusOrigin) -> RefiningRun:
    """Return a run that refines a topic, with its largest topics of the top layer."""
    latest, topics = context.feed.latest(run.number), []
    hierarchy = None if latest is None else context.feed.hierarchy(run.number, latest.number)
    if hierarchy is not None:
        topics = [
            FinerTopic(
                topic,
                hierarchy.title(topic),
                hierarchy.share(topic),
                [hierarchy.title(each.node) for each in hierarchy.children(topic, _CHILDREN)],
            )
            for topic in list_top_topics(hierarchy)[:_TOPICS]
        ]
    return RefiningRun(
        run.number, context.feed.state(run.number), corpus.documents, describe_conditions(origin), topics
    )


def draw_stored_origin(context: Context, run: int) -> str:
    """Return the line about where the documents of a run come from; this waits for the store."""
    corpus = corpora.get_run_corpus(context.db, context.reader.find_run(run))
    origin = read_origin(corpus)
    if origin is None:
        return ""
    text = origin.title if origin.topic is not None else " and ".join(origin.where)
    exists = context.feed.run(origin.run) is not None
    return draw_run_origin(origin.run, text, origin.topic, documents=corpus.documents, exists=exists)
