"""Tables in Parquet, Arrow and Excel: their rows, names and first rows."""

import re
import warnings
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from app.ingest import files, packing
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.tables.headers import Names, number_names, read_names

PARQUET, ARROW = (".parquet",), (".arrow", ".feather")
_ARROW_SAMPLE = 60  # rows from which a table is recognised as one of counts
_ROWS = 1_000  # at a time


def read_arrow_rows(path: Path) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Return the rows as mappings, each with its number from 1; columns of the same name get numbers.

    Raises
    ------
    IngestError
        When it is no sound table.
    """
    number = 0
    damage = files.refuse_damage(path, "table of its format", "save or download it again")
    with files.open_seekable(path) as stream, damage:
        for batch in _read_batches(path, stream):
            for record in batch.to_pylist():
                number += 1
                yield number, record


def note_repeated_names(path: Path) -> tuple[str, ...]:
    """Return notes about columns of the same name."""
    if files.find_suffix(path) not in PARQUET:
        return ()
    from pyarrow import parquet

    with files.open_seekable(path) as stream:
        return number_names(parquet.ParquetFile(stream).schema_arrow.names)[1]


def look_at_arrow(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the first rows.

    Raises
    ------
    IngestError
        As `records`.
    """
    about = path.stat()
    return _look_at_arrow_file(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=16)
def _look_at_arrow_file(path: Path, _size: int, _changed: int) -> tuple[dict[str, Any], ...]:
    with closing(read_arrow_rows(path)) as rows:
        return tuple(record for _, record in islice(rows, _ARROW_SAMPLE))


def _read_batches(path: Path, stream: Any) -> Iterator[Any]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        cause = "is a table that needs one more package to be read: pip install 'topiary-explorer[parquet]'"
        raise IngestError(path, f"{cause}, or save it as .csv or .jsonl") from None
    if files.find_suffix(path) in PARQUET:
        found = parquet.ParquetFile(stream, memory_map=False).iter_batches(batch_size=_ROWS, use_threads=False)
        yield from map(_rename_repeated, found)
        return
    start = stream.read(6)
    stream.seek(0)
    if start != b"ARROW1":  # as datasets are saved: a stream, without the list of its batches at the end
        for batch in arrow.ipc.open_stream(stream):
            yield from _cut_batch(batch)
        return
    reader = arrow.ipc.open_file(stream)
    for number in range(reader.num_record_batches):
        yield from _cut_batch(reader.get_batch(number))


def _cut_batch(batch: Any) -> Iterator[Any]:
    batch.validate(full=True)
    for begin in range(0, batch.num_rows, _ROWS):
        yield _rename_repeated(batch.slice(begin, _ROWS))


def _rename_repeated(batch: Any) -> Any:
    """Return a batch whose columns have different names, for rows as mappings keep only the last of the same one."""
    names = batch.schema.names
    if len(set(names)) == len(names):
        return batch
    return batch.rename_columns(number_names(names)[0])


SAMPLE = 200  # rows from which names and roles are found
BLANK_ROWS = 10_000  # in a row, after which a sheet is over: one may be formatted to its last row
_USUAL_WIDTH, _WIDEST = 1_000, 16_384  # columns
_LONGEST_MERGED = 60  # letters of a cell that stands for all cells it is merged with
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"')
_PIECE = 1 << 20


class Sheet(NamedTuple):
    """The sheet that is read, and how it begins.

    Attributes
    ----------
    name : str
    others : tuple of str
        Sheets that are not read.
    rows : tuple of (int, list of str)
        Line and cells of the first rows, lines of nothing left out.
    width : int
        Cells of the widest of them.
    """

    name: str
    others: tuple[str, ...]
    rows: tuple[tuple[int, list[str]], ...]
    width: int


def look_at_workbook(path: Path) -> Sheet:
    """Return the sheet of a workbook that is read, and its first rows.

    Raises
    ------
    IngestError
        When it is no sound workbook.
    """
    about = path.stat()
    return _look_at_sheet(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=16)
def _look_at_sheet(path: Path, _size: int, _changed: int) -> Sheet:
    with _open_workbook(path) as book:
        used = _find_used(book)
        name, others = used.title, tuple(sheet.title for sheet in book.worksheets if sheet.title != used.title)
    rows: list[tuple[int, list[str]]] = []
    for width in (_USUAL_WIDTH, _WIDEST):
        with closing(_read_sheet(path, width)) as found:
            rows = list(islice(found, SAMPLE + 1))
        if all(len(cells) < width for _, cells in rows):
            break
    return Sheet(name, others, tuple(rows), max((len(cells) for _, cells in rows), default=0))


def find_workbook_names(path: Path, options: ImportOptions) -> Names:
    """Return what the columns of the sheet are called.

    Raises
    ------
    IngestError
        When it has no cells.
    """
    sheet = look_at_workbook(path)
    sample = [_fill_row(cells, sheet.width) for line, cells in sheet.rows if line > (options.skip_lines or 0)]
    if not sample:
        below = f" below its first {options.skip_lines} lines; lower --skip-lines" if options.skip_lines else ""
        raise IngestError(path, f"has no cells{below}" if below else "has no cells in any of its sheets; "
                          "give one with a row for each document")  # fmt: skip
    return read_names(sample, options)


def read_workbook_rows(path: Path, names: Names, options: ImportOptions) -> Iterator[tuple[int, list[str]]]:
    """Return the line and cells of every row below the names; a row that ends early has empty cells.

    Raises
    ------
    IngestError
        Where a row is wider than the names, or these are others than those given.
    """
    width = len(names.names)
    found = ((line, cells) for line, cells in _read_sheet(path, width + 1) if line > (options.skip_lines or 0))
    for number in range(names.body):
        line, cells = next(found, (1, []))
        mine = [cell.strip() for cell in _fill_row(cells, width)]
        if number == names.above and mine != [cell.strip() for cell in names.line]:
            raise IngestError(path, "has other columns than the file before it; import them one by one", line)
    for line, cells in found:
        if len(cells) > width:
            raise IngestError(path, f"has {len(cells)} cells or more, but there are {width} columns", line)
        yield line, _fill_row(cells, width)


def _fill_row(cells: list[str], width: int) -> list[str]:
    return cells + [""] * (width - len(cells))


def _find_used(book: Any) -> Any:
    """Return the first sheet that people see and that has a cell with something in it."""
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
    return next(
        (sheet for sheet in visible if any(map(_is_filled, islice(_read_cells(sheet, _USUAL_WIDTH), BLANK_ROWS)))),
        visible[0],
    )


def _read_cells(sheet: Any, width: int) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # what a sheet says of its size may be made to fill the memory
    yield from sheet.iter_rows(values_only=True, max_col=width)


def _is_filled(values: tuple[Any, ...]) -> bool:
    return any(value is not None and str(value).strip() for value in values)


def _read_sheet(path: Path, width: int) -> Generator[tuple[int, list[str]], None, None]:
    """Yield ``(line, cells)`` without empty lines, and without empty cells at the end of a line."""
    with _open_workbook(path) as book:
        used = _find_used(book)
        merged = _read_merges(path, used)
        blank = 0
        for line, values in enumerate(_read_cells(used, width), 1):
            if not _is_filled(values):
                blank += 1
                if blank > BLANK_ROWS:
                    return
                continue
            blank = 0
            cells = list(map(_write_cell, values))
            for merge in merged.get(line, ()):
                merge.fill(cells)
            while cells and not cells[-1]:
                cells.pop()
            yield line, cells


class _Merge:
    """Cells of a column that are merged with the first of them."""

    def __init__(self, column: int) -> None:
        self._column, self._value = column, ""

    def fill(self, cells: list[str]) -> None:
        """Keep the value, or put it in the place of an empty one where it is short."""
        if self._column >= len(cells):
            return
        if cells[self._column]:
            self._value = cells[self._column]
        elif len(self._value) <= _LONGEST_MERGED:
            cells[self._column] = self._value


def _read_merges(path: Path, sheet: Any) -> dict[int, list[_Merge]]:
    """Return the merges of cells of a column by the lines that they are in."""
    member = vars(sheet).get("_worksheet_path")  # sheets that are read row by row do not say what is merged
    found: dict[int, list[_Merge]] = {}
    if member is None:
        return found
    with files.open_seekable(path) as stream, zipfile.ZipFile(stream) as archive, archive.open(member) as xml:
        rest = b""
        while more := xml.read(_PIECE):
            piece = rest + more
            for match in _MERGED.finditer(piece):
                first, last = int(match[2]), int(match[3])
                if 0 < last - first < 100_000:
                    merge = _Merge(_parse_column(match[1].decode()))
                    for line in range(first, last + 1):
                        found.setdefault(line, []).append(merge)
            rest = piece[-64:] if b"<mergeCell " not in piece[-64:] else piece[piece.rindex(b"<mergeCell ") :][:64]
    return found


def _parse_column(letters: str) -> int:
    """Return the number of a column from 0.

    >>> _parse_column("A"), _parse_column("AB")
    (0, 27)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _write_cell(value: Any) -> str:
    """Return a cell as people see it: whole numbers without a point, days without an hour."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


@contextmanager
def _open_workbook(path: Path) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        cause = "is an Excel workbook, which needs one more package to be read"
        raise IngestError(path, f"{cause}: pip install 'topiary-explorer[xlsx]', or save it as .csv") from None
    # What of its looks is not understood is no matter for texts.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    with files.open_seekable(path) as stream, files.refuse_damage(path, "Excel workbook", "save it again"):
        _check_size(path, stream)
        book = load_workbook(stream, read_only=True, data_only=True)
        if not book.worksheets:
            raise IngestError(path, "has no sheet with cells")
        yield book


def _check_size(path: Path, stream: Any) -> None:
    with zipfile.ZipFile(stream) as archive:
        total = sum(info.file_size for info in archive.infolist())
    if total > packing.limit_unpacked(path.stat().st_size):
        raise IngestError(path, "unpacks to far more than a workbook of its size should; save it as .csv")
    stream.seek(0)
