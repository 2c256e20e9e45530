"""The page of a word: its topics at every layer, how often it is used over time and by group, and its contexts."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy, parse_identities
from topiary.app.analysis.passages import WordContextLine, choose_word_contexts, find_word, find_word_uses, weigh_words
from topiary.app.analysis.reader import RunDocuments
from topiary.app.analysis.shares import order_documents
from topiary.app.analysis.trends import group_documents
from topiary.app.analysis.word_trends import (
    WordOccurrences,
    measure_word_by_group,
    measure_word_over_time,
    read_occurrences,
)
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.ingest.new_documents import find_rules
from topiary.app.pages.filters import DocumentFilters, open_documents
from topiary.app.pages.messages import MeasuredAnswer, MeasuredPage, find_topics, offer_columns, on
from topiary.app.pages.session import Context, cut_view, list_fields
from topiary.app.views.trends.time_chart import MeasuredBy
from topiary.app.views.words import WordChoices, WordPageContents, draw_word_note, draw_word_page
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.store import columns, corpora
from topiary.store.corpus_rows import CorpusColumn, CorpusRow
from topiary.store.errors import NotFound, StoreError

_WAITING = "Counting the word in all documents …"
_READ = 120  # documents in which contexts are sought
_CONTEXTS = 25  # contexts shown
_ALIKE = 12  # other words offered


class WordRequest(NamedTuple):
    """What the page asks for: fields of the view, see `app.pages.session.View`."""

    run: int
    snapshot: int
    word: str
    where: tuple[str, ...]
    trail: tuple[str, ...]
    column: str
    measured: MeasuredBy


WordAnswer: TypeAlias = MeasuredAnswer[WordRequest, WordPageContents]


class CountedWord(NamedTuple):
    """The occurrences of a word in a corpus that had a number of documents."""

    corpus: int
    documents: int
    word: int
    found: WordOccurrences


class WordReader:
    """Reads what the page shows of a word; the occurrences of the last word are kept.

    Parameters
    ----------
    is_wanted : (request) -> bool
        Whether the page still asks for this.
    """

    def __init__(self, context: Context, is_wanted: Callable[[WordRequest], bool]) -> None:
        self._context = context
        self._is_wanted = is_wanted
        self._counted: CountedWord | None = None

    def read(self, request: WordRequest) -> WordAnswer:
        """Measure a word and find its contexts; this waits for the store."""
        topics = find_topics(self._context, request.run, request.snapshot)
        if isinstance(topics, str):
            return MeasuredAnswer(request, None, topics)
        row, hierarchy = topics
        corpus = corpora.get_run_corpus(self._context.db, row)
        number = find_word(hierarchy, request.word.strip())
        choices = _choose(hierarchy, number, list_columns(self._context.db, corpus), request)
        page = WordPageContents(hierarchy, choices, documents=corpus.documents)
        if number is None:
            alike = _list_alike(hierarchy, request.word.strip())
            suggested = () if alike else suggest_words(hierarchy)
            return MeasuredAnswer(request, page._replace(alike=alike, suggested=suggested))
        page = page._replace(number=number)
        try:
            return MeasuredAnswer(request, self._measure(corpus, page, request))
        except (ReadError, StoreError, ValueError) as error:
            return MeasuredAnswer(request, page._replace(note=f"{error}."))

    def _measure(self, corpus: CorpusRow, page: WordPageContents, request: WordRequest) -> WordPageContents:
        found, choices = self._count(corpus, page.number, request), page.choices
        documents = open_documents(self._context, corpus, page.hierarchy, request.where)
        sources, selected = documents.sources, documents.selected
        page = page._replace(selected=documents.count)
        if found is None or not documents.count:
            return page
        page = page._replace(counted=found.count_uses(selected))
        options: dict[str, Any] = {"by": choices.measured.weigh, "selected": selected}
        if choices.date:
            dates = sources.read_column(columns.find_column(sources.columns, choices.date))
            periods = choices.measured.periods
            page = page._replace(over_time=measure_word_over_time(found, dates, **periods, **options))
        if choices.group:
            column = columns.find_column(sources.columns, choices.group)
            groups = group_documents(column, sources.read_column(column))
            page = page._replace(by_group=measure_word_by_group(found, groups, **options))
        return page._replace(contexts=self._find_contexts(documents, page, found))

    def _count(self, corpus: CorpusRow, number: int, request: WordRequest) -> WordOccurrences | None:
        """Return the occurrences of a word; None if the page asks for something else meanwhile."""
        key, known = (corpus.number, corpus.documents, number), self._counted
        if known is not None and known[:3] == key:
            return known.found
        found = read_occurrences(self._context.db, corpus, number, lambda: self._is_wanted(request))
        if found is not None:
            self._counted = CountedWord(*key, found)
        return found

    def _find_contexts(
        self, selection: RunDocuments, page: WordPageContents, found: WordOccurrences
    ) -> list[WordContextLine]:
        """Return contexts of the word; those that say most of the chosen topic first."""
        hierarchy, node = page.hierarchy, page.choices.topic
        corpus, selected = selection.corpus, selection.selected
        numbers = found.documents if selected is None else found.documents[selected[found.documents]]
        weights = np.zeros(len(hierarchy.vocabulary))
        if node is not None:
            weights = weigh_words(hierarchy, node)
            numbers = _order_documents(selection, hierarchy, node, numbers)
        documents = corpora.read_documents(self._context.db, corpus.number, numbers[:_READ].tolist())
        rules = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary)
        return choose_word_contexts((each for each in documents if each.text), rules, page.number, weights, _CONTEXTS)


def _order_documents(selection: RunDocuments, hierarchy: Hierarchy, node: Node, numbers: Array) -> Array:
    """Return documents in the order of their use of a topic, if it is known; those without the topic come last."""
    try:
        use = selection.sources.read_use(node.layer)
    except NotFound:
        return numbers
    ranks = np.full(max(len(use.tokens), int(numbers.max(initial=0)) + 1), len(use.tokens))
    ranked = order_documents(use, hierarchy.place(node)).numbers
    ranks[ranked] = np.arange(len(ranked))
    return numbers[np.argsort(ranks[numbers], kind="stable")]


def _choose(
    hierarchy: Hierarchy, number: int | None, columns_of: Sequence[CorpusColumn], request: WordRequest
) -> WordChoices:
    """Return the choices that a request stands for, with what is offered and the defaults filled in."""
    offered = offer_columns(columns_of, request.column)
    node = next(iter(parse_identities(request.trail)), None)
    if node is None or not hierarchy.has(node):
        uses = [] if number is None else find_word_uses(hierarchy, number, 1, 1)
        node = uses[0].node if uses else None
    return WordChoices(
        word=request.word.strip(),
        topic=node,
        **offered._asdict(),
        measured=request.measured,
        where=request.where,
        columns=[column.name for column in columns_of],
    )


def suggest_words(hierarchy: Hierarchy) -> list[str]:
    """Return words to begin with: those that say most of the largest topics of the top layer, one after the other."""
    nodes = [node for node in hierarchy.nodes(hierarchy.n_layers) if node not in hierarchy.light]
    titles = [hierarchy.title_words(node) for node in nodes]
    words = (word for place in range(3) for title in titles for word in title[place : place + 1])
    return [word for word in dict.fromkeys(words) if find_word(hierarchy, word) is not None][:_ALIKE]


def _list_alike(hierarchy: Hierarchy, text: str) -> list[str]:
    """Return words of the vocabulary that begin with a text, or else with its first letters."""
    start = text.casefold().strip()
    for length in range(len(start), 1, -1):
        found = [word for word in hierarchy.vocabulary if word.casefold().startswith(start[:length])]
        if found:
            return found[:_ALIKE]
    return []


class WordPage(MeasuredPage[WordRequest, WordPageContents]):
    """The page of a word of one session."""

    fields: ClassVar = {name: name for name in MeasuredBy._fields}

    def __init__(self, context: Context) -> None:
        super().__init__(context, "word", list_fields(WordRequest), _WAITING)
        self._reader = WordReader(context, lambda request: request == self._make_request())
        self.helpers = (DocumentFilters(context),)
        self.fetch()

    def _make_request(self) -> WordRequest:
        return cut_view(self._view, WordRequest)

    def _read(self, request: WordRequest, _: WordAnswer | None) -> WordAnswer:
        return self._reader.read(request)

    def _keeps(self, shown: WordRequest, request: WordRequest) -> bool:
        return shown[:3] == request[:3]

    def _draw_sentence(self, sentence: str) -> str:
        return draw_word_note(self._view.word, sentence)

    def _draw_answer(self, _: WordAnswer, contents: WordPageContents, *, busy: bool) -> str:
        hierarchy = self._context.feed.update_names(contents.hierarchy)
        return draw_word_page(contents._replace(hierarchy=hierarchy, busy=busy))

    # ------------------------------------------------------------ messages

    @on("word")
    def _choose_word(self, word: str) -> None:
        self._put(word=word.strip()[:100], trail=())

    @on("word")
    def _choose_linked_word(self, value: str) -> None:
        self._choose_word(value)

    @on("select")
    def _select(self, message: dict[str, Any]) -> None:
        self._put_text("trail", str(message.get("id", "")))

    @on("explore")
    def _explore(self, topic: Node) -> None:
        self._put(page="explore", tab="", layer=topic.layer, topic=topic.column + 1)

    @on("column")
    def _choose_column(self, value: str) -> None:
        self._put(column=value[:200])

    @on("search")
    def _search(self) -> None:
        query = self._view.word.replace("_", " ")
        self._put(page="documents", documents=(), tab="", subject=(), label=0, query=query)

    @on("place")
    def _open_document(self, number: int) -> None:
        self._put(page="documents", documents=(number,), tab="")
