"""Readers of JSON, JSON lines, and captions in JSON, which find the records by the first values of a file."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TextIO, TypeAlias

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import markup
from topiary.app.ingest.source import COLUMNS, GUESS, Reader, TextDocument, TextSource
from topiary.app.ingest.tables import names as column_names
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.tables.names import plain_name
from topiary.app.ingest.tables.roles import PARTS, find_roles, make_text_source, split_columns
from topiary.app.ingest.tables.values import as_prose, as_text, is_prose, join_parts
from topiary.app.ingest.text.cleaning import clean_text
from topiary.app.ingest.text.passages import advise_size, count_words

Record: TypeAlias = Mapping[str, Any]

_DEEPEST = 12  # levels of nested objects that are searched
_WEIGHED = 40  # first records, by which a place is judged
_MOST_NAMES = 4  # places in a sentence
_CLEAR_RATIO = 3  # times more letters than another place, from which a choice is clear
_NAME_BONUS = 1_000  # letters that a field with the usual name of a text is worth


class Place(NamedTuple):
    """A place in JSON and its records.

    Attributes
    ----------
    path : tuple of str
        Names from the outside in.
    shape : str
        What holds the records, in words.
    records : sequence of mappings
    worth : int
        Letters in the texts of the first records; more if a field has the usual name of a text.
    """

    path: tuple[str, ...]
    shape: str
    records: Sequence[Record]
    worth: int

    @property
    def description(self) -> str:
        """The place in words."""
        where = ".".join(self.path)
        return f"{self.shape} in {where}" if where and self.shape else self.shape or where


def find_places(value: Any) -> list[Place]:
    """Return the places of records with texts in a value, the best first; none if the value is itself a record."""
    all_places = [place for place in _walk_places(value, (), 0) if place.records]
    with_text = [place for place in all_places if place.worth]
    own_texts = {name: each for name, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else {}
    if not with_text and isinstance(value, dict) and len(all_places) == 1 and not _count_letters([own_texts]):
        return all_places  # the only array of objects, even without texts
    if any(place.path for place in with_text):
        sure = any(plain_name(name) in column_names.SURE_TEXTS and is_prose(each) for name, each in own_texts.items())
        letters = (_CLEAR_RATIO if sure else 1) * _count_letters([own_texts])
        with_text = [place for place in with_text if not place.path or _count_letters(place.records) > letters]
    return sorted(with_text, key=lambda place: -place.worth)


def is_close(best: Place, other: Place) -> bool:
    """Return whether another place has nearly as much text as the best one, so that the choice is a guess."""
    return other.path != best.path and _CLEAR_RATIO * _count_letters(other.records) > _count_letters(best.records)


def parse_path(text: str) -> tuple[str, ...]:
    """Return the names in a typed path, from the outside in; dots or slashes separate them.

    >>> parse_path("response.results.items"), parse_path("$.chats[].messages"), parse_path("v1.2/data/")
    (('response', 'results', 'items'), ('chats', 'messages'), ('v1.2', 'data'))
    """
    plain = text.strip().removeprefix("$").strip("./ ")
    names = (name.removesuffix("[]").removesuffix("[*]") for name in plain.split("/" if "/" in plain else "."))
    return tuple(name for name in names if name and name != "*")


def find_at(value: Any, path: tuple[str, ...]) -> Place | None:
    """Return the records at a path, in all elements of the arrays on the way; None if there are none."""
    values = list(_walk_to(value, path))
    if len(values) == 1 and isinstance(values[0], dict):
        nested = _find_arrangement(values[0], path) or next(iter(find_places(values[0])), None)
        if nested is None:
            return Place(path, "", [values[0]], 0)
        return nested if nested.path[: len(path)] == path else nested._replace(path=(*path, *nested.path))
    items = [each for inner in values for each in (inner if isinstance(inner, list) else [inner])]
    if items and all(isinstance(each, str) for each in items):
        return Place(path, "an array of texts", [{"text": each} for each in items], 0)
    records = [each for each in items if isinstance(each, dict)]
    return Place(path, "", records, 0) if records else None


def list_names(value: Any) -> str:
    """Return the names of the arrays and objects in a value, in the form that ``--records`` takes."""
    paths: dict[str, None] = {}

    def visit(node: Any, path: tuple[str, ...]) -> None:
        if len(path) > _DEEPEST or len(paths) > _MOST_NAMES:
            return
        if isinstance(node, list):
            paths[".".join(path)] = None
            node = next((each for each in node if isinstance(each, dict)), None)
        for name, inner in node.items() if isinstance(node, dict) else ():
            visit(inner, (*path, name))

    visit(value, ())
    return ", ".join(islice(filter(None, paths), _MOST_NAMES))


def _walk_to(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path, in all elements of the arrays on the way."""
    if not names:
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _walk_to(each, names)
    elif isinstance(value, dict):
        if names[0] in value:
            yield from _walk_to(value[names[0]], names[1:])
        elif value and all(isinstance(each, dict | list) for each in value.values()):
            for each in value.values():  # records by id
                yield from _walk_to(each, names)


def _walk_places(value: Any, path: tuple[str, ...], depth: int) -> Iterator[Place]:
    """Yield the places of records in a value and the objects and arrays within it."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        yield from _walk_array(value, path, depth)
    elif isinstance(value, dict) and value:
        arranged = _find_arrangement(value, path)
        if arranged is not None:
            yield arranged
            return
        for name, inner in value.items():
            yield from _walk_places(inner, (*path, name), depth + 1)


def _walk_array(value: Sequence[Any], path: tuple[str, ...], depth: int) -> Iterator[Place]:
    """Yield the array itself if its records have texts, else the arrays within them, joined over all records."""
    records = [each for each in value if isinstance(each, dict)]
    if records and len(records) == len(value):
        worth = weigh_records(records)
        if worth:
            yield Place(path, "", records, worth)
            return
        for name in dict.fromkeys(name for record in records[:_WEIGHED] for name in record):
            inner = [record[name] for record in records if name in record]
            joined = [each for field in inner if isinstance(field, list) for each in field]
            if joined:
                yield from _walk_array(joined, (*path, name), depth + 1)
            elif isinstance(inner[0], dict):
                for below in inner[0]:
                    values = [field[below] for field in inner if isinstance(field, dict) and below in field]
                    joined = [each for field in values if isinstance(field, list) for each in field]
                    yield from _walk_array(joined, (*path, name, below), depth + 2)
        yield Place(path, "", records, 0)
    elif value and all(isinstance(each, str) for each in value):
        texts = [{"text": each} for each in value]
        if sum(map(is_prose, value)) > len(value) / 2:
            yield Place(path, "an array of texts", texts, weigh_records(texts) - _NAME_BONUS)


def _find_arrangement(value: Record, path: tuple[str, ...]) -> Place | None:
    """Return the records of an object that is a table, or has records by id; None for any other."""
    for shape in (_find_split, _find_by_columns, _find_by_id):
        if found := shape(value):
            return found._replace(path=path)
    return None


def _find_split(value: Record) -> Place | None:
    """Read ``{"columns": [...], "data": [[...], ...]}`` as written by pandas, or columns with values as by polars."""
    columns, rows = value.get("columns"), value.get("data", value.get("rows"))
    if not isinstance(columns, list) or not columns:
        return None
    if isinstance(rows, list) and rows:
        if not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
            return None
        names = [str(each.get("name", "")) if isinstance(each, dict) else str(each) for each in columns]
        records = [dict(zip(names, row, strict=True)) for row in rows]
        return Place((), "columns, and rows of cells", records, weigh_records(records))
    if all(isinstance(each, dict) and isinstance(each.get("values"), list) for each in columns):
        return _find_by_columns({str(each.get("name")): each["values"] for each in columns})
    return None


def _find_by_columns(value: Record) -> Place | None:
    """Read ``{"text": {"0": ..., "1": ...}, "label": {...}}``, or arrays instead of the inner objects."""
    inner = list(value.values())
    if all(isinstance(each, dict) for each in inner):
        rows = list(dict.fromkeys(key for each in inner for key in each))
        if len(inner) < 1 or not rows or not _are_columns(list(value), rows, inner):
            return None
        records = [
            ({} if _is_number(key) else {"id": key}) | {name: each[key] for name, each in value.items() if key in each}
            for key in rows
        ]
    elif all(isinstance(each, list) for each in inner) and len({len(each) for each in inner}) == 1 and inner[0]:
        if any(isinstance(cell, dict) for each in inner for cell in each[:_WEIGHED]):
            return None
        records = [dict(zip(value, row, strict=True)) for row in zip(*inner, strict=True)]
    else:
        return None
    worth = weigh_records(records)
    return Place((), "a table by columns", records, worth) if worth else None


def _are_columns(names: Sequence[str], rows: Sequence[str], inner: Sequence[Record]) -> bool:
    """Return whether the outer names are columns and the inner names rows, not the reverse."""
    if any(isinstance(value, dict) for each in inner for value in islice(each.values(), _WEIGHED)):
        return False
    if min(map(len, inner)) < 0.5 * len(rows):
        return False
    if all(map(_is_number, names)) or all(map(_is_number, rows)):
        return not all(map(_is_number, names))
    outer_known, inner_known = (sum(map(column_names.is_known, each)) / len(each) for each in (names, rows))
    if outer_known != inner_known:
        return outer_known > inner_known
    same_type = [len({type(value) for value in each.values() if value is not None}) <= 1 for each in inner]
    return all(same_type) and len(names) < len(rows)


def _find_by_id(value: Record) -> Place | None:
    """Read ``{"17": {"text": ...}, "18": {...}}``: objects with the same fields, by id."""
    inner = list(value.values())
    if not all(isinstance(each, dict) for each in inner):
        return None
    fields = [set(each) for each in inner]
    common = set.intersection(*fields)
    if not common or (len(inner) < 2 and not _is_number(next(iter(value)))):
        return None
    id_field = "id" if "id" not in common else "key"
    records = [{id_field: key} | each for key, each in value.items() if isinstance(each, dict)]
    worth = weigh_records(records)
    return Place((), "records by id", records, worth) if worth else None


def weigh_records(records: Sequence[Record]) -> int:
    """Return the number of letters in the texts of the first records, more if a field has the usual name of a text."""
    letters = _count_letters(records)
    filled = (name for record in records[:_WEIGHED] for name, value in flatten(record).items() if value)
    sure = any(plain_name(name) in column_names.TEXTS for name in filled) if letters else False
    return letters + (_NAME_BONUS if sure else 0)


def _count_letters(records: Sequence[Record]) -> int:
    """Count the letters in the texts of the first records; a text is a string of prose or a list of parts."""
    letters = 0
    for record in records[:_WEIGHED]:
        for name, value in flatten(record).items():
            named = plain_name(name) in column_names.TEXTS
            if isinstance(value, str):
                letters += len(value) if named or is_prose(value) else 0
            elif isinstance(value, list) and named:
                letters += len(as_prose(value))
    return letters


def flatten(record: Record, above: str = "", depth: int = 0) -> dict[str, Any]:
    """Return the fields of a record; a field of a nested object gets both names, joined by a dot.

    >>> flatten({"id": 1, "fields": {"body": "rain", "by": {"name": "Ann"}}})
    {'id': 1, 'fields.body': 'rain', 'fields.by.name': 'Ann'}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            flat |= flatten(value, f"{above}{name}.", depth + 1)
        else:
            flat[f"{above}{name}"] = value
    return flat


def needs_flattening(sample: Sequence[Record], columns: Sequence[str]) -> bool:
    """Return whether the texts, or one of the given columns, are in objects within the records."""
    names = {name for record in sample for name in record}
    if not any(isinstance(value, dict) for record in sample for value in record.values()):
        return False
    inner = {name for record in sample for name in flatten(record)}
    if any(name in inner and name not in names for name in columns):
        return True
    plain = [{name: value for name, value in record.items() if not isinstance(value, dict)} for record in sample]
    return weigh_records(plain) == 0 < weigh_records(sample)


def fill_text(record: Record) -> Record:
    """Return a record with its text; an empty one is filled from the blocks that chat programs write."""
    if record.get("text"):
        return record
    text = next((joined for name in _BLOCK_FIELDS if name in record and (joined := join_parts(record[name]))), "")
    return {**record, "text": text}


# Fields in which chat programs store the parts of a message.
_BLOCK_FIELDS = ("blocks", "rich_text", "text_entities", "attachments")


def has_blocks(sample: Sequence[Record]) -> bool:
    """Return whether texts may be in the blocks of chat messages."""
    return any("text" in record for record in sample) and any(name in each for each in sample for name in _BLOCK_FIELDS)


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


Values: TypeAlias = Callable[[Path], Iterator[tuple[int, Any]]]

_SAMPLE = 200  # records, or values of a file, by which its layout is decided
_TEXTS = "an array of texts"  # the shape of an array without records


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
    parts: Sequence[packing.Part],
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
            fields = flatten(record) if layout.flat else record
            if layout.blocks:
                fields = fill_text(fields)
            yield line, {**fields, **added} if added else fields

    all_records = chain.from_iterable(records(part.path) for part in parts)
    sample = [record for _, record in islice(all_records, _SAMPLE)]
    if not sample:
        raise IngestError(first, f"has no documents; {empty}")
    roles = find_roles(sample, options, first, no_text=_explain_no_text(first, values))
    usual = {name for record in sample if roles.text[0] in record for name in record}
    guesses = [layout.guess] if layout.guess else []
    source = make_text_source(path, parts, roles, records, options, guesses=guesses, usual=sorted(usual))
    if layout.shape or layout.path:
        place = ".".join(layout.path or ())
        source.understood["records"] = " in ".join(filter(None, (layout.shape, place)))
    return source


def _explain_no_text(path: Path, values: Values) -> str:
    """Return the message for records without a text, with the places where records may be."""
    existing = list_names([value for _, value in islice(values(path), 1)])
    cause = "has no field of text; name it with --text-column"
    return f"{cause}, or the place of the records with --records ({existing})" if existing else cause


def _find_layout(path: Path, values: Values, options: ImportOptions) -> _Layout:
    """Find the records of a file."""
    first = [value for _, value in islice(values(path), _SAMPLE)]
    if options.records is not None:
        path_given = parse_path(options.records)
        place = find_at(first[0] if len(first) == 1 else first, path_given)
        if place is None:
            existing = list_names(first)
            cause = f"has no records at {options.records!r}"
            raise IngestError(path, f"{cause}; it has {existing}" if existing else f"{cause}; leave --records out")
        return _complete_layout(place.records, _Layout(place.path, place.shape), options)
    if len(first) != 1 or not isinstance(first[0], dict):
        return _find_in_values(first, options)
    columns = split_columns(options.text_column, list(first[0]))
    places = [] if any(name in first[0] for name in columns) else find_places(first[0])
    if not places:
        return _complete_layout(first, _Layout(), options)
    best = places[0]
    others = [place for place in places[1:] if is_close(best, place)]
    guess = ""
    if others:
        rival = others[0].description
        guess = f"records are those of {best.description}, though {rival} has texts too (change it with --records)"
    return _complete_layout(best.records, _Layout(best.path, best.shape, guess=guess), options)


def _find_in_values(first: list[Any], options: ImportOptions) -> _Layout:
    """Find the records in a file of several values: in an array, or one after the other."""
    if first and all(isinstance(value, str) for value in first):
        return _Layout(shape=_TEXTS)
    records = [value for value in first if isinstance(value, dict)]
    if not weigh_records(records):
        places = find_places(records)
        if places and places[0].path:
            return _complete_layout(places[0].records, _Layout(places[0].path, places[0].shape), options)
    return _complete_layout(records, _Layout(), options)


def _complete_layout(records: Sequence[Record], layout: _Layout, options: ImportOptions) -> _Layout:
    """Decide by the first records whether nested fields and blocks are needed."""
    sample = records[:_SAMPLE]
    single = (options.title_column, options.label_column, options.split_column)
    names = [name for record in sample for name in record]
    columns = [*split_columns(options.text_column, names), *(name for name in single if name is not None)]
    flat = needs_flattening(sample, columns)
    return layout._replace(flat=flat, blocks=has_blocks(sample))


def _read_plain(path: Path, values: Values, layout: _Layout) -> Iterator[tuple[int, Record]]:
    """Yield the unchanged records of a file, each with the line on which it begins."""
    for line, value in values(path):
        if layout.path is not None:
            place = find_at(value, layout.path)
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
        return bool(packing.list_files(path, recognise_json)) or bool(_list_below(path))
    if packing.find_suffix(path) != ".json" or packing.strip_packing(path.name) in _METADATA_FILES:
        return False
    return sniff.look_at(path).first in (b"[", b"{")


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
        below = [file for each in sorted(entries) if each.is_dir() for file in packing.list_visible(each)]
    except OSError:
        return []
    if not below or any(packing.find_suffix(file) != ".json" for file in below):
        return []
    return below if recognise_json(below[0]) else []


def _find_json_parts(path: Path) -> tuple[list[packing.Part], dict[Path, dict[str, str]]]:
    """Return the files, and for files in subfolders a field for their records: the name of the subfolder."""
    direct = packing.list_files(path, lambda file: file.name not in _SLACK_LISTS and recognise_json(file))
    below = _list_below(path) if path.is_dir() and not direct else []
    if not below:
        return packing.find_parts(path, recognise_json, "JSON", several=True), {}
    tops = {file: file.relative_to(path).parts[0] for file in below}
    if {top.lower() for top in tops.values()} <= set(PARTS):
        parts = [packing.Part(file, PARTS[top.lower()]) for file, top in tops.items()]
        return sorted(parts, key=lambda part: part[::-1]), {}
    field = "channel" if any((path / name).exists() for name in _SLACK_LISTS) else "folder"
    return [packing.Part(file, None) for file in below], {file: {field: top} for file, top in tops.items()}


def _read_json_file(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    with packing.open_text(path, encoding) as stream:
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
        self.most = packing.LARGEST_TEXT  # letters in a value

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


_is_json_lines = packing.match_endings(".jsonl", ".ndjson")
recognise_jsonl = packing.make_recogniser(_is_json_lines)


def read_jsonl(path: Path, options: ImportOptions) -> TextSource:
    """Read the objects as documents; words of the title are counted too."""
    parts = packing.find_parts(path, _is_json_lines, "JSON lines", several=True)
    values = partial(_read_json_lines, encoding=options.encoding)
    return make_json_source(path, parts, values, {}, options, empty="give a file with a JSON object on each line")


def _read_json_lines(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    for line, text in packing.read_lines(path, encoding):
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

_ENDINGS = (".json", ".json3")
_CUE_TEXTS = ("text", "utf8", "content", "body", "line", "caption", "transcript", "sentence")
_STARTS = frozenset(("start", "begin", "from", "start_time", "t_start_ms", "offset", "start_ms", "starttime"))
_ENDS = frozenset(("end", "to", "end_time", "duration", "dur", "d_duration_ms", "duration_ms", "end_ms", "endtime"))
_SPANS = ("timestamp", "timestamps", "time", "offsets")  # of both
_NO_CUE = frozenset(("title", "name", "url", "label", "class", "category", "entity", "date", "author"))
_CLOCK = re.compile(r"\d+(?:\.\d+)?s?|(?:\d+:)?\d{1,2}:\d{2}(?:[.,]\d+)?")
_TIME_FIELD = re.compile(
    rb'"(?:t?_?start(?:_?time|_?ms)?|begin|from|offsets?|timestamps?|time)"\s*:\s*["\[{]?\s*"?[\d\[{"]', re.IGNORECASE
)
_SAMPLED_CUES = 40  # cues and files that are examined
_DEEPEST_CUES = 3  # levels of objects in which cues are searched
_LARGEST_CAPTIONS = 1 << 25  # bytes of a file
_LONGEST_COLUMN = 200  # characters of a field of a recording that becomes a column


class _Recording(NamedTuple):
    """The captions of a recording: its name (empty for that of the file), its lines and its other fields."""

    name: str
    cues: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str] = {}


def recognise_captions(path: Path) -> bool:
    """Recognise a file of captions, and a folder in which most files of JSON are captions and none is a text."""
    if not path.is_dir():
        return _has_captions(path)
    sample = list(sniff.sample_files(path))
    if any(packing.find_suffix(file) in packing.TEXTUAL for file in sample):
        return False
    candidates = [file for file in sample if packing.find_suffix(file) in _ENDINGS]
    return bool(candidates) and 2 * sum(map(_has_captions, candidates)) > len(candidates)


def _has_captions(path: Path) -> bool:
    try:
        return _is_timed(path) and bool(_read_recordings(path))
    except IngestError:
        return False


def _is_timed(path: Path) -> bool:
    """Return whether the beginning of a file has the field of a time."""
    return packing.find_suffix(path) in _ENDINGS and _TIME_FIELD.search(sniff.look_at(path).raw) is not None


def read_captions(path: Path, options: ImportOptions) -> TextSource:
    """Read the recordings as documents, titled by the name of their file, labelled by its folder."""
    in_folder = path.is_dir()
    captions = [
        file for file in packing.list_visible(path) if not in_folder or (_is_timed(file) and _read_recordings(file))
    ]
    if not captions:
        raise IngestError(path, "has no captions in JSON in it; leave --format out, or give another folder")
    if (
        not in_folder
        and options.format is None
        and not options.divides
        and len(_read_recordings(path)) < _FEWEST_RECORDINGS
    ):
        cause = "has the captions of one recording, which is one document, and a corpus has many"
        split = advise_size(sum(count_words(document.text) for document in _read_documents(path, captions)))
        divided = f"divide it with {split}, " if split else ""
        advice = f"import the folder it is in, {divided}or take every caption as a document with --format json"
        raise IngestError(path, f"{cause}: {advice}")
    return TextSource(
        where=str(path),
        documents=lambda: _read_documents(path, captions),
        counted=lambda document: clean_text(document.text),
        notes=packing.note_others(path, captions, "what has no captions"),
        understood={GUESS: "every recording is a document; --format json takes every caption as one"},
    )


_FEWEST_RECORDINGS = 2  # recordings of a file that is a corpus


def _read_documents(path: Path, captions: Sequence[Path]) -> Iterator[TextDocument]:
    for file in captions:
        relative = PurePosixPath(file.relative_to(path).as_posix() if file != path else file.name)
        recordings = _read_recordings(file)
        if not recordings:
            raise IngestError(file, "has no captions: a list of objects with a text, its start and its end")
        for recording in recordings:
            title = recording.name or packing.strip_endings(relative)
            text = markup.join_cues([_find_text(cue).splitlines() for cue in recording.cues])
            columns = {"file": str(relative), **recording.columns}
            yield TextDocument(text, title, "/".join(relative.parts[:-1]) or None, None, columns)


def _read_recordings(path: Path) -> list[_Recording]:
    """Return the recordings of a file; none if it has no captions."""
    with packing.open_file(path) as stream:
        raw = packing.read_up_to(stream, _LARGEST_CAPTIONS + 1)
    if len(raw) > _LARGEST_CAPTIONS:
        raise IngestError(
            path, f"is larger than {_LARGEST_CAPTIONS >> 20} MB, the most of one file of captions; split it"
        )
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise IngestError(path, "is not JSON all through; copy or download it again") from None
    if isinstance(value, dict) and len(value) > 1 and all(map(_are_cues, value.values())):
        return [_Recording(str(name), cues) for name, cues in value.items()]
    cues = _find_cues(value, 0)
    if not cues:
        return []
    fields = value if isinstance(value, dict) else {}
    plain = {name: as_text(field) for name, field in fields.items() if isinstance(field, str | int | float)}
    columns = {name: text for name, text in plain.items() if 0 < len(text) <= _LONGEST_COLUMN}
    return [_Recording(columns.pop("title", ""), cues, columns)]


def _find_cues(value: Any, depth: int) -> Sequence[Mapping[str, Any]]:
    """Return the first list of cues in a value; an empty one if there is none."""
    if isinstance(value, list):
        return value if _are_cues(value) else ()
    if not isinstance(value, dict) or depth > _DEEPEST_CUES:
        return ()
    return next((cues for inner in value.values() if (cues := _find_cues(inner, depth + 1))), ())


def _are_cues(value: Any) -> bool:
    """Return whether a value is a list of texts with their times, which ascend."""
    if not isinstance(value, list) or not value or not all(isinstance(cue, dict) for cue in value[:_SAMPLED_CUES]):
        return False
    sample = [cue for cue in islice(value, _SAMPLED_CUES) if _find_text(cue).strip()]
    if not sample or not all(map(_is_cue, sample)):
        return False
    starts = [start for cue in sample if (start := _find_start(cue)) is not None]
    return all(before <= after for before, after in pairwise(starts))


def _is_cue(cue: Mapping[str, Any]) -> bool:
    names = {plain_name(name): value for name, value in cue.items()}
    if not _NO_CUE.isdisjoint(names):
        return False
    if any(isinstance(names.get(name), list | dict) for name in _SPANS):
        return True
    times = [[value for name, value in names.items() if name in usual] for usual in (_STARTS, _ENDS)]
    return all(times) and all(_CLOCK.fullmatch(as_text(each[0]).strip()) for each in times)


def _find_start(cue: Mapping[str, Any]) -> float | None:
    """Return the start of a cue if it is a number."""
    start = next((value for name, value in cue.items() if plain_name(name) in _STARTS), None)
    return float(start) if isinstance(start, int | float) else None


def _find_text(cue: Mapping[str, Any]) -> str:
    """Return the text of a cue; YouTube writes it in pieces."""
    pieces = cue.get("segs")
    if isinstance(pieces, list):
        return "".join(as_text(piece.get("utf8")) for piece in pieces if isinstance(piece, dict))
    return next((cue[name] for name in _CUE_TEXTS if isinstance(cue.get(name), str)), "")


_CAPTIONS_FILES = (
    "captions in JSON: a folder of NAME.json with texts and their times, of YouTube, Whisper and the like, "
    "one document a recording"
)
READERS = (
    Reader("json", _JSON_FILES, (*COLUMNS, "records", "token_pattern"), recognise_json, read_json),
    Reader("jsonl", _JSONL_FILES, (*COLUMNS, "records", "token_pattern"), recognise_jsonl, read_jsonl),
    Reader("captions", _CAPTIONS_FILES, ("token_pattern",), recognise_captions, read_captions),
)
