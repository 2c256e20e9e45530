"""How many planted topics DATM finds, by what moves its topics, beside DLDA with TLASGR.

Documents of 100 tokens are drawn from 20 topics under 5 of a second layer; a topic counts as found when the cosine
with a topic of the model is above .9.
"""

import statistics
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.benchmarks.report import load, parser, say
from topiary.engine import models, settings
from topiary.engine.contract import TRAIN, Array, Batch, Counts, Facts, Sweeps
from topiary.engine.corpus import Corpus, take_documents
from topiary.engine.hierarchy import evaluate

V, K, N = 500, (20, 5), 2_000
TESTED, TOKENS = 400, 100
ALIKE = 0.9  # cosine
TRIALS = (
    ("dlda tlasgr", "dlda", "", {"inference": "tlasgr", "start": "flat", "simplex": "clamp", "eta": "0.05"}),
    ("gibbs 5 + 5", "datm", "best", {}),
    *(
        (f"{counts} {burn_in} + {collect}", "datm", "", {"counts": counts, "burn_in": burn_in, "collect": collect})
        for burn_in, collect in (("0", "1"), ("1", "1"), ("2", "2"), ("5", "5"))
        for counts in ("refined", "gibbs")
        if (counts, burn_in) != ("gibbs", "5")
    ),
    ("encoder", "datm", "", {"counts": "encoder"}),
    ("preset paper", "datm", "paper", {}),
    ("preset encoder", "datm", "encoder", {}),
)


class World(NamedTuple):
    """The topics that documents were drawn from, training documents, and test documents observed and scored."""

    phi: Array
    train: Counts
    observed: Batch
    scored: Batch


def world(seed: int = 5) -> World:
    """Draw it."""
    rng = np.random.default_rng(seed)
    first, second = rng.dirichlet(np.full(V, 0.05), K[0]).T, rng.dirichlet(np.full(K[0], 0.15), K[1]).T
    theta = rng.gamma(rng.gamma(0.4, 1.0, (N + TESTED, K[1])) @ second.T * 3.0 + 1e-3)
    parts = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-9)
    table = sp.csr_array(rng.poisson(TOKENS * parts @ first.T).astype(np.int32))
    counts = Counts(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    corpus = Corpus(
        counts=counts, vocabulary=(), part=np.full(N + TESTED, TRAIN, np.int8), labels=np.full(N + TESTED, -1, np.int32)
    )
    return World(first, counts.rows(0, N), *corpus.split_tokens(np.arange(N, N + TESTED)))


def trial(given: World, model: str, preset: str, texts: dict[str, str], steps: int, seed: int) -> tuple[int, float]:
    """Topics found after so many mini-batches, and the point perplexity."""
    module = models.load(model)
    named = {
        name: text for name, text in getattr(module, "PRESETS", {}).get(preset, {}).items() if name != "minibatches"
    }
    config = settings.parse(module.Config, named | {"layers": "-".join(map(str, K))} | texts)
    kernel = module.build(config, Facts(V, N, n_tokens=int(given.train.values.sum())), n_threads=2)
    state, rng = kernel.init(seed), np.random.default_rng(seed)
    labels = np.full(N, -1, dtype=np.int32)
    for _ in range(steps):
        documents = np.sort(rng.choice(N, config.batch_size, replace=False))
        state, _ = kernel.step(seed, state, take_documents(given.train, documents, labels))
    own = kernel.topics(state).phi[0]
    alike = (given.phi / np.linalg.norm(given.phi, axis=0)).T @ (own / np.linalg.norm(own, axis=0))
    score = evaluate.evaluate_point(kernel, 1, state, given.observed, given.scored, Sweeps(10, 10))
    return int((alike.max(axis=1) > ALIKE).sum()), score


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for every way to move the topics."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--steps", type=int, default=1_000, help="mini-batches (default 1,000)")
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = options.parse_args(argv)
    given = world()
    say(f"{arguments.steps} mini-batches, seeds {arguments.seeds}; {load()}")
    for name, model, preset, texts in TRIALS:
        got = [trial(given, model, preset, texts, arguments.steps, seed) for seed in arguments.seeds]
        found, score = (statistics.mean(values) for values in zip(*got, strict=True))
        say(f"{name:14} {found:5.1f} of {K[0]} found, perplexity {score:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
