"""Escaping, measuring and formatting of text: numbers, times and states in words, and words and titles of a corpus.

Every word or title of a corpus is escaped here for markup.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import markupsafe

if TYPE_CHECKING:
    from topiary.app.jobs.estimates import Estimate

# Characters that XML 1.0 forbids even when escaped; a single one makes a whole SVG or GraphML file unreadable.
_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_JOINER = "\u200d"  # makes one sign of the emoji around it
_JOINED = re.compile(f"{_JOINER}.")

_BREAK = re.compile(r"(?:<br\s*/?>\s*)+", re.IGNORECASE)

# Advance widths in thousandths of an em, from space to tilde: the wider of Inter (on the page) and Helvetica
# (in files).  Inter is wider in small sizes than in large ones, so it is measured at 14 pixels, its smallest
# design.  The browser's font is not known here; these widths are enough for all sans-serif fonts that were tried.
_ADVANCES = (
    "292 298 476 644 652 992 667 310 375 375 511 672 299 470 299 371 641 556 620 628 656 604 631 576 629 631 299 "
    "312 672 672 672 556 1015 700 667 741 732 667 611 778 754 279 581 682 576 914 764 778 667 778 722 667 656 755 "
    "700 996 693 689 639 375 371 375 482 556 333 572 623 582 623 593 381 624 602 253 253 559 253 886 601 610 623 "
    "623 387 538 338 602 572 829 556 572 563 437 343 437 672 "
)
_WIDTHS = {chr(32 + place): int(width) / 1000 for place, width in enumerate(_ADVANCES.split())}


def replace_unprintable(text: str) -> str:
    """Replace characters that XML forbids (control characters, lone surrogates) by the replacement character."""
    return _UNPRINTABLE.sub("\ufffd", text)


def escape(text: object) -> str:
    """Return a text escaped for use between tags and inside quoted attributes, in HTML and XML."""
    return str(markupsafe.escape(replace_unprintable(str(text))))


def break_lines(text: str) -> str:
    """Replace HTML line breaks, which are frequent in reviews and mails, by newlines."""
    return _BREAK.sub("\n", text)


LONGEST_TITLE = 44  # letters of the title of a topic in lists, boxes and choices; longer ones are whole on hover


def shorten(text: str, most: int) -> str:
    """Cut a text longer than ``most`` characters and end it with an ellipsis."""
    return text if len(text) <= most else _cut(text, most - 1)


def shorten_words(text: str, longest: int) -> str:
    """Cut a text at its first word longer than ``longest`` characters, within the word, and end it with an ellipsis."""
    for word in re.finditer(r"\S+", text):
        if len(word[0].rstrip(",")) > longest:
            return _cut(text, word.start() + longest - 1)
    return text


def _cut(text: str, place: int) -> str:
    """Return the beginning of a text with an ellipsis; accents and joined emoji stay with what they belong to."""
    while 0 < place < len(text) and (_belongs_to_last(text[place]) or text[place - 1] == _JOINER):
        place -= 1
    return text[:place].rstrip(" ,") + "…"


def _belongs_to_last(letter: str) -> bool:
    return letter == _JOINER or unicodedata.category(letter).startswith("M") or "\U0001f3fb" <= letter <= "\U0001f3ff"


def end_sentence(text: str) -> str:
    """Return a text with a full stop added, unless it already ends like a sentence.

    >>> end_sentence("two of three are empty"), end_sentence("is it the right column?")
    ('two of three are empty.', 'is it the right column?')
    """
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def write_sentence(text: str) -> str:
    """Return a message, such as a refusal, as a sentence.

    >>> write_sentence("the corpus has no 'pilot'")
    "The corpus has no 'pilot'."
    """
    return end_sentence(f"{text[:1].upper()}{text[1:]}")


BOLD = 1.12  # width of bold letters, relative to the widths above


@lru_cache(maxsize=65536)
def measure_text(text: str) -> float:
    """Return the width of a line of text in ems."""
    widths = [*map(_WIDTHS.get, text)]
    if None not in widths:
        return sum(filter(None, widths))
    return sum(map(_measure_letter, _JOINED.sub("", text)))


def wrap_words(words: Sequence[str], width: float) -> list[str]:
    """Break words into lines of at most ``width`` ems (a wider word gets its own line)."""
    lines: list[str] = []
    for word in words:
        if lines and measure_text(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def fit_lines(text: str, width: float, n_lines: int) -> list[str]:
    """Break a text into at most ``n_lines`` lines of ``width`` ems; what has no room is cut at its end.

    Joined by blanks, the lines are the text or its beginning with an ellipsis: no word within it is left out.

    >>> fit_lines("Takeovers & mining", 6, 2), fit_lines("Takeovers & mining", 6, 1)
    (['Takeovers', '& mining'], ['Takeovers…'])
    """
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and measure_text(joined) <= width:
            lines[-1] = joined
        elif len(lines) < n_lines and measure_text(word) <= width:
            lines.append(word)
        else:
            return _end_lines(lines, word, width, n_lines)
    return lines


def _end_lines(lines: list[str], word: str, width: float, n_lines: int) -> list[str]:
    """Return lines that end with the beginning of a word that has no room, on a line of its own if there is one."""
    start = ""
    if lines and len(lines) == n_lines:
        *lines, start = lines
    rest = f"{start} {word}" if start else word
    cuts = (_cut(rest, length) for length in range(len(rest), 0, -1)) if len(lines) < n_lines else ()
    return [*lines, *[cut for cut in cuts if len(cut) > 1 and measure_text(cut) <= width][:1]]


def format_percent(share: float, digits: int | None = None) -> str:
    """Return a share or a probability as text: ``4.1%``, ``0.37%``, ``<0.01%``, ``>99.9%``.

    A share above 0 is never written as 0%, and a share below 1 never as 100%, whatever the number of ``digits``.  By
    default, shares near 0 or 1 get more digits.
    """
    if digits is None:
        digits = 0 if 0.0995 <= share < 0.995 or _is_whole(share) else 1 if share >= 0.00995 else 2
    least = 10.0**-digits
    written = f"{100 * share:.{digits}f}"
    if float(written) >= 100.0 and share < 1.0 and not _is_whole(share):
        return f">{100 - least:.{digits}f}%"
    return f"<{least:.{digits}f}%" if float(written) == 0.0 and share > 0.0 else f"{written}%"


def format_change(change: float, form: Callable[[float], str] = format_percent) -> str:
    """Return a change of a share with its sign, as in +1.6%; ``form`` writes its size."""
    return f"{'−' if change < 0 else '+'}{form(abs(change))}"


def format_points(change: float) -> str:
    """Return a change of a share in percentage points with its sign, as in +1.6 or −12."""
    size = 100 * abs(change)
    return f"{'−' if change < 0 else '+'}{size:.{0 if size >= 9.95 else 1 if size >= 0.095 else 2}f}"


def format_ratio(ratio: float) -> str:
    """Return how many times as large odds are, as in ×3.1, ×120 or ÷4.

    >>> [format_ratio(ratio) for ratio in (3.14, 120.2, 0.25, 0.005)]
    ['×3.1', '×120', '÷4.0', '÷200']
    """
    sign, size = ("×", ratio) if ratio >= 1.0 else ("÷", 1.0 / max(ratio, 1e-9))
    return f"{sign}{size:.1f}" if size < 10 else f"{sign}{size:,.0f}"


def _is_whole(share: float) -> bool:
    """Return True if a share is 1, except for rounding errors of a sum."""
    return share > 1.0 - 1e-9


def format_weight(value: float) -> str:
    """Return a weight with three significant digits: ``0.0731``, ``12.4``, ``3.2e-05``."""
    return f"{value:.3g}"


def _measure_letter(letter: str) -> float:
    width = _WIDTHS.get(letter)
    if width is not None:
        return width
    if unicodedata.category(letter) in ("Mn", "Me") or "\U0001f3fb" <= letter <= "\U0001f3ff":
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.62


def describe_moment(step: str) -> str:
    """Return the moment of shares that are not of the newest topics, for the end of a sentence."""
    return f"as of {step}, the last one whose documents have all been placed"


class SnapshotSource(Protocol):
    """The snapshot of a run from which a number is read: a hierarchy, or the predictions made with it."""

    @property
    def run(self) -> int: ...  # noqa: D102
    @property
    def moment(self) -> str: ...  # noqa: D102


def write_title(what: str, source: SnapshotSource | None = None) -> str:
    """Return a ``title`` attribute, with a leading blank, that explains a number and names its snapshot.

    Parameters
    ----------
    what : str
        The meaning of the number, and its unit.
    source : SnapshotSource, optional
        The snapshot from which the number is read; None if it does not come from a snapshot.
    """
    return f' title="{escape(describe_origin(what, source))}"'


def describe_origin(what: str, source: SnapshotSource | None = None) -> str:
    """Return the explanation of `write_title` as plain text."""
    origin = f". Run {source.run}, snapshot of {source.moment}" if source is not None else ""
    return f"{what}{origin}."


def format_estimate(estimate: "Estimate | None") -> str:
    """Return the value of an estimate as text; a dash if there is none."""
    return "–" if estimate is None else estimate.figure


def name_estimate(estimate: "Estimate | None") -> str:
    """Return the name of an estimate; empty if there is none."""
    return "" if estimate is None else estimate.name


def format_number(value: float | None, digits: int = 0) -> str:
    """Return ``1,234`` or ``912.4``; a dash if there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.{digits}f}"


def format_perplexity(value: float | None) -> str:
    """Return a perplexity with one decimal below ten thousand."""
    return format_number(value, 1 if value is not None and value < 10_000 else 0)


def format_rate(value: float | None) -> str:
    """Return tokens per second in short form: ``412 k``, ``1.8 M``."""
    if value is None or not math.isfinite(value):
        return "–"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{float(f'{value / size:.3g}'):,g} {unit}"  # 999,950 is 1,000 k, not 1e+03 k
    return f"{value:,.0f}"


def format_size(n_bytes: int) -> str:
    """Return a number of bytes in short form: ``412 MB``, ``1.5 GB``."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if n_bytes >= unit:
            return f"{float(f'{n_bytes / unit:.3g}'):,g} {name}"
    return f"{n_bytes / 1e3:,.0f} kB"


def format_span(seconds: float | None) -> str:
    """Return a duration: ``8 s``, ``3 min``, ``2 h 05 min``, ``4 d 3 h``."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def format_age(seconds: float | None) -> str:
    """Return an age: ``just now``, ``12 s ago``."""
    if seconds is None or not math.isfinite(seconds):
        return "never"
    return "just now" if seconds < 2 else f"{format_span(seconds)} ago"


def estimate_seconds_left(minibatch: int, planned: int, seconds: float) -> float | None:
    """Return the seconds of training left at the pace so far; None before the first mini-batch and after the last.

    Evaluations after the last mini-batch take more time.
    """
    if minibatch <= 0 or minibatch >= planned:
        return None
    return seconds / minibatch * (planned - minibatch)


def measure_progress(minibatch: int, planned: int) -> float:
    """Return the share of the planned mini-batches done, 0 to 1."""
    return min(1.0, minibatch / planned) if planned > 0 else 0.0


def describe_lineage(parent: int | None, minibatch: int | None, *, gone: bool = False) -> str:
    """Return where a run comes from: ``continues run 3 from step 2,000``; empty if it is no fork."""
    if parent is None:
        return ""
    return f"continues run {parent} from step {minibatch or 0:,}" + (" (deleted since)" if gone else "")
