"""Rows and column names of tables in Parquet, Arrow and Excel, and the opening of tables of any kind."""

import re
import warnings
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables.headers import Names, number_names, read_names
from topiary.app.ingest.tables.sniff import find_layout, read_rows
from topiary.app.ingest.tables.values import as_text

PARQUET, ARROW = (".parquet",), (".arrow", ".feather")
_ARROW_SAMPLE = 60  # rows from which a table is recognised as one of counts
_BATCH_ROWS = 1_000  # rows read at a time


def read_arrow_rows(path: Path) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yield the rows as mappings, each with its number from 1; repeated column names are numbered.

    Raises
    ------
    IngestError
        If the table is damaged.
    """
    number = 0
    damage = packing.refuse_damage(path, "table of its format", "save or download it again")
    with packing.open_seekable(path) as stream, damage:
        for batch in _read_batches(path, stream):
            for record in batch.to_pylist():
                number += 1
                yield number, record


def note_repeated_names(path: Path) -> tuple[str, ...]:
    """Return notes about repeated column names in a Parquet file."""
    if packing.find_suffix(path) not in PARQUET:
        return ()
    from pyarrow import parquet

    with packing.open_seekable(path) as stream:
        return number_names(parquet.ParquetFile(stream).schema_arrow.names)[1]


@packing.cache_until_changed
def look_at_arrow(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the first rows of a Parquet or Arrow file.

    Raises
    ------
    IngestError
        As in `read_arrow_rows`.
    """
    with closing(read_arrow_rows(path)) as rows:
        return tuple(record for _, record in islice(rows, _ARROW_SAMPLE))


def _read_batches(path: Path, stream: Any) -> Iterator[Any]:
    """Yield the record batches of a Parquet or Arrow file, with unique column names."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        cause = "is a table that needs one more package to be read: pip install 'topiary-explorer[parquet]'"
        raise IngestError(path, f"{cause}, or save it as .csv or .jsonl") from None
    if packing.find_suffix(path) in PARQUET:
        batches = parquet.ParquetFile(stream, memory_map=False).iter_batches(batch_size=_BATCH_ROWS, use_threads=False)
        yield from map(_rename_repeated, batches)
        return
    start = stream.read(6)
    stream.seek(0)
    if start != b"ARROW1":  # a stream without an index of batches, as Hugging Face datasets are saved
        for batch in arrow.ipc.open_stream(stream):
            yield from _cut_batch(batch)
        return
    reader = arrow.ipc.open_file(stream)
    for number in range(reader.num_record_batches):
        yield from _cut_batch(reader.get_batch(number))


def _cut_batch(batch: Any) -> Iterator[Any]:
    batch.validate(full=True)
    for start in range(0, batch.num_rows, _BATCH_ROWS):
        yield _rename_repeated(batch.slice(start, _BATCH_ROWS))


def _rename_repeated(batch: Any) -> Any:
    """Return a batch with unique column names; rows as mappings would lose columns of the same name."""
    names = batch.schema.names
    if len(set(names)) == len(names):
        return batch
    return batch.rename_columns(number_names(names)[0])


SAMPLE = 200  # rows from which names and roles are found
BLANK_ROWS = 10_000  # consecutive empty rows that end a sheet, which may be formatted far below its cells
_USUAL_WIDTH, _WIDEST = 1_000, 16_384  # columns
_LONGEST_MERGED = 60  # letters of a value that is copied to the cells merged with it
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"')
_PIECE = 1 << 20  # bytes read at a time


class Sheet(NamedTuple):
    """The sheet of a workbook that is read, and its first rows.

    Attributes
    ----------
    name : str
    others : tuple of str
        Sheets that are not read.
    rows : tuple of (int, list of str)
        Line and cells of the first rows, without empty ones.
    width : int
        Number of cells in the widest row.
    """

    name: str
    others: tuple[str, ...]
    rows: tuple[tuple[int, list[str]], ...]
    width: int


@packing.cache_until_changed
def look_at_workbook(path: Path) -> Sheet:
    """Return the sheet of a workbook that is read, and its first rows.

    Raises
    ------
    IngestError
        If the workbook is damaged.
    """
    with _open_workbook(path) as book:
        used = _find_used_sheet(book)
        name, others = used.title, tuple(sheet.title for sheet in book.worksheets if sheet.title != used.title)
    rows: list[tuple[int, list[str]]] = []
    for width in (_USUAL_WIDTH, _WIDEST):
        with closing(_read_sheet(path, width)) as sheet_rows:
            rows = list(islice(sheet_rows, SAMPLE + 1))
        if all(len(cells) < width for _, cells in rows):
            break
    return Sheet(name, others, tuple(rows), max((len(cells) for _, cells in rows), default=0))


def find_workbook_names(path: Path, options: ImportOptions) -> Names:
    """Return the names of the sheet's columns.

    Raises
    ------
    IngestError
        If it has no cells.
    """
    sheet = look_at_workbook(path)
    sample = [_fill_row(cells, sheet.width) for line, cells in sheet.rows if line > (options.skip_lines or 0)]
    if not sample:
        below = f" below its first {options.skip_lines} lines; lower --skip-lines" if options.skip_lines else ""
        raise IngestError(path, f"has no cells{below}" if below else "has no cells in any of its sheets; "
                          "give one with a row for each document")  # fmt: skip
    return read_names(sample, options)


def read_workbook_rows(path: Path, names: Names, options: ImportOptions) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and cells of every row below the names; short rows are filled with empty cells.

    Raises
    ------
    IngestError
        If a row is wider than the names, or the names of the file differ from those given.
    """
    width = len(names.names)
    rows = ((line, cells) for line, cells in _read_sheet(path, width + 1) if line > (options.skip_lines or 0))
    for number in range(names.body):
        line, cells = next(rows, (1, []))
        own_names = [cell.strip() for cell in _fill_row(cells, width)]
        if number == names.above and own_names != [cell.strip() for cell in names.line]:
            raise IngestError(path, "has other columns than the file before it; import them one by one", line)
    for line, cells in rows:
        if len(cells) > width:
            raise IngestError(path, f"has {len(cells)} cells or more, but there are {width} columns", line)
        yield line, _fill_row(cells, width)


def _fill_row(cells: list[str], width: int) -> list[str]:
    return cells + [""] * (width - len(cells))


def _find_used_sheet(book: Any) -> Any:
    """Return the first visible sheet that is not empty, or the first one."""
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
    return next(
        (sheet for sheet in visible if any(map(_is_filled, islice(_read_cells(sheet, _USUAL_WIDTH), BLANK_ROWS)))),
        visible[0],
    )


def _read_cells(sheet: Any, width: int) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # the declared size may be made to fill the memory
    yield from sheet.iter_rows(values_only=True, max_col=width)


def _is_filled(values: tuple[Any, ...]) -> bool:
    return any(value is not None and str(value).strip() for value in values)


def _read_sheet(path: Path, width: int) -> Generator[tuple[int, list[str]], None, None]:
    """Yield ``(line, cells)``, without empty lines and empty cells at the end of a line."""
    with _open_workbook(path) as book:
        used = _find_used_sheet(book)
        merged = _read_merges(path, used)
        n_blank = 0
        for line, values in enumerate(_read_cells(used, width), 1):
            if not _is_filled(values):
                n_blank += 1
                if n_blank > BLANK_ROWS:
                    return
                continue
            n_blank = 0
            cells = list(map(_write_cell, values))
            for merge in merged.get(line, ()):
                merge.fill(cells)
            while cells and not cells[-1]:
                cells.pop()
            yield line, cells


class _Merge:
    """Merged cells in a column, which share the value of the first one."""

    def __init__(self, column: int) -> None:
        self._column, self._value = column, ""

    def fill(self, cells: list[str]) -> None:
        """Store the value of a row, or fill an empty cell with the stored value if that is short."""
        if self._column >= len(cells):
            return
        if cells[self._column]:
            self._value = cells[self._column]
        elif len(self._value) <= _LONGEST_MERGED:
            cells[self._column] = self._value


def _read_merges(path: Path, sheet: Any) -> dict[int, list[_Merge]]:
    """Return the merged cells of columns, by each of their lines."""
    member = vars(sheet).get("_worksheet_path")  # sheets that are read row by row do not list merged cells
    merges: dict[int, list[_Merge]] = {}
    if member is None:
        return merges
    with packing.open_seekable(path) as stream, zipfile.ZipFile(stream) as archive, archive.open(member) as xml:
        rest = b""
        while chunk := xml.read(_PIECE):
            piece = rest + chunk
            for match in _MERGED.finditer(piece):
                first, last = int(match[2]), int(match[3])
                if 0 < last - first < 100_000:
                    merge = _Merge(_parse_column(match[1].decode()))
                    for line in range(first, last + 1):
                        merges.setdefault(line, []).append(merge)
            rest = piece[-64:] if b"<mergeCell " not in piece[-64:] else piece[piece.rindex(b"<mergeCell ") :][:64]
    return merges


def _parse_column(letters: str) -> int:
    """Return the index of a column, from 0.

    >>> _parse_column("A"), _parse_column("AB")
    (0, 27)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _write_cell(value: Any) -> str:
    """Return a cell as text: whole numbers without a decimal point, days without an hour."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


@contextmanager
def _open_workbook(path: Path) -> Iterator[Any]:
    """Open a workbook for reading row by row; refuse one that is damaged, too large or empty."""
    from openpyxl import load_workbook  # takes a while to import

    # Warnings about formatting that openpyxl does not support do not matter for texts.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    with packing.open_seekable(path) as stream, packing.refuse_damage(path, "Excel workbook", "save it again"):
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


WORKBOOKS = (".xlsx", ".xlsm")
ARROWS = (*PARQUET, *ARROW)


class Table(NamedTuple):
    """An opened table.

    Attributes
    ----------
    names : Names
        Names of the columns.
    rows : callable
        Yields the line and the cells of every row below the names, in this or another file with the same columns.
    understood : dict of str to str
        How it was read, apart from the encoding.
    notes, doubts : list of str
        Sentences about how it was read, and about guesses apart from the names.
    encoded : bool
        Whether it is a text file, whose encoding may be a guess.
    """

    names: Names
    rows: Callable[[Path], Iterator[tuple[int, list[str]]]]
    understood: dict[str, str]
    notes: list[str]
    doubts: list[str]
    encoded: bool = False

    def records(self, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the line of every row of a file, and its cells by column."""
        for line, row in self.rows(path):
            yield line, dict(zip(self.names.names, row, strict=True))

    def guesses(self, *, texts: bool) -> list[str]:
        """Return sentences about guesses; names in the first line of a table of counts are not a guess."""
        return ([self.names.guess] if self.names.guess and (texts or self.names.above) else []) + self.doubts


def open_table(path: Path, options: ImportOptions, kind: str = "") -> Table:
    """Open the table in a file.

    Parameters
    ----------
    path : Path
    options : ImportOptions
    kind : str
        The ending that selects the format; by default that of the file.

    Raises
    ------
    IngestError
        If it cannot be read.
    """
    kind = kind or packing.find_suffix(path)
    if kind in WORKBOOKS:
        names = find_workbook_names(path, options)
        understood = {"sheet": look_at_workbook(path).name, "header": names.understood}
        return Table(names, lambda file: read_workbook_rows(file, names, options), understood, list(names.notes), [])
    if kind in ARROWS:
        first_records = look_at_arrow(path)
        if not first_records:
            raise IngestError(path, "has no rows; give a table with a row for each document")
        return Table(Names(tuple(first_records[0]), header=True), _read_arrow_rows, {}, [], [])
    layout = find_layout(path, options)
    return Table(
        layout.names,
        lambda file: read_rows(file, layout, options),
        layout.describe(),
        layout.list_notes(),
        layout.list_doubts(),
        encoded=True,
    )


def _read_arrow_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, record in read_arrow_rows(path):
        yield number, list(map(as_text, record.values()))
