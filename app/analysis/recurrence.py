"""What comes back with other seeds: the runs that differ from one run in their seed alone, and what they share.

Marks of two kinds must not be mixed.  Intervals, sure edges and wandering topics (`engine.hierarchy.certainty`) come
from the samples of one chain and say how far it still moves.  What is here comes from several chains with other random
numbers, and says whether another analyst would have found the same topics.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.comparison import Comparison, compare
from topiary.app.analysis.hierarchy import PRINTED_WORDS, Hierarchy
from topiary.app.analysis.seeds import find_nearest_snapshot, find_other_seeds, list_seed_runs
from topiary.app.jobs import launcher
from topiary.engine.contract import Topics
from topiary.engine.hierarchy.align import Recurrence, SeedTopics, count_most, measure_recurrence
from topiary.engine.hierarchy.tree import Node
from topiary.store import points
from topiary.store.database import Database
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

MOST_SEEDS = 20  # runs that are compared at most, the reference among them
MOST_BYTES = 1_000_000_000  # of the hierarchies that are compared at the same time
_UNFINISHED = ("queued", "running", "paused", "silent")  # states of runs that can still get a snapshot

Compare: TypeAlias = Callable[[Hierarchy, Hierarchy], Comparison]


class SeedGroup(NamedTuple):
    """The runs that differ from a reference run in their seed alone, one for each seed.

    Attributes
    ----------
    ready : tuple of (RunRow, SnapshotRow)
        Runs with a snapshot that is trained as long as that of the reference, in the order of their numbers.
    waiting : tuple of RunRow
        Runs that may still get one.
    absent : tuple of RunRow
        Runs that ended without one.
    left_out : int
        Number of further runs, which are not read because there are too many.
    """

    reference: RunRow
    ready: tuple[tuple[RunRow, SnapshotRow], ...] = ()
    waiting: tuple[RunRow, ...] = ()
    absent: tuple[RunRow, ...] = ()
    left_out: int = 0

    @property
    def n_others(self) -> int:
        """The number of other runs, whether they can be read or not."""
        return len(self.ready) + len(self.waiting) + len(self.absent) + self.left_out

    @property
    def snapshots(self) -> tuple[int, ...]:
        """The numbers of the snapshots that are compared with the reference."""
        return tuple(snapshot.number for _, snapshot in self.ready)


def find_seed_groups(everyone: Sequence[RunRow]) -> set[int]:
    """Return the numbers of the runs that were created together with one that differs from them in the seed alone."""
    groups: dict[int, list[RunRow]] = {}
    for row in everyone:
        if row.run_group is not None:
            groups.setdefault(row.run_group, []).append(row)
    return {row.number for rows in groups.values() for row in rows if find_other_seeds(row, rows)}


def find_seed_group(
    db: Database,
    run: RunRow,
    minibatch: int,
    everyone: Iterable[RunRow],
    find_state: Callable[[RunRow], str] = launcher.find_state,
    most: int = MOST_SEEDS,
) -> SeedGroup:
    """Find the runs with other seeds and their snapshots nearest to a mini-batch; this waits for the store.

    Parameters
    ----------
    run : RunRow
        The reference.
    minibatch : int
        Mini-batch of its snapshot.
    everyone : iterable of RunRow
        All runs of the store.
    find_state : (row) -> str
        The state to show for a run.
    most : int
        Most runs to compare, the reference among them (`choose_most_seeds`).
    """
    others = list_seed_runs(run, everyone)
    ready: list[tuple[RunRow, SnapshotRow]] = []
    waiting: list[RunRow] = []
    absent: list[RunRow] = []
    for row in others[: most - 1]:
        snapshot = find_nearest_snapshot(db, row.number, minibatch)
        if snapshot is not None:
            ready.append((row, snapshot))
        else:
            (waiting if find_state(row) in _UNFINISHED else absent).append(row)
    return SeedGroup(run, tuple(ready), tuple(waiting), tuple(absent), max(0, len(others) - most + 1))


def choose_most_seeds(hierarchy: Hierarchy) -> int:
    """Return how many hierarchies of this size may be compared at the same time, 3 to ``MOST_SEEDS``."""
    size = sum(table.nbytes for table in (*hierarchy.projections, *hierarchy.phi[1:]))
    return max(3, min(MOST_SEEDS, MOST_BYTES // max(1, size)))


def measure_group(reference: Hierarchy, others: Sequence[Hierarchy], match: Compare = compare) -> Recurrence:
    """Measure what of a hierarchy comes back in others of the same corpus; takes a second for each large one.

    Parameters
    ----------
    match : (reference, other) -> Comparison
        Matches the topics of two hierarchies, such as a cache of comparisons.
    """
    alignments = [match(reference, other).alignment for other in others]
    return measure_recurrence(_list_topics(reference), [_list_topics(other) for other in others], alignments)


def _list_topics(hierarchy: Hierarchy) -> SeedTopics:
    """Return the topics of a hierarchy as pages show them."""
    topics = Topics(hierarchy.phi, hierarchy.r, popularity=hierarchy.popularity)
    return SeedTopics(topics, hierarchy.projections, tuple(words[:, :PRINTED_WORDS] for words in hierarchy.words))


class LayerRecurrence(NamedTuple):
    """What of a layer comes back, leaving out light topics in the counts.

    Attributes
    ----------
    agreement : float
        Share of the layer that lies in topics found in another run, adjusted for chance, the mean over the other runs.
    topics, topics_in_most : int
        Number of topics that are not light, and of those among them that at least 80 % of the other runs found.
    edges, edges_in_most : int
        Number of edges to the layer below that are above the threshold, and of those that as many runs found.
    edge_agreement : float
        Overlap of the parents of a topic of the layer below with those of its partner in another run, adjusted for
        chance, the mean over the other runs; nan for layer 1.
    """

    layer: int
    agreement: float
    topics: int
    topics_in_most: int
    edges: int
    edges_in_most: int
    edge_agreement: float


def summarize_layer(hierarchy: Hierarchy, recurrence: Recurrence, layer: int, threshold: float) -> LayerRecurrence:
    """Return what of a layer comes back, with the edges above ``threshold / K`` of the layer below."""
    nodes = [node for node in hierarchy.nodes(layer) if node not in hierarchy.light]
    counts = recurrence.count_runs(layer)
    least = 1 + count_most(recurrence.n_runs - 1)
    edges = recurrence.count_edge_runs(layer, threshold) if layer > 1 else None
    return LayerRecurrence(
        layer,
        recurrence.measure_agreement(layer),
        len(nodes),
        sum(int(counts[hierarchy.place(node)]) >= least for node in nodes),
        0 if edges is None else int((edges > 0).sum()),
        0 if edges is None else int((edges >= least).sum()),
        float("nan") if edges is None else recurrence.measure_edge_agreement(layer),
    )


class ConsensusTerm(NamedTuple):
    """A word that is shown of a topic in most runs that have it: in how many, and its mean probability there."""

    text: str
    runs: int
    probability: float


def list_consensus(hierarchy: Hierarchy, recurrence: Recurrence, node: Node) -> list[ConsensusTerm]:
    """Return the words of a topic that are shown in most of the runs that have it, those of most runs first."""
    words = recurrence.consensus[node.layer - 1][hierarchy.place(node)]
    return [ConsensusTerm(hierarchy.vocabulary[each.word], each.runs, each.probability) for each in words]


def list_recurrent(hierarchy: Hierarchy, recurrence: Recurrence, layer: int) -> list[Node]:
    """Return the topics of a layer that are not light, those found in most runs first, then the most popular."""
    counts = recurrence.count_runs(layer)
    nodes = [node for node in hierarchy.nodes(layer) if node not in hierarchy.light]
    return sorted(nodes, key=lambda node: -int(counts[hierarchy.place(node)]))


def list_seed_edges(
    hierarchy: Hierarchy, recurrence: Recurrence, node: Node, threshold: float
) -> list[tuple[Node, int]]:
    """Return the children of a topic above the threshold and in how many runs each edge is found, heaviest first."""
    if node.layer == 1:
        return []
    counts = recurrence.count_edge_runs(node.layer, threshold)[:, hierarchy.place(node)]
    children = [relative.node for relative in hierarchy.children(node, len(counts))]
    pairs = [(child, int(counts[hierarchy.place(child)])) for child in children]
    return [(child, count) for child, count in pairs if count]


LIKELIHOOD, TOTAL, ACTIVE, ENTROPY = "log likelihood", "sum of r", "topics in use", "entropy of shares"
MIXED = 1.01  # R-hat below which chains count as mixed (Vehtari et al. 2021)
CLEARLY_APART = 1.1  # R-hat above which even few draws say that chains are not mixed
LEAST_DRAWS = 10  # of each chain; fewer say nothing
ENOUGH_DRAWS = 50  # of each chain, and as many effective ones: with fewer, R-hat is below 1.01 or not by chance
APART = "not mixed"
_MOST_POINTS = 4000  # of a curve; every point of a run is read
_CURVES = {LIKELIHOOD: ("heldout_loglik", "point_perplexity"), TOTAL: ("r_sum",), ACTIVE: ("active_topics",),
           ENTROPY: ("share_entropy",)}  # fmt: skip
_OF_LAYERS = (ACTIVE, ENTROPY)


class MixingFigure(NamedTuple):
    """How well several chains agree in one number.

    Attributes
    ----------
    name : str
        One of `LIKELIHOOD`, `TOTAL`, `ACTIVE`, `ENTROPY`.
    layer : int
        0 for a number of the whole model.
    chains, draws : int
        Number of chains that have the number, and of draws of each that are used.
    rhat : float
        Rank-normalised split R-hat (Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
        localization", Bayesian Analysis 2021); nan where there are too few draws, or they are all equal.
    ess : float
        Bulk effective sample size of all chains together, from the same paper; nan likewise.
    constant : bool
        True if all draws of all chains are equal.
    """

    name: str
    layer: int
    chains: int
    draws: int
    rhat: float
    ess: float
    constant: bool = False

    @property
    def verdict(self) -> str:
        """What the figure says in words: ``mixed``, ``not mixed``, or that it says nothing, and why."""
        if self.constant:
            return "the same at every draw of every run"
        if self.chains < 2:
            return "not known: fewer than two runs have it"
        if not math.isfinite(self.rhat):
            return f"not known: {self.draws} draws of each run, {LEAST_DRAWS} are needed"
        if self.rhat > (MIXED if self.draws >= ENOUGH_DRAWS else CLEARLY_APART):
            return APART
        is_enough = self.draws >= ENOUGH_DRAWS and self.ess >= ENOUGH_DRAWS * self.chains
        return "mixed" if is_enough else "too few draws to tell"


def measure_mixing(db: Database, runs: Sequence[int], n_layers: int, until: int) -> list[MixingFigure]:
    """Return the figures of runs that differ in the seed alone, from the second half of the steps that all have.

    The points of two runs need not be of the same steps: as many are taken of each, evenly spread.

    Parameters
    ----------
    runs : sequence of int
        The numbers of the runs; those without a curve do not take part in its figures.
    until : int
        The last step that is used.
    """
    layers = {name: range(1, n_layers + 1) if name in _OF_LAYERS else (0,) for name in _CURVES}
    return [
        _measure_curve(name, layer, _read_chains(db, runs, curves, layer, until))
        for name, curves in _CURVES.items()
        for layer in layers[name]
    ]


def diagnose_chains(draws: NDArray[np.float64]) -> tuple[float, float]:
    """Return rank-normalised R-hat and bulk ESS of draws (chains, n); nan where they are too few or all equal."""
    if draws.shape[0] < 2 or draws.shape[1] < LEAST_DRAWS or np.ptp(draws) == 0.0:
        return math.nan, math.nan
    from arviz_stats.base.array import array_stats  # loaded here, as only this needs it

    rhat = array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank")
    return float(rhat), float(array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk"))


def _read_chains(
    db: Database, runs: Sequence[int], curves: Sequence[str], layer: int, until: int
) -> list[dict[int, float]]:
    """Return the values of the first of the ``curves`` that any run has, by step, for each run that has it."""
    for curve in curves:
        series = [points.read_series(db, run, curve, layer, _MOST_POINTS) for run in runs]
        chains = [
            {
                step: value
                for step, value in zip(each.minibatch.tolist(), each.value.tolist(), strict=True)
                if step <= until and math.isfinite(value)
            }
            for each in series
        ]
        if any(chains):
            is_perplexity = curve == "point_perplexity"
            return [
                {step: -math.log(value) for step, value in chain.items() if value > 0} if is_perplexity else chain
                for chain in chains
                if chain
            ]
    return []


def _measure_curve(name: str, layer: int, chains: Sequence[dict[int, float]]) -> MixingFigure:
    """Return the figure of chains of values by step."""
    end = min((max(chain) for chain in chains), default=0)
    late = [[chain[step] for step in sorted(chain) if end / 2 < step <= end] for chain in chains]
    n_draws = min(map(len, late), default=0)
    places = [np.linspace(0, len(each) - 1, n_draws).round().astype(int) for each in late]
    draws = np.array([np.array(each)[chosen] for each, chosen in zip(late, places, strict=True)], dtype=np.float64)
    draws = draws.reshape(len(chains), n_draws)
    rhat, ess = diagnose_chains(draws)
    constant = draws.size > 0 and bool(np.ptp(draws) == 0.0)
    return MixingFigure(name, layer, len(chains), n_draws, rhat, ess, constant)
