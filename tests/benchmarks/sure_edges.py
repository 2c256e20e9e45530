"""Whether edges that are sure within their run are true, and what their intervals hold, on planted worlds of any shape.

Worlds of several shapes are drawn from the model.  A run takes the widths that the app proposes and tries, as nobody
knows the true ones, and ends as the app ends it; or it is given the true widths.  An edge is true if the edge between
the true topics nearest to its ends is above the threshold too, and its interval is right if it holds that weight;
intervals are counted where both ends are found, with a cosine above .9.

``--fit`` prints both for other factors on the variance of edges (`engine.hierarchy.certainty.WIDENED`).  The factor
was chosen on world 1 of every shape, and on worlds with an earlier start; the guide reports all of them.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.benchmarks.report import load, parser, say
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.estimates import has_settled
from topiary.app.jobs.plan import RunOptions
from topiary.app.jobs.run_rules import SETTLING, propose_widths
from topiary.app.jobs.training import Training, choose_trial, try_widths
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Array, Counts
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import certainty, topics

ALIKE = 0.9  # cosine from which a topic counts as found
THRESHOLD = 1.0  # tau
FACTORS = (1.0, 2.0, 4.0, 6.0, 8.0, 12.0)


class Shape(NamedTuple):
    """A kind of world: its words, widths, priors of topics from the words upwards, documents of so many tokens.

    The popularity of the top topics falls with their rank to the power ``uneven``.
    """

    words: int
    widths: tuple[int, ...]
    eta: tuple[float, ...]
    documents: int
    tokens: int
    uneven: float = 0.0


SHAPES = {
    "even": Shape(500, (20, 8, 3), (0.05, 0.1, 0.3), 1800, 100),
    "sparse": Shape(800, (40, 12, 4), (0.02, 0.05, 0.2), 1800, 80),
    "uneven": Shape(500, (20, 8, 3), (0.05, 0.1, 0.3), 1800, 100, 1.0),
    "long": Shape(600, (30, 10, 4), (0.05, 0.2, 0.3), 900, 200, 0.5),
}


class FoundEdges(NamedTuple):
    """Edges of a run, one entry each: mean, variance, the least weight of an edge, the true weight, and if it counts.

    ``found`` are the edges between topics that are found, whose true weight is that of the edge meant.
    """

    mean: Array
    variance: Array
    limit: Array
    true: Array
    found: Array


class EdgeTruth(NamedTuple):
    """Of edges above the threshold: how many, of those sure the true part, of those found the part in its interval."""

    drawn: int
    sure: int
    true: float
    found: int
    held: float
    width: float


def draw_world(shape: Shape, seed: int) -> tuple[tuple[Array, ...], Corpus]:
    """Draw topics and documents; a twelfth of the documents each is for validation and test."""
    rng = np.random.default_rng((seed, shape.words))
    rows = (shape.words, *shape.widths[:-1])
    phi = tuple(rng.dirichlet(np.full(n, eta), k).T for n, k, eta in zip(rows, shape.widths, shape.eta, strict=True))
    r = np.arange(1, shape.widths[-1] + 1.0) ** -shape.uneven
    theta = rng.gamma(0.5 * len(r) * r / r.sum(), 1.0, (shape.documents, len(r)))
    for weights in phi[:0:-1]:
        theta = rng.gamma(np.maximum(5.0 * theta @ weights.T, 1e-6))
    shares = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-9)
    table = sp.csr_array(rng.poisson(shape.tokens * shares @ phi[0].T).astype(np.int32))
    part = np.full(shape.documents, TRAIN, np.int8)
    part[: shape.documents // 12], part[-(shape.documents // 12) :] = VALIDATION, TEST
    return phi, Corpus(
        counts=Counts(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data),
        vocabulary=("",) * shape.words,
        part=part,
        labels=np.full(shape.documents, -1, np.int32),
    )


def train_world(
    corpus: Corpus, seed: int, widths: tuple[int, ...] | None, steps: int = SETTLING
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Train a run that ends by itself, with proposed widths if None; return means and variances of its topics."""
    module, options = models.load("dlda"), RunOptions(minibatches=steps, threads=2)
    if widths is None:
        config = module.Config(layers=propose_widths(len(corpus.documents(TRAIN)), corpus.count_tokens(TRAIN)))
        widths = choose_trial(try_widths(corpus, module, config, options)).layers
    kernel = module.build(module.Config(layers=widths), mathematics.collect_facts(corpus), n_threads=2)
    training = Training(corpus, kernel, module.State, seed)
    state = training.first_state()
    plan = mathematics.plan_run(training, options, mathematics.measure_effort(training, state, 1.0, 100.0))
    position, curve = training.start(state, plan), list[tuple[int, float]]()
    while position.minibatch < plan.minibatches:
        if has_settled(curve, training.count_sweeps(position)) and position.tree.is_settled:
            break
        position, _ = training.step(position)
        if position.minibatch in plan.evaluations:
            curve.append((position.minibatch, training.curve_point(position.state, plan)))
            position = training.compare_trees(position)
    return kernel.topics(kernel.average(position.state)).phi, kernel.variance(position.state)


def list_edges(true: Sequence[Array], mean: Sequence[Array], variance: Sequence[Array]) -> FoundEdges:
    """Return all edges of a run with the weights of the true edges nearest to them."""
    pairs = zip(topics.project_topics(true), topics.project_topics(mean), strict=False)  # a run may have fewer layers
    alike = [(a / np.linalg.norm(a, axis=0)).T @ (b / np.linalg.norm(b, axis=0)) for a, b in pairs]
    nearest, found = [each.argmax(axis=0) for each in alike], [each.max(axis=0) > ALIKE for each in alike]
    parts = [
        FoundEdges(
            mean[layer].ravel(), variance[layer].ravel(), np.full(mean[layer].size, THRESHOLD / len(mean[layer])),
            true[layer][np.ix_(nearest[layer - 1], nearest[layer])].ravel(),
            (found[layer - 1][:, None] & found[layer]).ravel(),
        )
        for layer in range(1, len(mean))
    ]  # fmt: skip
    return join_edges(parts)


def join_edges(parts: Iterable[FoundEdges]) -> FoundEdges:
    """Return the edges of several runs or layers together."""
    return FoundEdges(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def judge_edges(edges: FoundEdges, factor: float = certainty.WIDENED) -> EdgeTruth:
    """Compare edges with the truth, their variance multiplied by a factor."""
    variance = factor * edges.variance.astype(np.float64)
    low, high = certainty.find_interval(edges.mean, variance)
    drawn = edges.mean > edges.limit
    sure = drawn & (certainty.measure_inclusion(edges.mean, variance, edges.limit) >= certainty.SURE)
    held, counted = (low <= edges.true) & (edges.true <= high), drawn & edges.found
    return EdgeTruth(
        int(drawn.sum()), int(sure.sum()), float((edges.true > edges.limit)[sure].mean()), int(counted.sum()),
        float(held[counted].mean()), float((high - low)[counted].mean()),
    )  # fmt: skip


def describe_truth(truth: EdgeTruth) -> str:
    """Return the figures as a line."""
    return (
        f"of {truth.drawn:,} edges {truth.sure:,} are sure, {truth.true:.1%} of these true; 90% intervals, "
        f"{truth.width:.3f} wide, hold {truth.held:.1%} of {truth.found:,}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for every run and one for all, with proposed and with true widths."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    options.add_argument("--worlds", type=int, nargs="+", default=[2, 3], help="of every shape (default 2 3)")
    options.add_argument("--fit", action="store_true", help="print the figures for other factors too")
    options.add_argument("--steps", type=int, default=SETTLING, help=f"sweeps at most (default {SETTLING:,})")
    arguments = options.parse_args(argv)
    say(f"factor {certainty.WIDENED:g} on the variance of edges; {load()}")
    for name in ("proposed widths", "true widths"):
        runs = []
        for kind in arguments.shapes:
            for world in arguments.worlds:
                true, corpus = draw_world(SHAPES[kind], world)
                widths = SHAPES[kind].widths if name == "true widths" else None
                runs.append(list_edges(true, *train_world(corpus, 1, widths, arguments.steps)))
                say(f"  {kind} {world}, {name}: {describe_truth(judge_edges(runs[-1]))}")
        everything = join_edges(runs)
        say(f"{name}: {describe_truth(judge_edges(everything))}")
        for factor in FACTORS if arguments.fit else ():
            say(f"  times {factor:g}: {describe_truth(judge_edges(everything, factor))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
