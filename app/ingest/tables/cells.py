"""Tables of separated cells: the first rows of .csv and .tsv, the names of their columns, and all rows."""

import csv
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.tables.column_names import is_known
from app.ingest.tables.headers import Names, read_names
from app.ingest.tables.values import is_number
from app.ingest.tables.writing import ADVICE, Writing, find_writing, find_writing_in, make_csv_reader, read_cells
from app.ingest.text import encodings

FIRST_ROWS = 200  # rows from which names and roles are found
ENDINGS = (".csv", ".tsv", ".tab")
_LINES_LOOKED_AT = 60  # from which a table is recognised,
_BYTES = 1 << 20  # and about so many bytes
_CELLS, _FEWEST_OF_WIDE = 100_000, 20  # cells that are enough to find names, and rows of very wide tables
_FEWEST_ROWS = 3  # rows without names that tell a table from lines of text
_TEXT = ".txt"


class Layout(NamedTuple):
    """The way in which the cells of a table are written, and the names of its columns."""

    writing: Writing
    names: Names

    def describe(self) -> dict[str, str]:
        """Return the layout as a report says it."""
        return self.writing.describe() | {"header": self.names.understood}

    def list_notes(self) -> list[str]:
        """Return what was left out above the names, and how the separator was chosen among several."""
        found = list(self.names.notes)
        if self.writing.left_out:
            found.insert(0, f"left out above the column names: {self.writing.left_out[:80]!r}")
        if self.writing.doubt:
            taken, others = self.writing.separator, self.writing.doubt
            choice = f"cells are taken to be separated by {taken}, though {others} would fit too"
            found.append(f"{choice} (change it with --separator)")
        return found

    def list_doubts(self) -> list[str]:
        """Return what is a guess, apart from the names."""
        found = []
        if self.writing.left_out:
            skip = self.writing.skip
            lines, are = ("1 line", "is") if skip == 1 else (f"{skip} lines", "are")
            found.append(f"{lines} above the column names {are} left out (change it with --skip-lines)")
        if self.writing.doubt:
            chosen, others = self.writing.separator, self.writing.doubt
            found.append(f"cells are separated by {chosen}, or by {others} (change it with --separator)")
        return found


class Beginning(NamedTuple):
    """The first rows of a table, as far as it is recognised by them: the names, and what is below them."""

    layout: Layout
    rows: tuple[tuple[str, ...], ...]


def find_layout(path: Path, options: ImportOptions) -> Layout:
    """Return how the cells of a file are written and what its columns are called.

    Raises
    ------
    IngestError
        When it is empty, or its first rows are not of one width.
    """
    how = find_writing(path, options, is_known)
    sample = [row for _, row in islice(read_cells(path, how, options.encoding), FIRST_ROWS + 1)]
    sample = sample[: max(_FEWEST_OF_WIDE, _CELLS // len(sample[0]))]
    return Layout(how, read_names(sample, options, row_names=how.row_names))


def read_rows(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, list[str]]]:
    """Return the line and cells of every row below the names, lines of nothing left out.

    Raises
    ------
    IngestError
        Where a row is of another width, or the names are others than those of the layout.
    """
    names = layout.names
    found = read_cells(path, layout.writing, options.encoding)
    for number in range(names.body):
        _, row = next(found, (1, []))
        if number == names.above:
            _check_names(path, row, names)
    width = len(names.names)
    for line, row in found:
        if len(row) != width:
            has = "1 column" if len(row) == 1 else f"{len(row)} columns"
            first = 1 + layout.writing.skip
            cause = f"has {has}, but line {first} has {width}, separated by {layout.writing.separator}; {ADVICE}"
            raise IngestError(path, cause, line)
        yield line, row


def _check_names(path: Path, row: Sequence[str], names: Names) -> None:
    """Refuse a file next to the first one that calls its columns otherwise."""
    if [cell.strip() for cell in row] != [cell.strip() for cell in names.line]:
        mine, theirs = (", ".join(" ".join(cell.split()) for cell in each)[:80] for each in (row, names.line))
        cause = f"has the columns {mine!r}, but the file before it {theirs!r}"
        raise IngestError(path, f"{cause}; import them one by one, or give all the same columns", 1)


def is_separated(path: Path) -> bool:
    """Return whether a file is a table of separated cells: by its name, or a .txt by names above rows of one width."""
    kind = files.find_suffix(path)
    if kind in ENDINGS:
        return not path.name.startswith("titles.")
    return kind == _TEXT and look_at_rows(path) is not None


def look_at_rows(path: Path) -> Beginning | None:
    """Return the first rows of a file; None where they are of no one width, or a .txt has no names above them."""
    try:
        about = path.stat()
    except OSError:
        return None
    return _look_at_file(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)
def _look_at_file(path: Path, _size: int, _changed: int) -> Beginning | None:
    lines, whole = _read_first_lines(path, _BYTES)
    if len(lines) < 4 and not whole:  # a row for each document and a column for each word
        lines, whole = _read_first_lines(path, _BYTES << 4)
    if not any(line.strip() for line in lines):
        return None
    try:
        how = find_writing_in(lines, path, whole=whole, is_name=is_known)
        rows = [row for row in make_csv_reader(iter(lines[how.skip :]), how) if row]
    except csv.Error:
        return None
    if not whole and len(rows) > 2:  # the last row may be cut
        rows.pop()
    if len(rows) < 2 or len({len(row) for row in rows[how.row_names :]}) > 1:
        return None
    layout = Layout(how, read_names(rows, ImportOptions(), row_names=how.row_names))
    if files.find_suffix(path) == _TEXT and not _is_plain_table(layout, rows):
        return None
    return Beginning(layout, tuple(map(tuple, rows[layout.names.body :])))


def _read_first_lines(path: Path, size: int) -> tuple[list[str], bool]:
    """Return the first lines of a file, and whether these are all."""
    raw = files.read_start(path, size)
    text = raw.decode(encodings.recognise_text(raw, "utf-8"), "replace").removeprefix("\ufeff")
    lines = StringIO(text, newline="").readlines()
    if len(raw) == size:
        lines.pop()
    return lines[:_LINES_LOOKED_AT], len(raw) < size and len(lines) <= _LINES_LOOKED_AT


def _is_plain_table(layout: Layout, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a .txt is a table: known names above cells, or tabs between cells of no name, label and text."""
    if len(layout.names.names) < 2:
        return False
    if layout.names.header:
        return layout.writing.delimiter in "\t " or layout.names.sure
    return layout.writing.delimiter == "\t" and len(rows) >= _FEWEST_ROWS and not (_is_named(rows) or _is_counted(rows))


def _is_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are a name, a label and a text."""
    if len(rows[0]) != len(("name", "label", "text")):
        return False
    _, labels, texts = ([row[place] for row in rows] for place in range(3))
    return len(set(labels)) <= max(2, len(labels) // 2) and sum(map(len, texts)) > sum(map(len, labels))


def _is_counted(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are a word and a number, as in the counts of one document."""
    return all(len(row) == len(("word", "count")) and " " not in row[0].strip() and is_number(row[1]) for row in rows)
