"""The encoding of a text: by its byte-order mark, or by its letters."""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from app.ingest.text import languages
from app.ingest.text.languages import RANGES

WIDE = ("utf-16", "utf-32")  # a character is several bytes, and so is the end of a line
# The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def find_marked_encoding(raw: bytes, otherwise: str) -> str:
    r"""Return the encoding that the first bytes of a text name; ``otherwise`` where they name none.

    >>> find_marked_encoding("Tea".encode("utf-16"), "latin-1"), find_marked_encoding(b"Tea", "latin-1")
    ('utf-16', 'latin-1')
    """
    return next((name for mark, name in _MARKS if raw.startswith(mark)), otherwise)


_RUSSIAN = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
_ARABIC = "".join(map(chr, (*range(0x621, 0x63B), *range(0x640, 0x653))))
# The letters beyond ASCII of each language, small ones; of Latin languages those that usual words have.
_LETTERS: Mapping[str, str] = {
    "ar": _ARABIC,
    "az": "çəğıöşü",
    "be": "абвгдеёжзійклмнопрстуўфхцчшыьэюя",
    "bg": "абвгдежзийклмнопрстуфхцчшщъьюя",
    "ca": "àçèéíïòóúü",
    "cs": "áčďéěíňóřšťúůýž",
    "cy": "âêîôûŵŷ",
    "da": "åæøé",
    "de": "äöüß",
    "el": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",
    "eo": "ĉĝĥĵŝŭ",
    "es": "áéíñóúü",
    "et": "äõöüšž",
    "fa": _ARABIC + "پچژگکیي",
    "fi": "äöå",
    "fr": "àâæçèéêëîïôœùûü",
    "he": "".join(map(chr, range(0x5D0, 0x5EB))),
    "hr": "čćđšž",
    "hu": "áéíóöőúüű",
    "is": "áðéíóúýþæö",
    "it": "àèéìíòóù",
    "kk": _RUSSIAN + "ёәғқңөұүһі",
    "ky": _RUSSIAN + "ёңөү",
    "lt": "ąčęėįšųūž",
    "lv": "āčēģīķļņšūž",
    "mk": "абвгдѓежзѕијклљмнњопрстќуфхцчџшѐѝ",
    "mn": _RUSSIAN + "ёөү",
    "nl": "éëïèöü",
    "no": "åæøéò",
    "pl": "ąćęłńóśźż",
    "pt": "áâãàçéêíóôõúü",
    "ro": "ăâîșțşţ",
    "ru": _RUSSIAN + "ё",
    "sk": "áäčďéíĺľňóôŕšťúýž",
    "sl": "čšž",
    "sr": "абвгдђежзијклљмнњопрстћуфхцчџш",
    "sv": "åäöé",
    "tg": _RUSSIAN + "ёғӣқӯҳҷ",
    "th": "".join(map(chr, range(0xE01, 0xE5C))),
    "tr": "çğıöşüâîû\u0307",
    "tt": _RUSSIAN + "ёәөүҗңһ",
    "uk": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
    "ur": _ARABIC + "ٹڈڑںےپچژگکیہھ",
    "vi": "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ\u0300\u0301\u0303\u0309\u0323",
}
_PUNCTUATION = frozenset("“”„‘’‚–—…«»‹›•·§°©®™¿¡ºª€£¥ \u00ad\u2028،؛؟”")
_WITHIN = re.compile("(?<=[^\\W\\d_])[“”„‘‚–—…«»‹›•§°©®™¿¡€£¥](?=[^\\W\\d_])")
_OTHERS = "".join(RANGES[script] for script in ("Greek", "Cyrillic", "Hebrew", "Arabic", "Thai"))
_MIXED = re.compile(f"[A-Za-z](?=[{_OTHERS}])|[{_OTHERS}](?=[A-Za-z])")
_WORD = re.compile(r"[^\W\d_]{2,}")
_RATED = 1 << 14  # characters that are looked at


class TextRating(NamedTuple):
    """A rating of how a text reads.

    Attributes
    ----------
    score : float
        0 to 1; those of several readings of one text can be compared.
    language : str
        That of which it has the letters and words.
    letters : float
        Share of its characters beyond ASCII that are letters of that language, where they can stand.
    words : float
        Share of its words that are stop words of that language.
    """

    score: float
    language: str
    letters: float
    words: float


def rate_text(text: str, languages_meant: Collection[str] = ()) -> TextRating:
    """Return the language of which a text has the letters and words, and how far it has.

    Parameters
    ----------
    languages_meant : collection of str
        The only ones that are meant; none: all.
    """
    text = text[:_RATED]
    beyond = Counter(letter for letter in text.lower() if letter > "\x7f" and letter not in _PUNCTUATION)
    misplaced = (
        len(_WITHIN.findall(text))
        + len(_MIXED.findall(text))
        + sum(one.islower() and other.isupper() and max(one, other) > "\x7f" for one, other in pairwise(text))
    )
    whole = beyond.total() + misplaced
    if not whole:
        return TextRating(0.0, "", 1.0, 0.0)
    words = Counter(_WORD.findall(text.lower()))
    usual = _encode_stop_words(words)
    readings = []
    for code, alphabet in _list_alphabets().items():
        if languages_meant and code not in languages_meant:
            continue
        letters = max(0.0, sum(beyond[letter] for letter in alphabet) - misplaced) / whole
        share = usual[code] / max(words.total(), 1) if code in LISTED else _UNLISTED
        readings.append(TextRating(letters**_STRICT * (_WORDLESS + share) / (_WORDLESS + 1), code, letters, share))
    return max(readings)


LISTED = frozenset(_LETTERS).intersection(languages.NAMES)  # languages with a list of stop words
_STRICT = 8  # power of the share of letters: few are wrong in a text that reads as it was written
_UNLISTED = 0.08  # share of stop words with which a language is credited that has no list of them
_WORDLESS = 0.05  # what a text without stop words is worth; one of nothing else is worth 1


@cache
def _list_alphabets() -> dict[str, frozenset[str]]:
    return {code: frozenset(letters) for code, letters in _LETTERS.items()}


def _encode_stop_words(words: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    known = _list_languages()
    for word, times in words.items():
        for code in known.get(word, ()):
            found[code] += times
    return found


@cache
def _list_languages() -> dict[str, tuple[str, ...]]:
    """Return the languages of which a word is a stop word, by word."""
    found: dict[str, list[str]] = {}
    for code in _LETTERS:
        for word in languages.list_stop_words(code):
            found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}


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


def recognise_pieces(pieces: Iterable[bytes], option: str) -> Encoding:
    """Return the encoding of a text without a byte-order mark, which comes in pieces that end between lines.

    Parameters
    ----------
    option : str
        The encoding of the options; only ``utf-8``, the default, is doubted.
    """
    if codecs.lookup(option).name != "utf-8":
        return Encoding(option, "as given")
    first = True
    for piece in pieces:
        if first and (wide := _name_without_mark(piece)):
            return Encoding(wide, "as every other byte is zero", guessed=True)
        first = False
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError:
            return _guess_encoding(piece) or Encoding(option, "as usual")
    return Encoding(option, "as all of it fits")


def recognise_text(raw: bytes, option: str) -> str:
    """Return the encoding of a whole text: that of its byte-order mark, or of its zero bytes, else ``option``."""
    return find_marked_encoding(raw, "") or _name_without_mark(raw) or option


def replace_encoding(raw: bytes, option: str, otherwise: str) -> str:
    """Return the encoding of a text that is not in that of ``option``; ``otherwise`` where there is no evidence."""
    few = sum(byte > 127 for byte in raw[:_SAMPLE]) < FEWEST
    guess = None if few or codecs.lookup(option).name != "utf-8" else _guess_encoding(raw)
    return otherwise if guess is None or _list_fitting(guess.name, raw) is None else guess.name


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
                own.setdefault(replace_encoding(sample, "utf-8", ""), []).append(sample)
            self._decide(max(own.values(), key=lambda each: sum(map(len, each))))

    def _decide(self, samples: Sequence[bytes]) -> None:
        joined = b"\n".join(samples)
        guess = None if sum(byte > 127 for byte in joined) < FEWEST else _guess_encoding(joined)
        if guess is not None:
            self._name = guess.name
            self._language = rate_text(joined.decode(guess.name, "replace")).language

    def _fits(self, beyond: bytes) -> bool:
        """Return whether lines beyond ASCII read well in this encoding, in the language of all texts."""
        if not self._name or not _list_fitting(self._name, beyond):
            return False
        return rate_text(beyond.decode(self._name), (self._language,)).letters >= _LIKELY

    def find(self, raw: bytes, option: str, otherwise: str) -> str:
        """Find the encoding as `replace_encoding` does; that of all texts, where this one reads well in it."""
        mine = codecs.lookup(option).name == "utf-8" and self._fits(_find_strange_lines(raw))
        return self._name if mine else replace_encoding(raw, option, otherwise)


_SHARES = 16  # texts that share a sample at least: no long one settles it alone
_MOST = 0.7  # share of a sample that reads well in one encoding, where it is that of most texts


def _name_without_mark(piece: bytes) -> str | None:
    """Return the UTF-16 of western letters by its zero bytes; empty where it is none."""
    start = piece[:4096]
    zeros = start[0::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    if half < 4:
        return None
    if zeros[1] > 0.7 * half and zeros[0] < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] > 0.7 * half and zeros[1] < 0.05 * half else None


def _guess_encoding(piece: bytes) -> Encoding | None:
    """Return the encoding of bytes that are not UTF-8; None where they are UTF-8 with damage, or no text."""
    text = piece.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if b"\0" in piece or sum(ord(letter) > 127 for letter in text) >= 2 * damaged:
        return None
    lines = _find_strange_lines(piece)[:_SAMPLE]
    beyond = sum(byte > 127 for byte in lines)
    name = _guess_by_letters(lines) if beyond >= FEWEST else _list_fitting(USUAL, lines)
    if name is None:
        return None
    how = "a guess from its letters" if beyond >= FEWEST else "a guess from few letters"
    return Encoding(name, f"{how}, for it is not UTF-8", guessed=True)


def _find_strange_lines(piece: bytes) -> bytes:
    """Return the lines that are not all ASCII."""
    return b"\n".join(line for line in piece.split(b"\n") if not line.isascii())


def _guess_by_letters(lines: bytes) -> str | None:
    """Return the encoding in which lines read best: they have the letters and the commonest words of one language."""
    texts = {name: lines.decode(name) for name in _ALPHABETS if _list_fitting(name, lines)}
    best, found = _choose_encoding(texts, LISTED)
    if found.letters < _NEARLY_ALL:
        best, found = _choose_encoding(texts)
    if found.letters >= _LIKELY and found.words >= _SURE:
        return best
    if eastern := _guess_far_east(lines):
        return eastern
    return best if found.letters >= _LIKELY else None


def _choose_encoding(texts: Mapping[str, str], meant: Collection[str] = ()) -> tuple[str | None, TextRating]:
    """Return the encoding in which a text reads best, and how; as :func:`rate_text`."""
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


def _list_fitting(name: str, lines: bytes) -> str | None:
    try:
        lines.decode(name)
    except UnicodeDecodeError:
        return None
    return name
