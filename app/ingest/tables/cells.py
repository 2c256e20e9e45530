"""Tables of separated cells: their first rows, the names of their columns, and all their rows."""

import csv
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables.column_names import is_known
from topiary.app.ingest.tables.headers import Names, read_names
from topiary.app.ingest.tables.values import is_number
from topiary.app.ingest.tables.writing import (
    ADVICE,
    Writing,
    find_writing,
    find_writing_in,
    make_csv_reader,
    read_cells,
)
from topiary.app.ingest.text import encodings

FIRST_ROWS = 200  # rows from which names and roles are found
ENDINGS = (".csv", ".tsv", ".tab")
_SAMPLED_LINES = 60  # first lines by which a table is recognised
_SAMPLED_BYTES = 1 << 20  # bytes in which these lines are read
_ENOUGH_CELLS, _FEWEST_WIDE_ROWS = 100_000, 20  # to find names: enough cells, and the fewest rows of wide tables
_FEWEST_ROWS = 3  # rows from which a table without column names is distinguished from lines of text
_TEXT_ENDING = ".txt"


class Layout(NamedTuple):
    """The format in which the cells of a table are written, and the names of its columns."""

    writing: Writing
    names: Names

    def describe(self) -> dict[str, str]:
        """Describe the layout, for the report."""
        return self.writing.describe() | {"header": self.names.understood}

    def list_notes(self) -> list[str]:
        """Return notes about lines left out above the names, and about a separator chosen among several."""
        notes = list(self.names.notes)
        if self.writing.left_out:
            notes.insert(0, f"left out above the column names: {self.writing.left_out[:80]!r}")
        if self.writing.doubt:
            chosen, others = self.writing.separator, self.writing.doubt
            choice = f"cells are taken to be separated by {chosen}, though {others} would fit too"
            notes.append(f"{choice} (change it with --separator)")
        return notes

    def list_doubts(self) -> list[str]:
        """Return sentences about what is a guess, apart from the names."""
        doubts = []
        if self.writing.left_out:
            skip = self.writing.skip
            lines, verb = ("1 line", "is") if skip == 1 else (f"{skip} lines", "are")
            doubts.append(f"{lines} above the column names {verb} left out (change it with --skip-lines)")
        if self.writing.doubt:
            chosen, others = self.writing.separator, self.writing.doubt
            doubts.append(f"cells are separated by {chosen}, or by {others} (change it with --separator)")
        return doubts


class Beginning(NamedTuple):
    """The layout of a table and its first rows below the names, by which it is recognised."""

    layout: Layout
    rows: tuple[tuple[str, ...], ...]


def find_layout(path: Path, options: ImportOptions) -> Layout:
    """Return the format of the cells in a file and the names of its columns.

    Raises
    ------
    IngestError
        If the file is empty, or its first rows differ in width.
    """
    writing = find_writing(path, options, is_known)
    sample = [row for _, row in islice(read_cells(path, writing, options.encoding), FIRST_ROWS + 1)]
    sample = sample[: max(_FEWEST_WIDE_ROWS, _ENOUGH_CELLS // len(sample[0]))]
    return Layout(writing, read_names(sample, options, row_names=writing.row_names))


def read_rows(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and cells of every row below the names, without empty lines.

    Raises
    ------
    IngestError
        If a row has another width, or the names differ from those of the layout.
    """
    names = layout.names
    rows = read_cells(path, layout.writing, options.encoding)
    for number in range(names.body):
        _, row = next(rows, (1, []))
        if number == names.above:
            _check_names(path, row, names)
    width = len(names.names)
    for line, row in rows:
        if len(row) != width:
            description = "1 column" if len(row) == 1 else f"{len(row)} columns"
            first = 1 + layout.writing.skip
            cause = (
                f"has {description}, but line {first} has {width}, separated by {layout.writing.separator}; {ADVICE}"
            )
            raise IngestError(path, cause, line)
        yield line, row


def _check_names(path: Path, row: Sequence[str], names: Names) -> None:
    """Refuse another file whose columns have other names than those of the first one."""
    if [cell.strip() for cell in row] != [cell.strip() for cell in names.line]:
        own, expected = (", ".join(" ".join(cell.split()) for cell in each)[:80] for each in (row, names.line))
        cause = f"has the columns {own!r}, but the file before it {expected!r}"
        raise IngestError(path, f"{cause}; import them one by one, or give all the same columns", 1)


def is_separated(path: Path) -> bool:
    """Return whether a file is a table of separated cells, by its name or, for a .txt, its first lines."""
    kind = files.find_suffix(path)
    if kind in ENDINGS:
        return not path.name.startswith("titles.")
    return kind == _TEXT_ENDING and look_at_rows(path) is not None


def look_at_rows(path: Path) -> Beginning | None:
    """Return the first rows of a file; None if their widths differ, or a .txt does not look like a table."""
    try:
        status = path.stat()
    except OSError:
        return None
    return _look_at_file(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _look_at_file(path: Path, _size: int, _changed: int) -> Beginning | None:
    """Return the first rows of a file, cached by its size and time of change; None as in `look_at_rows`."""
    lines, is_complete = _read_first_lines(path, _SAMPLED_BYTES)
    if len(lines) < 4 and not is_complete:  # very long lines, as in a document-term matrix
        lines, is_complete = _read_first_lines(path, _SAMPLED_BYTES << 4)
    if not any(line.strip() for line in lines):
        return None
    try:
        writing = find_writing_in(lines, path, whole=is_complete, is_name=is_known)
        rows = [row for row in make_csv_reader(iter(lines[writing.skip :]), writing) if row]
    except csv.Error:
        return None
    if not is_complete and len(rows) > 2:  # the last row may be cut
        rows.pop()
    if len(rows) < 2 or len({len(row) for row in rows[writing.row_names :]}) > 1:
        return None
    layout = Layout(writing, read_names(rows, ImportOptions(), row_names=writing.row_names))
    if files.find_suffix(path) == _TEXT_ENDING and not _is_plain_table(layout, rows):
        return None
    return Beginning(layout, tuple(map(tuple, rows[layout.names.body :])))


def _read_first_lines(path: Path, size: int) -> tuple[list[str], bool]:
    """Return the first lines of a file, and whether these are all lines."""
    raw = files.read_start(path, size)
    text = raw.decode(encodings.recognise_text(raw, "utf-8"), "replace").removeprefix("\ufeff")
    lines = StringIO(text, newline="").readlines()
    if len(raw) == size:
        lines.pop()
    return lines[:_SAMPLED_LINES], len(raw) < size and len(lines) <= _SAMPLED_LINES


def _is_plain_table(layout: Layout, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a .txt is a table: it has known names, or tabs but not just name, label and text, or counts."""
    if len(layout.names.names) < 2:
        return False
    if layout.names.header:
        return layout.writing.delimiter in "\t " or layout.names.sure
    return layout.writing.delimiter == "\t" and len(rows) >= _FEWEST_ROWS and not (_is_named(rows) or _is_counted(rows))


def _is_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row is a name, a label and a text."""
    if len(rows[0]) != len(("name", "label", "text")):
        return False
    _, labels, texts = ([row[place] for row in rows] for place in range(3))
    return len(set(labels)) <= max(2, len(labels) // 2) and sum(map(len, texts)) > sum(map(len, labels))


def _is_counted(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row is a word and its count in a single document."""
    return all(len(row) == len(("word", "count")) and " " not in row[0].strip() and is_number(row[1]) for row in rows)
