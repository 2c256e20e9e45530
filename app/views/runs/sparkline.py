"""A line the size of a word."""

from collections.abc import Sequence
from math import isfinite

WIDTH, HEIGHT, EDGE = 132, 34, 3


def sparkline(values: Sequence[float], label: str = "") -> str:
    """Draw ``values`` as SVG text, scaled to their own range; empty where there are fewer than two.

    The last value carries a dot; ``label`` is read out instead of the picture.
    """
    finite = [(place, value) for place, value in enumerate(values) if isfinite(value)]
    if len(finite) < 2:
        return f'<svg class="tp-spark" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true"></svg>'
    low, high = min(value for _, value in finite), max(value for _, value in finite)
    across = (WIDTH - 2 * EDGE) / (finite[-1][0] - finite[0][0])
    down = (HEIGHT - 2 * EDGE) / (high - low) if high > low else 0.0
    spots = [
        (EDGE + (place - finite[0][0]) * across, EDGE + (high - value) * down if down else HEIGHT / 2)
        for place, value in finite
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    x, y = spots[-1]
    about = f'role="img" aria-label="{label}"' if label else 'aria-hidden="true"'
    return (
        f'<svg class="tp-spark" viewBox="0 0 {WIDTH} {HEIGHT}" {about}>'
        f'<polygon points="{EDGE},{HEIGHT} {line} {x:.1f},{HEIGHT}"/><polyline points="{line}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/></svg>'
    )
