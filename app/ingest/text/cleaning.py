"""Clean texts: markup and addresses, spelling variants, stop words, hyphens at line ends, and mail headers."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.encodings import find_marked_encoding
from topiary.app.ingest.text.languages import list_marks

# Tags, character references, web addresses and endings of ordinals. The leading character class rules out most places,
# and a regular expression searches for such a class ten times faster than for alternatives.
NOISE = re.compile(
    r"[<&hfw0-9](?:"
    r"(?<=<)/?[a-z!][^<>]{0,300}>"
    r"|(?<=&)(?:[a-z]{2,8}|#[0-9]{1,6});"
    r"|(?<=h)ttps?://\S+|(?<=f)tp://\S+|(?<=\bw)ww\.\S+"
    r"|(?<=[0-9])(?:(?:<sup>)?(?:st|nde?|rd|th|[eè]r|[eè]re|i?[eè]me|ste|de|[rd][oa])|\sth)\b"
    r")"
)

LETTERS = r"[^\W\d_]{2,}"  # two or more letters, for alphabets without combining marks
# Characters that only some spellings of a word have: points of Arabic and Hebrew, the stroke that stretches an Arabic
# word, soft hyphens, and the dot that remains of a Turkish capital in lower case. Also ligatures of printed books and
# PDF files, which are replaced by their letters, and the long s of old prints, which is replaced by s.
_OPTIONAL_CHARACTERS = re.compile(
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
    r"""Return a text with one spelling per word: composed accents, no optional points, no ligatures.

    >>> simplify_letters("cafe\u0301 co\u00adop \ufb01rst"), simplify_letters("كِتَـــاب") == "كتاب"
    ('café coop first', True)
    """
    if text.isascii():
        return text
    return _OPTIONAL_CHARACTERS.sub(lambda match: _LIGATURES.get(match[0], ""), unicodedata.normalize("NFC", text))


@cache
def make_word_pattern() -> str:
    """Return the regular expression of a word: two or more characters, letters of any alphabet with their marks.

    Vowels of Indic scripts are marks; zero-width joiners occur within Persian and Indic words.
    """
    letter, mark = r"[^\W\d_]", f"[{list_marks()}]"
    return f"(?:{letter}{{2,}}|{letter}(?={mark}))(?:(?:{mark}|[\u200c\u200d](?={letter}))+{letter}*)*"


def make_storable(text: str) -> str:
    r"""Return a name that every database can store: without zero characters and lone surrogates.

    Lone surrogates come from file names that cannot be decoded, and from ``"\ud800"`` in JSON.

    >>> make_storable("a\0b\ud800")
    'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def read_stop_words(choice: str) -> frozenset[str]:
    """Return the stop words of a choice: ``"none"``, a language by name or code, or a file with one word a line.

    Raises
    ------
    IngestError
        When the file cannot be read or decoded.
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


# The second half begins on the next line, or on the next page, below the page number. A pattern that began with
# the first half would be slow, because it would be tried at every word of a text.
_CUT_WORD = re.compile(r"[-\u2010][ \t]*\r?\n\s*(?:[0-9]{1,4}[ \t]*\r?\n\s*)?([^\W\d_]{2,})")
_LONGEST_HALF = 60  # letters of the first half of a cut word
# A soft hyphen, and the sign "¬" that OCR programs write for it, never belong to the word itself.
_SOFT_HYPHEN = re.compile("[\u00ad\u00ac][ \t]*\r?\n\\s*(?=[^\\W\\d_])")
_WORD = re.compile(r"[^\W\d_]{2,}(?:[-\u2010][^\W\d_]{2,})*")
_RARE_HALF = 10  # a cut word is one word if it occurs more than this many times as often as its rarer half
_MOST_LETTERS = 1 << 22  # characters of texts from which words are counted, about a second of work


class Rejoining(NamedTuple):
    """A rule that decides which words cut at a line end are joined.

    Attributes
    ----------
    which : str
        Words to join: ``"none"``; ``"soft"``, those with soft hyphens; ``"listed"``, these and the listed words;
        ``"all"``, all except the listed words.
    listed : frozenset of str
        Words in lower case, with their hyphen: ``well-known``.
    """

    which: str
    listed: frozenset[str] = frozenset()

    def apply(self, text: str) -> str:
        r"""Return a text with the cut words joined that this rule selects.

        >>> Rejoining("all", frozenset({"well-known"})).apply("The com-\nmunist was well-\nknown.")
        'The communist was well-\nknown.'
        >>> Rejoining("soft").apply("com\u00ad\nmunist and eco-\nnomic")
        'communist and eco-\nnomic'
        """
        if self.which == "none":
            return text
        if not text.isascii() and ("\u00ad" in text or "\u00ac" in text):
            text = _SOFT_HYPHEN.sub("", text)
        if self.which == "soft" or not may_be_cut(text):
            return text
        pieces, place = [], 0
        for cut in find_cuts(text):
            if (_join_halves(cut.first, cut.second).lower() in self.listed) == (self.which == "listed"):
                pieces.append(text[place : cut.hyphen])
                place = cut.second_half
        return "".join([*pieces, text[place:]])


class HyphenDecision(NamedTuple):
    """The decision which cut words of a collection to join.

    Attributes
    ----------
    rejoining : Rejoining
    joined, kept : int
        Number of places where words are joined, and where they keep their hyphen.
    examples : tuple of str
        The most frequent word that is joined and the most frequent one that is not, if they exist.
    """

    rejoining: Rejoining
    joined: int
    kept: int
    examples: tuple[str, ...]


class HyphenEvidence:
    """The words that are cut in texts, and counts of other words by which to decide whether to join them."""

    def __init__(self) -> None:
        self._cut: Counter[tuple[str, str]] = Counter()
        self._words: Counter[str] = Counter()
        self._letters = 0

    def see(self, text: str) -> None:
        """Count the cut words of a text, and all its words if there are any; most texts have none."""
        if may_be_cut(text) and (cuts := list(find_cuts(text))):
            self._cut.update((cut.first.lower(), cut.second.lower()) for cut in cuts)
            self.learn(text)

    def learn(self, text: str) -> None:
        """Count the words of a text that are not cut at a line end."""
        if self._letters < _MOST_LETTERS:
            self._letters += len(text)
            self._words.update(_WORD.findall(_remove_cuts(text).lower().replace("\u2010", "-")))

    def decide(self) -> HyphenDecision | None:
        """Return the decision about all cut words; None if there are none."""
        if not self._cut:
            return None
        evidence = {pair: self._weigh_pair(*pair) for pair in self._cut}
        balance = sum(times * evidence[pair] for pair, times in self._cut.items())
        joins = {pair: self._is_joined(pair, weight, balance) for pair, weight in evidence.items()}
        counts_by_side = [
            Counter({pair: count for pair, count in self._cut.items() if joins[pair] is side}) for side in (True, False)
        ]
        which = "all" if balance >= 0 else "listed"
        listed = frozenset(_join_halves(*pair) for pair, joined in joins.items() if joined is (which == "listed"))
        examples = tuple(_join_halves(*side.most_common(1)[0][0]) for side in counts_by_side if side)
        return HyphenDecision(Rejoining(which, listed), counts_by_side[0].total(), counts_by_side[1].total(), examples)

    def _weigh_pair(self, first: str, second: str) -> int:
        """Return 1 if the collection usually writes two halves as one word, -1 if with a hyphen, 0 if neither."""
        joined, hyphened = self._words[first + second], self._words[_join_halves(first, second)]
        return 1 if joined and joined >= hyphened else -int(hyphened > 0)

    def _is_joined(self, pair: tuple[str, str], evidence: int, balance: int) -> bool:
        if evidence:
            return evidence > 0
        return balance >= 0 and min(self._words[half] for half in pair) * _RARE_HALF < self._cut[pair]


def may_be_cut(text: str) -> bool:
    """Return whether a line of a text ends in a hyphen."""
    return "-\n" in text or "-\r" in text or "- \n" in text or (not text.isascii() and "\u2010" in text)


class CutWord(NamedTuple):
    """A word cut at a line end: the offsets of its hyphen and of its second half, and both halves."""

    hyphen: int
    second_half: int
    first: str
    second: str


def find_cuts(text: str) -> Iterator[CutWord]:
    """Yield the cut words of a text; words like Anglo-Saxon, with a capital after the hyphen, are not cut."""
    for match in _CUT_WORD.finditer(text):
        start = end = match.start()
        while start and end - start < _LONGEST_HALF and text[start - 1].isalpha():
            start -= 1
        first, second = text[start:end], match[1]
        if len(first) > 1 and (not second[0].isupper() or first.isupper()):
            yield CutWord(end, match.start(1), first, second)


def _remove_cuts(text: str) -> str:
    """Return a text without its cut words, so that their halves are not counted as words."""
    pieces, place = [], 0
    for cut in find_cuts(text):
        pieces += [text[place : cut.hyphen - len(cut.first)], " "]
        place = cut.second_half + len(cut.second)
    return "".join([*pieces, text[place:]])


def _join_halves(first: str, second: str) -> str:
    """Return two halves joined by a hyphen."""
    return f"{first}-{second}"


# The beginning of a header line; a block is a mail header if its first line and half of all its lines match.
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
_LONGEST_SIGNATURE = 15  # lines
_LONGEST_HEADERS = 8_000  # characters in which the headers of a message end


def strip_mail_lines(text: str) -> str:
    r"""Return a mail without headers (except the words of the subject), quoted lines and signature.

    >>> strip_mail_lines("From: a@b.c\nSubject: Re: The comet\n\nBo writes:\n> bright?\nVery bright.\n-- \nAl, Inc.")
    'The comet\n\nVery bright.'
    """
    lines = _drop_headers(text.splitlines())
    remaining = [
        line for line in _drop_signature(lines) if not _QUOTED.match(line) and not _ANNOUNCED.match(line.strip())
    ]
    return "\n".join(remaining)


def is_message(text: str) -> bool:
    r"""Return whether a text begins with mail headers, ``From:`` and ``Subject:`` among them.

    >>> is_message("From: a@b.c\nSubject: Re: The comet\n\nBright."), is_message("From: the sea\n\nIt was bright.")
    (True, False)
    """
    if not _MAIL_HEADER.match(text[:_LONGEST_HEADERS].lstrip()[:80]):
        return False
    block, _ = _find_headers(text[:_LONGEST_HEADERS].splitlines())
    return all(any(line.lower().startswith(name) for line in block) for name in ("from:", "subject:"))


def _drop_headers(lines: list[str]) -> list[str]:
    """Return the lines without the block of headers at the beginning, except its subject."""
    block, end = _find_headers(lines)
    subjects = [_SUBJECT.sub("", line) for line in block if _SUBJECT.match(line)]
    return [*subjects, *lines[end:]]


def _find_headers(lines: list[str]) -> tuple[list[str], int]:
    """Return the lines of the block of headers at the beginning, without continued ones, and the line after it."""
    start = next((place for place, line in enumerate(lines) if line.strip()), 0)
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    block = [line for line in lines[start:end] if not line.startswith((" ", "\t"))]
    headers = [line for line in block if _MAIL_HEADER.match(line)]
    if len(headers) < 2 or not _MAIL_HEADER.match(block[0]) or 2 * len(headers) < len(block):
        return [], 0
    return block, end


def _drop_signature(lines: list[str]) -> list[str]:
    """Return the lines above the signature: the last line of two dashes and the few lines below it."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if _SIGNATURE.match(lines[place])), None)
    return lines if last is None or len(lines) - last > _LONGEST_SIGNATURE else lines[:last]
