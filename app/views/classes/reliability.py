"""Whether predictions are as sure as they are right: the reliability curve as SVG, with its numbers as a table."""

from app.views.text import escape, percent
from app.views.traced import Source, traced
from engine.hierarchy.class_scores import Reliability

_SIZE, _LEFT, _BELOW = 300.0, 44.0, 40.0
_COLUMNS = (
    "Probability of the predicted class: those of these predictions lie between the two",
    "Test documents whose prediction is as sure as that",
    "Their mean probability of the predicted class, in percent",
    "Part of them that were predicted rightly, in percent",
)


def reliability_chart(curve: Reliability) -> str:
    """Draw accuracy over confidence; a perfect prediction lies on the diagonal, a dot is as large as its bin."""
    filled = [(float(s), float(r), int(n)) for n, s, r in zip(*curve, strict=True) if n > 0]
    most = max((count for *_, count in filled), default=1)
    line = " ".join(f"{_x(sure):.1f},{_y(right):.1f}" for sure, right, _ in filled)
    dots = "".join(
        f'<circle cx="{_x(sure):.1f}" cy="{_y(right):.1f}" r="{3 + 7 * (count / most) ** 0.5:.1f}">'
        f"<title>{count:,} documents, {escape(percent(sure))} sure, {escape(percent(right))} right</title></circle>"
        for sure, right, count in filled
    )
    marks = "".join(_mark(part / 5) for part in range(6))
    width, height = _LEFT + _SIZE + 12, _SIZE + _BELOW + 12
    middle, across = _LEFT + _SIZE / 2, f"translate(11 {12 + _SIZE / 2:.0f}) rotate(-90)"
    return (
        f'<svg class="cl-curve" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Reliability curve; the table beneath has its numbers">{marks}'
        f'<path class="cl-ideal" d="M{_x(0):.1f} {_y(0):.1f}L{_x(1):.1f} {_y(1):.1f}"/>'
        f'<polyline class="cl-line" points="{line}"/><g class="cl-dots">{dots}</g>'
        f'<text x="{middle:.0f}" y="{height - 4:.0f}" text-anchor="middle">probability of the predicted class</text>'
        f'<text transform="{across}" text-anchor="middle">predicted rightly</text>'
        "</svg>"
    )


def reliability_table(curve: Reliability, source: Source) -> str:
    """Write the bins as a table; ``source`` is the snapshot of the predictions."""
    between, many, mean, correct = (traced(what, source) for what in _COLUMNS)
    bins = len(curve.counts)
    rows = "".join(
        f"<tr><td{between}>{place / bins:.1f} to {(place + 1) / bins:.1f}</td><td{many}>{count:,}</td>"
        f"<td{mean}>{escape(percent(sure, 1))}</td><td{correct}>{escape(percent(right, 1))}</td></tr>"
        for place, (count, sure, right) in enumerate(zip(*curve, strict=True))
        if count > 0
    )
    heads = "".join(f'<th scope="col">{word}</th>' for word in ("probability", "documents", "mean", "right"))
    return f'<table class="cl-table"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _x(part: float) -> float:
    return _LEFT + part * _SIZE


def _y(part: float) -> float:
    return 12 + (1 - part) * _SIZE


def _mark(part: float) -> str:
    return (
        f'<path class="cl-grid" d="M{_x(0):.1f} {_y(part):.1f}H{_x(1):.1f}M{_x(part):.1f} {_y(0):.1f}V{_y(1):.1f}"/>'
        f'<text x="{_x(part):.1f}" y="{_y(0) + 16:.1f}" text-anchor="middle">{part:g}</text>'
        f'<text x="{_LEFT - 6:.1f}" y="{_y(part) + 4:.1f}" text-anchor="end">{part:g}</text>'
    )
