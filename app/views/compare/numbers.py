"""How far two hierarchies agree, as a strip of numbers beside those of another seed."""

import math
from html import escape

from app.analysis.changes import Agreement
from app.views.palette import hue
from app.views.text import percent

_TIPS = {
    "score": "Mean score of the matched topics of this layer: 1 is the same words under the same parents, 0 no word in "
    "common.",
    "matched": "Share of the layer's popularity that lies in topics with a partner.",
    "edges": "1: every line of either tree is in the other. F1 of the edges above the threshold.",
    "correlation": "1: the same weights. Correlation of the square roots of all edge weights of matched topics.",
}


def agreement_strip(now: Agreement, base: Agreement | None, sentence: str, short: str = "") -> str:
    """Write the numbers.

    Parameters
    ----------
    now : Agreement
        Of the two runs on screen.
    base : Agreement or None
        Of two runs that differ in their seed only: what to expect when nothing but chance differs.
    sentence : str
        Where the baseline comes from, or how to get one; "" while it is looked for.
    short : str
        HTML above the numbers: the change in words.
    """
    cells = [_layer(now, base, place) for place in range(len(now.scores) - 1, -1, -1)]
    cells.append(_cell("Lines kept", _ratio(now.edges), _beside(now.edges, base and base.edges), _TIPS["edges"]))
    report = _beside(now.correlation, base and base.correlation)
    cells.append(_cell("Line weights", _ratio(now.correlation), report, _TIPS["correlation"]))
    said = escape(sentence) or "Looking for another seed of these runs, to compare with …"
    return f'{short}<div class="tp-kpis cm-kpis">{"".join(cells)}</div><p class="cm-base">{said}</p>'


def _layer(now: Agreement, base: Agreement | None, place: int) -> str:
    known = base is not None and place < len(base.scores)
    score = _beside(now.scores[place], base.scores[place] if base is not None and known else None)
    mass = percent(now.matched[place])
    note = f'{score}{" · " if score else ""}<span title="{_TIPS["matched"]}">{mass} of the weight matched</span>'
    if base is not None and known:
        note += f" (seed {percent(base.matched[place])})"
    name = f'<i class="cm-dot" style="{hue(place + 1)}"></i>Likeness, layer {place + 1}'
    return _cell(name, _ratio(now.scores[place]), note, _TIPS["score"])


def _beside(value: float, base: float | None) -> str:
    if base is None or not math.isfinite(base):
        return ""
    if not math.isfinite(value):
        return f"seed to seed {_ratio(base)}"
    word = "above" if value > base + 0.005 else "below" if value < base - 0.005 else "like"
    return f"{word} seed to seed {_ratio(base)}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"


def _cell(name: str, value: str, note: str, tip: str) -> str:
    return (
        f'<div class="tp-kpi" title="{tip}"><span class="tp-kpi-name">{name}</span><b>{value}</b>'
        f'<span class="tp-dim">{note}</span></div>'
    )
