"""JSON: an array of objects, one document an object."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from app.ingest import fields, files, packed
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "json"
DESCRIPTION = "JSON: NAME.json, an array of objects with the fields text, title, label, split; other fields are kept"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "token_pattern")

_SAMPLE = 200
_PIECE = 1 << 16  # letters read at a time
_ABOUT = ("dataset_info.json", "dataset_dict.json", "state.json", "metadata.json")  # beside data, and none themselves
_BLANKS = re.compile("[ \t\r\n\ufeff]*")
_CUT = "is cut short: its array never ends; copy or download it again"
_decoder = json.JSONDecoder()


def recognises(path: Path) -> bool:
    """By the ending of the name and its first letter; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    if files.suffix(path) != ".json" or packed.bare(path.name) in _ABOUT:
        return False
    return files.start(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The objects as documents; words of the title count too."""
    parts = files.parts(path, recognises, "JSON", several=True)
    sample = [record for _, record in islice(_records(parts[0].path, options.encoding), _SAMPLE)]
    if not sample:
        raise IngestError(parts[0].path, "has no documents; give a file with an array of objects")
    roles = fields.find_roles(sample, options, parts[0].path)
    return fields.source(path, parts, roles, lambda file: _records(file, options.encoding), options)


def _records(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of the array, or one after the other, each with the line on which it begins."""
    with files.text(path, encoding) as stream:
        reader = _Pieces(stream, path)
        opening = reader.next_letter()
        if opening == "[":
            reader.skip()
        while (letter := reader.next_letter()) not in ("", "]"):
            line = reader.line
            found = reader.value()
            if not isinstance(found, dict):
                raise IngestError(path, "is JSON, but not an object {...} with the fields of a document", line)
            inside = _only_array(found)
            if opening == "{" and inside is not None:
                yield from ((line, record) for record in inside)
            else:
                yield line, found
            if opening == "[":
                reader.separator()
        if opening == "[" and letter != "]":
            raise IngestError(path, _CUT, reader.line)


def _only_array(found: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The records of ``{"data": [{...}, ...]}``; None for a record itself."""
    arrays = [value for value in found.values() if isinstance(value, list) and value]
    if len(arrays) != 1 or not all(isinstance(each, dict) for each in arrays[0]):
        return None
    return list(arrays[0])


class _Pieces:
    """JSON as it is read, value by value, so that no more than one of them is in memory."""

    def __init__(self, stream: TextIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._text, self._place = "", 0
        self.line = 1

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
        if len(self._text) > packed.LARGEST_TEXT:
            cause = f"has a value of more than {packed.LARGEST_TEXT >> 20} MB, or never ends it; is it damaged?"
            raise IngestError(self._path, cause, self.line)
        more = self._stream.read(max(_PIECE, len(self._text)))
        self._text += more
        return bool(more)
