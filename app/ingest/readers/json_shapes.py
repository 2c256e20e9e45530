"""The shapes of JSON that is no plain array of objects: records within others, by columns, by id, in groups."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from app.ingest.tables import column_names
from app.ingest.tables.column_names import plain_name
from app.ingest.tables.roles import PARTS
from app.ingest.tables.values import as_prose, is_prose, join_parts

Record: TypeAlias = Mapping[str, Any]

_DEEPEST = 12  # levels of objects within objects that are looked through
_LOOKED_AT = 40  # records by which it is decided what they are
_MANY = 20  # values from which texts by id are no single record
_NAMED = 4  # places named in a sentence
_CLOSE = 3  # times that one place has more letters than another that is worth a word
_SURE = 1_000  # letters that a field of a usual name is worth


class Place(NamedTuple):
    """Records within JSON.

    Attributes
    ----------
    path : tuple of str
        Names from the outside in.
    shape : str
        What holds the records, in words.
    records : sequence of mappings
    worth : int
        Letters of the texts in the first records; more where their fields are called as texts are.
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
    """Return where records with texts are in a value, the best place first; none where it is a record itself."""
    every = [place for place in _walk_places(value, (), 0) if place.records]
    found = [place for place in every if place.worth]
    own = {name: each for name, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else {}
    if not found and isinstance(value, dict) and len(every) == 1 and not _count_letters([own]):
        return every  # the only array of objects, whatever is in it
    if any(place.path for place in found):
        sure = any(plain_name(name) in column_names.SURE_TEXTS and is_prose(each) for name, each in own.items())
        letters = (_CLOSE if sure else 1) * _count_letters([own])
        found = [place for place in found if not place.path or _count_letters(place.records) > letters]
    return sorted(found, key=lambda place: -place.worth)


def is_close(best: Place, other: Place) -> bool:
    """Return whether another place has not much less text than the best one, so that the choice is a guess."""
    return other.path != best.path and _CLOSE * _count_letters(other.records) > _count_letters(best.records)


def parse_path(text: str) -> tuple[str, ...]:
    """Return the names in a place as it is typed: from the outside in, with dots or slashes between them.

    >>> parse_path("response.results.items"), parse_path("$.chats[].messages"), parse_path("v1.2/data/")
    (('response', 'results', 'items'), ('chats', 'messages'), ('v1.2', 'data'))
    """
    plain = text.strip().removeprefix("$").strip("./ ")
    names = (name.removesuffix("[]").removesuffix("[*]") for name in plain.split("/" if "/" in plain else "."))
    return tuple(name for name in names if name and name != "*")


def find_at(value: Any, path: tuple[str, ...]) -> Place | None:
    """Return the records at a place, through the arrays on the way; None where there are none."""
    here = list(_walk_to(value, path))
    if len(here) == 1 and isinstance(here[0], dict):
        inside = _find_arranged(here[0], path) or next(iter(find_places(here[0])), None)
        if inside is None:
            return Place(path, "", [here[0]], 0)
        return inside if inside.path[: len(path)] == path else inside._replace(path=(*path, *inside.path))
    found = [each for inner in here for each in (inner if isinstance(inner, list) else [inner])]
    if found and all(isinstance(each, str) for each in found):
        return Place(path, "an array of texts", [{"text": each} for each in found], 0)
    records = [each for each in found if isinstance(each, dict)]
    return Place(path, "", records, 0) if records else _read_rows(found, path)


def list_names(value: Any) -> str:
    """Return the names of the arrays and objects in a value, as they are given to ``--records``."""
    found: dict[str, None] = {}

    def look(here: Any, path: tuple[str, ...]) -> None:
        if len(path) > _DEEPEST or len(found) > _NAMED:
            return
        if isinstance(here, list):
            found[".".join(path)] = None
            here = next((each for each in here if isinstance(each, dict)), None)
        for name, inner in here.items() if isinstance(here, dict) else ():
            look(inner, (*path, name))

    look(value, ())
    return ", ".join(islice(filter(None, found), _NAMED))


def _walk_to(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """Return what is at a place, of every element of the arrays on the way."""
    if not names:
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _walk_to(each, names)
    elif isinstance(value, dict):
        if names[0] in value:
            yield from _walk_to(value[names[0]], names[1:])
        elif value and all(isinstance(each, dict | list) for each in value.values()):
            for each in value.values():  # by id
                yield from _walk_to(each, names)


def _walk_places(value: Any, path: tuple[str, ...], depth: int) -> Iterator[Place]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        yield from _walk_array(value, path, depth)
    elif isinstance(value, dict) and value:
        arranged = _find_arranged(value, path)
        if arranged is not None:
            yield arranged
            return
        for name, inner in value.items():
            yield from _walk_places(inner, (*path, name), depth + 1)


def _walk_array(value: Sequence[Any], path: tuple[str, ...], depth: int) -> Iterator[Place]:
    records = [each for each in value if isinstance(each, dict)]
    if records and len(records) == len(value):
        worth = weigh_records(records)
        if worth:
            yield Place(path, "", records, worth)
            return
        for name in dict.fromkeys(name for record in records[:_LOOKED_AT] for name in record):
            inner = [record[name] for record in records if name in record]
            joined = [each for found in inner if isinstance(found, list) for each in found]
            if joined:
                yield from _walk_array(joined, (*path, name), depth + 1)
            elif isinstance(inner[0], dict):
                for below in inner[0]:
                    held = [found[below] for found in inner if isinstance(found, dict) and below in found]
                    joined = [each for found in held if isinstance(found, list) for each in found]
                    yield from _walk_array(joined, (*path, name, below), depth + 2)
        yield Place(path, "", records, 0)
    elif value and all(isinstance(each, str) for each in value):
        texts = [{"text": each} for each in value]
        if sum(map(is_prose, value)) > len(value) / 2:
            yield Place(path, "an array of texts", texts, weigh_records(texts) - _SURE)
    elif found := _read_rows(value, path):
        yield found


def _read_rows(value: Sequence[Any], path: tuple[str, ...], names: Sequence[str] = ()) -> Place | None:
    """Return rows of cells as records; without names of columns the first row has them, or they are numbers."""
    rows = [each for each in value if isinstance(each, list)]
    if not rows or len(rows) < len(value) or len({len(row) for row in rows}) != 1:
        return None
    if not names and all(isinstance(cell, str) and len(cell) <= 60 for cell in rows[0]) and len(rows) > 1:
        known = sum(map(column_names.is_known, rows[0]))
        names, rows = (rows[0], rows[1:]) if 2 * known >= len(rows[0]) else ((), rows)
    called = list(map(str, names)) or [str(n) for n in range(1, len(rows[0]) + 1)]
    if len(called) != len(rows[0]) or len(set(called)) < len(called):
        return None
    records = [dict(zip(called, row, strict=True)) for row in rows]
    return Place(path, "rows of cells", records, weigh_records(records))


def _find_arranged(value: Record, path: tuple[str, ...]) -> Place | None:
    """Return the records of an object that is a table by columns or rows, or has records by id or in groups."""
    for shape in (_find_split, _find_by_columns, _find_by_id, _find_groups, _find_texts):
        if found := shape(value):
            return found._replace(path=path)
    return None


def _find_split(value: Record) -> Place | None:
    """Read ``{"columns": [...], "data": [[...], ...]}`` of pandas, and columns with their values of polars."""
    columns, rows = value.get("columns"), value.get("data", value.get("rows"))
    if not isinstance(columns, list) or not columns:
        return None
    if isinstance(rows, list) and rows:
        names = [each.get("name", "") if isinstance(each, dict) else str(each) for each in columns]
        found = _read_rows(rows, (), names) if all(isinstance(row, list) for row in rows) else None
        return found and found._replace(shape="columns, and rows of cells")
    if all(isinstance(each, dict) and isinstance(each.get("values"), list) for each in columns):
        return _find_by_columns({str(each.get("name")): each["values"] for each in columns})
    return None


def _find_by_columns(value: Record) -> Place | None:
    """Read ``{"text": {"0": ..., "1": ...}, "label": {...}}``, or arrays in place of the objects within."""
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
        if any(isinstance(cell, dict) for each in inner for cell in each[:_LOOKED_AT]):
            return None
        if len(inner) > 1 and all(_are_prose(each) for each in inner) and not any(map(column_names.is_known, value)):
            return None  # texts in groups
        records = [dict(zip(value, row, strict=True)) for row in zip(*inner, strict=True)]
    else:
        return None
    worth = weigh_records(records)
    return Place((), "a table by columns", records, worth) if worth else None


def _are_columns(names: Sequence[str], rows: Sequence[str], inner: Sequence[Record]) -> bool:
    """Return whether the outer names are those of columns, and those within are of rows."""
    if any(isinstance(value, dict) for each in inner for value in islice(each.values(), _LOOKED_AT)):
        return False
    if min(map(len, inner)) < 0.5 * len(rows):
        return False
    if all(map(_is_number, names)) or all(map(_is_number, rows)):
        return not all(map(_is_number, names))
    outer, within = (sum(map(column_names.is_known, each)) / len(each) for each in (names, rows))
    if outer != within:
        return outer > within
    kinds = [len({type(value) for value in each.values() if value is not None}) <= 1 for each in inner]
    return all(kinds) and len(names) < len(rows)


def _find_by_id(value: Record) -> Place | None:
    """Read ``{"17": {"text": ...}, "18": {...}}``: objects of the same fields."""
    inner = list(value.values())
    if not all(isinstance(each, dict) for each in inner):
        return None
    fields = [set(each) for each in inner]
    common = set.intersection(*fields)
    if not common or (len(inner) < 2 and not _is_number(next(iter(value)))):
        return None
    own = "id" if "id" not in common else "key"
    records = [{own: key} | each for key, each in value.items() if isinstance(each, dict)]
    worth = weigh_records(records)
    return Place((), "records by id", records, worth) if worth else None


def _find_groups(value: Record) -> Place | None:
    """Read ``{"garden": [{...}, ...], "sea": [...]}``: arrays of records, or of texts, by their label or split."""
    filled = {name: each for name, each in value.items() if each}
    if len(filled) < 2 or not all(isinstance(each, list) for each in filled.values()):
        return None
    own = "split" if {name.lower() for name in filled} <= set(PARTS) else "group"
    if all(_are_prose(each) for each in filled.values()):
        records: list[Record] = [{own: name, "text": text} for name, texts in filled.items() for text in texts]
    elif all(isinstance(each, dict) for array in filled.values() for each in array):
        first = [set(array[0]) for array in filled.values()]
        if not set.intersection(*first) or not all(weigh_records(array) for array in filled.values()):
            return None
        taken = any(own in array[0] for array in filled.values())
        records = [{**({} if taken else {own: name}), **each} for name, array in filled.items() for each in array]
    else:
        return None
    return Place((), f"records by {own}", records, weigh_records(records))


def _find_texts(value: Record) -> Place | None:
    """Read ``{"0": "a text", "1": "another one"}``, as a Series of pandas is written."""
    texts = [each for each in value.values() if isinstance(each, str)]
    numbered = all(map(_is_number, value))
    if len(texts) < len(value) or not (numbered or len(texts) >= _MANY) or 2 * sum(map(is_prose, texts)) <= len(texts):
        return None
    records = [{"text": text} if numbered else {"id": key, "text": text} for key, text in value.items()]
    return Place((), "texts by id", records, weigh_records(records))


def weigh_records(records: Sequence[Record]) -> int:
    """Return how much text the first records have, in letters; a field called as texts are adds to it."""
    letters = _count_letters(records)
    named = (name for record in records[:_LOOKED_AT] for name, value in flatten(record).items() if value)
    sure = any(plain_name(name) in column_names.TEXTS for name in named) if letters else False
    return letters + (_SURE if sure else 0)


def _count_letters(records: Sequence[Record]) -> int:
    """Count the letters of the texts in the first records: strings of words, and texts that are made of parts."""
    letters = 0
    for record in records[:_LOOKED_AT]:
        for name, value in flatten(record).items():
            named = plain_name(name) in column_names.TEXTS
            if isinstance(value, str):
                letters += len(value) if named or is_prose(value) else 0
            elif isinstance(value, list) and named:
                letters += len(as_prose(value))
    return letters


def flatten(record: Record, above: str = "", depth: int = 0) -> dict[str, Any]:
    """Return the fields of a record, those of objects in it called by both names with a dot between them.

    >>> flatten({"id": 1, "fields": {"body": "rain", "by": {"name": "Ann"}}})
    {'id': 1, 'fields.body': 'rain', 'fields.by.name': 'Ann'}
    """
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            found |= flatten(value, f"{above}{name}.", depth + 1)
        else:
            found[f"{above}{name}"] = value
    return found


def needs_flattening(sample: Sequence[Record], columns: Sequence[str]) -> bool:
    """Return whether the texts are in objects within the records, or a column that was asked for is."""
    names = {name for record in sample for name in record}
    if not any(isinstance(value, dict) for record in sample for value in record.values()):
        return False
    inner = {name for record in sample for name in flatten(record)}
    if any(name in inner and name not in names for name in columns):
        return True
    plain = [{name: value for name, value in record.items() if not isinstance(value, dict)} for record in sample]
    return weigh_records(plain) == 0 < weigh_records(sample)


def fill_text(record: Record) -> Record:
    """Return a record whose text, where it is empty, is that of the blocks that a program of messages made of it."""
    if record.get("text"):
        return record
    text = next((found for name in _BLOCKS if name in record and (found := join_parts(record[name]))), "")
    return {**record, "text": text}


_BLOCKS = ("blocks", "rich_text", "text_entities", "attachments")


def has_blocks(sample: Sequence[Record]) -> bool:
    """Return whether texts may be in blocks of messages."""
    return any("text" in record for record in sample) and any(name in each for each in sample for name in _BLOCKS)


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _are_prose(values: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in values) and sum(map(is_prose, values)) > len(values) / 2
