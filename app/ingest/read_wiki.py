"""Folders of WikiExtractor: files ``AA/wiki_00`` with ``<doc title="...">`` blocks, or a JSON object a line."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from app.ingest import files, packed
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextDocument, TextSource
from app.ingest.words import clean

NAME = "wiki"
DESCRIPTION = "WikiExtractor: a folder of AA/wiki_00, AB/wiki_01, ..., with <doc> blocks or a JSON object a line"
ACCEPTS = ("token_pattern",)

_FILE = re.compile(r"wiki_\d+(?:\.json)?")
_OPENS = re.compile(r"<doc\s[^<>]*>")
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_KEPT = ("id", "url")


def recognises(path: Path) -> bool:
    """A file ``wiki_00`` that begins with a document; a folder by the files in it and in its folders."""
    if path.is_dir():
        return next(_inside(path), None) is not None
    return bool(_FILE.fullmatch(packed.bare(path.name))) and files.start(path).lstrip()[:1] in (b"<", b"{")


def _inside(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("wiki_*"):
        if file.is_file() and recognises(file):
            yield file


def read(path: Path, options: ImportOptions) -> TextSource:
    """The articles: their titles, and their texts without the line that repeats the title."""
    every = sorted(_inside(path)) if path.is_dir() else [path]
    if not every:
        raise IngestError(path, "has no files wiki_00, wiki_01, ... in it")
    return TextSource(
        where=str(path),
        counted=lambda document: clean(f"{document.title}\n{document.text}"),
        documents=lambda: (found for file in every for found in _documents(file, options.encoding)),
        notes=files.guesses(every, options.encoding),
        understood=files.understood(every[0], options.encoding) | {"files": f"{len(every):,}"},
    )


def _documents(path: Path, encoding: str) -> Iterator[TextDocument]:
    if files.start(path).lstrip()[:1] == b"{":
        yield from _objects(path, encoding)
        return
    about: dict[str, str] | None = None
    lines: list[str] = []
    size = begin = 0
    for line, text in files.lines(path, encoding):
        if about is None:
            if text.strip() and not _OPENS.fullmatch(text.strip()):
                raise IngestError(path, "is neither <doc ...> nor within such a block", line)
            if text.strip():
                about, lines, size, begin = _attributes(text), [], 0, line
        elif text.strip() == "</doc>":
            yield _document(about, lines)
            about = None
        else:
            lines.append(text)
            size += len(text)
            files.check_length(size, path, begin)
    if about is not None:
        raise IngestError(path, "the block <doc ...> that begins here never ends; copy the file again", begin)


def _attributes(text: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def _document(about: dict[str, Any], lines: list[str]) -> TextDocument:
    title = " ".join(str(about.get("title") or about.get("id") or "article").split())
    body = lines[1:] if lines and lines[0].strip() == title else lines
    columns = {name: str(about[name]) for name in _KEPT if about.get(name)}
    return TextDocument(unescape("\n".join(body)).strip(), title, None, None, columns)


def _objects(path: Path, encoding: str) -> Iterator[TextDocument]:
    for line, text in files.lines(path, encoding):
        if not text.strip():
            continue
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise IngestError(path, "is no JSON object with the title and text of an article", line) from None
        if not isinstance(found, dict) or not isinstance(found.get("text"), str):
            raise IngestError(path, "is no JSON object with the title and text of an article", line)
        yield _document(found, found["text"].split("\n"))
