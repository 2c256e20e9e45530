"""Which scripts the letters of a corpus are of."""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

_NAMES = {"CJK": "Han", "HALFWIDTH": "Katakana", "FULLWIDTH": "Latin", "OLD": "other", "MODIFIER": "other"}
_NO_LETTER = ("MATHEMATICAL", "FEMININE", "MASCULINE", "DOUBLE-STRUCK", "SCRIPT", "SUPERSCRIPT", "SUBSCRIPT", "MICRO")


@lru_cache(maxsize=4096)
def script_of(letter: str) -> str:
    """The script of a letter, by the first word of its name in Unicode; "" for what is no letter of a script.

    >>> script_of("a"), script_of("я"), script_of("語"), script_of("7")
    ('Latin', 'Cyrillic', 'Han', '')
    """
    if not letter.isalpha():
        return ""
    first = unicodedata.name(letter, "").partition(" ")[0]
    if not first or first in _NO_LETTER:
        return ""
    return _NAMES.get(first, first.capitalize())


def scripts(characters: Mapping[str, int]) -> tuple[tuple[str, float], ...]:
    """Scripts and the share of all letters that each has, the largest first.

    Parameters
    ----------
    characters : mapping of str to int
        How often each character occurs.
    """
    counted: Counter[str] = Counter()
    for letter, times in characters.items():
        if name := script_of(letter):
            counted[name] += times
    total = counted.total()
    return tuple((name, times / total) for name, times in counted.most_common())
