"""Sweeps of three layers of all documents by the graphics processor, against those by the processor.

The first line names the card.  Both begin with topics from clusters of documents.  ``--one-lane`` runs the kernels of
the card on the processor, which proves the script where there is no card and says nothing about speed.
"""

import sys
from collections.abc import Callable, Sequence

from tests.benchmarks.report import corpus_of, interleaved, load, median, parser, ratio, say
from topiary.app.jobs import gpu
from topiary.app.jobs.training import collect_facts
from topiary.app.machine import choose_threads
from topiary.engine import first_topics, models
from topiary.engine.contract import TEST, TRAIN, Batch, Sweeps
from topiary.engine.corpus import Corpus
from topiary.engine.gpu.devices import Device, OneLane
from topiary.engine.hierarchy.evaluate import evaluate_point

SCORED = 500  # test documents in a perplexity


def main(argv: Sequence[str] | None = None) -> int:
    """Print tokens a second of a whole step, how many times the card is faster, and both perplexities."""
    options = parser(__doc__ or "")
    options.add_argument("--layers", default="128-64-32")
    options.add_argument("--warm-up", type=int, default=100, help="sweeps before timing (default 100)")
    options.add_argument("--steps", type=int, default=20, help="sweeps of the card in a round (default 20)")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, default=choose_threads())
    options.add_argument("--one-lane", action="store_true", help="use the processor in place of a card")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    config = models.load("dlda").Config(
        layers=tuple(map(int, arguments.layers.split("-"))), inference="gibbs", start="clusters"
    )
    facts = collect_facts(corpus)
    try:
        card = "one lane" if arguments.one_lane else str(gpu.check_run_on_card("dlda", config, facts))
        device: Device = OneLane() if arguments.one_lane else gpu.open_device(config, facts)
    except gpu.GpuError as error:
        raise SystemExit(str(error)) from None
    say(f"{card}; {len(corpus.documents(TRAIN)):,} documents, {facts.n_tokens:,} tokens, {arguments.layers}; {load()}")
    here, there = f"processor, {arguments.threads} threads", "graphics processor"
    runners = {
        here: _Run(corpus, config, arguments.threads, None),
        there: _Run(corpus, config, arguments.threads, device),
    }
    for run in runners.values():
        run.sweep(arguments.warm_up)
    works: dict[str, Callable[[], object]] = {
        here: lambda: runners[here].sweep(1), there: lambda: runners[there].sweep(arguments.steps)
    }  # fmt: skip
    seconds = interleaved(works, arguments.rounds)
    fast = seconds[there]
    seconds[there] = type(fast)(*([value / arguments.steps for value in each] for each in fast))
    for name, each in seconds.items():
        clock = median(each.clock)
        say(f"  {name:<24}{1e3 * clock:10.2f} ms a sweep, {facts.n_tokens / clock / 1e6:10.1f} M tokens/s")
    say(f"  ratio {ratio(seconds[here], seconds[there])}")
    scores = ", ".join(f"{name} {run.score():.1f}" for name, run in runners.items())
    say(f"  point perplexity of the mean topics: {scores}")
    return 0


class _Run:
    """A run that goes on by some sweeps at a time."""

    def __init__(self, corpus: Corpus, config: object, threads: int, device: Device | None) -> None:
        module = models.load("dlda")
        self.kernel = module.build(config, collect_facts(corpus), n_threads=threads, device=device)
        self.corpus = corpus
        train = corpus.documents(TRAIN)
        self.docs: Batch = corpus.batch(train)
        first = self.kernel.init_from_documents(1, corpus.batch(first_topics.sample_documents(train)))
        self.state = self.kernel.prepare(1, first, self.docs)

    def sweep(self, n: int) -> None:
        """Take some steps."""
        for _ in range(n):
            self.state, _ = self.kernel.step(1, self.state, self.docs)

    def score(self) -> float:
        """The point perplexity of some test documents under the mean topics."""
        observed, scored = self.corpus.split_tokens(self.corpus.documents(TEST)[:SCORED])
        state = self.kernel.find_shown_state(self.state)
        return evaluate_point(self.kernel, 1, state, observed, scored, Sweeps(50, 100, 2))


if __name__ == "__main__":
    sys.exit(main())
