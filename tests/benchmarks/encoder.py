"""DATM's encoder against Gibbs sweeps: placing documents, and a mini-batch of training, on one thread.

Placing: ``infer`` of DATM against ``infer`` of DLDA (its own number of sweeps), the same documents and widths, and
against the 600 sweeps of the point perplexity; and what rates held-out words, the encoder and its ``refine`` sweeps.
Training: a WHAI mini-batch against TLASGR ones, with the paper's 20 burn-in and 10 collected sweeps a layer and with
the default number.
Documents have about ``--tokens`` words; the matrix library is held to one thread.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from tests.benchmarks.report import Seconds, interleaved, load, median, parser, ratio, say
from tests.benchmarks.synthetic import small_corpus
from topiary.engine import models
from topiary.engine.contract import TRAIN, Batch, Facts, Kernel, Sweeps
from topiary.engine.corpus import Corpus, draw_minibatch

SIZE = 200
PAPER = Sweeps(200, 400, 2)  # of the point perplexity
PLACING, SPEED = 10.0, 5000.0  # times faster than Gibbs; documents a second and core


def main(argv: Sequence[str] | None = None) -> int:
    """Print what placing and training cost, with their targets."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--layers", default="128-64-32")
    options.add_argument("--words", type=int, default=2000, help="words of the vocabulary (default 2000)")
    options.add_argument("--tokens", type=int, default=100, help="words of a document (default 100)")
    options.add_argument("--documents", type=int, default=1600, help="documents (default 1600)")
    options.add_argument("--swept", type=int, default=100, help="of them placed by Gibbs sweeps (default 100)")
    options.add_argument("--warm-up", type=int, default=20, help="mini-batches before timing (default 20)")
    options.add_argument("--steps", type=int, default=3, help="mini-batches in a round (default 3)")
    options.add_argument("--rounds", type=int, default=5)
    arguments = options.parse_args(argv)
    corpus = small_corpus(arguments.documents, arguments.words, arguments.tokens)
    layers = tuple(map(int, arguments.layers.split("-")))
    say(f"{arguments.layers}, {arguments.words:,} words, documents of {arguments.tokens} words; {load()}")
    with threadpool_limits(1):
        datm, dlda = (_Trained(name, corpus, layers, arguments.warm_up) for name in ("datm", "dlda"))
        inferred(datm, dlda, corpus, arguments.swept, arguments.rounds)
        short = _Trained("dlda", corpus, layers, arguments.warm_up, burn_in=5, collect=5)
        training({"WHAI": datm, "TLASGR, 20 + 10": dlda, "TLASGR, 5 + 5": short}, arguments.steps, arguments.rounds)
    return 0


def inferred(datm: "_Trained", dlda: "_Trained", corpus: Corpus, swept: int, rounds: int) -> None:
    """Documents a second, and how many times faster than sweeps."""
    documents = corpus.documents(TRAIN)
    everyone, some = corpus.batch(documents), corpus.batch(documents[:swept])
    sizes = {"encoder": len(documents), "refined": len(documents), "sweeps": swept, "600 sweeps": swept}
    contestants: dict[str, Callable[[], Any]] = {
        "encoder": lambda: datm.place(everyone, None),
        "refined": lambda: datm.rate(everyone),
        "sweeps": lambda: dlda.place(some, None),
        "600 sweeps": lambda: dlda.place(some, PAPER),
    }
    for work in contestants.values():  # compiles
        work()
    each = {
        name: Seconds(*([t / sizes[name] for t in times] for times in seconds))
        for name, seconds in interleaved(contestants, rounds).items()
    }
    say("placing a document")
    for name, seconds in each.items():
        clock, processor = (median(times) for times in seconds)
        say(f"  {name:<12}{1e6 * clock:10.0f} us, {1e6 * processor:.0f} of processors; {1 / processor:,.0f} a second")
    say(f"  ratio of sweeps to encoder {ratio(each['sweeps'], each['encoder'])}; target {PLACING:g}")
    for name in ("encoder", "refined"):
        say(f"  ratio of 600 sweeps to {name} {ratio(each['600 sweeps'], each[name])}; target {PLACING:g}")
    rate = 1 / median(each["encoder"].processor)
    say(f"  ratio of documents a second and core to the target of {SPEED:,.0f}: {rate / SPEED:.2f}")


def training(models_of: dict[str, "_Trained"], steps: int, rounds: int) -> None:
    """A mini-batch of WHAI, first, and of the others."""
    contestants = {name: lambda model=model: model.train(steps) for name, model in models_of.items()}
    seconds = interleaved(contestants, rounds)
    say(f"a mini-batch of {SIZE} documents")
    for name, each in seconds.items():
        clock, processor = (1e3 * median(times) / steps for times in each)
        say(f"  {name:<18}{clock:8.1f} ms, {processor:.1f} of processors")
    first, *others = seconds
    for name in others:
        say(f"  ratio of {name} to {first} {ratio(seconds[name], seconds[first])}; target above 1")


class _Trained:
    """A model with its state after some mini-batches."""

    def __init__(self, name: str, corpus: Corpus, layers: tuple[int, ...], steps: int, **settings: int) -> None:
        self._corpus, self._documents = corpus, corpus.documents(TRAIN)
        module = models.load(name)
        facts = Facts(corpus.n_words, len(self._documents))
        chosen = {"inference": "tlasgr"} if name == "dlda" else {}  # mini-batches on both sides
        config = module.Config(layers=layers, batch_size=SIZE, **chosen, **settings)
        self._kernel: Kernel = module.build(config, facts, n_threads=1)
        self._state = self._kernel.init(1)
        self.train(steps)

    def train(self, steps: int) -> None:
        """Some mini-batches more."""
        for _ in range(steps):
            rows = draw_minibatch(1, int(self._state.t) + 1, self._documents, SIZE)
            self._state, _ = self._kernel.step(1, self._state, self._corpus.batch(rows))

    def place(self, docs: Batch, sweeps: Sweeps | None) -> Any:
        """Activations of documents."""
        return self._kernel.infer(1, self._state, docs, sweeps)

    def rate(self, docs: Batch) -> Any:
        """One sample of the rates of words, as the averaged perplexity adds them up."""
        chain = self._kernel.start_chain(1, self._state, docs)
        return self._kernel.advance_chain(1, self._state, chain, docs, docs, Sweeps(0, 1))


if __name__ == "__main__":
    sys.exit(main())
