"""RIS, which Zotero, EndNote, Mendeley, Scopus and most publishers export, and EndNote's own tags (.enw)."""

import re
from pathlib import Path

from app.ingest import records, text_kinds
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, TITLE
from app.ingest.source import TextSource
from app.ingest.tagged import TagFormat, make_reader

NAME = "ris"
DESCRIPTION = "RIS: NAME.ris, NAME.enw or .txt, a record a document: the abstract is the text; a folder of them"
ACCEPTS = records.ACCEPTS

_RIS = TagFormat(
    line=re.compile(r"\s?([A-Z][A-Z0-9]) {1,2}-(?: |$)(.*)"),
    begins=frozenset(["TY"]),
    ends=frozenset(["ER"]),
    names={
        "TY": "type", "TI": TITLE, "T1": TITLE, "CT": TITLE, "BT": TITLE, "AB": ABSTRACT, "N2": ABSTRACT,
        "AU": "authors", "A1": "authors", "PY": "year", "Y1": "year", "DA": "date", "JO": "journal", "JF": "journal",
        "T2": "journal", "JA": "journal", "J2": "journal", "KW": "keywords", "DO": "doi", "UR": "url", "LA": "language",
        "PB": "publisher", "ID": "id", "AN": "id", "DB": "database",
    },
    paragraphs=frozenset([TITLE, ABSTRACT, "journal", "url"]),
)  # fmt: skip
_ENDNOTE = TagFormat(
    line=re.compile(r"%([0-9A-Za-z@!$&(+*<>^~]) (.*)"),
    begins=frozenset(["0"]),
    ends=frozenset(),
    names={
        "0": "type", "T": TITLE, "X": ABSTRACT, "A": "authors", "D": "year", "8": "date", "J": "journal",
        "B": "journal", "K": "keywords", "R": "doi", "U": "url", "G": "language", "I": "publisher", "M": "id",
        "W": "database",
    },
    paragraphs=frozenset([TITLE, ABSTRACT, "journal", "url"]),
)  # fmt: skip
_LABELS = ("type", "journal", "keywords", "database", "language")


def recognises(path: Path) -> bool:
    """Recognise a file by the ending of the name, or the tags in a text, and a folder by most of its files."""
    return text_kinds.find_kind(path) in ("ris", "endnote")


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the records as documents; words of the title count too."""
    paths = text_kinds.list_files(path, ("ris", "endnote"))
    readers = {"endnote": make_reader(_ENDNOTE, options.encoding), "ris": make_reader(_RIS, options.encoding)}
    return records.make_source(
        path, paths, lambda file: readers.get(text_kinds.find_kind(file) or "", readers["ris"])(file), options, _LABELS
    )
