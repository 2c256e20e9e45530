"""Excel workbooks: the first sheet with cells is a table of texts, one document a row."""

import warnings
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from app.ingest import columns, fields, files, packed
from app.ingest.columns import Names
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "xlsx"
DESCRIPTION = "Excel: NAME.xlsx, one document a row of its first sheet, columns as in csv"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "header", "token_pattern")

_SAMPLE = 200
_WIDEST = 1_000  # columns; a sheet of more is formatted beyond its cells, or no table
_BLANK_ROWS = 10_000  # in a row, after which a sheet is over: one may be formatted to its last row


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it, but those that Excel keeps while it is open."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".xlsx", ".xlsm") and not path.name.startswith("~$")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows as documents; words of the title count too."""
    parts = files.parts(path, recognises, "xlsx", several=True)
    first = parts[0].path
    with closing(_rows(first)) as rows:
        sample = [cells for _, cells in islice(rows, _SAMPLE + 1)]
    if not sample:
        raise IngestError(first, "has no cells in any of its sheets; give one with a row for each document")
    width = max(map(len, sample))
    layout = columns.names_of([_filled_up(cells, width) for cells in sample], options, first)
    records = [record for _, record in islice(_records(first, layout), _SAMPLE)]
    if not records:
        raise IngestError(first, "has no documents below its line of column names; add rows, or use --header no")
    roles = fields.find_roles(records, options, first, named=layout.header)
    source = fields.source(
        path, parts, roles, lambda file: _records(file, layout), options, header=layout.header, encoded=False
    )
    used, others = _sheets(first)
    source.understood.update({"sheet": used, "header": "the first line" if layout.header else "none"})
    if others:
        source.notes.append(f"only the sheet {used!r} is read; the others ({', '.join(others)[:80]}) are left out")
    return source


def _records(path: Path, layout: Names) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells by column of every row; a row that ends early has empty cells."""
    found = _rows(path)
    if layout.header:
        line, cells = next(found, (1, []))
        if columns.called(_filled_up(cells, len(layout.names))) != layout.names:
            raise IngestError(path, "has other columns than the file before it; import them one by one", line)
    width = len(layout.names)
    for line, cells in found:
        if len(cells) > width:
            raise IngestError(path, f"has {len(cells)} cells, but there are {width} columns", line)
        yield line, dict(zip(layout.names, _filled_up(cells, width), strict=True))


def _filled_up(cells: list[str], width: int) -> list[str]:
    return cells + [""] * (width - len(cells))


def _sheets(path: Path) -> tuple[str, list[str]]:
    with _opened(path) as book:
        names = [sheet.title for sheet in book.worksheets]
        used = _used(book)
        return used.title, [name for name in names if name != used.title]


def _used(book: Any) -> Any:
    """The first sheet that people see and that has a cell with something in it."""
    shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
    return next((sheet for sheet in shown if any(map(_filled, islice(_values(sheet), _BLANK_ROWS)))), shown[0])


def _values(sheet: Any) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # what a sheet says of its size may be made to fill the memory
    yield from sheet.iter_rows(values_only=True, max_col=_WIDEST)


def _filled(values: tuple[Any, ...]) -> bool:
    return any(value is not None and str(value).strip() for value in values)


def _rows(path: Path) -> Generator[tuple[int, list[str]], None, None]:
    """``(line, cells)``, lines of nothing left out, and empty cells at the end of a line."""
    with _opened(path) as book:
        blank = 0
        for line, values in enumerate(_values(_used(book)), 1):
            if not _filled(values):
                blank += 1
                if blank > _BLANK_ROWS:
                    return
                continue
            blank = 0
            cells = list(map(_text, values))
            while cells and not cells[-1]:
                cells.pop()
            yield line, cells


def _text(value: Any) -> str:
    """A cell as people see it: whole numbers without a point, days without an hour."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        cause = "is an Excel workbook, which needs one more package to be read"
        raise IngestError(path, f"{cause}: pip install 'topiary[xlsx]', or save it as .csv") from None
    # What of its looks is not understood is no matter for texts.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    with files.seekable(path) as stream:
        try:
            _check_size(path, stream)
            book = load_workbook(stream, read_only=True, data_only=True)
            if not book.worksheets:
                raise IngestError(path, "has no sheet with cells")
            yield book
        except (IngestError, MemoryError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
            said = " ".join(str(error).split())[:120] or type(error).__name__
            raise IngestError(path, f"is no sound Excel workbook ({said}); save it again") from None


def _check_size(path: Path, stream: Any) -> None:
    with zipfile.ZipFile(stream) as archive:
        total = sum(info.file_size for info in archive.infolist())
    if total > packed.most_bytes(path.stat().st_size):
        raise IngestError(path, "unpacks to far more than a workbook of its size should; save it as .csv")
    stream.seek(0)
