"""Tables of word counts instead of texts: a row for each document and word, or a column for each word."""

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import matrices, workbook_arrow
from topiary.app.ingest.readers.matrices import MOST_TOKENS
from topiary.app.ingest.readers.workbook_arrow import ARROWS, WORKBOOKS, Table, open_table
from topiary.app.ingest.source import GUESS, CountSource, Reader
from topiary.app.ingest.tables import joining
from topiary.app.ingest.tables import names as column_names
from topiary.app.ingest.tables.names import plain_name
from topiary.app.ingest.tables.sniff import is_separated, look_at_rows
from topiary.app.ingest.tables.values import as_text, is_missing, is_number, is_prose
from topiary.app.ingest.text.cleaning import make_storable
from topiary.engine.contract import Counts

# fmt: off
_WORD_NAMES = (
    "word", "words", "term", "terms", "token", "tokens", "feature", "lemma", "stem", "ngram", "bigram", "trigram",
    "wort", "mot", "palabra", "parola", "woord", "słowo",
)
_ROW_NAMES = (
    "row", "user", "customer", "reader", "listener", "person", "visitor", "basket", "session", "document", "doc",
    "sample", "patient",
)
_COLUMN_NAMES = (
    "column", "col", "item", "product", "movie", "song", "artist", "track", "book", "paper", "word", "term", "token",
    "feature",
)
_COUNT_NAMES = (
    "count", "counts", "n", "number", "freq", "frequency", "quantity", "plays", "clicks", "views", "purchases", "times",
    "occurrences", "anzahl", "häufigkeit", "word_count", "wordcount", "tf",
)
_DOCUMENT_NAMES = (  # small units first; a table with several such columns uses the first in this list
    "doc_id", "document_id", "document", "doc", "docname", "text_id", "text", "file", "filename", "id", "gutenberg_id",
    "line", "linenumber", "paragraph", "chapter", "title", "book", "speech", "article", "row", "user", "author",
)
# fmt: on
_ID_ENDING = re.compile(r"[ _-]?(?:id|name|number|no)?$")
_CODE = re.compile(r"[A-Za-z]{0,3}[._ ]?\d+")  # such as Q1, V12 and 2019, which are not words
_DOCUMENT_NAME = re.compile(r"\d+|[^\W\d]*[ ._-]?\d+|.*\.(?:txt|pdf|docx?|html?|xml)", re.IGNORECASE)
_FEWEST_CELLS = 3  # columns of a table with a row for each document and word
_LONGEST_TITLE = 60  # letters of a title; a longer cell may be prose
_FEWEST_WORDS = 3  # columns of counts in a document-term matrix
_LEAST_ZEROS = 0.4  # smallest share of zeros in a document-term matrix
_WORD_SHARE = 0.8  # smallest share of words among the names of columns, or the cells of a column of words


class Places(NamedTuple):
    """The columns of the document, the word and the count in a table with a row for each document and word.

    Attributes
    ----------
    row, column : int
        Columns of the document and of the word.
    value : int or None
        Column of the count; None if each row is one occurrence of a word.
    others : tuple of int
        Columns to leave out.
    """

    row: int
    column: int
    value: int | None
    others: tuple[int, ...] = ()


class Matrix(NamedTuple):
    """The columns of a document-term matrix.

    Attributes
    ----------
    counts : tuple of int
        Columns of counts.
    title, label : int or None
        Columns of the titles and labels of documents, if there are any.
    others : tuple of int
        Columns kept with the documents; a column that only numbers the rows is dropped.
    turned : bool
        Whether the rows are words, listed in the column ``title``, and the columns documents.
    """

    counts: tuple[int, ...]
    title: int | None
    label: int | None
    others: tuple[int, ...]
    turned: bool = False


def find_places(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Places | None:
    """Return the columns of document, word and count; None if this is another kind of table."""
    first = 1 if len(names) == _FEWEST_CELLS + 1 and _is_row_number(names, rows, 0) else 0
    if len(names) == _FEWEST_CELLS + first:
        name_lists = (_ROW_NAMES, _COLUMN_NAMES, _COUNT_NAMES)
        places = [
            [place for place in range(first, len(names)) if _is_one_of(names[place], each)] for each in name_lists
        ]
        if all(len(each) == 1 for each in places) and _are_mostly_numbers(rows, places[2][0]):
            return Places(places[0][0], places[1][0], places[2][0], tuple(range(first)))
    return _find_words(names, rows)


def _find_words(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Places | None:
    """Find a column of words and, if there is one, of their counts; choose the column of documents among the others."""
    plain = list(map(plain_name, names))
    words, counts = ([plain.index(each) for each in usual if each in plain] for usual in (_WORD_NAMES, _COUNT_NAMES))
    if not words or not rows or not _are_words(rows, words[0]):
        return None
    count = next((place for place in counts if _are_mostly_numbers(rows, place)), None)
    others = [place for place in range(len(names)) if place not in (words[0], count)]
    candidates = [place for place in others if place not in words and not _is_row_number(names, rows, place)]
    named = [place for each in _DOCUMENT_NAMES for place in candidates if _is_one_of(names[place], (each,))]
    texts = [place for place in candidates if not _are_numbers(rows, place)]
    if not (named or len(texts) == 1):
        return None
    row = (named or texts)[0]
    if count is None and any(_has_prose(names, rows, place) for place in others):
        return None
    if count is None and (not named or 3 * len({each[row] for each in rows}) > len(rows)):
        return None  # without counts, each document must appear in several rows
    return Places(row, words[0], count, tuple(place for place in others if place != row))


def is_list_of_words(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table has words and their counts, but no column of documents."""
    words = [place for place, name in enumerate(names) if plain_name(name) in _WORD_NAMES]
    counts = [place for place, name in enumerate(names) if plain_name(name) in _COUNT_NAMES]
    if len(words) != 1 or not counts or not rows or not _are_words(rows, words[0]):
        return False
    others = [place for place in range(len(names)) if place != words[0]]
    return all(_are_numbers(rows, place) for place in others)


def find_matrix(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Matrix | None:
    """Return the columns of a document-term matrix; None if this is another kind of table."""
    if len(rows) < 2 or len(names) < _FEWEST_WORDS:
        return None
    numbers = [place for place in range(len(names)) if _are_counts(rows, place)]
    texts = [place for place in range(len(names)) if place not in numbers]
    counts = [place for place in numbers if not _is_row_number(names, rows, place)]
    if len(counts) < _FEWEST_WORDS or any(_has_prose(names, rows, place) for place in texts):
        return None
    if turned := _find_turned(names, rows, counts, texts):
        return turned
    label = _find_label(names, counts) if not texts else None
    counts = [place for place in counts if place != label]
    n_words = sum(_is_word(names[place]) for place in counts)
    if n_words < _WORD_SHARE * len(counts) or _count_zeros(rows, counts) < _LEAST_ZEROS:
        return None
    title, text_label, others = _find_titles(names, rows, texts)
    return Matrix(tuple(counts), title, text_label if label is None else label, others)


def take_matrix(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Matrix:
    """Return the columns of a table that the user declared to be a document-term matrix."""
    texts = [place for place in range(len(names)) if not _are_numbers(rows, place)]
    numbers = [place for place in range(len(names)) if place not in texts]
    counts = [place for place in numbers if not _is_row_number(names, rows, place)]
    title, label, others = _find_titles(names, rows, texts)
    return _find_turned(names, rows, counts, texts) or Matrix(tuple(counts), title, label, others)


def _find_titles(
    names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int]
) -> tuple[int | None, int | None, tuple[int, ...]]:
    """Return the columns of the title and of the label among those without numbers, and the remaining ones."""
    values = {place: {row[place].strip() for row in rows} for place in texts}
    labels = [place for place in texts if plain_name(names[place]) in column_names.LABELS]
    labels += [place for place in texts if 1 < len(values[place]) <= len(rows) // 3]
    ids = [place for place in texts if plain_name(names[place]) in (*column_names.IDS, *column_names.TITLES)]
    ids += [place for place in texts if len(values[place]) == len(rows)]
    title = next((place for place in ids if place not in labels[:1]), None)
    label = next((place for place in labels if place != title), None)
    return title, label, tuple(place for place in texts if place not in (title, label))


def _find_turned(
    names: Sequence[str], rows: Sequence[Sequence[str]], counts: Sequence[int], texts: Sequence[int]
) -> Matrix | None:
    """Return the columns of a words x documents matrix: one of words, the others named like documents; else None."""
    if len(texts) != 1 or not all(_DOCUMENT_NAME.fullmatch(names[place]) for place in counts):
        return None
    words = [row[texts[0]].strip() for row in rows]
    if len(set(words)) < len(words) or sum(map(_is_word, words)) < _WORD_SHARE * len(words):
        return None
    return Matrix(tuple(counts), texts[0], None, (), turned=True)


def _find_label(names: Sequence[str], counts: Sequence[int]) -> int | None:
    """Return the first or last column of numbers if it is named like a label and breaks the alphabetical order."""
    for place in (counts[0], counts[-1]):
        others = [names[each] for each in counts if each != place]
        if plain_name(names[place]) in (*column_names.LABELS, "y") and others == sorted(others):
            return place if sorted([*others, names[place]]) != [names[each] for each in counts] else None
    return None


def _count_zeros(rows: Sequence[Sequence[str]], places: Sequence[int]) -> float:
    zeros = sum(not row[place].strip() or float(row[place]) == 0 for row in rows for place in places)
    return zeros / (len(rows) * len(places))


def _is_word(name: str) -> bool:
    return 0 < len(name) <= 40 and name.count(" ") <= 2 and _CODE.fullmatch(name) is None


def _is_one_of(cell: str, names: Sequence[str]) -> bool:
    name = cell.strip().lower()
    return name in names or _ID_ENDING.sub("", name) in names


def _are_counts(rows: Sequence[Sequence[str]], place: int) -> bool:
    return any(row[place].strip() for row in rows) and all(_is_count(row[place]) for row in rows)


def _is_count(cell: str) -> bool:
    try:
        return not cell.strip() or 0 <= float(cell) < float("inf")
    except ValueError:
        return False


def _are_numbers(rows: Sequence[Sequence[str]], place: int) -> bool:
    return all(is_number(row[place]) for row in rows if row[place].strip() and not is_missing(row[place]))


def _are_mostly_numbers(rows: Sequence[Sequence[str]], place: int) -> bool:
    return 2 * sum(is_number(row[place]) for row in rows) > len(rows) or not rows


def _are_words(rows: Sequence[Sequence[str]], place: int) -> bool:
    cells = [row[place] for row in rows]
    return sum(0 < len(cell.split()) <= 3 and not is_number(cell) for cell in cells) >= _WORD_SHARE * len(cells)


def _has_prose(names: Sequence[str], rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column is prose: most cells are long, or a third if it is named like a text."""
    is_text_name = column_names.find_named(column_names.TEXTS, [names[place]]) is not None
    n_prose = sum((is_text_name or len(row[place]) > _LONGEST_TITLE) and is_prose(row[place]) for row in rows)
    return 3 * n_prose > len(rows) if is_text_name else 2 * n_prose > len(rows)


def _is_row_number(names: Sequence[str], rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column only numbers the rows: nameless or called an index, with ascending numbers."""
    plain = plain_name(names[place])
    if names[place] and not (plain.startswith(("column_", "unnamed")) or plain in ("index", "row_name", "id", "x")):
        return False
    cells = [row[place].strip() for row in rows]
    if not all(map(str.isdecimal, cells)):
        return False
    numbers = [int(cell) for cell in cells]
    return all(following > before for before, following in pairwise(numbers))


def is_table(path: Path) -> bool:
    """Return whether a file is a table, judged by its name or, for a .txt, by its first lines."""
    if path.name.startswith("~$"):  # a lock file of Excel, while the workbook is open
        return False
    return packing.find_suffix(path) in (*WORKBOOKS, *ARROWS) or is_separated(path)


def find_counts(path: Path) -> Matrix | Places | None:
    """Return the columns of a table of word counts; None for a table of texts or a file that cannot be read."""
    if not is_table(path):
        return None
    try:
        names, rows = _read_beginning(path)
    except IngestError:
        return None
    if len(names) < _FEWEST_COLUMNS:
        return None
    return find_places(names, rows) or find_matrix(names, rows)


_FEWEST_COLUMNS = 3  # columns of a table of counts


def _read_beginning(path: Path) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the names of the columns and the first rows below them; both empty if the table has no header."""
    kind = packing.find_suffix(path)
    if kind in WORKBOOKS:
        header = workbook_arrow.find_workbook_names(path, ImportOptions())
        sheet = workbook_arrow.look_at_workbook(path)
        width = len(header.names)
        rows = [cells + [""] * (width - len(cells)) for _, cells in sheet.rows[header.body :]]
        return (header.names, rows) if header.header else ((), [])
    if kind in ARROWS:
        first = workbook_arrow.look_at_arrow(path)
        names = tuple(first[0]) if first else ()
        return names, [[as_text(record[name]) for name in names] for record in first]
    beginning = look_at_rows(path)
    if beginning is None or not beginning.layout.names.header:
        return (), []
    return beginning.layout.names.names, [list(row) for row in beginning.rows]


_SAMPLE = 60  # rows from which the columns are found
_ZEROS = frozenset(("", "0", "0.0", "0.00"))
_LARGEST = 2.0**31  # exclusive bound of a count
_WHOLE = re.compile(r"\+?([0-9]{1,18})(?:\.0*)?")


class _Cells:
    """The counts of documents and their other columns, collected while files are read."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.owners, self.places, self.values = array("q"), array("q"), array("d")
        self.titles: list[str] = []
        self.labels: list[str | None] = []
        self.columns: list[dict[str, str]] = []

    def add_document(self, title: str, label: str = "", columns: Mapping[str, str] | None = None) -> int:
        """Add a document, and return its number."""
        self.titles.append(make_storable(" ".join(title.split())))
        self.labels.append(None if not label or is_missing(label) else label)
        self.columns.append(dict(columns or {}))
        return len(self.titles) - 1

    def add(self, owner: int, word: int, value: float) -> None:
        """Add the count of a word in a document."""
        self.owners.append(owner)
        self.places.append(word)
        self.values.append(value)

    def make_counts(self, path: Path) -> Counts:
        """Return all counts, sorted by document."""
        owners, words = (np.array(each, np.int64) for each in (self.owners, self.places))
        values, order = np.array(self.values, np.float64), np.argsort(owners, kind="stable")
        whole = matrices.is_whole(values)
        lengths = np.bincount(owners, minlength=len(self.titles))
        counts = Counts.of(lengths, words[order], values[order].astype(np.int64 if whole else np.float64))
        return matrices.tidy_counts(counts, len(self.words), path, whole=whole)


def _make_recogniser(kind: type[Matrix] | type[Places], *, in_folder: bool = False) -> Callable[[Path], bool]:
    """Return a function that tells whether a file is such a table; .txt files in a folder are texts."""
    return lambda path: not (in_folder and packing.find_suffix(path) == ".txt") and isinstance(find_counts(path), kind)


_belongs_to_matrices, _belongs_to_triples = (_make_recogniser(kind, in_folder=True) for kind in (Matrix, Places))
recognise_dtm = packing.make_recogniser(_make_recogniser(Matrix), _belongs_to_matrices)
recognise_triples = packing.make_recogniser(_make_recogniser(Places), _belongs_to_triples)


def _open_first(path: Path, options: ImportOptions) -> tuple[Table, list[list[str]]]:
    """Return a table and its first rows; refuse one without rows."""
    table = open_table(path, options)
    sample = [row for _, row in islice(table.rows(path), _SAMPLE)]
    if not sample:
        raise IngestError(path, "has no counts below its line of column names")
    return table, sample


def read_dtm(path: Path, options: ImportOptions) -> CountSource:
    """Read the rows as documents; a matrix of words x documents is transposed."""
    parts = packing.find_parts(path, _belongs_to_matrices, "document-term matrix")
    first = parts[0].path
    table, sample = _open_first(first, options)
    matrix = find_matrix(table.names.names, sample) or take_matrix(table.names.names, sample)
    if not matrix.counts:
        raise IngestError(first, "has no column of counts: numbers from 0 on below the name of a word")
    cells, sizes = _Cells(), list[int]()
    for each in parts:
        (_read_transposed if matrix.turned else _read_matrix)(each.path, table, matrix, cells)
        sizes.append(len(cells.titles) - sum(sizes))
    part, titles = packing.number_documents(parts, sizes)
    return matrices.make_count_source(
        path,
        cells.words,
        cells.make_counts(first),
        [own or title for own, title in zip(cells.titles, titles, strict=True)],
        joining.encode_labels(cells.labels, {}),
        columns=cells.columns,
        part=part,
        notes=_list_notes(first, table, options),
        understood=_describe_table(first, table, options, certain=options.format is not None)
        | _describe_columns(table, matrix),
    )


def _list_notes(path: Path, table: Table, options: ImportOptions) -> list[str]:
    return [*(packing.note_guesses([path], options.encoding) if table.encoded else ()), *table.notes]


def _describe_table(path: Path, table: Table, options: ImportOptions, *, certain: bool = True) -> dict[str, str]:
    """Describe how a table was read, for the report; ``certain`` means that the user declared it as counts."""
    guesses = table.guesses(texts=False)
    if not certain:
        guesses.append(
            "the names of columns are taken for words, and numbers below for counts (change it with --format csv)"
        )
    encoding = packing.describe_encoding(path, options.encoding) if table.encoded else {}
    return ({GUESS: "; ".join(guesses)} if guesses else {}) | encoding | table.understood


def _describe_columns(table: Table, matrix: Matrix) -> dict[str, str]:
    """Describe the roles of the columns, for the report."""
    if matrix.turned and matrix.title is not None:
        return {"words": f"the rows, by the column {table.names.names[matrix.title]!r}; the columns are the documents"}
    roles = {"titles": matrix.title, "classes": matrix.label}
    named = {role: f"in the column {table.names.names[place]!r}" for role, place in roles.items() if place is not None}
    return {"words": f"the names of {len(matrix.counts):,} columns"} | named


def _read_matrix(path: Path, table: Table, matrix: Matrix, cells: _Cells) -> None:
    """Add the rows of a file to ``cells`` as documents."""
    names = table.names.names
    words = [_read_name(names[place], "a column of counts has no name, which is its word", path, 1)
             for place in matrix.counts]  # fmt: skip
    places = [(place, cells.words.setdefault(word, len(cells.words)))
              for place, word in zip(matrix.counts, words, strict=True)]  # fmt: skip
    for line, row in table.rows(path):
        title, label = ("" if place is None else row[place] for place in (matrix.title, matrix.label))
        owner = cells.add_document(title, label.strip(), {names[place]: row[place] for place in matrix.others})
        for place, word in places:
            if row[place] not in _ZEROS:
                cells.add(owner, word, _read_count(row[place], path, line))


def _read_transposed(path: Path, table: Table, matrix: Matrix, cells: _Cells) -> None:
    """Add the columns of a file, whose rows are words, to ``cells`` as documents."""
    owners = [cells.add_document(table.names.names[place]) for place in matrix.counts]
    for line, row in table.rows(path):
        name = _read_name(row[matrix.title or 0], "a column of counts has no name, which is its word", path, line)
        word = cells.words.setdefault(name, len(cells.words))
        for owner, place in zip(owners, matrix.counts, strict=True):
            if row[place] not in _ZEROS:
                cells.add(owner, word, _read_count(row[place], path, line))


def _read_count(cell: str, path: Path, line: int) -> float:
    """Return a count of a matrix, which may be a fraction; an empty cell is 0."""
    try:
        value = float(cell) if cell.strip() else 0.0
    except ValueError:
        value = -1.0
    if not 0 <= value < _LARGEST:
        raise IngestError(path, f"the count {cell.strip()[:40]!r} is not a number from 0 to 2,147,483,647", line)
    return value


def read_triples(path: Path, options: ImportOptions) -> CountSource:
    """Read rows as documents and columns as words, in order of appearance; repeated pairs are added."""
    parts = packing.find_parts(path, _belongs_to_triples, "table of counts")
    first = parts[0].path
    table, sample = _open_first(first, options)
    names = table.names.names
    places = find_places(names, sample) if options.header != "no" else None
    if places is None and len(names) != _FEWEST_CELLS:
        cause = f"has {len(names)} columns where row, column and count should be"
        raise IngestError(first, f"{cause}; name them row, column and count, or say how cells are separated", 1)
    cells, sizes, rows = _Cells(), list[int](), dict[str, int]()
    for each in parts:
        _read_triple_part(each.path, table, places or Places(0, 1, 2), cells, rows)
        sizes.append(len(rows) - sum(sizes))
    return matrices.make_count_source(
        path,
        cells.words,
        cells.make_counts(first),
        cells.titles,
        part=packing.number_documents(parts, sizes)[0],
        notes=[*_list_notes(first, table, options), *_note_columns(table, places or Places(0, 1, 2))],
        understood=_describe_table(first, table, options),
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


def _read_triple_part(path: Path, table: Table, places: Places, cells: _Cells, rows: dict[str, int]) -> None:
    """Add the lines of a file; refuse a row that another file has, too."""
    before = len(rows)
    for line, row in table.rows(path):
        name = _read_name(row[places.row], "the row has no name", path, line)
        if name not in rows:
            rows[name] = cells.add_document(name)
        if rows[name] < before:
            cause = f"the row {name[:40]!r} is in the training file too, and is either of the training or of the test"
            raise IngestError(path, cause, line)
        word = _read_name(row[places.column], "the column has no name", path, line)
        value = 1 if places.value is None else _read_whole_count(row[places.value], path, line)
        cells.add(rows[name], cells.words.setdefault(word, len(cells.words)), value)


def _read_name(cell: str, cause: str, path: Path, line: int) -> str:
    """Return a cell as a name on one line; raise an error if it is empty."""
    name = make_storable(" ".join(cell.split()))
    if not name:
        raise IngestError(path, cause, line)
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
