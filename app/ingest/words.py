"""What of a text is counted: cleaning, what a word is, and stop words."""

import re
import unicodedata
from functools import cache
from pathlib import Path

from app.ingest import languages
from app.ingest.errors import IngestError
from app.ingest.marks import encoding_of
from app.ingest.scripts import marks

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


def clean(text: str) -> str:
    """Lower case and plain, without tags, character references, web addresses and the endings of ordinals.

    >>> clean("Fine.<br />See https://example.org &amp; weep on the 19th").split()
    ['fine.', 'see', 'weep', 'on', 'the', '1']
    """
    return NOISE.sub(" ", plain(text.lower()))


def plain(text: str) -> str:
    r"""A text in which a word is written in one way: accents as one character with their letter, no optional points.

    >>> plain("cafe\u0301 co\u00adop \ufb01rst"), plain("كِتَـــاب") == "كتاب"
    ('café coop first', True)
    """
    return text if text.isascii() else _OPTIONAL.sub(_usual, unicodedata.normalize("NFC", text))


def _usual(found: re.Match[str]) -> str:
    """The letters of a ligature; nothing in place of what is optional."""
    return _LIGATURES.get(found[0], "")


@cache
def usual_pattern() -> str:
    """The regular expression of a word: two characters or more, letters of any alphabet with the marks upon them.

    Vowels of Indic scripts are marks, and joiners stand between letters of Persian and Indic words.
    """
    letter, mark = r"[^\W\d_]", f"[{marks()}]"
    return f"(?:{letter}{{2,}}|{letter}(?={mark}))(?:(?:{mark}|[\u200c\u200d](?={letter}))+{letter}*)*"


def storable(text: str) -> str:
    r"""A name as every database can keep it: no zero characters, and no halves of characters.

    File names that are not text, and ``"\ud800"`` in JSON, give the latter.

    >>> storable("a\0b\ud800")
    'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def stop_list(choice: str) -> frozenset[str]:
    """The words of ``"none"``, a language by name or code, or a file with one word a line.

    Raises
    ------
    IngestError
        When the file is not text.
    """
    if choice == "none":
        return frozenset()
    if code := languages.code_of(choice):
        return languages.stop_words(code)
    try:
        raw = Path(choice).read_bytes()
    except OSError as error:
        raise IngestError(choice, f"the stop word list cannot be read ({error.strerror})") from None
    encoding = encoding_of(raw, "utf-8")
    try:
        return frozenset(raw.decode(encoding).removeprefix("\ufeff").lower().split())
    except UnicodeDecodeError as error:
        cause = f"the stop word list is not {encoding.upper()} at byte {error.start + 1:,}"
        raise IngestError(choice, cause) from None
