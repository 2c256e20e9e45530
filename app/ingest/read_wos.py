"""Web of Science: plain text with tags, as savedrecs.txt and .ciw files, 500 or 1,000 records in each."""

import re
from pathlib import Path

from app.ingest import records, text_kinds
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, TITLE
from app.ingest.source import TextSource
from app.ingest.tagged import TagFormat, make_reader

NAME = "wos"
DESCRIPTION = (
    "Web of Science: savedrecs.txt or NAME.ciw, a record a document: the abstract is the text; a folder of them"
)
ACCEPTS = records.ACCEPTS

_TAGS = TagFormat(
    line=re.compile(r"([A-Z][A-Z0-9])(?: (.*)|\s*$)"),
    begins=frozenset(["PT"]),
    ends=frozenset(["ER", "EF", "FN", "VR"]),
    names={
        "DT": "type", "TI": TITLE, "AB": ABSTRACT, "AU": "authors", "PY": "year", "PD": "date", "SO": "journal",
        "DE": "keywords", "ID": "keywords plus", "WC": "category", "SC": "research area", "LA": "language", "DI": "doi",
        "UT": "id", "TC": "times cited",
    },
    paragraphs=frozenset(
        [TITLE, ABSTRACT, "type", "journal", "keywords", "keywords plus", "category", "research area"]
    ),
)  # fmt: skip
_LABELS = ("type", "journal", "category", "research area", "language")


def recognises(path: Path) -> bool:
    """Recognise a file by the tags at its beginning, and a folder by most of its files."""
    return text_kinds.find_kind(path) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the records as documents; words of the title count too."""
    paths = text_kinds.list_files(path, (NAME,))
    return records.make_source(path, paths, make_reader(_TAGS, options.encoding), options, _LABELS)
