"""RIS, which Zotero, EndNote, Mendeley, Scopus and most publishers export, and EndNote's own tags (.enw)."""

import re
from pathlib import Path

from app.ingest import records, text_kinds
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, TITLE
from app.ingest.source import TextSource
from app.ingest.tagged import Tags, records_of

NAME = "ris"
DESCRIPTION = "RIS: NAME.ris, NAME.enw or .txt, a record a document: the abstract is the text; a folder of them"
ACCEPTS = records.ACCEPTS

_RIS = Tags(
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
_ENDNOTE = Tags(
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
    """By the ending of the name, or the tags in a text; a folder by most of its files."""
    return text_kinds.kind_of(path) in ("ris", "endnote")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The records as documents; words of the title count too."""
    paths = text_kinds.files_of(path, ("ris", "endnote"))
    readers = {"endnote": records_of(_ENDNOTE, options.encoding), "ris": records_of(_RIS, options.encoding)}
    return records.source_of(
        path, paths, lambda file: readers.get(text_kinds.kind_of(file) or "", readers["ris"])(file), options, _LABELS
    )
