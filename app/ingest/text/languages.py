"""Scripts and languages of texts, recognised without a network; words of languages without spaces, and lemmas."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

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
_SCRIPT_LETTERS = {script: re.compile(f"[{ranges}]+") for script, ranges in RANGES.items()}


def count_scripts(text: str) -> dict[str, int]:
    """Count the letters of each script in a text, the most first.

    >>> count_scripts("Topiary на русском 日本")
    {'Cyrillic': 9, 'Latin': 7, 'Han': 2}
    """
    candidates = ("Latin",) if text.isascii() else tuple(_SCRIPT_LETTERS)
    found = {script: sum(map(len, _SCRIPT_LETTERS[script].findall(text))) for script in candidates}
    return dict(sorted(((script, n) for script, n in found.items() if n), key=lambda pair: (-pair[1], pair[0])))


@cache
def list_marks() -> str:
    """List every combining mark, as the inside of a character class: accents, and the vowels of Indic scripts."""
    return _write_ranges(code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))


def _write_ranges(codes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(chr(first) if first == last else f"{chr(first)}-{chr(last)}" for first, last in runs)


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
_OF_SCRIPT = {  # those at the end have no list: what is in them is not taken for another language
    "Latin": "af ca cs da de en es et eu fi fr ga gl ha hr hu id it lt lv ms nl no pl pt ro sk sl so sv sw tl tr vi yo "
    "zu az br bs cy eo gd is la lb mt oc sq xh",
    "Cyrillic": "bg ru uk ba be kk ky mk mn sr tg tt",
    "Arabic": "ar fa ur ps ug",
    "Devanagari": "hi mr ne sa",
}
_KANA = 0.05  # share of kana from which what is written in Chinese characters is Japanese
_FUNCTION_WORDS = 0.08  # their share of all words, from which a language is believed; most texts have far more
_FEWEST = 40  # words by which a language can be judged
_ENOUGH = 400  # words from which the language should be known
_DOCUMENTS, _LETTERS = 512, 2_000  # of the sample


class Recognised(NamedTuple):
    """The scripts and languages of a sample of texts.

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
        """Add a text, which is made only where it is taken."""
        if self._seen % self._every == 0:
            self.texts.append(text()[:_LETTERS])
            if len(self.texts) > _DOCUMENTS:
                self.texts = self.texts[::2]
                self._every *= 2
        self._seen += 1


def name_language(code: str) -> str:
    """Return the English name of a language."""
    return NAMES.get(code) or UNLISTED[code]


def find_language_code(name: str) -> str | None:
    """Return the code of a language that has a list of stop words, by its English name or its code.

    >>> find_language_code("German"), find_language_code("de"), find_language_code("Klingon")
    ('de', 'de', None)
    """
    lower = name.strip().lower()
    return next((code for code, known in NAMES.items() if lower in (code, known.lower())), None)


def list_stop_words(code: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case; none where there is no list.

    English is scikit-learn's list and the pieces that contractions leave; others are those of stopwords-iso.
    """
    if code == "en":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import, and most commands need it not

        return frozenset(ENGLISH_STOP_WORDS) | frozenset(_CONTRACTED.split())
    if code not in NAMES:
        return frozenset()
    import stopwordsiso  # reads its file

    return frozenset(word.lower() for word in stopwordsiso.stopwords(code))


def recognise_languages(texts: Iterable[str]) -> Recognised:
    """Return the scripts and languages of some texts, cleaned or not."""
    by_script: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    by_language: Counter[str] = Counter()
    words: dict[str, Counter[str]] = {}
    for text in texts:
        found = count_scripts(text)
        by_script.update(found)
        if not found:
            continue
        counts = _count_languages(found)
        letters.update(counts)
        code = _recognise_language(text, found, counts)
        by_language[code] += sum(found.values())
        if code not in _BY_SCRIPT.values():
            words.setdefault(code, Counter()).update(_make_word_expression().findall(text.lower()))
    known = {code: n for code, n in by_language.items() if code not in words or _is_believed(code, words[code])}
    enough = sum(counts.total() for counts in words.values()) >= _ENOUGH or known.keys() - words.keys() != set()
    whole = by_script.total()
    return Recognised(
        _compute_shares(by_script, whole), _compute_shares(known, whole), _compute_shares(letters, whole), enough
    )


def _compute_shares(counts: dict[str, int] | Counter[str], whole: int) -> dict[str, float]:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: n / whole for name, n in ranked}


def _count_languages(found: dict[str, int]) -> Counter[str]:
    """Count letters by the language that their script tells; Chinese characters next to kana are Japanese."""
    han, kana = found.get("Han", 0), found.get("Kana", 0)
    counts = Counter({_BY_SCRIPT[script]: n for script, n in found.items() if script in _BY_SCRIPT})
    if kana > _KANA * (han + kana):
        counts["ja"] += counts.pop("zh", 0)
    return counts


def _recognise_language(text: str, found: dict[str, int], counts: Counter[str]) -> str:
    """Return the language of one text, by the script that it has most of."""
    others = {script: n for script, n in found.items() if script in _OF_SCRIPT}
    script = max(others, key=lambda name: others[name], default="")
    code, n = next(iter(counts.most_common(1)), ("", 0))
    return str(_load_identifier(script).classify(text)[0]) if others.get(script, 0) > n else code


@cache
def _make_word_expression() -> re.Pattern[str]:
    return re.compile(rf"[^\W\d_](?:[^\W\d_]|[{list_marks()}])*")


def _is_believed(code: str, words: Counter[str]) -> bool:
    listed = list_stop_words(code)
    return words.total() >= _FEWEST and sum(words[word] for word in listed) >= _FUNCTION_WORDS * words.total()


@cache
def _load_identifier(script: str) -> Any:
    from py3langid import langid  # reads its model, which takes a quarter of a second

    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    identifier.set_languages(_OF_SCRIPT[script].split())
    return identifier


SEGMENT_INSTALL = "pip install rjieba icu4py (the extra topiary-explorer[asian])"
# By language: the scripts, and how long a run without a space is on average from which words are taken to run together.
WITHOUT_SPACES = {
    "zh": (("Han",), 4.0),
    "ja": (("Han", "Kana"), 4.0),
    "th": (("Thai",), 9.0),
    "lo": (("Lao",), 9.0),
    "km": (("Khmer",), 9.0),
    "my": (("Burmese",), 9.0),
}
_KANA_LETTERS = re.compile(f"[{RANGES['Kana']}]")
_LIBRARIES = {"zh": "rjieba"}  # icu4py for all others


class NoSegmenterError(Exception):
    """The library that sets words of a language apart is not installed."""


def runs_together(code: str, texts: Iterable[str]) -> bool:
    """Return whether the words of a language without spaces stand without spaces in some texts, too.

    >>> runs_together("zh", ["我们去图书馆学习"]), runs_together("zh", ["我们 去 图书馆 学习"])
    (True, False)
    """
    _, longest = WITHOUT_SPACES[code]
    run = _find_runs((code,))
    lengths = [len(found) for text in texts if _may_be_language(code, text) for found in run.findall(text)]
    return bool(lengths) and sum(lengths) / len(lengths) >= longest


def list_missing(codes: Iterable[str]) -> list[str]:
    """Return those of some languages whose library is not installed."""
    return [code for code in codes if find_spec(_LIBRARIES.get(code, "icu4py")) is None]


def space_words(text: str, codes: Sequence[str]) -> str:
    """Return a text with blanks between the words of these languages; nothing else of it changes.

    Raises
    ------
    NoSegmenterError
        When the library that is needed is not installed.
    """
    if not codes or text.isascii():
        return text
    japanese = "ja" in codes and ("zh" not in codes or _may_be_language("ja", text))
    fitting = tuple(code for code in codes if code != ("zh" if japanese else "ja"))
    for code in fitting:
        cut = _load_cutter(code)
        text = _find_runs((code,)).sub(lambda run, cut=cut: f" {' '.join(cut(run[0]))} ", text)  # type: ignore[misc]
    return text


def _may_be_language(code: str, text: str) -> bool:
    """Return whether Chinese characters in a text may be of that language: Japanese has kana between them."""
    return code not in ("zh", "ja") or (_KANA_LETTERS.search(text) is not None) == (code == "ja")


@cache
def _find_runs(codes: tuple[str, ...]) -> re.Pattern[str]:
    ranges = "".join(RANGES[script] for code in codes for script in WITHOUT_SPACES[code][0])
    return re.compile(f"[{ranges}]+")


@cache
def _load_cutter(code: str) -> Callable[[str], Sequence[str]]:
    try:
        if code == "zh":
            import rjieba

            return rjieba.cut
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise NoSegmenterError(code) from None
    return lambda run: list(WordBreaker(run, code))


LEMMA_INSTALL = "pip install simplemma (the extra topiary-explorer[lemmas])"
_CODES = {"no": "nb", "hr": "hbs"}  # as simplemma calls them where it does so otherwise
LEMMA_LANGUAGES = frozenset(
    (
        "ar", "bg", "ca", "cs", "da", "de", "el", "en", "eo", "es", "et", "fa", "fi", "fr", "ga", "gl", "he", "hi",
        "hr", "hu", "hy", "id", "it", "ka", "la", "lt", "lv", "ml", "ms", "nl", "no", "pl", "pt", "ro", "ru", "sk",
        "sl", "sv", "sw", "tl", "tr", "uk",
    )
)  # fmt: skip


def is_lemmatiser_installed() -> bool:
    """Return whether simplemma is installed."""
    return find_spec("simplemma") is not None


def list_lemma_languages(codes: Iterable[str]) -> tuple[str, ...]:
    """Return those of some languages whose dictionary forms are known."""
    return tuple(code for code in codes if code in LEMMA_LANGUAGES)


@cache
def make_lemmatiser(codes: tuple[str, ...]) -> Callable[[str], str]:
    """Return a function from a word in lower case to its dictionary form in these languages, in lower case.

    A word that is in none of them stays as it is.

    Raises
    ------
    ImportError
        When simplemma is not installed.
    """
    from simplemma import lemmatize

    languages = tuple(_CODES.get(code, code) for code in codes)

    def noun(word: str, form: str) -> str:
        """Return the form of a German noun, which has a capital: "briefe" is taken for a form of the verb "briefen"."""
        if not form.endswith("n") or form != lemmatize(word, "de"):
            return form
        capital = lemmatize(word.capitalize(), "de")
        return capital if capital[:1].isupper() and word.startswith(capital.lower()) else form

    @cache
    def lemma(word: str) -> str:
        form = lemmatize(word, languages)
        return (noun(word, form) if "de" in languages else form).lower()

    return lemma
