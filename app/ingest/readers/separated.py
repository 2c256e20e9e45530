"""Tables of separated cells: which files are some, where their names are, and their rows."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers import count_tables, text_kinds
from app.ingest.source import GUESS, Reader, TextDocument, TextSource
from app.ingest.tables import cells, joining
from app.ingest.tables.cells import ADVICE, Writing
from app.ingest.tables.column_names import is_known
from app.ingest.tables.headers import Names, read_names
from app.ingest.tables.roles import find_roles, make_text_source
from app.ingest.tables.values import is_number
from app.ingest.text import encodings

SAMPLE = 200  # rows from which names and roles are found
ENDINGS = (".csv", ".tsv", ".tab")
_LINES = 60  # from which a table is recognised,
_BYTES = 1 << 20  # and about so many bytes
_CELLS, _FEWEST_OF_WIDE = 100_000, 20  # cells that are enough to find names, and rows of very wide tables
_FEWEST = 3  # rows without names that tell a table from lines of text
_TEXT = ".txt"


class Layout(NamedTuple):
    """How the cells of a table are written, and what its columns are called."""

    writing: Writing
    names: Names

    def understood(self) -> dict[str, str]:
        """Return the layout as a report says it."""
        return self.writing.understood() | {"header": self.names.understood}

    def notes(self) -> list[str]:
        """Return what was left out above the names, and how the separator was chosen among several."""
        found = list(self.names.notes)
        if self.writing.left_out:
            found.insert(0, f"left out above the column names: {self.writing.left_out[:80]!r}")
        if self.writing.doubt:
            taken, others = self.writing.separator, self.writing.doubt
            said = f"cells are taken to be separated by {taken}, though {others} would fit too"
            found.append(f"{said} (change it with --separator)")
        return found

    def guesses(self, *, texts: bool = True) -> list[str]:
        """Return what of it is a guess; of a table of counts it is known by its names that it has some."""
        found = [self.names.guess] if self.names.guess and (texts or self.names.above) else []
        if self.writing.left_out:
            lines = (
                "1 line above the column names is"
                if self.writing.skip == 1
                else (f"{self.writing.skip} lines above the column names are")
            )
            found.append(f"{lines} left out (change it with --skip-lines)")
        if self.writing.doubt:
            chosen, others = self.writing.separator, self.writing.doubt
            found.append(f"cells are separated by {chosen}, or by {others} (change it with --separator)")
        return found


class Beginning(NamedTuple):
    """The first rows of a table, as far as it is recognised by them: the names, and what is below them."""

    layout: Layout
    rows: tuple[tuple[str, ...], ...]


def find_layout(path: Path, options: ImportOptions) -> Layout:
    """Return how the cells of a file are written and what its columns are called.

    Raises
    ------
    IngestError
        When it is empty, or its first rows are not of one width.
    """
    how = cells.find_writing(path, options, is_known)
    sample = [row for _, row in islice(cells.read_cells(path, how, options.encoding), SAMPLE + 1)]
    sample = sample[: max(_FEWEST_OF_WIDE, _CELLS // len(sample[0]))]
    return Layout(how, _find_names(sample, how, options))


def read_rows(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, list[str]]]:
    """Return the line and cells of every row below the names, lines of nothing left out.

    Raises
    ------
    IngestError
        Where a row is of another width, or the names are others than those of the layout.
    """
    names = layout.names
    found = cells.read_cells(path, layout.writing, options.encoding)
    for number in range(names.body):
        _, row = next(found, (1, []))
        if number == names.above:
            _check_names(path, row, names)
    width = len(names.names)
    for line, row in found:
        if len(row) != width:
            has = "1 column" if len(row) == 1 else f"{len(row)} columns"
            first = 1 + layout.writing.skip
            cause = f"has {has}, but line {first} has {width}, separated by {layout.writing.separator}; {ADVICE}"
            raise IngestError(path, cause, line)
        yield line, row


def _check_names(path: Path, row: Sequence[str], names: Names) -> None:
    """Refuse a file next to the first one that calls its columns otherwise."""
    if [cell.strip() for cell in row] != [cell.strip() for cell in names.line]:
        mine, theirs = (", ".join(" ".join(cell.split()) for cell in each)[:80] for each in (row, names.line))
        cause = f"has the columns {mine!r}, but the file before it {theirs!r}"
        raise IngestError(path, f"{cause}; import them one by one, or give all the same columns", 1)


def _find_names(sample: Sequence[Sequence[str]], how: Writing, options: ImportOptions) -> Names:
    if how.row_names and options.header != "no":
        return read_names(sample, options, row_names=True)
    return read_names(sample, options)


def is_separated(path: Path) -> bool:
    """Return whether a file is a table of separated cells: by its name, or a .txt by names above rows of one width."""
    kind = files.find_suffix(path)
    if kind in ENDINGS:
        return not path.name.startswith("titles.")
    return kind == _TEXT and look_at_rows(path) is not None


def look_at_rows(path: Path) -> Beginning | None:
    """Return the first rows of a file; None where they are of no one width, or a .txt has no names above them."""
    try:
        about = path.stat()
    except OSError:
        return None
    return _look_at_file(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)
def _look_at_file(path: Path, _size: int, _changed: int) -> Beginning | None:
    lines, whole = _read_first_lines(path, _BYTES)
    if len(lines) < 4 and not whole:  # a row for each document and a column for each word
        lines, whole = _read_first_lines(path, _BYTES << 4)
    if not any(line.strip() for line in lines):
        return None
    try:
        how = cells.find_writing_in(lines, path, whole=whole, is_name=is_known)
        rows = [row for row in cells.make_csv_reader(iter(lines[how.skip :]), how) if row]
    except csv.Error:
        return None
    if not whole and len(rows) > 2:  # the last row may be cut
        rows.pop()
    if len(rows) < 2 or len({len(row) for row in rows[how.row_names :]}) > 1:
        return None
    layout = Layout(how, _find_names(rows, how, ImportOptions()))
    if files.find_suffix(path) == _TEXT and not _is_plain_table(layout, rows):
        return None
    return Beginning(layout, tuple(map(tuple, rows[layout.names.body :])))


def _read_first_lines(path: Path, size: int) -> tuple[list[str], bool]:
    """Return the first lines of a file, and whether these are all."""
    raw = files.read_start(path, size)
    text = raw.decode(encodings.recognise_text(raw, "utf-8"), "replace").removeprefix("\ufeff")
    lines = StringIO(text, newline="").readlines()
    if len(raw) == size:
        lines.pop()
    return lines[:_LINES], len(raw) < size and len(lines) <= _LINES


def _is_plain_table(layout: Layout, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a .txt is a table: known names above cells, or tabs between cells of no name, label and text."""
    if len(layout.names.names) < 2:
        return False
    if layout.names.header:
        return layout.writing.delimiter in "\t " or layout.names.sure
    return layout.writing.delimiter == "\t" and len(rows) >= _FEWEST and not (_is_named(rows) or _is_counted(rows))


def _is_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are a name, a label and a text."""
    if len(rows[0]) != len(("name", "label", "text")):
        return False
    _, labels, texts = ([row[place] for row in rows] for place in range(3))
    return len(set(labels)) <= max(2, len(labels) // 2) and sum(map(len, texts)) > sum(map(len, labels))


def _is_counted(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are a word and a number, as in the counts of one document."""
    return all(len(row) == len(("word", "count")) and " " not in row[0].strip() and is_number(row[1]) for row in rows)


_COUNTS = (
    "is a table of documents, words and counts; leave --format csv out to read it as counts, or name a column of texts "
    "with --text-column"
)
_ONLY_WORDS = (
    "has a word and a number in each row, which are the counts of one document; give a table of documents, words and "
    "counts, named with --format triples, or the texts themselves"
)


def recognise_csv(path: Path) -> bool:
    """By the ending of the name, or a .txt by its first lines, unless it is one of counts; a folder by its files."""
    if path.is_dir():
        return bool(files.list_files(path, _belongs_to_csv))
    return is_separated(path) and count_tables.find_counts(path) is None


def _belongs_to_csv(path: Path) -> bool:
    """Return whether a file of a folder is a table of texts; the .txt of a folder are texts."""
    return files.find_suffix(path) in ENDINGS and recognise_csv(path)


def read_csv(path: Path, options: ImportOptions) -> TextSource:
    """The rows of a table as documents; words of the title count too."""
    parts = files.find_parts(path, _belongs_to_csv, "csv", several=True)
    first = parts[0].path
    layout = find_layout(first, options)
    sample = [record for _, record in islice(_read_records(first, layout, options), SAMPLE)]
    if not sample:
        cause = "has no documents below its line of column names; add rows, or say that it has no such line"
        raise IngestError(first, cause)
    rows = [list(record.values()) for record in sample]
    if options.text_column is None and layout.names.header:
        _refuse_counts(first, layout.names.names, rows)
    guesses = layout.guesses()
    if not layout.names.header and _look_like_counts(rows):
        guesses.insert(0, "rows are read as texts, though they look like document, word and count: --format triples")
    roles = find_roles(sample, options, first, named=layout.names.header)
    source = make_text_source(
        path,
        parts,
        roles,
        lambda file: _read_records(file, layout, options),
        options,
        header=layout.names.header,
        guesses=guesses,
    )
    source.understood.update(layout.understood())
    source.notes.extend(layout.notes())
    return source


def _read_records(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, dict[str, str]]]:
    """Return line and cells by column of every row."""
    names = layout.names.names
    for line, row in read_rows(path, layout, options):
        yield line, dict(zip(names, row, strict=True))


def _refuse_counts(path: Path, names: Sequence[str], rows: list[list[str]]) -> None:
    """Refuse a table of words and counts as one of texts."""
    if count_tables.find_places(names, rows) is not None:
        raise IngestError(path, _COUNTS)
    if count_tables.is_list_of_words(names, rows):
        raise IngestError(path, _ONLY_WORDS)


def _look_like_counts(rows: list[list[str]]) -> bool:
    """Return whether rows without names are a document, a word and a count."""
    return len(rows[0]) == len(_TRIPLE) and count_tables.find_places(_TRIPLE, rows) is not None


_TRIPLE = ("document", "word", "count")


_SAMPLE = 50
_LOOKED_AT = 2_000  # lines by which a wrapped text is recognised,
_FEWEST_LINES = 12  # and so many of them at least
_WIDEST = 100  # characters of a line of such a text,
_NARROWEST = 40
_FULL = 0.75  # how far a line within a paragraph fills the width, at least,
_MOST = 0.85  # in so large a share of them
_ENDS = tuple(".!?:;\"'”’»)")  # letters with which a line of prose ends that goes on no further
_FIELD = re.compile(
    r"([^\W\d_][\w /-]{0,30}:|[A-Z%][A-Z0-9]{1,3} {0,3}-)(?:\s|$)"
)  # the name of a field or of a speaker
# What stands in every document of exports as text of PubMed, ProQuest, LexisNexis and Factiva.
_SIGN = re.compile(
    r"\s*(?:PMID: [0-9]+|(?:Document )?[0-9]+ of [0-9]+(?: DOCUMENTS)?$|End of Document$|Load-Date: |"
    r"ProQuest document ID: |Document [A-Za-z0-9]{15,}$|_{20,}$)"
)
_FEWEST_SIGNS = 3
_NAMED, _FEWEST_TIMES = 12, 5  # names that are looked at, and how often each occurs at least
_OTHER_WAYS = "--split chapters, paragraphs or '500 words' divides it otherwise"
_WAYS = f"{_OTHER_WAYS}, --format lines takes every line"


def recognise_lines(path: Path) -> bool:
    """Recognise a single ``.txt`` file that is neither a bag of words nor a table."""
    if path.is_dir() or files.find_suffix(path) != ".txt" or is_separated(path):
        return False
    first = files.read_start(path).splitlines()[:4]
    return not (len(first) == 4 and all(line.replace(b" ", b"").isdigit() for line in first))


def read_lines_source(path: Path, options: ImportOptions) -> TextSource:
    """Return the lines as documents; three fields in all of the first lines are name, label and text."""
    if options.format is None and text_kinds.find_kind(path) == "wordcounts":
        cause = "is a list of words and counts, which is one document"
        raise IngestError(path, f"{cause}; import the folder of all such files, or say --format lines")
    start = [text for _, text in islice(files.read_lines(path, options.encoding), _LOOKED_AT)]
    sample = [text for text in start[:_SAMPLE] if text.strip()] or [text for text in start if text.strip()]
    if not sample:
        raise IngestError(path, "has no documents; give a file with a text on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    wrapped = options.format is None and not tabs and is_wrapped(start)
    page = options.format is None and not tabs and not wrapped and is_wrapped(start, between=False)
    source = TextSource(
        where=str(path),
        documents=lambda: (_read_paragraphs if wrapped else _read_documents)(path, options.encoding, tabs=tabs),
        classes=joining.read_class_names(path, options.encoding) if tabs else {},
        notes=files.note_guesses([path], options.encoding),
        understood=files.describe_encoding(path, options.encoding),
    )
    if wrapped:
        what = "its lines are those of a page, so every paragraph between empty lines is a document"
        source.understood[GUESS] = f"{what} ({_WAYS})"
    elif page:
        what = "its lines seem to be those of a page, and every line is a document"
        source.understood[GUESS] = f"{what} ({_OTHER_WAYS})"
    elif options.format is None and (doubt := _find_doubt(start)):
        source.understood[GUESS] = f"every line is a document, though {doubt}; --format lines says that it is meant"
    return source


def is_wrapped(lines: list[str], *, between: bool = True) -> bool:
    """Return whether lines are those of a page, wrapped at one width.

    Parameters
    ----------
    between : bool
        Whether empty lines stand between its paragraphs.
    """
    blocks = [list(block) for filled, block in groupby(lines, lambda line: bool(line.strip())) if filled]
    inner = [line.rstrip() for block in blocks for line in block[:-1]]  # lines that another one follows
    if len(inner) < _FEWEST_LINES or len(inner) < len(blocks) - 1 or (len(blocks) > 1) != between:
        return False
    width = sorted(map(len, inner))[int(0.98 * len(inner))]
    if not _NARROWEST <= width <= _WIDEST:
        return False
    prose = [line for line in inner if len(line) >= _NARROWEST / 2]
    full = sum(len(line) >= _FULL * width for line in inner)
    goes_on = sum(not line.endswith(_ENDS) for line in prose)
    return full >= _MOST * len(inner) and 2 * goes_on > len(prose)


def _find_doubt(lines: list[str]) -> str:
    """Say why lines may be no documents of their own; empty where nothing says so."""
    filled = [line for line in lines if line.strip()]
    signs = [line.strip() for line in filled if _SIGN.match(line)]
    if len(signs) >= _FEWEST_SIGNS:
        return f"it seems to be an export of many ({signs[0][:40]!r}): export it as RIS, BibTeX or PubMed instead"
    names = Counter(found[1] for line in filled if (found := _FIELD.match(line)))
    usual = [name for name, times in names.most_common(_NAMED) if times >= _FEWEST_TIMES]
    if len(usual) > 1 and 2 * sum(names[name] for name in usual) > len(filled):
        return f"most begin with one of a few names, such as {' and '.join(map(repr, usual[:2]))}"
    blocks = [list(block) for is_filled, block in groupby(lines, lambda line: bool(line.strip())) if is_filled]
    if len(blocks) >= _FEWEST_TIMES and len(filled) >= 2 * len(blocks):
        return "they stand in groups between empty lines"
    return ""


def _read_documents(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    for line, text in files.read_lines(path, encoding):
        if not text.strip():
            continue
        if not tabs:
            yield TextDocument(text, f"document {line}")
            continue
        cells = text.split("\t", 2)
        if len(cells) != 3:
            raise IngestError(path, "is not 'name <tab> label <tab> text' like the lines before it", line)
        yield TextDocument(cells[2], cells[0].strip() or f"document {line}", cells[1].strip() or None)


def _read_paragraphs(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:  # noqa: ARG001 - as of lines
    """Give the lines between empty ones, together; each is called by the number of its first line."""
    begun: list[str] = []
    first = size = 0
    for line, text in files.read_lines(path, encoding):
        if text.strip():
            first = first if begun else line
            begun.append(text)
            size += len(text)
            files.check_length(size, path, line)
        elif begun:
            yield TextDocument("\n".join(begun), f"paragraph in line {first}", titled=False)
            begun, size = [], 0
    if begun:
        yield TextDocument("\n".join(begun), f"paragraph in line {first}", titled=False)


READERS = (
    Reader(
        "csv",
        "table of texts: NAME.csv or NAME.tsv, one document a row, or a folder with train.csv and test.csv",
        (
            "text_column",
            "title_column",
            "label_column",
            "split_column",
            "header",
            "skip_lines",
            "separator",
            "quote",
            "token_pattern",
        ),
        recognise_csv,
        read_csv,
    ),
    Reader(
        "lines",
        "one document a line: NAME.txt, the whole line or 'name <tab> label <tab> text'",
        ("token_pattern",),
        recognise_lines,
        read_lines_source,
    ),
)
