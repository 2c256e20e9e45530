"""What Documents does in other threads: placing, searching and comparing documents."""

import base64
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, islice, pairwise
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from topiary.app.analysis.document_table import (
    DocumentFilter,
    DocumentSelection,
    StrongestTopic,
    find_strongest,
    make_title,
    select_documents,
)
from topiary.app.analysis.hierarchy import Hierarchy, Neighbour
from topiary.app.analysis.inference import DocumentInference, DocumentTopics, find_telling_layer, must_compile
from topiary.app.analysis.passages import find_contexts
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import RankedDocuments, explain_no_shares, find_nearest
from topiary.app.analysis.topic_images import draw_picture_uri
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.new_documents import Span, read_new_text
from topiary.app.ingest.source import Unreadable
from topiary.app.ingest.text.encodings import find_marked_encoding
from topiary.app.live.feed import TROUBLE
from topiary.app.pages.filters import open_documents
from topiary.app.pages.session import LONGEST_QUERY, Context
from topiary.app.views.documents.document_table import CONTEXTS, PAGE_ROWS, DocumentRow
from topiary.app.views.documents.placed_document import ListedDocument, PlacedDocument, SearchState, TextReading
from topiary.app.views.explore.detail import cut_excerpt
from topiary.app.views.text import describe_moment
from topiary.engine.contract import Array
from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.paths import cut_shares
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs, shares
from topiary.store.corpora import Document
from topiary.store.corpus_rows import CATEGORY, DATE, CorpusRow
from topiary.store.errors import DamagedArrays, NotFound
from topiary.store.full_text import TextQuery
from topiary.store.shares import LayerShares

PATHS = 8  # paths shown of a document
FOUND = 8  # documents shown of a search
SOME = 3  # documents offered at first
DRAWN = 24  # documents drawn at random to find two of different classes
NEAREST = 8  # shown


def read_text(packed: str, name: str) -> str:
    """Return the text of a file sent in base64.

    Raises
    ------
    ValueError
        When the file is no text, is empty, or cannot be read.
    """
    text = _decode_text(base64.b64decode(packed), PurePath(name))
    if not text.strip():
        raise ValueError(f"There is no text in {cut_excerpt(name, 60)}; choose another file.")
    return text


def _decode_text(raw: bytes, path: PurePath) -> str:
    from topiary.app.ingest.readers.documents import read_contents

    short = cut_excerpt(path.name, 60)
    try:
        return read_contents(path, raw, find_marked_encoding(raw, "utf-8"))[1]
    except Unreadable as error:
        raise ValueError(f"{short} {error}; save it as plain text first.") from None
    except UnicodeDecodeError:
        if 0 in raw:
            raise ValueError(f"{short} is not a text file; save it as plain text first.") from None
        return read_contents(path, raw, "latin-1")[1]


class PlacementRequest(NamedTuple):
    """A document to place: a document of the corpus by its number, or (if that is -1) a text."""

    run: int
    snapshot: int
    document: int
    text: str
    title: str


class Placement(NamedTuple):
    """A placed document with the hierarchy and the inference that placed it."""

    request: PlacementRequest
    hierarchy: Hierarchy
    inference: DocumentInference
    answer: PlacedDocument


class Failure(NamedTuple):
    """The reason why something could not be done, as a sentence."""

    sentence: str


class LineEnds(NamedTuple):
    """Two placed documents of the corpus, between which the page interpolates."""

    request: tuple[int, int, int, int]  # run, snapshot, numbers of the two documents
    hierarchy: Hierarchy
    inference: DocumentInference
    placed: tuple[DocumentTopics, DocumentTopics]
    documents: tuple[Document, Document]
    telling: int  # the highest layer in which the two differ clearly


class DocumentKind(NamedTuple):
    """The kind of a run's documents, images or texts, with a few examples."""

    images: bool = False
    some: Sequence[ListedDocument] = ()


def try_work(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``work(*arguments)``, or a :class:`Failure` with a sentence for the visitor if it fails."""
    try:
        return work(*arguments)
    except (*TROUBLE, IngestError, LookupError, ValueError) as error:
        return Failure(str(error))


def must_compile_kernels(context: Context, run: int) -> bool:
    """Return whether kernels must be compiled before documents of a run can be placed."""
    row = runs.get_run(context.db, run)
    return must_compile(row, corpora.get_corpus(context.db, row.corpus))


def find_kind(context: Context, run: int) -> DocumentKind:
    """Return the kind of a run's documents; the examples are evenly spaced, so that their classes differ."""
    corpus = corpora.get_corpus(context.db, runs.get_run(context.db, run).corpus)
    numbers = np.unique(np.linspace(0, corpus.documents - 1, SOME + 2).astype(int)[1:-1]).tolist()
    examples = describe_documents(context, corpus.number, corpora.read_documents(context.db, corpus.number, numbers))
    return DocumentKind(corpus.image_shape is not None, examples)


class TableRequest(NamedTuple):
    """The documents to list: those of a run's corpus that a filter selects, with the topics of a snapshot."""

    run: int
    snapshot: int
    wanted: DocumentFilter


class SelectedDocuments(NamedTuple):
    """The answer to a request: the corpus, the topics (None where there are none yet), and the selected documents.

    ``columns`` are the names of the columns of the corpus, ``scores`` how well every document is explained, if only
    badly explained ones are selected, and ``has_shares`` says whether that can be measured.  ``note`` says of which
    step the shares are that the filter reads, if they are not of these topics.
    """

    request: TableRequest
    corpus: CorpusRow
    hierarchy: Hierarchy | None
    selection: DocumentSelection
    columns: tuple[str, ...] = ()
    scores: Array | None = None
    has_shares: bool = False
    note: str = ""


def find_selection(context: Context, request: TableRequest, is_wanted: Callable[[], bool]) -> SelectedDocuments:
    """Return the documents that a filter selects; a search ends early when ``is_wanted()`` returns False."""
    corpus = corpora.get_corpus(context.db, runs.get_run(context.db, request.run).corpus)
    hierarchy = context.feed.hierarchy(request.run, request.snapshot)
    wanted = request.wanted
    if hierarchy is not None:
        _place_appended(context, hierarchy, corpus)
    latest = not request.snapshot
    marked = context.reader.documents(corpus, hierarchy, wanted.where, latest=latest).selected
    placed = None if hierarchy is None else context.reader.place(hierarchy, latest=latest)
    found = None if placed is None else placed.shares
    explained = None
    if wanted.badly:
        if found is None or placed is None:
            run = runs.get_run(context.db, request.run)
            reason = f"run {run.number} has no topics yet" if hierarchy is None else explain_no_shares(run, hierarchy)
            raise LookupError(reason)
        explained = context.reader.explain(found, corpus, placed.hierarchy)

    def order(newest: Hierarchy, node: Node) -> RankedDocuments:
        topics = placed.hierarchy if placed is not None and placed.hierarchy.has(node) else newest
        return context.reader.rank(topics, node)

    selection = select_documents(
        context.db, corpus, wanted, hierarchy, context.feed.labels, order, is_wanted, marked,
        None if explained is None else explained.documents,
    )  # fmt: skip
    names = tuple(column.name for column in list_columns(context.db, corpus))
    scores, can_explain = (None if explained is None else explained.scores), corpus.kind != "real" and found is not None
    note = "" if placed is None or not wanted.reads_shares else placed.moment
    note = f"The shares behind these filters are {describe_moment(note)}." if note else ""
    return SelectedDocuments(request, corpus, hierarchy, selection, names, scores, can_explain, note)


def _place_appended(context: Context, hierarchy: Hierarchy, corpus: CorpusRow) -> None:
    """Have documents placed in the background that were appended after the others had been placed."""
    found = context.reader.find_shares(hierarchy.run, hierarchy.snapshot)
    if found is not None and found.documents < corpus.documents:
        context.actions.place_documents(hierarchy.run, corpus.documents)


def read_rows(context: Context, selected: SelectedDocuments, page: int) -> list[DocumentRow]:
    """Return the rows of a page of the table; only the blocks of its documents are read."""
    corpus, numbers = selected.corpus, selected.selection.read_page(page, PAGE_ROWS)
    facts = _describe_rows(context, corpus, numbers)
    documents = corpora.read_documents(context.db, corpus.number, numbers)
    counts = corpora.read_counts(context.db, corpus.number, numbers)
    totals = [float(counts.values[start:end].sum()) for start, end in pairwise(counts.starts.tolist())]
    pictures = _draw_pictures(context, corpus.number, numbers)
    query = TextQuery(selected.request.wanted.text)
    return [
        DocumentRow(
            each.number, _entitle(each), each.label or "", total, bool(each.text.strip()), picture,
            tuple(islice(find_contexts(each, query), CONTEXTS)), about,
        )
        for each, total, picture, about in zip(documents, totals, pictures, facts, strict=True)
    ]  # fmt: skip


def _describe_rows(context: Context, corpus: CorpusRow, numbers: Sequence[int]) -> list[str]:
    """Return the day and the group of documents, by the first column of either kind, as far as they have them."""
    sources = open_documents(context, corpus, None).sources
    facts: list[list[str]] = [[] for _ in numbers]
    for kind in (DATE, CATEGORY):
        column = next((each for each in sources.columns if each.kind == kind), None)
        values = [] if column is None else sources.read_column(column)[list(numbers)].tolist()
        for about, value in zip(facts, values, strict=False):
            if kind == DATE and value > np.iinfo(np.int64).min:
                about.append(str(np.datetime64(value, "ms").astype("datetime64[D]")))
            elif column is not None and kind == CATEGORY and value >= 0:
                about.append(column.levels[value])
    return [" · ".join(about) for about in facts]


def must_compile_rows(context: Context, run: int, snapshot: int, numbers: Sequence[int]) -> bool:
    """Return whether kernels must be compiled before `place_rows`; none is needed if all shares are stored."""
    found = context.reader.find_shares(run, snapshot)
    is_stored = found is not None and max(numbers, default=-1) < found.documents
    return not is_stored and must_compile_kernels(context, run)


def place_rows(
    context: Context, run: int, snapshot: int, numbers: Sequence[int]
) -> dict[int, tuple[StrongestTopic | None, ...]]:
    """Return the strongest topics, by layer, of some documents of the corpus; those without words are left out.

    They follow from the stored shares of documents; only documents without stored shares are placed now.
    """
    found = context.reader.find_shares(run, snapshot)
    stored = [] if found is None else [number for number in numbers if number < found.documents]
    strongest: dict[int, tuple[StrongestTopic | None, ...]] = {}
    if stored:
        hierarchy = _read_hierarchy(context, run, snapshot)
        try:
            layers = shares.read_documents(context.db, snapshot, stored, hierarchy.n_layers)
            strongest = _find_all_strongest(hierarchy, layers, stored)
        except (NotFound, DamagedArrays):
            stored = []
    others = [number for number in numbers if number not in set(stored)]
    if others:
        hierarchy, inference = _open_snapshot(context, run, snapshot)
        counts = corpora.read_counts(context.db, inference.corpus.number, others)
        strongest |= _find_all_strongest(hierarchy, inference.cut_shares(counts, others), others)
    return strongest


def _find_all_strongest(
    hierarchy: Hierarchy, layers: Sequence[LayerShares], numbers: Sequence[int]
) -> dict[int, tuple[StrongestTopic | None, ...]]:
    """Return the strongest topics of documents, given their shares; those without words have no shares at all."""
    filled = np.flatnonzero((np.diff(layers[0].starts) > 0) | (layers[0].rest > 0)).tolist()
    return {int(numbers[row]): find_strongest(hierarchy, layers, row) for row in filled}


def read_listed(context: Context, run: int, number: int) -> ListedDocument:
    """Return a document of a run's corpus with its whole text in the place of an excerpt."""
    corpus = runs.get_run(context.db, run).corpus
    (document,) = corpora.read_documents(context.db, corpus, [number])
    (row,) = describe_documents(context, corpus, [document])
    return row._replace(excerpt=document.text)


def place_document(context: Context, request: PlacementRequest) -> Placement:
    """Place a document; wait for kernels that are not compiled yet."""
    hierarchy, inference = _open_snapshot(context, request.run, request.snapshot)
    if request.document >= 0:
        answer = _place_stored(context, hierarchy, inference, request.document)
    else:
        answer = _place_text(hierarchy, inference, request)
    return Placement(request, hierarchy, inference, answer)


def place_ends(context: Context, request: tuple[int, int, int, int]) -> LineEnds:
    """Place the two documents between which the page interpolates."""
    run, snapshot, *numbers = request
    hierarchy, inference = _open_snapshot(context, run, snapshot)
    topics_a, topics_b = inference.place_documents(
        corpora.read_counts(context.db, inference.corpus.number, numbers), numbers
    )
    document_a, document_b = corpora.read_documents(context.db, inference.corpus.number, numbers)
    telling = find_telling_layer(inference.mixtures, (topics_a.theta, topics_b.theta))
    return LineEnds(request, hierarchy, inference, (topics_a, topics_b), (document_a, document_b), telling)


def search_documents(
    context: Context, run: int, text: str, request: Callable[[], bool]
) -> tuple[int, list[ListedDocument]]:
    """Search the corpus of a run for words; return the number of matching documents and the first of them.

    The search ends when ``request()`` returns False.
    """
    row = runs.get_run(context.db, run)
    total, documents = corpora.search_documents(context.db, row.corpus, text, 0, FOUND, request)
    return total, describe_documents(context, row.corpus, documents)


def choose_documents(context: Context, run: int, n: int) -> tuple[int, ...]:
    """Choose at most ``n`` documents of a run's corpus at random; return their numbers."""
    row = corpora.get_corpus(context.db, runs.get_run(context.db, run).corpus)
    return tuple(np.random.default_rng().choice(row.documents, min(n, row.documents), replace=False).tolist())


def choose_pair(context: Context, run: int) -> tuple[int, ...]:
    """Choose two documents of a run's corpus at random, of different classes if possible; return their numbers."""
    numbers = choose_documents(context, run, DRAWN)
    documents = corpora.read_documents(context.db, runs.get_run(context.db, run).corpus, numbers)
    pairs = ((a.number, b.number) for a, b in combinations(documents, 2) if a.label and b.label and a.label != b.label)
    return next(pairs, numbers[:2])


def _open_snapshot(context: Context, run: int, snapshot: int) -> tuple[Hierarchy, DocumentInference]:
    row = find_snapshot(context.db, run, snapshot)
    inference = context.feed.places.inference(run, row.number)
    return _read_hierarchy(context, run, row.number), inference


def _read_hierarchy(context: Context, run: int, snapshot: int) -> Hierarchy:
    hierarchy = context.feed.hierarchy(run, snapshot)
    if hierarchy is None:
        raise LookupError(f"snapshot {snapshot} of run {run} is no longer there; choose another moment")
    return hierarchy


def _place_text(hierarchy: Hierarchy, inference: DocumentInference, request: PlacementRequest) -> PlacedDocument:
    """Place a visitor's text, and note how many of its words the vocabulary has."""
    document = read_new_text(request.text, inference.rules, request.title)
    (topics,) = inference.place_texts([document.word_counts])
    counted = document.word_counts
    reading = TextReading(counted.tokens, counted.known, counted.stopped, counted.unknown, inference.rules.own)
    answer = _make_answer(hierarchy, inference, topics, document.title, document.text, counted.spans)
    return answer._replace(reading=reading)


def _place_stored(context: Context, hierarchy: Hierarchy, inference: DocumentInference, number: int) -> PlacedDocument:
    corpus = inference.corpus.number
    (document,) = corpora.read_documents(context.db, corpus, [number])
    (topics,) = inference.place_documents(corpora.read_counts(context.db, corpus, [number]), [number])
    text = inference.rules.wording.prepare_text(document.text)  # prepared as for counting, so that the spans fit
    spans = inference.rules.count(text).spans
    answer = _make_answer(hierarchy, inference, topics, _entitle(document), text, spans)
    return answer._replace(document=number, label=document.label or "")


def _make_answer(
    hierarchy: Hierarchy,
    inference: DocumentInference,
    placed: DocumentTopics,
    title: str,
    text: str,
    spots: Sequence[Span],
) -> PlacedDocument:
    """Return a placed document as the page shows it, without its number, label and reading."""
    phi = inference.topics.phi
    classes = None
    if placed.probabilities is not None:
        order = np.argsort(-placed.probabilities, kind="stable").tolist()
        classes = [(inference.corpus.label_names[place], float(placed.probabilities[place])) for place in order]
    return PlacedDocument(
        title=title,
        text=text,
        document=-1,
        label="",
        reading=None,
        words=placed.words,
        counts=placed.counts.astype(np.float64),
        spots=spots,
        theta=placed.theta,
        shares=placed.shares,
        rates=phi[0] @ placed.theta[0] if hierarchy.has_pictures else None,
        paths=[
            paths.Path(tuple(hierarchy.node(*column) for column in path.nodes), path.share)
            for path in inference.find_paths(placed, PATHS)
        ],
        classes=classes,
        above=placed.above,
    )


def describe_documents(context: Context, corpus: int, documents: Sequence[Document]) -> list[ListedDocument]:
    """Return documents as lists show them: with titles, beginnings and pictures."""
    pictures = _draw_pictures(context, corpus, [document.number for document in documents])
    return [
        ListedDocument(
            document.number, _entitle(document), cut_excerpt(document.text, 160), document.label or "", None, picture
        )
        for document, picture in zip(documents, pictures, strict=True)
    ]


def _entitle(document: Document) -> str:
    return make_title(document.title, document.text, document.columns)


def _draw_pictures(context: Context, corpus: int, numbers: list[int]) -> list[str]:
    """Return pictures of documents as data URIs; empty texts if the corpus has no images."""
    row = corpora.get_corpus(context.db, corpus)
    if row.image_shape is None or not numbers:
        return [""] * len(numbers)
    counts = corpora.read_counts(context.db, corpus, numbers)
    pictures = []
    for start, end in zip(counts.starts[:-1], counts.starts[1:], strict=True):
        pixels = np.zeros(row.words)
        pixels[counts.words[start:end]] = counts.values[start:end]
        pictures.append(draw_picture_uri(row.image_shape, pixels))
    return pictures


class DocumentSearch:
    """The search field for documents in the corpus of the run on screen.

    Parameters
    ----------
    changed : callable
        Called when :attr:`search` has changed.

    Attributes
    ----------
    search : SearchState
        The query and its results.
    """

    def __init__(self, context: Context, changed: Callable[[], None]) -> None:
        self.search = SearchState()
        self._context = context
        self._changed = changed
        self._request = (0, "")  # the run whose corpus was searched last, and the text

    def find(self, text: str) -> None:
        """Search for a text while it is typed, and abandon the search before it."""
        text = text[:LONGEST_QUERY]
        request = self._request = (self._context.view.run, text)
        self.search = SearchState(text)
        self._changed()
        if text.strip():
            work = partial(search_documents, self._context, *request, lambda: request == self._request)
            self._context.aside(work, partial(self._receive_results, request))

    def follow(self) -> None:
        """Search again if another run is on screen, because it may have another corpus."""
        run, text = self._context.view.run, self.search.text
        if text.strip() and run != self._request[0] and self._context.feed.run(run) is not None:
            self.find(text)

    def _receive_results(self, request: tuple[int, str], results: tuple[int, list[ListedDocument]]) -> None:
        if request == self._request:
            self.search = SearchState(request[1], *results)
            self._changed()


class Surroundings(NamedTuple):
    """The nearest documents, or the progress of placing documents to compare with.

    ``layer`` is the layer whose topics are compared; ``stored`` says whether the shares of all documents are stored, so
    that none had to be placed.
    """

    done: int
    total: int
    nearest: list[ListedDocument] | None
    layer: int = 1
    stored: bool = False


def find_neighbours(context: Context, inferred: Placement, layer: int) -> Surroundings:
    """Return the documents nearest to one by the topics of a layer.

    They are sought among all documents if the shares of these are stored.  If not, the next block of a part of the
    corpus is placed, and the nearest of them are found after the last block, by the topics of layer 1.
    """
    hierarchy, answer = inferred.hierarchy, inferred.answer
    found = context.reader.find_shares(hierarchy.run, hierarchy.snapshot)
    if found is not None:
        layer = min(layer, hierarchy.n_layers)
        use = context.reader.read_use(found, layer)
        if 0 <= answer.document < found.documents:
            one = use.layer.select_rows(np.array([answer.document]))
        else:
            one = LayerShares(*cut_shares(answer.shares[layer - 1][None, :]))
        neighbours = find_nearest(use, one, NEAREST, without=answer.document)
        return Surroundings(
            found.documents, found.documents, _list_neighbours(context, inferred, neighbours), layer, stored=True
        )
    near = context.feed.places.neighbourhood(hierarchy.run, hierarchy.snapshot)
    if not near.ready:
        near.advance()
    nearest = None
    if near.ready:
        neighbours = near.find_nearest(answer.shares[0], NEAREST, without=answer.document)
        nearest = _list_neighbours(context, inferred, neighbours)
    return Surroundings(near.done, len(near.numbers), nearest)


def _list_neighbours(context: Context, inferred: Placement, neighbours: Sequence[Neighbour]) -> list[ListedDocument]:
    corpus = inferred.inference.corpus.number
    documents = corpora.read_documents(context.db, corpus, [neighbour.document for neighbour in neighbours])
    rows = describe_documents(context, corpus, documents)
    return [row._replace(distance=neighbour.distance) for row, neighbour in zip(rows, neighbours, strict=True)]
