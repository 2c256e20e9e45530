"""Runs that differ only in their seed: the baseline for differences between models, and what comes back in them.

Marks of two kinds must not be mixed.  Intervals, sure edges and wandering topics (`engine.hierarchy.certainty`) come
from the samples of one chain and say how far it still moves.  What comes back in several chains with other random
numbers says whether another analyst would have found the same topics.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, zip_longest
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.comparison import Agreement, Comparison, compare, find_edge_changes, measure_agreement
from topiary.app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, measure_coherence
from topiary.app.jobs.estimates import Estimate, list_estimates
from topiary.app.jobs.process import find_state
from topiary.app.names import UNFINISHED
from topiary.engine.contract import Topics
from topiary.engine.hierarchy.align import NONE, Recurrence, SeedTopics, TopicPair, count_most, measure_recurrence
from topiary.engine.hierarchy.tree import Node
from topiary.engine.quality.measures import Coherence
from topiary.store import notes, points, snapshots
from topiary.store.database import Database
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

ROUNDING_TOLERANCE = 0.005  # values are shown with two decimals, so smaller differences are not visible
FLOOR_QUANTILE = 0.05  # the floor of a layer is this quantile of the scores of its topic pairs between seeds
# The coherence measures that are compared between seeds, in the order of `SeedSpread.gaps`.
COHERENCE_MEASURES: tuple[Callable[[Coherence], float], ...] = (
    lambda each: each.mean_npmi,
    lambda each: each.worst_tenth,
    lambda each: each.diversity,
)
MEASURE_NAMES = ("NPMI", "worst tenth of NPMI", "diversity")
Value = TypeVar("Value")
MOST_SEEDS = 20  # runs that are compared at most, the reference among them
MOST_BYTES = 1_000_000_000  # of the hierarchies that are compared at the same time

Compare: TypeAlias = Callable[[Hierarchy, Hierarchy], Comparison]


class Range(NamedTuple):
    """The lowest and the highest value of a measure over pairs of seeds."""

    low: float
    high: float


class SeedSpread(NamedTuple):
    """The agreement of runs that differ only in their seed, summarised over pairs of such runs.

    Attributes
    ----------
    pairs : int
        The number of pairs of runs.
    scores, matched : tuples of Range or None
        Ranges of the fields of `app.analysis.comparison.Agreement` for each layer.
    edges, correlation : Range or None
        Ranges of its fields for all layers together.
    floors : tuple of float
        For each layer, the 5 % quantile (`FLOOR_QUANTILE`) of the scores of topic pairs; nan without pairs.
    gaps : tuple of (float, float, float)
        For each layer, the largest differences of the `COHERENCE_MEASURES`; nan where not known.
    """

    pairs: int
    scores: tuple[Range | None, ...]
    matched: tuple[Range | None, ...]
    edges: Range | None
    correlation: Range | None
    floors: tuple[float, ...]
    gaps: tuple[tuple[float, float, float], ...]


UNKNOWN_SPREAD = SeedSpread(0, (), (), None, None, (), ())


def measure_seed_spread(comparisons: Sequence[Comparison], threshold: float) -> SeedSpread | None:
    """Summarise comparisons of runs that differ only in their seed; None without comparisons.

    Parameters
    ----------
    threshold : float
        Edges above ``threshold / K`` are compared.
    """
    if not comparisons:
        return None
    agreements = [measure_agreement(each, find_edge_changes(each, threshold)) for each in comparisons]
    layers = range(max(len(each.scores) for each in agreements))
    return SeedSpread(
        len(comparisons),
        tuple(_find_range(each.scores[index] for each in agreements if index < len(each.scores)) for index in layers),
        tuple(_find_range(each.matched[index] for each in agreements if index < len(each.matched)) for index in layers),
        _find_range(each.edges for each in agreements),
        _find_range(each.correlation for each in agreements),
        tuple(_find_floor(comparisons, index + 1) for index in layers),
        tuple(_measure_gaps(comparisons, index) for index in layers),
    )


class SeedExcess(NamedTuple):
    """A figure by which two runs differ by more than two seeds of one model do.

    Attributes
    ----------
    value : float
        The figure, or its difference between the two runs.
    usual : Range
        The values between two seeds; for a difference, from 0 to the largest.
    is_difference : bool
        Whether it is a difference between the two runs, not a measure of how alike they are.
    """

    name: str
    value: float
    usual: Range
    is_difference: bool = False


def count_excesses(
    comparison: Comparison, agreement: Agreement, spread: SeedSpread, estimate_pair: "EstimatePair | None" = None
) -> tuple[list[SeedExcess], int]:
    """Return the figures beyond what two seeds reach, and the number of figures that can be compared with seeds.

    The figures are the likeness of every layer, the edges kept and their weights, the measures of coherence of every
    layer of runs on one corpus, and the perplexity (``estimate_pair``).
    """
    low = [
        *((f"likeness of layer {place + 1}", score, get_layer_value(spread.scores, place))
          for place, score in enumerate(agreement.scores)),
        ("edges kept", agreement.edges, spread.edges),
        ("edge weights", agreement.correlation, spread.correlation),
    ]  # fmt: skip
    found = [(SeedExcess(name, value, usual), is_below_range(value, usual)) for name, value, usual in low
             if usual is not None and math.isfinite(value)]  # fmt: skip
    if comparison.a.corpus == comparison.b.corpus:
        found += _judge_coherence(comparison, spread)
    if estimate_pair is not None and estimate_pair.gap is not None:
        seed_range = Range(0.0, estimate_pair.gap)
        excess = SeedExcess(estimate_pair.a.name, estimate_pair.difference, seed_range, is_difference=True)
        found.append((excess, estimate_pair.exceeds_seeds))
    return [each for each, beyond in found if beyond], len(found)


def _judge_coherence(comparison: Comparison, spread: SeedSpread) -> list[tuple[SeedExcess, bool]]:
    """Return the differences of the measures of coherence, and whether each is larger than between two seeds."""
    pairs = zip(measure_coherence(comparison.a), measure_coherence(comparison.b), spread.gaps, strict=False)
    return [
        (SeedExcess(f"{name} of layer {layer}", difference, Range(0.0, gap), is_difference=True), difference > gap)
        for layer, (a, b, gaps) in enumerate(pairs, start=1)
        for name, measure, gap in zip(MEASURE_NAMES, COHERENCE_MEASURES, gaps, strict=True)
        if math.isfinite(gap) and math.isfinite(difference := abs(measure(a) - measure(b)))
    ]


def is_below_range(value: float, usual: Range | None) -> bool:
    """Return True if a figure is lower than the lowest that two seeds reach; False where either is unknown."""
    return usual is not None and math.isfinite(value) and value < usual.low - ROUNDING_TOLERANCE


def get_layer_value(values: Sequence[Value], index: int) -> Value | None:
    """Return the value of the layer with an index, counted from 0; None for a layer without a value."""
    return values[index] if index < len(values) else None


def _find_range(values: Iterable[float]) -> Range | None:
    """Return the range of the finite values; None if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return Range(min(finite), max(finite)) if finite else None


def _find_floor(comparisons: Sequence[Comparison], layer: int) -> float:
    """Return the 5 % quantile of the scores of the topic pairs of a layer; nan without pairs."""
    scores = [pair.score for each in comparisons for pair in each.pairs if pair.layer == layer and pair.paired]
    return float(np.quantile(scores, FLOOR_QUANTILE)) if scores else float("nan")


def _measure_gaps(comparisons: Sequence[Comparison], index: int) -> tuple[float, float, float]:
    """Return the largest difference of each of the `COHERENCE_MEASURES` in the layer with an index, counted from 0."""
    gaps = np.full((len(comparisons), len(COHERENCE_MEASURES)), np.nan)
    for row, each in enumerate(comparisons):
        a, b = measure_coherence(each.a), measure_coherence(each.b)
        if index < min(len(a), len(b)):
            gaps[row] = [abs(measure(a[index]) - measure(b[index])) for measure in COHERENCE_MEASURES]
    finite = [column[np.isfinite(column)] for column in gaps.T]
    npmi, worst, diversity = (float(column.max()) if len(column) else float("nan") for column in finite)
    return npmi, worst, diversity


ReadLatestValues = Callable[[int], Mapping[str, float | None]]  # from a run number to the newest values of its curves


class EstimatePair(NamedTuple):
    """The values of one estimate for two runs, and how much that estimate differs between seeds.

    Attributes
    ----------
    gap : float or None
        The largest difference of that estimate between two seeds of one model; None without such pairs of runs.
    """

    a: Estimate
    b: Estimate
    gap: float | None

    @property
    def difference(self) -> float:
        """The difference between the two runs."""
        return abs(self.a.value - self.b.value)

    @property
    def exceeds_seeds(self) -> bool:
        """Return True if the runs differ by more than two seeds of one model do; False where that is unknown."""
        return self.gap is not None and self.difference > self.gap


def compare_estimates(
    a: RunRow, b: RunRow, seeds: Iterable[tuple[RunRow, RunRow]], read_latest_values: ReadLatestValues
) -> EstimatePair | None:
    """Compare the best estimate that two runs have in common, and find how much it differs between seeds.

    Return None if the runs have no estimate in common, which those on different corpora never have.

    Parameters
    ----------
    seeds : iterable of (RunRow, RunRow)
        Pairs of runs that differ only in their seed.
    read_latest_values : (run number) -> mapping
        Returns the newest value of each of the curves that `app.jobs.estimates` reads, by name.
    """

    def list_by_name(run: RunRow) -> dict[str, Estimate]:
        return {each.name: each for each in list_estimates(run, read_latest_values(run.number))}

    first, second = list_by_name(a), list_by_name(b)
    # The best estimate comes first; within a corpus, estimates of the same name are on the same documents.
    name = next((each for each in first if each in second), None) if a.corpus_name == b.corpus_name else None
    if name is None:
        return None
    estimates = ((list_by_name(one), list_by_name(two)) for one, two in seeds)
    gaps = [abs(one[name].value - two[name].value) for one, two in estimates if name in one and name in two]
    return EstimatePair(first[name], second[name], max(gaps, default=None))


CHANCE = "These two runs differ only in their seed, so every difference here is chance."
NO_OTHER_SEED = (
    "To learn how much another seed would change, train run {} once more with another seed (the same settings, corpus "
    "and number of steps)."
)


def describe_seeds(pairs: Sequence[str], run: int, *, alone: bool) -> str:
    """Return a sentence about the pairs of seeds that serve as baseline, or about how to get one.

    Parameters
    ----------
    pairs : sequence of str
        The numbers of the runs of each pair, such as "3 and 4".
    run : int
        The run to train with another seed, if there is none yet.
    alone : bool
        Whether the two runs on screen differ only in their seed.
    """
    if alone:
        other_pairs = (
            f" Other pairs of seeds, runs {'; '.join(pairs)}, are listed next to the figures." if pairs else ""
        )
        return f"{CHANCE}{other_pairs}"
    if not pairs:
        return NO_OTHER_SEED.format(run)
    subject = "runs that differ" if len(pairs) == 1 else f"{len(pairs)} pairs of runs that differ"
    return f"Two seeds of one model: {subject} in nothing but the seed, {'; '.join(pairs)}."


class SeedBaseline(NamedTuple):
    """Pairs of runs that differ only in their seed, which show the effect of chance; a sentence if there are none.

    ``estimate_pair`` compares how well the two runs compared predict held-out words, and with these pairs.
    """

    comparisons: Sequence[Comparison] = ()
    sentence: str = ""
    estimate_pair: EstimatePair | None = None


MOST = 6  # pairs of seeds that are compared at most
NEAR = 1.5  # two runs are comparable if their numbers of mini-batches differ at most by this factor


def choose_partner(run: RunRow, everyone: Iterable[RunRow]) -> RunRow | None:
    """Return the run to compare a run with; None when there is no other.

    It is the run that this one was forked from, else the latest other run on its corpus, else the latest other run.
    """
    others = sorted((row for row in everyone if row.number != run.number), key=lambda row: -row.number)
    return next(
        (row for row in others if row.number == run.parent),
        next((row for row in others if row.corpus == run.corpus), others[0] if others else None),
    )


def differ_only_in_seed(one: RunRow, two: RunRow) -> bool:
    """Return True if two runs differ only in their seed and do not descend from a common run by forking.

    Their widths may differ if they are learned, or while one of a group has not tried its widths yet.  Their numbers of
    mini-batches are ignored, see `are_equally_trained`.
    """
    return (
        one.seed != two.seed
        and one.family != two.family
        and (one.corpus, one.model, one.inference) == (two.corpus, two.model, two.inference)
        and (one.settings == two.settings or _will_have_same_settings(one, two))
    )


def _will_have_same_settings(one: RunRow, two: RunRow) -> bool:
    """Return True if two runs of a group differ only in widths that one of them has not tried yet.

    The trials do not depend on the seed (`app.jobs.training`), so both end with the same widths.
    """
    undecided = any(run.options.get("tries_widths") for run in (one, two))
    if not undecided or one.run_group is None or one.run_group != two.run_group:
        return False
    return {**one.settings, "layers": None} == {**two.settings, "layers": None}


def are_equally_trained(minibatch: int, other: int) -> bool:
    """Return True if two numbers of mini-batches are similar enough for their runs to serve as a baseline."""
    return max(minibatch, other) <= NEAR * max(1, min(minibatch, other))


def find_nearest_snapshot(db: Database, run: int, minibatch: int) -> SnapshotRow | None:
    """Return the snapshot of a run nearest to a mini-batch; None if none is near enough (`are_equally_trained`)."""
    rows = snapshots.list_snapshots(db, run)
    row = min(rows, key=lambda snapshot: abs(snapshot.minibatch - minibatch), default=None)
    return row if row is not None and are_equally_trained(row.minibatch, minibatch) else None


def find_other_seeds(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Return the runs that differ from this one only in their seed, latest first."""
    runs = [row for row in everyone if row.number != run.number and differ_only_in_seed(run, row)]
    return sorted(runs, key=lambda row: -row.number)


def list_seed_runs(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Return the runs that differ from a run in their seed alone, by number; of equal seeds the latest one."""
    by_seed: dict[int, RunRow] = {}
    for row in find_other_seeds(run, everyone):  # the latest first
        by_seed.setdefault(row.seed, row)
    return sorted(by_seed.values(), key=lambda row: row.number)


def list_seed_pairs(one: RunRow, two: RunRow, everyone: Iterable[RunRow]) -> list[tuple[RunRow, RunRow]]:
    """Return at most `MOST` pairs of runs that differ only in their seed, each with the settings of one of two runs.

    Pairs of either run with another one come first, alternating between the two runs, then pairs of these others.
    The pair of the two runs themselves is left out.
    """
    everyone = tuple(everyone)
    twins = [[row for row in find_other_seeds(run, everyone) if row.number not in (one.number, two.number)]
             for run in (two, one)]  # fmt: skip
    own_pairs = [[(run, twin) for twin in others] for run, others in zip((two, one), twins, strict=True)]
    in_turn = [pair for both in zip_longest(*own_pairs) for pair in both if pair is not None]
    further = [pair for others in twins for pair in combinations(others, 2)]
    return _remove_duplicates([*in_turn, *further])[:MOST]


def _remove_duplicates(pairs: Iterable[tuple[RunRow, RunRow]]) -> list[tuple[RunRow, RunRow]]:
    """Return every pair once; the order of its two runs does not matter."""
    return list({frozenset((first.number, second.number)): (first, second) for first, second in pairs}.values())


def list_decisions(db: Database, run_a: int, run_b: int) -> frozenset[TopicPair]:
    """Return the analysts' decisions about two runs; topics are counted from 0, and a missing partner is `NONE`."""
    return frozenset(
        TopicPair(each.layer, _to_column(each.a), _to_column(each.b)) for each in notes.list_matches(db, run_a, run_b)
    )


def _to_column(topic: int) -> int:
    return topic - 1 if topic > 0 else NONE


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
    find_state: Callable[[RunRow], str] = find_state,
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
            (waiting if find_state(row) in (*UNFINISHED, "silent") else absent).append(row)
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
