"""Text from corpora, made safe and measured: the only door from a word or a title to markup."""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# Characters XML 1.0 forbids even when escaped; one of them would make a whole SVG or GraphML unreadable.
_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Advance widths of Helvetica, thousandths of an em, from space to tilde (its public AFM metrics).
# Python has no browser to ask; these were wide enough for every sans-serif looked at.
_ADVANCES = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS = {chr(32 + place): int(width) / 1000 for place, width in enumerate(_ADVANCES.split())}


def printable(text: str) -> str:
    """Replace what XML cannot carry (control characters, lone surrogates) by the replacement mark."""
    return _UNPRINTABLE.sub("\ufffd", text)


def escape(text: object) -> str:
    """Make any text safe between tags and inside quoted attributes, of HTML and of XML."""
    return html.escape(printable(str(text)), quote=True)


def shorten(text: str, most: int) -> str:
    """Cut a text longer than ``most`` characters and say so by an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@lru_cache(maxsize=65536)
def text_width(text: str) -> float:
    """Width of a line of text in ems."""
    return sum(_letter_width(letter) for letter in text)


def wrap(words: Sequence[str], width: float) -> list[str]:
    """Break words into lines of at most ``width`` ems (a wider word gets its own line)."""
    lines: list[str] = []
    for word in words:
        if lines and text_width(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def percent(share: float) -> str:
    """Write a share for people: ``4.1%``, ``0.37%``, ``<0.01%``."""
    if share >= 0.0995:
        return f"{100 * share:.0f}%"
    if share >= 0.00995:
        return f"{100 * share:.1f}%"
    return f"{100 * share:.2f}%" if share >= 0.0001 or share == 0.0 else "<0.01%"


def number(value: float) -> str:
    """Write a weight for people, three significant digits: ``0.0731``, ``12.4``, ``3.2e-05``."""
    return f"{value:.3g}"


def _letter_width(letter: str) -> float:
    known = _WIDTHS.get(letter)
    if known is not None:
        return known
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.62
