"""Recognise scripts and languages offline, segment words of languages without spaces, and find lemmas."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from topiary.app.machine import find_asset

# Letters of each script; combining marks are left out, except in ranges that mix both.
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
    """Return the number of letters of each script in a text, the most frequent first.

    >>> count_scripts("Topiary на русском 日本")
    {'Cyrillic': 9, 'Latin': 7, 'Han': 2}
    """
    candidates = ("Latin",) if text.isascii() else tuple(_SCRIPT_LETTERS)
    counts = {script: sum(map(len, _SCRIPT_LETTERS[script].findall(text))) for script in candidates}
    return dict(sorted(((script, n) for script, n in counts.items() if n), key=lambda pair: (-pair[1], pair[0])))


@cache
def list_marks() -> str:
    """Return all combining marks (accents, vowels of Indic scripts) as the inside of a character class."""
    return _write_ranges(code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))


def _write_ranges(codes: Iterable[int]) -> str:
    """Return ascending code points as ranges of a character class."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(chr(first) if first == last else f"{chr(first)}-{chr(last)}" for first, last in runs)


# Languages with a list of stop words, by ISO 639-1 code.
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
UNLISTED = {  # languages without a list of stop words, recognised by their script
    "am": "Amharic", "bo": "Tibetan", "ka": "Georgian", "km": "Khmer", "kn": "Kannada", "lo": "Lao", "ml": "Malayalam",
    "my": "Burmese", "or": "Oriya", "pa": "Punjabi", "si": "Sinhala", "ta": "Tamil", "te": "Telugu",
}  # fmt: skip
_ENGLISH = "stop_words/english.txt"
# Pieces that remain of "don't", "we'll", "they've" when words are runs of letters.
_CONTRACTED = (
    "ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn re shan shouldn ve wasn weren won wouldn"
)
MAIN = 0.1  # least share of the letters in a language that counts as a language of the corpus

_ASCII_WORD = re.compile("[a-z]+")
_LANGUAGE_OF_SCRIPT = {
    "Greek": "el", "Armenian": "hy", "Hebrew": "he", "Bengali": "bn", "Gurmukhi": "pa", "Gujarati": "gu", "Oriya": "or",
    "Tamil": "ta", "Telugu": "te", "Kannada": "kn", "Malayalam": "ml", "Sinhala": "si", "Thai": "th", "Lao": "lo",
    "Tibetan": "bo", "Burmese": "my", "Georgian": "ka", "Hangul": "ko", "Ethiopic": "am", "Khmer": "km", "Kana": "ja",
    "Han": "zh",
}  # fmt: skip
_LANGUAGES_OF_SCRIPT = {  # codes after "zu" and "uk" have no stop words, but should not be mistaken
    "Latin": "af ca cs da de en es et eu fi fr ga gl ha hr hu id it lt lv ms nl no pl pt ro sk sl so sv sw tl tr vi yo "
    "zu az br bs cy eo gd is la lb mt oc sq xh",
    "Cyrillic": "bg ru uk ba be kk ky mk mn sr tg tt",
    "Arabic": "ar fa ur ps ug",
    "Devanagari": "hi mr ne sa",
}
_JAPANESE_KANA_SHARE = 0.05  # share of kana above which Chinese characters are taken for Japanese
_FUNCTION_WORDS = 0.08  # least share of stop words that confirms a language; most texts have far more
_FEWEST_WORDS = 40  # words needed to confirm a language
# Least share of English stop words in a text that is surely English, and its least number of words.  Half of all
# English texts have more than .34, other languages less than .18.  Where most texts are surely English, lists and
# tables are, too, and so are the others if they have so few words that no other language could matter.
_SURELY_ENGLISH, _PROBABLY_ENGLISH, _ENOUGH_ENGLISH, _MOST, _FEW = 0.25, 0.1, 20, 0.9, 0.02
_ENOUGH_WORDS = 400  # words that should suffice to recognise the language
_DOCUMENTS, _LETTERS = 512, 2_000  # documents of a sample, and characters of each, at most


class Recognised(NamedTuple):
    """The scripts and languages of a sample of texts.

    Attributes
    ----------
    scripts : dict of str to float
        Share of each script among the letters, the largest first.
    languages : dict of str to float
        Share of each recognised language among the letters, by its code.
    letters : dict of str to float
        Share of letters of each language with its own script, also in texts mostly in another language.
    enough : bool
        Whether there were enough words to recognise a language.
    """

    scripts: dict[str, float]
    languages: dict[str, float]
    letters: dict[str, float]
    enough: bool = True

    @property
    def main(self) -> tuple[str, ...]:
        """Codes of the languages with at least a tenth of the letters."""
        return tuple(code for code, share in self.languages.items() if share >= MAIN)


class Sample:
    """An evenly spread sample of a stream of texts: all of them, then every second, every fourth, and so on."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._stride, self._n_texts = 1, 0

    def add(self, text: Callable[[], str]) -> None:
        """Add a text, given as a function that is called only if the text is sampled."""
        if self._n_texts % self._stride == 0:
            self.texts.append(text()[:_LETTERS])
            if len(self.texts) > _DOCUMENTS:
                self.texts = self.texts[::2]
                self._stride *= 2
        self._n_texts += 1


def name_language(code: str) -> str:
    """Return the English name of a language."""
    return NAMES.get(code) or UNLISTED[code]


def find_language_code(name: str) -> str | None:
    """Return the code of a language with a list of stop words, by English name or code; None if there is none.

    >>> find_language_code("German"), find_language_code("de"), find_language_code("Klingon")
    ('de', 'de', None)
    """
    lower = name.strip().lower()
    return next((code for code, language in NAMES.items() if lower in (code, language.lower())), None)


def list_stop_words(code: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case; an empty set if it has no list.

    English has scikit-learn's list and the pieces of contractions; others have the list of stopwords-iso.
    """
    if code == "en":
        return _read_english()
    if code not in NAMES:
        return frozenset()
    import stopwordsiso  # reads a file at import

    return frozenset(word.lower() for word in stopwordsiso.stopwords(code))


@cache
def _read_english() -> frozenset[str]:
    """Return scikit-learn's list, from a copy, because scikit-learn takes a second to import, and the contractions."""
    return frozenset(f"{find_asset(_ENGLISH).read_text(encoding='utf-8')} {_CONTRACTED}".split())


def recognise_languages(texts: Iterable[str]) -> Recognised:
    """Return the scripts and languages of some texts, cleaned or not."""
    by_script: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    by_language: Counter[str] = Counter()
    words: dict[str, Counter[str]] = {}
    texts = list(texts)
    words_of = [_find_words(text) for text in texts]
    for text, found, is_english in zip(texts, words_of, _find_english(words_of), strict=True):
        letters_by_script = count_scripts(text)
        by_script.update(letters_by_script)
        if not letters_by_script:
            continue
        counts = _count_languages(letters_by_script)
        letters.update(counts)
        script = next(iter(letters_by_script))
        code = "en" if is_english and script == "Latin" else _recognise_language(text, letters_by_script, counts)
        by_language[code] += sum(letters_by_script.values())
        if code not in _LANGUAGE_OF_SCRIPT.values():
            words.setdefault(code, Counter()).update(found)
    confirmed = {code: n for code, n in by_language.items() if code not in words or _is_confirmed(code, words[code])}
    enough = (
        sum(counts.total() for counts in words.values()) >= _ENOUGH_WORDS or confirmed.keys() - words.keys() != set()
    )
    total = by_script.total()
    return Recognised(
        _compute_shares(by_script, total), _compute_shares(confirmed, total), _compute_shares(letters, total), enough
    )


def _compute_shares(counts: dict[str, int] | Counter[str], total: int) -> dict[str, float]:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: n / total for name, n in ranked}


def _count_languages(letters_by_script: dict[str, int]) -> Counter[str]:
    """Return the letters of each language with its own script; Chinese characters next to kana are Japanese."""
    han, kana = letters_by_script.get("Han", 0), letters_by_script.get("Kana", 0)
    counts = Counter(
        {_LANGUAGE_OF_SCRIPT[script]: n for script, n in letters_by_script.items() if script in _LANGUAGE_OF_SCRIPT}
    )
    if kana > _JAPANESE_KANA_SHARE * (han + kana):
        counts["ja"] += counts.pop("zh", 0)
    return counts


def _recognise_language(text: str, letters_by_script: dict[str, int], counts: Counter[str]) -> str:
    """Return the code of the language of one text, judged by its most frequent script."""
    shared = {script: n for script, n in letters_by_script.items() if script in _LANGUAGES_OF_SCRIPT}
    script = max(shared, key=lambda name: shared[name], default="")
    code, n = next(iter(counts.most_common(1)), ("", 0))
    return str(_load_identifier(script).classify(text)[0]) if shared.get(script, 0) > n else code


@cache
def _make_word_expression() -> re.Pattern[str]:
    return re.compile(rf"[^\W\d_](?:[^\W\d_]|[{list_marks()}])*")


def _find_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return (_ASCII_WORD if text.isascii() else _make_word_expression()).findall(text.lower())


def _find_english(words_of: Sequence[Sequence[str]]) -> list[bool]:
    """Return which texts, given by their words, are surely English; loading an identifier takes most of a second."""
    stop_words = list_stop_words("en")
    shares = [
        sum(map(stop_words.__contains__, words)) / len(words) if len(words) >= _ENOUGH_ENGLISH else 0.0
        for words in words_of
    ]
    lengths = list(map(len, words_of))
    n_sure, n_probable = (
        sum(n for n, share in zip(lengths, shares, strict=True) if share >= least)
        for least in (_SURELY_ENGLISH, _PROBABLY_ENGLISH)
    )
    if n_sure < _MOST * sum(lengths):
        return [share >= _SURELY_ENGLISH for share in shares]
    least = 0.0 if n_probable >= (1.0 - _FEW) * sum(lengths) else _PROBABLY_ENGLISH
    return [share >= least for share in shares]


def _is_confirmed(code: str, words: Counter[str]) -> bool:
    """Return whether enough of the words are stop words of a language."""
    stop_words = list_stop_words(code)
    return words.total() >= _FEWEST_WORDS and sum(words[word] for word in stop_words) >= _FUNCTION_WORDS * words.total()


@cache
def _load_identifier(script: str) -> Any:
    """Return a language identifier for the languages of a script."""
    from py3langid import langid  # slow to import

    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    identifier.set_languages(_LANGUAGES_OF_SCRIPT[script].split())
    return identifier


SEGMENT_INSTALL = "pip install rjieba icu4py (the extra topiary-explorer[asian])"
# Scripts of each language, and the mean length of runs between spaces from which its words count as unspaced.
WITHOUT_SPACES = {
    "zh": (("Han",), 4.0),
    "ja": (("Han", "Kana"), 4.0),
    "th": (("Thai",), 9.0),
    "lo": (("Lao",), 9.0),
    "km": (("Khmer",), 9.0),
    "my": (("Burmese",), 9.0),
}
_KANA_LETTERS = re.compile(f"[{RANGES['Kana']}]")
_SEGMENTERS = {"zh": "rjieba"}  # icu4py for all others


class NoSegmenterError(Exception):
    """The library that segments words of a language is not installed."""


def runs_together(code: str, texts: Iterable[str]) -> bool:
    """Return whether the words of texts in a language usually written without spaces do run together.

    >>> runs_together("zh", ["我们去图书馆学习"]), runs_together("zh", ["我们 去 图书馆 学习"])
    (True, False)
    """
    _, longest = WITHOUT_SPACES[code]
    run = _make_run_pattern((code,))
    lengths = [len(match) for text in texts if _may_be_language(code, text) for match in run.findall(text)]
    return bool(lengths) and sum(lengths) / len(lengths) >= longest


def list_missing(codes: Iterable[str]) -> list[str]:
    """Return the languages whose segmentation library is not installed."""
    return [code for code in codes if find_spec(_SEGMENTERS.get(code, "icu4py")) is None]


def space_words(text: str, codes: Sequence[str]) -> str:
    """Return a text with blanks inserted between the words of these languages.

    Raises
    ------
    NoSegmenterError
        When the library for one of them is not installed.
    """
    if not codes or text.isascii():
        return text
    japanese = "ja" in codes and ("zh" not in codes or _may_be_language("ja", text))
    fitting = tuple(code for code in codes if code != ("zh" if japanese else "ja"))
    for code in fitting:
        segment = _load_segmenter(code)
        text = _make_run_pattern((code,)).sub(lambda run, segment=segment: f" {' '.join(segment(run[0]))} ", text)  # type: ignore[misc]
    return text


def _may_be_language(code: str, text: str) -> bool:
    """Return whether a text may be in this language; kana decide between Chinese and Japanese."""
    return code not in ("zh", "ja") or (_KANA_LETTERS.search(text) is not None) == (code == "ja")


@cache
def _make_run_pattern(codes: tuple[str, ...]) -> re.Pattern[str]:
    ranges = "".join(RANGES[script] for code in codes for script in WITHOUT_SPACES[code][0])
    return re.compile(f"[{ranges}]+")


@cache
def _load_segmenter(code: str) -> Callable[[str], Sequence[str]]:
    """Return a function that cuts a run of letters into words of a language."""
    try:
        if code == "zh":
            import rjieba

            return rjieba.cut
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise NoSegmenterError(code) from None
    return lambda run: list(WordBreaker(run, code))


LEMMA_INSTALL = "pip install simplemma (the extra topiary-explorer[lemmas])"
_SIMPLEMMA_CODES = {"no": "nb", "hr": "hbs"}  # codes that differ in simplemma
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
    """Return the languages whose dictionary forms simplemma knows."""
    return tuple(code for code in codes if code in LEMMA_LANGUAGES)


@cache
def make_lemmatiser(codes: tuple[str, ...]) -> Callable[[str], str]:
    """Return a function that maps a word to its dictionary form in these languages, both in lower case.

    A word unknown in all of them is returned unchanged.

    Raises
    ------
    ImportError
        When simplemma is not installed.
    """
    from simplemma import lemmatize

    languages = tuple(_SIMPLEMMA_CODES.get(code, code) for code in codes)

    def correct_noun(word: str, form: str) -> str:
        """Return the lemma of a German noun, looked up with a capital, as "briefe" would give the verb "briefen"."""
        if not form.endswith("n") or form != lemmatize(word, "de"):
            return form
        capital = lemmatize(word.capitalize(), "de")
        return capital if capital[:1].isupper() and word.startswith(capital.lower()) else form

    @cache
    def find_lemma(word: str) -> str:
        form = lemmatize(word, languages)
        return (correct_noun(word, form) if "de" in languages else form).lower()

    return find_lemma
