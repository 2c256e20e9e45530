"""Tables of word counts instead of texts: a row for each document and word, or a column for each word."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables import column_names, sheets
from topiary.app.ingest.tables.cells import is_separated, look_at_rows
from topiary.app.ingest.tables.column_names import plain_name
from topiary.app.ingest.tables.opening import ARROWS, WORKBOOKS
from topiary.app.ingest.tables.values import as_text, is_missing, is_number, is_prose

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
    return files.find_suffix(path) in (*WORKBOOKS, *ARROWS) or is_separated(path)


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
    kind = files.find_suffix(path)
    if kind in WORKBOOKS:
        header = sheets.find_workbook_names(path, ImportOptions())
        sheet = sheets.look_at_workbook(path)
        width = len(header.names)
        rows = [cells + [""] * (width - len(cells)) for _, cells in sheet.rows[header.body :]]
        return (header.names, rows) if header.header else ((), [])
    if kind in ARROWS:
        first = sheets.look_at_arrow(path)
        names = tuple(first[0]) if first else ()
        return names, [[as_text(record[name]) for name in names] for record in first]
    beginning = look_at_rows(path)
    if beginning is None or not beginning.layout.names.header:
        return (), []
    return beginning.layout.names.names, [list(row) for row in beginning.rows]
