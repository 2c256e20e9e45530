"""How the cells of a table in .csv or .tsv are written: what separates and what quotes them."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import QUOTES, USUAL, ImportOptions, describe_separator, find_separator
from app.ingest.tables.headers import MOST_TITLES, has_header, knows_names

Quoting: TypeAlias = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

_QUOTES = {'"': "double quotation mark", "'": "single quotation mark"}
ADVICE = "correct it, or say with --separator and --quote how cells are written"
_SAMPLE = 1_000  # lines from which it is found how cells are written,
_SAMPLE_SIZE = 1 << 18  # and about so many letters
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # which gives Excel the separator
_QUOTED_BY_BLANKS = re.compile(r'"[^"]*"(?: (?:"[^"]*"|[\w.+-]+))+\s*')  # cells as R's write.table writes them
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"\s*')
_BODY = 3  # rows of one width below others, from which these are titles or notes
_PROSE = 0.3  # how much oftener a comma of prose has a blank after it, or stands in a number, than one between cells


class Writing(NamedTuple):
    """The way in which the cells of a table are written.

    Attributes
    ----------
    doubt : str
        Besides which separator this one was chosen; empty where only one gives rows of equal width.
    skip : int
        Lines at the top that are left out: titles, notes, or one that names the separator.
    left_out : str
        What they say, where they were found and not asked for.
    row_names : bool
        Whether the first row has a cell less than the others, as R writes tables with names of rows.
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
        """The separator by name."""
        return describe_separator(self.delimiter)

    def describe(self) -> dict[str, str]:
        """Return the separator and the quotation mark as a report says them."""
        quote = _QUOTES[self.quote] + (" (behind a backslash within cells)" if self.escape else "")
        return {"separator": self.separator, "quote": "none" if self.quoting == csv.QUOTE_NONE else quote}


class Marks(NamedTuple):
    """The separator and the quotation mark (empty: none) that were chosen; None where they are to be found."""

    delimiter: str | None = None
    quote: str | None = None


def find_marks(options: ImportOptions) -> Marks:
    """Return the separator and the quotation mark of the options."""
    delimiter = None if options.separator is None else find_separator(options.separator)
    return Marks(delimiter, None if options.quote is None else QUOTES[options.quote])


class _Fit(NamedTuple):
    """A way of writing under which all rows have the same width."""

    how: Writing
    rows: list[list[str]]


def find_writing(path: Path, options: ImportOptions, is_name: Callable[[str], bool] = lambda _: False) -> Writing:
    """Find how the cells of a file are written: as the options say, else so that its first rows are equally wide.

    Parameters
    ----------
    options : ImportOptions
        Of them the encoding, the separator and the quotation mark.
    is_name : callable
        Whether a cell looks like the name of a column, which settles it where several ways fit.

    Raises
    ------
    IngestError
        When it has no line that is not blank.
    """
    lines, size = [], 0
    texts = (text for _, text in files.read_lines(path, options.encoding, keep_ends=True))
    for text in texts:
        lines.append(text)
        size += len(text)
        if len(lines) >= _SAMPLE or size >= _SAMPLE_SIZE:
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
    """Find how the cells of some lines are written; ``whole`` says that no others follow.

    Parameters
    ----------
    skip : int or None
        Lines to leave out at the top; None: those that are found to be no rows.
    """
    if skip is None and lines and (named := _SEPARATOR_LINE.fullmatch(lines[0])):
        marks = marks if marks.delimiter is not None else marks._replace(delimiter=named[1])
        skip = 1
    how, fits = _find_writing(lines[skip or 0 :], path, marks, is_name, whole=whole)
    if fits or skip is not None:
        return how._replace(skip=skip or 0)
    return _find_below_others(lines, path, marks, whole=whole) or how


def _find_writing(
    lines: Sequence[str], path: Path, marks: Marks, is_name: Callable[[str], bool], *, whole: bool
) -> tuple[Writing, bool]:
    """Return how the cells are written, and whether all rows are equally wide."""
    first = next((text for text in lines if text.strip()), "")
    fits = [
        fit for each in _list_possible(first, path, marks) if (fit := _rate_fit(lines, each, marks.quote, whole=whole))
    ]
    if not fits:
        return _guess_writing(first, path, marks), False
    if len(fits) == 1:
        return fits[0].how, True
    names = [sum(map(is_name, fit.rows[0])) for fit in fits]
    best = [fit for fit, known in zip(fits, names, strict=True) if known == max(names)]
    if len(best) == 1:
        return best[0].how, True
    prose = [_rate_prose(lines, fit.how.delimiter) for fit in best]
    best = [fit for fit, share in zip(best, prose, strict=True) if share <= min(prose) + _PROSE]
    chosen = max(best, key=lambda fit: len(fit.rows[0]))
    others = " or ".join(fit.how.separator for fit in fits if fit is not chosen)
    return chosen.how._replace(doubt=others), True


def _find_below_others(lines: Sequence[str], path: Path, marks: Marks, *, whole: bool) -> Writing | None:
    """Return how the cells are written where the first rows are narrower: above the row names of R, or titles."""
    found: list[_Fit] = []
    for each in _list_possible(lines[-1], path, marks):
        kinds = [Writing(each, csv.QUOTE_MINIMAL), Writing(each, csv.QUOTE_NONE)]
        if marks.quote is not None:
            kinds = [Writing(each, csv.QUOTE_MINIMAL, marks.quote) if marks.quote else kinds[1]]
        fits = (fit for kind in kinds if (fit := _try_writing(lines, kind, whole=whole, uneven=True)))
        found += [fit for fit in fits if _is_below_names(fit) or fit.how.skip][:1]
    if not found:
        return None
    best = max(found, key=lambda fit: len(fit.rows[-1]))
    if not best.how.skip:
        return best.how._replace(row_names=True)
    return best.how._replace(left_out=" / ".join(" ".join(line.split()) for line in lines[: best.how.skip]))


def _is_below_names(fit: _Fit) -> bool:
    """Return whether the first row names all columns but the first, whose cells are different and no prose."""
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


def _list_possible(first: str, path: Path, marks: Marks) -> Sequence[str]:
    """Return the separators that a file may have."""
    if marks.delimiter is not None:
        return (marks.delimiter,)
    if files.find_suffix(path) == ".tsv" and "\t" in first:
        return ("\t",)
    return (*USUAL, " ") if _QUOTED_BY_BLANKS.fullmatch(first) else USUAL


def _rate_fit(lines: Sequence[str], delimiter: str, quote: str | None, *, whole: bool) -> _Fit | None:
    """Find how cells between these separators are quoted so that rows are equally wide; None where they never are."""
    if not any(delimiter in line for line in lines):
        return None
    if quote is not None:
        how = Writing(delimiter, csv.QUOTE_MINIMAL, quote) if quote else Writing(delimiter, csv.QUOTE_NONE)
        found = _try_writing(lines, how, whole=whole)
        return found or (_try_escaped(lines, delimiter, quote, whole=whole) if quote else None)
    double, none = (_try_writing(lines, Writing(delimiter, quoting), whole=whole) for quoting in _KINDS)
    if delimiter in "\t|" and none and not (double and (_is_quoted(none.rows, '"') or _is_quoted_where_needed(none))):
        return none  # such files rarely quote, and a lone " would swallow lines
    used = any(line.startswith("'") or f"{delimiter}'" in line for line in lines)
    single = _try_writing(lines, Writing(delimiter, csv.QUOTE_MINIMAL, "'"), whole=whole) if used else None
    if single and (double is None or _is_quoted(double.rows, "'")):
        return single
    return double or _try_escaped(lines, delimiter, '"', whole=whole)


def _try_escaped(lines: Sequence[str], delimiter: str, quote: str, *, whole: bool) -> _Fit | None:
    """Find the same where a backslash stands before quotation marks within cells."""
    if delimiter == "\\":
        return None
    return _try_writing(lines, Writing(delimiter, csv.QUOTE_MINIMAL, quote, escape="\\"), whole=whole)


_KINDS: tuple[Quoting, Quoting] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)


def _try_writing(lines: Sequence[str], how: Writing, *, whole: bool, uneven: bool = False) -> _Fit | None:
    """Return the rows for a way of writing; None where they are not equally wide, or most lines are in one row.

    Parameters
    ----------
    uneven : bool
        Whether some rows at the top may be narrower than all others: the first one by a cell, or titles and notes.
    """
    rows: list[list[str]] = []
    begins: list[int] = []
    found = make_csv_reader(iter(lines), how)
    done = 0
    try:
        for row in found:
            if row:
                rows.append(row)
                begins.append(done)
            done, before = found.line_num, done
    except csv.Error:
        if whole or 2 * done < len(lines):
            return None
    else:
        if not whole and len(rows) > 1:  # the last row may go on beyond the sample
            rows.pop()
            if 2 * before < len(lines):
                return None
    if not rows:
        return None
    if uneven:
        return _drop_titles(rows, begins, how)
    widths = set(map(len, rows))
    return _Fit(how, rows) if len(widths) == 1 and widths != {1} else None


def _drop_titles(rows: list[list[str]], begins: Sequence[int], how: Writing) -> _Fit | None:
    """Return the rows where those at the top are narrower than all others."""
    width = len(rows[-1])
    above = max((number for number, row in enumerate(rows, 1) if len(row) != width), default=0)
    if width < 2 or not 0 < above <= MOST_TITLES or any(len(row) > width for row in rows[:above]):
        return None
    if above == 1 and len(rows[0]) == width - 1 and not _are_notes(rows[:1]):
        return _Fit(how, rows)
    names, body = rows[above], rows[above + 1 :]
    if len(body) + 1 < _BODY or not has_header(names, body) or any(knows_names(row, ()) for row in rows[:above]):
        return None
    wide = any(2 * len(row) > width and len(row) > 1 for row in rows[:above])
    if wide and not (_are_notes(rows[:above]) or knows_names(names, body)):
        return None
    return _Fit(how._replace(skip=begins[above]), rows[above:])


def _are_notes(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether all rows are comments."""
    return all(row[0].startswith(("#", "%", "//")) for row in rows)


def _is_quoted(rows: Sequence[Sequence[str]], quote: str) -> bool:
    """Return whether all cells of a column, but for its name, stand between these marks."""
    for column in zip(*rows[1:] or rows, strict=True):
        filled = [cell for cell in column if cell]
        if filled and all(len(cell) > 1 and cell[0] == cell[-1] == quote for cell in filled):
            return True
    return False


def _is_quoted_where_needed(fit: _Fit) -> bool:
    """Return whether cells that begin with a quotation mark end with one, and have others in pairs."""
    quoted = [cell for row in fit.rows for cell in row if cell.startswith('"')]
    return bool(quoted) and all(map(_QUOTED_CELL.fullmatch, quoted))


def _rate_prose(lines: Sequence[str], delimiter: str) -> float:
    """Return the share of these marks that have a blank after them, or, as decimal commas, a digit on either side."""
    total = sum(line.count(delimiter) for line in lines)
    decimal = r"|(?<=\d),(?=\d)" if delimiter == "," else ""
    unlike = re.compile(f"{re.escape(delimiter)} {decimal}")
    return sum(len(unlike.findall(line)) for line in lines) / max(total, 1)


def _guess_writing(first: str, path: Path, marks: Marks) -> Writing:
    """Guess how cells are written from the first line."""
    delimiter = marks.delimiter or ("\t" if files.find_suffix(path) == ".tsv" else max(USUAL, key=first.count))
    if marks.quote:
        return Writing(delimiter, csv.QUOTE_MINIMAL, marks.quote)
    if marks.quote is not None or (delimiter == "\t" and not first.startswith('"')):
        return Writing(delimiter, csv.QUOTE_NONE)
    return Writing(delimiter, csv.QUOTE_MINIMAL)


def read_cells(path: Path, how: Writing, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Yield ``(line on which the row begins, cells)``, empty lines left out."""
    texts = (text for _, text in files.read_lines(path, encoding, keep_ends=True))
    found = make_csv_reader(islice(texts, how.skip, None) if how.skip else texts, how)
    line = 1 + how.skip
    while True:
        try:
            row = next(found, None)
        except csv.Error as error:
            cause = f"the row that begins here cannot be read ({error}), separated by {how.separator}; {ADVICE}"
            raise IngestError(path, cause, line) from None
        if row is None:
            return
        if row:
            yield line, row
        line = found.line_num + how.skip + 1


def make_csv_reader(lines: Iterator[str], how: Writing) -> Any:
    """Return what reads rows of cells from lines."""
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
