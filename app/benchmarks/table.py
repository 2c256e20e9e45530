"""The tables of fidelity as text, row by row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.benchmarks import distances
from app.jobs.progress import format_duration

if TYPE_CHECKING:
    from app.benchmarks.fidelity import Row

NOTE = """\
All documents pooled; 70 % of each one's tokens are read and 30 % scored.  The published figures are of raw counts
of 20 Newsgroups, cut with --words 2000.  20news_data.mat holds log-compressed ones, ceil(ln(1 + n)): there levels
differ, and only distances to DLDA-TLASGR compare.  Rows without
+3 are the paper's algorithm and settings; WHAI+3 is ours: sweeps move the topics, and three Gibbs sweeps a layer
follow the encoder."""
PROTOCOL = """\
Averaged protocol: after every step one sweep of each test document under the topics of then; the rates of the last
3/7 of the steps are added up and score the held-out tokens.  Point: the last topics alone.  "A document" is the time
for all sweeps of one test document."""
WITHIN = 2.0  # percent above DLDA-TLASGR that WHAI may be
_WIDE = {"dpfa": 13, "dpfa-wiki": 13}  # letters of the longest name of a row
NOISE = 0.5  # percent that two runs of one row may differ by


def head(name: str) -> str:
    """The line above the rows of a table."""
    second = "to TLASGR" if name == "datm" else "difference"
    third = "" if name != "datm" else f"{'published':>11}"
    sampler = f"{'sampler':<{_WIDE.get(name, 8)}}"
    return (
        f"{sampler}{'layers':<12}{'seed':>5}{'averaged':>10}{'published':>11}{second:>12}{third}"
        f"{'point':>8}{'training':>15}{'in all':>15}{'a document':>12}"
    )


def line(row: "Row", rows: "Sequence[Row]", engine: str) -> str:
    """One row; a star marks figures of another version of the engine.

    In the tables of DLDA and DPFA the difference is to the published figure; in DATM's the distance to the row of
    DLDA-TLASGR of the same size and seed among ``rows``, and beside it the published distance.
    """
    table, _, name = row.trial.partition(" ")
    inference, _, widths = name.partition(":")
    far = row.difference if table != "datm" else distances.distance(row, rows)
    report = f"{'-':>12}" if far is None else f"{far:>+11.2f}%"
    if table == "datm":
        report += f"{distances.published(row):>+10.2f}%"
    sampler = f"{inference.upper():<{_WIDE.get(table, 8)}}"
    return (
        f"{sampler}{widths:<12}{row.seed:>5}{row.averaged:>10.1f}{row.published:>11.0f}{report}"
        f"{row.point:>8.1f}{format_duration(row.training_seconds):>15}{format_duration(row.seconds):>15}"
        f"{1e3 * row.test_seconds:>9.1f} ms" + ("" if row.engine == engine else " *")
    )


def summary(name: str, rows: "Sequence[Row]") -> list[str]:
    """What the rows of one table say together."""
    return _of_datm(rows) if name == "datm" else _of_differences(rows)


def _of_differences(rows: "Sequence[Row]") -> list[str]:
    """Means over seeds, and rows more than 1 % above their figure."""
    means = {trial: _mean([row.difference for row in rows if row.trial == trial]) for trial in _trials(rows)}
    lines = []
    if len(rows) > len(means):
        lines += [f"mean over seeds: {trial} {means[trial]:+.2f} %" for trial in sorted(means)]
    above = sorted(trial for trial, difference in means.items() if difference > 1.0)
    if above:
        lines.append(f"more than 1 % above the published figure: {', '.join(above)}")
    else:
        lines.append("every figure is at most 1 % above the published one")
    return lines


def _of_datm(rows: "Sequence[Row]") -> list[str]:
    """Mean distances to DLDA-TLASGR, whether WHAI is near it, and whether depth ever hurts WHAI."""
    lines = [NOTE]
    far: dict[str, float] = {}
    for trial in _trials(rows):
        known = [each for row in rows if row.trial == trial and (each := distances.distance(row, rows)) is not None]
        if known and not trial.startswith("datm tlasgr"):
            far[trial] = _mean(known)
    near = {trial: value for trial, value in far.items() if trial.startswith("datm whai")}
    for trial, value in near.items():
        verdict = "within" if value <= WITHIN else "not within"
        lines.append(f"{trial.partition(' ')[2].upper()} is {value:+.2f} % from DLDA-TLASGR: {verdict} {WITHIN:g} %")
    if not near:
        lines.append("no distance of WHAI: it needs the row of TLASGR of the same size and seed")
    return lines + _depth(rows)


def _depth(rows: "Sequence[Row]") -> list[str]:
    """A sentence for every WHAI that is worse than a shallower one by more than noise."""
    lines, means = [], {}
    for trial in _trials(rows):
        sampler, _, widths = trial.partition(" ")[2].partition(":")
        if sampler.startswith("whai"):
            means[sampler, widths] = _mean([row.averaged for row in rows if row.trial == trial])
    for (sampler, widths), value in means.items():
        for (other, shallower), less in means.items():
            if other == sampler and widths.startswith(f"{shallower}-") and value > less * (1 + NOISE / 100):
                lines.append(f"{sampler.upper()} {widths} is {100 * (value / less - 1):.2f} % worse than {shallower}")
    return lines


def _trials(rows: "Sequence[Row]") -> list[str]:
    return list(dict.fromkeys(row.trial for row in rows))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
