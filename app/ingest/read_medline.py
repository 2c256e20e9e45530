"""MEDLINE: what PubMed exports as .nbib or .txt, and ERIC in the same form."""

import re
from pathlib import Path

from app.ingest import records, text_kinds
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, TITLE
from app.ingest.source import TextSource
from app.ingest.tagged import Tags, records_of

NAME = "medline"
DESCRIPTION = "MEDLINE: NAME.nbib or .txt of PubMed, a record a document: the abstract is the text; a folder of them"
ACCEPTS = records.ACCEPTS

_TAGS = Tags(
    line=re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- (.*)"),
    begins=frozenset(["PMID"]),
    ends=frozenset(),
    names={
        "PMID": "id", "TI": TITLE, "BTI": TITLE, "AB": ABSTRACT, "OAB": ABSTRACT, "AU": "authors", "DP": "date",
        "JT": "journal", "SO": "source", "PT": "type", "MH": "subjects", "OT": "keywords", "LA": "language",
        "LID": "doi", "UR": "url",
    },
    paragraphs=frozenset([TITLE, ABSTRACT, "journal", "source"]),
    blank_ends=True,
)  # fmt: skip
_LABELS = ("type", "journal", "language")


def recognises(path: Path) -> bool:
    """By the ending of the name, or the tags at its beginning; a folder by most of its files."""
    return text_kinds.kind_of(path) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:
    """The records as documents; words of the title count too."""
    paths = text_kinds.files_of(path, (NAME,))
    return records.source_of(path, paths, records_of(_TAGS, options.encoding), options, _LABELS)
