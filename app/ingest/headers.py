"""Which lines of a table have the names of its columns: decided by known names, else by how they differ from others."""

import re
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from app.ingest import column_names
from app.ingest.dates import is_date_column, parse_date
from app.ingest.values import is_missing, is_number

MOST_LETTERS = 2_000  # of a name of a column, which may be a whole question
PROSE = 20  # letters of a usual cell from which a column is one of texts, whose lengths tell a name from a text
SHORTER = 3  # times that a name is shorter than nearly every text below it
MOST_TITLES = 20  # lines above the names
_MOST = 0.9  # share of the values of a column of numbers that are
_IMPORT = re.compile(r"""['"]*\{['"]+ImportId['"]+:""")
_UNDER_QUESTIONS = frozenset((
    "response", "open-ended response", "other (please specify)", "antwort", "offene antwort", "sonstiges",
    "other (specify)", "réponse", "réponse ouverte",
))  # fmt: skip


class Heading(NamedTuple):
    """Where the names of the columns are in the first rows of a table.

    Attributes
    ----------
    above : int
        Rows above the names: a title, notes.
    rows : int
        Rows that have the names; 0 where none has.
    sure : bool
        Whether known names settled it.
    kind : str
        What the rows below the first one with names are, in words, or empty.
    """

    above: int
    rows: int
    sure: bool = True
    kind: str = ""


def find_heading(rows: Sequence[Sequence[str]], *, header: str = "auto", titles: bool = True) -> Heading:
    """Return where the names of the columns are.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first rows, all of one width.
    header : str
        ``"auto"``, ``"yes"`` or ``"no"``.
    titles : bool
        Whether lines above the names are looked for.
    """
    if header == "no" or not rows:
        return Heading(0, 0)
    above = _count_titles(rows) if titles else 0
    if above and not has_header(rows[above], rows[above + 1 :]):
        above = 0
    sure = knows_names(rows[above], rows[above + 1 :])
    if above or header == "yes":
        return _add_lines_below(rows, above, sure=sure or header == "yes")
    found = has_header(rows[0], rows[1:])
    if found or (found is None and any(map(column_names.is_known, rows[0]))):
        return _add_lines_below(rows, 0, sure=sure)
    return Heading(0, 0, sure=False)


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool | None:
    """Compare the first line with those below it.

    Parameters
    ----------
    first : sequence of str
        The cells of the first line.
    rows : sequence of sequences of str
        The cells of the next lines; rows of other lengths are not looked at.

    Returns
    -------
    bool or None
        None where nothing tells: the table is one line, or its first line is like any other.

    Notes
    -----
    Known names settle it.  Else each column says how much its first cell is unlike the others: text above numbers or
    dates, a short cell above long ones, a question above answers, a value that never comes again above few values that
    do; a number is hardly a name.
    """
    names = [cell.strip() for cell in first]
    body = [[cell.strip() for cell in row] for row in rows if len(row) == len(names)]
    if knows_names(names, body) or _are_counting(names, body):
        return True
    if not any(names) or max(map(len, names)) > MOST_LETTERS:
        return False
    evidence = sum(_weigh_column(name, [row[place] for row in body]) for place, name in enumerate(names)) if body else 0
    return None if evidence == 0 else evidence > 0


def _are_counting(names: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether names are 0, 1, 2 and so on above other values, as pandas writes them for columns without any."""
    counted = names[1:] if not names[0] else names
    if len(counted) < 2 or not body or counted[0] not in ("0", "1"):
        return False
    if list(counted) != [str(int(counted[0]) + place) for place in range(len(counted))]:
        return False
    return not all(all(map(is_number, filter(None, row))) for row in body)


def knows_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a line has known names of columns: two, one that is no value, or one in a table of one column.

    A name that comes again below is a value, such as "article" in a table of articles and comments.
    """
    names = [cell.strip() for cell in first]
    known = [place for place, name in enumerate(names) if column_names.is_known(name)]
    known = [place for place in known if not any(row[place : place + 1] == [names[place]] for row in rows)]
    if not known:
        return False
    if len(names) == 1 or (len(known) >= 2 and 4 * len(known) >= sum(map(bool, names))):
        return True
    if not any(column_names.is_sure(names[place]) for place in known) or any(map(is_number, names)):
        return False
    others = [place for place in range(len(names)) if place not in known]
    columns = ([row[place].strip() for row in rows if place < len(row)] for place in others)
    return sum(_weigh_column(names[place], column) for place, column in zip(others, columns, strict=True)) >= 0


def _weigh_column(name: str, values: list[str]) -> int:
    """Return how much a column says that its first cell is a name (positive) or a value like the others (negative)."""
    filled = [value for value in values if value and not is_missing(value)]
    if not filled:
        return 0
    if not name:  # as pandas and R leave it above the numbers of the rows
        return 2 if filled[:2] in (["0", "1"], ["1", "2"]) or filled in (["0"], ["1"]) else 0
    if is_missing(name):
        return 0
    if is_number(name):
        return -4
    if is_date_column("", filled):
        return 3 if parse_date(name) is None else -3
    if _are_numbers(filled):
        return 3
    if name in filled:
        return -3
    lengths = sorted(map(len, filled))
    if median(lengths) >= PROSE:
        return _weigh_texts(name, filled, lengths)
    if len(set(filled)) > len(filled) // 3:
        return 0
    return 2 if len(name) >= PROSE and len(name) > 2 * lengths[-1] else 1  # a question above a choice of answers


def _are_numbers(filled: list[str]) -> bool:
    return sum(map(is_number, filled)) >= (_MOST * len(filled) if len(filled) >= 10 else len(filled))


def _weigh_texts(name: str, filled: list[str], lengths: list[int]) -> int:
    if name.endswith(("?", ":")) and sum(value.endswith(name[-1]) for value in filled) < len(filled) / 5:
        return 2
    short, quarter = lengths[len(lengths) // 20], lengths[len(lengths) // 4]
    if len(name) * SHORTER <= short:
        return 2
    if len(name) >= quarter:
        return -2
    return 1 if len(name) * SHORTER <= quarter and not name.endswith((".", "!")) and name.count(" ") < 3 else 0


def _count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows at the top are narrower than the names, as titles and notes are; 0 without such names."""
    width = len(rows[0])
    if width < 2:
        return 0
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows[: MOST_TITLES + 1]]
    usual = median(sum(bool(cell.strip()) for cell in row) for row in rows[1:]) if len(rows) > 1 else 0
    narrow = max(1, min(width, usual) // 2) if usual > 1 else 0
    above = next((number for number, cells in enumerate(filled) if cells > narrow), 0)
    return above if 0 < above < len(rows) - 1 else _find_known(rows, filled)


def _find_known(rows: Sequence[Sequence[str]], filled: Sequence[int]) -> int:
    """Return the first row of known names below others that are no names; 0 where it is the first, or there is none."""
    if knows_names(rows[0], rows[1:]):
        return 0
    for place in range(1, min(len(filled), len(rows) - 1)):
        known = sum(map(column_names.is_known, rows[place]))
        if known >= 2 and 2 * known >= filled[place] and knows_names(rows[place], rows[place + 1 :]):
            fuller = filled[place] > max(filled[:place])
            return place if fuller or not has_header(rows[0], rows[1:]) else 0
    return 0


def _add_lines_below(rows: Sequence[Sequence[str]], above: int, *, sure: bool) -> Heading:
    """Return the heading with further lines of names: questions of Qualtrics, answers of SurveyMonkey, units."""
    below = rows[above + 1 :]
    for number, row in enumerate(below[:2], 1):
        filled = [cell for cell in row if cell.strip()]
        if filled and 2 * sum(_IMPORT.match(cell) is not None for cell in filled) >= len(filled):
            return Heading(above, 1 + number, sure, "the questions and ImportIds of Qualtrics")
    if len(below) > 2 and _is_under_names(rows[above], below[0], below[1:]):
        return Heading(above, 2, sure, "which has more of the names")
    return Heading(above, 1, sure)


def _is_under_names(names: Sequence[str], row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the line below the names is another one of names."""
    cells = [cell.strip() for cell in row]
    if len(row) != len(names) or any(is_number(cell) or parse_date(cell) is not None for cell in cells):
        return False
    said = [cell.lower() for cell in cells if cell]
    if not said:
        return False
    if any(cell in _UNDER_QUESTIONS for cell in said):
        return True
    unlike, like = 0, 0
    for place, cell in enumerate(cells):
        filled = [each[place].strip() for each in below if place < len(each) and each[place].strip()]
        filled = [value for value in filled if not is_missing(value)]
        if not cell or is_missing(cell) or not filled:
            continue
        like += cell in filled
        unlike += (_are_numbers(filled) or is_date_column("", filled)) and cell not in filled
    gaps = sum(not name.strip() and bool(cell) for name, cell in zip(names, cells, strict=False))
    return not like and (unlike >= 2 or (gaps >= 1 and (unlike >= 1 or 2 * gaps >= len(said))))


def name_columns(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names in one or more lines: a group above several columns stands before each of them.

    A cell without a name, as pandas leaves above its index, gets its number.

    >>> name_columns([["", " text "]]), name_columns([["Who", "", "Why?"], ["name", "age", "Response"]])
    (('column 1', 'text'), ('Who name', 'Who age', 'Why?'))
    """
    first = [" ".join(cell.split()) for cell in rows[0]]
    if len(rows) == 1 or (all(first) and len(set(first)) == len(first)):
        return tuple(name or f"column {number}" for number, name in enumerate(first, 1))
    found, group = [], ""
    for number, (name, cell) in enumerate(zip(first, rows[1], strict=True), 1):
        under = " ".join(cell.split())
        group = name or group
        said = "" if under == group or (name and under.lower() in _UNDER_QUESTIONS) else under
        above = group if name or said else ""
        found.append(" ".join(part for part in (above, said) if part) or f"column {number}")
    return tuple(found)
