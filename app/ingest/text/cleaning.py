"""Clean texts: noise, letters, lists of stop words, hyphens at the ends of lines, and mail."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from app.ingest.errors import IngestError
from app.ingest.text import languages
from app.ingest.text.encodings import find_marked_encoding
from app.ingest.text.languages import list_marks

# Tags, character references, web addresses and the ending of ordinals. The first character alone tells most places
# where none of them begins, and regular expressions look for such a character ten times faster than for alternatives.
NOISE = re.compile(
    r"[<&hfw0-9](?:"
    r"(?<=<)/?[a-z!][^<>]{0,300}>"
    r"|(?<=&)(?:[a-z]{2,8}|#[0-9]{1,6});"
    r"|(?<=h)ttps?://\S+|(?<=f)tp://\S+|(?<=\bw)ww\.\S+"
    r"|(?<=[0-9])(?:(?:<sup>)?(?:st|nde?|rd|th|[eè]r|[eè]re|i?[eè]me|ste|de|[rd][oa])|\sth)\b"
    r")"
)

LETTERS = r"[^\W\d_]{2,}"  # two letters or more of an alphabet that has no marks
# What some spellings of a word have and others lack: points of Arabic and Hebrew, the stroke that stretches an Arabic
# word, hyphens that show only at the end of a line, and the dot that a Turkish capital leaves in lower case. Ligatures
# of printers and PDF files are several letters, and the long s of old prints is an s.
_OPTIONAL = re.compile(
    "[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u00ad\ufb00-\ufb06\u017f]|(?<=i)\u0307"
)
_LIGATURES = {
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st",
    "\u017f": "s",
}  # fmt: skip


def clean_text(text: str) -> str:
    """Return a text in lower case, without tags, character references, web addresses and endings of ordinals.

    >>> clean_text("Fine.<br />See https://example.org &amp; weep on the 19th").split()
    ['fine.', 'see', 'weep', 'on', 'the', '1']
    """
    return NOISE.sub(" ", simplify_letters(text.lower()))


def simplify_letters(text: str) -> str:
    r"""Return a text with one spelling per word: letters with accents as one character, no optional points.

    >>> simplify_letters("cafe\u0301 co\u00adop \ufb01rst"), simplify_letters("كِتَـــاب") == "كتاب"
    ('café coop first', True)
    """
    if text.isascii():
        return text
    return _OPTIONAL.sub(lambda match: _LIGATURES.get(match[0], ""), unicodedata.normalize("NFC", text))


@cache
def make_word_pattern() -> str:
    """Return the pattern of a word: two characters or more, letters of any alphabet with their marks.

    Vowels of Indic scripts are marks, and joiners stand between letters of Persian and Indic words.
    """
    letter, mark = r"[^\W\d_]", f"[{list_marks()}]"
    return f"(?:{letter}{{2,}}|{letter}(?={mark}))(?:(?:{mark}|[\u200c\u200d](?={letter}))+{letter}*)*"


def make_storable(text: str) -> str:
    r"""Return a name as every database can keep it: no zero characters, and no halves of characters.

    File names that are not text, and ``"\ud800"`` in JSON, give the latter.

    >>> make_storable("a\0b\ud800")
    'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def read_stop_words(choice: str) -> frozenset[str]:
    """Return the words of ``"none"``, a language by name or code, or a file with one word a line.

    Raises
    ------
    IngestError
        When the file is not text.
    """
    if choice == "none":
        return frozenset()
    if code := languages.find_language_code(choice):
        return languages.list_stop_words(code)
    try:
        raw = Path(choice).read_bytes()
    except OSError as error:
        raise IngestError(choice, f"the stop word list cannot be read ({error.strerror})") from None
    encoding = find_marked_encoding(raw, "utf-8")
    try:
        return frozenset(raw.decode(encoding).removeprefix("\ufeff").lower().split())
    except UnicodeDecodeError as error:
        cause = f"the stop word list is not {encoding.upper()} at byte {error.start + 1:,}"
        raise IngestError(choice, cause) from None


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
            if (_join_halves(cut.first, cut.second).lower() in self.listed) == (self.which == "listed"):
                pieces.append(text[place : cut.hyphen])
                place = cut.second_half
        return "".join([*pieces, text[place:]])


class HyphenDecision(NamedTuple):
    """The decision about the cut words of a collection.

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
        evidence = {pair: self._weigh_pair(*pair) for pair in self._cut}
        balance = sum(times * evidence[pair] for pair, times in self._cut.items())
        joins = {pair: self._is_joined(pair, each, balance) for pair, each in evidence.items()}
        sides = [Counter({pair: n for pair, n in self._cut.items() if joins[pair] is side}) for side in (True, False)]
        which = "all" if balance >= 0 else "listed"
        listed = frozenset(_join_halves(*pair) for pair, joined in joins.items() if joined is (which == "listed"))
        examples = tuple(_join_halves(*side.most_common(1)[0][0]) for side in sides if side)
        return HyphenDecision(Rejoining(which, listed), sides[0].total(), sides[1].total(), examples)

    def _weigh_pair(self, first: str, second: str) -> int:
        """Return 1 where the collection writes two halves as one word rather than with a hyphen, -1 the other way."""
        whole, hyphened = self._words[first + second], self._words[_join_halves(first, second)]
        return 1 if whole and whole >= hyphened else -int(hyphened > 0)

    def _is_joined(self, pair: tuple[str, str], evidence: int, balance: int) -> bool:
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


def _join_halves(first: str, second: str) -> str:
    """Return two halves with a hyphen between them."""
    return f"{first}-{second}"


# What a header begins with; a block is one when its first line and one in two of the others do.
_MAIL_HEADER = re.compile(
    r"(?:>?from|to|cc|bcc|reply-to|sender|subject|date|sent|received|return-path|message-id|in-reply-to|references|"
    r"newsgroups|path|organi[sz]ation|lines|distribution|followup-to|keywords|summary|expires|approved|mime-version|"
    r"content-[a-z-]+|article-i\.d\.|nntp-posting-[a-z-]+|user-agent|importance|priority|delivered-to|list-[a-z-]+|"
    r"x-[a-z0-9-]+|originator|xref)\s*:|from \S+@\S+ ",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"subject\s*:\s*(?:(?:re|fwd?|aw|wg)\s*:\s*)*", re.IGNORECASE)
_QUOTED = re.compile(r"\s*(?:>|\||[A-Za-z]{0,4}>)")
_ANNOUNCED = re.compile(
    r"(?:in (?:article|message) <|(?:on .{6,80}, )?.{1,120}\b(?:writes|wrote|said|schrieb|a écrit|escribió|ha scritto)"
    r"\s*:\s*$|-+ ?original message ?-+\s*$|-+ ?forwarded (?:message|by) ?)",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"--\s*$")
_MOST_OF_SIGNATURE = 15  # lines


def strip_mail_lines(text: str) -> str:
    r"""Return a text without headers (the words of the subject stay), quoted lines and signature.

    >>> strip_mail_lines("From: a@b.c\nSubject: Re: The comet\n\nBo writes:\n> bright?\nVery bright.\n-- \nAl, Inc.")
    'The comet\n\nVery bright.'
    """
    lines = _drop_headers(text.splitlines())
    kept = [line for line in _drop_signature(lines) if not _QUOTED.match(line) and not _ANNOUNCED.match(line.strip())]
    return "\n".join(kept)


def _drop_headers(lines: list[str]) -> list[str]:
    """Return the lines without a block of headers at the beginning; its subject stays as a line."""
    start = next((place for place, line in enumerate(lines) if line.strip()), 0)
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    block = [line for line in lines[start:end] if not line.startswith((" ", "\t"))]
    headers = [line for line in block if _MAIL_HEADER.match(line)]
    if len(headers) < 2 or not _MAIL_HEADER.match(block[0]) or 2 * len(headers) < len(block):
        return lines
    subjects = [_SUBJECT.sub("", line) for line in block if _SUBJECT.match(line)]
    return [*subjects, *lines[end:]]


def _drop_signature(lines: list[str]) -> list[str]:
    """Return the lines before the last one that is two dashes, where few follow it."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if _SIGNATURE.match(lines[place])), None)
    return lines if last is None or len(lines) - last > _MOST_OF_SIGNATURE else lines[:last]
