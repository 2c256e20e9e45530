"""What the map of documents does in other threads: reading and colouring it, and describing a selection."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.document_map import find_facts
from topiary.app.analysis.document_table import make_title
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import FilterSources, split_ranges
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.trends import DocumentGroups, group_documents
from topiary.app.analysis.typical import (
    TypicalTopics,
    TypicalWords,
    find_typical_topics,
    find_typical_words,
    sum_corpus_words,
)
from topiary.app.pages.documents_reading import TableRequest
from topiary.app.pages.filters import open_documents
from topiary.app.pages.session import Context
from topiary.app.views.documents.map_page import (
    DateHistogram,
    GroupChoice,
    GroupCount,
    LeadingGroup,
    MapColours,
    MapLegend,
    MapSelection,
    PackedMap,
    TopicCount,
    pack_map,
)
from topiary.app.views.runs.run_list import explain_missing_run
from topiary.app.views.theme import LIVE
from topiary.app.views.tree.map_svg import Family, assign_hues
from topiary.engine.contract import Array
from topiary.engine.document_map.areas import BoundedMap, TopicPlace, find_places
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.groups import bin_numbers
from topiary.store import corpora
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER, CorpusColumn, CorpusRow
from topiary.store.errors import DamagedArrays, NotFound
from topiary.store.snapshots import MapFacts, SnapshotRow

POINTS = "points"  # the path below which the server sends them
N_HUES = len(LIVE.hues)
N_BINS = 5  # ranges of a number or a date with more values than there are colours
WORDS = 12  # typical of a selection
LEAST_DOCUMENTS = 25  # whose strongest topic a topic is that has a caption; fewer in a small corpus
FEW_CAPTIONS = 4  # a layer with fewer is not the one that is shown first
_SMALL = 40  # documents of the corpus for each of those
_MOST_GROUPS = 3  # columns with a list of their groups
_MOST_LEVELS = 300  # groups of a column with a list of them
_LISTED = 60  # the largest groups, which are in the list
_BARS = 36  # of the histogram of dates
_NO_MAP = "The documents of this run have no map yet."
_TRAINING = "The map of documents is made when the run has ended; it can be made now from the newest snapshot."
_COMING = "The map of documents is being made; a rough one appears first."
_NO_DATE = np.iinfo(np.int64).min
_DAY = 86_400_000  # milliseconds


class MapRequest(NamedTuple):
    """What a visitor wants to see: the documents that the table lists, and the column by which they are coloured."""

    table: TableRequest
    colour: str


class ReadMap(NamedTuple):
    """A stored map, and what follows from it and the shares of its documents alone.

    Attributes
    ----------
    strongest : sequence of (N,) int arrays
        By layer: the column of the strongest topic of each document, -1 for none; empty without stored shares.
    places : sequence of sequences of TopicPlace
        By layer, the topics with a caption first.
    layer : int
        By whose topics documents are coloured, and whose captions are shown first.
    hues : mapping of Node to int
        The hues, from 1, of the topics of that layer with most documents.
    """

    facts: MapFacts
    bounded: BoundedMap
    strongest: Sequence[Array]
    places: Sequence[Sequence[TopicPlace]]
    layer: int
    hues: Mapping[Node, int]

    @property
    def least(self) -> int:
        """The least number of documents of a topic with a caption."""
        return _find_least(len(self.bounded.positions))


class MapAnswer(NamedTuple):
    """The map as it was asked for.

    Attributes
    ----------
    note : str
        Why there is no map, or what is special about it; may be empty.
    can_make : bool
        Whether the visitor may ask for the map, or for a newer one.
    read : ReadMap or None
        None without a map, and then all that follows is empty.
    hierarchy : Hierarchy or None
        The topics of the map's snapshot.
    url : str
        Where the browser finds the points.
    captions : list of dict
        As the browser reads them, by layer, those with most documents first.
    columns : sequence of str
        Names of the columns for conditions.
    selected : (N,) bool array or None
        None if all documents are selected.
    """

    request: MapRequest
    note: str = ""
    can_make: bool = False
    corpus: CorpusRow | None = None
    read: ReadMap | None = None
    hierarchy: Hierarchy | None = None
    packed: PackedMap | None = None
    url: str = ""
    colours: MapColours = MapColours()
    captions: Sequence[dict[str, object]] = ()
    columns: Sequence[str] = ()
    groups: Sequence[GroupChoice] = ()
    dates: DateHistogram | None = None
    said: MapSelection = MapSelection()
    selected: Array | None = None


def read_map(context: Context, request: MapRequest, before: ReadMap | None, numbers: Array | None) -> MapAnswer:
    """Return the map for a request, and have it made if it is missing; this waits for the store.

    Parameters
    ----------
    before : ReadMap or None
        The map that was read last, which is not read again unless it has changed.
    numbers : (n,) int array or None
        Numbers of the documents that are selected; None for all.
    """
    row = context.feed.run(request.table.run)
    if row is None:
        return MapAnswer(request, explain_missing_run(request.table.run))
    try:
        snapshot = find_snapshot(context.db, row.number, request.table.snapshot)
    except NotFound as error:
        return MapAnswer(request, f"{error}.")
    corpus = corpora.get_run_corpus(context.db, row)
    facts = find_facts(context.db, row, snapshot)
    is_latest = facts is not None and facts.snapshot == snapshot.number
    is_current = facts is not None and is_latest and facts.finished and facts.documents == corpus.documents
    is_placed = context.reader.find_shares(row.number, snapshot.number) is not None
    if is_placed and not is_current and corpus.documents:
        context.actions.make_map(row, snapshot.number, corpus.documents)
    answer = MapAnswer(request, can_make=not is_current and not is_placed, corpus=corpus)
    if facts is None:
        note = _COMING if is_placed else _TRAINING if context.feed.state(row.number) == "running" else _NO_MAP
        return answer._replace(note=note)
    hierarchy = context.feed.hierarchy(row.number, facts.snapshot)
    if hierarchy is None or hierarchy.snapshot != facts.snapshot:
        return answer._replace(note="The topics of the snapshot of this map cannot be read.")
    sources = open_documents(context, corpus, hierarchy).sources
    try:
        is_known = before is not None and before.facts == facts and bool(before.strongest)
        read = before if is_known and before is not None else _read_stored(context, facts, hierarchy, sources)
    except (NotFound, DamagedArrays) as error:
        return answer._replace(note=f"{error}.")
    answer = answer._replace(
        note=_describe_age(facts, corpus, hierarchy, snapshot),
        read=read,
        hierarchy=hierarchy,
        columns=tuple(column.name for column in sources.columns),
    )
    return _colour_map(context, _describe_selection(answer, sources, corpus, numbers), sources, read, hierarchy)


def _describe_age(facts: MapFacts, corpus: CorpusRow, hierarchy: Hierarchy, wanted: SnapshotRow) -> str:
    """Return what is to be said of a map that is not the finished map of all documents."""
    if not facts.finished:
        return "This is a rough map; the finished one follows."
    if facts.snapshot != wanted.number:
        return f"This map shows the topics of {hierarchy.moment}."
    missing = corpus.documents - facts.documents
    return f"{missing:,} documents that were added later are not on the map yet." if missing > 0 else ""


def _read_stored(context: Context, facts: MapFacts, hierarchy: Hierarchy, sources: FilterSources) -> ReadMap:
    """Read the positions of documents, and find the places and the hues of topics."""
    bounded = context.reader.map_of(facts.snapshot, facts)
    n, strongest = len(bounded.positions), []
    with suppress(NotFound, DamagedArrays):  # then points are grey and have no captions
        for layer in range(1, hierarchy.n_layers + 1):
            found, columns = sources.read_strongest(layer)[:n], np.full(n, -1)
            columns[: len(found)] = found
            strongest.append(columns)
    places = [find_places(bounded.positions, columns) for columns in strongest]
    layer = _choose_layer(places, _find_least(n))
    families = [Family(hierarchy.node(layer, place.column), ()) for place in places[layer - 1]] if places else []
    hues = {node: hue + 1 for node, hue in assign_hues(families, N_HUES).items()}
    return ReadMap(facts, bounded, strongest, places, layer, hues)


def _find_least(documents: int) -> int:
    return min(LEAST_DOCUMENTS, 1 + documents // _SMALL)


def _choose_layer(places: Sequence[Sequence[TopicPlace]], least: int) -> int:
    """Return the highest layer with more than a few captions; that with most of them if none has so many."""
    captions = [sum(place.documents >= least for place in each) for each in places]
    layers = range(len(places), 0, -1)
    rich = (layer for layer in layers if captions[layer - 1] >= FEW_CAPTIONS)
    return next(rich, max(layers, key=lambda layer: captions[layer - 1], default=1))


def _describe_selection(
    answer: MapAnswer, sources: FilterSources, corpus: CorpusRow, numbers: Array | None
) -> MapAnswer:
    """Return the answer with what is said of the documents selected, and the filters with their numbers."""
    read, hierarchy = answer.read, answer.hierarchy
    if read is None or hierarchy is None:
        raise AssertionError("a map is there")
    n, selected = len(read.bounded.positions), None
    if numbers is not None:
        selected = np.zeros(max(n, corpus.documents), dtype=bool)
        selected[numbers] = True
    leading = []
    if read.strongest:
        counts = _count(read.strongest[read.layer - 1], selected, hierarchy.widths[read.layer - 1])
        order = np.argsort(-counts, kind="stable")[:2].tolist()
        leading = [TopicCount(hierarchy.node(read.layer, column), int(counts[column])) for column in order]
    n_selected = corpus.documents if numbers is None else len(numbers)
    offered = [each for each in sources.columns if each.kind == CATEGORY and 1 < len(each.levels) <= _MOST_LEVELS]
    where = answer.request.table.wanted.where
    groups = [_list_groups(each, sources.read_column(each), selected, where) for each in offered[:_MOST_GROUPS]]
    said = MapSelection(
        n_selected,
        corpus.documents,
        [each for each in leading if each.documents],
        _find_leading(groups, where, n_selected, corpus.documents) if n_selected else None,
        read.bounded.n_far,
    )
    date = next((column for column in sources.columns if column.kind == DATE), None)
    dates = None if date is None else _count_days(date, sources.read_column(date), selected, answer.request)
    return answer._replace(said=said, groups=groups, dates=dates, selected=None if selected is None else selected[:n])


def _count(codes: Array, selected: Array | None, n_codes: int) -> Array:
    """Return how many documents selected have each code; codes below 0 are left out."""
    wanted = codes >= 0 if selected is None else (codes >= 0) & selected[: len(codes)]
    return np.bincount(codes[wanted], minlength=n_codes)


def _list_groups(column: CorpusColumn, values: Array, selected: Array | None, where: Sequence[str]) -> GroupChoice:
    """Return the largest groups of a column, and those that are chosen, with their documents."""
    everywhere, here = (_count(values, each, len(column.levels)) for each in (None, selected))
    order = np.argsort(-everywhere, kind="stable").tolist()
    listed = [place for n, place in enumerate(order) if n < _LISTED or f"{column.name}={column.levels[place]}" in where]
    levels = [GroupCount(column.levels[place], int(here[place]), int(everywhere[place])) for place in listed]
    return GroupChoice(column.name, levels)


def _find_leading(
    groups: Sequence[GroupChoice], where: Sequence[str], selected: int, documents: int
) -> LeadingGroup | None:
    """Return the group that most of the documents selected are of, if it is twice as frequent there as elsewhere.

    Groups by which they were selected say nothing new.
    """
    apart = [
        LeadingGroup(group.column, level.name, level.selected)
        for group in groups
        for level in group.levels
        if not any(text.startswith(f"{group.column}=") for text in where)
        and level.selected * documents >= 2 * level.documents * selected
        and 4 * level.selected >= selected
    ]
    return max(apart, key=lambda leading: leading.documents, default=None)


def _count_days(
    column: CorpusColumn, values: Array, selected: Array | None, request: MapRequest
) -> DateHistogram | None:
    """Return the histogram of the dates of all documents and of those selected; None if all have the same date."""
    is_dated = values != _NO_DATE
    days = values[is_dated] // _DAY
    if not len(days) or days.min() == days.max():
        return None
    edges = np.unique(np.linspace(days.min(), days.max() + 1, _BARS + 1).astype(np.int64))
    counts = np.histogram(days, edges)[0]
    shown = 0 * counts if selected is None else np.histogram(days[selected[: len(values)][is_dated]], edges)[0]
    ends = (0, len(edges) - 1)
    with suppress(ReadError):  # a condition that means nothing is said elsewhere
        chosen = split_ranges(request.table.wanted.where, column.name)[1]
        if chosen is not None:
            low, high = np.clip([chosen.first, chosen.last + 1], edges[0] * _DAY, edges[-1] * _DAY) / _DAY
            first = int(np.searchsorted(edges, low, side="right")) - 1
            ends = (min(first, len(edges) - 2), max(int(np.searchsorted(edges, high)), first + 1))
    return DateHistogram(
        column.name,
        [_write_day(edge * _DAY) for edge in edges[:-1].tolist()],
        [_write_day(edge * _DAY - 1) for edge in edges[1:].tolist()],
        counts.tolist(),
        shown.tolist(),
        *ends,
    )


def _colour_map(
    context: Context, answer: MapAnswer, sources: FilterSources, read: ReadMap, hierarchy: Hierarchy
) -> MapAnswer:
    """Return the answer with the points, coloured, and with those that are selected standing out."""
    n, positions = len(read.bounded.positions), read.bounded.positions
    offered = [column for column in sources.columns if column.kind in (CATEGORY, NUMBER, DATE)]
    names = tuple(column.name for column in offered)
    codes = read.strongest[read.layer - 1] if read.strongest else np.full(n, -1)
    hues = [read.hues.get(hierarchy.node(read.layer, column), 0) for column in range(hierarchy.widths[read.layer - 1])]
    colours, is_by_topic = MapColours(hues), answer.request.colour not in names
    if not is_by_topic:
        column = find_column(offered, answer.request.colour)
        codes, colours = _colour_by_column(column, sources.read_column(column), n)
    packed = pack_map(positions, codes, answer.selected)
    name = hashlib.sha256(packed.data).hexdigest()
    context.feed.points.fetch(name, lambda: packed.data)
    captions = [
        _make_caption(packed, hierarchy, hierarchy.node(layer, place.column), place, read.hues if is_by_topic else {})
        for layer, places in enumerate(read.places, start=1)
        for place in places
        if place.documents >= read.least
    ]
    return answer._replace(
        packed=packed, url=f"{POINTS}/{name}", colours=colours._replace(columns=names), captions=captions
    )


def _make_caption(
    packed: PackedMap, hierarchy: Hierarchy, node: Node, place: TopicPlace, hues: Mapping[Node, int]
) -> dict[str, object]:
    ((x, y),) = packed.place(np.array([[place.x, place.y]])).tolist()
    names = {"id": format_identity(node), "title": hierarchy.title(node), "layer": node.layer}
    return names | {"documents": place.documents, "hue": hues.get(node, 0), "x": round(x, 5), "y": round(y, 5)}


def _colour_by_column(column: CorpusColumn, values: Array, n: int) -> tuple[Array, MapColours]:
    """Return the group of every document, and the hue of every group with the legend."""
    found = group_documents(column, values) if column.kind == CATEGORY else _group_by_range(column, values)
    codes = np.full(n, -1, np.int32)
    codes[: len(found.codes)] = found.codes[:n]
    hues = [hue if hue <= N_HUES else 0 for hue in range(1, len(found.names) + 1)]
    named = zip(hues, found.names, found.conditions, strict=True)
    legend = [MapLegend(hue, name, condition) for hue, name, condition in named if hue]
    return codes, MapColours(hues, legend, others=0 in hues or bool((codes < 0).any()))


def _group_by_range(column: CorpusColumn, values: Array) -> DocumentGroups:
    """Return ranges of a number or a date, as many as there are colours at most, with similar numbers of documents."""
    is_date = column.kind == DATE
    bins = bin_numbers(np.where(values == _NO_DATE, np.nan, values.astype(np.float64)) if is_date else values)
    codes, lows, highs = bins.codes, bins.lows, bins.highs
    if len(lows) > N_HUES:
        part = np.arange(len(lows)) * N_BINS // len(lows)
        firsts, lasts = (np.searchsorted(part, np.arange(N_BINS), side=side) for side in ("left", "right"))
        codes, lows, highs = np.where(codes < 0, -1, part[codes]), lows[firsts], highs[lasts - 1]
    write = _write_day if is_date else repr
    ends = [(write(low), write(high)) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    names = [low if low == high else f"{low} to {high}" for low, high in ends]
    return DocumentGroups(codes, names, [f"{column.name}={low}..{high}" for low, high in ends])


def _write_day(milliseconds: float) -> str:
    return str(np.datetime64(int(milliseconds), "ms").astype("datetime64[D]"))


def find_typical(context: Context, answer: MapAnswer) -> tuple[TypicalTopics, TypicalWords | None]:
    """Return the topics and the words that are typical of what is selected; no words where they are not counted.

    Raises
    ------
    LookupError
        If the shares of documents are not stored, or all or no documents are selected.
    """
    hierarchy, corpus, selected, read = answer.hierarchy, answer.corpus, answer.selected, answer.read
    found = None if hierarchy is None else context.reader.find_shares(hierarchy.run, hierarchy.snapshot)
    if hierarchy is None or corpus is None or found is None or read is None:
        raise LookupError("The shares of the documents are not known, so nothing is typical of some of them.")
    if selected is None or not selected.any() or selected.all():
        raise LookupError("Select some documents first, by a line, a topic or a filter.")
    topics = find_typical_topics(hierarchy, read.layer, context.reader.read_use(found, read.layer), selected)
    if corpus.kind == "real":  # words are compared by counts
        return topics, None
    n_words = len(hierarchy.vocabulary)
    selection = sum_corpus_words(context.db, corpus, n_words, selected)
    return topics, find_typical_words(selection, context.reader.sum_words(corpus, n_words), hierarchy.vocabulary, WORDS)


def read_title(context: Context, corpus: int, number: int) -> str:
    """Return the title of a document."""
    (document,) = corpora.read_documents(context.db, corpus, [number])
    return make_title(document.title, document.text, document.columns) or "untitled"
