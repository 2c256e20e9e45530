"""Open a table of any kind: separated cells, a workbook, Parquet or Arrow."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.tables import sheets
from app.ingest.tables.cells import find_layout, read_rows
from app.ingest.tables.headers import Names
from app.ingest.tables.values import as_text

WORKBOOKS = (".xlsx", ".xlsm")
ARROWS = (*sheets.PARQUET, *sheets.ARROW)


class Table(NamedTuple):
    """A table as it is read.

    Attributes
    ----------
    names : Names
        Those of its columns.
    rows : callable
        Gives the line and the cells of every row below the names; also of another file with the same columns.
    understood : dict of str to str
        How it was read, apart from its encoding.
    notes, doubts : list of str
        What was made of it, and what of that is a guess apart from the names, in sentences.
    encoded : bool
        Whether it is text, in an encoding that may be a guess.
    """

    names: Names
    rows: Callable[[Path], Iterator[tuple[int, list[str]]]]
    understood: dict[str, str]
    notes: list[str]
    doubts: list[str]
    encoded: bool = False

    def records(self, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield line and cells by column of every row of a file."""
        for line, row in self.rows(path):
            yield line, dict(zip(self.names.names, row, strict=True))

    def guesses(self, *, texts: bool) -> list[str]:
        """Return what of it is a guess; of a table of counts it is known by its names that it has some."""
        return ([self.names.guess] if self.names.guess and (texts or self.names.above) else []) + self.doubts


def open_table(path: Path, options: ImportOptions, kind: str = "") -> Table:
    """Return the table in a file.

    Parameters
    ----------
    path : Path
    options : ImportOptions
    kind : str
        The ending by which it is read; by default its own.

    Raises
    ------
    IngestError
        When it cannot be read.
    """
    kind = kind or files.find_suffix(path)
    if kind in WORKBOOKS:
        names = sheets.find_workbook_names(path, options)
        understood = {"sheet": sheets.look_at_workbook(path).name, "header": names.understood}
        return Table(
            names, lambda file: sheets.read_workbook_rows(file, names, options), understood, list(names.notes), []
        )
    if kind in ARROWS:
        first = sheets.look_at_arrow(path)
        if not first:
            raise IngestError(path, "has no rows; give a table with a row for each document")
        return Table(Names(tuple(first[0]), header=True), _read_arrow_rows, {}, [], [])
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
    for number, record in sheets.read_arrow_rows(path):
        yield number, list(map(as_text, record.values()))
