"""Tables of counts: .csv and .tsv whose lines are ``row, column, count``, such as user, item and count."""

import re
from array import array
from itertools import islice
from pathlib import Path

import numpy as np

from app.ingest import count_tables, files, sparse, tables
from app.ingest.count_tables import Places
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.parsing import MOST_TOKENS
from app.ingest.source import CountSource
from app.ingest.tables import Table
from app.ingest.words import storable
from engine.contract import Counts

NAME = "triples"
DESCRIPTION = (
    "table of counts: NAME.csv, .tsv (.gz), .xlsx or .parquet with the columns row, column, count (or user, item, "
    "count; or document, word, n, as tidytext and quanteda write them)"
)
ACCEPTS = ("header", "skip_lines", "separator", "quote")

_WHOLE = re.compile(r"\+?([0-9]{1,18})(?:\.0*)?")
_SAMPLE = 60  # rows by which columns are known
_CELLS = 3


class _Cells:
    """The cells of a table, as they are read."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.columns: dict[str, int] = {}
        self.owners, self.words, self.counts = array("q"), array("q"), array("q")


def recognises(path: Path) -> bool:
    """Return whether known names stand above documents, words and counts; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, _belongs))
    return isinstance(tables.find_counts(path), Places)


def _belongs(path: Path) -> bool:
    """Return whether a file of a folder is a table of counts; the .txt of a folder are texts."""
    return files.suffix(path) != ".txt" and recognises(path)


def read(path: Path, options: ImportOptions) -> CountSource:
    """The rows as documents, the columns as words, both in the order in which they come first; repeats add up."""
    parts = files.parts(path, _belongs, "table of counts")
    first = parts[0].path
    table = tables.open_table(first, options)
    places = _places(first, table, options)
    cells = _Cells()
    sizes: list[int] = []
    for each in parts:
        _read_part(each.path, table, places, cells, sum(sizes))
        sizes.append(len(cells.rows) - sum(sizes))
    if not cells.rows:
        raise IngestError(first, "has no counts below its line of column names")
    counts = _counts(cells, first)
    part, _ = files.split_and_titles(parts, sizes)
    titles, none = list(cells.rows), np.full(len(cells.rows), -1, np.int32)
    return CountSource(
        where=str(path),
        vocabulary=tuple(cells.columns),
        blocks=lambda: sparse.blocks(counts, labels=none, titles=titles),
        n_documents=len(titles),
        part=part,
        notes=[*table.notes, *_left_out(table, places)],
        understood=table.report(),
    )


def _left_out(table: Table, places: Places) -> list[str]:
    """Return a note about columns that are neither document nor word nor count."""
    named = [repr(table.names[place]) for place in places.others if not table.names[place].startswith("column ")]
    used = [table.names[place] for place in (places.row, places.column, places.value) if place is not None]
    left_out = f"; left out: {', '.join(named)[:80]}" if named else ""
    if places.value is None:
        return [f"each row is a word once, in the columns {used[0]!r} and {used[1]!r}{left_out}"]
    return [f"counts are those of {used[0]!r}, {used[1]!r} and {used[2]!r}{left_out}"] if named else []


def _counts(cells: _Cells, where: Path) -> Counts:
    """Row by row, whatever the order of the lines."""
    owners, words, values = (np.frombuffer(each, np.int64) for each in (cells.owners, cells.words, cells.counts))
    order = np.argsort(owners, kind="stable")
    lengths = np.bincount(owners, minlength=len(cells.rows))
    return sparse.tidy(Counts.of(lengths, words[order], values[order]), len(cells.columns), where)


def _read_part(path: Path, table: Table, places: Places, cells: _Cells, before: int) -> None:
    """Add the lines of a file; its rows are others than the ``before`` first ones, which are of another file."""
    for line, row in table.rows(path):
        owner = cells.rows.setdefault(_name(row[places.row], "row", path, line), len(cells.rows))
        if owner < before:
            name = row[places.row].strip()[:40]
            cause = f"the row {name!r} is in the training file too, and is either of the training or of the test"
            raise IngestError(path, cause, line)
        cells.owners.append(owner)
        column = _name(row[places.column], "column", path, line)
        cells.words.append(cells.columns.setdefault(column, len(cells.columns)))
        cells.counts.append(1 if places.value is None else _count(row[places.value], path, line))


def _places(path: Path, table: Table, options: ImportOptions) -> Places:
    """Return where the cells are in a row, by the names of the columns or else in the usual order."""
    sample = [row for _, row in islice(table.rows(path), _SAMPLE)]
    found = count_tables.find_places(table.names, sample) if options.header != "no" else None
    if found is None and len(table.names) != _CELLS:
        cause = f"has {len(table.names)} columns where row, column and count should be"
        raise IngestError(path, f"{cause}; name them row, column and count, or say how cells are separated", 1)
    return found or Places(0, 1, 2)


def _name(cell: str, what: str, path: Path, line: int) -> str:
    name = storable(" ".join(cell.split()))
    if not name:
        raise IngestError(path, f"the {what} has no name", line)
    return name


def _count(cell: str, path: Path, line: int) -> int:
    whole = _WHOLE.fullmatch(cell.strip())
    if whole is None:
        raise IngestError(path, f"the count {cell.strip()[:40]!r} is not a whole number from 0 on", line)
    if int(whole[1]) > MOST_TOKENS:
        raise IngestError(path, f"the count {cell.strip()} is more than {MOST_TOKENS:,}, the most of a row", line)
    return int(whole[1])
