"""What implicit gradients of a deep exponential family gain over score functions.

The noise of both at the same state, and the evidence lower bound after equal processor time, with one thread.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.completion import begun, kernel_of
from tests.benchmarks.report import corpus_of, load, parser, say
from topiary.engine import settings, streams
from topiary.engine.black_box import inference, kernel, weights
from topiary.engine.contract import TRAIN, Batch, Facts, FloatArray, Kernel
from topiary.engine.corpus import Corpus
from topiary.engine.models.deep_exp_family import kernel as deep_exp_family

SEED = 1
FEW = 50  # documents whose gradients are estimated
ESTIMATES = 8


class Trained(NamedTuple):
    """A model after its steps: its bound in nats a document, and the processor seconds of all steps."""

    state: Any
    elbo: float
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    """Print both comparisons."""
    options = parser(__doc__ or "")
    options.add_argument("--layers", default="100-30-15", help="topics per layer (default 100-30-15, the paper's)")
    options.add_argument("--train", type=int, default=2_000, help="training documents, at most (default 2,000)")
    options.add_argument("--seconds", type=float, default=60.0, help="processor seconds of each gradient (default 60)")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    docs = corpus.batch(corpus.documents(TRAIN)[: arguments.train])
    say(f"{len(docs.documents):,} training documents, {int(docs.counts.sum()):,} tokens; one thread; {load()}")
    for name, values in noise(corpus, docs, arguments.layers).items():
        say(f"  {name:<28} {values}")
    for gradient in ("implicit", "score"):
        run = until(corpus, docs, arguments.seconds, arguments.layers, gradient)
        say(f"  {gradient:<28} ELBO {run.elbo:.1f} after {run.seconds:.0f} processor s, {int(run.state.t)} steps")
    return 0


def noise(corpus: Corpus, docs: Batch, layers: str) -> dict[str, str]:
    """Standard deviation of one estimate of the gradients of layer 1 of some documents, at the same state."""
    few = docs.cells.rows(0, FEW).batch(docs.documents[:FEW], docs.labels[:FEW])
    start = begun_at(corpus, docs, layers, 20)
    found = {}
    for gradient in ("implicit", "score"):
        config = settings.parse(deep_exp_family.Config, {"layers": layers, "gradient": gradient})
        plan = deep_exp_family.make_plan(config, Facts(corpus.n_words, len(docs.documents)))
        local = inference.Params(*(each[:FEW] for each in kernel.get_units(start)))
        began, matrices = time.process_time(), kernel.get_weights(start)
        stacked = np.stack([gradients(plan, seed, 1, matrices, few, local) for seed in range(ESTIMATES)])
        seconds = (time.process_time() - began) / ESTIMATES
        spread, size = stacked.std(axis=0, ddof=1), np.abs(stacked.mean(axis=0))
        found[gradient] = (
            f"deviation {np.sqrt((spread**2).mean()):.3g} (median {np.median(spread):.3g}), "
            f"size of the mean {np.sqrt((size**2).mean()):.3g}, {seconds:.2f} processor s each"
        )
    return found


def gradients(
    plan: inference.InferencePlan,
    seed: int,
    t: int,
    matrices: tuple[weights.Weights, ...],
    docs: Batch,
    local: inference.Params,
) -> FloatArray:
    """Return one estimate of the gradients of documents' parameters, (documents, T, parameters), as a step takes it."""
    trace, step = (
        inference._make_trace(plan, docs),
        inference._DocumentStep(plan, seed, streams.LOCAL, t, docs, local, plan.control_samples),
    )
    sums, terms = step.init_sums(), inference._make_terms(plan, wanted=plan.uses_scores)
    draws = plan.samples if plan.uses_scores else plan.draws
    each = 1 if plan.is_pathwise else plan.samples // draws
    for i in range(draws * each):
        given = inference._fix_weights(plan, inference._draw_weights(plan, seed, t, i // each, matrices))
        step.add_sample(given, i, sums, terms, trace)
    if plan.is_pathwise:
        return np.asarray(sums / draws, dtype=np.float64)
    n, total, places = sums.gradient.shape
    kept = draws * each - plan.control_samples
    return np.array(
        [
            [[weights.estimate_gradient(sums, j, k, p, kept) for p in range(places)] for k in range(total)]
            for j in range(n)
        ]
    )


def begun_at(corpus: Corpus, docs: Batch, layers: str, steps: int) -> Any:
    """The state after so many steps of implicit gradients."""
    kernel = _kernel(corpus, docs, layers, "implicit")
    state = begun(kernel, SEED, docs)
    for _ in range(steps):
        state, _ = kernel.step(SEED, state, docs)
    return state


def until(corpus: Corpus, docs: Batch, seconds: float, layers: str, gradient: str) -> Trained:
    """A DEF after so many seconds of one processor, its bound the mean over five looks with implicit gradients."""
    kernel = _kernel(corpus, docs, layers, gradient)
    state = begun(kernel, SEED, docs)
    kernel.step(SEED, state, docs)  # compiled
    began = time.process_time()
    while time.process_time() - began < seconds:
        state, _ = kernel.step(SEED, state, docs)
    took = time.process_time() - began
    judge = _kernel(corpus, docs, layers, "implicit")
    looks = [judge.step(SEED + 1 + look, state, docs)[1].elbo for look in range(5)]
    return Trained(state, float(np.mean(looks)), took)


def _kernel(corpus: Corpus, docs: Batch, layers: str, gradient: str) -> Kernel:
    return kernel_of(docs, corpus.n_words, {"layers": layers, "gradient": gradient}, threads=1)


if __name__ == "__main__":
    sys.exit(main())
