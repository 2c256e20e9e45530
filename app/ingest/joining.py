"""A table that describes texts: its rows are joined to them by the names of their files."""

import json
import re
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from app.ingest.column_samples import Columns
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Source, TextDocument, TextSource

# Names of columns that are looked into first.
KEYS = (
    "filename", "file_name", "file name", "file", "filepath", "path", "document", "doc", "doc_id", "document_id",
    "text_id", "id", "name", "key", "item", "identifier", "url", "source", "title",
)  # fmt: skip
TEXTS = (
    "text", "texts", "body", "content", "contents", "full_text", "fulltext", "full text", "document_text", "article",
)  # fmt: skip
_PROSE = 100  # letters of a usual cell from which a column of such a name holds texts
_LOOKED_AT = 200  # rows in which such cells are looked for
_SHARE = 0.5  # of the texts, or of the rows, that must be joined so that a column is taken for one of file names
_LONGEST = 1_000  # letters of a cell that can be a path
_LARGEST = 1 << 26  # bytes of a table of JSON that is not read record by record
_NAMED = 3  # texts and rows named in a note
_WHOLE = re.compile(r"(\d+)\.0+")
_ENDING = re.compile(r"\.[a-z0-9]{1,5}")


class TableReader(Protocol):
    """What is asked of the reader of a table."""

    NAME: str
    ACCEPTS: tuple[str, ...]

    def read(self, path: Path, options: ImportOptions) -> Source:
        """The rows as documents."""


class Facts(NamedTuple):
    """What is known of a text from outside it."""

    columns: Mapping[str, str]
    label: str | None = None
    title: str = ""
    part: int | None = None


class Found(NamedTuple):
    """A file that a cell may mean, and how many folders above it the cell names too."""

    file: str
    folders: int


class Files:
    """The files of texts, found by what a cell of a table calls them.

    Upper and lower case, folders before the name and the ending do not matter where only one file can be meant.

    Parameters
    ----------
    files : sequence of str
        With the folders they lie in.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._ways = (
            defaultdict[str, list[str]](list),
            defaultdict[str, list[str]](list),
            defaultdict[str, list[str]](list),
        )
        for file in files:
            for way, called in zip(self._ways, _ways(_plain(file).rpartition("/")[2]), strict=True):
                way[called].append(file)

    def find(self, cell: str) -> list[Found]:
        """Return the files that a cell of a table may mean: none, one, or several that cannot be told apart."""
        parts = _parts(cell)
        if not parts:
            return []
        name, stem, number = _ways(parts[-1])
        names, stems, numbers = self._ways
        ways = (names.get(name), stems.get(name), stems.get(stem), numbers.get(_number(name)), numbers.get(number))
        found = next((files for files in ways if files), [])
        written = cell.strip().replace("\\", "/").rpartition("/")[2]
        exact = [file for file in found if file.rpartition("/")[2] == written]
        shared = [Found(file, _shared(_parts(file)[:-1], parts[:-1])) for file in exact or found]
        most = max((each.folders for each in shared), default=0)
        return [each for each in shared if each.folders == most]


class Row(NamedTuple):
    """A row of a table: what it calls its text, and what it says of it."""

    cell: str
    facts: Facts


@dataclass(frozen=True, kw_only=True)
class Join:
    """A table whose rows describe texts.

    Attributes
    ----------
    table, key : str
        Name of the table, and of the column by which it is joined.
    facts : dict of str to Facts
        By file.
    roles : dict of str to str
        Names of the columns for title, label and split, by their role.
    strange, doubtful, repeated, elsewhere : list of str
        Cells of the key that mean no text, or any of several; of rows whose text another row describes; and those that
        name other folders than that in which their text lies.
    """

    table: str
    key: str
    facts: dict[str, Facts]
    roles: dict[str, str]
    strange: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def notes(self, files: Sequence[str]) -> Iterator[str]:
        """Give what is to be said of texts and rows that have no counterpart."""
        bare = [file for file in files if file not in self.facts]
        if bare:
            yield f"{_are(len(bare), 'text has', 'texts have')} no row in {self.table}: {_named(bare)}"
        for cells, one, several, more in (
            (self.strange, "names no text", "name no text", ""),
            (self.doubtful, "could mean several texts and is left out", "could mean several texts and are left out",
             "; write the folder before the name of the file"),
            (self.repeated, "names a text that another row names, which counts",
             "name texts that other rows name, which count", ""),
            (self.elsewhere, "names another folder than that of its text",
             "name other folders than those of their texts", "; they are joined by the names of the files alone"),
        ):  # fmt: skip
            if cells:
                verb = one if len(cells) == 1 else several
                yield f"{_are(len(cells), 'row', 'rows')} of {self.table} {verb}: {_named(cells)}{more}"

    def described(self, files: Sequence[str], without: Sequence[str] = ()) -> str:
        """Return how many texts have a row, and what columns are taken for, but some roles, in a sentence."""
        with_row = sum(file in self.facts for file in files)
        roles = "".join(f", {role} is {name!r}" for role, name in self.roles.items() if role not in without)
        return f"{self.table} by its column {self.key!r}: {with_row:,} of {len(files):,} texts have a row{roles}"


def join(table: Path, reader: TableReader, files: Sequence[str], options: ImportOptions) -> Join | None:
    """Return the rows of a table by the file of the text that each describes; None where no column names the files.

    Raises
    ------
    IngestError
        When the table cannot be read.
    """
    index = Files(files)
    best: tuple[int, str] = 0, ""
    failed: IngestError | None = None
    worked = False
    for name in _candidates(table, reader, options):
        found, rows = set[str](), 0
        try:
            for document in _rows(table, reader, options, name).documents():
                rows += 1
                found.update(each.file for each in index.find(document.text))
        except IngestError as error:  # a column that cannot be named, or rows that cannot be read
            failed = error
            continue
        worked = True
        enough = len(found) >= _SHARE * min(len(files), rows)
        known = name.strip().casefold() in KEYS and len(found) > 1
        if (enough or known) and len(found) > best[0]:
            best = len(found), name
        if len(found) >= 0.9 * len(files):
            break
    if best[0]:
        return _joined(table, reader, index, options, best[1])
    if failed is not None and not worked:
        raise failed
    return None


@contextmanager
def in_rows(table: Path, files: Sequence[str]) -> Iterator[Path]:
    """Give a table as it is; one of JSON that lists records by file, or values by column, as a file of JSON lines."""
    records = _records(table, files) if table.suffix.lower() == ".json" else []
    if not records:
        yield table
        return
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        made = Path(folder, f"{table.stem}.jsonl")
        made.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        yield made


def _records(table: Path, files: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records of ``{"001.txt": {"year": 1990}}``, ``{"file": ["001.txt"], "year": [1990]}`` and the like."""
    try:
        found = json.loads(table.read_bytes()) if table.stat().st_size <= _LARGEST else None
    except (ValueError, RecursionError):  # the reader says what is wrong
        return []
    if not isinstance(found, dict) or not found:
        return []
    index = Files(files)
    if sum(bool(index.find(name)) for name in found) >= _SHARE * min(len(files), len(found)):
        return [
            {"file": name} | (value if isinstance(value, dict) else {"label": value}) for name, value in found.items()
        ]
    values = [list(column.values() if isinstance(column, dict) else column) for column in found.values()
              if isinstance(column, dict | list)]  # fmt: skip
    if len(values) < len(found) or len({len(column) for column in values}) > 1:
        return []
    return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]


def holds_texts(table: Path, reader: TableReader, options: ImportOptions) -> str:
    """Return the name of a column that holds whole texts by its name and its cells; empty where there is none."""
    for name in _candidates(table, reader, options):
        if name.strip().casefold() not in TEXTS:
            continue
        lengths = []
        for document in _rows(table, reader, options, name).documents():
            lengths.append(len(document.text))
            if len(lengths) == _LOOKED_AT:
                break
        if lengths and sorted(lengths)[len(lengths) // 2] >= _PROSE:
            return name
    return ""


def _candidates(table: Path, reader: TableReader, options: ImportOptions) -> list[str]:
    """Return the names of the columns, those that usually name files first."""
    try:
        source = reader.read(table, _for_table(options, reader))
    except IngestError:  # of numbers alone, and so without a column of text
        return [*KEYS, *map(str.capitalize, KEYS), *map(str.upper, KEYS)]
    if not isinstance(source, TextSource) or source.columns is None:
        return []
    for number, _ in enumerate(source.documents()):
        if number >= _LOOKED_AT:
            break
    names = [column.name for column in source.columns.found()]
    return sorted(names, key=lambda name: KEYS.index(low) if (low := name.strip().casefold()) in KEYS else len(KEYS))


def _rows(table: Path, reader: TableReader, options: ImportOptions, key: str) -> TextSource:
    """Return the rows as documents whose text is the cell of the key."""
    source = reader.read(table, replace(_for_table(options, reader), text_column=key))
    if not isinstance(source, TextSource):
        raise IngestError(table, "is no table of texts")
    return source


def _for_table(options: ImportOptions, reader: TableReader) -> ImportOptions:
    """Return the options as the reader of a table takes them, whose column of the text is that of the key."""
    taken = {*reader.ACCEPTS, "encoding"} - {"text_column", "token_pattern"}
    return ImportOptions(**{name: value for name, value in options.report().items() if name in taken})


def _joined(table: Path, reader: TableReader, index: Files, options: ImportOptions, key: str) -> Join:
    source = _rows(table, reader, options, key)
    columns = source.columns or Columns({})
    roles = {role: name for name, role in columns.roles.items() if role in ("title", "label", "split") and name != key}
    made = Join(table=table.name, key=key, facts={}, roles=roles)
    best: dict[str, tuple[int, str]] = {}
    for document in source.documents():
        row = _row(document, source, roles)
        found = index.find(row.cell)
        if len(found) != 1:
            (made.doubtful if found else made.strange).append(row.cell)
            continue
        file, folders = found[0]
        if file in best and folders <= best[file][0]:
            (made.repeated if folders == best[file][0] else made.strange).append(row.cell)
            continue
        if file in best:  # the row before it is of a file of that name in another folder
            made.strange.append(best[file][1])
        if not folders and "/" in file and len(_parts(row.cell)) > 1:
            made.elsewhere.append(row.cell)
        best[file] = folders, row.cell
        made.facts[file] = row.facts
    return made


def _row(document: TextDocument, source: TextSource, roles: Mapping[str, str]) -> Row:
    label = document.label if "label" in roles else None
    named = None if label is None else source.classes.get(label, label)
    title = document.title if "title" in roles and document.titled else ""
    return Row(document.text, Facts(document.columns, named, title, document.part))


def _shared(some: Sequence[str], others: Sequence[str]) -> int:
    same = 0
    for one, other in zip(reversed(some), reversed(others), strict=False):
        if one != other:
            break
        same += 1
    return same


def _parts(text: str) -> list[str]:
    """Return the folders and the name in a path, none of a text that is too long for one."""
    return [part for part in _plain(text).split("/") if part not in ("", ".", "..")] if len(text) < _LONGEST else []


def _plain(text: str) -> str:
    """Return a path in one way of writing."""
    return unicodedata.normalize("NFC", text).strip().strip("\"'").replace("\\", "/").casefold()


def _stem(name: str) -> str:
    head, dot, ending = name.rpartition(".")
    return head if dot and head and _ENDING.fullmatch(f".{ending}") else name


def _ways(name: str) -> tuple[str, str, str]:
    """Return a name as it is, without its ending, and that as a number where it is one."""
    stem = _stem(name)
    return name, stem, _number(stem)


def _number(name: str) -> str:
    """Return a name of digits as spreadsheets write it: ``001`` and ``1.0`` are 1."""
    whole = _WHOLE.sub(r"\1", name)
    return str(int(whole)) if whole.isdecimal() and len(whole) < 19 else name


def _are(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:60]) for name in names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
