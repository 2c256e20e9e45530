"""Document-term matrices as tables: a document in each row, a word in each column, a count in each cell."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from app.ingest import beside, count_tables, files, sparse, tables
from app.ingest.count_tables import Matrix
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource, Rows
from app.ingest.tables import Table
from app.ingest.values import is_missing
from app.ingest.words import storable
from engine.contract import Counts

NAME = "dtm"
DESCRIPTION = (
    "document-term matrix: NAME.csv, .tsv, .xlsx or .parquet with a document in each row and a word in each column, as "
    "scikit-learn, quanteda and tm write them"
)
ACCEPTS = ("header", "skip_lines", "separator", "quote")

_SAMPLE = 50  # rows by which columns are known
_ZERO = frozenset(("", "0", "0.0", "0.00"))
_LARGEST = 2.0**31


class _Cells:
    """The counts of a matrix, and what else its rows have, as they are read."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.lengths: list[int] = []
        self.places, self.values = array("q"), array("d")
        self.titles: list[str] = []
        self.labels: list[str | None] = []
        self.columns: list[dict[str, str]] = []


def recognises(path: Path) -> bool:
    """By the names of the columns and the numbers below them; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, _belongs))
    return isinstance(tables.find_counts(path), Matrix)


def _belongs(path: Path) -> bool:
    """Return whether a file of a folder is a matrix; the .txt of a folder are texts."""
    return files.suffix(path) != ".txt" and recognises(path)


def read(path: Path, options: ImportOptions) -> CountSource:
    """Read the rows as documents; a matrix of words x documents is turned round."""
    parts = files.parts(path, _belongs, "document-term matrix")
    first = parts[0].path
    table = tables.open_table(first, options)
    sample = [row for _, row in islice(table.rows(first), _SAMPLE)]
    if not sample:
        raise IngestError(first, "has no counts below its line of column names")
    matrix = count_tables.find_matrix(table.names, sample) or count_tables.take_matrix(table.names, sample)
    if not matrix.counts:
        raise IngestError(first, "has no column of counts: numbers from 0 on below the name of a word")
    cells, sizes = _Cells(), []
    for each in parts:
        before = len(cells.titles)
        (_read_turned if matrix.turned else _read_part)(each.path, table, matrix, cells)
        sizes.append(len(cells.titles) - before)
    part, titles = files.split_and_titles(parts, sizes)
    labels, label_names = beside.encode(cells.labels, {})
    values = np.frombuffer(cells.values, np.float64) if cells.values else np.empty(0)
    whole = sparse.is_whole(values)
    lengths, words = np.array(cells.lengths, np.int64), np.array(cells.places, np.int64)
    counts = Counts.of(lengths, words, values.astype(np.int64) if whole else values)
    counts = sparse.tidy(counts, len(cells.words), first, whole=whole)
    titles = [own or title for own, title in zip(cells.titles, titles, strict=True)]
    return CountSource(
        where=str(path),
        vocabulary=tuple(cells.words),
        blocks=lambda: _add_columns(sparse.blocks(counts, labels=labels, titles=titles), cells.columns),
        n_documents=len(titles),
        label_names=label_names,
        kind="counts" if whole else "real",
        part=part,
        notes=table.notes,
        understood=_report_table(table, matrix, options),
    )


def _report_table(table: Table, matrix: Matrix, options: ImportOptions) -> dict[str, str]:
    """Return how the table was read, as a report says it."""
    if options.format is None:
        table.guesses.append(
            "the names of columns are taken for words, and numbers below for counts (change it with --format csv)"
        )
    return table.report() | _describe_columns(table, matrix)


def _describe_columns(table: Table, matrix: Matrix) -> dict[str, str]:
    """Return what the columns were taken for."""
    if matrix.turned and matrix.title is not None:
        return {"words": f"the rows, by the column {table.names[matrix.title]!r}; the columns are the documents"}
    found = {"words": f"the names of {len(matrix.counts):,} columns"}
    if matrix.title is not None:
        found["titles"] = f"in the column {table.names[matrix.title]!r}"
    if matrix.label is not None:
        found["classes"] = f"in the column {table.names[matrix.label]!r}"
    return found


def _add_columns(blocks: Iterator[Rows], columns: Sequence[dict[str, str]]) -> Iterator[Rows]:
    for rows, begin in sparse.numbered(blocks):
        yield rows._replace(columns=list(columns[begin : begin + len(rows.labels)]))


def _read_part(path: Path, table: Table, matrix: Matrix, cells: _Cells) -> None:
    """Add the rows of a file as documents."""
    numbers = [
        cells.words.setdefault(_read_word(table.names[place], path, 1), len(cells.words)) for place in matrix.counts
    ]
    places = list(zip(matrix.counts, numbers, strict=True))
    for line, row in table.rows(path):
        found = [(number, row[place]) for place, number in places if row[place] not in _ZERO]
        _add_document(found, cells, path, line)
        label = "" if matrix.label is None else row[matrix.label].strip()
        cells.labels.append(None if not label or is_missing(label) else label)
        cells.titles.append("" if matrix.title is None else storable(" ".join(row[matrix.title].split())))
        cells.columns.append({table.names[place]: row[place] for place in matrix.others})


def _read_turned(path: Path, table: Table, matrix: Matrix, cells: _Cells) -> None:
    """Add the columns of a file as documents; its rows are words."""
    documents: list[list[tuple[int, str]]] = [[] for _ in matrix.counts]
    lines: list[int] = []
    for line, row in table.rows(path):
        number = cells.words.setdefault(_read_word(row[matrix.title or 0], path, line), len(cells.words))
        lines.append(line)
        for document, place in zip(documents, matrix.counts, strict=True):
            if row[place] not in _ZERO:
                document.append((number, row[place]))
    for document, place in zip(documents, matrix.counts, strict=True):
        _add_document(document, cells, path, None)
        cells.labels.append(None)
        cells.titles.append(storable(table.names[place]))
        cells.columns.append({})


def _add_document(found: Sequence[tuple[int, str]], cells: _Cells, path: Path, line: int | None) -> None:
    before = len(cells.values)
    for number, cell in found:
        value = _read_count(cell, path, line)
        if value:
            cells.places.append(number)
            cells.values.append(value)
    cells.lengths.append(len(cells.values) - before)


def _read_word(name: str, path: Path, line: int) -> str:
    word = storable(" ".join(name.split()))
    if not word:
        raise IngestError(path, "a column of counts has no name, which is its word", line)
    return word


def _read_count(cell: str, path: Path, line: int | None) -> float:
    try:
        value = float(cell) if cell.strip() else 0.0
    except ValueError:
        value = -1.0
    if not 0 <= value < _LARGEST:
        raise IngestError(path, f"the count {cell.strip()[:40]!r} is not a number from 0 to 2,147,483,647", line)
    return value
