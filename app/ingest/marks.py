"""Byte-order marks: how a file itself says in which encoding of Unicode it is."""

import codecs

WIDE = ("utf-16", "utf-32")  # a character is several bytes, and so is the end of a line
# The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(raw: bytes, otherwise: str) -> str:
    r"""The encoding that the first bytes of a text name; ``otherwise`` where they name none.

    >>> encoding_of("Tea".encode("utf-16"), "latin-1"), encoding_of(b"Tea", "latin-1")
    ('utf-16', 'latin-1')
    """
    return next((name for mark, name in _MARKS if raw.startswith(mark)), otherwise)
