"""How likely a text was written as it reads: its letters are those of one language, and so are its commonest words.

A text in the wrong encoding has letters that no language has together, signs within words, letters of two alphabets in
one word, and capitals after small letters.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from app.ingest import languages
from app.ingest.scripts import RANGES

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
_SAMPLE = 1 << 14  # characters that are looked at


class TextRating(NamedTuple):
    """How a text reads.

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
    text = text[:_SAMPLE]
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
    usual = _stop_words_in(words)
    readings = []
    for code, alphabet in _alphabets().items():
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
def _alphabets() -> dict[str, frozenset[str]]:
    return {code: frozenset(letters) for code, letters in _LETTERS.items()}


def _stop_words_in(words: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    known = _languages_of()
    for word, times in words.items():
        for code in known.get(word, ()):
            found[code] += times
    return found


@cache
def _languages_of() -> dict[str, tuple[str, ...]]:
    """Return the languages of which a word is a stop word, by word."""
    found: dict[str, list[str]] = {}
    for code in _LETTERS:
        for word in languages.stop_words(code):
            found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}
