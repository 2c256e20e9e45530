"""One node as SVG: the outline, the words, the gist for looking from afar, the handle to fold it."""

import re
from collections.abc import Collection
from typing import NamedTuple

from app.views.palette import Theme, layer_border, layer_colour
from app.views.text import escape
from app.views.tree.boxes import HEAD, HEADER, LEADING, PADDING, Box, Picture

TINT = 0.36  # opacity of the strongest opinion
_BOLD = ' font-weight="700"'


class Marking(NamedTuple):
    """Words of a box that stand out: in which colour, underlined or struck through."""

    words: Collection[str]
    colour: str
    line: str


PLAIN = Marking((), "", "")


def svg_text(x: float, y: float, size: float, fill: str, text: str, more: str = "") -> str:
    """Write one line of text, escaped; ``more`` are further attributes as they stand."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{fill}"{more}>{escape(text)}</text>'


def outline(box: Box, theme: Theme) -> str:
    """Draw the box in the colour and border style of its layer."""
    colour, border = layer_colour(theme, box.node.layer), layer_border(box.node.layer)
    dash = f' stroke-dasharray="{border.dash}"' if border.dash else ""
    stroke = f'stroke="{colour}" stroke-width="{border.width}"{dash}'
    outer = _rect(box.width, box.height, f'class="tp-box" rx="7" fill="{theme.box}" {stroke}')
    if not border.double:
        return outer
    inner = f'x="2.5" y="2.5" rx="4.8" fill="none" stroke="{colour}" stroke-width=".9"'
    return outer + _rect(box.width - 5, box.height - 5, inner)


def words(box: Box, theme: Theme, marking: Marking = PLAIN) -> str:
    """Write rank, share with its bar, the given name, and the words, some of them marked."""
    colour, font, ink = layer_colour(theme, box.node.layer), box.font, _ink(box, theme)
    baseline, bar = PADDING + font * 0.92, PADDING + font * (HEAD - 0.42)
    full = box.width - 2 * PADDING
    at = f'x="{PADDING}" y="{bar:.1f}" rx="1" fill="{colour}"'
    pieces = [
        svg_text(PADDING, baseline, font * HEADER, colour, box.rank, _BOLD),
        svg_text(
            box.width - PADDING, baseline, font * 0.82, theme.muted, box.share, ' class="tp-share" text-anchor="end"'
        ),
        _rect(full, 2, f'{at} opacity=".18"'),
        _rect(max(2.0, full * box.bar), 2, at),
    ]
    y = PADDING + font * (HEAD + 0.78)
    if box.name:
        pieces.append(svg_text(PADDING, y, font, ink, box.name, _BOLD))
        y += LEADING * font
    if box.picture is None:
        rows = _rows(box.lines, PADDING, y, LEADING * font, marking)
        pieces.append(f'<text font-size="{font:.1f}" fill="{ink}">{rows}</text>')
    else:
        pieces.append(_picture(box.picture))
    kind = "tp-words" if box.picture is None else "tp-shown"
    return f'<g class="{kind}">{"".join(pieces)}</g>'


def gist(box: Box, theme: Theme, marking: Marking = PLAIN) -> str:
    """Write what stands in the box when the picture is small: few words, large, and the rank on a tab."""
    if box.picture is not None:
        return ""
    width = 11.0 + 9.5 * len(box.rank)
    tab = _rect(width, 21, f'x="-7" y="-10" rx="7" fill="{layer_colour(theme, box.node.layer)}"')
    rank = svg_text(width / 2 - 7, 6.5, 16, theme.box, box.rank, f' text-anchor="middle"{_BOLD}')
    text = _gist_lines(box, box.gist, box.gist_font, theme, marking, "tp-lines")
    if box.lead and box.gist != (box.lead,):
        text += _gist_lines(box, (box.lead,), box.lead_font, theme, marking, "tp-lead")
    return f'<g class="tp-gist"><g class="tp-rank-tab">{tab}{rank}</g>{text}</g>'


def _gist_lines(box: Box, lines: tuple[str, ...], size: float, theme: Theme, marking: Marking, kind: str) -> str:
    return centred(lines, (box.width / 2, (box.height + 9) / 2), size, _ink(box, theme), kind, marking)


def centred(
    lines: tuple[str, ...], at: tuple[float, float], size: float, fill: str, kind: str, marking: Marking = PLAIN
) -> str:
    """Write lines below each other, their middle ``at`` a place; ``kind`` is their class."""
    leading = 1.15 * size
    rows = _rows(lines, at[0], at[1] - (len(lines) - 1) * leading / 2 + size * 0.36, leading, marking)
    return f'<text class="{kind}" font-size="{size:.1f}" fill="{fill}" text-anchor="middle">{rows}</text>'


def opinion(box: Box, theme: Theme, part: float, text: str) -> str:
    """Tint a box by what its topic says of a class, from -1 to 1, and write the number on a tab at its head."""
    colour = theme.speaks if part > 0 else theme.denies
    tint = _rect(box.width, box.height, f'class="tp-tint" rx="7" fill="{colour}" opacity="{TINT * abs(part):.3f}"')
    width = 10.0 + 6.6 * len(text)
    tab = _rect(width, 17, f'rx="5" fill="{theme.box}" stroke="{colour}" stroke-width="1.4"')
    word = svg_text(width / 2, 12.2, 11, theme.ink, text, f' text-anchor="middle"{_BOLD}')
    place = f'transform="translate({box.width - width + 5:.1f} -11)"'  # above the line of rank and share
    return f'{tint}<g {place} class="tp-opinion"><g class="tp-grow">{tab}{word}</g></g>'


def handle(box: Box, theme: Theme, more: int | None, *, below: bool, live: bool) -> str:
    """Draw the button on the border: ``+12`` where topics are folded away, a minus where they can be.

    A file shows only the first kind.
    """
    if more is None and not live:
        return ""
    text = "−" if more is None else f"+{more}"
    width = 12.0 + 7.0 * len(text)
    shut = "" if more is None else " tp-shut"
    kind = f' class="tp-toggle{shut}"' if live else ""
    sign = svg_text(0, 4, 12, theme.box, text, f' text-anchor="middle"{_BOLD}')
    pill = _rect(width, 18, f'x="{-width / 2:.1f}" y="-9" rx="9" fill="{layer_colour(theme, box.node.layer)}"')
    y = box.height if below else 0.0
    return f'<g transform="translate({box.width / 2:.1f} {y:.1f})"{kind}><g class="tp-grow">{pill}{sign}</g></g>'


def _ink(box: Box, theme: Theme) -> str:
    return theme.muted if box.quiet else theme.ink


def _picture(picture: Picture) -> str:
    place = f'x="{PADDING}" y="{picture.top:.1f}" width="{picture.width:.1f}" height="{picture.height:.1f}"'
    return f'<image href="{picture.uri}" {place} style="image-rendering:pixelated"/>'


def _rect(width: float, height: float, more: str) -> str:
    return f'<rect width="{width:.1f}" height="{height:.1f}" {more}/>'


def _rows(lines: tuple[str, ...], x: float, y: float, leading: float, marking: Marking) -> str:
    return "".join(
        f'<tspan x="{x:.1f}" y="{y + row * leading:.1f}">{_line(line, marking)}</tspan>'
        for row, line in enumerate(lines)
    )


def _line(line: str, marking: Marking) -> str:
    if not marking.words:
        return escape(line)
    look = f'fill="{marking.colour}" font-weight="600" text-decoration="{marking.line}"'
    marked = "|".join(re.escape(word) for word in sorted(marking.words, key=len, reverse=True))
    parts = re.split(rf"(?<!\S)({marked})(?!\S)", line)  # every second one is a marked word, which may have blanks
    return "".join(f"<tspan {look}>{escape(part)}</tspan>" if i % 2 else escape(part) for i, part in enumerate(parts))
