"""How far two hierarchies agree, as a strip of numbers beside what two seeds of one model reach."""

import math

from app.analysis.comparison import Agreement
from app.analysis.seeds import ROUNDED, UNKNOWN, Range, SeedSpread, at, below
from app.views.compare.verdict import written
from app.views.palette import hue
from app.views.text import percent

_TIPS = {
    "score": "Mean score of the matched topics of this layer: 1 is the same words under the same parents, 0 no word in "
    "common.",
    "matched": "Share of the layer's popularity that lies in topics with a partner.",
    "edges": "1: every edge of either tree is in the other. F1 of the edges above the threshold.",
    "correlation": "1: the same weights. Correlation of the square roots of all edge weights of matched topics.",
}


def agreement_strip(now: Agreement, spread: SeedSpread | None) -> str:
    """Write the numbers.

    Parameters
    ----------
    now : Agreement
        Of the two runs on screen.
    spread : SeedSpread or None
        What two seeds of one model reach: what to expect when nothing but chance differs.
    """
    cells = [_layer(now, spread, place) for place in range(len(now.scores) - 1, -1, -1)]
    usual = spread or UNKNOWN
    cells.append(_cell("Edges kept", _ratio(now.edges), _beside(now.edges, usual.edges), _TIPS["edges"]))
    report = _beside(now.correlation, usual.correlation)
    cells.append(_cell("Edge weights", _ratio(now.correlation), report, _TIPS["correlation"]))
    return f'<div class="tp-kpis cm-kpis">{"".join(cells)}</div>'


def _layer(now: Agreement, spread: SeedSpread | None, place: int) -> str:
    usual = spread or UNKNOWN
    score = _beside(now.scores[place], at(usual.scores, place))
    matched = at(usual.matched, place)
    note = f'{score}{" · " if score else ""}<span title="{_TIPS["matched"]}">{percent(now.matched[place])} '
    note += "of the weight matched</span>"
    if matched is not None:
        ends = dict.fromkeys((percent(matched.low), percent(matched.high)))
        note += f" (two seeds {' to '.join(ends)})"
    name = f'<i class="cm-dot" style="{hue(place + 1)}"></i>Likeness, layer {place + 1}'
    return _cell(name, _ratio(now.scores[place]), note, _TIPS["score"])


def _beside(value: float, usual: Range | None) -> str:
    """What two seeds reach, and whether the figure is lower than all of that."""
    if usual is None:
        return ""
    if not math.isfinite(value):
        return f"two seeds {written(usual)}"
    return f"{_stands(value, usual)} two seeds {written(usual)}"


def _stands(value: float, usual: Range) -> str:
    if below(value, usual):
        return '<strong class="cm-below">below</strong>'
    return "above" if value > usual.high + ROUNDED else "like"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"


def _cell(name: str, value: str, note: str, tip: str) -> str:
    return (
        f'<div class="tp-kpi" title="{tip}"><span class="tp-kpi-name">{name}</span><b>{value}</b>'
        f'<span class="tp-dim">{note}</span></div>'
    )
