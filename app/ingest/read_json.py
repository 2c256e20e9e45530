"""JSON: objects with the fields of a document, in an array, within others, by columns or by id, in one file or many."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from app.ingest import files, json_records, packed
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.roles import PARTS
from app.ingest.source import TextSource

NAME = "json"
DESCRIPTION = (
    "JSON: NAME.json, objects with the fields text, title, label, split in an array or within others; a folder of such "
    "files, or an export of Slack; other fields are kept"
)
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "records", "token_pattern")

_PIECE = 1 << 16  # letters read at a time
_LARGEST = 1 << 30  # letters of a file that is one object
_ABOUT = ("dataset_info.json", "dataset_dict.json", "state.json", "metadata.json")  # beside data, and none themselves
_OF_SLACK = (
    "users.json", "channels.json", "groups.json", "dms.json", "mpims.json", "integration_logs.json", "canvases.json",
    "huddle_transcripts.json", "org_users.json", "file_conversations.json", "lists.json", "org_logs.json",
)  # fmt: skip
_BLANKS = re.compile("[ \t\r\n\ufeff]*")
_CUT = "is cut short: its array never ends; copy or download it again"
_decoder = json.JSONDecoder()


def recognises(path: Path) -> bool:
    """By the ending of the name and its first letter; a folder by the files in it, and in its folders only such."""
    if path.is_dir():
        return bool(files.listed(path, recognises)) or bool(_list_below(path))
    if files.suffix(path) != ".json" or packed.bare(path.name) in _ABOUT:
        return False
    return files.start(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The objects as documents; words of the title count too."""
    parts, own = _find_parts(path)

    def values(file: Path) -> Iterator[tuple[int, Any]]:
        return _read_values(file, options.encoding)

    return json_records.source(path, parts, values, own, options, empty="give a file with an array of objects")


def _list_below(folder: Path) -> list[Path]:
    """Return the files of JSON in the folders of a folder that has no others, but for the lists in exports of Slack."""
    try:
        here = [each for each in folder.iterdir() if not each.name.startswith(".")]
        if not here or any(each.is_file() and each.name not in _OF_SLACK for each in here):
            return []
        below = sorted(file for each in here if each.is_dir() for file in each.rglob("*") if file.is_file())
    except OSError:
        return []
    below = [file for file in below if not file.name.startswith(".")]
    if not below or any(files.suffix(file) != ".json" for file in below):
        return []
    return below if recognises(below[0]) else []


def _find_parts(path: Path) -> tuple[list[files.Part], dict[Path, dict[str, str]]]:
    """Return the files, and of those in folders of a folder the name of theirs as a field of their records."""
    here = [] if not path.is_dir() else files.listed(path, lambda file: file.name not in _OF_SLACK and recognises(file))
    below = _list_below(path) if path.is_dir() and not here else []
    if not below:
        return files.parts(path, recognises, "JSON", several=True), {}
    tops = {file: file.relative_to(path).parts[0] for file in below}
    if {top.lower() for top in tops.values()} <= set(PARTS):
        return sorted(
            (files.Part(file, PARTS[top.lower()]) for file, top in tops.items()), key=lambda part: part[::-1]
        ), {}
    called = "channel" if any((path / name).exists() for name in _OF_SLACK) else "folder"
    return [files.Part(file, None) for file in below], {file: {called: top} for file, top in tops.items()}


def _read_values(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    with files.text(path, encoding) as stream:
        yield from values(stream, path)


def values(stream: TextIO, path: Path) -> Iterator[tuple[int, Any]]:
    """Return the elements of an array, or values one after the other, each with the line on which it begins.

    Raises
    ------
    IngestError
        Naming ``path`` the text is of, and the line.
    """
    reader = _Pieces(stream, path)
    opening = reader.next_letter()
    if opening == "[":
        reader.skip()
    else:
        reader.most = _LARGEST
    while (letter := reader.next_letter()) not in ("", "]"):
        line = reader.line
        yield line, reader.value()
        if opening == "[":
            reader.separator()
    if opening == "[" and letter != "]":
        raise IngestError(path, _CUT, reader.line)


class _Pieces:
    """JSON as it is read, value by value, so that no more than one of them is in memory."""

    def __init__(self, stream: TextIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._text, self._place = "", 0
        self.line = 1
        self.most = packed.LARGEST_TEXT  # letters of a value

    def next_letter(self) -> str:
        """The next letter that is no blank, which stays; empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._place)
            begin = blanks.end() if blanks else self._place
            self.line += self._text.count("\n", self._place, begin)
            self._place = begin
            if begin < len(self._text) or not self._more():
                return self._text[begin : begin + 1]

    def skip(self) -> None:
        """Go on to the letter after the next."""
        self._place += 1

    def separator(self) -> None:
        """Go past the comma between values; only the end of the array may stand in its place."""
        letter = self.next_letter()
        if letter == ",":
            self.skip()
            if self.next_letter() != "]":
                return
        if not letter:
            raise IngestError(self._path, _CUT, self.line)
        if letter != "]":
            raise IngestError(self._path, "is not JSON: a comma is missing between two objects", self.line)

    def value(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                found, end = _decoder.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                if self._more():
                    continue
                line = self.line + self._text.count("\n", self._place, error.pos)
                raise IngestError(self._path, f"is not JSON: {error.msg} at character {error.colno}", line) from None
            except ValueError:  # Python reads no whole number of more than 4,300 digits
                cause = "has a number of thousands of digits; write it in quotes"
                raise IngestError(self._path, cause, self.line) from None
            except RecursionError:
                raise IngestError(self._path, "is JSON nested too deeply to be a document", self.line) from None
            self.line += self._text.count("\n", self._place, end)
            self._place = end
            return found

    def _more(self) -> bool:
        """Read on, as much again as there is, so that a long value is not begun again and again; False at the end."""
        self._text, self._place = self._text[self._place :], 0
        if len(self._text) > self.most:
            cause = f"has a value of more than {self.most >> 20} MB, or never ends it; is it damaged?"
            raise IngestError(self._path, cause, self.line)
        more = self._stream.read(max(_PIECE, len(self._text)))
        self._text += more
        return bool(more)
