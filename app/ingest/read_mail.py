"""Mail: an .mbox file, an .eml file or a folder of these, one document a message."""

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import Any

from app.ingest import files, html_page, packed, text_kinds
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextDocument, TextSource
from app.ingest.words import clean

NAME = "mail"
DESCRIPTION = "mail: NAME.mbox, a list's archive as .txt, or a folder of .eml, one document a message"
ACCEPTS = ("token_pattern",)

_MBOX, _EML = (".mbox", ".mbx"), (".eml",)
_KEPT = ("from", "to", "date")  # headers that are shown with the document
_HEADER = re.compile(rb"[!-9;-~]+:[ \t]")
_SEPARATOR = b"From "
_DATED = re.compile(rb" [0-9]{1,2}:[0-9]{2}.* [0-9]{4}\s*$")  # as a separator ends
# The library takes the square of the number of parameters that a header has.
_LONG_KIND = re.compile(rb"^(content-type:(?:[^\n]|\n[ \t]){0,3000})(?:[^\n]|\n[ \t])*", re.MULTILINE | re.IGNORECASE)
_LONGEST_HEADER = 300  # letters,
_MOST_DECODED = 3_000  # out of so many as they are sent


def recognises(path: Path) -> bool:
    """By the ending of the name, or how an mbox begins; a folder by the files in it at any depth."""
    if path.is_dir():
        named = any(files.suffix(file) in (*_MBOX, *_EML) and file.is_file() for file in path.rglob("*"))
        return named or text_kinds.find_kind(path) == NAME  # a look into every file below would take long
    return _is_mail(path)


def _is_mail(path: Path) -> bool:
    ending = files.suffix(path)
    if ending in (*_MBOX, *_EML):
        return True
    return ending in ("", ".txt") and text_kinds.find_kind_of_text(text_kinds.read_start(path)) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:  # noqa: ARG001 - the signature of every reader
    """The messages: subject as title, text without HTML and attachments; words of the subject count too."""
    every = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    mail = [file for file in every if _is_mail(file)] if path.is_dir() else every
    notes: list[str] = []
    if others := [file for file in every if file not in set(mail) and not file.name.startswith(".")]:
        notes.append(f"left out what is no mail: {files.kinds(others)}")
    return TextSource(
        where=str(path),
        documents=lambda: _documents(path, mail),
        counted=lambda document: clean(f"{document.title}\n{document.text}" if document.titled else document.text),
        notes=notes,
    )


def _documents(path: Path, mail: list[Path]) -> Iterator[TextDocument]:
    number = 0
    for file in mail:
        inside = PurePosixPath(file.relative_to(path).as_posix()) if file != path else PurePosixPath(file.name)
        folders = "/".join(inside.parts[:-1])
        label = folders or (files.stem(inside) if len(mail) > 1 and files.suffix(file) not in _EML else None)
        for line, raw in _messages(file):
            number += 1
            yield _document(raw, number, label, file, line)


def _messages(path: Path) -> Iterator[tuple[int, bytes]]:
    """The messages of a file, each with the line on which it begins."""
    if files.suffix(path) in _EML:
        with files.opened(path) as stream:
            raw = files.upto(stream, _LARGEST + 1)
        if len(raw) > _LARGEST:
            raise IngestError(path, _TOO_LARGE)
        yield 1, raw
        return
    with files.opened(path) as stream:
        first, number = stream.readline(packed.LARGEST_TEXT).removeprefix(b"\xef\xbb\xbf"), 1
        while first and not first.strip() and number < _MOST_BLANK:
            first, number = stream.readline(packed.LARGEST_TEXT), number + 1
        if not first.startswith(_SEPARATOR):
            raise IngestError(path, "is no mbox file: its messages do not begin with a line 'From ...'", 1)
        yield from _split(stream, path, number)


_MOST_BLANK = 10  # lines above the first message
_LARGEST = 1 << 26  # bytes of a message with its attachments
_TOO_LARGE = f"has a message of more than {_LARGEST >> 20} MB; remove its attachments"


def _split(stream: Any, path: Path, number: int) -> Iterator[tuple[int, bytes]]:
    """Messages after their separating lines, each of which follows an empty one and has a header below it."""
    lines: list[bytes] = []
    begin, size, blank = number, 0, False
    line = stream.readline(packed.LARGEST_TEXT)
    while line:
        number += 1
        after = stream.readline(packed.LARGEST_TEXT)
        if blank and line.startswith(_SEPARATOR) and (_HEADER.match(after) or _DATED.search(line)):
            yield begin, b"".join(lines)
            lines, begin, size = [], number, 0
        else:
            lines.append(line.removeprefix(b">") if line.startswith(b">From ") else line)
            size += len(line)
            if size > _LARGEST:
                raise IngestError(path, _TOO_LARGE, begin)
        blank = not line.strip()
        line = after
    yield begin, b"".join(lines)


def _document(raw: bytes, number: int, label: str | None, path: Path, line: int) -> TextDocument:
    try:
        message = message_from_bytes(_LONG_KIND.sub(rb"\1", raw))
        subject = _header(message, "subject")
        text = _text(message)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged message can raise anything
        cause = f"has a message that cannot be read ({type(error).__name__}); remove it"
        raise IngestError(path, cause, line) from None
    columns = {name: value for name in _KEPT if (value := _header(message, name))}
    return TextDocument(text, subject or f"message {number}", label, None, columns, bool(subject))


def _header(message: Message, name: str) -> str:
    """A header as people read it, on one line."""
    raw = message.get(name)
    if raw is None:
        return ""
    try:
        pieces = decode_header(str(raw)[:_MOST_DECODED])
    except HeaderParseError:
        pieces = [(str(raw)[:_MOST_DECODED], None)]
    text = "".join(_decoded(piece, charset) if isinstance(piece, bytes) else piece for piece, charset in pieces)
    return " ".join(text.split())[:_LONGEST_HEADER]


def _text(message: Message) -> str:
    """The plain text of a message, or that of its pages; attachments are left out."""
    plain: list[str] = []
    pages: list[str] = []
    for part in message.walk():
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html"):
            raw = part.get_payload(decode=True)
            text = _decoded(raw if isinstance(raw, bytes) else b"", part.get_content_charset())
            (plain if kind == "text/plain" else pages).append(text)
    if any(text.strip() for text in plain):
        return "\n".join(plain)
    return "\n".join(html_page.readable(page)[1] for page in pages)


def _decoded(raw: bytes, charset: str | None) -> str:
    """Bytes of a message as text; in the usual encodings where it names none, or a wrong one."""
    for name in (charset, "utf-8", "cp1252"):
        try:
            if name:
                return raw.decode(name)
        except (LookupError, ValueError):
            continue
    return raw.decode("latin-1")
