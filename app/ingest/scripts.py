"""Scripts of a text, told by the ranges of Unicode, and what of a letter is a mark upon another."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

# Letters of each script; marks upon letters are not among them, except where a range has both.
RANGES = {
    "Latin": "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1d00-\u1dbf\u1e00-\u1eff\ufb00-\ufb06"
    "\uff21-\uff3a\uff41-\uff5a",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "Armenian": "\u0531-\u058f",
    "Hebrew": "\u05d0-\u05f4\ufb1d-\ufb4f",
    "Arabic": "\u0621-\u064a\u066e-\u06d3\u06d5-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Gurmukhi": "\u0a00-\u0a7f",
    "Gujarati": "\u0a80-\u0aff",
    "Oriya": "\u0b00-\u0b7f",
    "Tamil": "\u0b80-\u0bff",
    "Telugu": "\u0c00-\u0c7f",
    "Kannada": "\u0c80-\u0cff",
    "Malayalam": "\u0d00-\u0d7f",
    "Sinhala": "\u0d80-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Tibetan": "\u0f00-\u0fff",
    "Burmese": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "Georgian": "\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2f",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff",
    "Ethiopic": "\u1200-\u139f\u2d80-\u2ddf",
    "Khmer": "\u1780-\u17ff",
    "Kana": "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Han": "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
}
_LETTERS = {script: re.compile(f"[{ranges}]+") for script, ranges in RANGES.items()}


def scripts(text: str) -> dict[str, int]:
    """How many letters of each script a text has, the most first.

    >>> scripts("Topiary на русском 日本")
    {'Cyrillic': 9, 'Latin': 7, 'Han': 2}
    """
    candidates = ("Latin",) if text.isascii() else tuple(_LETTERS)
    found = {script: sum(map(len, _LETTERS[script].findall(text))) for script in candidates}
    return dict(sorted(((script, n) for script, n in found.items() if n), key=lambda pair: (-pair[1], pair[0])))


@cache
def marks() -> str:
    """Every combining mark, as the inside of a character class: accents, and the vowels of Indic scripts."""
    return _ranges(code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))


def _ranges(codes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(chr(first) if first == last else f"{chr(first)}-{chr(last)}" for first, last in runs)
