"""What of a text is counted: cleaning and stop words."""

import re
from pathlib import Path

from app.ingest.errors import IngestError
from app.ingest.marks import encoding_of

NOISE = re.compile(r"</?[a-z!][^<>]{0,300}>|&(?:[a-z]{2,8}|#\d{1,6});|(?:https?|ftp)://\S+|\bwww\.\S+")

# What is left of "don't", "we'll", "they've" once words are runs of letters.
_CONTRACTED = (
    "ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn re shan shouldn ve wasn weren won wouldn"
)


def clean(text: str) -> str:
    """Lower case, without tags, character references and web addresses.

    >>> clean("Fine.<br />See https://example.org &amp; weep").split()
    ['fine.', 'see', 'weep']
    """
    return NOISE.sub(" ", text.lower())


def storable(text: str) -> str:
    r"""A name as every database can keep it: no zero characters, and no halves of characters.

    File names that are not text, and ``"\ud800"`` in JSON, give the latter.

    >>> storable("a\0b\ud800")
    'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def stop_list(choice: str) -> frozenset[str]:
    """The words of ``"english"``, ``"none"`` or a file with one word a line.

    English is scikit-learn's list and the pieces that contractions leave.

    Raises
    ------
    IngestError
        When the file is not text.
    """
    if choice == "none":
        return frozenset()
    if choice == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import, and most commands need it not

        return frozenset(ENGLISH_STOP_WORDS) | frozenset(_CONTRACTED.split())
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
