"""The dictionary form of a word, through simplemma (the extra ``topiary-explorer[lemmas]``); needs no network."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec

INSTALL = "pip install simplemma (the extra topiary-explorer[lemmas])"
_CODES = {"no": "nb", "hr": "hbs"}  # as simplemma calls them where it does so otherwise
LANGUAGES = frozenset(
    (
        "ar", "bg", "ca", "cs", "da", "de", "el", "en", "eo", "es", "et", "fa", "fi", "fr", "ga", "gl", "he", "hi",
        "hr", "hu", "hy", "id", "it", "ka", "la", "lt", "lv", "ml", "ms", "nl", "no", "pl", "pt", "ro", "ru", "sk",
        "sl", "sv", "sw", "tl", "tr", "uk",
    )
)  # fmt: skip


def installed() -> bool:
    """Whether simplemma is."""
    return find_spec("simplemma") is not None


def known(codes: Iterable[str]) -> tuple[str, ...]:
    """Those of some languages whose dictionary forms are known."""
    return tuple(code for code in codes if code in LANGUAGES)


@cache
def lemmatiser(codes: tuple[str, ...]) -> Callable[[str], str]:
    """A function from a word in lower case to its dictionary form in these languages, in lower case.

    A word that is in none of them stays as it is.

    Raises
    ------
    ImportError
        When simplemma is not installed.
    """
    from simplemma import lemmatize

    languages = tuple(_CODES.get(code, code) for code in codes)

    def noun(word: str, form: str) -> str:
        """German writes nouns with a capital, without which "briefe" is taken for a form of the verb "briefen"."""
        if not form.endswith("n") or form != lemmatize(word, "de"):
            return form
        capital = lemmatize(word.capitalize(), "de")
        return capital if capital[:1].isupper() and word.startswith(capital.lower()) else form

    @cache
    def lemma(word: str) -> str:
        form = lemmatize(word, languages)
        return (noun(word, form) if "de" in languages else form).lower()

    return lemma
