"""The cost of a step on 1, 2, 4 ... processes: ``python -m tests.benchmarks.scaling --help``."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from tests.benchmarks import scaling_model
from tests.benchmarks.commands import run_benchmark
from tests.benchmarks.scaling_model import Model, Row
from tests.benchmarks.synthetic import store_corpus
from topiary.app.cli.console import Parser, read_whole, say
from topiary.app.jobs.cluster.place import check_place
from topiary.app.jobs.progress import Progress
from topiary.app.plots.style import COLOURS, MUTED, RULE, make_settings
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_database, open_existing

MANY = 10_000_000  # documents that the prediction is for
MOST = 512  # processes that it reaches to
NETWORK = 1e9  # bits a second, of a network slower than the loopback that was measured
HEAD = (
    f"{'':<24}{'step':>9}{'sweep':>9}{'move':>9}{'the rest':>10}{'times one':>11}"
    f"{'topics out':>12}{'back':>10}{'not 0':>7}{'memory':>10}{'held':>10}"
)


def line(row: Row, base: Row) -> str:
    """One row; ``base`` is one process of one thread without a cluster."""
    threads = f"{row.threads} thread{'' if row.threads == 1 else 's'}"
    if not row.processes:
        swept = row.step - row.move
        return (
            f"{'one process, ' + threads:<24}{row.step:>8.2f}s{swept:>8.2f}s{row.move:>8.3f}s{'':>10}"
            f"{base.step / row.step:>11.2f}"
        )
    name = f"{row.processes} process{'' if row.processes == 1 else 'es'} of 1 thread"
    return (
        f"{name:<24}{row.step:>8.2f}s{row.gather:>8.2f}s{row.move:>8.3f}s{row.overhead:>9.3f}s"
        f"{base.step / row.step:>11.2f}{_megabytes(row.out):>12}{_megabytes(row.back):>10}{row.filled:>6.0%} "
        f"{_megabytes(row.memory):>9}{_megabytes(row.held):>10}"
    )


def sentences(model: Model, rows: Sequence[Row]) -> list[str]:
    """What the model says: its constants, where its curve bends, and what would move the bend."""
    filled = max(row.filled for row in rows if row.processes)
    sent = max(row.out + row.back for row in rows)
    network = model._replace(each=model.each + 8 * sent / NETWORK)
    gain = float(model.step(MOST, MANY) / model.step(MOST, MANY, tree=True))
    return [
        f"T(P) = {model.work:.2f} s / P + {1e3 * model.each:.1f} ms P + {1e3 * (model.move + model.rest):.0f} ms, "
        f"fitted to the rows with processes; {model.documents:,} documents",
        f"it bends at {model.bend():.0f} processes for these documents, and at {model.bend(MANY):.0f} for {MANY:,}, "
        f"where a step takes {float(model.step(model.bend(MANY), MANY)):.2f} s",
        f"on a network of {NETWORK / 1e9:.0f} Gbit/s a worker costs {8e3 * sent / NETWORK:.0f} ms more, and it bends "
        f"at {network.bend():.0f} and {network.bend(MANY):.0f}",
        f"sent and added by a tree of workers, a step of {MANY:,} documents on {MOST} processes would be {gain:.1f} "
        f"times as fast, and the curve would bend at {model.bend(MANY, tree=True):,.0f}",
        f"{filled:.0%} of the numbers that come back are not 0, so that sparse ones would "
        + ("help" if filled < 0.4 else "be no smaller"),
    ]


def _megabytes(n: int) -> str:
    return f"{n / 1e6:,.1f} MB" if n < 1e7 else f"{n / 1e6:,.0f} MB"


def picture(model: Model, rows: Sequence[Row], processors: int, path: Path) -> None:
    """Write the measured steps and the predicted ones; the file's ending says how (.svg, .png, .pdf)."""
    on = sorted((row for row in rows if row.processes), key=lambda row: row.processes)
    measured = np.array([row.processes for row in on])
    with mpl.rc_context(make_settings() | {"lines.linewidth": 1.2, "lines.markersize": 4}):
        figure = Figure(figsize=(6.6, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2)
        fine = np.geomspace(1, MOST, 200)
        here = np.linspace(1, measured.max(), 100)
        shared = model.work / np.minimum(here, processors) + model.each * here + model.move + model.rest
        left.plot(here, shared, color=COLOURS[0], label=f"model, {processors} processors")
        left.plot(measured, [row.step for row in on], "o", color=COLOURS[1], label="measured")
        left.set(xlabel="processes", ylabel="seconds a step", ylim=(0, None), xticks=measured)
        left.set_title(f"{model.documents:,} documents, this machine", fontsize=7)
        for documents, colour in ((model.documents, COLOURS[2]), (MANY, COLOURS[0])):
            for tree in (False, True):
                steps = model.step(fine, documents, tree=tree)
                right.plot(
                    fine, model.step(1, documents) / steps, color=colour, linestyle="dashed" if tree else "solid",
                    label=f"{documents:,} documents" + (", by a tree" if tree else ""),
                )  # fmt: skip
        right.plot(fine, fine, color=MUTED, linewidth=0.6, label="ideal")
        own = [row for row in on if row.processes <= processors]  # the others share processors
        at, times = [row.processes for row in own], [on[0].step / row.step for row in own]
        right.plot(at, times, "o", color=COLOURS[1], label="measured")
        right.set(xscale="log", yscale="log", xlabel="processes, a processor each", ylabel="times as fast as one")
        right.set_title("predicted", fontsize=7)
        right.set(ylim=(0.5, 2 * MOST), xticks=(1, 8, 64, MOST), yticks=(1, 8, 64, MOST))
        for axis in (right.xaxis, right.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        for axes, where in ((left, "lower left"), (right, "upper left")):
            axes.grid(color=RULE, linewidth=0.4)
            axes.legend(loc=where, fontsize=6)
        bare = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # the same rows make the same file
        figure.savefig(path, dpi=200, metadata=bare if path.suffix.lower() == ".svg" else None)


TOKENS, WORDS = 94, 2000  # of a synthetic document, and of the vocabulary


def build_parser() -> Parser:
    """Return the parser of this benchmark."""
    about = "Seconds of a step on several processes, and a model of many machines."
    parser = Parser(prog="python -m tests.benchmarks.scaling", description=about)
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="name or number of a corpus (default: synthetic)")
    parser.add_argument("--store", metavar="URL", help="file or database URL of the store")
    parser.add_argument(
        "--documents", type=read_whole(100), default=800_000, help="of a synthetic corpus (default 800000)"
    )
    parser.add_argument("--layers", default="128-64-32", help="topics per layer of DLDA (default 128-64-32)")
    parser.add_argument("--processes", type=_numbers, default=(1, 2, 4, 8), help="to measure (default 1,2,4,8)")
    parser.add_argument(
        "--steps", type=read_whole(3), default=6, help="sweeps of each; the first does not count (default 6)"
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="also draw measurement and prediction (.svg, .png)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows and the model to this file")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table of scaling."""
    return run_benchmark(print_table, build_parser(), argv)


def print_table(arguments: argparse.Namespace) -> None:
    """Measure and print row by row, then what the model says."""
    check_place("local:1", "")
    if arguments.corpus is not None:
        db = open_existing(arguments.store)
        return _measure(db, corpora.find_corpus(db, arguments.corpus), arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        db, n = open_database(Path(folder) / "store.db"), arguments.documents
        try:
            say(f"making {n:,} synthetic documents")
            _measure(db, store_corpus(db, "synthetic", documents=n, words=WORDS, tokens=n * TOKENS), arguments)
        finally:
            db.close()


def _measure(db: Database, about: CorpusRow, arguments: argparse.Namespace) -> None:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    setting = scaling_model.Setting(arguments.layers, arguments.steps, processors)
    say(
        f"{about.name}: {about.train_documents:,} training documents, {about.tokens:,} tokens, {about.words:,} words; "
        f"DLDA by Gibbs, {arguments.layers}; medians of {arguments.steps - 1} steps on {processors} processors\n"
        f"{HEAD}"
    )
    progress, rows = Progress(), list[Row]()
    for threads in sorted({1, processors}):
        progress.show(f"one process, threads: {threads}")
        rows.append(scaling_model.alone(db, about, threads, setting))
        say(line(rows[-1], rows[0]))
    for processes in arguments.processes:
        progress.show(f"processes: {processes}")
        rows.append(scaling_model.spread(db, about, processes, setting))
        say(line(rows[-1], rows[0]))
    progress.end()
    model = scaling_model.fitted(rows, about.train_documents, processors)
    say("\n" + "\n".join(sentences(model, rows)))
    if arguments.picture is not None:
        picture(model, rows, processors, arguments.picture)
    if arguments.json is not None:
        found = {"rows": [row._asdict() for row in rows], "model": model._asdict()}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


def _numbers(text: str) -> tuple[int, ...]:
    read = read_whole(1)
    return tuple(sorted({read(part) for part in text.split(",")}))


if __name__ == "__main__":
    sys.exit(main())
