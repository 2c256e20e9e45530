"""Tables of counts: .csv and .tsv whose lines are ``row, column, count``, such as user, item and count."""

import csv
import re
from array import array
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from app.ingest import files, sparse
from app.ingest.cells import ADVICE, of_lines, rows, writing
from app.ingest.errors import IngestError
from app.ingest.headers import is_number
from app.ingest.marks import encoding_of
from app.ingest.options import ImportOptions
from app.ingest.parsing import MOST_TOKENS
from app.ingest.source import CountSource
from app.ingest.words import storable
from engine.contract import Counts

NAME = "triples"
DESCRIPTION = "table of counts: NAME.csv or NAME.tsv (.gz) with the columns row, column, count (or user, item, count)"
ACCEPTS = ("header", "separator", "quote")

# fmt: off
_ROWS = (
    "row", "user", "customer", "reader", "listener", "person", "visitor", "basket", "session", "document", "doc",
    "sample", "patient",
)
_COLUMNS = (
    "column", "col", "item", "product", "movie", "song", "artist", "track", "book", "paper", "word", "term", "token",
    "feature",
)
_COUNTS = (
    "count", "counts", "n", "number", "freq", "frequency", "quantity", "plays", "clicks", "views", "purchases", "times",
    "tf",
)
# fmt: on
_ID = re.compile(r"[ _-]?(?:id|name|number|no)?$")
_WHOLE = re.compile(r"\+?([0-9]{1,18})(?:\.0*)?")
_LOOKED_AT = 20  # lines from which a format is recognised
_CELLS = 3


class _Places(NamedTuple):
    """Where in a line the three cells stand."""

    row: int
    column: int
    value: int


class _Cells:
    """The cells of a table, as they are read."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.columns: dict[str, int] = {}
        self.owners, self.words, self.counts = array("q"), array("q"), array("q")


def recognises(path: Path) -> bool:
    """A line of three known names, above lines whose third of these is a number; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    if files.suffix(path) not in (".csv", ".tsv"):
        return False
    raw = files.start(path)
    lines = raw.decode(encoding_of(raw, "utf-8"), "replace").removeprefix("\ufeff").splitlines()
    first = [line for line in lines if line.strip()][: _LOOKED_AT + 1]
    if not first:
        return False
    try:
        how = of_lines([f"{line}\n" for line in first], path, whole=False)
        table = list(csv.reader(first, delimiter=how.delimiter, quotechar=how.quote))
    except csv.Error:
        return False
    places = _named(table[0])
    if places is None:
        return False
    numbers = [len(cells) == _CELLS and is_number(cells[places.value]) for cells in table[1:]]
    return 2 * sum(numbers) > len(numbers)


def _named(cells: Sequence[str]) -> _Places | None:
    """The places of row, column and count in a line of three names, in any order; None where it is no such line."""
    if len(cells) != _CELLS:
        return None
    known = (_ROWS, _COLUMNS, _COUNTS)
    found = [[place for place, cell in enumerate(cells) if _is_one_of(cell, names)] for names in known]
    return _Places(*(each[0] for each in found)) if all(len(each) == 1 for each in found) else None


def _is_one_of(cell: str, names: Sequence[str]) -> bool:
    name = cell.strip().lower()
    return name in names or _ID.sub("", name) in names


def read(path: Path, options: ImportOptions) -> CountSource:
    """The rows as documents, the columns as words, both in the order in which they come first; repeats add up."""
    parts = files.parts(path, recognises, "table of counts")
    cells = _Cells()
    sizes: list[int] = []
    for each in parts:
        _read_part(each.path, options, cells, sum(sizes))
        sizes.append(len(cells.rows) - sum(sizes))
    if not cells.rows:
        raise IngestError(parts[0].path, "has no counts below its line of column names")
    counts = _counts(cells, parts[0].path)
    part, _ = files.split_and_titles(parts, sizes)
    titles, none = list(cells.rows), np.full(len(cells.rows), -1, np.int32)
    return CountSource(
        where=str(path),
        vocabulary=tuple(cells.columns),
        blocks=lambda: sparse.blocks(counts, labels=none, titles=titles),
        n_documents=len(titles),
        part=part,
        notes=files.guesses([each.path for each in parts], options.encoding),
        understood=files.understood(parts[0].path, options.encoding) | writing(parts[0].path, options).understood(),
    )


def _counts(cells: _Cells, where: Path) -> Counts:
    """Row by row, whatever the order of the lines."""
    owners, words, values = (np.frombuffer(each, np.int64) for each in (cells.owners, cells.words, cells.counts))
    order = np.argsort(owners, kind="stable")
    lengths = np.bincount(owners, minlength=len(cells.rows))
    return sparse.tidy(Counts.of(lengths, words[order], values[order]), len(cells.columns), where)


def _read_part(path: Path, options: ImportOptions, cells: _Cells, before: int) -> None:
    """Add the lines of a file; its rows are others than the ``before`` first ones, which are of another file."""
    how = writing(path, options)
    first = next(cells for _, cells in rows(path, how, options.encoding))
    places, header = _places(first, options.header)
    for line, row in islice(rows(path, how, options.encoding), int(header), None):
        if len(row) != _CELLS:
            cause = (
                f"has {len(row)} cells where row, column and count should be, separated by {how.separator}; {ADVICE}"
            )
            raise IngestError(path, cause, line)
        owner = cells.rows.setdefault(_name(row[places.row], "row", path, line), len(cells.rows))
        if owner < before:
            name = row[places.row].strip()[:40]
            cause = f"the row {name!r} is in the training file too, and is either of the training or of the test"
            raise IngestError(path, cause, line)
        cells.owners.append(owner)
        column = _name(row[places.column], "column", path, line)
        cells.words.append(cells.columns.setdefault(column, len(cells.columns)))
        cells.counts.append(_count(row[places.value], path, line))


def _places(first: Sequence[str], header: str) -> tuple[_Places, bool]:
    """Where the cells stand, by their names or else in the usual order; and whether the first line has names."""
    usual = _Places(0, 1, 2)
    named = _named(first) if header != "no" else None
    if header != "auto":
        return named or usual, header == "yes"
    return named or usual, named is not None or (len(first) == _CELLS and not is_number(first[usual.value]))


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
