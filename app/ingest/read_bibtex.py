"""BibTeX and BibLaTeX, as Zotero, Mendeley, JabRef, Scopus and others export them."""

import re
from collections.abc import Iterator
from pathlib import Path

from app.ingest import bibtex, files, packed, records, text_kinds
from app.ingest.bibtex import BibtexEntry
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, SEVERAL, TITLE
from app.ingest.source import TextSource

NAME = "bibtex"
DESCRIPTION = "BibTeX: NAME.bib, an entry a document: the abstract is the text; a folder of them"
ACCEPTS = records.ACCEPTS

_LARGEST = 1 << 28  # bytes of a file, which is read as a whole
_COLUMNS = {  # of a record, and the fields that give it, the best first
    TITLE: ("title", "booktitle"), ABSTRACT: ("abstract",), "authors": ("author", "editor"), "year": ("year", "date"),
    "date": ("date",), "journal": ("journal", "journaltitle", "booktitle"), "keywords": ("keywords", "keyword"),
    "doi": ("doi",), "url": ("url",), "language": ("language", "langid"), "publisher": ("publisher", "school"),
}  # fmt: skip
_LABELS = ("type", "journal", "keywords", "language")
_AS_IT_IS = ("doi", "url")
_AND = re.compile(r"\s+and\s+")
_YEAR = re.compile(r"[0-9]{4}")
_KEYWORDS = re.compile(r"\s*[;,]\s*")


def recognises(path: Path) -> bool:
    """Recognise a file by the ending of the name, or the first entry, and a folder by most of its files."""
    return text_kinds.find_kind(path) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the entries as documents; words of the title count too."""
    paths = text_kinds.list_files(path, (NAME,))
    notes: list[str] = []
    return records.make_source(
        path, paths, lambda file: _records(file, options.encoding, notes), options, _LABELS, notes=notes
    )


def _records(path: Path, encoding: str, notes: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    with files.text(path, encoding) as stream:
        source = stream.read(_LARGEST + 1)
    if len(source) > _LARGEST:
        raise IngestError(path, f"is larger than {_LARGEST >> 20} MB, the most of one file of entries; divide it")
    broken: list[int] = []
    for entry in bibtex.read_entries(source.removeprefix("\ufeff")):
        record = _record(entry)
        if sum(map(len, record.values())) > packed.LARGEST_TEXT:
            cause = f"has an entry of more than {packed.LARGEST_TEXT >> 20} MB; is a brace missing?"
            raise IngestError(path, cause, entry.line)
        if not entry.whole:
            broken.append(entry.line)
        yield entry.line, record
    if broken:
        has = "1 entry has" if len(broken) == 1 else f"{len(broken):,} entries have"
        note = (
            f"{has} a brace or quotation mark that never closes and {'is' if len(broken) == 1 else 'are'} read in part"
        )
        notes.extend({f"{path.name}: {note} (line {broken[0]:,})"}.difference(notes))


def _record(entry: BibtexEntry) -> dict[str, str]:
    record = {"type": entry.kind}
    for name, given in _COLUMNS.items():
        value = next((entry.fields[field] for field in given if entry.fields.get(field, "").strip()), "")
        if name == "authors":
            value = SEVERAL.join(bibtex.decode_value(each) for each in _AND.split(" ".join(value.split())) if each)
        elif name == "keywords":
            value = SEVERAL.join(filter(None, _KEYWORDS.split(bibtex.decode_value(value))))
        elif name == "year":
            value = found[0] if (found := _YEAR.search(value)) else ""
        else:
            value = value.strip() if name in _AS_IT_IS else bibtex.decode_value(value)
        record[name] = value
    record["id"] = entry.key
    return {name: value for name, value in record.items() if value}
