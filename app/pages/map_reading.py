"""What the map of documents does in other threads: reading and colouring it, and describing a selection."""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.document_map import find_facts
from topiary.app.analysis.document_table import make_title
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import Condition
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.refinements import SHARE
from topiary.app.analysis.trends import DocumentGroups, group_documents
from topiary.app.analysis.typical import TypicalTopic, find_typical_topics, find_typical_words, sum_corpus_words
from topiary.app.pages.filters import open_documents
from topiary.app.pages.session import Context
from topiary.app.views.document_map import PackedMap, list_captions, pack_map
from topiary.app.views.documents.map_page import ListedPoint, MapColours, MapLegend, MapRegion, SelectionSummary
from topiary.app.views.palette import LIVE
from topiary.app.views.runs.notices import explain_missing_run
from topiary.app.views.tree.map_svg import assign_hues, choose_families, group_topics, trace_parents
from topiary.engine.contract import Array
from topiary.engine.document_map.areas import Island, find_islands
from topiary.engine.document_map.layout import DocumentMap
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.groups import bin_numbers
from topiary.store import corpora
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER, CorpusColumn, CorpusRow
from topiary.store.errors import DamagedArrays, NotFound, StoreError
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import MapFacts, SnapshotRow

POINTS = "points"  # the path below which the server sends them
N_HUES = len(LIVE.hues)
N_BINS = 5  # ranges of a number or a date with more values than there are colours
LISTED = 12  # documents, topics and words of a selection
WORDS = 18
MOST_EXPORTED = 20_000  # documents of a file that the browser saves
_REGIONS = 60  # in the table
_NO_MAP = "The documents of this run have no map yet."
_TRAINING = "The map of documents is made when the run has ended; it can be made now from the newest snapshot."
_COMING = "The map of documents is being made; a rough one appears first."
_NO_DATE = np.iinfo(np.int64).min


class MapRequest(NamedTuple):
    """What a visitor wants to see: fields of the view, see `app.pages.session.View`; ``topic`` is None for none."""

    run: int
    snapshot: int
    where: tuple[str, ...]
    topic: Node | None
    colour: str

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions on documents, with that on the share of the chosen topic."""
        if self.topic is None:
            return self.where
        own = str(Condition(format_identity(self.topic), f"{100 * SHARE:g}%.."))
        return self.where if own in self.where else (*self.where, own)


class ReadMap(NamedTuple):
    """A stored map, and what follows from it alone.

    ``families`` is the hue of each parent that has one, from 1, ``hues`` that of each topic of layer 1, 0 for grey.
    """

    facts: MapFacts
    document_map: DocumentMap
    islands: Sequence[Island]
    families: dict[Node, int]
    hues: list[int]


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
    regions: Sequence[MapRegion] = ()
    columns: Sequence[str] = ()
    selected: Array | None = None


def read_map(context: Context, request: MapRequest, before: ReadMap | None) -> MapAnswer:
    """Return the map for a request, and have it made if it is missing; this waits for the store.

    Parameters
    ----------
    before : ReadMap or None
        The map that was read last, which is not read again unless it has changed.
    """
    row = context.feed.run(request.run)
    if row is None:
        return MapAnswer(request, explain_missing_run(request.run))
    try:
        snapshot = find_snapshot(context.db, row.number, request.snapshot)
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
    try:
        read = before if before is not None and before.facts == facts else _read_stored(context, facts, hierarchy)
    except (NotFound, DamagedArrays) as error:
        return answer._replace(note=f"{error}.")
    return _colour_map(
        context, answer._replace(note=_describe_age(facts, corpus, hierarchy, snapshot)), read, hierarchy
    )


def _describe_age(facts: MapFacts, corpus: CorpusRow, hierarchy: Hierarchy, wanted: SnapshotRow) -> str:
    """Return what is to be said of a map that is not the finished map of all documents."""
    if not facts.finished:
        return "This is a rough map; the finished one follows."
    if facts.snapshot != wanted.number:
        return f"This map shows the topics of {hierarchy.moment}."
    missing = corpus.documents - facts.documents
    return f"{missing:,} documents that were added later are not on the map yet." if missing > 0 else ""


def _read_stored(context: Context, facts: MapFacts, hierarchy: Hierarchy) -> ReadMap:
    """Read the positions of documents, and find the islands and the colours of topics."""
    stored = context.reader.map_of(facts.snapshot, facts)
    document_map = DocumentMap(stored.positions, stored.topics)
    columns = range(hierarchy.widths[0])
    traced = trace_parents(hierarchy, columns)
    islands = find_islands(document_map, [np.argmax(parts, axis=1) for parts in traced])
    families = [group_topics(hierarchy, layer, parts, hierarchy.shares[0]) for layer, parts in enumerate(traced, 2)]
    coloured = choose_families(families, N_HUES)
    hues = [0] * len(columns)
    if coloured:
        parents = {node: hue + 1 for node, hue in assign_hues(coloured, N_HUES).items()}
        for family in coloured:
            for column in family.topics:
                hues[column] = parents.get(family.parent, 0)
    else:  # one layer
        parents = {node: hue for hue, node in enumerate(hierarchy.nodes(1)[:N_HUES], 1)}
        for node, hue in parents.items():
            hues[hierarchy.place(node)] = hue
    return ReadMap(facts, document_map, islands, parents, hues)


def _colour_map(context: Context, answer: MapAnswer, read: ReadMap, hierarchy: Hierarchy) -> MapAnswer:
    """Return the answer with the points, coloured, and with those that the conditions select standing out."""
    request, corpus, n = answer.request, answer.corpus, len(read.document_map.topics)
    if corpus is None:
        raise AssertionError("a run has a corpus")
    sources, selected, fault = open_documents(context, corpus, hierarchy).sources, None, ""
    try:
        found = open_documents(context, corpus, hierarchy, request.conditions).selected
        selected = None if found is None else found[:n]
    except (ReadError, StoreError) as error:
        fault = f"{error}."
    offered = [column for column in sources.columns if column.kind in (CATEGORY, NUMBER, DATE)]
    names = tuple(column.name for column in offered)
    codes, colours = None, _colour_by_topic(hierarchy, read, request.topic)
    if request.colour in names:
        column = find_column(offered, request.colour)
        codes, colours = _colour_by_column(column, sources.read_column(column), n)
    packed = pack_map(read.document_map, codes, selected)
    name = hashlib.sha256(packed.data).hexdigest()
    context.feed.points.fetch(name, lambda: packed.data)

    def describe(layer: int, column: int) -> tuple[str, str, int]:
        node = hierarchy.node(layer, column)
        hue = read.hues[column] if layer == 1 else read.families.get(node, 0)
        return format_identity(node), hierarchy.title(node), 0 if codes is not None else hue

    return answer._replace(
        note=" ".join(filter(None, (fault, answer.note))),
        read=read,
        hierarchy=hierarchy,
        packed=packed,
        url=f"{POINTS}/{name}",
        colours=colours._replace(columns=names),
        captions=list_captions(packed, read.islands, describe),
        regions=_list_regions(hierarchy, read.islands),
        columns=tuple(column.name for column in sources.columns),
        selected=selected,
    )


def _list_regions(hierarchy: Hierarchy, islands: Sequence[Island]) -> list[MapRegion]:
    """Return the islands of the higher layers, the largest of each layer first, and then those of layer 1."""
    ordered = sorted(islands, key=lambda island: (-island.layer, -island.documents))
    return [MapRegion(hierarchy.node(each.layer, each.column), each.documents) for each in ordered[:_REGIONS]]


def _colour_by_topic(hierarchy: Hierarchy, read: ReadMap, chosen: Node | None) -> MapColours:
    """Return the hue of every topic of layer 1, by its parent, and the legend.

    While a topic is chosen, those that are grey otherwise have a hue too, so that its documents stand out.
    """
    spare = 0 if chosen is None else 1 + chosen.column % N_HUES
    legend = [
        MapLegend(hue, hierarchy.title(node), "select", format_identity(node)) for node, hue in read.families.items()
    ]
    return MapColours([hue or spare for hue in read.hues], legend, others=0 in read.hues)


def _colour_by_column(column: CorpusColumn, values: Array, n: int) -> tuple[Array, MapColours]:
    """Return the group of every document, and the hue of every group with the legend."""
    found = group_documents(column, values) if column.kind == CATEGORY else _group_by_range(column, values)
    codes = np.full(n, -1, np.int32)
    codes[: len(found.codes)] = found.codes[:n]
    hues = [hue if hue <= N_HUES else 0 for hue in range(1, len(found.names) + 1)]
    named = zip(hues, found.names, found.conditions, strict=True)
    legend = [MapLegend(hue, name, "group", condition) for hue, name, condition in named if hue]
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


def summarise_selection(context: Context, answer: MapAnswer) -> SelectionSummary:
    """Return the topics and the first documents of what is selected; its words follow, see `find_words`."""
    request, hierarchy, selected, read = answer.request, answer.hierarchy, answer.selected, answer.read
    if hierarchy is None or selected is None or read is None or answer.corpus is None:
        raise AssertionError("a selection is asked for once there is one")
    numbers = np.flatnonzero(selected)
    topics: list[TypicalTopic] = []
    found = context.reader.find_shares(hierarchy.run, hierarchy.snapshot)
    if len(numbers) and found is not None:
        ranked = find_typical_topics(hierarchy, 1, context.reader.read_use(found, 1), selected).more
        topics = [each for each in ranked if hierarchy.role(each.node) != BACKGROUND][:LISTED]
    if request.topic is not None:
        users = (use.document for use in context.reader.rank(hierarchy, request.topic).list_uses())
        inside = selected.tolist()
        listed = [number for number in users if number < len(inside) and inside[number]][:LISTED]
    else:
        places = read.document_map.positions[numbers]
        middle = np.median(places, axis=0) if len(numbers) else places
        listed = numbers[np.argsort(((places - middle) ** 2).sum(axis=1), kind="stable")[:LISTED]].tolist()
    documents = corpora.read_documents(context.db, answer.corpus.number, listed)
    points = [ListedPoint(each.number, make_title(each.title, each.text, each.columns)) for each in documents]
    return SelectionSummary(len(numbers), answer.corpus.documents, topics, points)


def find_words(context: Context, answer: MapAnswer) -> list[str]:
    """Return the typical words of what is selected."""
    hierarchy, corpus, selected = answer.hierarchy, answer.corpus, answer.selected
    if hierarchy is None or corpus is None or selected is None or not selected.any() or selected.all():
        return []
    if corpus.kind == "real":  # words are compared by counts
        return []
    n_words = len(hierarchy.vocabulary)
    everything = context.reader.sum_words(corpus, n_words)
    selection = sum_corpus_words(context.db, corpus, n_words, selected)
    return [each.word for each in find_typical_words(selection, everything, hierarchy.vocabulary, WORDS).more]


def read_title(context: Context, corpus: int, number: int) -> str:
    """Return the title of a document."""
    (document,) = corpora.read_documents(context.db, corpus, [number])
    return make_title(document.title, document.text, document.columns) or "untitled"


def export_selection(context: Context, row: RunRow, hierarchy: Hierarchy, where: Sequence[str]) -> str:
    """Return the table of the selected documents and their topics as the text of a CSV file.

    Raises
    ------
    ReadError
        If a condition means nothing.
    NotFound
        If the shares of the documents are not stored.
    """
    from topiary.app.export.run_tables import build_table, read_request  # load pandas, slowly
    from topiary.app.export.tables import write_table

    layer = min(2, hierarchy.n_layers)
    request = read_request(context.db, row, "documents", minibatch=hierarchy.minibatch, layer=layer, where=tuple(where))
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(build_table("documents", request), Path(folder) / "documents.csv")
        return path.read_text(encoding="utf-8")
