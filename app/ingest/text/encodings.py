"""Detect the encoding of a text by its byte-order mark or its letters, and repair texts decoded in a wrong one."""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from topiary.app.ingest.text import languages
from topiary.app.ingest.text.languages import RANGES

WIDE = ("utf-16", "utf-32")  # encodings whose characters, line ends included, take several bytes
# The mark of UTF-32 comes first because it begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def find_marked_encoding(raw: bytes, otherwise: str) -> str:
    r"""Return the encoding of the byte-order mark of a text; ``otherwise`` if it has none.

    >>> find_marked_encoding("Tea".encode("utf-16"), "latin-1"), find_marked_encoding(b"Tea", "latin-1")
    ('utf-16', 'latin-1')
    """
    return next((name for mark, name in _MARKS if raw.startswith(mark)), otherwise)


_RUSSIAN = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
_ARABIC = "".join(map(chr, (*range(0x621, 0x63B), *range(0x640, 0x653))))
# The lower-case letters beyond ASCII of each language; for Latin scripts, those of common words only.
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
_MARK_WITHIN_WORD = re.compile("(?<=[^\\W\\d_])[“”„‘‚–—…«»‹›•§°©®™¿¡€£¥](?=[^\\W\\d_])")
_OTHERS = "".join(RANGES[script] for script in ("Greek", "Cyrillic", "Hebrew", "Arabic", "Thai"))
_MIXED_SCRIPTS = re.compile(f"[A-Za-z](?=[{_OTHERS}])|[{_OTHERS}](?=[A-Za-z])")
_WORD = re.compile(r"[^\W\d_]{2,}")
_RATED = 1 << 14  # characters of a text that are rated


class TextRating(NamedTuple):
    """A rating of how plausible a decoded text is.

    Attributes
    ----------
    score : float
        0 to 1; comparable between several decodings of one text.
    language : str
        Code of the language that fits its letters and words best.
    letters : float
        Share of its characters beyond ASCII that are letters of that language, in plausible positions.
    words : float
        Share of its words that are stop words of that language.
    """

    score: float
    language: str
    letters: float
    words: float


def rate_text(text: str, languages_meant: Collection[str] = ()) -> TextRating:
    """Return the rating of a text in the language that fits its letters and words best.

    Parameters
    ----------
    languages_meant : collection of str
        Codes of the languages to consider; empty: all.
    """
    text = text[:_RATED]
    letter_counts = Counter(letter for letter in text.lower() if letter > "\x7f" and letter not in _PUNCTUATION)
    misplaced = (
        len(_MARK_WITHIN_WORD.findall(text))
        + len(_MIXED_SCRIPTS.findall(text))
        + sum(
            character.islower() and following.isupper() and max(character, following) > "\x7f"
            for character, following in pairwise(text)
        )
    )
    total = letter_counts.total() + misplaced
    if not total:
        return TextRating(0.0, "", 1.0, 0.0)
    words = Counter(_WORD.findall(text.lower()))
    stop_counts = _count_stop_words(words)
    readings = []
    for code, alphabet in _list_alphabets().items():
        if languages_meant and code not in languages_meant:
            continue
        letters = max(0.0, sum(letter_counts[letter] for letter in alphabet) - misplaced) / total
        share = stop_counts[code] / max(words.total(), 1) if code in LISTED else _UNLISTED
        readings.append(TextRating(letters**_STRICT * (_WORDLESS + share) / (_WORDLESS + 1), code, letters, share))
    return max(readings)


LISTED = frozenset(_LETTERS).intersection(languages.NAMES)  # languages with a list of stop words
_STRICT = 8  # exponent of the share of letters, high because few letters are wrong in the right encoding
_UNLISTED = 0.08  # assumed share of stop words for a language without a list of them
_WORDLESS = 0.05  # pseudo-share added to that of stop words, so that a text without any has a score above 0


@cache
def _list_alphabets() -> dict[str, frozenset[str]]:
    return {code: frozenset(letters) for code, letters in _LETTERS.items()}


def _count_stop_words(words: Counter[str]) -> Counter[str]:
    """Return how many of the words are stop words of each language, by its code."""
    counts: Counter[str] = Counter()
    languages_by_word = _map_stop_words()
    for word, times in words.items():
        for code in languages_by_word.get(word, ()):
            counts[code] += times
    return counts


@cache
def _map_stop_words() -> dict[str, tuple[str, ...]]:
    """Return the codes of the languages in which a word is a stop word, by word."""
    codes_by_word: dict[str, list[str]] = {}
    for code in _LETTERS:
        for word in languages.list_stop_words(code):
            codes_by_word.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in codes_by_word.items()}


FEWEST = 8  # bytes beyond ASCII needed for a guess that is better than the usual encoding
USUAL = "cp1252"  # Windows in the west; latin-1 with a few more signs

_SAMPLE = 1 << 16  # bytes of lines beyond ASCII that are examined
# Encodings in common use, of alphabets and of the Far East; if two decode a text equally, the first is chosen.
_ALPHABETS = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5", "cp1253", "iso8859_7", "cp1254", "cp1255",
    "cp1256", "iso8859_6", "cp1257", "cp1258", "iso8859_2", "iso8859_9", "iso8859_15", "iso8859_13", "iso8859_16",
    "iso8859_8", "kz1048", "ptcp154", "cp874", "mac_roman", "mac_cyrillic", "cp850", "cp437", "cp852", "cp737", "cp857",
    "cp862", "cp775",
)  # fmt: skip
_FAR_EAST = ["cp932", "shift_jis", "euc_jp", "gb18030", "big5", "cp949", "euc_kr"]
_COMMON_FAR_EAST = re.compile("[ぁ-ん的一是不了在人有我他這这中大来上個个の이다는에의을가은를]")
_FEWEST_COMMON = 0.05  # share of these among the letters beyond ASCII needed to accept an encoding of the Far East
_NEARLY_ALL = 0.97  # share of fitting letters below which languages without stop words are considered too
_SURE, _LIKELY = 0.03, 0.8  # least shares of stop words and of fitting letters of a text in the right encoding


class Encoding(NamedTuple):
    """An encoding, and a phrase that says how it was determined."""

    name: str
    how: str
    guessed: bool = False


def recognise_pieces(pieces: Iterable[bytes], option: str) -> Encoding:
    """Return the encoding of a text without a byte-order mark, given in pieces that end at line ends.

    Parameters
    ----------
    option : str
        The encoding that the options set; only ``utf-8``, the default, is checked.
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
    """Return the encoding of a whole text by its byte-order mark or its zero bytes; else ``option``."""
    return find_marked_encoding(raw, "") or _name_without_mark(raw) or option


def replace_encoding(raw: bytes, option: str, otherwise: str) -> str:
    """Return the encoding of a text that ``option`` cannot decode; ``otherwise`` if there is no evidence."""
    few = sum(byte > 127 for byte in raw[:_SAMPLE]) < FEWEST
    guess = None if few or codecs.lookup(option).name != "utf-8" else _guess_encoding(raw)
    return otherwise if guess is None or _check_encoding(guess.name, raw) is None else guess.name


class SharedEncoding:
    """The common encoding of many texts of one origin, most of which are too short to be judged alone.

    Parameters
    ----------
    strange : iterable of bytes
        Texts that are not valid UTF-8.
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
        if samples and sum(map(len, filter(self._fits, samples))) < _MOST_TEXTS * sum(map(len, samples)):
            by_encoding: dict[str, list[bytes]] = {}
            for sample in samples:
                by_encoding.setdefault(replace_encoding(sample, "utf-8", ""), []).append(sample)
            self._decide(max(by_encoding.values(), key=lambda group: sum(map(len, group))))

    def _decide(self, samples: Sequence[bytes]) -> None:
        """Set the common encoding and language to those that fit the samples best, if they can be guessed."""
        joined = b"\n".join(samples)
        guess = None if sum(byte > 127 for byte in joined) < FEWEST else _guess_encoding(joined)
        if guess is not None:
            self._name = guess.name
            self._language = rate_text(joined.decode(guess.name, "replace")).language

    def _fits(self, beyond: bytes) -> bool:
        """Return whether lines beyond ASCII are plausible in the common encoding and language."""
        if not self._name or not _check_encoding(self._name, beyond):
            return False
        return rate_text(beyond.decode(self._name), (self._language,)).letters >= _LIKELY

    def find(self, raw: bytes, option: str, otherwise: str) -> str:
        """Return the common encoding if a text is plausible in it; else that of `replace_encoding`."""
        fits = codecs.lookup(option).name == "utf-8" and self._fits(_find_strange_lines(raw))
        return self._name if fits else replace_encoding(raw, option, otherwise)


_SHARES = 16  # least number of texts in a full sample, so that no long text decides alone
_MOST_TEXTS = 0.7  # share of the sample that must be plausible in the common encoding


def _name_without_mark(piece: bytes) -> str | None:
    """Return the byte order of UTF-16 with western letters, by its zero bytes; None if it is another encoding."""
    head = piece[:4096]
    zeros = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half < 4:
        return None
    if zeros[1] > 0.7 * half and zeros[0] < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] > 0.7 * half and zeros[1] < 0.05 * half else None


def _guess_encoding(piece: bytes) -> Encoding | None:
    """Return the encoding of bytes that are not UTF-8; None if they are damaged UTF-8, or not text."""
    text = piece.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if b"\0" in piece or sum(ord(letter) > 127 for letter in text) >= 2 * damaged:
        return None
    lines = _find_strange_lines(piece)[:_SAMPLE]
    beyond = sum(byte > 127 for byte in lines)
    name = _guess_by_letters(lines) if beyond >= FEWEST else _check_encoding(USUAL, lines)
    if name is None:
        return None
    how = "a guess from its letters" if beyond >= FEWEST else "a guess from few letters"
    return Encoding(name, f"{how}, for it is not UTF-8", guessed=True)


def _find_strange_lines(piece: bytes) -> bytes:
    """Return the lines with bytes beyond ASCII."""
    return b"\n".join(line for line in piece.split(b"\n") if not line.isascii())


def _guess_by_letters(lines: bytes) -> str | None:
    """Return the encoding in which lines best fit the letters and common words of a language; None if none fits."""
    texts = {name: lines.decode(name) for name in _ALPHABETS if _check_encoding(name, lines)}
    best, rating = _choose_encoding(texts, LISTED)
    if rating.letters < _NEARLY_ALL:
        best, rating = _choose_encoding(texts)
    if rating.letters >= _LIKELY and rating.words >= _SURE:
        return best
    if far_eastern := _guess_far_east(lines):
        return far_eastern
    return best if rating.letters >= _LIKELY else None


def _choose_encoding(texts: Mapping[str, str], languages_meant: Collection[str] = ()) -> tuple[str | None, TextRating]:
    """Return the encoding of the best decoding, None without any, and its rating by :func:`rate_text`."""
    readings = {name: rate_text(text, languages_meant) for name, text in texts.items()}
    best = max(readings, key=lambda name: readings[name].score, default=None)
    return (None, TextRating(0.0, "", 0.0, 0.0)) if best is None else (best, readings[best])


def _guess_far_east(lines: bytes) -> str | None:
    """Return the encoding of Chinese, Japanese or Korean lines; None if they are in no such language."""
    from charset_normalizer import from_bytes  # takes a moment to import

    best = from_bytes(lines, cp_isolation=_FAR_EAST, enable_fallback=False).best()
    if best is None:
        return None
    beyond = sum(letter > "\x7f" for letter in str(best))
    return best.encoding if len(_COMMON_FAR_EAST.findall(str(best))) >= _FEWEST_COMMON * beyond else None


def _check_encoding(name: str, lines: bytes) -> str | None:
    """Return the name of an encoding if it can decode the lines, else None."""
    try:
        lines.decode(name)
    except UnicodeDecodeError:
        return None
    return name


_BYTES = {chr(byte): byte for byte in range(0x80, 0x100)}
# The letters that Windows has where Latin-1 has control characters.
_WINDOWS = {bytes([byte]).decode("cp1252", "ignore"): byte for byte in range(0x80, 0xA0)}
_TABLE = _BYTES | {letter: byte for letter, byte in _WINDOWS.items() if letter}
_NEXT = "[\x80-\xbf" + "".join(letter for letter in _WINDOWS if letter) + "]"
# The two to four letters that the bytes of one character of UTF-8 became.
_GARBLED = re.compile(f"[\xc2-\xdf]{_NEXT}|[\xe0-\xef]{_NEXT}{{2}}|[\xf0-\xf4]{_NEXT}{{3}}|\xc3 (?=\\S)")
_LATIN = re.compile("[\x80-\xff]")
_CONTROL = re.compile("[\x80-\x84\x86-\x9f]")  # characters of Latin-1 that no text has
_GARBLED_SHARE = 0.8  # share of its letters beyond ASCII that are garbled, in a garbled text
_FEWEST_GARBLED = 4  # garbled letters in a sample that has no control characters


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
    return n_garbled >= _FEWEST_GARBLED and rate_text(repair_text(joined)).score > rate_text(joined).score
