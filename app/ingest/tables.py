"""Tables of any kind of file, row by row: what counts are read from, and which are counts and not texts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.ingest import arrow_files, count_tables, files, separated, workbooks
from app.ingest.count_tables import Matrix, Places
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import GUESS
from app.ingest.values import as_text

WORKBOOKS = (".xlsx", ".xlsm")
_ARROWS = (*arrow_files.PARQUET, *arrow_files.ARROW)


class Table(NamedTuple):
    """A table as it is read.

    Attributes
    ----------
    names : tuple of str
        Of its columns.
    rows : callable
        Gives the line and the cells of every row below the names; also of another file with the same columns.
    understood : dict of str to str
    notes, guesses : list of str
        As of a source.
    """

    names: tuple[str, ...]
    rows: Callable[[Path], Iterator[tuple[int, list[str]]]]
    understood: dict[str, str]
    notes: list[str]
    guesses: list[str]

    def report(self) -> dict[str, str]:
        """Return how it was read, for the user."""
        return ({GUESS: "; ".join(self.guesses)} if self.guesses else {}) | self.understood


def open_table(path: Path, options: ImportOptions) -> Table:
    """Return the table in a file.

    Raises
    ------
    IngestError
        When it cannot be read.
    """
    kind = files.suffix(path)
    if kind in WORKBOOKS:
        named = workbooks.find_names(path, options)
        sheet = workbooks.look_at(path)
        return Table(
            named.names,
            lambda file: workbooks.read_rows(file, named, options),
            {"sheet": sheet.name, "header": named.understood},
            list(named.notes),
            [named.guess] if named.above else [],
        )
    if kind in _ARROWS:
        first = arrow_files.look_at(path)
        if not first:
            raise IngestError(path, "has no rows; give a table with a row for each document")
        return Table(tuple(first[0]), _read_arrow_rows, {}, [], [])
    layout = separated.find_layout(path, options)
    return Table(
        layout.names.names,
        lambda file: separated.read_rows(file, layout, options),
        files.understood(path, options.encoding) | layout.understood(),
        [*files.guesses([path], options.encoding), *layout.notes()],
        layout.guesses(texts=False),
    )


def is_table(path: Path) -> bool:
    """Return whether a file is a table by its name, or a .txt by its first lines."""
    if path.name.startswith("~$"):  # of Excel, while a workbook is open
        return False
    return files.suffix(path) in (*WORKBOOKS, *_ARROWS) or separated.is_separated(path)


def find_counts(path: Path) -> Matrix | Places | None:
    """Return how a table is one of counts of words; None for a table of texts, and for what cannot be read."""
    if not is_table(path):
        return None
    try:
        names, rows = _read_beginning(path)
    except IngestError:
        return None
    if len(names) < _CELLS:
        return None
    return count_tables.find_places(names, rows) or count_tables.find_matrix(names, rows)


_CELLS = 3  # columns of a table of counts


def _read_beginning(path: Path) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the names of the columns and the first rows below them; none where it has no names."""
    kind = files.suffix(path)
    if kind in WORKBOOKS:
        named = workbooks.find_names(path, ImportOptions())
        sheet = workbooks.look_at(path)
        width = len(named.names)
        rows = [cells + [""] * (width - len(cells)) for _, cells in sheet.rows[named.body :]]
        return (named.names, rows) if named.header else ((), [])
    if kind in _ARROWS:
        first = arrow_files.look_at(path)
        names = tuple(first[0]) if first else ()
        return names, [[as_text(record[name]) for name in names] for record in first]
    found = separated.look_at(path)
    if found is None or not found.layout.names.header:
        return (), []
    return found.layout.names.names, [list(row) for row in found.rows]


def _read_arrow_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, record in arrow_files.records(path):
        yield number, list(map(as_text, record.values()))
