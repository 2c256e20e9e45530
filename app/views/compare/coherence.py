"""Coherence and diversity of two runs beside each other, a line a layer."""

import math
from collections.abc import Callable, Sequence

from app.analysis.coherence import coherence_of
from app.analysis.comparison import Comparison
from app.views.palette import hue
from engine.quality.measures import Coherence

_Side = Coherence | None
_COLUMNS: tuple[tuple[str, str, Callable[[Coherence], float]], ...] = (
    (
        "NPMI",
        "How often the ten first words of a topic meet in training documents: 1 always, 0 as by chance, -1 never; "
        "mean over the live topics",
        lambda each: each.mean_npmi,
    ),
    ("Worst tenth", "NPMI of the tenth of the live topics where it is lowest", lambda each: each.worst_tenth),
    (
        "Diversity",
        "Distinct words among the ten first of the live topics: 1 when no two topics share a word",
        lambda each: each.diversity,
    ),
)


def coherence_table(comparison: Comparison) -> str:
    """Write the figures of both runs, the top layer first; nothing where neither snapshot has any."""
    a, b = coherence_of(comparison.a), coherence_of(comparison.b)
    depth = max(len(a), len(b))
    if not depth:
        return ""
    heads = "".join(f'<th scope="col" colspan="2" title="{tip}">{name}</th>' for name, tip, _ in _COLUMNS)
    sides = '<th scope="col">A</th><th scope="col">B</th>' * len(_COLUMNS)
    rows = "".join(_row(layer, _at(a, layer), _at(b, layer)) for layer in range(depth, 0, -1))
    same = comparison.a.corpus == comparison.b.corpus
    said = "" if same else '<p class="tp-dim">The two corpora differ: these figures do not compare.</p>'
    return (
        '<div class="cm-quality"><table aria-label="Coherence and diversity of the live topics">'
        f'<thead><tr><th scope="col" rowspan="2">Live topics</th>{heads}</tr><tr>{sides}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{said}"
    )


def _at(layers: Sequence[Coherence], layer: int) -> _Side:
    return layers[layer - 1] if layer <= len(layers) else None


def _row(layer: int, a: _Side, b: _Side) -> str:
    cells = "".join(_pair(figure, a, b) for _, _, figure in _COLUMNS)
    return f'<tr><th scope="row"><i class="cm-dot" style="{hue(layer)}"></i>Layer {layer}</th>{cells}</tr>'


def _pair(figure: Callable[[Coherence], float], a: _Side, b: _Side) -> str:
    values = [math.nan if each is None else figure(each) for each in (a, b)]
    best = max((value for value in values if math.isfinite(value)), default=math.nan)
    tied = f"{values[0]:.3f}" == f"{values[1]:.3f}"
    return "".join(f"<td>{_value(value, best=value == best and not tied)}</td>" for value in values)


def _value(value: float, *, best: bool) -> str:
    if not math.isfinite(value):
        return '<span class="tp-dim">–</span>'
    written = f"{value:.3f}".replace("-", "\u2212")
    return f"<b>{written}</b>" if best else written
