"""Readers of JSON and JSON lines, which find the records by the first values of the first file that is not empty."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias

from topiary.app.ingest import files, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import json_shapes
from topiary.app.ingest.readers.json_shapes import Record
from topiary.app.ingest.source import COLUMNS, Reader, TextSource
from topiary.app.ingest.tables.records import make_text_source
from topiary.app.ingest.tables.roles import PARTS, find_roles, split_columns

Values: TypeAlias = Callable[[Path], Iterator[tuple[int, Any]]]

_SAMPLE = 200  # records, or values of a file, by which its layout is decided
_ROWS, _NAMELESS, _TEXTS = "rows of cells", "rows of cells without names", "an array of texts"


class _Layout(NamedTuple):
    """The place of the records in a file, and how to read them.

    Attributes
    ----------
    path : tuple of str or None
        Where the records are in every value of the file; None if the values are the records.
    shape : str
        What holds them, in words; empty for an array.
    flat : bool
        Whether fields of nested objects become fields of the record.
    blocks : bool
        Whether a text may be in the blocks of a chat message.
    guess : str
        A sentence about another place where they may be, or empty.
    """

    path: tuple[str, ...] | None = None
    shape: str = ""
    flat: bool = False
    blocks: bool = False
    guess: str = ""


def make_json_source(
    path: Path,
    parts: Sequence[files.Part],
    values: Values,
    own: Mapping[Path, Mapping[str, str]],
    options: ImportOptions,
    *,
    empty: str,
) -> TextSource:
    """Return a source of documents from the records of JSON files.

    Parameters
    ----------
    values : callable
        Yields the line and the value of each element of the array in a file, or of each value.
    own : mapping
        Fields to add to all records of a file.
    empty : str
        Advice for the error about files without records.
    """
    first = next((part.path for part in parts if next(values(part.path), None) is not None), parts[0].path)
    layout = _find_layout(first, values, options)

    def records(file: Path) -> Iterator[tuple[int, Record]]:
        added = own.get(file, {})
        for line, record in _read_plain(file, values, layout):
            fields = json_shapes.flatten(record) if layout.flat else record
            if layout.blocks:
                fields = json_shapes.fill_text(fields)
            yield line, {**fields, **added} if added else fields

    all_records = chain.from_iterable(records(part.path) for part in parts)
    sample = [record for _, record in islice(all_records, _SAMPLE)]
    if not sample:
        raise IngestError(first, f"has no documents; {empty}")
    roles = find_roles(sample, options, first, named=layout.shape != _NAMELESS, no_text=_explain_no_text(first, values))
    usual = {name for record in sample if roles.text[0] in record for name in record}
    guesses = [layout.guess] if layout.guess else []
    source = make_text_source(path, parts, roles, records, options, guesses=guesses, usual=sorted(usual))
    if layout.shape or layout.path:
        place = ".".join(layout.path or ())
        source.understood["records"] = " in ".join(filter(None, (layout.shape, place)))
    return source


def _explain_no_text(path: Path, values: Values) -> str:
    """Return the message for records without a text, with the places where records may be."""
    existing = json_shapes.list_names([value for _, value in islice(values(path), 1)])
    cause = "has no field of text; name it with --text-column"
    return f"{cause}, or the place of the records with --records ({existing})" if existing else cause


def _find_layout(path: Path, values: Values, options: ImportOptions) -> _Layout:
    """Find the records of a file."""
    first = [value for _, value in islice(values(path), _SAMPLE)]
    if options.records is not None:
        path_given = json_shapes.parse_path(options.records)
        place = json_shapes.find_at(first[0] if len(first) == 1 else first, path_given)
        if place is None:
            existing = json_shapes.list_names(first)
            cause = f"has no records at {options.records!r}"
            raise IngestError(path, f"{cause}; it has {existing}" if existing else f"{cause}; leave --records out")
        return _complete_layout(place.records, _Layout(place.path, place.shape), options)
    if len(first) != 1 or not isinstance(first[0], dict):
        return _find_in_values(first, options)
    columns = split_columns(options.text_column, list(first[0]))
    places = [] if any(name in first[0] for name in columns) else json_shapes.find_places(first[0])
    if not places:
        return _complete_layout(first, _Layout(), options)
    best = places[0]
    others = [place for place in places[1:] if json_shapes.is_close(best, place)]
    guess = ""
    if others:
        rival = others[0].description
        guess = f"records are those of {best.description}, though {rival} has texts too (change it with --records)"
    return _complete_layout(best.records, _Layout(best.path, best.shape, guess=guess), options)


def _find_in_values(first: list[Any], options: ImportOptions) -> _Layout:
    """Find the records in a file of several values: in an array, or one after the other."""
    if first and all(isinstance(value, list) for value in first):
        rows = json_shapes.find_at(first, ())
        return _Layout(shape=_ROWS if rows is not None and "1" not in rows.records[0] else _NAMELESS)
    if first and all(isinstance(value, str) for value in first):
        return _Layout(shape=_TEXTS)
    records = [value for value in first if isinstance(value, dict)]
    if not json_shapes.weigh_records(records):
        places = json_shapes.find_places(records)
        if places and places[0].path:
            return _complete_layout(places[0].records, _Layout(places[0].path, places[0].shape), options)
    return _complete_layout(records, _Layout(), options)


def _complete_layout(records: Sequence[Record], layout: _Layout, options: ImportOptions) -> _Layout:
    """Decide by the first records whether nested fields and blocks are needed."""
    sample = records[:_SAMPLE]
    single = (options.title_column, options.label_column, options.split_column)
    names = [name for record in sample for name in record]
    columns = [*split_columns(options.text_column, names), *(name for name in single if name is not None)]
    flat = json_shapes.needs_flattening(sample, columns)
    return layout._replace(flat=flat, blocks=json_shapes.has_blocks(sample))


def _read_plain(path: Path, values: Values, layout: _Layout) -> Iterator[tuple[int, Record]]:
    """Yield the unchanged records of a file, each with the line on which it begins."""
    if layout.shape in (_ROWS, _NAMELESS) and layout.path is None:
        place = json_shapes.find_at([value for _, value in values(path)], ())
        yield from ((1, record) for record in (place.records if place else ()))
        return
    for line, value in values(path):
        if layout.path is not None:
            place = json_shapes.find_at(value, layout.path)
            yield from ((line, record) for record in (place.records if place else ()))
        elif isinstance(value, dict):
            yield line, value
        elif isinstance(value, str) and layout.shape == _TEXTS:
            yield line, {"text": value}
        else:
            raise IngestError(path, "is JSON, but not an object {...} with the fields of a document", line)


_PIECE = 1 << 16  # letters read at a time
_LARGEST = 1 << 30  # letters in a file of one object
_METADATA_FILES = ("dataset_info.json", "dataset_dict.json", "state.json", "metadata.json")  # not documents
_SLACK_LISTS = (
    "users.json", "channels.json", "groups.json", "dms.json", "mpims.json", "integration_logs.json", "canvases.json",
    "huddle_transcripts.json", "org_users.json", "file_conversations.json", "lists.json", "org_logs.json",
)  # fmt: skip
_BLANKS = re.compile("[ \t\r\n\ufeff]*")
_CUT_SHORT = "is cut short: its array never ends; copy or download it again"
_decoder = json.JSONDecoder()


def recognise_json(path: Path) -> bool:
    """Recognise a file by its ending and first letter, and a folder by its files and those of its subfolders."""
    if path.is_dir():
        return bool(files.list_files(path, recognise_json)) or bool(_list_below(path))
    if files.find_suffix(path) != ".json" or packing.strip_packing(path.name) in _METADATA_FILES:
        return False
    return files.read_start(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def read_json(path: Path, options: ImportOptions) -> TextSource:
    """Read the objects as documents; words of the title are counted too."""
    parts, own = _find_json_parts(path)
    values = partial(_read_json_file, encoding=options.encoding)
    return make_json_source(path, parts, values, own, options, empty="give a file with an array of objects")


def _list_below(folder: Path) -> list[Path]:
    """Return the JSON files in subfolders if there are only these, apart from the lists of a Slack export."""
    try:
        entries = [each for each in folder.iterdir() if not each.name.startswith(".")]
        if not entries or any(each.is_file() and each.name not in _SLACK_LISTS for each in entries):
            return []
        below = sorted(file for each in entries if each.is_dir() for file in each.rglob("*") if file.is_file())
    except OSError:
        return []
    below = [file for file in below if not file.name.startswith(".")]
    if not below or any(files.find_suffix(file) != ".json" for file in below):
        return []
    return below if recognise_json(below[0]) else []


def _find_json_parts(path: Path) -> tuple[list[files.Part], dict[Path, dict[str, str]]]:
    """Return the files, and for files in subfolders a field for their records: the name of the subfolder."""
    direct = files.list_files(path, lambda file: file.name not in _SLACK_LISTS and recognise_json(file))
    below = _list_below(path) if path.is_dir() and not direct else []
    if not below:
        return files.find_parts(path, recognise_json, "JSON", several=True), {}
    tops = {file: file.relative_to(path).parts[0] for file in below}
    if {top.lower() for top in tops.values()} <= set(PARTS):
        parts = [files.Part(file, PARTS[top.lower()]) for file, top in tops.items()]
        return sorted(parts, key=lambda part: part[::-1]), {}
    field = "channel" if any((path / name).exists() for name in _SLACK_LISTS) else "folder"
    return [files.Part(file, None) for file in below], {file: {field: top} for file, top in tops.items()}


def _read_json_file(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    with files.open_text(path, encoding) as stream:
        yield from read_values(stream, path)


def read_values(stream: TextIO, path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the elements of an array, or values one after the other, each with the line on which it begins.

    Raises
    ------
    IngestError
        If the text is not JSON; it names ``path``, from which the stream reads, and the line.
    """
    reader = _JsonStream(stream, path)
    opening = reader.next_letter()
    if opening == "[":
        reader.skip()
    else:
        reader.most = _LARGEST
    while (letter := reader.next_letter()) not in ("", "]"):
        line = reader.line
        yield line, reader.read_value()
        if opening == "[":
            reader.skip_comma()
    if opening == "[" and letter != "]":
        raise IngestError(path, _CUT_SHORT, reader.line)


class _JsonStream:
    """A stream of JSON read value by value, with only one value in memory."""

    def __init__(self, stream: TextIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._text, self._place = "", 0
        self.line = 1
        self.most = files.LARGEST_TEXT  # letters in a value

    def next_letter(self) -> str:
        """Return the next letter that is not a blank, without moving past it; empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._place)
            start = blanks.end() if blanks else self._place
            self.line += self._text.count("\n", self._place, start)
            self._place = start
            if start < len(self._text) or not self._read_more():
                return self._text[start : start + 1]

    def skip(self) -> None:
        """Skip the next letter."""
        self._place += 1

    def skip_comma(self) -> None:
        """Skip the comma between values, or refuse a text that has neither a comma nor the end of the array."""
        letter = self.next_letter()
        if letter == ",":
            self.skip()
            if self.next_letter() != "]":
                return
        if not letter:
            raise IngestError(self._path, _CUT_SHORT, self.line)
        if letter != "]":
            raise IngestError(self._path, "is not JSON: a comma is missing between two objects", self.line)

    def read_value(self) -> Any:
        """Return the value that begins at the current position, and move past it."""
        while True:
            with _refuse_bad_json(self._path, self.line):
                try:
                    value, end = _decoder.raw_decode(self._text, self._place)
                except json.JSONDecodeError as error:
                    lines_below = self._text.count("\n", self._place, error.pos)
                    if self._read_more():
                        continue
                    cause = f"is not JSON: {error.msg} at character {error.colno}"
                    raise IngestError(self._path, cause, self.line + lines_below) from None
            self.line += self._text.count("\n", self._place, end)
            self._place = end
            return value

    def _read_more(self) -> bool:
        """Read on, doubling the text so that parsing a long value takes linear time; return False at the end."""
        self._text, self._place = self._text[self._place :], 0
        if len(self._text) > self.most:
            cause = f"has a value of more than {self.most >> 20} MB, or never ends it; is it damaged?"
            raise IngestError(self._path, cause, self.line)
        chunk = self._stream.read(max(_PIECE, len(self._text)))
        self._text += chunk
        return bool(chunk)


_is_json_lines = files.match_endings(".jsonl", ".ndjson")
recognise_jsonl = files.make_recogniser(_is_json_lines)


def read_jsonl(path: Path, options: ImportOptions) -> TextSource:
    """Read the objects as documents; words of the title are counted too."""
    parts = files.find_parts(path, _is_json_lines, "JSON lines", several=True)
    values = partial(_read_json_lines, encoding=options.encoding)
    return make_json_source(path, parts, values, {}, options, empty="give a file with a JSON object on each line")


def _read_json_lines(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    for line, text in files.read_lines(path, encoding):
        if not text.strip():
            continue
        with _refuse_bad_json(path, line):
            record = json.loads(text)
        yield line, record


@contextmanager
def _refuse_bad_json(path: Path, line: int) -> Iterator[None]:
    """Turn errors of the JSON parser into an IngestError; the value begins on ``line``."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise IngestError(path, f"is not JSON: {error.msg} at character {error.colno}", line) from None
    except ValueError:  # Python refuses integers of more than 4,300 digits
        raise IngestError(path, "has a number of thousands of digits; write it in quotes", line) from None
    except RecursionError:
        raise IngestError(path, "is JSON nested too deeply to be a document", line) from None


_JSON_FILES = (
    "JSON: NAME.json, objects with the fields text, title, label, split in an array or within others; a folder "
    "of such files, or an export of Slack; other fields are kept"
)
_JSONL_FILES = "JSON lines: NAME.jsonl or NAME.ndjson (.gz), fields text, title, label, split; other fields are kept"
READERS = (
    Reader("json", _JSON_FILES, (*COLUMNS, "records", "token_pattern"), recognise_json, read_json),
    Reader("jsonl", _JSONL_FILES, (*COLUMNS, "records", "token_pattern"), recognise_jsonl, read_jsonl),
)
