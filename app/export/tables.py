"""Tables as files: CSV, Excel and Parquet, written piece by piece, so that large tables need little memory."""

import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_string_dtype

from topiary.app.analysis.errors import ReadError
from topiary.app.export.texts import find_format, guard_cell

MOST_CELLS = 5_000_000  # of an Excel file: more take minutes to write and gigabytes to open
MOST_ROWS = 1_048_575  # of an Excel sheet, below the header


class ExportTable(NamedTuple):
    """A table for a file or for pandas.

    Attributes
    ----------
    name : str
        Name of the table, such as "topics"; the name of the sheet in Excel.
    frames : iterable of DataFrame
        Consecutive rows, at least one frame; all have the same columns.
    """

    name: str
    frames: Iterable[pd.DataFrame]

    def join(self) -> pd.DataFrame:
        """Return the whole table as one frame."""
        return pd.concat(self.frames, ignore_index=True)


def write_table(table: ExportTable, path: str | Path, report: Callable[[int], None] = lambda _: None) -> Path:
    """Write a table to a file in the format named by its suffix: ``.csv``, ``.xlsx`` or ``.parquet``.

    Parameters
    ----------
    path : str or Path
    report : (rows) -> None
        Called with the number of rows written so far.

    Raises
    ------
    ReadError
        If the suffix names no known format, the table is too large for Excel, or a package is missing.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    form = find_format(path, _WRITERS, f"a table as {path.name!r}")
    _WRITERS[form](table, path, _count_rows(table.frames, report))
    return path


def _count_rows(frames: Iterable[pd.DataFrame], report: Callable[[int], None]) -> Iterator[pd.DataFrame]:
    """Yield frames, and report the number of rows after each."""
    rows = 0
    for frame in frames:
        yield frame
        rows += len(frame)
        report(rows)


def _write_csv(_: ExportTable, path: Path, frames: Iterator[pd.DataFrame]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, frame in enumerate(frames):
            if number == 0:
                writer.writerow(frame.columns)
            writer.writerows(zip(*_list_cells(_guard_texts(frame)), strict=True))


def _list_cells(frame: pd.DataFrame) -> list[list[Any]]:
    """Return the cells of every column, with numbers as the texts that pandas would write.

    An equal number is turned into a text once, because tables of shares have few different numbers in many cells.
    """
    texts: dict[str, list[str]] = {}
    for kind in {kind for kind in frame.dtypes if isinstance(kind, np.dtype) and kind.kind == "f"}:
        names = [name for name in frame.columns if frame[name].dtype == kind]
        codes, numbers = pd.factorize(frame[names].to_numpy().ravel(), use_na_sentinel=False)
        written = np.where(np.isnan(numbers), "", numbers.astype(str)).astype(object)
        texts |= zip(names, written[codes].reshape(len(frame), len(names)).T.tolist(), strict=True)
    others = frame[[name for name in frame.columns if name not in texts]]
    plain = others.astype(object).where(others.notna(), None)
    return [texts[name] if name in texts else plain[name].tolist() for name in frame.columns]


def _write_excel(table: ExportTable, path: Path, frames: Iterator[pd.DataFrame]) -> None:
    from openpyxl import Workbook  # takes a while to import

    book = Workbook(write_only=True)
    sheet = book.create_sheet(table.name[:31])
    rows = 0
    for frame in frames:
        if not rows:
            sheet.append(list(map(str, frame.columns)))
        rows += len(frame)
        if rows > MOST_ROWS or rows * frame.shape[1] > MOST_CELLS:
            sheet.close()
            raise ReadError(
                f"the table {table.name} has more than {min(MOST_ROWS, MOST_CELLS // frame.shape[1]):,} rows, which is "
                "too much for Excel; write it as .csv or .parquet"
            )
        plain = _guard_texts(frame).astype(object).where(frame.notna(), None)
        for row in plain.itertuples(index=False, name=None):
            sheet.append(list(map(_convert_cell, row)))
    book.save(path)


def _convert_cell(value: Any) -> Any:
    """Return a value that openpyxl writes: numpy's scalars as Python's, times without their zone."""
    value = value.item() if hasattr(value, "item") else value
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value


def _write_parquet(_: ExportTable, path: Path, frames: Iterator[pd.DataFrame]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ReadError("Parquet files need pyarrow: pip install 'topiary-explorer[parquet]'") from error
    first = next(frames)
    schema = pa.Schema.from_pandas(first, preserve_index=False)
    with pq.ParquetWriter(path, schema) as writer:
        for frame in chain((first,), frames):
            writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))


def _guard_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts a spreadsheet does not run as formulas."""
    texts = {name: frame[name].map(guard_cell) for name in frame.columns if is_string_dtype(frame[name].dtype)}
    return frame.assign(**texts) if texts else frame


_WRITERS: dict[str, Callable[[ExportTable, Path, Iterator[pd.DataFrame]], None]] = {
    "csv": _write_csv,
    "xlsx": _write_excel,
    "parquet": _write_parquet,
}  # by file suffix
