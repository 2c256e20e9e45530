"""Tables of counts as heat-maps: one ramp from faint to strong, with the number in every cell."""

from collections.abc import Sequence

from app.views.text import escape, percent, shorten
from app.views.traced import Source, said

Colour = tuple[int, int, int]
# From nothing of a row to all of it: more stands out more from the ground of either side.
_LIGHT: tuple[Colour, Colour] = (238, 241, 234), (0, 32, 76)
_DARK: tuple[Colour, Colour] = (29, 39, 34), (255, 233, 69)


def colour(part: float, *, dark: bool = False) -> str:
    """The colour of a part, 0 to 1: darker where it is more, on the dark side brighter."""
    return "#" + "".join(f"{channel:02x}" for channel in _mixed(part, dark=dark))


def ink(part: float, *, dark: bool = False) -> str:
    """Black or white, whichever is read better on that colour."""
    light = _luminance(_mixed(part, dark=dark)) + 0.05
    return "#000000" if light / 0.05 >= 1.05 / light else "#ffffff"


def _mixed(part: float, *, dark: bool) -> Colour:
    low, high = _DARK if dark else _LIGHT
    place = min(1.0, max(0.0, part))
    red, green, blue = (round(one + place * (other - one)) for one, other in zip(low, high, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    """Relative luminance, as the guidelines for contrast on the web define it."""
    shares = (channel / 255 for channel in colour)
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def heat_table(names: Sequence[str], counts: Sequence[Sequence[int]], corner: str, source: Source) -> str:
    """Write a square table of counts, each row coloured by its parts.

    Parameters
    ----------
    names : sequence of str
        Of the rows and, numbered, of the columns.
    counts : sequence of sequence of int
    corner : str
        What rows and columns are.
    source : Source
        The snapshot that the counts come from.
    """
    heads = "".join(
        f'<th scope="col" title="{escape(name)}"><span>{place}</span></th>' for place, name in enumerate(names, start=1)
    )
    rows = "".join(_row(place, names, row, source) for place, row in enumerate(counts))
    return (
        f'<div class="cl-scroll" tabindex="0" role="region" aria-label="{escape(corner)}"><table class="cl-heat">'
        f'<thead><tr><th class="cl-corner" scope="col">{escape(corner)}</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(place: int, names: Sequence[str], row: Sequence[int], source: Source) -> str:
    total = max(1, sum(row))
    head = f'<th scope="row" title="{escape(names[place])}"><b>{place + 1}</b> {escape(shorten(names[place], 26))}</th>'
    cells = "".join(
        _cell(count, count / total, f"{names[place]} taken for {names[k]}", source) for k, count in enumerate(row)
    )
    return f"<tr>{head}{cells}</tr>"


def _cell(count: int, part: float, words: str, source: Source) -> str:
    if count == 0:
        return '<td class="cl-none">·</td>'
    tip = said(f"{words}: {count:,} test document{'' if count == 1 else 's'} ({percent(part, 1)} of the row)", source)
    ground = f"light-dark({colour(part)},{colour(part, dark=True)})"
    letters = f"light-dark({ink(part)},{ink(part, dark=True)})"
    return f'<td style="background:{ground};color:{letters}" title="{escape(tip)}">{count:,}</td>'
