"""One file that is one document: its title and its text, whatever program it is of."""

from pathlib import PurePath

from app.ingest import html_page, office
from app.ingest.office import Unreadable

__all__ = ["KINDS", "Unreadable", "contents"]

KINDS = (".txt", ".text", ".md", ".rst", ".log", *html_page.KINDS, *office.READERS)


def contents(name: PurePath, raw: bytes, encoding: str) -> tuple[str, str]:
    """The title, empty where it has none of its own, and the text of the file ``name`` that holds ``raw``.

    Raises
    ------
    Unreadable
        When a PDF, Word or OpenDocument file cannot be read.
    UnicodeDecodeError
        When a text is not of that encoding.
    """
    kind = name.suffix.lower()
    if kind in office.READERS:
        return office.READERS[kind](raw)
    text = raw.decode(encoding).removeprefix("\ufeff")
    return html_page.readable(text) if kind in html_page.KINDS else ("", text)
