"""Records in JSON other than a plain array of objects: nested in others, by columns, by id, or in groups."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from topiary.app.ingest.tables import column_names
from topiary.app.ingest.tables.column_names import plain_name
from topiary.app.ingest.tables.roles import PARTS
from topiary.app.ingest.tables.values import as_prose, is_prose, join_parts

Record: TypeAlias = Mapping[str, Any]

_DEEPEST = 12  # levels of nested objects that are searched
_SAMPLE = 40  # first records, by which a place is judged
_MANY_TEXTS = 20  # so many texts in an object are texts by id, not the fields of one record
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
    return Place(path, "", records, 0) if records else _read_rows(items, path)


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
        for name in dict.fromkeys(name for record in records[:_SAMPLE] for name in record):
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
    elif field := _read_rows(value, path):
        yield field


def _read_rows(value: Sequence[Any], path: tuple[str, ...], names: Sequence[str] = ()) -> Place | None:
    """Return rows of cells as records; if no names are given, take them from the first row or number the columns."""
    rows = [each for each in value if isinstance(each, list)]
    if not rows or len(rows) < len(value) or len({len(row) for row in rows}) != 1:
        return None
    if not names and all(isinstance(cell, str) and len(cell) <= 60 for cell in rows[0]) and len(rows) > 1:
        n_known = sum(map(column_names.is_known, rows[0]))
        names, rows = (rows[0], rows[1:]) if 2 * n_known >= len(rows[0]) else ((), rows)
    columns = list(map(str, names)) or [str(n) for n in range(1, len(rows[0]) + 1)]
    if len(columns) != len(rows[0]) or len(set(columns)) < len(columns):
        return None
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return Place(path, "rows of cells", records, weigh_records(records))


def _find_arrangement(value: Record, path: tuple[str, ...]) -> Place | None:
    """Return the records of an object that is a table, or has records by id or in groups; None for any other."""
    for shape in (_find_split, _find_by_columns, _find_by_id, _find_groups, _find_texts):
        if found := shape(value):
            return found._replace(path=path)
    return None


def _find_split(value: Record) -> Place | None:
    """Read ``{"columns": [...], "data": [[...], ...]}`` as written by pandas, or columns with values as by polars."""
    columns, rows = value.get("columns"), value.get("data", value.get("rows"))
    if not isinstance(columns, list) or not columns:
        return None
    if isinstance(rows, list) and rows:
        names = [each.get("name", "") if isinstance(each, dict) else str(each) for each in columns]
        place = _read_rows(rows, (), names) if all(isinstance(row, list) for row in rows) else None
        return place and place._replace(shape="columns, and rows of cells")
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
        if any(isinstance(cell, dict) for each in inner for cell in each[:_SAMPLE]):
            return None
        if len(inner) > 1 and all(_are_prose(each) for each in inner) and not any(map(column_names.is_known, value)):
            return None  # texts in groups
        records = [dict(zip(value, row, strict=True)) for row in zip(*inner, strict=True)]
    else:
        return None
    worth = weigh_records(records)
    return Place((), "a table by columns", records, worth) if worth else None


def _are_columns(names: Sequence[str], rows: Sequence[str], inner: Sequence[Record]) -> bool:
    """Return whether the outer names are columns and the inner names rows, not the reverse."""
    if any(isinstance(value, dict) for each in inner for value in islice(each.values(), _SAMPLE)):
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


def _find_groups(value: Record) -> Place | None:
    """Read ``{"garden": [{...}, ...], "sea": [...]}``: arrays of records or texts, by label or split."""
    filled = {name: each for name, each in value.items() if each}
    if len(filled) < 2 or not all(isinstance(each, list) for each in filled.values()):
        return None
    group_field = "split" if {name.lower() for name in filled} <= set(PARTS) else "group"
    if all(_are_prose(each) for each in filled.values()):
        records: list[Record] = [{group_field: name, "text": text} for name, texts in filled.items() for text in texts]
    elif all(isinstance(each, dict) for array in filled.values() for each in array):
        first_fields = [set(array[0]) for array in filled.values()]
        if not set.intersection(*first_fields) or not all(weigh_records(array) for array in filled.values()):
            return None
        is_used = any(group_field in array[0] for array in filled.values())
        records = [
            {**({} if is_used else {group_field: name}), **each} for name, array in filled.items() for each in array
        ]
    else:
        return None
    return Place((), f"records by {group_field}", records, weigh_records(records))


def _find_texts(value: Record) -> Place | None:
    """Read ``{"0": "a text", "1": "another one"}``, as pandas writes a Series."""
    texts = [each for each in value.values() if isinstance(each, str)]
    are_numbers = all(map(_is_number, value))
    if (
        len(texts) < len(value)
        or not (are_numbers or len(texts) >= _MANY_TEXTS)
        or 2 * sum(map(is_prose, texts)) <= len(texts)
    ):
        return None
    records = [{"text": text} if are_numbers else {"id": key, "text": text} for key, text in value.items()]
    return Place((), "texts by id", records, weigh_records(records))


def weigh_records(records: Sequence[Record]) -> int:
    """Return the number of letters in the texts of the first records, more if a field has the usual name of a text."""
    letters = _count_letters(records)
    filled = (name for record in records[:_SAMPLE] for name, value in flatten(record).items() if value)
    sure = any(plain_name(name) in column_names.TEXTS for name in filled) if letters else False
    return letters + (_NAME_BONUS if sure else 0)


def _count_letters(records: Sequence[Record]) -> int:
    """Count the letters in the texts of the first records; a text is a string of prose or a list of parts."""
    letters = 0
    for record in records[:_SAMPLE]:
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


def _are_prose(values: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in values) and sum(map(is_prose, values)) > len(values) / 2
