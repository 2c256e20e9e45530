"""MEDLINE: what PubMed exports as .nbib or .txt, and ERIC in the same form."""

import re
from pathlib import Path

from app.ingest import records, text_kinds
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, TITLE
from app.ingest.source import TextSource
from app.ingest.tagged import TagFormat, make_reader

NAME = "medline"
DESCRIPTION = "MEDLINE: NAME.nbib or .txt of PubMed, a record a document: the abstract is the text; a folder of them"
ACCEPTS = records.ACCEPTS

_TAGS = TagFormat(
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
    """Recognise a file by the ending of the name, or the tags at its beginning, and a folder by most of its files."""
    return text_kinds.find_kind(path) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the records as documents; words of the title count too."""
    paths = text_kinds.list_files(path, (NAME,))
    return records.make_source(path, paths, make_reader(_TAGS, options.encoding), options, _LABELS)
