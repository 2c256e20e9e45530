"""Perplexity by time of the ways to begin and go on that ``inference=auto`` chooses from, and their curves.

Trained on a corpus of a store: sweeps from the start; one pass of mini-batches (TLASGR), then sweeps; mini-batches
alone.  Judged by the mean topics on validation documents, which is not timed.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tests.benchmarks.report import load, parser, say
from tests.benchmarks.topics import add_validation
from topiary.app.jobs import plan as plans
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.run_rules import propose_widths
from topiary.app.plots.style import COLOURS, RULE, make_settings
from topiary.engine import models
from topiary.engine.contract import TRAIN, VALIDATION
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import evaluate
from topiary.store import corpora
from topiary.store.database import open_existing

PACE = 1.25  # from one point of a curve to the next, in seconds of training
ENDLESS = 10**6  # steps: time ends the runs
JUDGED = 600  # validation documents
SHOWN = (3, 10, 30, 100)  # seconds in the table

Curve = list[tuple[float, float]]


def list_ways(documents: int) -> dict[str, dict[str, str | int]]:
    """Return the settings of the ways, by name."""
    one_pass = max(1, documents // 200)
    return {
        "sweeps": {"inference": "gibbs"},
        "one pass of mini-batches, then sweeps": {"inference": "auto", "first_minibatches": one_pass},
        "mini-batches": {"inference": "tlasgr"},
    }


def draw_curve(
    corpus: Corpus, settings: dict[str, str | int], seed: int, seconds: float
) -> Iterator[tuple[float, float]]:
    """Yield seconds of training and the perplexity of validation documents."""
    module = models.load("dlda")
    layers = propose_widths(len(corpus.documents(TRAIN)), corpus.count_tokens(TRAIN))
    kernel = module.build(module.Config(layers=layers, **settings), mathematics.collect_facts(corpus), n_threads=2)
    training = mathematics.Training(corpus, kernel, module.State, seed)
    training.warm_up(averaged=False)
    judged = corpus.split_tokens(np.sort(corpus.documents(VALIDATION)[:JUDGED]))
    began = time.perf_counter()
    state = training.first_state()
    effort = mathematics.measure_effort(training, state, 1.0, corpus.count_tokens(TRAIN) / corpus.counts.n_documents)
    plan = mathematics.plan_run(training, plans.RunOptions(minibatches=ENDLESS, threads=2), effort)
    position = training.start(state, plan)
    spent, due = time.perf_counter() - began, 0.5
    while spent < seconds:
        began = time.perf_counter()
        position, _ = training.step(position)
        spent += time.perf_counter() - began
        if spent >= due:
            due = max(due, spent) * PACE
            yield spent, evaluate.evaluate_point(kernel, 1, kernel.find_shown_state(position.state), *judged)


def draw_picture(path: Path, curves: dict[str, dict[str, Curve]]) -> None:
    """Write one panel of curves for each corpus."""
    with mpl.rc_context(make_settings() | {"lines.linewidth": 1.2}):
        figure = Figure(figsize=(3.3 * len(curves), 2.7), layout="constrained")
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for panel, (name, by_way) in zip(panels, curves.items(), strict=True):
            for colour, (way, curve) in zip(COLOURS, by_way.items(), strict=False):
                panel.plot(*zip(*curve, strict=True), color=colour, label=way)
            panel.set(xscale="log", yscale="log", xlabel="seconds of training", ylabel="point perplexity")
            panel.set_title(name, fontsize=7)
            panel.grid(color=RULE, linewidth=0.4)
            for axis in (panel.xaxis, panel.yaxis):
                axis.set_major_formatter("{x:,.0f}")
            panel.yaxis.set_minor_formatter("{x:,.0f}")
        panels[0].legend(fontsize=6)
        bare = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(path, dpi=200, metadata=bare if path.suffix == ".svg" else None)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the perplexity of every way after some seconds, and draw the curves."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("store", help="file or database URL of the store")
    options.add_argument("corpora", nargs="+", metavar="CORPUS")
    options.add_argument("--seconds", type=float, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--picture", type=Path, metavar="FILE", help="also draw the curves (.svg, .png)")
    arguments = options.parse_args(argv)
    db, curves = open_existing(arguments.store), dict[str, dict[str, Curve]]()
    say(f"perplexity after {', '.join(map(str, SHOWN))} seconds; {load()}")
    for name in arguments.corpora:
        corpus = add_validation(load_corpus(db, corpora.find_corpus(db, name)))
        curves[name] = {}
        for way, settings in list_ways(len(corpus.documents(TRAIN))).items():
            curve = curves[name][way] = list(draw_curve(corpus, settings, arguments.seed, arguments.seconds))
            figures = (min(curve, key=lambda point: abs(point[0] - seconds)) for seconds in SHOWN)
            say(f"{name}: {way:40} " + "  ".join(f"{perplexity:,.0f}" for _, perplexity in figures))
    db.close()
    if arguments.picture is not None:
        draw_picture(arguments.picture, curves)
    return 0


if __name__ == "__main__":
    sys.exit(main())
