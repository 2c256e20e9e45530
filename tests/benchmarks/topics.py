"""Quality of topics by time: Topiary with its defaults and its peers, on the same documents and words.

Every method is judged when its training has taken as long as each budget; judging is not timed.  All are judged alike:
by the perplexity of held-out tokens of test documents, inferred with fixed topics by local chains of the same length,
and by the measures of :mod:`engine.quality`.
"""

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from tests.benchmarks.commands import read_budgets, read_choices, run_benchmark
from tests.benchmarks.files import replace_file
from tests.benchmarks.peers import PEERS
from topiary.app.cli.console import Parser, UserError, read_seed_list, say, threads
from topiary.app.ingest.importing import seed_validation
from topiary.app.ingest.options import VALIDATION_SHARE
from topiary.app.jobs import plan as plans
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.estimates import has_settled
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.plan import RunOptions
from topiary.app.jobs.progress import Progress
from topiary.app.jobs.run_rules import SETTLING, propose_widths, tries_widths
from topiary.app.jobs.training import Training, choose_trial, try_widths
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Facts, IntArray, Kernel, Topics
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import effects, evaluate
from topiary.engine.hierarchy import topics as hierarchy
from topiary.engine.hierarchy.align import measure_parent_overlap, share_parents
from topiary.engine.hierarchy.effects import Presentation
from topiary.engine.parts import draw_validation, hash_contents
from topiary.engine.quality import measures
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_existing

OURS = "topiary"
METHODS = (OURS, *PEERS)
JUDGED_TOKENS = 200_000  # tokens in the test documents that perplexity is measured on
LABELLED = 2_000  # labelled test documents whose strongest topics are compared with the labels


@dataclass(frozen=True, kw_only=True)
class TopicsSetup:
    """Settings that all methods share: widths of the layers (peers use the first), budgets in seconds, threads.

    The budget infinity is the time after which a default run of Topiary ends.
    """

    layers: tuple[int, ...]
    budgets: tuple[float, ...]
    threads: int


class TopicsRow(NamedTuple):
    """One layer of one method after one budget.

    Attributes
    ----------
    method, corpus : str
    seed : int
    budget : float
        Seconds allowed; infinity: until Topiary ends by itself, and as long for the others.
    seconds : float
        Seconds taken; more than the budget where the first result came later.
    steps : int
    perplexity : float
        Perplexity of held-out tokens; nan for a method without a probability model of documents.
    layer, topics, live : int
        The layer, its number of topics, and of those that hold at least 0.1 % of the tokens.
    npmi, worst, diversity : float
        Document NPMI of the ten heaviest words in training documents, averaged over live topics and over their worst
        tenth, and the share of these words that are distinct.
    held_out : float
        Mean NPMI in test documents.
    affinity : float
        Mean cosine of topics with their children minus that with other topics of the layer below; nan for layer 1.
    nmi : float
        Normalised mutual information of the strongest topics of documents and their labels; nan without labels.
    shown_npmi, shown_worst, shown_diversity : float
        The same as ``npmi``, ``worst`` and ``diversity`` for the words that Topiary shows, chosen by relevance.
    largest : float
        Share of the tokens in the largest topic.
    edges : float
        How much of the parents of the topics of the layer below other seeds find again, adjusted for chance, after the
        last budget (see `measure_edge_agreement`); nan for layer 1 and for a single seed.
    """

    method: str
    corpus: str
    seed: int
    budget: float
    seconds: float
    steps: int
    perplexity: float
    layer: int
    topics: int
    live: int
    npmi: float
    worst: float
    diversity: float
    held_out: float
    affinity: float
    nmi: float
    shown_npmi: float
    shown_worst: float
    shown_diversity: float
    largest: float
    edges: float = math.nan


class MethodState(NamedTuple):
    """The topics of a method at one moment, and the kernel and state with which its perplexity is measured."""

    seconds: float
    steps: int
    topics: Topics
    kernel: Kernel | None
    state: Any


def measure_method(
    name: str, corpus: Corpus, method: str, seeds: Sequence[int], setup: TopicsSetup, end: float | None = None
) -> Iterator[TopicsRow]:
    """Yield the rows of one method on one corpus for one seed after the other, by budget and layer.

    ``end`` is the number of seconds that a peer has for the budget infinity, because peers do not end by themselves.
    """
    corpus = add_validation(corpus)
    last_rows, hierarchies = list[TopicsRow](), list[Presentation]()
    for seed in seeds:
        states = _train_ours(corpus, seed, setup) if method == OURS else _train_peer(corpus, method, seed, setup)
        judge = TopicsJudge(corpus, seed)
        limits = sorted((end if end and math.isinf(budget) else budget, budget) for budget in setup.budgets)
        picked = _pick_states(states, [limit for limit, _ in limits])
        for (_, budget), (_, state) in zip(limits, picked, strict=True):
            presentation = effects.present_hierarchy(state.topics)
            figures = judge.list_figures(state, presentation)
            rows = [TopicsRow(method, name, seed, budget, state.seconds, state.steps, **each) for each in figures]
            if budget == max(setup.budgets):
                last_rows += rows
                hierarchies.append(presentation)
            else:
                yield from rows
    agreement = measure_edge_agreement(hierarchies)
    for row in last_rows:
        yield row._replace(edges=agreement[row.layer - 2]) if row.layer > 1 and agreement else row


def measure_edge_agreement(hierarchies: Sequence[Presentation]) -> list[float]:
    """Return for layers 2 ... L how much of the parents of a topic another seed finds again, adjusted for chance.

    The topics of two hierarchies are paired layer by layer by the optimal assignment of their words (Bhattacharyya
    coefficient).  The overlap (:func:`engine.hierarchy.align.measure_parent_overlap`) is averaged over all ordered
    pairs of hierarchies.  Empty for fewer than two hierarchies.
    """
    pairs = [_measure_edge_overlap(a, b) for a, b in itertools.permutations(hierarchies, 2)]
    return [float(np.mean(overlaps)) for overlaps in zip(*pairs, strict=True)]


def _measure_edge_overlap(hierarchy: Presentation, other: Presentation) -> list[float]:
    """Return for layers 2 ... L the overlap of the parents in one hierarchy with those in another."""
    partners = [
        linear_sum_assignment(-(np.sqrt(words).T @ np.sqrt(other_words)))[1]
        for words, other_words in zip(hierarchy.words, other.words, strict=True)
    ]
    overlaps = []
    for layer in range(1, len(partners)):
        own, others = (share_parents(each.weights[layer], each.popularity[layer]) for each in (hierarchy, other))
        overlaps.append(measure_parent_overlap(own, others, partners[layer - 1], partners[layer]))
    return overlaps


def add_validation(corpus: Corpus) -> Corpus:
    """Return the corpus with validation documents, drawn from the training documents if it has none of its own.

    No method trains on them.
    """
    if VALIDATION in corpus.part:
        return corpus
    contents, rng = hash_contents(corpus.counts), seed_validation(corpus.split_seed)
    return replace(corpus, part=draw_validation(rng, corpus.part, contents, VALIDATION_SHARE))


def _pick_states(states: Iterator[MethodState], budgets: Sequence[float]) -> Iterator[tuple[float, MethodState]]:
    """Yield each budget with the last state within it, or with the first state if that took longer."""
    remaining = sorted(budgets)
    previous: MethodState | None = None
    for state in states:
        while remaining and previous is not None and state.seconds > remaining[0]:
            yield remaining.pop(0), previous
        while remaining and previous is None and state.seconds > remaining[0]:
            yield remaining.pop(0), state
        if not remaining:
            return
        previous = state
    for budget in remaining:
        if previous is not None:
            yield budget, previous


def _train_ours(corpus: Corpus, seed: int, setup: TopicsSetup) -> Iterator[MethodState]:
    """Train DLDA with its default settings until the curve of validation documents and the tree have settled.

    Computing the points of this curve and comparing trees counts as training time.
    """
    module = models.load("dlda")
    kernel = module.build(
        module.Config(layers=setup.layers), mathematics.collect_facts(corpus), n_threads=setup.threads
    )
    training = Training(corpus, kernel, module.State, seed)
    sweeps = training.warm_up(averaged=False)  # untimed: kernels are compiled once per machine, not per run
    began = time.perf_counter()
    state = training.first_state()
    tokens = max(1.0, float(corpus.counts.values.sum(dtype=np.float64)) / corpus.counts.n_documents)
    effort = mathematics.measure_effort(training, state, sweeps, tokens)
    options = plans.RunOptions(minibatches=SETTLING, threads=setup.threads)
    plan = mathematics.plan_run(training, options, effort)
    position = training.start(state, plan)
    curve: list[tuple[int, float]] = []
    seconds = time.perf_counter() - began
    while True:
        shown_state = kernel.find_shown_state(position.state)
        yield MethodState(seconds, position.minibatch, kernel.topics(shown_state), kernel, shown_state)
        is_level = has_settled(curve, training.count_sweeps(position))
        if position.minibatch >= plan.minibatches or (is_level and position.tree.is_settled):
            return
        began = time.perf_counter()
        position, _ = training.step(position)
        if position.minibatch in plan.evaluations:
            curve.append((position.minibatch, training.curve_point(position.state, plan)))
            position = training.compare_trees(position)
        seconds += time.perf_counter() - began


def _train_peer(corpus: Corpus, method: str, seed: int, setup: TopicsSetup) -> Iterator[MethodState]:
    """Train a peer with as many topics as Topiary's first layer has.

    To be judged, its topics and prior are put into a model of one layer.
    """
    width = setup.layers[0]
    counts = corpus.batch(corpus.documents(TRAIN)).cells
    module = models.load("dlda")
    facts = Facts(corpus.n_words, counts.n_documents)
    kernel = module.build(module.Config(layers=(width,), inference="gibbs"), facts, n_threads=setup.threads)
    for result in PEERS[method](counts, corpus.n_words, width, seed, setup.threads):
        peer_topics = Topics((np.ascontiguousarray(result.phi),), result.shares)
        if not len(result.alpha):
            yield MethodState(result.seconds, result.steps, peer_topics, None, None)
            continue
        state = kernel.init(seed)._replace(phi=peer_topics.phi, r=result.alpha)
        yield MethodState(result.seconds, result.steps, peer_topics, kernel, state)


class TopicsJudge:
    """A judge of the topics of all methods, which uses the same documents and random numbers for each."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._seed = seed
        self._train = corpus.batch(corpus.documents(TRAIN)).cells
        test = corpus.documents(TEST)
        order = np.random.default_rng(0).permutation(test)
        token_totals = np.cumsum([corpus.counts.values[slice(*corpus.counts.starts[j : j + 2])].sum() for j in order])
        self._test = corpus.batch(test).cells
        self._split = corpus.split_tokens(np.sort(order[: max(1, int(np.searchsorted(token_totals, JUDGED_TOKENS)))]))
        labelled = order[corpus.labels[order] >= 0][:LABELLED]
        self._labelled = corpus.batch(labelled) if len(labelled) else None

    def list_figures(self, method: MethodState, presentation: Presentation) -> Iterator[dict[str, Any]]:
        """Yield for every layer the figures of a `TopicsRow`."""
        perplexity, labelled = float("nan"), None
        if method.kernel is not None:
            perplexity = evaluate.evaluate_point(method.kernel, self._seed, method.state, *self._split, evaluate.SHORT)
            if self._labelled is not None:
                theta = method.kernel.infer(self._seed, method.state, self._labelled, evaluate.SHORT).theta
                labelled = measures.LabelledDocuments(self._labelled.labels, theta)
        qualities = measures.measure_quality(presentation, self._train, self._test, labelled=labelled)
        for layer, words in zip(qualities, _list_shown_words(presentation), strict=True):
            npmi = measures.compute_npmi(words, measures.count_pairs(words, self._train, len(presentation.words[0])))[
                layer.live
            ]
            yield {
                "perplexity": perplexity,
                "layer": layer.layer,
                "topics": layer.n_topics,
                "live": layer.n_live,
                "npmi": layer.mean_npmi,
                "worst": layer.worst_tenth,
                "diversity": layer.diversity,
                "held_out": layer.mean_held_out,
                "affinity": float("nan") if layer.affinity is None else layer.affinity.child - layer.affinity.other,
                "nmi": float("nan") if layer.clusters is None else layer.clusters.nmi,
                "shown_npmi": float(npmi.mean()) if len(npmi) else float("nan"),
                "shown_worst": measures.average_worst_tenth(npmi),
                "shown_diversity": measures.measure_diversity(words[layer.live]),
                "largest": float(hierarchy.compute_shares(presentation.popularity[layer.layer - 1]).max()),
            }


def _list_shown_words(presentation: Presentation) -> list[IntArray]:
    """Return the ten words of every topic that pages show first, chosen by relevance, for each layer."""
    return [
        hierarchy.find_relevant_words(table, hierarchy.compute_shares(weight), measures.WORDS)[0]
        for table, weight in zip(presentation.words, presentation.popularity, strict=True)
    ]


HEAD = (
    f"{'':<10}{'budget':>7}{'took':>7}{'steps':>6}{'perplexity':>11}  {'layer':<6}{'live':>8}{'NPMI':>7}{'worst':>7}"
    f"{'div.':>6}{'test':>7}{'aff.':>6}{'NMI':>6}{'top':>6}{'edges':>7}  |{'NPMI':>6}{'worst':>7}{'div.':>6}"
)
NOTE = """\
Seconds of training alone, evaluation of the curve included, which is of validation documents; steps are sweeps,
iterations or passes.  Perplexity: of the mean topics (of tomotopy over as many samples as of Topiary; variational
methods give a mean), 20% of the tokens of test documents held out, 20 + 20 sweeps, the same for all; NMF has no law of
documents.
NPMI: document NPMI of the ten heaviest words in training documents, mean over topics of at least 0.1% of the tokens
and over their worst tenth; div.: distinct words among them; test: the same words in test documents; aff.: cosine with
children less cosine with others; NMI: strongest topic against the labels; top: share of the largest topic; edges:
weight of the parents of the layer below that another seed finds again.  Right of the bar: the ten words that pages
show, by relevance."""
LDA = ("tomotopy", "sklearn")
HAIR = 0.01  # a difference of NPMI that counts as nearly equal


def format_rows(rows: Sequence[TopicsRow]) -> list[str]:
    """Return a line of medians over seeds for every method, budget and layer of one corpus."""
    keys = dict.fromkeys((row.method, row.budget, row.layer) for row in rows)
    return [_format_row([row for row in rows if (row.method, row.budget, row.layer) == key]) for key in keys]


def _name_budget(budget: float) -> str:
    return "end" if math.isinf(budget) else f"{budget:g} s"


def write_verdicts(rows: Sequence[TopicsRow]) -> list[str]:
    """Return a sentence for each budget: on how many corpora Topiary is at least as good as the best LDA."""
    sentences = []
    for budget in sorted({row.budget for row in rows}):
        budget_rows = [row for row in rows if row.budget == budget and row.layer == 1]
        names = list(dict.fromkeys(row.corpus for row in budget_rows if row.method == OURS))
        pairs = [_compare_methods([row for row in budget_rows if row.corpus == name]) for name in names]
        if not pairs or any(math.isnan(pair.npmi) for pair in pairs):
            continue
        better = sum(pair.npmi >= 0.0 for pair in pairs)
        close = sum(pair.npmi >= -HAIR for pair in pairs)
        lower = sum(pair.perplexity < 0.0 for pair in pairs)
        diverse = sum(pair.diversity >= 0.0 for pair in pairs)
        sentences.append(
            f"{_name_budget(budget)}: NPMI of layer 1 at least the best LDA's on {better} of {len(pairs)} corpora "
            f"(within .01 on {close}), diversity not lower than that LDA's on {diverse}, perplexity below "
            f"every LDA's on {lower}"
        )
    return sentences


class _Differences:
    """Topiary's medians over seeds minus those of the best LDA, for one corpus and budget."""

    def __init__(self, ours: Iterable[TopicsRow], others: dict[str, list[TopicsRow]]) -> None:
        mine = list(ours)
        best = max(others.values(), key=lambda rows: _find_median(rows, "npmi"), default=[])
        self.npmi = _find_median(mine, "npmi") - _find_median(best, "npmi")
        self.diversity = _find_median(mine, "diversity") - _find_median(best, "diversity")
        lowest = min((_find_median(rows, "perplexity") for rows in others.values()), default=math.nan)
        self.perplexity = _find_median(mine, "perplexity") - lowest


def _compare_methods(rows: Sequence[TopicsRow]) -> _Differences:
    """Compare Topiary with every LDA that has rows."""
    others = {name: [row for row in rows if row.method == name] for name in LDA}
    return _Differences(
        (row for row in rows if row.method == OURS),
        {name: rows_of_method for name, rows_of_method in others.items() if rows_of_method},
    )


def _find_median(rows: Sequence[TopicsRow], field: str) -> float:
    """Return the median of a field over rows, leaving out nan; nan where nothing is left."""
    values = [value for row in rows if not math.isnan(value := float(getattr(row, field)))]
    return median(values) if values else math.nan


def _format_row(rows: Sequence[TopicsRow]) -> str:
    """Return the line of a table for rows that differ only in their seed."""

    def of(field: str, width: int, digits: int = 3) -> str:
        value = _find_median(rows, field)
        text = "-" if math.isnan(value) else f"{value:,.{digits}f}"
        return f"{text.replace('0.', '.', 1) if text.lstrip('-').startswith('0.') else text:>{width}}"

    one = rows[0]
    budget = _name_budget(one.budget)
    first = (
        f"{one.method:<10}{budget:>7}{of('seconds', 7, 1)}{of('steps', 6, 0)}{of('perplexity', 11, 0)}"
        if one.layer == 1
        else " " * 41
    )
    live = f"{_find_median(rows, 'live'):.0f}/{one.topics}"
    return (
        f"{first}  {one.layer:<6}{live:>8}{of('npmi', 7)}{of('worst', 7, 2)}{of('diversity', 6, 2)}{of('held_out', 7)}"
        f"{of('affinity', 6, 2)}{of('nmi', 6, 2)}{of('largest', 6, 2)}{of('edges', 7, 2)}  |"
        f"{of('shown_npmi', 6)}{of('shown_worst', 7, 2)}{of('shown_diversity', 6, 2)}"
    )


def build_parser() -> Parser:
    """Return the parser of this benchmark."""
    about = "Coherence, diversity and perplexity of topics by time, next to LDA and NMF."
    parser = Parser(prog="python -m tests.benchmarks.topics", description=about)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS", help="names or numbers of corpora of the store")
    methods_help = f"any of {','.join(METHODS)} (default: all)"
    parser.add_argument("--methods", type=read_choices(METHODS), default=METHODS, help=methods_help)
    budgets_help = "seconds of training, or end: Topiary's own, as long for the peers (default 10,30,120)"
    parser.add_argument("--budgets", type=read_budgets, default=(10.0, 30.0, 120.0), help=budgets_help)
    layers_help = "topics per layer; peers have the first (default: proposed for the corpus)"
    parser.add_argument("--layers", help=layers_help)
    parser.add_argument(
        "--seeds", type=read_seed_list, default=(1, 2, 3), help="of the runs, as 1-3 or 5,7 (default 1-3)"
    )
    parser.add_argument("--threads", type=threads, default=2, help="threads of every method (default 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every row to this file")
    parser.add_argument("--store", help="the store of the corpora (default: that of the program)")
    return parser


def print_tables(arguments: argparse.Namespace) -> None:
    """Measure and print corpus by corpus, writing all rows so far to the JSON file after each."""
    if OURS not in arguments.methods and math.inf in arguments.budgets:
        raise UserError("the budget 'end' is the time that topiary takes: add topiary to --methods, or give seconds")
    db = open_existing(arguments.store)
    chosen, rows = [corpora.find_corpus(db, name) for name in arguments.corpora], list[TopicsRow]()
    say(NOTE)
    for row in chosen:
        corpus_rows = _measure_corpus(db, row, arguments)
        rows += corpus_rows
        say("\n".join(format_rows(corpus_rows)))
        if arguments.json is not None:
            replace_file(arguments.json, (json.dumps([each._asdict() for each in rows], indent=1) + "\n").encode())
    say("\n" + "\n".join(write_verdicts(rows)))


def _measure_corpus(db: Database, row: CorpusRow, arguments: argparse.Namespace) -> list[TopicsRow]:
    """Print the head of the table of a corpus, and return its rows for all methods and seeds."""
    progress, rows = Progress(), list[TopicsRow]()
    corpus = add_validation(load_corpus(db, row))
    tokens, training = corpus.count_tokens(TRAIN), len(corpus.documents(TRAIN))
    layers = _read_layers(arguments.layers) if arguments.layers else _choose_layers(corpus, row, arguments.threads)
    widths = "-".join(map(str, layers))
    say(
        f"\n{row.name}: {training:,} training documents, {len(corpus.documents(VALIDATION)):,} validation, "
        f"{tokens:,} tokens, {corpus.n_words:,} words, {widths}; medians of {len(arguments.seeds)} seeds\n"
        f"{HEAD}"
    )
    setup = TopicsSetup(layers=layers, budgets=arguments.budgets, threads=arguments.threads)
    for method in sorted(arguments.methods, key=lambda name: name != OURS):  # peers have the time that ours took
        progress.show(f"{row.name}: {method}")
        end = max((measured.seconds for measured in rows if measured.method == OURS), default=None)
        for measured in measure_method(row.name, corpus, method, arguments.seeds, setup, end):
            progress.show(f"{row.name}: {method}, seed {measured.seed}")
            rows.append(measured)
    progress.end()
    return rows


def _choose_layers(corpus: Corpus, row: CorpusRow, threads: int) -> tuple[int, ...]:
    """Return the widths that a run of Topiary with its defaults has on a corpus."""
    module, training = models.load("dlda"), len(corpus.documents(TRAIN))
    config = module.Config(layers=propose_widths(training, corpus.count_tokens(TRAIN)))
    if not tries_widths(config, row):
        return config.layers
    return choose_trial(try_widths(corpus, module, config, RunOptions(minibatches=1, threads=threads))).layers


def _read_layers(text: str) -> tuple[int, ...]:
    """Return the widths in a text such as ``64-32``."""
    try:
        return tuple(int(width) for width in text.split("-"))
    except ValueError:
        raise UserError(f"--layers are numbers of topics, as 64-32; got {text!r}") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table of the quality of topics by time for each corpus."""
    return run_benchmark(print_tables, build_parser(), argv)


if __name__ == "__main__":
    sys.exit(main())
