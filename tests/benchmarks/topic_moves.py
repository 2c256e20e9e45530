"""The move of the topics and their Dirichlet draw, as in a mini-batch and a sweep, against NumPy's gammas.

NumPy draws the same tables: Poisson numbers, ``standard_gamma`` of every entry, and a division.  Topics and counts have
the sparsity of a run: few words of a topic are common; a mini-batch counts 1 % of the entries, a sweep 10 %.
"""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tests.benchmarks.report import interleaved, load, median, parser, ratio, say
from topiary.engine.contract import Array, FloatArray
from topiary.engine.pool import Pool
from topiary.engine.topic_moves import diffusion, dirichlet
from topiary.engine.topic_moves.rows import LayerAddress

ETA = 0.05
TOKENS_OF_A_WORD = 300  # of the whole corpus, on average
DOCUMENTS = 100  # as many mini-batches are the whole corpus
EPS = 0.2  # the step size in the middle of a run


class Tables(NamedTuple):
    """Topics (V, K), counts of a mini-batch and of a sweep, and the scale M of every topic."""

    phi: FloatArray
    batch: FloatArray
    sweep: Array
    scale: FloatArray


def main(argv: Sequence[str] | None = None) -> int:
    """Print milliseconds of both, and how many times ours are faster."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--words", type=int, default=10_000)
    options.add_argument("--topics", type=int, default=128)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = options.parse_args(argv)
    tables = made(arguments.words, arguments.topics)
    shares = ", ".join(f"{100 * (table > 0).mean():.1f}%" for table in (tables.batch, tables.sweep))
    say(f"{arguments.words} words, {arguments.topics} topics; counted in a mini-batch and a sweep: {shares}; {load()}")
    contestants = {"move, numpy": _numpy_move(tables), "draw, numpy": _numpy_draw(tables)}
    for n in arguments.threads:
        pool = Pool(n)
        contestants[f"move, {n} threads"] = _move(tables, pool)
        contestants[f"draw, {n} threads"] = _draw(tables, pool)
    for work in contestants.values():  # compiles
        work()
    seconds = interleaved(contestants, arguments.rounds)
    for name, each in seconds.items():
        clock, processor = (1e3 * median(times) for times in each)
        say(f"  {name:<18}{clock:8.2f} ms, {processor:.2f} of processors")
    for name, each in seconds.items():
        if not name.endswith("numpy"):
            kind = name.partition(",")[0]
            say(f"  {name}: ratio to numpy {ratio(seconds[f'{kind}, numpy'], each)}")
    return 0


def made(n_words: int, n_topics: int) -> Tables:
    """Tables as in the middle of a run, from words that are Zipf-distributed and topics that have few of them."""
    rng = np.random.default_rng(7)
    weight = 1.0 / (10.0 + rng.permutation(n_words))
    weight *= n_words / weight.sum()
    truth = weight[:, None] * rng.gamma(0.03, 30.0, (n_words, n_topics))
    truth /= truth.sum(axis=0)
    scale = np.full(n_topics, TOKENS_OF_A_WORD * n_words / n_topics)
    sweep = rng.poisson(truth * scale).astype(np.int32)
    batch = rng.poisson(truth * scale / DOCUMENTS) * float(DOCUMENTS)
    phi = dirichlet.draw_topics(sweep, ETA, LayerAddress(1, 1, 0), Pool(1))
    return Tables(phi, batch, sweep, scale)


def _move(tables: Tables, pool: Pool) -> Callable[[], object]:
    return lambda: diffusion.diffuse_topics(
        tables.phi, tables.batch, ETA, tables.scale, EPS, LayerAddress(1, 1, 0), pool
    )


def _draw(tables: Tables, pool: Pool) -> Callable[[], object]:
    return lambda: dirichlet.draw_topics(tables.sweep, ETA, LayerAddress(1, 1, 0), pool)


def _numpy_move(tables: Tables) -> Callable[[], object]:
    rng = np.random.Generator(np.random.SFC64(1))

    def work() -> FloatArray:
        pace = (tables.batch.sum(axis=0) + ETA * len(tables.phi)) / tables.scale
        kept = tables.scale * np.exp(-pace * EPS) * pace / -np.expm1(-pace * EPS)
        return _divided(rng.standard_gamma(tables.batch + rng.poisson(kept * tables.phi) + ETA))

    return work


def _numpy_draw(tables: Tables) -> Callable[[], object]:
    rng = np.random.Generator(np.random.SFC64(1))
    return lambda: _divided(rng.standard_gamma(tables.sweep + ETA))


def _divided(gammas: FloatArray) -> FloatArray:
    gammas /= gammas.sum(axis=0)
    return gammas


if __name__ == "__main__":
    sys.exit(main())
