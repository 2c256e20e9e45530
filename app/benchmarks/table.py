"""The table of fidelity as text, row by row."""

from collections.abc import Sequence

from app.benchmarks.fidelity import Row
from app.progress import duration

HEAD = (
    f"{'sampler':<8}{'layers':<12}{'seed':>5}{'averaged':>10}{'published':>11}{'difference':>12}"
    f"{'point':>8}{'training':>15}{'in all':>15}"
)


def line(row: Row, engine: str) -> str:
    """One row; a star marks figures of another version of the engine."""
    inference, _, widths = row.trial.partition(" ")[2].partition(":")
    star = "" if row.engine == engine else " *"
    return (
        f"{inference.upper():<8}{widths:<12}{row.seed:>5}{row.averaged:>10.1f}{row.published:>11.0f}"
        f"{row.difference:>+11.2f}%{row.point:>8.1f}{duration(row.training_seconds):>15}{duration(row.seconds):>15}{star}"
    )


def summary(rows: Sequence[Row]) -> list[str]:
    """What the rows say together: means over seeds, and rows more than 1 % above their figure."""
    means = {trial: _mean([row.difference for row in rows if row.trial == trial]) for trial in {r.trial for r in rows}}
    lines = []
    if len(rows) > len(means):
        lines += [f"mean over seeds: {trial} {means[trial]:+.2f} %" for trial in sorted(means)]
    above = sorted(trial for trial, difference in means.items() if difference > 1.0)
    if above:
        lines.append(f"more than 1 % above the published figure: {', '.join(above)}")
    else:
        lines.append("every figure is at most 1 % above the published one")
    return lines


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
