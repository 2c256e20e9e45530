"""The table of topics by time as text: medians over seeds, and what they say together."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from app.benchmarks.topics import OURS, Row

HEAD = (
    f"{'':<10}{'budget':>7}{'took':>7}{'steps':>6}{'perplexity':>11}  {'layer':<6}{'live':>8}{'NPMI':>7}{'worst':>7}"
    f"{'div.':>6}{'test':>7}{'aff.':>6}{'NMI':>6}  |{'NPMI':>6}{'worst':>7}{'div.':>6}"
)
NOTE = """\
Seconds of training alone, evaluation of the curve included; steps are sweeps, iterations or passes.  Perplexity: of
the mean topics (of peers, of those they give), 20 % of the tokens of test documents held out, 20 + 20 sweeps, the same
for all; NMF has no law of documents.
NPMI: document NPMI of the ten heaviest words in training documents, mean over topics of at least 0.1 % of the tokens
and over their worst tenth; div.: distinct words among them; test: the same words in test documents; aff.: cosine with
children less cosine with others; NMI: strongest topic beside the labels.  Right of the bar: the ten words that pages
show, by relevance."""
LDA = ("tomotopy", "sklearn")
HAIR = 0.01  # of NPMI


def lines(rows: Sequence[Row]) -> list[str]:
    """One line for every method, budget and layer of one corpus: medians over seeds."""
    keys = dict.fromkeys((row.method, row.budget, row.layer) for row in rows)
    return [_line([row for row in rows if (row.method, row.budget, row.layer) == key]) for key in keys]


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Whether ours is at least the best LDA's, corpus by corpus and budget by budget."""
    said = []
    for budget in sorted({row.budget for row in rows}):
        here = [row for row in rows if row.budget == budget and row.layer == 1]
        names = list(dict.fromkeys(row.corpus for row in here if row.method == OURS))
        pairs = [_pair([row for row in here if row.corpus == name]) for name in names]
        if not pairs or any(math.isnan(pair.npmi) for pair in pairs):
            continue
        more = sum(pair.npmi >= 0.0 for pair in pairs)
        near = sum(pair.npmi >= -HAIR for pair in pairs)
        lower = sum(pair.perplexity < 0.0 for pair in pairs)
        wider = sum(pair.diversity >= 0.0 for pair in pairs)
        said.append(
            f"{budget:g} s: NPMI of layer 1 at least the best LDA's on {more} of {len(pairs)} corpora (within .01 on "
            f"{near}), diversity not lower than that LDA's on {wider}, perplexity below every LDA's on {lower}"
        )
    return said


class _Pair:
    """Ours less the best LDA's, of one corpus and budget, medians over seeds."""

    def __init__(self, ours: Iterable[Row], others: dict[str, list[Row]]) -> None:
        mine = list(ours)
        best = max(others.values(), key=lambda rows: _median(rows, "npmi"), default=[])
        self.npmi = _median(mine, "npmi") - _median(best, "npmi")
        self.diversity = _median(mine, "diversity") - _median(best, "diversity")
        lowest = min((_median(rows, "perplexity") for rows in others.values()), default=math.nan)
        self.perplexity = _median(mine, "perplexity") - lowest


def _pair(rows: Sequence[Row]) -> _Pair:
    others = {name: [row for row in rows if row.method == name] for name in LDA}
    return _Pair((row for row in rows if row.method == OURS), {name: found for name, found in others.items() if found})


def _median(rows: Sequence[Row], field: str) -> float:
    values = [value for row in rows if not math.isnan(value := float(getattr(row, field)))]
    return median(values) if values else math.nan


def _line(rows: Sequence[Row]) -> str:
    def of(field: str, width: int, digits: int = 3) -> str:
        value = _median(rows, field)
        text = "-" if math.isnan(value) else f"{value:,.{digits}f}"
        return f"{text.replace('0.', '.', 1) if text.lstrip('-').startswith('0.') else text:>{width}}"

    one = rows[0]
    first = (
        f"{one.method:<10}{one.budget:>5g} s{of('seconds', 7, 1)}{of('steps', 6, 0)}{of('perplexity', 11, 0)}"
        if one.layer == 1
        else " " * 41
    )
    live = f"{_median(rows, 'live'):.0f}/{one.topics}"
    return (
        f"{first}  {one.layer:<6}{live:>8}{of('npmi', 7)}{of('worst', 7, 2)}{of('diversity', 6, 2)}{of('held_out', 7)}"
        f"{of('affinity', 6, 2)}{of('nmi', 6, 2)}  |{of('shown_npmi', 6)}{of('shown_worst', 7, 2)}"
        f"{of('shown_diversity', 6, 2)}"
    )
