"""Tables of texts: .csv and .tsv, with or without a line of column names."""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from app.ingest import fields, files
from app.ingest.errors import IngestError
from app.ingest.headers import has_header
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "csv"
DESCRIPTION = "table of texts: NAME.csv or NAME.tsv (.gz), one document a row, or a folder with train.csv and test.csv"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "header", "token_pattern")

Quoting: TypeAlias = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

_SAMPLE = 200
_LONGEST_FIELD = 2**31 - 1  # the largest limit that the csv module takes on every system


class Layout(NamedTuple):
    """How the cells of a table are written."""

    delimiter: str
    quoting: Quoting
    header: bool
    names: tuple[str, ...]


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".csv", ".tsv") and not path.name.startswith("titles.")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows of a table as documents; words of the title count too."""
    parts = files.parts(path, recognises, "csv")
    layout = _layout(parts[0].path, options)
    sample = [record for _, record in islice(_records(parts[0].path, layout, options), _SAMPLE)]
    if not sample:
        raise IngestError(
            parts[0].path, "has no documents below its line of column names; add rows, or say that it has no such line"
        )
    roles = fields.find_roles(sample, options, parts[0].path, named=layout.header)
    return fields.source(
        path, parts, roles, lambda file: _records(file, layout, options), options, header=layout.header
    )


def _records(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells by column of every row, lines of nothing left out."""
    rows = _rows(path, layout.delimiter, layout.quoting, options.encoding)
    if layout.header:
        next(rows, None)
    for line, row in rows:
        if len(row) != len(layout.names):
            cause = f"has {_plural(len(row), 'column')}, but line 1 has {len(layout.names)}"
            raise IngestError(path, cause, line)
        yield line, dict(zip(layout.names, row, strict=True))


def _rows(path: Path, delimiter: str, quoting: Quoting, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """``(line on which the row begins, cells)``."""
    csv.field_size_limit(_LONGEST_FIELD)
    texts = (text for _, text in files.lines(path, encoding, keep_ends=True))
    reader = csv.reader(texts, delimiter=delimiter, quoting=quoting, strict=True)
    line = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise IngestError(path, f"the row that begins here cannot be read ({error})", line) from None
        if row is None:
            return
        if row:
            yield line, row
        line = reader.line_num + 1


def _layout(path: Path, options: ImportOptions) -> Layout:
    first = next((text for _, text in files.lines(path, options.encoding) if text.strip()), None)
    if first is None:
        raise IngestError(path, "is empty")
    delimiter = "\t" if files.suffix(path) == ".tsv" else max(",;\t|", key=first.count)
    quoting: Quoting = csv.QUOTE_MINIMAL
    if delimiter == "\t" and not first.startswith('"'):
        quoting = csv.QUOTE_NONE  # tab-separated files rarely quote, and a lone " would swallow the lines after it
    sample = [cells for _, cells in islice(_rows(path, delimiter, quoting, options.encoding), _SAMPLE + 1)]
    cells = sample[0]
    header = _has_header(cells, sample[1:], options)
    names = tuple(cell.strip() for cell in cells) if header else tuple(str(n) for n in range(1, len(cells) + 1))
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise IngestError(path, f"names the column {sorted(repeated)[0]!r} twice", 1)
    return Layout(delimiter, quoting, header, names)


def _has_header(cells: list[str], rows: list[list[str]], options: ImportOptions) -> bool:
    if options.header != "auto":
        return options.header == "yes"
    asked = {options.title_column, options.label_column, options.split_column, *(options.text_column or "").split(",")}
    if any(cell.strip() in asked - {""} for cell in cells):
        return True
    found = has_header(cells, rows)
    return any(map(fields.is_known, cells)) if found is None else found


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
