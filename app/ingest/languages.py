"""In which scripts and languages the texts of a corpus are, recognised from a sample of them, without a network.

Many scripts tell the language by themselves; among those of one script py3langid chooses, whose choice counts only
where the texts have the function words of that language.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from app.ingest.scripts import marks, scripts

# Those with a list of stop words, by their ISO 639-1 code.
NAMES = {
    "af": "Afrikaans", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "br": "Breton", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician",
    "gu": "Gujarati", "ha": "Hausa", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "ku": "Kurdish",
    "la": "Latin", "lt": "Lithuanian", "lv": "Latvian", "mr": "Marathi", "ms": "Malay", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak",
    "sl": "Slovenian", "so": "Somali", "st": "Sotho", "sv": "Swedish", "sw": "Swahili", "th": "Thai", "tl": "Tagalog",
    "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "yo": "Yoruba", "zh": "Chinese",
    "zu": "Zulu",
}  # fmt: skip
UNLISTED = {  # recognised by their script, and without a list of stop words
    "am": "Amharic", "bo": "Tibetan", "ka": "Georgian", "km": "Khmer", "kn": "Kannada", "lo": "Lao", "ml": "Malayalam",
    "my": "Burmese", "or": "Oriya", "pa": "Punjabi", "si": "Sinhala", "ta": "Tamil", "te": "Telugu",
}  # fmt: skip
# What is left of "don't", "we'll", "they've" once words are runs of letters.
_CONTRACTED = (
    "ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn re shan shouldn ve wasn weren won wouldn"
)
MAIN = 0.1  # share of the letters from which a language is one of the corpus

_BY_SCRIPT = {
    "Greek": "el", "Armenian": "hy", "Hebrew": "he", "Bengali": "bn", "Gurmukhi": "pa", "Gujarati": "gu", "Oriya": "or",
    "Tamil": "ta", "Telugu": "te", "Kannada": "kn", "Malayalam": "ml", "Sinhala": "si", "Thai": "th", "Lao": "lo",
    "Tibetan": "bo", "Burmese": "my", "Georgian": "ka", "Hangul": "ko", "Ethiopic": "am", "Khmer": "km", "Kana": "ja",
    "Han": "zh",
}  # fmt: skip
_OF_SCRIPT = {  # those at the end have no list: what is in them is not taken for a language beside
    "Latin": "af ca cs da de en es et eu fi fr ga gl ha hr hu id it lt lv ms nl no pl pt ro sk sl so sv sw tl tr vi yo "
    "zu az br bs cy eo gd is la lb mt oc sq xh",
    "Cyrillic": "bg ru uk ba be kk ky mk mn sr tg tt",
    "Arabic": "ar fa ur ps ug",
    "Devanagari": "hi mr ne sa",
}
_KANA = 0.05  # share of kana from which what is written in Chinese characters is Japanese
_FUNCTION_WORDS = 0.08  # their share of all words, from which a language is believed; most texts have far more
_FEWEST = 40  # words by which a language can be judged
_ENOUGH = 400  # words of which somebody should know in what language they are
_DOCUMENTS, _LETTERS = 512, 2_000  # of the sample


class Recognised(NamedTuple):
    """What a sample of texts is written in.

    Attributes
    ----------
    scripts : dict of str to float
        Share of each script among the letters, the largest first.
    languages : dict of str to float
        Share of each language that was recognised, by its code.
    letters : dict of str to float
        Share of the letters of each language that its script tells, also in texts that are mostly in another one.
    enough : bool
        Whether there were words enough to tell.
    """

    scripts: dict[str, float]
    languages: dict[str, float]
    letters: dict[str, float]
    enough: bool = True

    @property
    def main(self) -> tuple[str, ...]:
        """Codes of the languages in which a tenth of the texts is, or more."""
        return tuple(code for code, share in self.languages.items() if share >= MAIN)


class Sample:
    """Some of the texts that come by, evenly spread, whatever their number: every second, every fourth, and so on."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._every, self._seen = 1, 0

    def add(self, text: Callable[[], str]) -> None:
        """See one more text, which is made only where it is taken."""
        if self._seen % self._every == 0:
            self.texts.append(text()[:_LETTERS])
            if len(self.texts) > _DOCUMENTS:
                self.texts = self.texts[::2]
                self._every *= 2
        self._seen += 1


def name_of(code: str) -> str:
    """The English name of a language."""
    return NAMES.get(code) or UNLISTED[code]


def code_of(name: str) -> str | None:
    """The code of a language that has a list of stop words, by its English name or its code.

    >>> code_of("German"), code_of("de"), code_of("Klingon")
    ('de', 'de', None)
    """
    asked = name.strip().lower()
    return next((code for code, known in NAMES.items() if asked in (code, known.lower())), None)


def stop_words(code: str) -> frozenset[str]:
    """The stop words of a language, in lower case; none where there is no list.

    English is scikit-learn's list and the pieces that contractions leave; others are those of stopwords-iso.
    """
    if code == "en":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import, and most commands need it not

        return frozenset(ENGLISH_STOP_WORDS) | frozenset(_CONTRACTED.split())
    if code not in NAMES:
        return frozenset()
    import stopwordsiso  # reads its file

    return frozenset(word.lower() for word in stopwordsiso.stopwords(code))


def recognise(texts: Iterable[str]) -> Recognised:
    """The scripts and languages of some texts, cleaned or not."""
    by_script: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    by_language: Counter[str] = Counter()
    words: dict[str, Counter[str]] = {}
    for text in texts:
        found = scripts(text)
        by_script.update(found)
        if not found:
            continue
        told = _told(found)
        letters.update(told)
        code = _language(text, found, told)
        by_language[code] += sum(found.values())
        if code not in _BY_SCRIPT.values():
            words.setdefault(code, Counter()).update(_word().findall(text.lower()))
    known = {code: n for code, n in by_language.items() if code not in words or _believed(code, words[code])}
    enough = sum(counts.total() for counts in words.values()) >= _ENOUGH or known.keys() - words.keys() != set()
    whole = by_script.total()
    return Recognised(_shares(by_script, whole), _shares(known, whole), _shares(letters, whole), enough)


def _shares(counts: dict[str, int] | Counter[str], whole: int) -> dict[str, float]:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: n / whole for name, n in ranked}


def _told(found: dict[str, int]) -> Counter[str]:
    """Letters of a text by the language that their script tells; Chinese characters beside kana are Japanese."""
    han, kana = found.get("Han", 0), found.get("Kana", 0)
    told = Counter({_BY_SCRIPT[script]: n for script, n in found.items() if script in _BY_SCRIPT})
    if kana > _KANA * (han + kana):
        told["ja"] += told.pop("zh", 0)
    return told


def _language(text: str, found: dict[str, int], told: Counter[str]) -> str:
    """The language of one text, by the script that it has most of."""
    others = {script: n for script, n in found.items() if script in _OF_SCRIPT}
    script = max(others, key=lambda name: others[name], default="")
    code, n = next(iter(told.most_common(1)), ("", 0))
    return str(_identifier(script).classify(text)[0]) if others.get(script, 0) > n else code


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"[^\W\d_](?:[^\W\d_]|[{marks()}])*")


def _believed(code: str, words: Counter[str]) -> bool:
    listed = stop_words(code)
    return words.total() >= _FEWEST and sum(words[word] for word in listed) >= _FUNCTION_WORDS * words.total()


@cache
def _identifier(script: str) -> Any:
    from py3langid import langid  # reads its model, which takes a quarter of a second

    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    identifier.set_languages(_OF_SCRIPT[script].split())
    return identifier
