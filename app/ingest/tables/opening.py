"""Opening of tables of any kind: separated cells, workbooks, Parquet or Arrow."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables import sheets
from topiary.app.ingest.tables.cells import find_layout, read_rows
from topiary.app.ingest.tables.headers import Names
from topiary.app.ingest.tables.values import as_text

WORKBOOKS = (".xlsx", ".xlsm")
ARROWS = (*sheets.PARQUET, *sheets.ARROW)


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
    kind = kind or files.find_suffix(path)
    if kind in WORKBOOKS:
        names = sheets.find_workbook_names(path, options)
        understood = {"sheet": sheets.look_at_workbook(path).name, "header": names.understood}
        return Table(
            names, lambda file: sheets.read_workbook_rows(file, names, options), understood, list(names.notes), []
        )
    if kind in ARROWS:
        first_records = sheets.look_at_arrow(path)
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
    for number, record in sheets.read_arrow_rows(path):
        yield number, list(map(as_text, record.values()))
