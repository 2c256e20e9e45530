"""Tables of counts as heat-maps: Cividis, told apart by everybody, with the number in every cell."""

from collections.abc import Sequence

from app.views.text import escape, percent, shorten

# Anchors of the Cividis map (Nunez, Anderton and Renslow 2018), dark to light.
_CIVIDIS = (
    *((0, 32, 76), (49, 68, 107), (87, 93, 109), (124, 123, 120)),
    *((165, 156, 116), (210, 193, 100), (255, 233, 69)),
)
_LIGHT_FROM = 0.47  # from here on black is easier to read than white


def colour(part: float) -> str:
    """The colour of a part, 0 to 1."""
    place = min(1.0, max(0.0, part)) * (len(_CIVIDIS) - 1)
    low = min(int(place), len(_CIVIDIS) - 2)
    mixed = (
        round(one + (place - low) * (other - one)) for one, other in zip(_CIVIDIS[low], _CIVIDIS[low + 1], strict=True)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink(part: float) -> str:
    """Black or white, whichever is read on that colour."""
    return "#000000" if part >= _LIGHT_FROM else "#ffffff"


def heat_table(names: Sequence[str], counts: Sequence[Sequence[int]], corner: str) -> str:
    """Write a square table of counts, each row coloured by its parts.

    Parameters
    ----------
    names : sequence of str
        Of the rows and, numbered, of the columns.
    counts : sequence of sequence of int
    corner : str
        What rows and columns are.
    """
    heads = "".join(
        f'<th scope="col" title="{escape(name)}"><span>{place}</span></th>' for place, name in enumerate(names, start=1)
    )
    rows = "".join(_row(place, names, row) for place, row in enumerate(counts))
    return (
        f'<div class="cl-scroll" tabindex="0" role="region" aria-label="{escape(corner)}"><table class="cl-heat">'
        f'<thead><tr><th class="cl-corner" scope="col">{escape(corner)}</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(place: int, names: Sequence[str], row: Sequence[int]) -> str:
    total = max(1, sum(row))
    head = f'<th scope="row" title="{escape(names[place])}"><b>{place + 1}</b> {escape(shorten(names[place], 26))}</th>'
    cells = "".join(_cell(count, count / total, f"{names[place]} taken for {names[k]}") for k, count in enumerate(row))
    return f"<tr>{head}{cells}</tr>"


def _cell(count: int, part: float, words: str) -> str:
    if count == 0:
        return '<td class="cl-none">·</td>'
    tip = f"{words}: {count:,} ({percent(part, 1)} of the row)"
    return f'<td style="background:{colour(part)};color:{ink(part)}" title="{escape(tip)}">{count:,}</td>'
