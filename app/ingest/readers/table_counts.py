"""Readers of tables of counts: a word in each column, or a document, a word and a count in each row."""

import re
from array import array
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import count_tables, matrices
from topiary.app.ingest.readers.count_tables import Matrix, Places
from topiary.app.ingest.readers.matrices import MOST_TOKENS
from topiary.app.ingest.source import GUESS, CountSource, Reader
from topiary.app.ingest.tables import joining
from topiary.app.ingest.tables.opening import Table, open_table
from topiary.app.ingest.tables.values import is_missing
from topiary.app.ingest.text.cleaning import make_storable
from topiary.engine.contract import Counts

_DTM_SAMPLE = 50  # rows from which the columns are found
_ZEROS = frozenset(("", "0", "0.0", "0.00"))
_LARGEST = 2.0**31  # exclusive bound of a count


class _MatrixCells:
    """The counts of a matrix and the other columns of its documents, collected while files are read."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.lengths: list[int] = []
        self.places, self.values = array("q"), array("d")
        self.titles: list[str] = []
        self.labels: list[str | None] = []
        self.columns: list[dict[str, str]] = []


def _is_matrix(path: Path) -> bool:
    """Return whether a file is a document-term matrix, by the names of its columns and the numbers below them."""
    return isinstance(count_tables.find_counts(path), Matrix)


def _belongs_to_matrices(path: Path) -> bool:
    """Return whether a file in a folder is a matrix; .txt files in a folder are texts."""
    return files.find_suffix(path) != ".txt" and _is_matrix(path)


recognise_dtm = files.make_recogniser(_is_matrix, _belongs_to_matrices)


def read_dtm(path: Path, options: ImportOptions) -> CountSource:
    """Read the rows as documents; a matrix of words x documents is transposed."""
    parts = files.find_parts(path, _belongs_to_matrices, "document-term matrix")
    first = parts[0].path
    table = open_table(first, options)
    sample = [row for _, row in islice(table.rows(first), _DTM_SAMPLE)]
    if not sample:
        raise IngestError(first, "has no counts below its line of column names")
    matrix = count_tables.find_matrix(table.names.names, sample) or count_tables.take_matrix(table.names.names, sample)
    if not matrix.counts:
        raise IngestError(first, "has no column of counts: numbers from 0 on below the name of a word")
    cells, sizes = _MatrixCells(), []
    for each in parts:
        before = len(cells.titles)
        (_read_transposed if matrix.turned else _read_matrix)(each.path, table, matrix, cells)
        sizes.append(len(cells.titles) - before)
    part, titles = files.number_documents(parts, sizes)
    values = np.frombuffer(cells.values, np.float64) if cells.values else np.empty(0)
    whole = matrices.is_whole(values)
    lengths, words = np.array(cells.lengths, np.int64), np.array(cells.places, np.int64)
    counts = Counts.of(lengths, words, values.astype(np.int64) if whole else values)
    counts = matrices.tidy_counts(counts, len(cells.words), first, whole=whole)
    titles = [own or title for own, title in zip(cells.titles, titles, strict=True)]
    return matrices.make_count_source(
        path,
        cells.words,
        counts,
        titles,
        joining.encode_labels(cells.labels, {}),
        columns=cells.columns,
        part=part,
        notes=_list_notes(first, table, options),
        understood=_describe_table(first, table, options, certain=options.format is not None)
        | _describe_columns(table, matrix),
    )


def _list_notes(path: Path, table: Table, options: ImportOptions) -> list[str]:
    return [*(files.note_guesses([path], options.encoding) if table.encoded else ()), *table.notes]


def _describe_table(path: Path, table: Table, options: ImportOptions, *, certain: bool = True) -> dict[str, str]:
    """Describe how a table was read, for the report; ``certain`` means that the user declared it as counts."""
    guesses = table.guesses(texts=False)
    if not certain:
        guesses.append(
            "the names of columns are taken for words, and numbers below for counts (change it with --format csv)"
        )
    encoding = files.describe_encoding(path, options.encoding) if table.encoded else {}
    return ({GUESS: "; ".join(guesses)} if guesses else {}) | encoding | table.understood


def _describe_columns(table: Table, matrix: Matrix) -> dict[str, str]:
    """Describe the roles of the columns, for the report."""
    if matrix.turned and matrix.title is not None:
        return {"words": f"the rows, by the column {table.names.names[matrix.title]!r}; the columns are the documents"}
    descriptions = {"words": f"the names of {len(matrix.counts):,} columns"}
    if matrix.title is not None:
        descriptions["titles"] = f"in the column {table.names.names[matrix.title]!r}"
    if matrix.label is not None:
        descriptions["classes"] = f"in the column {table.names.names[matrix.label]!r}"
    return descriptions


def _read_matrix(path: Path, table: Table, matrix: Matrix, cells: _MatrixCells) -> None:
    """Add the rows of a file to ``cells`` as documents."""
    names = table.names.names
    words = [_read_word(names[place], path, 1) for place in matrix.counts]
    numbers = [cells.words.setdefault(word, len(cells.words)) for word in words]
    places = list(zip(matrix.counts, numbers, strict=True))
    for line, row in table.rows(path):
        row_cells = [(number, row[place]) for place, number in places if row[place] not in _ZEROS]
        _add_document(row_cells, cells, path, line)
        label = "" if matrix.label is None else row[matrix.label].strip()
        cells.labels.append(None if not label or is_missing(label) else label)
        cells.titles.append("" if matrix.title is None else make_storable(" ".join(row[matrix.title].split())))
        cells.columns.append({names[place]: row[place] for place in matrix.others})


def _read_transposed(path: Path, table: Table, matrix: Matrix, cells: _MatrixCells) -> None:
    """Add the columns of a file, whose rows are words, to ``cells`` as documents."""
    documents: list[list[tuple[int, str]]] = [[] for _ in matrix.counts]
    lines: list[int] = []
    for line, row in table.rows(path):
        number = cells.words.setdefault(_read_word(row[matrix.title or 0], path, line), len(cells.words))
        lines.append(line)
        for document, place in zip(documents, matrix.counts, strict=True):
            if row[place] not in _ZEROS:
                document.append((number, row[place]))
    for document, place in zip(documents, matrix.counts, strict=True):
        _add_document(document, cells, path, None)
        cells.labels.append(None)
        cells.titles.append(make_storable(table.names.names[place]))
        cells.columns.append({})


def _add_document(row_cells: Sequence[tuple[int, str]], cells: _MatrixCells, path: Path, line: int | None) -> None:
    """Add the counts of a document, given as pairs of word number and cell."""
    before = len(cells.values)
    for number, cell in row_cells:
        value = _read_count(cell, path, line)
        if value:
            cells.places.append(number)
            cells.values.append(value)
    cells.lengths.append(len(cells.values) - before)


def _read_word(name: str, path: Path, line: int) -> str:
    word = make_storable(" ".join(name.split()))
    if not word:
        raise IngestError(path, "a column of counts has no name, which is its word", line)
    return word


def _read_count(cell: str, path: Path, line: int | None) -> float:
    """Return a count of a matrix, which may be a fraction; an empty cell is 0."""
    try:
        value = float(cell) if cell.strip() else 0.0
    except ValueError:
        value = -1.0
    if not 0 <= value < _LARGEST:
        raise IngestError(path, f"the count {cell.strip()[:40]!r} is not a number from 0 to 2,147,483,647", line)
    return value


_WHOLE = re.compile(r"\+?([0-9]{1,18})(?:\.0*)?")
_TRIPLE_SAMPLE = 60  # rows from which the columns are found
_N_TRIPLE_COLUMNS = 3


class _TripleCells:
    """Rows, columns and counts of a table with three columns, collected while files are read."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.columns: dict[str, int] = {}
        self.owners, self.words, self.counts = array("q"), array("q"), array("q")


def _has_triples(path: Path) -> bool:
    """Return whether a file has a document, a word and a count in each row, under known names."""
    return isinstance(count_tables.find_counts(path), Places)


def _belongs_to_triples(path: Path) -> bool:
    """Return whether a file in a folder is a table of counts; .txt files in a folder are texts."""
    return files.find_suffix(path) != ".txt" and _has_triples(path)


recognise_triples = files.make_recogniser(_has_triples, _belongs_to_triples)


def read_triples(path: Path, options: ImportOptions) -> CountSource:
    """Read rows as documents and columns as words, in order of appearance; repeated pairs are added."""
    parts = files.find_parts(path, _belongs_to_triples, "table of counts")
    first = parts[0].path
    table = open_table(first, options)
    places = _find_columns(first, table, options)
    cells = _TripleCells()
    sizes: list[int] = []
    for each in parts:
        _read_part(each.path, table, places, cells, sum(sizes))
        sizes.append(len(cells.rows) - sum(sizes))
    if not cells.rows:
        raise IngestError(first, "has no counts below its line of column names")
    part, _ = files.number_documents(parts, sizes)
    notes = [*_list_notes(first, table, options), *_note_columns(table, places)]
    understood = _describe_table(first, table, options)
    counts = _make_counts(cells, first)
    return matrices.make_count_source(
        path, cells.columns, counts, list(cells.rows), part=part, notes=notes, understood=understood
    )


def _note_columns(table: Table, places: Places) -> list[str]:
    """Return a note about columns that are neither document nor word nor count."""
    names = table.names.names
    others = [repr(names[place]) for place in places.others if not names[place].startswith("column ")]
    used = [names[place] for place in (places.row, places.column, places.value) if place is not None]
    left_out = f"; left out: {', '.join(others)[:80]}" if others else ""
    if places.value is None:
        return [f"each row is a word once, in the columns {used[0]!r} and {used[1]!r}{left_out}"]
    return [f"counts are those of {used[0]!r}, {used[1]!r} and {used[2]!r}{left_out}"] if others else []


def _make_counts(cells: _TripleCells, path: Path) -> Counts:
    """Return the counts sorted by row."""
    owners, words, values = (np.frombuffer(each, np.int64) for each in (cells.owners, cells.words, cells.counts))
    order = np.argsort(owners, kind="stable")
    lengths = np.bincount(owners, minlength=len(cells.rows))
    return matrices.tidy_counts(Counts.of(lengths, words[order], values[order]), len(cells.columns), path)


def _read_part(path: Path, table: Table, places: Places, cells: _TripleCells, before: int) -> None:
    """Add the lines of a file; refuse a row among the ``before`` first ones, which belong to another file."""
    for line, row in table.rows(path):
        owner = cells.rows.setdefault(_read_name(row[places.row], "row", path, line), len(cells.rows))
        if owner < before:
            name = row[places.row].strip()[:40]
            cause = f"the row {name!r} is in the training file too, and is either of the training or of the test"
            raise IngestError(path, cause, line)
        cells.owners.append(owner)
        column = _read_name(row[places.column], "column", path, line)
        cells.words.append(cells.columns.setdefault(column, len(cells.columns)))
        cells.counts.append(1 if places.value is None else _read_whole_count(row[places.value], path, line))


def _find_columns(path: Path, table: Table, options: ImportOptions) -> Places:
    """Return the columns of row, column and count, by their names or else in this order."""
    sample = [row for _, row in islice(table.rows(path), _TRIPLE_SAMPLE)]
    places = count_tables.find_places(table.names.names, sample) if options.header != "no" else None
    if places is None and len(table.names.names) != _N_TRIPLE_COLUMNS:
        cause = f"has {len(table.names.names)} columns where row, column and count should be"
        raise IngestError(path, f"{cause}; name them row, column and count, or say how cells are separated", 1)
    return places or Places(0, 1, 2)


def _read_name(cell: str, kind: str, path: Path, line: int) -> str:
    name = make_storable(" ".join(cell.split()))
    if not name:
        raise IngestError(path, f"the {kind} has no name", line)
    return name


def _read_whole_count(cell: str, path: Path, line: int) -> int:
    """Return a whole count."""
    whole = _WHOLE.fullmatch(cell.strip())
    if whole is None:
        raise IngestError(path, f"the count {cell.strip()[:40]!r} is not a whole number from 0 on", line)
    if int(whole[1]) > MOST_TOKENS:
        raise IngestError(path, f"the count {cell.strip()} is more than {MOST_TOKENS:,}, the most of a row", line)
    return int(whole[1])


_DTM_FILES = (
    "document-term matrix: NAME.csv, .tsv, .xlsx or .parquet with a document in each row and a word in each "
    "column, as scikit-learn, quanteda and tm write them"
)
_TRIPLES_FILES = (
    "table of counts: NAME.csv, .tsv (.gz), .xlsx or .parquet with the columns row, column, count (or user, "
    "item, count; or document, word, n, as tidytext and quanteda write them)"
)
_ACCEPTED = ("header", "skip_lines", "separator", "quote")
READERS = (
    Reader("dtm", _DTM_FILES, _ACCEPTED, recognise_dtm, read_dtm),
    Reader("triples", _TRIPLES_FILES, _ACCEPTED, recognise_triples, read_triples),
)
