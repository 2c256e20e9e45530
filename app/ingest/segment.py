"""Words of texts that are written without spaces, set apart: Chinese, Japanese, Thai, Lao, Khmer, Burmese.

Chinese is cut by jieba (rjieba), the others by the dictionaries of ICU (icu4py); both come with
``topiary-explorer[asian]`` and read nothing but their own files.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec

from app.ingest.scripts import RANGES

INSTALL = "pip install rjieba icu4py (the extra topiary-explorer[asian])"
# By language: the scripts, and how long a run without a space is on average from which words are taken to run together.
WITHOUT_SPACES = {
    "zh": (("Han",), 4.0),
    "ja": (("Han", "Kana"), 4.0),
    "th": (("Thai",), 9.0),
    "lo": (("Lao",), 9.0),
    "km": (("Khmer",), 9.0),
    "my": (("Burmese",), 9.0),
}
_KANA = re.compile(f"[{RANGES['Kana']}]")
_LIBRARIES = {"zh": "rjieba"}  # icu4py for all others


class NoSegmenterError(Exception):
    """The library that sets words of a language apart is not installed."""


def runs_together(code: str, texts: Iterable[str]) -> bool:
    """Whether the words of a language without spaces stand without spaces in some texts, too.

    >>> runs_together("zh", ["我们去图书馆学习"]), runs_together("zh", ["我们 去 图书馆 学习"])
    (True, False)
    """
    _, longest = WITHOUT_SPACES[code]
    run = _runs((code,))
    lengths = [len(found) for text in texts if _may_be(code, text) for found in run.findall(text)]
    return bool(lengths) and sum(lengths) / len(lengths) >= longest


def missing(codes: Iterable[str]) -> list[str]:
    """Those of some languages whose library is not installed."""
    return [code for code in codes if find_spec(_LIBRARIES.get(code, "icu4py")) is None]


def spaced(text: str, codes: Sequence[str]) -> str:
    """A text with blanks between the words of these languages; nothing else of it changes.

    Raises
    ------
    NoSegmenterError
        When the library that is needed is not installed.
    """
    if not codes or text.isascii():
        return text
    japanese = "ja" in codes and ("zh" not in codes or _may_be("ja", text))
    fitting = tuple(code for code in codes if code != ("zh" if japanese else "ja"))
    for code in fitting:
        cut = _cutter(code)
        text = _runs((code,)).sub(lambda run, cut=cut: f" {' '.join(cut(run[0]))} ", text)  # type: ignore[misc]
    return text


def _may_be(code: str, text: str) -> bool:
    """Whether Chinese characters in a text may be of that language: kana stand between those of Japanese."""
    return code not in ("zh", "ja") or (_KANA.search(text) is not None) == (code == "ja")


@cache
def _runs(codes: tuple[str, ...]) -> re.Pattern[str]:
    ranges = "".join(RANGES[script] for code in codes for script in WITHOUT_SPACES[code][0])
    return re.compile(f"[{ranges}]+")


@cache
def _cutter(code: str) -> Callable[[str], Sequence[str]]:
    try:
        if code == "zh":
            import rjieba

            return rjieba.cut
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise NoSegmenterError(code) from None
    return lambda run: list(WordBreaker(run, code))
