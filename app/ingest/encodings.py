"""In which encoding a text is that does not say so: UTF-8 wherever that fits, else a guess from its letters."""

import codecs
from collections.abc import Iterable
from typing import NamedTuple

from app.ingest.marks import encoding_of

FEWEST = 8  # bytes beyond ASCII from which a guess is better than the usual encoding
USUAL = "cp1252"  # of Windows in the west; latin-1, but for a few signs

_WINDOWS, _STANDARD = "cp1250", "iso8859_2"  # of central Europe, the same but for a few letters
_SAMPLE = 1 << 16  # bytes of lines beyond ASCII that are looked at
# Those in common use. Of two that agree on all letters but rare ones the first is meant.
_COMMON = [
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp866", "iso8859_5", "cp1253", "iso8859_7", "cp1254", "cp1255", "cp1256",
    "cp1257", "cp1258", "iso8859_2", "iso8859_9", "iso8859_15", "cp874", "cp932", "shift_jis", "euc_jp", "gb18030",
    "big5", "cp949", "euc_kr", "mac_roman", "mac_cyrillic", "cp437", "cp850", "cp852",
]  # fmt: skip


class Encoding(NamedTuple):
    """An encoding, and how it is known."""

    name: str
    how: str
    guessed: bool = False


def of_pieces(pieces: Iterable[bytes], given: str) -> Encoding:
    """The encoding of a text without a byte-order mark, which comes in pieces that end between lines.

    Parameters
    ----------
    given : str
        The encoding of the options; only ``utf-8``, which is what they say where nobody said anything, is doubted.
    """
    if codecs.lookup(given).name != "utf-8":
        return Encoding(given, "as given")
    first = True
    for piece in pieces:
        if first and (wide := _without_mark(piece)):
            return Encoding(wide, "as every other byte is zero", guessed=True)
        first = False
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError:
            return _guess(piece) or Encoding(given, "as usual")
    return Encoding(given, "as all of it fits")


def of_whole(raw: bytes, given: str) -> str:
    """The encoding of a text that is all there: that of its byte-order mark, or of its zero bytes, else ``given``."""
    return encoding_of(raw, "") or _without_mark(raw) or given


def in_place_of(raw: bytes, given: str, otherwise: str) -> str:
    """The encoding to read a text in that is not of the one ``given``; ``otherwise`` where there is no evidence."""
    few = sum(byte > 127 for byte in raw[:_SAMPLE]) < FEWEST
    guess = None if few or codecs.lookup(given).name != "utf-8" else _guess(raw)
    return otherwise if guess is None or _fitting(guess.name, raw) is None else guess.name


def _without_mark(piece: bytes) -> str | None:
    """UTF-16 of letters of the west by its zero bytes."""
    start = piece[:4096]
    zeros = start[0::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    if half < 4:
        return None
    if zeros[1] > 0.7 * half and zeros[0] < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] > 0.7 * half and zeros[1] < 0.05 * half else None


def _guess(piece: bytes) -> Encoding | None:
    """The encoding of bytes that are not UTF-8; None where they are UTF-8 with damage, or no text."""
    text = piece.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if b"\0" in piece or sum(ord(letter) > 127 for letter in text) >= 2 * damaged:
        return None
    lines = b"\n".join(line for line in piece.split(b"\n") if not line.isascii())[:_SAMPLE]
    beyond = sum(byte > 127 for byte in lines)
    name = _by_letters(lines) if beyond >= FEWEST else _fitting(USUAL, lines)
    if name is None:
        return None
    how = "a guess from its letters" if beyond >= FEWEST else "a guess from few letters"
    return Encoding(name, f"{how}, for it is not UTF-8", guessed=True)


def _by_letters(lines: bytes) -> str | None:
    from charset_normalizer import from_bytes  # takes a moment to import

    best = from_bytes(lines, cp_isolation=_COMMON, enable_fallback=False).best()
    if best is None:
        return None
    if _fitting(USUAL, lines) and lines.decode(USUAL) == str(best):
        return USUAL
    if best.encoding == _WINDOWS and _signs(lines.decode(_STANDARD)) < _signs(str(best)):
        return _STANDARD
    return best.encoding


def _signs(text: str) -> int:
    """Letters beyond ASCII that are none: a few letters of Polish and Czech are signs in the other encoding."""
    return sum(not letter.isascii() and not letter.isalpha() for letter in text)


def _fitting(name: str, lines: bytes) -> str | None:
    try:
        lines.decode(name)
    except UnicodeDecodeError:
        return None
    return name
