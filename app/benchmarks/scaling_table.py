"""The table and the picture of ``topiary benchmark scaling``."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from app.benchmarks.scaling import Model, Row
from app.plots.style import COLOURS, MUTED, RULE, rc

MANY = 10_000_000  # documents that the prediction is for
MOST = 512  # processes that it reaches to
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
    gain = float(model.step(MOST, MANY) / model.step(MOST, MANY, tree=True))
    return [
        f"T(P) = {model.work:.2f} s / P + {1e3 * model.each:.1f} ms P + {1e3 * (model.move + model.rest):.0f} ms, "
        f"fitted to the rows with processes; {model.documents:,} documents",
        f"it bends at {model.bend():.0f} processes for these documents, and at {model.bend(MANY):.0f} for {MANY:,}, "
        f"where a step takes {float(model.step(model.bend(MANY), MANY)):.2f} s",
        f"sent and added by a tree of workers, a step of {MANY:,} documents on {MOST} processes would be {gain:.1f} "
        f"times as fast, and the curve would bend at {model.bend(MANY, tree=True):,.0f}",
        f"{filled:.0%} of the numbers that come back are not 0, so that sparse ones would "
        + ("help" if filled < 0.4 else "be no smaller"),
    ]


def picture(model: Model, rows: Sequence[Row], processors: int, path: Path) -> None:
    """Write the measured steps and the predicted ones; the file's ending says how (.svg, .png, .pdf)."""
    on = sorted((row for row in rows if row.processes), key=lambda row: row.processes)
    measured = np.array([row.processes for row in on])
    with mpl.rc_context(rc() | {"lines.linewidth": 1.2, "lines.markersize": 4}):
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
        figure.savefig(path, dpi=200)


def _megabytes(n: int) -> str:
    return f"{n / 1e6:,.1f} MB" if n < 1e7 else f"{n / 1e6:,.0f} MB"
