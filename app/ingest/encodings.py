"""In which encoding a text is that does not say so: UTF-8 wherever that fits, else a guess from its letters."""

import codecs
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.ingest.alphabets import LISTED, TextRating, rate_text
from app.ingest.marks import encoding_of

FEWEST = 8  # bytes beyond ASCII from which a guess is better than the usual encoding
USUAL = "cp1252"  # of Windows in the west; latin-1, but for a few signs

_SAMPLE = 1 << 16  # bytes of lines beyond ASCII that are looked at
# Those in common use, of alphabets and of the Far East. Of two that agree on a text the first is meant.
_ALPHABETS = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5", "cp1253", "iso8859_7", "cp1254", "cp1255",
    "cp1256", "iso8859_6", "cp1257", "cp1258", "iso8859_2", "iso8859_9", "iso8859_15", "iso8859_13", "iso8859_16",
    "iso8859_8", "kz1048", "ptcp154", "cp874", "mac_roman", "mac_cyrillic", "cp850", "cp437", "cp852", "cp737", "cp857",
    "cp862", "cp775",
)  # fmt: skip
_FAR_EAST = ["cp932", "shift_jis", "euc_jp", "gb18030", "big5", "cp949", "euc_kr"]
_COMMON_THERE = re.compile("[ぁ-ん的一是不了在人有我他這这中大来上個个の이다는에의을가은를]")
_FEWEST_COMMON = 0.05  # share of these among the letters beyond ASCII, from which a text is believed to be from there
_NEARLY_ALL = 0.97
_SURE, _LIKELY = 0.03, 0.8  # shares of stop words and of letters of a language that a text has in the right encoding


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


class SharedEncoding:
    """The encoding of many texts of one origin, most of which are too short to tell it: all together do.

    Parameters
    ----------
    strange : iterable of bytes
        Texts that are not UTF-8.
    """

    def __init__(self, strange: Iterable[bytes]) -> None:
        self._name, self._language = "", ""
        samples: list[bytes] = []
        for raw in strange:
            if b"\0" not in raw:
                samples.append(_find_strange_lines(raw)[: _SAMPLE // _SHARES])
            if sum(map(len, samples)) >= _SAMPLE:
                break
        self._decide(samples)
        if samples and sum(map(len, filter(self._fits, samples))) < _MOST * sum(map(len, samples)):
            own: dict[str, list[bytes]] = {}
            for sample in samples:
                own.setdefault(in_place_of(sample, "utf-8", ""), []).append(sample)
            self._decide(max(own.values(), key=lambda each: sum(map(len, each))))

    def _decide(self, samples: Sequence[bytes]) -> None:
        joined = b"\n".join(samples)
        guess = None if sum(byte > 127 for byte in joined) < FEWEST else _guess(joined)
        if guess is not None:
            self._name = guess.name
            self._language = rate_text(joined.decode(guess.name, "replace")).language

    def _fits(self, beyond: bytes) -> bool:
        """Return whether lines beyond ASCII read well in this encoding, in the language of all texts."""
        if not self._name or not _fitting(self._name, beyond):
            return False
        return rate_text(beyond.decode(self._name), (self._language,)).letters >= _LIKELY

    def find(self, raw: bytes, given: str, otherwise: str) -> str:
        """As :func:`in_place_of`; that of all texts, where this one reads well in it."""
        mine = codecs.lookup(given).name == "utf-8" and self._fits(_find_strange_lines(raw))
        return self._name if mine else in_place_of(raw, given, otherwise)


_SHARES = 16  # texts that share a sample at least: no long one settles it alone
_MOST = 0.7  # share of a sample that reads well in one encoding, where it is that of most texts


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
    lines = _find_strange_lines(piece)[:_SAMPLE]
    beyond = sum(byte > 127 for byte in lines)
    name = _guess_by_letters(lines) if beyond >= FEWEST else _fitting(USUAL, lines)
    if name is None:
        return None
    how = "a guess from its letters" if beyond >= FEWEST else "a guess from few letters"
    return Encoding(name, f"{how}, for it is not UTF-8", guessed=True)


def _find_strange_lines(piece: bytes) -> bytes:
    """Return the lines that are not all ASCII."""
    return b"\n".join(line for line in piece.split(b"\n") if not line.isascii())


def _guess_by_letters(lines: bytes) -> str | None:
    """Return the encoding in which lines read best: they have the letters and the commonest words of one language."""
    texts = {name: lines.decode(name) for name in _ALPHABETS if _fitting(name, lines)}
    best, found = _choose_encoding(texts, LISTED)
    if found.letters < _NEARLY_ALL:
        best, found = _choose_encoding(texts)
    if found.letters >= _LIKELY and found.words >= _SURE:
        return best
    if eastern := _guess_far_east(lines):
        return eastern
    return best if found.letters >= _LIKELY else None


def _choose_encoding(texts: Mapping[str, str], meant: Collection[str] = ()) -> tuple[str | None, TextRating]:
    """Return the encoding in which a text reads best, and how; as :func:`app.ingest.alphabets.rate_text`."""
    readings = {name: rate_text(text, meant) for name, text in texts.items()}
    best = max(readings, key=lambda name: readings[name].score, default=None)
    return (None, TextRating(0.0, "", 0.0, 0.0)) if best is None else (best, readings[best])


def _guess_far_east(lines: bytes) -> str | None:
    from charset_normalizer import from_bytes  # takes a moment to import

    best = from_bytes(lines, cp_isolation=_FAR_EAST, enable_fallback=False).best()
    if best is None:
        return None
    beyond = sum(letter > "\x7f" for letter in str(best))
    return best.encoding if len(_COMMON_THERE.findall(str(best))) >= _FEWEST_COMMON * beyond else None


def _fitting(name: str, lines: bytes) -> str | None:
    try:
        lines.decode(name)
    except UnicodeDecodeError:
        return None
    return name
