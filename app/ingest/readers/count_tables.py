"""Tables that are counts of words and not texts: a row for each document and word, or a column for each word."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.tables import column_names, sheets
from app.ingest.tables.cells import is_separated, look_at_rows
from app.ingest.tables.column_names import plain_name
from app.ingest.tables.opening import ARROWS, WORKBOOKS
from app.ingest.tables.values import as_text, is_missing, is_number, is_prose

# fmt: off
_WORDS = (
    "word", "words", "term", "terms", "token", "tokens", "feature", "lemma", "stem", "ngram", "bigram", "trigram",
    "wort", "mot", "palabra", "parola", "woord", "słowo",
)
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
    "occurrences", "anzahl", "häufigkeit", "word_count", "wordcount", "tf",
)
_DOCUMENTS = (  # what counts of words are of, where several columns could say it: the smallest unit first
    "doc_id", "document_id", "document", "doc", "docname", "text_id", "text", "file", "filename", "id", "gutenberg_id",
    "line", "linenumber", "paragraph", "chapter", "title", "book", "speech", "article", "row", "user", "author",
)
# fmt: on
_ID = re.compile(r"[ _-]?(?:id|name|number|no)?$")
_CODE = re.compile(r"[A-Za-z]{0,3}[._ ]?\d+")  # such as Q1, V12 and 2019, which no word is
_OF_DOCUMENT = re.compile(r"\d+|[^\W\d]*[ ._-]?\d+|.*\.(?:txt|pdf|docx?|html?|xml)", re.IGNORECASE)
_FEWEST_CELLS = 3
_LONGEST_TITLE = 60  # letters of a usual title of a document
_LEAST_WORDS = 3  # columns of a matrix
_ZEROS = 0.4  # share of the cells of a matrix of counts that are zero, at least
_MOST = 0.8  # share of the columns whose names are words, and of the cells of a column that are


class Places(NamedTuple):
    """The places of the document, the word and the count in a row.

    Attributes
    ----------
    value : int or None
        None where each row is one occurrence of a word.
    others : tuple of int
        Columns that are left out.
    """

    row: int
    column: int
    value: int | None
    others: tuple[int, ...] = ()


class Matrix(NamedTuple):
    """The columns of a table with a count in every cell.

    Attributes
    ----------
    counts : tuple of int
        Columns of counts.
    title, label : int or None
    others : tuple of int
        Columns that are kept with the documents; a number of each row is not.
    turned : bool
        Whether rows are words, named in the column ``title``, and columns documents.
    """

    counts: tuple[int, ...]
    title: int | None
    label: int | None
    others: tuple[int, ...]
    turned: bool = False


def find_places(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Places | None:
    """Return where document, word and count are in a table of such rows; None where it is another table."""
    first = 1 if len(names) == _FEWEST_CELLS + 1 and _is_number_of_row(names, rows, 0) else 0
    if len(names) == _FEWEST_CELLS + first:
        known = (_ROWS, _COLUMNS, _COUNTS)
        found = [[place for place in range(first, len(names)) if _is_one_of(names[place], each)] for each in known]
        if all(len(each) == 1 for each in found) and _are_mostly_numbers(rows, found[2][0]):
            return Places(found[0][0], found[1][0], found[2][0], tuple(range(first)))
    return _find_words(names, rows)


def _find_words(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Places | None:
    """Return the places by a column of words and one of their counts; what they are counted in is another column."""
    plain = list(map(plain_name, names))
    words, counts = ([plain.index(each) for each in known if each in plain] for known in (_WORDS, _COUNTS))
    if not words or not rows or not _are_words(rows, words[0]):
        return None
    count = next((place for place in counts if _are_mostly_numbers(rows, place)), None)
    others = [place for place in range(len(names)) if place not in (words[0], count)]
    able = [place for place in others if place not in words and not _is_number_of_row(names, rows, place)]
    named = [place for each in _DOCUMENTS for place in able if _is_one_of(names[place], (each,))]
    texts = [place for place in able if not _are_numbers(rows, place)]
    if not (named or len(texts) == 1):
        return None
    row = (named or texts)[0]
    if count is None and any(_has_prose(names, rows, place) for place in others):
        return None
    if count is None and (not named or 3 * len({each[row] for each in rows}) > len(rows)):
        return None  # a word in each row is one of a document only where its document comes again
    return Places(row, words[0], count, tuple(place for place in others if place != row))


def is_list_of_words(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table has words and their counts, but no document that they are counted in."""
    words = [place for place, name in enumerate(names) if plain_name(name) in _WORDS]
    counts = [place for place, name in enumerate(names) if plain_name(name) in _COUNTS]
    if len(words) != 1 or not counts or not rows or not _are_words(rows, words[0]):
        return False
    others = [place for place in range(len(names)) if place != words[0]]
    return all(_are_numbers(rows, place) for place in others)


def find_matrix(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Matrix | None:
    """Return what the columns of a document-term matrix are; None where a table is another one."""
    if len(rows) < 2 or len(names) < _LEAST_WORDS:
        return None
    numbers = [place for place in range(len(names)) if _are_counts(rows, place)]
    texts = [place for place in range(len(names)) if place not in numbers]
    counts = [place for place in numbers if not _is_number_of_row(names, rows, place)]
    if len(counts) < _LEAST_WORDS or any(_has_prose(names, rows, place) for place in texts):
        return None
    if turned := _find_turned(names, rows, counts, texts):
        return turned
    label = _find_label(names, counts) if not texts else None
    counts = [place for place in counts if place != label]
    worded = sum(_is_word(names[place]) for place in counts)
    if worded < _MOST * len(counts) or _count_zeros(rows, counts) < _ZEROS:
        return None
    title, of_texts, others = _find_titles(names, rows, texts)
    return Matrix(tuple(counts), title, of_texts if label is None else label, others)


def take_matrix(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Matrix:
    """Return what the columns are of a table that is said to be a document-term matrix."""
    texts = [place for place in range(len(names)) if not _are_numbers(rows, place)]
    numbers = [place for place in range(len(names)) if place not in texts]
    counts = [place for place in numbers if not _is_number_of_row(names, rows, place)]
    title, label, others = _find_titles(names, rows, texts)
    return _find_turned(names, rows, counts, texts) or Matrix(tuple(counts), title, label, others)


def _find_titles(
    names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int]
) -> tuple[int | None, int | None, tuple[int, ...]]:
    """Return which columns of texts are the title and the label, and which others there are."""
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
    """Return the columns of a matrix of words x documents: one has the words, the others are named as documents are."""
    if len(texts) != 1 or not all(_OF_DOCUMENT.fullmatch(names[place]) for place in counts):
        return None
    words = [row[texts[0]].strip() for row in rows]
    if len(set(words)) < len(words) or sum(map(_is_word, words)) < _MOST * len(words):
        return None
    return Matrix(tuple(counts), texts[0], None, (), turned=True)


def _find_label(names: Sequence[str], counts: Sequence[int]) -> int | None:
    """Return the first or last column of numbers where it is named as labels are and words are sorted without it."""
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
    return name in names or _ID.sub("", name) in names


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
    return sum(0 < len(cell.split()) <= 3 and not is_number(cell) for cell in cells) >= _MOST * len(cells)


def _has_prose(names: Sequence[str], rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether most cells of a column are texts: longer than a title, or in a column named as texts are."""
    called = column_names.find_named(column_names.TEXTS, [names[place]]) is not None
    prose = sum((called or len(row[place]) > _LONGEST_TITLE) and is_prose(row[place]) for row in rows)
    return 3 * prose > len(rows) if called else 2 * prose > len(rows)


def _is_number_of_row(names: Sequence[str], rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column only numbers the rows: one without a name, or called an index, whose numbers ascend."""
    plain = plain_name(names[place])
    if names[place] and not (plain.startswith(("column_", "unnamed")) or plain in ("index", "row_name", "id", "x")):
        return False
    cells = [row[place].strip() for row in rows]
    if not all(map(str.isdecimal, cells)):
        return False
    numbers = [int(cell) for cell in cells]
    return all(after > before for before, after in pairwise(numbers))


def is_table(path: Path) -> bool:
    """Return whether a file is a table by its name, or a .txt by its first lines."""
    if path.name.startswith("~$"):  # of Excel, while a workbook is open
        return False
    return files.find_suffix(path) in (*WORKBOOKS, *ARROWS) or is_separated(path)


def find_counts(path: Path) -> Matrix | Places | None:
    """Return how a table is one of counts of words; None for a table of texts, and for what cannot be read."""
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
    """Return the names of the columns and the first rows below them; none where it has no names."""
    kind = files.find_suffix(path)
    if kind in WORKBOOKS:
        named = sheets.find_workbook_names(path, ImportOptions())
        sheet = sheets.look_at_workbook(path)
        width = len(named.names)
        rows = [cells + [""] * (width - len(cells)) for _, cells in sheet.rows[named.body :]]
        return (named.names, rows) if named.header else ((), [])
    if kind in ARROWS:
        first = sheets.look_at_arrow(path)
        names = tuple(first[0]) if first else ()
        return names, [[as_text(record[name]) for name in names] for record in first]
    found = look_at_rows(path)
    if found is None or not found.layout.names.header:
        return (), []
    return found.layout.names.names, [list(row) for row in found.rows]
