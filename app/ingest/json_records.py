"""The records of files of JSON: where they are is decided by the first values of the first file with any."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from app.ingest import fields, files, json_shapes
from app.ingest.errors import IngestError
from app.ingest.json_shapes import Record
from app.ingest.options import ImportOptions
from app.ingest.roles import find_roles, split_columns
from app.ingest.source import TextSource

Values: TypeAlias = Callable[[Path], Iterator[tuple[int, Any]]]

_SAMPLE = 200
_ROWS, _NAMELESS, _TEXTS = "rows of cells", "rows of cells without names", "an array of texts"


class _Layout(NamedTuple):
    """Where the records of a file are, and what is made of them.

    Attributes
    ----------
    path : tuple of str or None
        The place that every value of the file has them at; None: the values are records.
    shape : str
        What holds them, in words; empty where it is an array.
    flat : bool
        Whether fields within others become fields of their own.
    blocks : bool
        Whether a text may be in blocks of messages.
    guess : str
        Where else they may be, in a sentence, or empty.
    """

    path: tuple[str, ...] | None = None
    shape: str = ""
    flat: bool = False
    blocks: bool = False
    guess: str = ""


def source(
    path: Path,
    parts: Sequence[files.Part],
    values: Values,
    own: Mapping[Path, Mapping[str, str]],
    options: ImportOptions,
    *,
    empty: str,
) -> TextSource:
    """Return the records of files of JSON as documents.

    Parameters
    ----------
    values : callable
        Gives the line and the value of each element, or value, of a file.
    own : mapping
        Fields of all records of a file.
    empty : str
        What to do about files without records.
    """
    first = next((part.path for part in parts if next(values(part.path), None) is not None), parts[0].path)
    layout = _find_layout(first, values, options)

    def records(file: Path) -> Iterator[tuple[int, Record]]:
        more = own.get(file, {})
        for line, record in _read_plain(file, values, layout):
            found = json_shapes.flatten(record) if layout.flat else record
            if layout.blocks:
                found = json_shapes.fill_text(found)
            yield line, {**found, **more} if more else found

    every = chain.from_iterable(records(part.path) for part in parts)
    sample = [record for _, record in islice(every, _SAMPLE)]
    if not sample:
        raise IngestError(first, f"has no documents; {empty}")
    roles = find_roles(sample, options, first, named=layout.shape != _NAMELESS, no_text=_explain_no_text(first, values))
    usual = {name for record in sample if roles.text[0] in record for name in record}
    guesses = [layout.guess] if layout.guess else []
    found = fields.source(path, parts, roles, records, options, guesses=guesses, usual=sorted(usual))
    if layout.shape or layout.path:
        where = ".".join(layout.path or ())
        found.understood["records"] = " in ".join(filter(None, (layout.shape, where)))
    return found


def _explain_no_text(path: Path, values: Values) -> str:
    inside = json_shapes.list_names([value for _, value in islice(values(path), 1)])
    cause = "has no field of text; name it with --text-column"
    return f"{cause}, or the place of the records with --records ({inside})" if inside else cause


def _find_layout(path: Path, values: Values, options: ImportOptions) -> _Layout:
    """Return where the records of a file are."""
    first = [value for _, value in islice(values(path), _SAMPLE)]
    if options.records is not None:
        where = json_shapes.parse_path(options.records)
        place = json_shapes.find_at(first[0] if len(first) == 1 else first, where)
        if place is None:
            inside = json_shapes.list_names(first)
            cause = f"has no records at {options.records!r}"
            raise IngestError(path, f"{cause}; it has {inside}" if inside else f"{cause}; leave --records out")
        return _complete_layout(place.records, _Layout(place.path, place.shape), options)
    if len(first) != 1 or not isinstance(first[0], dict):
        return _find_in_values(first, options)
    asked = split_columns(options.text_column, list(first[0]))
    places = [] if any(name in first[0] for name in asked) else json_shapes.find_places(first[0])
    if not places:
        return _complete_layout(first, _Layout(), options)
    best = places[0]
    others = [place for place in places[1:] if json_shapes.is_close(best, place)]
    guess = ""
    if others:
        guess = f"records are those of {best.said}, though {others[0].said} has texts too (change it with --records)"
    return _complete_layout(best.records, _Layout(best.path, best.shape, guess=guess), options)


def _find_in_values(first: list[Any], options: ImportOptions) -> _Layout:
    """Return where the records are in several values: in an array, or one after the other."""
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
    sample = records[:_SAMPLE]
    single = (options.title_column, options.label_column, options.split_column)
    names = [name for record in sample for name in record]
    asked = [*split_columns(options.text_column, names), *(name for name in single if name is not None)]
    flat = json_shapes.needs_flattening(sample, asked)
    return layout._replace(flat=flat, blocks=json_shapes.has_blocks(sample))


def _read_plain(path: Path, values: Values, layout: _Layout) -> Iterator[tuple[int, Record]]:
    """Return the records of a file, as they are in it, each with the line on which it begins."""
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
