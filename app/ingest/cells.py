"""The cells of tables: .csv and .tsv, how they are written, and row by row."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from app.ingest import files
from app.ingest.errors import IngestError

Quoting: TypeAlias = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

_LONGEST_FIELD = 2**31 - 1  # the largest limit that the csv module takes on every system


class Writing(NamedTuple):
    """How the cells of a table are written."""

    delimiter: str
    quoting: Quoting


def writing(path: Path, encoding: str) -> Writing:
    """How the cells of a file are written, by its name and its first line.

    Raises
    ------
    IngestError
        When it has no line that is not blank.
    """
    first = next((text for _, text in files.lines(path, encoding) if text.strip()), None)
    if first is None:
        raise IngestError(path, "is empty")
    return of_line(first, path)


def of_line(first: str, path: Path) -> Writing:
    """How the cells of a first line are written."""
    delimiter = "\t" if files.suffix(path) == ".tsv" else max(",;\t|", key=first.count)
    if delimiter == "\t" and not first.startswith('"'):
        return Writing(delimiter, csv.QUOTE_NONE)  # such files rarely quote, and a lone " would swallow lines
    return Writing(delimiter, csv.QUOTE_MINIMAL)


def rows(path: Path, how: Writing, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """``(line on which the row begins, cells)``, lines of nothing left out."""
    csv.field_size_limit(_LONGEST_FIELD)
    texts = (text for _, text in files.lines(path, encoding, keep_ends=True))
    reader = csv.reader(texts, delimiter=how.delimiter, quoting=how.quoting, strict=True)
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
