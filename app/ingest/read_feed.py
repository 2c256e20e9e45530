"""Feeds of news: RSS of any version and Atom, an entry a document."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path

from app.ingest import files, html_page, records, text_kinds
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.records import SEVERAL, TITLE
from app.ingest.source import TextSource
from app.ingest.xml_parsing import DamagedXmlError, find_root, read_pieces
from app.ingest.xml_records import Values, read_records

NAME = "feed"
DESCRIPTION = "RSS or Atom: NAME.xml, .rss or .atom, an entry a document; a folder of them"
ACCEPTS = records.ACCEPTS

_TEXT = "text"
_TEXTS = (("encoded", "content"), ("description", "summary"))  # the whole text, and in its place the beginning
_FIELDS = {
    "title": TITLE, "pubDate": "date", "published": "date", "date": "date", "updated": "updated", "creator": "author",
    "author": "author", "category": "category", "subject": "category", "guid": "id", "id": "id",
}  # fmt: skip
_ONE = (TITLE, "date", "updated", "id", "link")
_LABELS = ("category", "feed", "author")


def recognises(path: Path) -> bool:
    """Recognise a file by the outermost element, and a folder by most of its files."""
    return text_kinds.find_kind(path) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the entries as documents, without the marks of pages; words of the title count too."""
    paths = text_kinds.list_files(path, (NAME,))

    def read_one(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, record in _records(file):
            yield line, record | ({"feed": files.stem(file)} if len(paths) > 1 else {})

    return records.make_source(path, paths, read_one, options, _LABELS, text=_TEXT, encoded=False, what="text")


def _records(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    name = "entry" if find_root(files.start(path, 1 << 14)) == "feed" else "item"
    try:
        for number, values in enumerate(read_records(read_pieces(path), (name,)), 1):
            yield number, _record(values)
    except DamagedXmlError as error:
        raise IngestError(path, f"{error}; download it again") from None


def _record(values: Values) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for path, value in values:
        if path in (("category", "@term"), ("link", "@href")):  # of Atom
            found.setdefault(path[0], []).append(value)
        elif not path[-1].startswith("@") and path[-1] not in ("uri", "email"):
            name = path[0] if path[0] == "content" else _FIELDS.get(path[0], path[0])
            found.setdefault(name, []).append(value)
    text = next((seen for names in _TEXTS if (seen := "\n\n".join(_plain(found, names)))), "")
    record = {_TEXT: text}
    for name in dict.fromkeys((*_FIELDS.values(), "link")):
        if values_of_name := [" ".join(_readable(each).split()) for each in found.get(name, ())]:
            record[name] = values_of_name[0] if name in _ONE else SEVERAL.join(dict.fromkeys(values_of_name))
    if "date" not in record and "updated" in record:
        record["date"] = record.pop("updated")
    return record


def _plain(found: dict[str, list[str]], names: tuple[str, ...]) -> list[str]:
    """Return the texts of some elements, without marks; of two elements of a kind the longer one."""
    texts = [_readable("\n\n".join(found[name])) for name in names if name in found]
    return [max(texts, key=len)] if texts and any(texts) else []


def _readable(value: str) -> str:
    """Return the text of a value that may be a piece of a page."""
    return html_page.readable(value)[1] if "<" in value else unescape(value)
