"""The confusion matrix as a heat map, and the reliability curve with a table of its numbers."""

from collections.abc import Sequence

from topiary.app.names import plural
from topiary.app.views.html import render
from topiary.app.views.text import SnapshotSource, describe_origin, escape, format_percent
from topiary.engine.hierarchy.class_scores import Reliability

ColourChannels = tuple[int, int, int]
# Colours of the shares 0 and 1 of a row: larger shares differ more from the background in both themes.
_LIGHT: tuple[ColourChannels, ColourChannels] = (238, 241, 234), (0, 32, 76)
_DARK: tuple[ColourChannels, ColourChannels] = (29, 39, 34), (255, 233, 69)


def blend_colour(part: float, *, dark: bool = False) -> str:
    """Return the colour of a share from 0 to 1: darker for more on a light page, brighter for more on a dark one."""
    return "#" + "".join(f"{channel:02x}" for channel in _blend_channels(part, dark=dark))


def choose_ink(part: float, *, dark: bool = False) -> str:
    """Return black or white, whichever is easier to read on the colour of a share."""
    light = _measure_luminance(_blend_channels(part, dark=dark)) + 0.05
    return "#000000" if light / 0.05 >= 1.05 / light else "#ffffff"


def _blend_channels(part: float, *, dark: bool) -> ColourChannels:
    low, high = _DARK if dark else _LIGHT
    fraction = min(1.0, max(0.0, part))
    red, green, blue = (round(start + fraction * (end - start)) for start, end in zip(low, high, strict=True))
    return red, green, blue


def _measure_luminance(colour: ColourChannels) -> float:
    """Return the relative luminance (0 to 1) of a colour, as defined in the Web Content Accessibility Guidelines."""
    shares = (channel / 255 for channel in colour)
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def draw_heat_table(names: Sequence[str], counts: Sequence[Sequence[int]], corner: str, source: SnapshotSource) -> str:
    """Return a square table of counts as HTML, with each cell coloured by its share of the row.

    Parameters
    ----------
    names : sequence of str
        The names of the rows; columns have their numbers instead.
    counts : sequence of sequence of int
    corner : str
        The text of the corner cell, which says what rows and columns are.
    source : SnapshotSource
        The snapshot that the counts come from.
    """
    rows = [
        [
            (count, *_describe_cell(count, count / max(1, sum(row)), f"{names[place]} taken for {names[at]}", source))
            for at, count in enumerate(row)
        ]
        for place, row in enumerate(counts)
    ]
    return render("classes.heat_table", names, rows, corner)


def _describe_cell(count: int, part: float, words: str, source: SnapshotSource) -> tuple[str, str]:
    """Return the colours of a cell, and what it says; nothing for an empty cell."""
    if not count:
        return "", ""
    tip = describe_origin(f"{words}: {plural(count, 'test document')} ({format_percent(part, 1)} of the row)", source)
    background = f"light-dark({blend_colour(part)},{blend_colour(part, dark=True)})"
    ink = f"light-dark({choose_ink(part)},{choose_ink(part, dark=True)})"
    return f"background:{background};color:{ink}", tip


_SIZE, _LEFT, _BELOW = 300.0, 44.0, 40.0  # pixels: side of the square, space for labels at its left and below it


def draw_reliability(curve: Reliability) -> str:
    """Draw accuracy over confidence as SVG; perfect calibration lies on the diagonal, dots grow with their bins."""
    filled = [
        (float(confidence), float(accuracy), int(bin_count))
        for bin_count, confidence, accuracy in zip(*curve, strict=True)
        if bin_count > 0
    ]
    largest = max((count for *_, count in filled), default=1)
    line = " ".join(f"{_place_x(x):.1f},{_place_y(y):.1f}" for x, y, _ in filled)
    dots = "".join(
        f'<circle cx="{_place_x(x):.1f}" cy="{_place_y(y):.1f}" r="{3 + 7 * (count / largest) ** 0.5:.1f}">'
        f"<title>{count:,} documents, {escape(format_percent(x))} sure, {escape(format_percent(y))} right"
        "</title></circle>"
        for x, y, count in filled
    )
    marks = "".join(_draw_grid_line(part / 5) for part in range(6))
    width, height = _LEFT + _SIZE + 12, _SIZE + _BELOW + 12
    middle, y_label_place = _LEFT + _SIZE / 2, f"translate(11 {12 + _SIZE / 2:.0f}) rotate(-90)"
    return (
        f'<svg class="cl-curve" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Reliability curve; the table beneath has its numbers">{marks}'
        f'<path class="cl-ideal" d="M{_place_x(0):.1f} {_place_y(0):.1f}L{_place_x(1):.1f} {_place_y(1):.1f}"/>'
        f'<polyline class="cl-line" points="{line}"/><g class="cl-dots">{dots}</g>'
        f'<text x="{middle:.0f}" y="{height - 4:.0f}" text-anchor="middle">probability of the predicted class</text>'
        f'<text transform="{y_label_place}" text-anchor="middle">predicted rightly</text>'
        "</svg>"
    )


def list_reliability(curve: Reliability, source: SnapshotSource) -> str:
    """Return the bins of a reliability curve as an HTML table; ``source`` is the snapshot of the predictions."""
    n = len(curve.counts)
    rows = [
        (place / n, (place + 1) / n, *figures)
        for place, figures in enumerate(zip(*curve, strict=True))
        if figures[0] > 0
    ]
    return render("classes.bins", rows, source)


def _place_x(part: float) -> float:
    return _LEFT + part * _SIZE


def _place_y(part: float) -> float:
    return 12 + (1 - part) * _SIZE


def _draw_grid_line(part: float) -> str:
    return (
        f'<path class="cl-grid" d="M{_place_x(0):.1f} {_place_y(part):.1f}'
        f'H{_place_x(1):.1f}M{_place_x(part):.1f} {_place_y(0):.1f}V{_place_y(1):.1f}"/>'
        f'<text x="{_place_x(part):.1f}" y="{_place_y(0) + 16:.1f}" text-anchor="middle">{part:g}</text>'
        f'<text x="{_LEFT - 6:.1f}" y="{_place_y(part) + 4:.1f}" text-anchor="end">{part:g}</text>'
    )
