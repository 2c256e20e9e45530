"""What the columns of a table are called: by its first lines, or by number."""

from collections.abc import Sequence
from typing import NamedTuple

from app.ingest.headers import find_heading, name_columns
from app.ingest.options import ImportOptions
from app.ingest.roles import split_columns

_NO_DOCUMENT = "not read as documents"
ROW_NAME = "row name"  # of the column that R writes without a name


class Names(NamedTuple):
    """The names of the columns, and where the first lines of the table have them.

    Attributes
    ----------
    names : tuple of str
    header : bool
        Whether lines of the table have the names.
    above, rows : int
        Rows above the names, and rows that have them.
    line : tuple of str
        The cells of the first of these rows.
    sure : bool
        Whether known names, or the options, settled it.
    below : str
        What a second line of names is taken for by its looks, or empty.
    notes : tuple of str
        What was made of these lines, for the user.
    """

    names: tuple[str, ...]
    header: bool
    above: int = 0
    rows: int = 0
    line: tuple[str, ...] = ()
    sure: bool = True
    below: str = ""
    notes: tuple[str, ...] = ()

    @property
    def body(self) -> int:
        """Rows before the first document."""
        return self.above + self.rows

    @property
    def understood(self) -> str:
        """Where the names are, in words."""
        if not self.header:
            return "none"
        if self.above:
            return f"below {_plural(self.above, 'line')} of titles or notes"
        return "the first line" if self.rows == 1 else f"the first {self.rows} lines"

    @property
    def guess(self) -> str:
        """That the names are not known ones, or none were found, in a sentence; empty where that is certain."""
        if not self.header:
            return "" if self.sure else "no line of column names is found (change it with --header)"
        found = []
        if self.above:
            lines, are = ("1 line", "is") if self.above == 1 else (f"{self.above} lines", "are")
            found.append(
                f"{lines} above the column names, {self.line_said}, {are} left out (change it with --skip-lines)"
            )
        elif not self.sure:
            found.append(f"the first line is taken for column names by its looks: {self.line_said}")
            found[-1] += " (change it with --header)"
        if self.below:
            found.append(f"the line below it, {self.below}, is not read as a document (change it with --header)")
        return "; ".join(found)

    @property
    def line_said(self) -> str:
        """The cells of the line of names, shortened."""
        said = ", ".join(repr(cell if len(cell) <= 30 else f"{cell[:29]}…") for cell in self.line if cell)
        return said if len(said) <= 90 else f"{said[:89]}…"


def read_names(sample: Sequence[Sequence[str]], options: ImportOptions, *, row_names: bool = False) -> Names:
    """Return the names of the columns of a table that begins with these rows.

    A name that comes twice gets a number, which is noted.

    Parameters
    ----------
    row_names : bool
        Whether the line of names is one cell shorter than the rows, whose first cells are names of theirs.
    """
    if row_names:
        first = [ROW_NAME, *sample[0]]
        names, notes = number_names(name_columns([first]))
        note = f"the rows begin with names of their own, as R writes them, here in the column {ROW_NAME!r}"
        return Names(names, header=True, rows=1, line=tuple(sample[0]), notes=(note, *notes))
    titles = options.skip_lines is None
    heading = find_heading(sample, header="yes" if _has_asked(sample[0], options) else options.header, titles=titles)
    if not heading.rows:
        return Names(tuple(str(n) for n in range(1, len(sample[0]) + 1)), header=False, sure=options.header == "no")
    lines = sample[heading.above : heading.above + heading.rows]
    names, notes = number_names(name_columns(lines[: 1 if "Qualtrics" in heading.kind else 2]))
    if heading.kind:
        notes = (f"{_plural(heading.rows - 1, 'line')} below the column names, {heading.kind}, {_NO_DOCUMENT}", *notes)
    if heading.above:
        said = " / ".join(" ".join(" ".join(row).split()) for row in sample[: heading.above])
        notes = (f"left out above the column names: {said[:80]!r}", *notes)
    return Names(
        names,
        header=True,
        above=heading.above,
        rows=heading.rows,
        line=tuple(lines[0]),
        sure=heading.sure,
        below="" if "Qualtrics" in heading.kind else heading.kind,
        notes=notes,
    )


def number_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names that are all different, and notes about those that had to be changed.

    >>> number_names(["id", "text", "id"])
    (('id', 'text', 'id 2'), ("the column 'id' is there twice; the second one is called 'id 2'",))
    """
    found: dict[str, None] = {}
    notes = []
    for name in names:
        new, number = name, 2
        while new in found or (new != name and new in names):
            new, number = f"{name} {number}", number + 1
        if new != name:
            notes.append(new)
        found[new] = None
    if not notes:
        return tuple(found), ()
    if len(notes) == 1:
        name = notes[0].rpartition(" ")[0]
        return tuple(found), (f"the column {name!r} is there twice; the second one is called {notes[0]!r}",)
    called = ", ".join(map(repr, notes[:6])) + (", ..." if len(notes) > 6 else "")
    return tuple(found), (f"columns of the same name are there several times; the later ones are called {called}",)


def _has_asked(cells: Sequence[str], options: ImportOptions) -> bool:
    """Return whether a line has a column that the options name."""
    if options.header != "auto":
        return False
    names = [" ".join(cell.split()) for cell in cells]
    single = (options.title_column, options.label_column, options.split_column)
    asked = {*split_columns(options.text_column, names), *(name for name in single if name is not None)}
    return any(name in asked for name in names if name)


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
