"""Chats of WhatsApp, exported as text from iPhones and Android in any language: a message a document."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from app.ingest import files, text_kinds
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import GUESS, TextDocument, TextSource
from app.ingest.text_kinds import WHATSAPP

NAME = "whatsapp"
DESCRIPTION = "WhatsApp: an exported chat, _chat.txt, a message a document, its author the label; a folder of them"
ACCEPTS = ("token_pattern",)

_AUTHOR = re.compile(
    r"[\u200e\u200f\u202a-\u202e~ ]*([^:\n]{1,80}?): (.*)|[\u200e\u200f\u202a-\u202e~ ]*([^:\n]{1,80}?):$"
)
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
# What stands in the place of pictures and the like in any language: in angle brackets, behind an invisible mark, or the
# name of a file and what is said of it.
_MEDIA = re.compile(
    r"<[^<>]{3,60}>|[\u200e\u200f][^\n]{3,120}"
    r"|[\w .-]{1,120}\.(?:jpg|jpeg|png|gif|webp|mp4|3gp|opus|mp3|m4a|pdf|vcf)\b.{0,60}"
)


def recognises(path: Path) -> bool:
    """Recognise a file by the messages in a text, and a folder by most of its files."""
    return text_kinds.find_kind(path) == NAME


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the messages as documents; what the program itself says, and what stands for pictures, is left out."""
    paths = text_kinds.list_files(path, (NAME,))
    notes = files.guesses(paths, options.encoding)
    understood = files.understood(paths[0], options.encoding)
    source = TextSource(where=str(path), documents=lambda: iter(()), notes=notes, understood=understood)

    def documents() -> Iterator[TextDocument]:
        left_out: Counter[str] = Counter()
        number = 0
        for file in paths:
            for message in _messages(file, options.encoding, left_out):
                number += 1
                chat = {"chat": files.stem(file)} if len(paths) > 1 else {}
                yield message._replace(title=f"message {number}", columns={**message.columns, **chat}, titled=False)
        if not number:
            raise IngestError(path, "has no messages in it; is it a chat that WhatsApp has exported?")
        if left_out and (note := _note(left_out)) not in notes:
            notes.append(note)

    understood[GUESS] = "every message is a document of its own, and its author the label"
    return replace(source, documents=documents)


def _messages(path: Path, encoding: str, left_out: Counter[str]) -> Iterator[TextDocument]:
    begun: list[str] = []
    about: dict[str, str] = {}
    size = 0
    for line, text in files.lines(path, encoding):
        found = WHATSAPP.match(text)
        if found is None:
            if about:
                begun.append(text)
                size += len(text)
                files.check_length(size, path, line)
            continue
        if about:
            yield from _message(about, begun, left_out)
        about, begun, size = {}, [], 0
        said = _AUTHOR.match(found[5])
        if said is None:
            left_out["message of WhatsApp itself"] += 1
            continue
        date = (
            _MARKS.sub("", f"{found[1] or found[3]} {found[2] or found[4]}")
            .replace("\u202f", " ")
            .replace("\u00a0", " ")
        )
        about = {"author": _MARKS.sub("", said[1] or said[3]).strip(), "date": date}
        begun.append(said[2] or "")
    if about:
        yield from _message(about, begun, left_out)


def _message(about: dict[str, str], lines: list[str], left_out: Counter[str]) -> Iterator[TextDocument]:
    text = "\n".join(lines).strip()
    if not text or _MEDIA.fullmatch(text):
        left_out["picture, recording or the like"] += 1
        return
    yield TextDocument(_MARKS.sub("", text), "", about["author"], None, about)


def _note(left_out: Counter[str]) -> str:
    said = (f"{times:,} {what if times == 1 else _PLURALS[what]}" for what, times in left_out.items())
    return f"left out of the chat: {', '.join(said)}"


_PLURALS = {
    "message of WhatsApp itself": "messages of WhatsApp itself",
    "picture, recording or the like": "pictures, recordings and the like",
}
