"""How much of a planted hierarchy DLDA finds with its defaults: 20 topics under 8 topics under 3.

Topics of all layers and documents are drawn from the model itself.  The topics found are matched to the true ones by
their words; one counts as found when the cosine with its partner is above .9.  The perplexity of test documents is
compared with that of the true topics.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from engine import models
from engine.contract import TRAIN, Array, Batch, Counts, Facts
from engine.corpus import Corpus
from engine.hierarchy import evaluate
from engine.hierarchy.topics import project_topics
from tests.benchmarks.report import load, parser, say

V, WIDTHS = 500, (20, 8, 3)
ETA = (0.05, 0.1, 0.3)  # of the words of a topic, and of the children of one
ALIKE = 0.9  # cosine
TESTED = 300
FITTED = 200  # sweeps with the true topics


class PlantedTree(NamedTuple):
    """The topics that documents were drawn from, training documents, and test documents observed and scored."""

    phi: tuple[Array, ...]
    train: Batch
    observed: Batch
    scored: Batch


class Recovery(NamedTuple):
    """Topics found in each layer, the point perplexity, and that of the true topics."""

    found: tuple[int, ...]
    perplexity: float
    true_perplexity: float


def draw_tree(seed: int, n_documents: int, n_tokens: int) -> PlantedTree:
    """Draw the topics, and documents of about ``n_tokens`` tokens."""
    rng = np.random.default_rng(seed)
    shapes = zip((V, *WIDTHS[:-1]), WIDTHS, ETA, strict=True)
    phi = tuple(rng.dirichlet(np.full(rows, eta), columns).T for rows, columns, eta in shapes)
    n = n_documents + TESTED
    theta = rng.gamma(0.5, 1.0, (n, WIDTHS[-1]))
    for weights in (phi[2], phi[1]):
        theta = rng.gamma(np.maximum(5.0 * theta @ weights.T, 1e-6))
    shares = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-9)
    table = sp.csr_array(rng.poisson(n_tokens * shares @ phi[0].T).astype(np.int32))
    counts = Counts(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    corpus = Corpus(counts=counts, vocabulary=(), part=np.full(n, TRAIN, np.int8), labels=np.full(n, -1, np.int32))
    phi = tuple(np.ascontiguousarray(each) for each in phi)
    return PlantedTree(phi, corpus.batch(np.arange(n_documents)), *corpus.split_tokens(np.arange(n_documents, n)))


def match_topics(true: Array, found: Array) -> tuple[Array, Array]:
    """Return the column of ``found`` for every column of ``true``, and the cosines of the pairs."""
    alike = (true / np.linalg.norm(true, axis=0)).T @ (found / np.linalg.norm(found, axis=0))
    rows, columns = linear_sum_assignment(-alike)
    return columns, alike[rows, columns]


def measure_recovery(tree: PlantedTree, start: str, seed: int, sweeps: int) -> Recovery:
    """Train DLDA on a tree and compare it with the truth, where it may also start."""
    module = models.load("dlda")
    facts = Facts(V, len(tree.train.documents), n_tokens=int(tree.train.counts.sum()))
    config = module.Config(layers=WIDTHS, inference="gibbs", start="flat" if start == "flat" else "clusters")
    kernel = module.build(config, facts, n_threads=2)
    init = kernel.init_from_documents
    state = kernel.prepare(seed, kernel.init(seed) if init is None else init(seed, tree.train), tree.train)
    for sweep in range(sweeps):
        held = start == "truth" and sweep < FITTED
        state, _ = kernel.step(seed, state._replace(phi=tree.phi) if held else state, tree.train)
    shown = kernel.find_shown_state(state)
    own = kernel.topics(shown)
    pairs = [match_topics(*both) for both in zip(project_topics(tree.phi), project_topics(own.phi), strict=True)]
    point = evaluate.evaluate_point(kernel, 1, shown, tree.observed, tree.scored)
    for _ in range(FITTED):  # the other variables, with the topics held at the truth
        state, _ = kernel.step(seed, state._replace(phi=tree.phi), tree.train)
    true_point = evaluate.evaluate_point(kernel, 1, state._replace(phi=tree.phi), tree.observed, tree.scored)
    return Recovery(tuple(int((cosines > ALIKE).sum()) for _, cosines in pairs), point, true_point)


def main(argv: Sequence[str] | None = None) -> int:
    """Print what every seed finds."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--n-documents", type=int, default=1_500)
    options.add_argument("--tokens", type=int, default=100, help="of a document (default 100)")
    options.add_argument("--sweeps", type=int, default=2_000)
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options.add_argument("--start", choices=("clusters", "flat", "truth"), default="clusters")
    arguments = options.parse_args(argv)
    say(f"{arguments.n_documents} documents of {arguments.tokens} tokens, {arguments.sweeps} sweeps; {load()}")
    total = np.zeros(len(WIDTHS), int)
    for seed in arguments.seeds:
        tree = draw_tree(seed, arguments.n_documents, arguments.tokens)
        got = measure_recovery(tree, arguments.start, seed, arguments.sweeps)
        total += got.found
        ratio = got.perplexity / got.true_perplexity
        found = " / ".join(map(str, got.found))
        say(f"seed {seed}: {found} found, perplexity {got.perplexity:.1f}, ratio to the true topics' {ratio:.3f}")
    say("found: " + ", ".join(f"{n} of {width * len(arguments.seeds)}" for n, width in zip(total, WIDTHS, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
