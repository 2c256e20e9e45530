"""How far the chains of documents have come after so many sweeps, with DLDA's collapsed and its plain sampler.

Both have one stationary law, so after long chains their counts agree.  The chains of a mini-batch are short: what
differs after 20 + 10 sweeps, the length of the preset ``paper``, is how much of the start at theta = 1/K is left.
Topics are those of the preset after ``--steps`` mini-batches, and both samplers sweep the same documents with them.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tests.benchmarks.report import corpus_of, load, parser, say
from topiary.engine import models, settings
from topiary.engine.contract import TRAIN, Batch, Facts
from topiary.engine.corpus import Corpus, draw_minibatch
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import LINKS, Sampler
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.models.dlda import kernel as dlda
from topiary.engine.pool import Pool
from topiary.engine.streams import LOCAL, Address

FEW = 20  # tokens
LENGTHS = ((5, 5), (20, 10), (60, 10), (200, 10))


class Counted(NamedTuple):
    """What the counts of some documents look like: means over the kept sweeps."""

    tables: float  # x^(2) of a document, nearly its number of topics
    weak: int  # topics with fewer than FEW tokens in all documents
    entropy: float  # of the topics' shares of all tokens


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for every sampler and length."""
    options = parser(__doc__ or "")
    options.add_argument("--topics", type=int, default=128)
    options.add_argument("--steps", type=int, default=200, help="mini-batches of the preset paper (default 200)")
    options.add_argument("--swept", type=int, default=1_000, help="documents that are swept (default 1,000)")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    say(f"{arguments.topics} topics after {arguments.steps} mini-batches; {load()}")
    state = trained(corpus, arguments.topics, arguments.steps)
    numbers = corpus.documents(TRAIN)
    chosen = np.random.default_rng(3).choice(numbers, min(arguments.swept, len(numbers)), replace=False)
    docs = corpus.batch(np.sort(chosen))
    for name in ("collapsed", "plain"):
        for burn_in, collect in LENGTHS:
            got = count(state, docs, name, burn_in, collect)
            say(
                f"{name:<10}{burn_in:>4} + {collect:<3}{got.tables:8.2f} tables a document, "
                f"{got.weak:4} topics of fewer than {FEW} tokens, entropy of shares {got.entropy:.3f}"
            )
    return 0


def trained(corpus: Corpus, topics: int, steps: int) -> dlda.State:
    """The state of the preset ``paper`` after some mini-batches."""
    module = models.load("dlda")
    texts = {name: text for name, text in module.PRESETS["paper"].items() if name != "minibatches"}
    config = settings.parse(module.Config, texts | {"layers": str(topics)})
    numbers = corpus.documents(TRAIN)
    kernel = module.build(config, Facts(corpus.n_words, len(numbers), n_tokens=corpus.count_tokens(TRAIN)))
    state: dlda.State = kernel.init(1)
    for t in range(1, steps + 1):
        state, _ = kernel.step(1, state, corpus.batch(draw_minibatch(1, t, numbers, kernel.batch_size)))
    return state


def count(state: dlda.State, docs: Batch, name: str, burn_in: int, collect: int) -> Counted:
    """Sweep documents from a fresh start, and say what their counts look like."""
    sampler = Sampler(Hyper(0.01, 0.01, 1.0, 1.0), LINKS["poisson"], name == "collapsed", expected=False, pool=Pool(1))
    glob = sampler.pack_globals(state.phi, state.r, np.unique(docs.words))
    plan, address = SweepPlan(fresh=True, burn_in=burn_in, collect=collect, first_rates=10), Address(1, LOCAL, 1)
    sums, _ = sampler.gather(glob, address, docs, sampler.allocate_locals(glob, docs), plan, int(docs.counts.sum()))
    counts = sampler.scale_counts(glob, address, sums, 1.0 / collect)
    tokens = np.asarray(counts.tables[0], dtype=np.float64).sum(axis=0)
    shares = tokens[tokens > 0] / tokens.sum()
    entropy = float(-(shares * np.log(shares)).sum())
    return Counted(float(counts.top.sum()) / len(docs.documents), int((tokens < FEW).sum()), entropy)


if __name__ == "__main__":
    sys.exit(main())
