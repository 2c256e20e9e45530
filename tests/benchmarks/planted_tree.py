"""How much of a planted hierarchy DLDA finds with its defaults, early and late, in worlds of three shapes.

Topics of all layers and documents are drawn from the model itself.  The topics found are matched to the true ones by
their words; one counts as found when the cosine with its partner is above .9.  Edges are judged by the overlap of
parents, adjusted for chance.  The perplexity of test documents is compared with that of the true topics.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from tests.benchmarks.report import load, parser, say
from topiary.engine import models
from topiary.engine.contract import TRAIN, Array, Batch, Counts, Facts, Topics
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import effects, evaluate
from topiary.engine.hierarchy.align import measure_parent_overlap, share_parents
from topiary.engine.hierarchy.topics import project_topics

ALIKE = 0.9  # cosine
TESTED = 300
FITTED = 200  # sweeps with the true topics


class Shape(NamedTuple):
    """A shape of worlds: words, widths, documents and their tokens.

    ``eta`` is that of the words of a topic and of the children of one, ``top`` the shapes of the top topics.
    """

    words: int
    widths: tuple[int, ...]
    eta: tuple[float, ...]
    top: tuple[float, ...]
    documents: int
    tokens: int


SHAPES = {
    "20-8-3": Shape(500, (20, 8, 3), (0.05, 0.1, 0.3), (0.5,) * 3, 1_500, 100),
    "sparse": Shape(800, (40, 12, 4), (0.03, 0.05, 0.15), (0.4,) * 4, 2_000, 60),
    "unequal": Shape(500, (20, 8, 4), (0.05, 0.1, 0.2), (1.2, 0.5, 0.25, 0.12), 1_500, 100),
}


class PlantedTree(NamedTuple):
    """The topics that documents were drawn from, training documents, and test documents observed and scored."""

    topics: Topics
    train: Batch
    observed: Batch
    scored: Batch


class Recovery(NamedTuple):
    """What is found after so many sweeps: topics of each layer, edges of layers 2 ..., and the largest top topic."""

    found: tuple[int, ...]
    edges: tuple[float, ...]
    largest: float
    perplexity: float


def draw_tree(shape: Shape, seed: int) -> PlantedTree:
    """Draw the topics and the documents."""
    rng = np.random.default_rng(seed)
    sizes = zip((shape.words, *shape.widths[:-1]), shape.widths, shape.eta, strict=True)
    phi = tuple(np.ascontiguousarray(rng.dirichlet(np.full(rows, eta), columns).T) for rows, columns, eta in sizes)
    n = shape.documents + TESTED
    theta = rng.gamma(np.array(shape.top), 1.0, (n, shape.widths[-1]))
    for weights in phi[:0:-1]:
        theta = rng.gamma(np.maximum(5.0 * theta @ weights.T, 1e-6))
    shares = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-9)
    table = sp.csr_array(rng.poisson(shape.tokens * shares @ phi[0].T).astype(np.int32))
    counts = Counts(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    corpus = Corpus(counts=counts, vocabulary=(), part=np.full(n, TRAIN, np.int8), labels=np.full(n, -1, np.int32))
    splits = corpus.split_tokens(np.arange(shape.documents, n))
    return PlantedTree(Topics(phi, np.array(shape.top)), corpus.batch(np.arange(shape.documents)), *splits)


def match_topics(true: Array, found: Array) -> tuple[Array, Array]:
    """Return the column of ``found`` for every column of ``true``, and the cosines of the pairs."""
    alike = (true / np.linalg.norm(true, axis=0)).T @ (found / np.linalg.norm(found, axis=0))
    rows, columns = linear_sum_assignment(-alike)
    return columns, alike[rows, columns]


def compare_topics(true: Topics, own: Topics) -> Recovery:
    """Return what of the true topics is found; the perplexity is not known here."""
    pairs = [match_topics(*both) for both in zip(project_topics(true.phi), project_topics(own.phi), strict=True)]
    parents = [
        [share_parents(*each) for each in zip(topics.phi[1:], effects.compute_popularity(topics)[1:], strict=True)]
        for topics in (true, own)
    ]
    edges = tuple(
        measure_parent_overlap(*both, pairs[layer][0], pairs[layer + 1][0])
        for layer, both in enumerate(zip(*parents, strict=True))
    )
    found = tuple(int((cosines > ALIKE).sum()) for _, cosines in pairs)
    return Recovery(found, edges, float(own.r.max() / own.r.sum()), float("nan"))


def measure_recovery(tree: PlantedTree, start: str, seed: int, marks: Sequence[int]) -> tuple[list[Recovery], float]:
    """Train DLDA on a tree and compare it with the truth, where it may also start; also return the true perplexity."""
    module, phi = models.load("dlda"), tree.topics.phi
    facts = Facts(len(phi[0]), len(tree.train.documents), n_tokens=int(tree.train.counts.sum()))
    widths = tuple(layer.shape[1] for layer in phi)
    config = module.Config(layers=widths, **({"start": start} if start not in ("", "truth") else {}))
    kernel = module.build(config, facts, n_threads=2)
    state = kernel.prepare(seed, kernel.init_from_documents(seed, tree.train), tree.train)
    recoveries = []
    for sweep in range(1, max(marks) + 1):
        held = start == "truth" and sweep <= FITTED
        state, _ = kernel.step(seed, state._replace(phi=phi) if held else state, tree.train)
        if sweep in marks:
            shown = kernel.find_shown_state(state)
            point = evaluate.evaluate_point(kernel, 1, shown, tree.observed, tree.scored)
            recoveries.append(compare_topics(tree.topics, kernel.topics(shown))._replace(perplexity=point))
    for _ in range(FITTED):  # the other variables, with the topics held at the truth
        state, _ = kernel.step(seed, state._replace(phi=phi), tree.train)
    return recoveries, evaluate.evaluate_point(kernel, 1, state._replace(phi=phi), tree.observed, tree.scored)


def main(argv: Sequence[str] | None = None) -> int:
    """Print what every seed finds."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--shapes", choices=SHAPES, nargs="+", default=list(SHAPES))
    options.add_argument("--n-documents", type=int, help="instead of those of the shape")
    options.add_argument("--sweeps", type=int, nargs="+", default=[100, 2_000], help="when to judge (100 and 2,000)")
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options.add_argument("--start", default="", help="a start of DLDA, or truth (default: the default start)")
    arguments = options.parse_args(argv)
    for name in arguments.shapes:
        shape = SHAPES[name]._replace(**({"documents": arguments.n_documents} if arguments.n_documents else {}))
        say(f"{name}: {shape.documents} documents of {shape.tokens} tokens; {load()}")
        rows = [report_seed(shape, arguments.start, seed, sorted(arguments.sweeps)) for seed in arguments.seeds]
        for sweeps, recoveries in zip(sorted(arguments.sweeps), zip(*rows, strict=True), strict=True):
            total = np.sum([each.found for each in recoveries], axis=0)
            found = ", ".join(f"{n} of {width * len(rows)}" for n, width in zip(total, shape.widths, strict=True))
            edges = " / ".join(f"{share:.2f}" for share in np.mean([each.edges for each in recoveries], axis=0))
            say(f"after {sweeps:,} sweeps: {found}; edges {edges}")
    return 0


def report_seed(shape: Shape, start: str, seed: int, marks: Sequence[int]) -> list[Recovery]:
    """Train on the world of a seed, print what is found at every mark, and return it."""
    recoveries, true_perplexity = measure_recovery(draw_tree(shape, seed), start, seed, marks)
    for sweeps, got in zip(marks, recoveries, strict=True):
        found, edges = " / ".join(map(str, got.found)), " / ".join(f"{share:.2f}" for share in got.edges)
        ratio = got.perplexity / true_perplexity
        say(
            f"  seed {seed}, {sweeps:,} sweeps: {found} found, edges {edges}, largest top topic {got.largest:.2f}, "
            f"perplexity {got.perplexity:.1f}, ratio to the true topics' {ratio:.3f}"
        )
    return recoveries


if __name__ == "__main__":
    sys.exit(main())
