"""How often the certainty of words and edges is right, on documents drawn from the model itself.

Every world has topics of its own: words of 12 topics, edges of 4 topics above them, and documents drawn from them by
the generative model.  DLDA is trained on the documents; its topics are matched to the true ones.  Printed are the part
of the true values inside their 90 % intervals, and for edges by tenths of the inclusion probability the part that is
there: that is P(true weight > tau / K), whose mean over edges ought to be the tenth's own mean.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from tests.benchmarks.report import parser, say
from topiary.engine import models
from topiary.engine.contract import TRAIN, Array, Counts, Facts
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import certainty, topics

V, WIDTHS = 200, (12, 4)
ETA = (0.05, 0.2)
THRESHOLD = 1.0  # tau


class World(NamedTuple):
    """True topics, and documents drawn from them."""

    phi: tuple[Array, ...]
    corpus: Corpus


class WorldCertainty(NamedTuple):
    """Entries of matched topics: if a true value is in its interval, and inclusion with the presence of edges.

    ``drawn`` are the edges above the threshold, which a tree shows.
    """

    words: Array
    edges: Array
    drawn: Array
    inclusion: Array
    present: Array


def draw_world(seed: int, n_documents: int, n_tokens: int) -> World:
    """Draw topics from their priors, and documents of about ``n_tokens`` tokens.

    The rates c of layer 2 come from their prior, an exponential distribution, as everything else that intervals depend
    on.  The prior of p is nearly flat in its log odds, so that it says nothing about lengths, which are given instead.
    """
    rng = np.random.default_rng(seed)
    shapes = zip((V, *WIDTHS[:-1]), WIDTHS, ETA, strict=True)
    phi = tuple(rng.dirichlet(np.full(rows, eta), columns).T for rows, columns, eta in shapes)
    theta = rng.gamma(0.5, 1.0 / rng.exponential(1.0, (n_documents, 1)), (n_documents, WIDTHS[1]))
    theta = rng.gamma(np.maximum(theta @ phi[1].T, 1e-6))
    shares = theta / np.maximum(theta.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    table = sp.csr_array(rng.poisson(n_tokens * shares @ phi[0].T).astype(np.int32))
    counts = Counts(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    part, labels = np.full(n_documents, TRAIN, np.int8), np.full(n_documents, -1, np.int32)
    return World(phi, Corpus(counts=counts, vocabulary=("",) * V, part=part, labels=labels))


def measure_world(world: World, seed: int, sweeps: int) -> WorldCertainty:
    """Train on a world and compare what is said to be sure with the truth."""
    module = models.load("dlda")
    config = module.Config(layers=WIDTHS, eta=ETA, inference="gibbs")
    docs = world.corpus.batch(world.corpus.documents(TRAIN))
    facts = Facts(V, len(docs.documents), n_tokens=int(docs.counts.sum()))
    kernel = module.build(config, facts, n_threads=1)
    state = kernel.prepare(seed, kernel.init_from_documents(seed, docs), docs)
    for _ in range(sweeps):
        state, _ = kernel.step(seed, state, docs)
    shown = kernel.topics(kernel.average(state)).phi
    words, edges = kernel.variance(state)
    variances = words, certainty.widen_edges(edges)  # as everything that shows them
    columns = [
        match_topics(*pair) for pair in zip(topics.project_topics(world.phi), topics.project_topics(shown), strict=True)
    ]
    below = np.arange(V), columns[0]
    mean, variance = ([each[layer][below[layer]][:, columns[layer]] for layer in (0, 1)] for each in (shown, variances))
    inside = []
    for layer in (0, 1):
        low, high = certainty.find_interval(mean[layer], variance[layer])
        inside.append((low <= world.phi[layer]) & (world.phi[layer] <= high))
    limit = THRESHOLD / WIDTHS[0]
    inclusion = certainty.measure_inclusion(mean[1], variance[1], limit)
    heavy = mean[0] > 1.0 / V  # intervals of words that are hardly ever seen reach down to nothing
    drawn = inside[1][mean[1] > limit]
    return WorldCertainty(inside[0][heavy], inside[1].ravel(), drawn, inclusion.ravel(), (world.phi[1] > limit).ravel())


def match_topics(true: Array, found: Array) -> Array:
    """Return the column of ``found`` for every column of ``true``, by the overlap of their words."""
    overlap = np.minimum(true[:, :, None], found[:, None, :]).sum(axis=0)
    return np.asarray(linear_sum_assignment(-overlap)[1])


def measure_worlds(worlds: Sequence[int], n_documents: int, n_tokens: int, sweeps: int) -> Iterator[WorldCertainty]:
    """Measure worlds one after the other."""
    for seed in worlds:
        yield measure_world(draw_world(seed, n_documents, n_tokens), seed, sweeps)


def tabulate_inclusion(inclusion: Array, present: Array) -> list[tuple[int, float, float]]:
    """Return for each tenth of the inclusion probability its edges, their mean probability and how many are there."""
    tenths = np.minimum((inclusion * 10).astype(int), 9)
    rows = ((tenths == tenth) for tenth in range(10))
    return [(int(row.sum()), float(inclusion[row].mean()), float(present[row].mean())) for row in rows if row.any()]


def main(argv: Sequence[str] | None = None) -> int:
    """Print coverage and the reliability table."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--worlds", type=int, default=20)
    options.add_argument("--n-documents", type=int, default=600)
    options.add_argument("--tokens", type=int, default=60, help="of a document (default 60)")
    options.add_argument("--sweeps", type=int, default=1_000)
    arguments = options.parse_args(argv)
    found = list(
        measure_worlds(range(1, arguments.worlds + 1), arguments.n_documents, arguments.tokens, arguments.sweeps)
    )
    words, edges, drawn, inclusion, present = (np.concatenate(parts) for parts in zip(*found, strict=True))
    documents = f"{arguments.n_documents} documents of {arguments.tokens} tokens"
    say(f"{arguments.worlds} worlds, {documents}, {arguments.sweeps} sweeps")
    say(
        f"90% intervals hold {words.mean():.1%} of {len(words):,} words, {drawn.mean():.1%} of {len(drawn):,} edges "
        f"above the threshold, {edges.mean():.1%} of all {len(edges):,}"
    )
    for n, said, there in tabulate_inclusion(inclusion, present):
        say(f"  {n:6,} edges said to be there with {said:.3f}: {there:.3f} are")
    return 0


if __name__ == "__main__":
    sys.exit(main())
