"""Coherence and diversity of two runs beside each other, a line a layer."""

import math
from collections.abc import Callable, Sequence

from app.analysis.comparison import Comparison
from app.analysis.hierarchy import measure_coherence
from app.analysis.seeds import SeedSpread
from app.views.markup import element
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


def coherence_table(comparison: Comparison, spread: SeedSpread | None = None) -> str:
    """Write the figures of both runs, the top layer first; nothing where neither snapshot has any.

    The better one is bold where the two differ by more than two seeds of one model (``spread``); where no second seed
    tells that, none is.
    """
    a, b = measure_coherence(comparison.a), measure_coherence(comparison.b)
    depth = max(len(a), len(b))
    if not depth:
        return ""
    heads = "".join(f'<th scope="col" colspan="2" title="{tip}">{name}</th>' for name, tip, _ in _COLUMNS)
    sides = '<th scope="col">A</th><th scope="col">B</th>' * len(_COLUMNS)
    rows = "".join(_row(layer, _at(a, layer), _at(b, layer), _gaps(spread, layer)) for layer in range(depth, 0, -1))
    same = comparison.a.corpus == comparison.b.corpus
    said = _NO_SEED if spread is None else _BOLD
    said = f'<p class="tp-dim">{said if same else "The two corpora differ: these figures do not compare."}</p>'
    return (
        '<div class="cm-quality"><table aria-label="Coherence and diversity of the live topics">'
        f'<thead><tr><th scope="col" rowspan="2">Live topics</th>{heads}</tr><tr>{sides}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{said}"
    )


def _at(layers: Sequence[Coherence], layer: int) -> _Side:
    return layers[layer - 1] if layer <= len(layers) else None


_NO_SEED = "No figure is bold: without a second seed of a run nobody knows which differences are more than chance."
_OF_RUN = "Of the live topics of the layer; the head of the column says what"
_BOLD = "Bold: better by more than two seeds of one model differ."


def _gaps(spread: SeedSpread | None, layer: int) -> tuple[float, ...]:
    """The largest differences between two seeds; infinite where they are not known."""
    if spread is None or layer > len(spread.gaps):
        return (math.inf,) * len(_COLUMNS)
    return tuple(gap if math.isfinite(gap) else math.inf for gap in spread.gaps[layer - 1])


def _row(layer: int, a: _Side, b: _Side, gaps: tuple[float, ...]) -> str:
    cells = "".join(_pair(figure, a, b, gap) for (_, _, figure), gap in zip(_COLUMNS, gaps, strict=True))
    return f'<tr><th scope="row"><i class="cm-dot" style="{hue(layer)}"></i>Layer {layer}</th>{cells}</tr>'


def _pair(figure: Callable[[Coherence], float], a: _Side, b: _Side, gap: float) -> str:
    values = [math.nan if each is None else figure(each) for each in (a, b)]
    best = max((value for value in values if math.isfinite(value)), default=math.nan)
    tied = f"{values[0]:.3f}" == f"{values[1]:.3f}" or not abs(values[0] - values[1]) > gap
    tip = _OF_RUN if math.isinf(gap) else f"{_OF_RUN}; two seeds of one model differ by up to {gap:.3f}"
    return "".join(element("td", _value(value, best=value == best and not tied), title=tip) for value in values)


def _value(value: float, *, best: bool) -> str:
    if not math.isfinite(value):
        return '<span class="tp-dim">–</span>'
    written = f"{value:.3f}".replace("-", "\u2212")
    return f"<b>{written}</b>" if best else written
