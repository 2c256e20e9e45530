"""The picture of ``topiary benchmark scaling``: measured steps beside those that its model predicts."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from app.benchmarks.scaling import Model, Row
from app.benchmarks.scaling_table import MANY, MOST
from app.plots.style import COLOURS, MUTED, RULE, rc


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
        bare = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # the same rows make the same file
        figure.savefig(path, dpi=200, metadata=bare if path.suffix.lower() == ".svg" else None)
