"""Which words a text is found by: the same for documents and for what somebody searches."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

_ASCII = re.compile(r"[a-z0-9]+")
LONGEST = 100  # letters of a word that are told apart
MOST_BYTES = 900_000  # of the words of one document, which a database bounds at a megabyte
# Scripts that are written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def words_of(text: str) -> Iterator[str]:
    """The words of a text in small letters, in its order, repetitions too.

    A run of a script without spaces gives every pair of neighbouring letters and its last letter alone, so that any
    part of the run is found by its own pairs.
    """
    unspaced = _patterns()[1]
    for found in _runs(text):
        if found.isascii():
            yield found[:LONGEST]
            continue
        for part in unspaced.split(found):
            if part and unspaced.fullmatch(part):
                yield from (part[place : place + 2] for place in range(len(part)))
            elif part:
                yield part[:LONGEST]


def asked_words(text: str) -> list[str]:
    """The beginnings of words that a document must have to be found by a text, each once."""
    unspaced = _patterns()[1]
    asked: dict[str, None] = {}
    for found in _runs(text):
        for part in unspaced.split(found):
            if len(part) > 1 and unspaced.fullmatch(part):
                asked |= dict.fromkeys(part[place : place + 2] for place in range(len(part) - 1))
            elif part:
                asked[part[:LONGEST]] = None
    return list(asked)


def different_words(title: str, text: str) -> list[str]:
    """The words of a document, each once, as many as an index takes."""
    every = dict.fromkeys(words_of(f"{title}\n{text}"))
    if sum(map(len, every)) * 4 <= MOST_BYTES:
        return list(every)
    kept, size = [], 0
    for word in every:
        size += len(word.encode("utf-8", "replace")) + 4
        if size > MOST_BYTES:
            break
        kept.append(word)
    return kept


def _runs(text: str) -> list[str]:
    """Letters, digits and marks that stand together, in small letters."""
    plain = text.casefold().replace("_", " ")
    return (_ASCII if plain.isascii() else _patterns()[0]).findall(plain)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word, with the marks that stand above and beside letters, and a run of a script without spaces."""
    marks = "".join(chr(code) for code in range(0x300, sys.maxunicode) if code < 0x20000 and _is_mark(chr(code)))
    return re.compile(rf"[\w{re.escape(marks)}]+"), re.compile(rf"([{_UNSPACED}]+)")


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter) in ("Mn", "Mc")
