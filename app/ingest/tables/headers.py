"""The names of a table's columns, in lines found by known names or by their difference from the other lines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

from topiary.app.ingest.errors import plural
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables import names as column_names
from topiary.app.ingest.tables.roles import split_columns
from topiary.app.ingest.tables.values import is_date_column, is_missing, is_number, parse_date

MOST_LETTERS = 2_000  # letters of a column name, which may be a whole question
PROSE = 20  # median letters of a column of texts, in which short cells may be names
SHORTER = 3  # factor by which a name is shorter than nearly all texts below it
MOST_TITLES = 20  # lines of titles above the names, at most
_NUMBER_SHARE = 0.9  # share of numbers in a column of numbers, at least
_IMPORT_ID = re.compile(r"""['"]*\{['"]+ImportId['"]+:""")
# The types and flags of Orange, in the second and third line of a table, or before the names, as in ``mS#Title``.
_ORANGE_TYPES = frozenset(("d", "discrete", "c", "continuous", "s", "string", "t", "time", "text", "basket"))
_ORANGE_FLAGS = frozenset(("class", "c", "meta", "m", "ignore", "i", "weight", "w", "instance", "-dc", "dc"))
_ORANGE_PREFIX = re.compile(r"([cimw]{0,2})([CDST]?)#(?=[^\s#])")
_ORANGE = "the types and flags of Orange"
_UNDER_QUESTIONS = frozenset((
    "response", "open-ended response", "other (please specify)", "antwort", "offene antwort", "sonstiges",
    "other (specify)", "réponse", "réponse ouverte",
))  # fmt: skip


class TableHeading(NamedTuple):
    """The position of the column names in the first rows of a table.

    Attributes
    ----------
    above : int
        Number of rows above the names, such as a title or notes.
    rows : int
        Number of rows with the names; 0 if there are none.
    sure : bool
        Whether this is certain, because names are known.
    kind : str
        What the further rows of names are, in words, or empty.
    """

    above: int
    rows: int
    sure: bool = True
    kind: str = ""


def find_heading(rows: Sequence[Sequence[str]], *, header: str = "auto", titles: bool = True) -> TableHeading:
    """Return the position of the column names.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first rows, all of the same width.
    header : str
        ``"auto"``, ``"yes"`` or ``"no"``.
    titles : bool
        Whether to search for lines above the names.
    """
    if header == "no" or not rows:
        return TableHeading(0, 0)
    above = _count_titles(rows) if titles else 0
    if above and not has_header(rows[above], rows[above + 1 :]):
        above = 0
    sure = knows_names(rows[above], rows[above + 1 :])
    if above or header == "yes":
        return _add_lines_below(rows, above, sure=sure or header == "yes")
    has_names = has_header(rows[0], rows[1:])
    if has_names or (has_names is None and any(map(column_names.is_known, rows[0]))):
        return _add_lines_below(rows, 0, sure=sure)
    return TableHeading(0, 0, sure=False)


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool | None:
    """Return whether the first line has column names, by comparison with the lines below it.

    Parameters
    ----------
    first : sequence of str
        The cells of the first line.
    rows : sequence of sequences of str
        The cells of the next lines; rows of other lengths are ignored.

    Returns
    -------
    bool or None
        None if there is no evidence: the table is one line, or its first line is like any other.

    Notes
    -----
    Known names decide.  Otherwise the difference between the first cell and the others is weighed in each column: text
    above numbers or dates, a short cell above long ones, a question above answers, or a unique value above repeated
    ones.  A number is hardly ever a name.
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
    """Return whether names are 0, 1, 2 and so on above other values, as pandas writes for columns without names."""
    numbers = names[1:] if not names[0] else names
    if len(numbers) < 2 or not body or numbers[0] not in ("0", "1"):
        return False
    if list(numbers) != [str(int(numbers[0]) + place) for place in range(len(numbers))]:
        return False
    return not all(all(map(is_number, filter(None, row))) for row in body)


def knows_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a line has known column names: two, a single unambiguous one, or one in a table of one column.

    A name that is repeated below is a value, such as "article" in a table of articles and comments.
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
    """Return a column's evidence that its first cell is a name (positive) or a value like the others (negative)."""
    filled = [value for value in values if value and not is_missing(value)]
    if not filled:
        return 0
    if not name:  # as in pandas and R above row numbers
        return 2 if filled[:2] in (["0", "1"], ["1", "2"]) or filled in (["0"], ["1"]) else 0
    if is_missing(name):
        return 0
    if is_number(name):
        return -4
    if is_date_column("", filled):
        return 3 if parse_date(name) is None else -3
    if _are_all_numbers(filled):
        return 3
    if name in filled:
        return -3
    lengths = sorted(map(len, filled))
    if median(lengths) >= PROSE:
        return _weigh_texts(name, filled, lengths)
    if len(set(filled)) > len(filled) // 3:
        return 0
    return 2 if len(name) >= PROSE and len(name) > 2 * lengths[-1] else 1  # a question above a choice of answers


def _are_all_numbers(filled: list[str]) -> bool:
    return sum(map(is_number, filled)) >= (_NUMBER_SHARE * len(filled) if len(filled) >= 10 else len(filled))


def _weigh_texts(name: str, filled: list[str], lengths: list[int]) -> int:
    """Return the evidence, as `_weigh_column`, of a column of texts with these sorted lengths."""
    if name.endswith(("?", ":")) and sum(value.endswith(name[-1]) for value in filled) < len(filled) / 5:
        return 2
    fifth_percentile, quartile = lengths[len(lengths) // 20], lengths[len(lengths) // 4]
    if len(name) * SHORTER <= fifth_percentile:
        return 2
    if len(name) >= quartile:
        return -2
    return 1 if len(name) * SHORTER <= quartile and not name.endswith((".", "!")) and name.count(" ") < 3 else 0


def _count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows above the names, which are narrower like titles and notes; 0 if there are none."""
    width = len(rows[0])
    if width < 2:
        return 0
    n_filled = [sum(bool(cell.strip()) for cell in row) for row in rows[: MOST_TITLES + 1]]
    usual = median(sum(bool(cell.strip()) for cell in row) for row in rows[1:]) if len(rows) > 1 else 0
    narrow = max(1, min(width, usual) // 2) if usual > 1 else 0
    above = next((number for number, n_cells in enumerate(n_filled) if n_cells > narrow), 0)
    return above if 0 < above < len(rows) - 1 else _find_known(rows, n_filled)


def _find_known(rows: Sequence[Sequence[str]], n_filled: Sequence[int]) -> int:
    """Return the index of the first row of known names, below rows without names; 0 if there is no such row."""
    if knows_names(rows[0], rows[1:]):
        return 0
    for index in range(1, min(len(n_filled), len(rows) - 1)):
        n_known = sum(map(column_names.is_known, rows[index]))
        if n_known >= 2 and 2 * n_known >= n_filled[index] and knows_names(rows[index], rows[index + 1 :]):
            is_fullest = n_filled[index] > max(n_filled[:index])
            return index if is_fullest or not has_header(rows[0], rows[1:]) else 0
    return 0


def _add_lines_below(rows: Sequence[Sequence[str]], above: int, *, sure: bool) -> TableHeading:
    """Return the heading with further lines of names, as for Qualtrics questions, SurveyMonkey answers, or units."""
    below = rows[above + 1 :]
    for number, row in enumerate(below[:2], 1):
        filled = [cell for cell in row if cell.strip()]
        if filled and 2 * sum(_IMPORT_ID.match(cell) is not None for cell in filled) >= len(filled):
            return TableHeading(above, 1 + number, sure, "the questions and ImportIds of Qualtrics")
    if len(below) > 2 and _are_orange_lines(below[0], below[1], below[2:]):
        return TableHeading(above, 3, sure=True, kind=_ORANGE)
    if len(below) > 2 and _is_under_names(rows[above], below[0], below[1:]):
        return TableHeading(above, 2, sure, "which has more of the names")
    return TableHeading(above, 1, sure)


def _are_orange_lines(types: Sequence[str], flags: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether two lines below the names are the types and the flags of Orange, and not rows like the others."""
    cells = [cell.strip() for cell in types]
    if not any(cell.lower() in _ORANGE_TYPES for cell in cells) or len(flags) != len(types):
        return False
    if not all(word.lower() in _ORANGE_FLAGS or "=" in word for cell in flags for word in cell.split()):
        return False
    columns = [{row[place].strip() for row in body if place < len(row)} for place in range(len(cells))]
    return all(
        (cell.lower() in _ORANGE_TYPES and cell not in values) or (values - {"", "?"} <= set(cell.split()))
        for cell, values in zip(cells, columns, strict=True)
    )


def _find_orange_roles(names: Sequence[str], flags: Sequence[str]) -> dict[str, str]:
    """Return the columns that flags of Orange name as the class, the title and the texts, by the option for each."""
    words = [[word.lower() for word in cell.split()] for cell in flags]
    texts = [name for name, cell in zip(names, words, strict=True) if "include=true" in cell]
    classes = [name for name, cell in zip(names, words, strict=True) if "class" in cell or "c" in cell]
    titles = [name for name, cell in zip(names, words, strict=True) if "title=true" in cell]
    quoted = ",".join(f'"{name}"' if "," in name else name for name in texts)
    roles = {"text_column": quoted, "label_column": "".join(classes[:1]), "title_column": "".join(titles[:1])}
    return {option: name for option, name in roles.items() if name}


def _is_under_names(names: Sequence[str], row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the line below the names has more of the names."""
    cells = [cell.strip() for cell in row]
    if len(row) != len(names) or any(is_number(cell) or parse_date(cell) is not None for cell in cells):
        return False
    lower = [cell.lower() for cell in cells if cell]
    if not lower:
        return False
    if any(cell in _UNDER_QUESTIONS for cell in lower):
        return True
    n_unlike, n_alike = 0, 0
    for column, cell in enumerate(cells):
        filled = [each[column].strip() for each in below if column < len(each) and each[column].strip()]
        filled = [value for value in filled if not is_missing(value)]
        if not cell or is_missing(cell) or not filled:
            continue
        n_alike += cell in filled
        n_unlike += (_are_all_numbers(filled) or is_date_column("", filled)) and cell not in filled
    n_gaps = sum(not name.strip() and bool(cell) for name, cell in zip(names, cells, strict=False))
    return not n_alike and (n_unlike >= 2 or (n_gaps >= 1 and (n_unlike >= 1 or 2 * n_gaps >= len(lower))))


def name_columns(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the column names from one or two lines; a group name above several columns precedes each of them.

    A column without a name, such as the index of pandas, is named by its number.

    >>> name_columns([["", " text "]]), name_columns([["Who", "", "Why?"], ["name", "age", "Response"]])
    (('column 1', 'text'), ('Who name', 'Who age', 'Why?'))
    """
    first = [" ".join(cell.split()) for cell in rows[0]]
    if len(rows) == 1 or (all(first) and len(set(first)) == len(first)):
        return tuple(name or f"column {number}" for number, name in enumerate(first, 1))
    names, group = [], ""
    for number, (name, cell) in enumerate(zip(first, rows[1], strict=True), 1):
        second = " ".join(cell.split())
        group = name or group
        below = "" if second == group or (name and second.lower() in _UNDER_QUESTIONS) else second
        above = group if name or below else ""
        names.append(" ".join(part for part in (above, below) if part) or f"column {number}")
    return tuple(names)


_NOT_DOCUMENTS = "not read as documents"
ROW_NAME = "row name"  # name of the column that R writes without one


class Names(NamedTuple):
    """The names of the columns, and their position in the first lines of the table.

    Attributes
    ----------
    names : tuple of str
    header : bool
        Whether the table itself has the names.
    above, rows : int
        Number of rows above the names, and of rows with names.
    line : tuple of str
        The cells of the first row with names.
    sure : bool
        Whether this is certain, because of known names or the options.
    below : str
        What a second line of names seems to be, in words, or empty.
    notes : tuple of str
        Sentences for the user about these lines.
    roles : mapping of str to str
        Columns that the table itself names for a role, by the import option for it.
    """

    names: tuple[str, ...]
    header: bool
    above: int = 0
    rows: int = 0
    line: tuple[str, ...] = ()
    sure: bool = True
    below: str = ""
    notes: tuple[str, ...] = ()
    roles: Mapping[str, str] = {}

    def complete_options(self, options: ImportOptions) -> ImportOptions:
        """Return the options with the columns that the table itself names, where the options name none."""
        own: dict[str, Any] = {option: name for option, name in self.roles.items() if getattr(options, option) is None}
        return replace(options, **own) if own else options

    @property
    def body(self) -> int:
        """The number of rows before the first document."""
        return self.above + self.rows

    @property
    def understood(self) -> str:
        """The position of the names, in words."""
        if not self.header:
            return "none"
        if self.above:
            return f"below {plural(self.above, 'line')} of titles or notes"
        return "the first line" if self.rows == 1 else f"the first {self.rows} lines"

    @property
    def guess(self) -> str:
        """A sentence that unknown names, or no names, are a guess; empty if the names are certain."""
        if not self.header:
            return "" if self.sure else "no line of column names is found (change it with --header)"
        sentences = []
        if self.above:
            lines, verb = plural(self.above, "line"), "is" if self.above == 1 else "are"
            above = f"{lines} above the column names, {self.line_said}"
            sentences.append(f"{above}, {verb} left out (change it with --skip-lines)")
        elif not self.sure:
            sentences.append(f"the first line is taken for column names by its looks: {self.line_said}")
            sentences[-1] += " (change it with --header)"
        if self.below:
            sentences.append(f"the line below it, {self.below}, is not read as a document (change it with --header)")
        return "; ".join(sentences)

    @property
    def line_said(self) -> str:
        """The cells of the line of names, shortened."""
        cells = ", ".join(repr(cell if len(cell) <= 30 else f"{cell[:29]}…") for cell in self.line if cell)
        return cells if len(cells) <= 90 else f"{cells[:89]}…"


def read_names(sample: Sequence[Sequence[str]], options: ImportOptions, *, row_names: bool = False) -> Names:
    """Return the names of a table's columns, found in its first rows.

    Repeated names are numbered, with a note.

    Parameters
    ----------
    row_names : bool
        Whether the line of names is one cell shorter than the rows, which begin with names of their own.
    """
    if row_names and options.header != "no":
        first = [ROW_NAME, *sample[0]]
        names, notes = number_names(name_columns([first]))
        note = f"the rows begin with names of their own, as R writes them, here in the column {ROW_NAME!r}"
        return Names(names, header=True, rows=1, line=tuple(sample[0]), notes=(note, *notes))
    titles = options.skip_lines is None
    has_prefixes = options.header != "no" and _have_orange_prefixes(sample[0])
    header = "yes" if has_prefixes or _has_requested(sample[0], options) else options.header
    heading = find_heading(sample, header=header, titles=titles)
    if not heading.rows:
        return Names(tuple(str(n) for n in range(1, len(sample[0]) + 1)), header=False, sure=options.header == "no")
    lines = sample[heading.above : heading.above + heading.rows]
    flags = lines[2] if heading.kind == _ORANGE else list(map(_read_orange_prefix, lines[0])) if has_prefixes else ()
    read_lines = [[_ORANGE_PREFIX.sub("", cell, count=1) for cell in lines[0]]] if has_prefixes else lines
    names, notes = number_names(name_columns(read_lines[: 2 if not _is_about_columns(heading.kind) else 1]))
    if heading.kind:
        lines_below = plural(heading.rows - 1, "line")
        notes = (f"{lines_below} below the column names, {heading.kind}, {_NOT_DOCUMENTS}", *notes)
    if heading.above:
        lines_above = " / ".join(" ".join(" ".join(row).split()) for row in sample[: heading.above])
        notes = (f"left out above the column names: {lines_above[:80]!r}", *notes)
    return Names(
        names,
        header=True,
        above=heading.above,
        rows=heading.rows,
        line=tuple(lines[0]),
        sure=heading.sure,
        below="" if _is_about_columns(heading.kind) else heading.kind,
        notes=notes,
        roles=_find_orange_roles(names, flags) if flags else {},
    )


def _is_about_columns(kind: str) -> bool:
    """Return whether lines below the names describe the columns in the form of a program, and do not name them."""
    return "Qualtrics" in kind or kind == _ORANGE


def _have_orange_prefixes(cells: Sequence[str]) -> bool:
    """Return whether names have the prefixes of Orange, such as ``mS#Title`` and ``C#``."""
    matches = [match for cell in cells if (match := _ORANGE_PREFIX.match(cell))]
    return any(match[1] for match in matches) or (len(matches) > 1 and all(match[2] for match in matches))


def _read_orange_prefix(cell: str) -> str:
    """Return the flags of the prefix of a name, in words."""
    match = _ORANGE_PREFIX.match(cell)
    return " ".join(match[1]) if match else ""


def number_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return unique names, numbering repeated ones, and notes about those that were changed.

    >>> number_names(["id", "text", "id"])
    (('id', 'text', 'id 2'), ("the column 'id' is there twice; the second one is called 'id 2'",))
    """
    unique: dict[str, None] = {}
    changed = []
    for name in names:
        new, number = name, 2
        while new in unique or (new != name and new in names):
            new, number = f"{name} {number}", number + 1
        if new != name:
            changed.append(new)
        unique[new] = None
    if not changed:
        return tuple(unique), ()
    if len(changed) == 1:
        name = changed[0].rpartition(" ")[0]
        return tuple(unique), (f"the column {name!r} is there twice; the second one is called {changed[0]!r}",)
    examples = ", ".join(map(repr, changed[:6])) + (", ..." if len(changed) > 6 else "")
    return tuple(unique), (f"columns of the same name are there several times; the later ones are called {examples}",)


def _has_requested(cells: Sequence[str], options: ImportOptions) -> bool:
    """Return whether a line has the name of a column given in the options."""
    if options.header != "auto":
        return False
    names = [" ".join(cell.split()) for cell in cells]
    single = (options.title_column, options.label_column, options.split_column)
    columns = {*split_columns(options.text_column, names), *(name for name in single if name is not None)}
    return any(name in columns for name in names if name)
