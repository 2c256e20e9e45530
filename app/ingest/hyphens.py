"""Words that the end of a line has cut in two, as in scanned and typeset texts: which of them are one word.

A hyphen at the end of a line is either that of the line (``com-`` and ``munist``) or that of the word (``well-`` and
``known``).  What the collection writes within its lines decides: *communist* there makes one word of it, *well-known*
there keeps its hyphen.  Where it writes neither, two halves that are words stay two words, unless they
hardly occur elsewhere, and other pairs are treated as most of those that were decided.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

# The second half begins on the next line, or on the next page below the number of this one. A pattern that began with
# the first half would be tried at every word of a text.
_CUT = re.compile(r"[-\u2010][ \t]*\r?\n\s*(?:[0-9]{1,4}[ \t]*\r?\n\s*)?([^\W\d_]{2,})")
_LONGEST = 60  # letters of the first half
# A soft hyphen, and the sign that programs for scanned pages write in its place, are always those of the line.
_SOFT = re.compile("[\u00ad\u00ac][ \t]*\r?\n\\s*(?=[^\\W\\d_])")
_WORD = re.compile(r"[^\W\d_]{2,}(?:[-\u2010][^\W\d_]{2,})*")
_SELDOM = 10  # times as often as each of its halves is a word, a cut word occurs that is one word
_MOST_LETTERS = 1 << 22  # of texts from which words are learnt: a second of work


class Rejoining(NamedTuple):
    """Which cut words are joined.

    Attributes
    ----------
    which : str
        ``"none"``, those with ``"soft"`` hyphens, also those that are ``"listed"``, or ``"all"`` but those.
    listed : frozenset of str
        Words with their hyphen, ``well-known``, in lower case.
    """

    which: str
    listed: frozenset[str] = frozenset()

    def apply(self, text: str) -> str:
        r"""Return a text with these words joined.

        >>> Rejoining("all", frozenset({"well-known"})).apply("The com-\nmunist was well-\nknown.")
        'The communist was well-\nknown.'
        >>> Rejoining("soft").apply("com\u00ad\nmunist and eco-\nnomic")
        'communist and eco-\nnomic'
        """
        if self.which == "none":
            return text
        if not text.isascii() and ("\u00ad" in text or "\u00ac" in text):
            text = _SOFT.sub("", text)
        if self.which == "soft" or not may_be_cut(text):
            return text
        pieces, place = [], 0
        for cut in find_cuts(text):
            if (_compound(cut.first, cut.second).lower() in self.listed) == (self.which == "listed"):
                pieces.append(text[place : cut.hyphen])
                place = cut.second_half
        return "".join([*pieces, text[place:]])


class HyphenDecision(NamedTuple):
    """What was decided about the cut words of a collection.

    Attributes
    ----------
    rejoining : Rejoining
    joined, kept : int
        Places where words are joined, and where they keep their hyphen.
    examples : tuple of str
        The most frequent of those that are joined and of those that are not, as far as there are such.
    """

    rejoining: Rejoining
    joined: int
    kept: int
    examples: tuple[str, ...]


class HyphenEvidence:
    """Collects the words that are cut in texts, and what decides about them."""

    def __init__(self) -> None:
        self._cut: Counter[tuple[str, str]] = Counter()
        self._words: Counter[str] = Counter()
        self._letters = 0

    def see(self, text: str) -> None:
        """Look at a text; most have no cut word and take no time."""
        if may_be_cut(text) and (found := list(find_cuts(text))):
            self._cut.update((cut.first.lower(), cut.second.lower()) for cut in found)
            self.learn(text)

    def learn(self, text: str) -> None:
        """Learn the words that stand within the lines of a text."""
        if self._letters < _MOST_LETTERS:
            self._letters += len(text)
            self._words.update(_WORD.findall(_remove_cuts(text).lower().replace("\u2010", "-")))

    def decide(self) -> HyphenDecision | None:
        """Decide about every cut word; None where there is none."""
        if not self._cut:
            return None
        evidence = {pair: self._evidence(*pair) for pair in self._cut}
        balance = sum(times * evidence[pair] for pair, times in self._cut.items())
        joins = {pair: self._joins(pair, each, balance) for pair, each in evidence.items()}
        sides = [Counter({pair: n for pair, n in self._cut.items() if joins[pair] is side}) for side in (True, False)]
        which = "all" if balance >= 0 else "listed"
        listed = frozenset(_compound(*pair) for pair, joined in joins.items() if joined is (which == "listed"))
        examples = tuple(_compound(*side.most_common(1)[0][0]) for side in sides if side)
        return HyphenDecision(Rejoining(which, listed), sides[0].total(), sides[1].total(), examples)

    def _evidence(self, first: str, second: str) -> int:
        """Return 1 where the collection writes two halves as one word rather than with a hyphen, -1 the other way."""
        whole, hyphened = self._words[first + second], self._words[_compound(first, second)]
        return 1 if whole and whole >= hyphened else -int(hyphened > 0)

    def _joins(self, pair: tuple[str, str], evidence: int, balance: int) -> bool:
        if evidence:
            return evidence > 0
        return balance >= 0 and min(self._words[half] for half in pair) * _SELDOM < self._cut[pair]


def may_be_cut(text: str) -> bool:
    """Return whether a line of a text ends in a hyphen."""
    return "-\n" in text or "-\r" in text or "- \n" in text or (not text.isascii() and "\u2010" in text)


class CutWord(NamedTuple):
    """A cut word: where its hyphen stands, where its second half begins, and both halves."""

    hyphen: int
    second_half: int
    first: str
    second: str


def find_cuts(text: str) -> Iterator[CutWord]:
    """Give the cut words of a text; a capital letter after the hyphen tells that it is one of the word: Anglo-Saxon."""
    for found in _CUT.finditer(text):
        begin = end = found.start()
        while begin and end - begin < _LONGEST and text[begin - 1].isalpha():
            begin -= 1
        first, second = text[begin:end], found[1]
        if len(first) > 1 and (not second[0].isupper() or first.isupper()):
            yield CutWord(end, found.start(1), first, second)


def _remove_cuts(text: str) -> str:
    """Return a text without its cut words, whose halves are no words of it."""
    pieces, place = [], 0
    for cut in find_cuts(text):
        pieces += [text[place : cut.hyphen - len(cut.first)], " "]
        place = cut.second_half + len(cut.second)
    return "".join([*pieces, text[place:]])


def _compound(first: str, second: str) -> str:
    """Return two halves with a hyphen between them."""
    return f"{first}-{second}"
