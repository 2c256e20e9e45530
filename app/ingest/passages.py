"""Long texts in passages: at the ends of paragraphs, or of about as many words each."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from app.ingest.scripts import RANGES
from app.ingest.source import Array

LEAST = 50  # words of a passage; a shorter one is joined with the next
UNWRAPPED = 90  # characters of a line from which it is a paragraph of its own
_NEAR_PARAGRAPH, _NEAR_SENTENCE = 0.15, 0.5  # of the words of a passage: how far away the place to cut may be

_UNSPACED = "".join(RANGES[script] for script in ("Han", "Kana", "Thai", "Lao", "Khmer", "Burmese"))
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}]+(?:['’-][^\W{_UNSPACED}]+)*")
_GAP = re.compile(r"\n[ \t\f]*(?:\n[ \t\f]*)+|\f\s*")
_INDENTED = re.compile(r"\n(?=[ \t\u3000]+\S)")
_SENTENCE = re.compile(
    r"(?:(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Z])\.|[!?…])[\"'”’»)\]]*\s+|[。！？][」』”’）]*\s*"
)


class Passage(NamedTuple):
    """A part of a text, and the heading it stands under, empty where there is none."""

    text: str
    heading: str = ""


def one_line_end(text: str) -> str:
    r"""Return a text whose lines all end in ``\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_words(text: str) -> int:
    """Return about how many words a text has; two letters are one where no spaces stand between words.

    >>> count_words("It rained, and Ann's boat-house leaked."), count_words("我们去图书馆学习")
    (6, 4)
    """
    return len(_WORD.findall(text))


def by_paragraphs(text: str) -> list[Passage]:
    """Return the paragraphs of a text, short ones joined with those after them."""
    return [Passage(part) for part in join_short(cut_at(text, paragraph_starts(text)))]


def by_words(text: str, size: int) -> list[Passage]:
    """Return passages of about ``size`` words that end with a paragraph or a sentence, wherever one ends nearby."""
    starts = np.fromiter((found.start() for found in _WORD.finditer(text)), np.int64)
    pieces = max(1, round(len(starts) / size))
    if pieces == 1:
        return [Passage(text.strip())]
    paragraphs = np.searchsorted(starts, paragraph_starts(text))
    ends = np.fromiter((found.end() for found in _SENTENCE.finditer(text)), np.int64)
    sentences = np.searchsorted(starts, ends)
    targets = [round(len(starts) * place / pieces) for place in range(1, pieces)]
    cuts = {_near(target, size, paragraphs, sentences) for target in targets} - {0, len(starts)}
    return [Passage(part) for part in cut_at(text, [int(starts[word]) for word in sorted(cuts)])]


def _near(target: int, size: int, paragraphs: Array, sentences: Array) -> int:
    """Return the number of the word to cut before: one that begins a paragraph, or a sentence, or the target itself."""
    for places, share in ((paragraphs, _NEAR_PARAGRAPH), (sentences, _NEAR_SENTENCE)):
        if len(places):
            after = int(np.searchsorted(places, target))
            around = places[max(after - 1, 0) : after + 1].tolist()
            best = min(around, key=lambda place: abs(place - target))
            if abs(best - target) <= share * size:
                return int(best)
    return target


def paragraph_starts(text: str) -> list[int]:
    """Return where the paragraphs of a text begin, but the first.

    Paragraphs stand between blank lines; where there are none, each long line is one, or they begin indented.
    """
    found: list[int] = []
    begin = 0
    for gap in [*_GAP.finditer(text), None]:
        end = len(text) if gap is None else gap.start()
        found += _starts_within(text[begin:end], begin)
        begin = len(text) if gap is None else gap.end()
        found.append(begin)
    return [place for place in found if 0 < place < len(text)]


def _starts_within(block: str, offset: int) -> Iterator[int]:
    """Give where paragraphs begin in lines without a blank one between them."""
    lines = block.count("\n") + 1
    if lines == 1:
        return
    if len(block) / lines > UNWRAPPED:
        yield from (offset + found.end() for found in re.finditer("\n", block))
        return
    indented = [found.end() for found in _INDENTED.finditer(block)]
    if len(indented) < lines - 1:  # a block that is indented as a whole is one paragraph
        yield from (offset + place for place in indented)


def cut_at(text: str, places: Sequence[int]) -> list[str]:
    """Return the parts of a text between some places, blanks around them and empty ones left out."""
    ends = [0, *places, len(text)]
    parts = (text[begin:end].strip() for begin, end in itertools.pairwise(ends))
    return [part for part in parts if part]


def join_short(parts: Sequence[str]) -> list[str]:
    """Return the parts, those of fewer than `LEAST` words joined with the next, and the last with the one before."""
    joined: list[str] = []
    held: list[str] = []
    words = 0
    for part in parts:
        held.append(part)
        words += count_words(part)
        if words >= LEAST:
            joined.append("\n\n".join(held))
            held, words = [], 0
    if held and joined:
        joined[-1] = "\n\n".join([joined[-1], *held])
    elif held:
        joined.append("\n\n".join(held))
    return joined
