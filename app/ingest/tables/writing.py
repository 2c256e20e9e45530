"""Detect the dialect of a .csv or .tsv table (separator and quotation mark), and read its cells."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import QUOTES, USUAL, ImportOptions, describe_separator, find_separator
from topiary.app.ingest.tables.headers import MOST_TITLES, has_header, knows_names

Quoting: TypeAlias = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

_QUOTES = {'"': "double quotation mark", "'": "single quotation mark"}
ADVICE = "correct it, or say with --separator and --quote how cells are written"
_SAMPLE_LINES = 1_000  # lines from which the dialect is detected
_SAMPLE_SIZE = 1 << 18  # characters of these lines, approximately
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a first line that tells Excel the separator
_QUOTED_BY_BLANKS = re.compile(r'"[^"]*"(?: (?:"[^"]*"|[\w.+-]+))+\s*')  # cells as R's write.table writes them
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"\s*')
_FEWEST_BODY_ROWS = 3  # rows of equal width needed below narrower ones to take those for titles or notes
_PROSE_MARGIN = 0.3  # difference in the share of prose-like marks (see `_rate_prose`) that rules out a separator


class Writing(NamedTuple):
    """The dialect in which the cells of a table are written.

    Attributes
    ----------
    doubt : str
        Other separators that fit equally well; empty if the choice is clear.
    skip : int
        Number of lines to skip at the top: titles, notes, or a line that names the separator.
    left_out : str
        Text of the skipped lines if they were detected, not set by the options.
    row_names : bool
        Whether the first row has one cell fewer than the others, as in tables that R writes with row names.
    """

    delimiter: str
    quoting: Quoting
    quote: str = '"'
    escape: str | None = None
    doubt: str = ""
    skip: int = 0
    left_out: str = ""
    row_names: bool = False

    @property
    def separator(self) -> str:
        """The name of the separator."""
        return describe_separator(self.delimiter)

    def describe(self) -> dict[str, str]:
        """Return the names of the separator and the quotation mark, for the import report."""
        quote = _QUOTES[self.quote] + (" (behind a backslash within cells)" if self.escape else "")
        return {"separator": self.separator, "quote": "none" if self.quoting == csv.QUOTE_NONE else quote}


class Marks(NamedTuple):
    """The separator and quotation mark (empty: none) that the user chose; None for one to be detected."""

    delimiter: str | None = None
    quote: str | None = None


def find_marks(options: ImportOptions) -> Marks:
    """Return the separator and quotation mark that the options set."""
    delimiter = None if options.separator is None else find_separator(options.separator)
    return Marks(delimiter, None if options.quote is None else QUOTES[options.quote])


class _Fit(NamedTuple):
    """A dialect under which all rows have the same width, with these rows."""

    how: Writing
    rows: list[list[str]]


def find_writing(path: Path, options: ImportOptions, is_name: Callable[[str], bool] = lambda _: False) -> Writing:
    """Return the dialect of a file: that of the options, or else one that makes its first rows equally wide.

    Parameters
    ----------
    options : ImportOptions
        Encoding, separator, quotation mark and lines to skip are read.
    is_name : callable
        Tells whether a cell looks like a column name, which decides if several dialects fit.

    Raises
    ------
    IngestError
        When all lines are blank.
    """
    lines, size = [], 0
    texts = (text for _, text in files.read_lines(path, options.encoding, keep_ends=True))
    for text in texts:
        lines.append(text)
        size += len(text)
        if len(lines) >= _SAMPLE_LINES or size >= _SAMPLE_SIZE:
            break
    if not any(text.strip() for text in lines):
        raise IngestError(path, "is empty")
    how = find_writing_in(
        lines,
        path,
        whole=next(texts, None) is None,
        is_name=is_name,
        marks=find_marks(options),
        skip=options.skip_lines,
    )
    if how.skip and not any(text.strip() for text in lines[how.skip :]):
        raise IngestError(path, f"has nothing below its first {how.skip} lines; lower --skip-lines")
    return how


def find_writing_in(
    lines: Sequence[str],
    path: Path,
    *,
    whole: bool,
    is_name: Callable[[str], bool] = lambda _: False,
    marks: Marks = Marks(),  # noqa: B008 - a tuple
    skip: int | None = None,
) -> Writing:
    """Return the dialect of some lines; ``whole`` means that they are the whole file.

    Parameters
    ----------
    skip : int or None
        Lines to skip at the top; None: detect those that are not rows.
    """
    if skip is None and lines and (named := _SEPARATOR_LINE.fullmatch(lines[0])):
        marks = marks if marks.delimiter is not None else marks._replace(delimiter=named[1])
        skip = 1
    how, fits = _find_writing(lines[skip or 0 :], path, marks, is_name, whole=whole)
    if fits or skip is not None:
        return how._replace(skip=skip or 0)
    return _find_below_titles(lines, path, marks, whole=whole) or how


def _find_writing(
    lines: Sequence[str], path: Path, marks: Marks, is_name: Callable[[str], bool], *, whole: bool
) -> tuple[Writing, bool]:
    """Return the dialect, and whether all rows are equally wide under it."""
    first = next((text for text in lines if text.strip()), "")
    fits = [
        fit
        for delimiter in _list_separators(first, path, marks)
        if (fit := _choose_quoting(lines, delimiter, marks.quote, whole=whole))
    ]
    if not fits:
        return _guess_writing(first, path, marks), False
    if len(fits) == 1:
        return fits[0].how, True
    name_counts = [sum(map(is_name, fit.rows[0])) for fit in fits]
    best = [fit for fit, count in zip(fits, name_counts, strict=True) if count == max(name_counts)]
    if len(best) == 1:
        return best[0].how, True
    prose_shares = [_rate_prose(lines, fit.how.delimiter) for fit in best]
    best = [fit for fit, share in zip(best, prose_shares, strict=True) if share <= min(prose_shares) + _PROSE_MARGIN]
    chosen = max(best, key=lambda fit: len(fit.rows[0]))
    others = " or ".join(fit.how.separator for fit in fits if fit is not chosen)
    return chosen.how._replace(doubt=others), True


def _find_below_titles(lines: Sequence[str], path: Path, marks: Marks, *, whole: bool) -> Writing | None:
    """Return the dialect if the first rows are narrower (a header above R's row names, or titles), else None."""
    below: list[_Fit] = []
    for delimiter in _list_separators(lines[-1], path, marks):
        dialects = [Writing(delimiter, csv.QUOTE_MINIMAL), Writing(delimiter, csv.QUOTE_NONE)]
        if marks.quote is not None:
            dialects = [Writing(delimiter, csv.QUOTE_MINIMAL, marks.quote) if marks.quote else dialects[1]]
        fits = (fit for dialect in dialects if (fit := _try_writing(lines, dialect, whole=whole, uneven=True)))
        below += [fit for fit in fits if _is_below_names(fit) or fit.how.skip][:1]
    if not below:
        return None
    best = max(below, key=lambda fit: len(fit.rows[-1]))
    if not best.how.skip:
        return best.how._replace(row_names=True)
    return best.how._replace(left_out=" / ".join(" ".join(line.split()) for line in lines[: best.how.skip]))


def _is_below_names(fit: _Fit) -> bool:
    """Return whether the first row names all columns except the first, whose cells are unique row names."""
    first, *body = fit.rows
    if len(first) != len(body[-1]) - 1 or len(first[0].split()) > 10:
        return False
    names = [row[0].strip() for row in body]
    if len(body) < 2 or has_header(first, [row[1:] for row in body]) is False:
        return False
    if len(first) == 1 and not all(map(str.isdecimal, names)):
        return False
    prose = sum(row[1].startswith(" ") for row in body)
    return len(set(names)) == len(names) and max(map(len, names)) <= 80 and 2 * prose < len(body)


def _list_separators(first: str, path: Path, marks: Marks) -> Sequence[str]:
    """Return the candidate separators of a file."""
    if marks.delimiter is not None:
        return (marks.delimiter,)
    if files.find_suffix(path) == ".tsv" and "\t" in first:
        return ("\t",)
    return (*USUAL, " ") if _QUOTED_BY_BLANKS.fullmatch(first) else USUAL


def _choose_quoting(lines: Sequence[str], delimiter: str, quote: str | None, *, whole: bool) -> _Fit | None:
    """Return the quoting that makes rows with this separator equally wide, with these rows; None if none does."""
    if not any(delimiter in line for line in lines):
        return None
    if quote is not None:
        how = Writing(delimiter, csv.QUOTE_MINIMAL, quote) if quote else Writing(delimiter, csv.QUOTE_NONE)
        fit = _try_writing(lines, how, whole=whole)
        return fit or (_try_escaped(lines, delimiter, quote, whole=whole) if quote else None)
    double, none = (_try_writing(lines, Writing(delimiter, quoting), whole=whole) for quoting in _QUOTINGS)
    if delimiter in "\t|" and none and not (double and (_is_quoted(none.rows, '"') or _is_quoted_where_needed(none))):
        return none  # such files rarely quote, and a lone " would swallow lines
    used = any(line.startswith("'") or f"{delimiter}'" in line for line in lines)
    single = _try_writing(lines, Writing(delimiter, csv.QUOTE_MINIMAL, "'"), whole=whole) if used else None
    if single and (double is None or _is_quoted(double.rows, "'")):
        return single
    return double or _try_escaped(lines, delimiter, '"', whole=whole)


def _try_escaped(lines: Sequence[str], delimiter: str, quote: str, *, whole: bool) -> _Fit | None:
    """Return the rows if a backslash escapes quotation marks within cells; None if they are not equally wide."""
    if delimiter == "\\":
        return None
    return _try_writing(lines, Writing(delimiter, csv.QUOTE_MINIMAL, quote, escape="\\"), whole=whole)


_QUOTINGS: tuple[Quoting, Quoting] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)


def _try_writing(lines: Sequence[str], how: Writing, *, whole: bool, uneven: bool = False) -> _Fit | None:
    """Return the rows under a dialect; None if they are not equally wide, or if one row takes most of the lines.

    Parameters
    ----------
    uneven : bool
        Whether rows at the top may be narrower than all others: the first one by one cell, or titles and notes.
    """
    rows: list[list[str]] = []
    first_lines: list[int] = []
    reader = make_csv_reader(iter(lines), how)
    line_end = 0
    try:
        for row in reader:
            if row:
                rows.append(row)
                first_lines.append(line_end)
            line_end, line_start = reader.line_num, line_end
    except csv.Error:
        if whole or 2 * line_end < len(lines):
            return None
    else:
        if not whole and len(rows) > 1:  # the last row may go on beyond the sample
            rows.pop()
            if 2 * line_start < len(lines):
                return None
    if not rows:
        return None
    if uneven:
        return _drop_titles(rows, first_lines, how)
    widths = set(map(len, rows))
    return _Fit(how, rows) if len(widths) == 1 and widths != {1} else None


def _drop_titles(rows: list[list[str]], first_lines: Sequence[int], how: Writing) -> _Fit | None:
    """Return the rows below titles and notes, or all rows if only the first lacks one cell; None otherwise."""
    width = len(rows[-1])
    n_above = max((number for number, row in enumerate(rows, 1) if len(row) != width), default=0)
    if width < 2 or not 0 < n_above <= MOST_TITLES or any(len(row) > width for row in rows[:n_above]):
        return None
    if n_above == 1 and len(rows[0]) == width - 1 and not _are_notes(rows[:1]):
        return _Fit(how, rows)
    names, body = rows[n_above], rows[n_above + 1 :]
    if (
        len(body) + 1 < _FEWEST_BODY_ROWS
        or not has_header(names, body)
        or any(knows_names(row, ()) for row in rows[:n_above])
    ):
        return None
    wide = any(2 * len(row) > width and len(row) > 1 for row in rows[:n_above])
    if wide and not (_are_notes(rows[:n_above]) or knows_names(names, body)):
        return None
    return _Fit(how._replace(skip=first_lines[n_above]), rows[n_above:])


def _are_notes(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether all rows begin with a comment sign."""
    return all(row[0].startswith(("#", "%", "//")) for row in rows)


def _is_quoted(rows: Sequence[Sequence[str]], quote: str) -> bool:
    """Return whether all cells of some column, except its name, are enclosed in this quotation mark."""
    for column in zip(*rows[1:] or rows, strict=True):
        filled = [cell for cell in column if cell]
        if filled and all(len(cell) > 1 and cell[0] == cell[-1] == quote for cell in filled):
            return True
    return False


def _is_quoted_where_needed(fit: _Fit) -> bool:
    """Return whether cells that begin with a quotation mark also end with one, and double all others."""
    quoted = [cell for row in fit.rows for cell in row if cell.startswith('"')]
    return bool(quoted) and all(map(_QUOTED_CELL.fullmatch, quoted))


def _rate_prose(lines: Sequence[str], delimiter: str) -> float:
    """Return the share of separators that look like prose: followed by a blank, or a comma between two digits."""
    total = sum(line.count(delimiter) for line in lines)
    decimal = r"|(?<=\d),(?=\d)" if delimiter == "," else ""
    prose_like = re.compile(f"{re.escape(delimiter)} {decimal}")
    return sum(len(prose_like.findall(line)) for line in lines) / max(total, 1)


def _guess_writing(first: str, path: Path, marks: Marks) -> Writing:
    """Guess the dialect from the first line."""
    delimiter = marks.delimiter or ("\t" if files.find_suffix(path) == ".tsv" else max(USUAL, key=first.count))
    if marks.quote:
        return Writing(delimiter, csv.QUOTE_MINIMAL, marks.quote)
    if marks.quote is not None or (delimiter == "\t" and not first.startswith('"')):
        return Writing(delimiter, csv.QUOTE_NONE)
    return Writing(delimiter, csv.QUOTE_MINIMAL)


def read_cells(path: Path, how: Writing, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Yield ``(number of the line on which the row begins, cells)`` of every row that is not empty."""
    texts = (text for _, text in files.read_lines(path, encoding, keep_ends=True))
    reader = make_csv_reader(islice(texts, how.skip, None) if how.skip else texts, how)
    line = 1 + how.skip
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            cause = f"the row that begins here cannot be read ({error}), separated by {how.separator}; {ADVICE}"
            raise IngestError(path, cause, line) from None
        if row is None:
            return
        if row:
            yield line, row
        line = reader.line_num + how.skip + 1


def make_csv_reader(lines: Iterator[str], how: Writing) -> Any:
    """Return a CSV reader of the lines in this dialect."""
    csv.field_size_limit(files.LARGEST_TEXT)
    return csv.reader(
        lines,
        delimiter=how.delimiter,
        quoting=how.quoting,
        quotechar=how.quote,
        escapechar=how.escape,
        doublequote=how.escape is None,
        strict=True,
    )
