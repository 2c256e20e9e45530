"""A hierarchy: everything that views, exports and commands need to know about one snapshot, computed once.

Lists, trees, tables, files and URLs read all numbers about a topic from here, so that they cannot disagree.  A topic
has two numbers: its *identity*, such as ``L3:17`` (layer 3, column 16 of Phi^(3) when that layer was created), which
is the same in every snapshot of a run, and its *rank* in its layer (1 = most popular in this snapshot).  Pruning moves
topics to other columns; ``Hierarchy.place`` returns the present one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.notes import Note
from topiary.engine.hierarchy import certainty, titles, topics
from topiary.engine.hierarchy.align import Recurrence, count_most
from topiary.engine.hierarchy.effects import Presentation
from topiary.engine.hierarchy.tree import Direction, Edge, Node, find_edges, find_heaviest_edges
from topiary.engine.quality.background import find_background
from topiary.engine.quality.measures import WORDS, Coherence, measure_diversity

LIVE, LIGHT, BACKGROUND, INCOHERENT = "live", "light", "background", "incoherent"
LEAST_NPMI = 0.0  # below it the first words of a topic occur together less often than by chance

REASONS = {
    LIVE: "",
    LIGHT: "Under 0.1% of the tokens: the words of so small a topic are mostly noise",
    BACKGROUND: "Spread evenly over the documents, its words meeting hardly more often than by chance",
    INCOHERENT: "NPMI below 0: its first words meet in fewer documents than by chance",
}


def find_roles(
    parts: NDArray[np.float64], spread: NDArray[np.float32] | None, npmi: NDArray[np.float32] | None
) -> tuple[str, ...]:
    """Return the role of every topic of a layer: live, or else the first of light, background, incoherent that holds.

    Parameters
    ----------
    parts : (K,) array
        Share of the tokens that each topic holds.
    spread : (K,) array or None
        How evenly documents use each topic (`engine.quality.background.measure_spread`); None where not known.
    npmi : (K,) array or None
        Coherence of the first words of each topic; None where not known.
    """
    all_false = np.zeros(len(parts), dtype=bool)
    light = topics.find_light(parts)
    background = all_false if spread is None else find_background(spread, npmi)
    incoherent = all_false if npmi is None else np.asarray(npmi) < LEAST_NPMI
    roles = np.select([light, background, incoherent], [LIGHT, BACKGROUND, INCOHERENT], LIVE)
    return tuple(roles.tolist())


KEPT_WORDS = 30  # words stored for each topic, as many as in the tree figures of the paper's authors
PRINTED_WORDS = titles.SHOWN  # of these, the number shown in boxes and lists
JUDGED_WORDS = 10  # of these, the number that coherence and diversity measure
LEAST_RELATION = 0.3  # topics with a smaller correlation count as unrelated
IDENTITY = r"L([1-9][0-9]{0,2}):([1-9][0-9]{0,6})"  # of a topic, as a pattern


class TopicWord(NamedTuple):
    """A word of a topic, its weight in the topic's projection, and the 90 % interval of the weight where known."""

    text: str
    weight: float
    low: float | None = None
    high: float | None = None


class EdgeCertainty(NamedTuple):
    """The certainty of an edge within its run: the probability that it is above the threshold, and a 90 % interval."""

    inclusion: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """True if the edge is sure within its run: above the threshold with a probability of at least 90 %."""
        return self.inclusion >= certainty.SURE


class EdgeMark(NamedTuple):
    """What speaks for an edge: how many of the runs with other seeds found it, and its certainty within its own run.

    ``others`` is the number of these runs, 0 where there is none; ``certainty`` is None where it is not known.
    """

    found: int
    others: int
    certainty: EdgeCertainty | None

    @property
    def strength(self) -> float | None:
        """The share of the runs with other seeds that found it; without any, its inclusion; None if neither is known.

        Seeds come first, as where a chain starts matters more than how far it still moves.
        """
        if self.others:
            return self.found / self.others
        return None if self.certainty is None else self.certainty.inclusion

    @property
    def is_sure(self) -> bool:
        """True if most other seeds found it; without any, if it is sure within its run, or nothing is known."""
        if self.others:
            return self.found >= count_most(self.others)
        return self.certainty is None or self.certainty.is_sure


class LayerCertainty(NamedTuple):
    """The certainty of a layer.

    Attributes
    ----------
    wandering : int
        Number of topics whose posterior draws have a cosine below .8.
    steadiness : float
        Median of that cosine over topics that are not light.
    edges, sure_edges : int
        Number of edges to the layer below that are above the threshold, and of those among them that are sure within
        the run: whose inclusion is at least 90 %.
    """

    layer: int
    wandering: int
    steadiness: float
    edges: int
    sure_edges: int


class Relative(NamedTuple):
    """A parent or child of a topic and the weight of the edge between them."""

    node: Node
    weight: float


class LayerQuality(NamedTuple):
    """The quality of the topics of a layer, light ones left out.

    Attributes
    ----------
    topics : int
        Number of these topics.
    npmi : float or None
        Mean document NPMI; None where it is not known.
    diversity : float
        Number of distinct words among the first ten of all topics, divided by the number of all these words.
    """

    topics: int
    npmi: float | None
    diversity: float


class Neighbour(NamedTuple):
    """A document and its Hellinger distance, 0 (the same topics) to 1 (none in common)."""

    document: int
    distance: float


class UseOfTopic(NamedTuple):
    """A document that uses a topic, and its activation of the topic (theta)."""

    document: int
    weight: float


class WordBounds(NamedTuple):
    """Words (K_l, n) of the topics of a layer, and the ends of the 90 % intervals of their weights."""

    words: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Hierarchy:
    """One snapshot of a run in the form that views, exports and commands read.

    Attributes
    ----------
    run, seed, corpus : int, int, str
        The run, its seed and the name of its corpus.
    snapshot, minibatch : int
        The snapshot's number in the store, and the step after which it was taken.
    vocabulary : tuple of str
        V words.
    phi : tuple of (K_{l-1}, K_l) arrays
        Topics of layer 1 over the words, then the weights of the edges
        (`engine.hierarchy.effects.compute_edge_weights`), which may be negative.
        Means over the last samples, where the snapshot has them.
    r : (K_L,) float64 array
    projections : tuple of (V, K_l) arrays
    popularity, shares : tuples of (K_l,) float64 arrays
        Shares sum to 1 in every layer.
    order, ranks : tuples of (K_l,) int arrays
        The columns in the order of their popularity, and the rank of every column, from 1.
    words, word_weights : tuples of (K_l, n) arrays
        Most relevant words of every topic, n = 30 or the whole vocabulary.
    titles : tuple of (K_l, n) int arrays
        The words that distinguish each topic, n = 3 or the whole vocabulary; they differ between topics of a layer.
    step_sizes : tuple of (K_l,) arrays
        Layer-adaptive step sizes; empty when the snapshot has none.
    documents, document_weights : tuples of (K_l, 20) arrays
        Documents that use a topic most (-1 = none); empty when the snapshot has none.
    alive : tuple of (K_l,) bool arrays
        True for topics that explain any tokens.
    labels : mapping of Node to str
        Names given by users.
    notes : mapping of Node to tuple of Note
        Notes and tags of users, oldest first.
    edited : mapping of Node to str
        What edits have asked of topics, and of those that they made.
    image_shape : (rows, columns) or None
        Size of the images when words are pixels, else None.
    names : tuple of (K_l,) int arrays
        ``Node.column`` of every column; the columns themselves unless topics were pruned.
    classes : tuple of str
        Names of the classes that ``class_weights`` are about; empty when the model has no such weights.
    class_weights : tuple of (C, K_l) float64 arrays
        The weight of each topic for each class minus the mean over classes; empty likewise.
    family : int
        Number of the run from which this one descends by forking, its own number where it was not forked.
    npmi : tuple of (K_l,) float32 arrays
        Document NPMI of the first ten words at the default ``trade``; empty when the snapshot has none.
    spread : tuple of (K_l,) float32 arrays
        Effective share of the documents that use a topic; empty likewise.
    common_words : tuple of int
        Words that occur throughout the corpus and are left out of titles.
    lowers : tuple of (V, K_l) arrays or None
        How much each topic lowers each word; None for layers whose topics lower no word.
    linear : bool
        True if every topic is a mixture of the layer below, so that documents have paths through the tree.
    directed : bool
        False where parents and children act on each other (a Boltzmann machine).
    relations : tuple of (column, column, correlation)
        Topics of layer 1 that documents use together, strongest first (see `engine.hierarchy.tree.find_relations`);
        empty where links are on the simplex.
    columns : Presentation or None
        The hierarchy of the columns, in a model of rows and columns; it shares layer 1 with the
        rows' topics (see `app.analysis.column_topics`).
    steadiness : tuple of (K_l,) float32 arrays
        Cosine between two posterior draws of each topic, for the lowest layers; empty when the snapshot has none.
    word_bounds : tuple of WordBounds
        90 % intervals of the words shown; empty likewise.
    edge_variances : tuple of (K_l, K_{l+1}) float32 arrays
        Variances of the weights of the edges in ``phi[1:]``; empty likewise.
    trade : float
        The lambda by which ``words`` are chosen (`engine.hierarchy.topics.compute_relevance`); 1 is by their weights.
    recurrence : Recurrence or None
        What of it comes back in runs that differ in the seed alone; None until it has been measured
        (`app.analysis.seeds`).
    step : str
        What a step of the run is: ``mini-batch``, ``sweep`` of all documents, or ``step`` where it had both.
    """

    run: int
    seed: int
    corpus: str
    snapshot: int
    minibatch: int
    vocabulary: tuple[str, ...]
    phi: tuple[NDArray[Any], ...]
    r: NDArray[np.float64]
    projections: tuple[NDArray[Any], ...]
    popularity: tuple[NDArray[np.float64], ...]
    shares: tuple[NDArray[np.float64], ...]
    order: tuple[NDArray[np.intp], ...]
    ranks: tuple[NDArray[np.intp], ...]
    words: tuple[NDArray[Any], ...]
    word_weights: tuple[NDArray[Any], ...]
    titles: tuple[NDArray[Any], ...]
    step_sizes: tuple[NDArray[Any], ...]
    documents: tuple[NDArray[Any], ...]
    document_weights: tuple[NDArray[Any], ...]
    alive: tuple[NDArray[np.bool_], ...]
    labels: Mapping[Node, str]
    image_shape: tuple[int, int] | None
    names: tuple[NDArray[Any], ...] = ()
    classes: tuple[str, ...] = ()
    class_weights: tuple[NDArray[np.float64], ...] = ()
    family: int = 0
    npmi: tuple[NDArray[Any], ...] = ()
    spread: tuple[NDArray[Any], ...] = ()
    common_words: tuple[int, ...] = ()
    steadiness: tuple[NDArray[Any], ...] = ()
    word_bounds: tuple["WordBounds", ...] = ()
    edge_variances: tuple[NDArray[Any], ...] = ()
    trade: float = topics.TRADE
    lowers: tuple[NDArray[Any] | None, ...] = ()
    linear: bool = True
    directed: bool = True
    relations: tuple[tuple[int, int, float], ...] = ()
    columns: Presentation | None = None
    recurrence: Recurrence | None = None
    notes: Mapping[Node, tuple[Note, ...]] = field(default_factory=dict)
    edited: Mapping[Node, str] = field(default_factory=dict)
    step: str = "mini-batch"

    @property
    def moment(self) -> str:
        """The step after which the snapshot was taken, in words: ``sweep 1,200``."""
        return f"{self.step} {self.minibatch:,}"

    @property
    def presentation(self) -> Presentation:
        """The topics in the form that the quality measures take."""
        return Presentation(self.projections, self.lowers, self.phi, self.popularity)

    @property
    def n_layers(self) -> int:
        """The number of layers L, also the number of the top layer."""
        return len(self.phi)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of topics of every layer, K_1 .. K_L."""
        return tuple(layer.shape[1] for layer in self.phi)

    @cached_property
    def light(self) -> frozenset[Node]:
        """The topics with so few tokens that their words are noise (see `engine.hierarchy.topics.find_light`)."""
        found = [np.flatnonzero(topics.find_light(layer)) for layer in self.shares]
        return frozenset(node for layer, columns in enumerate(found, 1) for node in self._nodes_in(layer, columns))

    @cached_property
    def roles(self) -> tuple[tuple[str, ...], ...]:
        """The role of every topic (see `find_roles`), by layer and column."""
        unknown = (None,) * self.n_layers
        measures = zip(self.shares, self.spread or unknown, self.npmi or unknown, strict=True)
        return tuple(find_roles(parts, spread, npmi) for parts, spread, npmi in measures)

    def role(self, node: Node) -> str:
        """Return the role of a topic: live, light, background or incoherent."""
        return self.roles[node.layer - 1][self.place(node)]

    def coherence(self, node: Node) -> float | None:
        """Return the document NPMI of the first ten words at the default ``trade``; None where it is not known."""
        return float(self.npmi[node.layer - 1][self.place(node)]) if self.npmi else None

    def quality(self, layer: int) -> LayerQuality:
        """Return the quality of the topics of a layer, leaving out light ones."""
        live = ~topics.find_light(self.shares[layer - 1])
        npmi = float(self.npmi[layer - 1][live].mean()) if self.npmi and live.any() else None
        return LayerQuality(int(live.sum()), npmi, measure_diversity(self.words[layer - 1][live, :JUDGED_WORDS]))

    def choose_words(self, trade: float | None) -> "Hierarchy":
        """Return the same topics with first words chosen by another relevance; None changes nothing.

        ``trade`` balances the weight of a word in a topic (1) against its lift (0).
        """
        if trade is None or trade == self.trade:
            return self
        words, weights = select_words(self.projections, self.shares, trade)
        return replace(self, words=words, word_weights=weights, trade=trade)

    def nodes(self, layer: int) -> list[Node]:
        """Return the topics of a layer, most popular first."""
        return self._nodes_in(layer, self.order[layer - 1])

    def has(self, node: Node) -> bool:
        """Return True if this snapshot has such a topic."""
        return 1 <= node.layer <= self.n_layers and node.column in self._places[node.layer - 1]

    def node(self, layer: int, column: int) -> Node:
        """Return the topic that is in a column of Phi^(layer) in this snapshot."""
        return Node(layer, int(self.names[layer - 1][column]) if self.names else column)

    def place(self, node: Node) -> int:
        """Return the column of Phi^(layer) in which a topic is in this snapshot."""
        return self._places[node.layer - 1][node.column]

    def at_rank(self, layer: int, rank: int) -> Node:
        """Return the topic of a rank in its layer.

        Raises
        ------
        LookupError
            When there is no such layer or rank.
        """
        if not 1 <= layer <= self.n_layers:
            raise LookupError(f"run {self.run} has no layer {layer}: it has layers 1 to {self.n_layers}")
        if not 1 <= rank <= self.widths[layer - 1]:
            raise LookupError(
                f"layer {layer} of run {self.run} has no topic {rank}: it has topics 1 to {self.widths[layer - 1]}"
            )
        return self._nodes_in(layer, self.order[layer - 1][rank - 1 : rank])[0]

    def find_topic(self, name: str | int) -> Node:
        """Return the topic with an identity such as ``L3:17``.

        Raises
        ------
        LookupError
            When there is none.  A number alone is refused, because it could be an identity or a rank.
        """
        text = str(name).strip()
        node = parse_identity(text)
        if node is not None and self.has(node):
            return node
        advice = "topiary topics and topics() list them"
        if text.isdecimal() and (same := self._describe_numbered(int(text[:9]))):
            advice = f"with this number there are {same}"
        raise LookupError(f"run {self.run} has no topic {text!r}; topics are named like 'L1:3', and {advice}")

    def find_topics(self, names: Iterable[str | int], layer: int | None = None) -> list[Node]:
        """Return the topics with some identities; raise LookupError for one that is not there or of another layer."""
        nodes = [self.find_topic(name) for name in names]
        if strange := [node for node in nodes if layer not in (None, node.layer)]:
            raise LookupError(f"{self.cite(strange[0])} is a topic of layer {strange[0].layer}, and not of {layer}")
        return nodes

    def _describe_numbered(self, number: int) -> str:
        """Return the topics whose identity has a number, from the top layer down."""
        nodes = (Node(layer, number - 1) for layer in range(self.n_layers, 0, -1))
        return ", ".join(self.cite(node) for node in nodes if self.has(node))

    def cite(self, node: Node) -> str:
        """Return the identity and the title of a topic, as whatever takes a topic answers with."""
        identity, title = format_identity(node), self.title(node)
        return identity if title == identity else f"{identity} {title}"

    def rank(self, node: Node) -> int:
        """Return the rank of a topic in its layer, 1 = most popular."""
        return int(self.ranks[node.layer - 1][self.place(node)])

    def share(self, node: Node) -> float:
        """Return a topic's share of the layer's popularity, 0 to 1."""
        return float(self.shares[node.layer - 1][self.place(node)])

    def weight(self, node: Node) -> float:
        """Return the popularity of a topic as defined in the papers: ``(Phi^(l+1) ... Phi^(L) r)_k``."""
        return float(self.popularity[node.layer - 1][self.place(node)])

    @property
    def has_pictures(self) -> bool:
        """Whether the words of its corpus are the pixels of images."""
        shape = self.image_shape
        return shape is not None and shape[0] * shape[1] == len(self.vocabulary)

    @cached_property
    def fills_tiles(self) -> bool:
        """Whether it can be drawn as tiles: it has layers to put into each other, and topics of words."""
        return self.n_layers > 1 and self.image_shape is None

    def name(self, node: Node) -> str:
        """Return the name that a user gave to a topic, or an empty text."""
        return self.labels.get(node, "")

    def list_marked(self) -> list[Node]:
        """Return the topics to which a user gave a name, a note or a tag, from the top layer down."""
        every = (node for layer in range(self.n_layers, 0, -1) for node in self.nodes(layer))
        return [node for node in every if self.name(node) or self.notes.get(node)]

    def title(self, node: Node) -> str:
        """Return the title of a topic, the same on every page, in every command and file.

        It is the name that a user gave to it, as typed, or else the words that distinguish it (its identity where words
        are pixels).  What has no room for all of it cuts it at its end (`app.views.text.shorten`, `fit_lines`).
        """
        if self.image_shape is not None:
            return self.name(node) or format_identity(node)
        return self.name(node) or titles.join_words(self.title_words(node))

    def title_words(self, node: Node) -> list[str]:
        """Return the three words shown that distinguish a topic (see `engine.hierarchy.titles.choose_titles`)."""
        return [self.vocabulary[number] for number in self.titles[node.layer - 1][self.place(node)].tolist()]

    def twin(self, node: Node) -> Node | None:
        """Return the more popular topic of which a topic is nearly the same (`engine.hierarchy.titles.find_twins`)."""
        layer, cache = node.layer, self._twins
        if layer not in cache:
            is_usual = self.trade == topics.TRADE  # then the words shown are those by which titles are chosen
            words = self.words[layer - 1][:, : titles.SHOWN] if is_usual else None
            cache[layer] = titles.find_twins(self.projections[layer - 1], self.shares[layer - 1], words)
        column = int(cache[layer][self.place(node)])
        return None if column < 0 else self.node(layer, column)

    def other_words(self, node: Node, n: int) -> list[str]:
        """Return the first ``n`` words of a topic that are not in its title; all count if a user named it."""
        title = set() if self.name(node) else set(self.title_words(node))
        first = (word.text for word in self.top_words(node, n + len(title)))
        return [word for word in first if word not in title][:n]

    def opinion(self, node: Node, label: int) -> float:
        """Return the weight of a topic for class ``label`` (from 0) minus its mean over classes."""
        return float(self.class_weights[node.layer - 1][label, self.place(node)])

    def top_words(self, node: Node, n: int = 12) -> list[TopicWord]:
        """Return the first ``n`` (at most 30) words of the topic with their weights in its projection."""
        numbers = self.words[node.layer - 1][self.place(node), :n].tolist()
        weights = self.word_weights[node.layer - 1][self.place(node), :n].tolist()
        bounds = self._find_bounds(node)
        return [
            TopicWord(self.vocabulary[number], weight, *bounds.get(number, (None, None)))
            for number, weight in zip(numbers, weights, strict=True)
        ]

    def _find_bounds(self, node: Node) -> dict[int, tuple[float, float]]:
        """Return the 90 % intervals of the weights of a topic's words, by word number."""
        if len(self.word_bounds) < node.layer:
            return {}
        words, low, high = (table[self.place(node)].tolist() for table in self.word_bounds[node.layer - 1])
        return dict(zip(words, zip(low, high, strict=True), strict=True))

    def wanders(self, node: Node) -> bool:
        """Return True if posterior draws of a topic differ so much that their mean does not represent one topic."""
        is_known = len(self.steadiness) >= node.layer
        return is_known and bool(self.steadiness[node.layer - 1][self.place(node)] < certainty.WANDERING)

    def count_runs(self, node: Node) -> int | None:
        """Return in how many runs with other seeds, and this one, a topic is found; None where it is not measured."""
        return int(self.recurrence.count_runs(node.layer)[self.place(node)]) if self.recurrence is not None else None

    def count_edge_runs(self, above: Node, below: Node, threshold: float) -> int | None:
        """Return in how many of these runs the edge between two topics is above the threshold; None as before."""
        if self.recurrence is None:
            return None
        return int(self.recurrence.count_edge_runs(above.layer, threshold)[self.place(below), self.place(above)])

    def find_certainty(self, above: Node, below: Node, threshold: float) -> EdgeCertainty | None:
        """Return the certainty of the edge between two topics; None where the snapshot does not have it."""
        tables = self._measure_edges(above.layer, threshold)
        if tables is None:
            return None
        cell = self.place(below), self.place(above)
        return EdgeCertainty(*(float(values[cell]) for values in tables))

    def measure_layer_certainty(self, layer: int, threshold: float) -> LayerCertainty | None:
        """Return the certainty of a layer; None where the snapshot does not have it."""
        if len(self.steadiness) < layer:
            return None
        live = ~topics.find_light(self.shares[layer - 1])
        steady = self.steadiness[layer - 1][live]
        edges = [edge for edge in self.edges(threshold) if edge.layer == layer]
        certainties = [self.find_certainty(edge.above, edge.below, threshold) for edge in edges]
        n_sure = sum(each is None or each.is_sure for each in certainties)
        median = float(np.median(steady)) if len(steady) else float("nan")
        return LayerCertainty(layer, int((steady < certainty.WANDERING).sum()), median, len(edges), n_sure)

    def find_mark(self, above: Node, below: Node, threshold: float) -> EdgeMark:
        """Return what speaks for the edge between two topics."""
        n_found = self.count_edge_runs(above, below, threshold) or 1
        others = 0 if self.recurrence is None else self.recurrence.n_runs - 1
        return EdgeMark(n_found - 1, others, self.find_certainty(above, below, threshold))

    def keep_sure(self, edges: Iterable[Edge], threshold: float) -> list[Edge]:
        """Return those of some edges that most runs with other seeds found, or else that are sure within the run.

        Edges of which neither is known are included.
        """
        return [edge for edge in edges if self.find_mark(edge.above, edge.below, threshold).is_sure]

    def _measure_edges(self, layer: int, threshold: float) -> tuple[NDArray[Any], ...] | None:
        """Return inclusion, low and high of all edges from a layer to the one below; None where they are not known.

        Results are cached, at most eight for each layer.
        """
        if not 2 <= layer <= len(self.edge_variances) + 1:
            return None
        key = layer, threshold
        if key not in self._certainties:
            if len(self._certainties) >= 8 * self.n_layers:
                self._certainties.clear()
            mean, variance = self.phi[layer - 1], certainty.widen_edges(self.edge_variances[layer - 2])
            inclusion = certainty.measure_inclusion(mean, variance, threshold / len(mean))
            self._certainties[key] = inclusion, *certainty.find_interval(mean, variance)
        return self._certainties[key]

    def lowered_words(self, node: Node, n: int = 12) -> list[TopicWord]:
        """Return the words that the topic makes rarer, the most affected first; an empty list where there are none."""
        table = self.lowers[node.layer - 1] if self.lowers else None
        if table is None:
            return []
        column = table[:, self.place(node)]
        order = np.argsort(-column, kind="stable")[:n].tolist()
        return [TopicWord(self.vocabulary[number], float(column[number])) for number in order if column[number] > 0]

    def children(self, node: Node, n: int = 12) -> list[Relative]:
        """Return the ``n`` topics of the layer below that weigh most in this topic; none for layer 1."""
        if node.layer == 1:
            return []
        return self._find_heaviest(self.phi[node.layer - 1][:, self.place(node)], node.layer - 1, n)

    def parents(self, node: Node, n: int = 12) -> list[Relative]:
        """Return the ``n`` topics of the layer above in which this topic weighs most; none for the top layer."""
        if node.layer == self.n_layers:
            return []
        return self._find_heaviest(self.phi[node.layer][self.place(node), :], node.layer + 1, n)

    def belongs(self, node: Node) -> list[Relative]:
        """Return the parents of a topic, each with the part of the topic's words that is in it, largest first."""
        parents = self.parents(node, max(self.widths))
        parts = [self.share(each.node) * abs(each.weight) for each in parents]
        total = sum(parts)
        found = [Relative(each.node, part / total) for each, part in zip(parents, parts, strict=True) if part > 0]
        return sorted(found, key=attrgetter("weight"), reverse=True)

    def measure_everywhere(self, layer: int, words: NDArray[Any] | slice = slice(None)) -> NDArray[np.float64]:
        """Return the share of words, by default of all, in all topics of a layer together: ``sum_k share_k w_vk``.

        With linear links this is the share that the model expects in the corpus, the same for every layer; it is the
        ``p_v`` of relevance (Sievert and Shirley, "LDAvis", ILLVI 2014).
        """
        return np.asarray(self.projections[layer - 1][words] @ self.shares[layer - 1], dtype=np.float64)

    def uses(self, node: Node, n: int = 20) -> list[UseOfTopic]:
        """Return the ``n`` (at most 20) documents that use the topic most."""
        if not self.documents:
            return []
        numbers = self.documents[node.layer - 1][self.place(node), :n].tolist()
        weights = self.document_weights[node.layer - 1][self.place(node), :n].tolist()
        return [
            UseOfTopic(int(number), float(weight))
            for number, weight in zip(numbers, weights, strict=True)
            if number >= 0
        ]

    def edges(self, threshold: float) -> list[Edge]:
        """Return the edges heavier than ``threshold / K``, K of the lower layer; cached for the last thresholds."""
        cache = self._edges
        edges = cache.get(threshold)
        if edges is None:
            if len(cache) >= 8:
                cache.clear()
            edges = cache[threshold] = self._number_edges(find_edges(self.phi, threshold))
        return edges

    def heaviest_edges(self, cover: float, least: int, most: int, direction: Direction = "down") -> list[Edge]:
        """Return the edges to the heaviest children that together cover a part of their parent.

        Background topics are left out (`engine.hierarchy.tree.find_heaviest_edges`); cached for the last arguments.
        """
        cache, key = self._heaviest_edges, (cover, least, most, direction)
        if key not in cache:
            if len(cache) >= 8:
                cache.clear()
            apart = [np.array([role == BACKGROUND for role in roles], dtype=bool) for roles in self.roles]
            found = find_heaviest_edges(self.phi, cover, least, most, direction, apart=apart)
            cache[key] = self._number_edges(found)
        return cache[key]

    def _number_edges(self, edges: list[Edge]) -> list[Edge]:
        """Replace the columns of edges by the lasting numbers of their topics.

        The order of the edges stays right because columns are in the order of the numbers.
        """
        if not self._pruned:
            return edges
        numbers = [names.tolist() for names in self.names]
        return [
            Edge(edge.layer, numbers[edge.layer - 1][edge.parent], numbers[edge.layer - 2][edge.child], edge.weight)
            for edge in edges
        ]

    def _nodes_in(self, layer: int, columns: NDArray[Any]) -> list[Node]:
        """Return the topics in columns of Phi^(layer)."""
        names = self.names[layer - 1][columns] if self.names else columns
        return [Node(layer, name) for name in names.tolist()]

    def _find_heaviest(self, weights: NDArray[Any], layer: int, n: int) -> list[Relative]:
        """Return the ``n`` topics of a layer with the largest absolute weights, leaving out weights of 0."""
        columns = np.argsort(-np.abs(weights), kind="stable")[:n]
        pairs = zip(self._nodes_in(layer, columns), weights[columns].tolist(), strict=True)
        return [Relative(node, weight) for node, weight in pairs if weight != 0]

    @cached_property
    def _pruned(self) -> bool:
        """True if any topic is not in its original column."""
        return any((names != np.arange(len(names))).any() for names in self.names)

    @cached_property
    def _places(self) -> tuple[dict[int, int], ...]:
        """The present column of every topic by its original column, for each layer."""
        names = self.names or [np.arange(width) for width in self.widths]
        return tuple({name: column for column, name in enumerate(layer.tolist())} for layer in names)

    @cached_property
    def _twins(self) -> dict[int, NDArray[Any]]:
        """The cache of `twin`: the column of the twin of every topic, -1 without one, by layer."""
        return {}

    @cached_property
    def _edges(self) -> dict[float, list[Edge]]:
        """The cache of `edges`, by threshold."""
        return {}

    @cached_property
    def _heaviest_edges(self) -> dict[tuple[float, int, int, Direction], list[Edge]]:
        """The cache of `heaviest_edges`, by its arguments."""
        return {}

    @cached_property
    def _certainties(self) -> dict[tuple[int, float], tuple[NDArray[Any], ...]]:
        """The cache of `_measure_edges`, by layer and threshold."""
        return {}


def select_words(
    projected: Sequence[NDArray[Any]], parts: Sequence[NDArray[Any]], trade: float = topics.TRADE
) -> tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]:
    """Return the most relevant words of every topic and their weights; ``trade`` as in :attr:`Hierarchy.trade`."""
    selected = [topics.find_relevant_words(*pair, KEPT_WORDS, trade) for pair in zip(projected, parts, strict=True)]
    words, weights = zip(*selected, strict=True)
    return words, weights


def format_identity(node: Node) -> str:
    """Return the identity of a topic, the same in all snapshots: ``L3:17`` began as column 16 of Phi^(3)."""
    return f"L{node.layer}:{node.column + 1}"


def parse_identity(text: str) -> Node | None:
    """Return the topic of an identity such as ``L3:17``; None when the text is not one."""
    match = re.fullmatch(IDENTITY, text.strip())
    return Node(int(match[1]), int(match[2]) - 1) if match else None


def parse_identities(texts: Iterable[str]) -> list[Node]:
    """Return the topics of identities, leaving out texts that are not one."""
    return [node for text in texts if (node := parse_identity(text)) is not None]


def measure_coherence(hierarchy: Hierarchy) -> tuple[Coherence, ...]:
    """Return the coherence of every layer, layer 1 first; empty where the snapshot has no NPMI."""
    return tuple(
        Coherence(live=~topics.find_light(parts), words=words[:, :WORDS], npmi=npmi)
        for parts, words, npmi in zip(hierarchy.shares, hierarchy.words, hierarchy.npmi, strict=False)
    )
