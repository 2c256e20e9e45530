"""Repair texts whose UTF-8 bytes were written as the letters of Latin-1 or of Windows, such as ``Ã©`` for ``é``."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from topiary.app.ingest.source import TextDocument, TextSource
from topiary.app.ingest.text.encodings import rate_text

_BYTES = {chr(byte): byte for byte in range(0x80, 0x100)}
# The letters that Windows has where Latin-1 has control characters.
_WINDOWS = {bytes([byte]).decode("cp1252", "ignore"): byte for byte in range(0x80, 0xA0)}
_TABLE = _BYTES | {letter: byte for letter, byte in _WINDOWS.items() if letter}
_NEXT = "[\x80-\xbf" + "".join(letter for letter in _WINDOWS if letter) + "]"
# The two to four letters that the bytes of one character of UTF-8 became.
_GARBLED = re.compile(f"[\xc2-\xdf]{_NEXT}|[\xe0-\xef]{_NEXT}{{2}}|[\xf0-\xf4]{_NEXT}{{3}}|\xc3 (?=\\S)")
_LATIN = re.compile("[\x80-\xff]")
_CONTROL = re.compile("[\x80-\x84\x86-\x9f]")  # characters of Latin-1 that no text has
_SAMPLED = 400  # documents by which a source is judged
_LETTERS = 4_000  # characters of a text in the sample
_GARBLED_SHARE = 0.8  # share of its letters beyond ASCII that are garbled, in a garbled text
_FEWEST = 4  # garbled letters in a sample that has no control characters
_EXAMPLES = 3  # words in the note


def is_garbled(text: str) -> bool:
    """Return whether nearly all letters beyond ASCII in a text are garbled.

    >>> is_garbled("La forÃªt"), is_garbled("La forêt"), is_garbled("»Spaß«")
    (True, False, False)
    """
    latin = len(_LATIN.findall(text))
    inside = sum(len(_LATIN.findall(found)) for found in _GARBLED.findall(text))
    return 0 < inside >= _GARBLED_SHARE * latin


def repair_text(text: str) -> str:
    r"""Return a text with the letters that its bytes meant; what means none stays as it is.

    >>> repair_text("forÃªt"), repair_text("donâ€™t"), repair_text("\xf0\x9f\x98\x80 été")
    ('forêt', 'don’t', '😀 été')
    """
    return text if text.isascii() else _GARBLED.sub(_decode, text)


def _decode(match: re.Match[str]) -> str:
    if match[0] == "\xc3 ":  # the second byte of à is a space that was replaced by an ordinary one
        return "à "
    try:
        return bytes(_TABLE[letter] for letter in match[0]).decode("utf-8")
    except UnicodeDecodeError:
        return match[0]


def are_garbled(texts: Iterable[str]) -> bool:
    """Return whether most of the texts with letters beyond ASCII are garbled, and read better when repaired."""
    sample = [text for text in texts if _LATIN.search(text)]
    garbled = list(filter(is_garbled, sample))
    if not garbled or 2 * len(garbled) < len(sample):
        return False
    if any(_CONTROL.search(text) for text in garbled):
        return True
    joined = "\n".join(garbled)
    n_garbled = len(_GARBLED.findall(joined))
    return n_garbled >= _FEWEST and rate_text(repair_text(joined)).score > rate_text(joined).score


def repair_source(source: TextSource) -> TextSource:
    """Return a source whose texts and columns are repaired if its first documents are garbled, with a note."""
    is_noted = False

    def documents() -> Iterator[TextDocument]:
        nonlocal is_noted
        read = source.documents()
        first = list(islice(read, _SAMPLED))
        if not are_garbled(f"{document.title}\n{document.text[:_LETTERS]}" for document in first):
            yield from chain(first, read)
            return
        if not is_noted:
            is_noted = True
            source.notes.append(_note_repair(first))
            if source.columns is not None:
                source.columns.rewrite(repair_text)
        yield from map(_repair_document, chain(first, read))

    return replace(source, documents=documents)


def _note_repair(documents: Iterable[TextDocument]) -> str:
    texts = (document.text[:_LETTERS] for document in documents)
    words = dict.fromkeys(word.strip(".,;:!?()") for text in texts for word in text.split() if _GARBLED.search(word))
    examples = ", ".join(f"{repair_text(word)} for {word}" for word in islice(words, _EXAMPLES))
    return f"letters that were saved in a wrong encoding are put right: {examples}"


def _repair_document(document: TextDocument) -> TextDocument:
    return document._replace(
        text=repair_text(document.text),
        title=repair_text(document.title),
        label=None if document.label is None else repair_text(document.label),
        columns={repair_text(name): repair_text(value) for name, value in document.columns.items()},
    )
