"""Readers of mail (.mbox and .eml) and of WhatsApp exports, in which each message is a document."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from itertools import chain, islice
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, plural
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers.markup import read_page
from topiary.app.ingest.source import GUESS, Reader, TextDocument, TextSource
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.tables.sniff import WHATSAPP
from topiary.app.ingest.text.cleaning import clean_text

_MBOX, _EML = (".mbox", ".mbx"), (".eml", ".emlx")
_KEPT_HEADERS = ("from", "to", "date")  # headers that are shown with the document
_HEADER = re.compile(rb"[!-9;-~]+:[ \t]")
_SEPARATOR = b"From "
_DATE_ENDING = re.compile(rb" [0-9]{1,2}:[0-9]{2}.* [0-9]{4}\s*$")  # the end of a separator
# The library takes quadratic time in the number of parameters of a header.
_LONG_CONTENT_TYPE = re.compile(
    rb"^(content-type:(?:[^\n]|\n[ \t]){0,3000})(?:[^\n]|\n[ \t])*", re.MULTILINE | re.IGNORECASE
)
_LONGEST_HEADER = 300  # letters of a decoded header
_MOST_DECODED = 3_000  # letters of a header that are decoded


def recognise_mail(path: Path) -> bool:
    """Recognise a file by its ending or as the beginning of an mbox, and a folder by the files at any depth."""
    if path.is_dir():
        named = any(packing.find_suffix(PurePath(name)) in (*_MBOX, *_EML) for name in packing.list_names(path))
        return named or sniff.find_kind(path) == "mail"  # opening every file would take long
    return _is_mail(path)


def _is_mail(path: Path) -> bool:
    ending = packing.find_suffix(path)
    if ending in (*_MBOX, *_EML):
        return True
    return sniff.find_plain_suffix(path) in sniff.PLAIN and sniff.look_at(path).content == "mail"


def read_mail(path: Path, options: ImportOptions) -> TextSource:  # noqa: ARG001 - the signature of every reader
    """Read the messages, with the subject as title, whose words are counted too; attachments are left out."""
    mail = [file for file in packing.list_visible(path) if file == path or _is_mail(file)]
    if not mail:
        cause = "has no mail in it: files .mbox and .eml, or messages with their headers (From:, Date:, Message-ID:)"
        raise IngestError(path, f"{cause}; leave --format out, or give another folder")
    return TextSource(
        where=str(path),
        documents=lambda: _read_mail_files(path, mail),
        counted=lambda document: clean_text(f"{document.title}\n{document.text}" if document.titled else document.text),
        notes=packing.note_others(path, mail, "what is no mail"),
    )


def _read_mail_files(path: Path, mail: list[Path]) -> Iterator[TextDocument]:
    """Yield all messages, with the folder, or the name of the archive, as the label."""
    number = 0
    for file in mail:
        relative = PurePosixPath(file.relative_to(path).as_posix()) if file != path else PurePosixPath(file.name)
        folders = "/".join(relative.parts[:-1])
        messages = _read_messages(file)
        first = list(islice(messages, 2))
        is_archive = len(mail) > 1 and (packing.find_suffix(file) in _MBOX or len(first) > 1)
        label = folders or (packing.strip_endings(relative) if is_archive else None)
        for line, raw in chain(first, messages):
            number += 1
            yield _make_mail(raw, number, label, file, line)


def _read_messages(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the messages of a file, each with the line on which it begins."""
    if packing.find_suffix(path) in _EML:
        with packing.open_file(path) as stream:
            raw = packing.read_up_to(stream, _LARGEST + 1)
        if len(raw) > _LARGEST:
            raise IngestError(path, _TOO_LARGE)
        yield 1, raw if packing.find_suffix(path) != ".emlx" else _cut_length(raw)
        return
    is_plain = sniff.begins_with_mail_headers(sniff.look_at(path).text)
    with packing.open_file(path) as stream:
        first, number = stream.readline(packing.LARGEST_TEXT).removeprefix(b"\xef\xbb\xbf"), 1
        while first and not first.strip() and number < _MOST_BLANK:
            first, number = stream.readline(packing.LARGEST_TEXT), number + 1
        if not (first.startswith(_SEPARATOR) or is_plain):
            cause = "is no mail: it begins neither with a line 'From ...' nor with the headers of a message"
            raise IngestError(path, f"{cause}; leave --format out", 1)
        yield from _split_mbox(stream, path, number, [first] if is_plain else [])


def _cut_length(raw: bytes) -> bytes:
    """Return a message of Apple Mail without the number of its bytes, in the first line, and what follows it."""
    head, _, rest = raw.partition(b"\n")
    return rest[: int(head)] if head.strip().isdigit() else raw


_MOST_BLANK = 10  # blank lines above the first message
_LARGEST = 1 << 26  # bytes of a message, attachments included
_TOO_LARGE = f"has a message of more than {_LARGEST >> 20} MB; remove its attachments"


def _split_mbox(stream: Any, path: Path, number: int, lines: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the messages of an mbox, split at lines "From ..." below a blank line and above a header.

    ``lines`` are those of the first message that are already read; it has no line "From ..." if there are any.
    """
    is_plain, size = bool(lines), sum(map(len, lines))
    first_line, after_blank = number, False
    line = stream.readline(packing.LARGEST_TEXT)
    while line:
        number += 1
        next_line = stream.readline(packing.LARGEST_TEXT)
        heads = _HEADER.match(next_line) is not None, _DATE_ENDING.search(line) is not None
        if after_blank and line.startswith(_SEPARATOR) and (all if is_plain else any)(heads):
            yield first_line, b"".join(lines)
            lines, first_line, size = [], number, 0
        else:
            lines.append(line.removeprefix(b">") if line.startswith(b">From ") else line)
            size += len(line)
            if size > _LARGEST:
                raise IngestError(path, _TOO_LARGE, first_line)
        after_blank = not line.strip()
        line = next_line
    yield first_line, b"".join(lines)


def _make_mail(raw: bytes, number: int, label: str | None, path: Path, line: int) -> TextDocument:
    """Return the document of a message that begins on a line of a file."""
    try:
        message = message_from_bytes(_LONG_CONTENT_TYPE.sub(rb"\1", raw))
        subject = _read_header(message, "subject")
        text = _read_body(message)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged message can raise anything
        cause = f"has a message that cannot be read ({type(error).__name__}); remove it"
        raise IngestError(path, cause, line) from None
    columns = {name: value for name in _KEPT_HEADERS if (value := _read_header(message, name))}
    return TextDocument(text, subject or f"message {number}", label, None, columns, bool(subject))


def _read_header(message: Message, name: str) -> str:
    """Return a decoded header on one line; empty if it is missing."""
    raw = message.get(name)
    if raw is None:
        return ""
    try:
        pieces = decode_header(str(raw)[:_MOST_DECODED])
    except HeaderParseError:
        pieces = [(str(raw)[:_MOST_DECODED], None)]
    text = "".join(_decode_bytes(piece, charset) if isinstance(piece, bytes) else piece for piece, charset in pieces)
    return " ".join(text.split())[:_LONGEST_HEADER]


def _read_body(message: Message) -> str:
    """Return the plain text of a message, else the text of its HTML parts; attachments are left out."""
    plain: list[str] = []
    pages: list[str] = []
    for part in message.walk():
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html"):
            raw = part.get_payload(decode=True)
            text = _decode_bytes(raw if isinstance(raw, bytes) else b"", part.get_content_charset())
            (plain if kind == "text/plain" else pages).append(text)
    if any(text.strip() for text in plain):
        return "\n".join(plain)
    return "\n".join(read_page(page)[1] for page in pages)


def _decode_bytes(raw: bytes, charset: str | None) -> str:
    """Decode bytes of a message, in a usual encoding if it names none or a wrong one."""
    for name in (charset, "utf-8", "cp1252"):
        try:
            if name:
                return raw.decode(name)
        except (LookupError, ValueError):
            continue
    return raw.decode("latin-1")


_AUTHOR = re.compile(
    r"[\u200e\u200f\u202a-\u202e~ ]*([^:\n]{1,80}?): (.*)|[\u200e\u200f\u202a-\u202e~ ]*([^:\n]{1,80}?):$"
)
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
# A placeholder of a picture or another attachment, in any language: in angle brackets, behind an invisible mark, or the
# name of a file and its caption.
_PLACEHOLDER = re.compile(
    r"<[^<>]{3,60}>|[\u200e\u200f][^\n]{3,120}"
    r"|[\w .-]{1,120}\.(?:jpg|jpeg|png|gif|webp|mp4|3gp|opus|mp3|m4a|pdf|vcf)\b.{0,60}"
)
_OWN_MESSAGES = "message of WhatsApp itself", "messages of WhatsApp itself"
_PICTURES = "picture, recording or the like", "pictures, recordings and the like"


def read_whatsapp(path: Path, options: ImportOptions) -> TextSource:
    """Read the messages as documents; notices of the program and placeholders of attachments are left out."""
    paths = sniff.list_files(path, ("whatsapp",))
    notes = packing.note_guesses(paths, options.encoding)
    understood = packing.describe_encoding(paths[0], options.encoding)
    source = TextSource(where=str(path), documents=lambda: iter(()), notes=notes, understood=understood)

    def documents() -> Iterator[TextDocument]:
        left_out: Counter[tuple[str, str]] = Counter()
        number = 0
        for file in paths:
            for message in _read_chat(file, options.encoding, left_out):
                number += 1
                chat = {"chat": packing.strip_endings(file)} if len(paths) > 1 else {}
                yield message._replace(title=f"message {number}", columns={**message.columns, **chat}, titled=False)
        if not number:
            raise IngestError(path, "has no messages in it; is it a chat that WhatsApp has exported?")
        if left_out and (note := _note_left_out(left_out)) not in notes:
            notes.append(note)

    understood[GUESS] = "every message is a document of its own, and its author the label"
    return replace(source, documents=documents)


def _read_chat(path: Path, encoding: str, left_out: Counter[tuple[str, str]]) -> Iterator[TextDocument]:
    """Yield the messages of an exported chat; count in ``left_out`` what is not a message."""
    lines: list[str] = []
    columns: dict[str, str] = {}
    size = 0
    for line, text in packing.read_lines(path, encoding):
        match = WHATSAPP.match(text)
        if match is None:
            if columns:
                lines.append(text)
                size += len(text)
                packing.check_length(size, path, line)
            continue
        if columns:
            yield from _make_message(columns, lines, left_out)
        columns, lines, size = {}, [], 0
        author = _AUTHOR.match(match[5])
        if author is None:
            left_out[_OWN_MESSAGES] += 1
            continue
        date = _MARKS.sub("", f"{match[1] or match[3]} {match[2] or match[4]}")
        date = date.replace("\u202f", " ").replace("\u00a0", " ")
        columns = {"author": _MARKS.sub("", author[1] or author[3]).strip(), "date": date}
        lines.append(author[2] or "")
    if columns:
        yield from _make_message(columns, lines, left_out)


def _make_message(
    columns: dict[str, str], lines: list[str], left_out: Counter[tuple[str, str]]
) -> Iterator[TextDocument]:
    """Yield the document of a message, or count it as left out if it has no text."""
    text = "\n".join(lines).strip()
    if not text or _PLACEHOLDER.fullmatch(text):
        left_out[_PICTURES] += 1
        return
    yield TextDocument(_MARKS.sub("", text), "", columns["author"], None, columns)


def _note_left_out(left_out: Counter[tuple[str, str]]) -> str:
    return f"left out of the chat: {', '.join(plural(n, *kind) for kind, n in left_out.items())}"


_MAIL_FILES = "mail: NAME.mbox, a list's archive as .txt, or a folder of .eml, one document a message"
_WHATSAPP_FILES = "WhatsApp: an exported chat, _chat.txt, a message a document, its author the label; a folder of them"
READERS = (
    Reader("mail", _MAIL_FILES, ("token_pattern",), recognise_mail, read_mail),
    Reader("whatsapp", _WHATSAPP_FILES, ("token_pattern",), sniff.recognise_kinds("whatsapp"), read_whatsapp),
)
