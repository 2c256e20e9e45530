"""Files next to the data: vocabularies, classes, labels and titles of counts, and tables that describe texts."""

import json
import re
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from app.ingest import files, packing
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array, Reader, TextDocument, TextSource
from app.ingest.tables.values import Columns
from app.ingest.text.cleaning import make_storable

_OF_GENSIM = re.compile(r"\d+\t[^\t]+\t\d+")
_PICKLE = "is a pickle, which could run programs, so it is not opened; save it with gensim's dictionary.save_as_text"
_WORD_AND_COUNT = re.compile(r"\S+[ \t]+\d+")
_NAME_THEN_NUMBER = re.compile(r"(.*\S)\s+(-?\d+)")
_NUMBER_THEN_NAME = re.compile(r"(-?\d+)\s+(\S.*)")
_VOCABULARIES = ("vocabulary.txt", "vocab.txt", "vocabulary", "vocab", "vocab.new", "words.txt", "dictionary.txt",
                 "wordids.txt")  # fmt: skip
_CLASSES = ("labels.map", "labels.txt", "classes.txt", "label_names.txt", "labels.names")


def find_beside(folder: Path, names: Iterable[str]) -> Path | None:
    """Return the first of some files that a folder has, plain or compressed."""
    for name in names:
        for path in (folder / f"{name}{ending}" for ending in ("", *packing.ENDINGS)):
            if path.is_file():
                return path
    return None


def find_vocabulary(path: Path, options: ImportOptions, own_names: Sequence[str] = ()) -> tuple[Path, tuple[str, ...]]:
    """Find the vocabulary of the counts at ``path``: its file, and its words, one a line.

    Words are taken as they stand: ``None``, ``nan``, ``inf``, ``true`` and ``1992`` are words.
    Lines that are all ``word count`` give the word.

    Parameters
    ----------
    own_names : sequence of str
        Names to look for before the usual ones, such as ``vocab.kos.txt`` for ``docword.kos.txt``.

    Raises
    ------
    IngestError
        When there is none, or a line of it is empty.
    """
    if options.vocabulary is not None:
        return Path(options.vocabulary), read_words(Path(options.vocabulary), options.encoding)
    base = files.strip_endings(path)
    own = (f"{base}.vocab", f"{base}.tokens", f"{base}.vocab.txt", f"{base}.dict.txt", f"{base}_wordids.txt")
    names = (*own_names, *own, *_list_dictionaries(base), *_VOCABULARIES)
    found = find_beside(path.parent, names)
    if found is None:
        _refuse_pickle(path.parent, base)
        usual = ", ".join(dict.fromkeys((*own_names, f"{base}.vocab", "vocabulary.txt", "vocab.txt")))
        cause = f"has no vocabulary next to it (looked for {usual}, ...)"
        raise IngestError(path, f"{cause}; put it there, or name one with --vocabulary")
    return found, read_words(found, options.encoding)


def _list_dictionaries(base: str) -> tuple[str, ...]:
    """Return the names of the dictionary of ``wiki_bow.mm`` or ``news.mm`` that gensim saves as text."""
    short = base.rpartition("_")[0] if base.endswith(("_bow", "_tfidf")) else base
    return (f"{short}_wordids.txt", f"{short}.dict.txt", f"{short}.dict", f"{base}.dict", "dictionary.dict")


def _refuse_pickle(folder: Path, base: str) -> None:
    """Refuse a dictionary that is a pickle, which is a program rather than data."""
    names = (f"{base}.dict", f"{base}.mm.dict", f"{base}.id2word", "dictionary.gensim", f"{base}.pkl", "dictionary.pkl")
    found = find_beside(folder, names)
    if found is not None:
        raise IngestError(found, _PICKLE)


def read_words(path: Path, encoding: str) -> tuple[str, ...]:
    """Read one word a line, exactly as written."""
    if files.read_start(path, 2)[:1] == b"\x80":  # how every pickle since Python 3 begins
        raise IngestError(path, _PICKLE)
    words = [line.strip() for _, line in files.read_lines(path, encoding)]
    while words and not words[-1]:
        words.pop()
    if not words:
        raise IngestError(path, "the vocabulary is empty")
    for line, word in enumerate(words, 1):
        if not word or "\0" in word:
            cause = "has a zero byte in it; is it text?" if word else "the line is empty where a word should be"
            raise IngestError(path, cause, line)
    if all(_WORD_AND_COUNT.fullmatch(word) for word in words):
        words = [word.split()[0] for word in words]
    if len(words) > 1 and words[0].isdecimal() and all(map(_OF_GENSIM.fullmatch, words[1:])):
        return _read_gensim_words(words[1:], path)
    return tuple(words)


def _read_gensim_words(lines: Sequence[str], path: Path) -> tuple[str, ...]:
    """Read the words of gensim's ``Dictionary.save_as_text``: lines ``number<tab>word<tab>documents``, in any order."""
    by_number = {int(number): word for number, word, _ in (line.split("\t") for line in lines)}
    if sorted(by_number) != list(range(len(lines))):
        cause = f"is a gensim dictionary whose {len(lines):,} words are not numbered from 0 to {len(lines) - 1:,}"
        raise IngestError(path, f"{cause}; call its compactify() before it and the counts are saved")
    return tuple(by_number[number] for number in range(len(lines)))


def check_size(vocabulary_path: Path, words: Sequence[str], path: Path, request: int) -> None:
    """Refuse a vocabulary that is not the one the counts were made with."""
    if len(words) != request:
        cause = f"has {len(words):,} words, but {path.name} counts {request:,}; they do not belong together"
        raise IngestError(vocabulary_path, cause)


def read_class_names(path: Path, encoding: str = "utf-8") -> dict[str, str]:
    """Read the names of numbered classes from a file next to ``path``; none when there is no such file.

    Lines are ``name number``, ``number name``, or names alone (numbered from 1).
    """
    found = find_beside(path if path.is_dir() else path.parent, _CLASSES)
    if found is None:
        return {}
    names = [line.strip() for _, line in files.read_lines(found, encoding) if line.strip()]
    for pattern, number, name in ((_NUMBER_THEN_NAME, 1, 2), (_NAME_THEN_NUMBER, 2, 1)):
        matches = [pattern.fullmatch(line) for line in names]
        if all(matches):
            return {match[number]: match[name] for match in matches if match}
    return {str(number): name for number, name in enumerate(names, 1)}


def read_column(path: Path, names: Iterable[str], documents: int, encoding: str = "utf-8") -> list[str] | None:
    """Read one line for each document (labels, titles) from the first of the named files next to ``path``."""
    found = find_beside(path.parent, names)
    if found is None:
        return None
    values = [line.strip() for _, line in files.read_lines(found, encoding)]
    while len(values) > documents and not values[-1]:
        values.pop()
    if len(values) != documents:
        raise IngestError(found, f"has {len(values):,} lines, but {path.name} has {documents:,} documents")
    return values


def read_labels(
    parts: list[files.Part], sizes: list[int], names: dict[str, str], encoding: str
) -> tuple[Array, tuple[str, ...]]:
    """Read class numbers and names of the documents of a file, or a pair, from ``NAME.label`` next to each.

    Parameters
    ----------
    sizes : list of int
        Documents of each file.
    names : dict
        Names of numbered classes.
    """
    raw: list[str | None] = []
    for part, size in zip(parts, sizes, strict=True):
        base = files.strip_endings(part.path)
        beside_it = (f"{base}.label", f"{base}.labels", f"{base}.labels.txt")
        found = read_column(part.path, beside_it, size, encoding) or [""] * size
        raw += [value or None for value in found]  # an empty line is no label
    return encode_labels(raw, names)


def encode_labels(labels: Iterable[str | None], names: dict[str, str]) -> tuple[Array, tuple[str, ...]]:
    """Return class numbers (documents,) int32, -1 for none, and the name of each class.

    >>> encode_labels(["2", None, "10", "2"], {})
    (array([ 0, -1,  1,  0], dtype=int32), ('2', '10'))
    """
    raw = list(labels)
    present = {label for label in raw if label is not None}
    if "0" in present and list(names) == [str(n) for n in range(1, len(names) + 1)] and str(len(names)) not in present:
        names = {str(int(number) - 1): name for number, name in names.items()}  # the labels count from 0
    order = [number for number in names if number in present] + sorted(present - set(names), key=_sort_numbers_first)
    numbers = {label: number for number, label in enumerate(order)}
    coded = np.fromiter((-1 if label is None else numbers[label] for label in raw), np.int32, len(raw))
    return coded, tuple(make_storable(names.get(label, label)) for label in order)


def write_label(value: float) -> str:
    """Return a numeric label as text: ``3.0`` -> ``"3"``."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _sort_numbers_first(label: str) -> tuple[bool, int, str]:
    whole = label.removeprefix("-").isdecimal()
    return (not whole, int(label) if whole else 0, label)


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


class Facts(NamedTuple):
    """Facts about a text from outside it."""

    columns: Mapping[str, str]
    label: str | None = None
    title: str = ""
    part: int | None = None


class NamedFile(NamedTuple):
    """A file that a cell may mean, and how many folders above it the cell names too."""

    file: str
    folders: int


class TextFiles:
    """The files of texts, found by what a cell of a table calls them.

    Upper and lower case, folders before the name and the ending do not matter where only one file can be meant.

    Parameters
    ----------
    files : sequence of str
        With the folders they lie in.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._ways = tuple(defaultdict[str, list[str]](list) for _ in range(3))
        for file in files:
            for way, called in zip(self._ways, _list_ways(_simplify_name(file).rpartition("/")[2]), strict=True):
                way[called].append(file)

    def find(self, cell: str) -> list[NamedFile]:
        """Return the files that a cell of a table may mean: none, one, or several that cannot be distinguished."""
        parts = _split_path(cell)
        if not parts:
            return []
        name, stem, number = _list_ways(parts[-1])
        names, stems, numbers = self._ways
        ways = (names.get(name), stems.get(name), stems.get(stem), numbers.get(_read_number(name)), numbers.get(number))
        found = next((files for files in ways if files), [])
        written = cell.strip().replace("\\", "/").rpartition("/")[2]
        exact = [file for file in found if file.rpartition("/")[2] == written]
        shared = [NamedFile(file, _find_shared(_split_path(file)[:-1], parts[:-1])) for file in exact or found]
        most = max((each.folders for each in shared), default=0)
        return [each for each in shared if each.folders == most]


class TableRow(NamedTuple):
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

    def list_notes(self, files: Sequence[str]) -> Iterator[str]:
        """Give notes about texts and rows that have no counterpart."""
        bare = [file for file in files if file not in self.facts]
        if bare:
            yield f"{_count_files(len(bare), 'text has', 'texts have')} no row in {self.table}: {_name_some(bare)}"
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
                yield f"{_count_files(len(cells), 'row', 'rows')} of {self.table} {verb}: {_name_some(cells)}{more}"

    def describe(self, files: Sequence[str], without: Sequence[str] = ()) -> str:
        """Return how many texts have a row, and what columns are taken for, but some roles, in a sentence."""
        with_row = sum(file in self.facts for file in files)
        roles = "".join(f", {role} is {name!r}" for role, name in self.roles.items() if role not in without)
        return f"{self.table} by its column {self.key!r}: {with_row:,} of {len(files):,} texts have a row{roles}"


def join_table(table: Path, reader: Reader, files: Sequence[str], options: ImportOptions) -> Join | None:
    """Return the rows of a table by the file of the text that each describes; None where no column names the files.

    Raises
    ------
    IngestError
        When the table cannot be read.
    """
    index = TextFiles(files)
    best: tuple[int, str] = 0, ""
    failed: IngestError | None = None
    worked = False
    for name in _list_candidates(table, reader, options):
        found, rows = set[str](), 0
        try:
            for document in _read_rows(table, reader, options, name).documents():
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
        return _join_column(table, reader, index, options, best[1])
    if failed is not None and not worked:
        raise failed
    return None


@contextmanager
def copy_rows(table: Path, files: Sequence[str]) -> Iterator[Path]:
    """Give a table as it is; one of JSON that lists records by file, or values by column, as a file of JSON lines."""
    records = _list_records(table, files) if table.suffix.lower() == ".json" else []
    if not records:
        yield table
        return
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        made = Path(folder, f"{table.stem}.jsonl")
        made.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        yield made


def _list_records(table: Path, files: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records of ``{"001.txt": {"year": 1990}}``, ``{"file": ["001.txt"], "year": [1990]}`` and the like."""
    try:
        found = json.loads(table.read_bytes()) if table.stat().st_size <= _LARGEST else None
    except (ValueError, RecursionError):  # the reader says what is wrong
        return []
    if not isinstance(found, dict) or not found:
        return []
    index = TextFiles(files)
    if sum(bool(index.find(name)) for name in found) >= _SHARE * min(len(files), len(found)):
        facts = {name: value if isinstance(value, dict) else {"label": value} for name, value in found.items()}
        return [{"file": name} | value for name, value in facts.items()]
    values = [list(column.values() if isinstance(column, dict) else column) for column in found.values()
              if isinstance(column, dict | list)]  # fmt: skip
    if len(values) < len(found) or len({len(column) for column in values}) > 1:
        return []
    return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]


def find_text_column(table: Path, reader: Reader, options: ImportOptions) -> str:
    """Return the name of a column that holds whole texts by its name and its cells; empty where there is none."""
    for name in _list_candidates(table, reader, options):
        if name.strip().casefold() not in TEXTS:
            continue
        lengths = []
        for document in _read_rows(table, reader, options, name).documents():
            lengths.append(len(document.text))
            if len(lengths) == _LOOKED_AT:
                break
        if lengths and sorted(lengths)[len(lengths) // 2] >= _PROSE:
            return name
    return ""


def _list_candidates(table: Path, reader: Reader, options: ImportOptions) -> list[str]:
    """Return the names of the columns, those that usually name files first."""
    try:
        source = reader.read(table, _adapt_options(options, reader))
    except IngestError:  # of numbers alone, and so without a column of text
        return [*KEYS, *map(str.capitalize, KEYS), *map(str.upper, KEYS)]
    if not isinstance(source, TextSource) or source.columns is None:
        return []
    for number, _ in enumerate(source.documents()):
        if number >= _LOOKED_AT:
            break
    names = [column.name for column in source.columns.list_all()]
    return sorted(names, key=lambda name: KEYS.index(low) if (low := name.strip().casefold()) in KEYS else len(KEYS))


def _read_rows(table: Path, reader: Reader, options: ImportOptions, key: str) -> TextSource:
    """Return the rows as documents whose text is the cell of the key."""
    source = reader.read(table, replace(_adapt_options(options, reader), text_column=key))
    if not isinstance(source, TextSource):
        raise IngestError(table, "is no table of texts")
    return source


def _adapt_options(options: ImportOptions, reader: Reader) -> ImportOptions:
    """Return the options as the reader of a table takes them, whose column of the text is that of the key."""
    taken = {*reader.accepts, "encoding"} - {"text_column", "token_pattern"}
    return ImportOptions(**{name: value for name, value in options.report().items() if name in taken})


def _join_column(table: Path, reader: Reader, index: TextFiles, options: ImportOptions, key: str) -> Join:
    source = _read_rows(table, reader, options, key)
    columns = source.columns or Columns({})
    roles = {role: name for name, role in columns.roles.items() if role in ("title", "label", "split") and name != key}
    made = Join(table=table.name, key=key, facts={}, roles=roles)
    best: dict[str, tuple[int, str]] = {}
    for document in source.documents():
        row = _make_row(document, source, roles)
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
        if not folders and "/" in file and len(_split_path(row.cell)) > 1:
            made.elsewhere.append(row.cell)
        best[file] = folders, row.cell
        made.facts[file] = row.facts
    return made


def _make_row(document: TextDocument, source: TextSource, roles: Mapping[str, str]) -> TableRow:
    label = document.label if "label" in roles else None
    named = None if label is None else source.classes.get(label, label)
    title = document.title if "title" in roles and document.titled else ""
    return TableRow(document.text, Facts(document.columns, named, title, document.part))


def _find_shared(some: Sequence[str], others: Sequence[str]) -> int:
    same = 0
    for one, other in zip(reversed(some), reversed(others), strict=False):
        if one != other:
            break
        same += 1
    return same


def _split_path(text: str) -> list[str]:
    """Return the folders and the name in a path, none of a text that is too long for one."""
    parts = _simplify_name(text).split("/") if len(text) < _LONGEST else []
    return [part for part in parts if part not in ("", ".", "..")]


def _simplify_name(text: str) -> str:
    """Return a path in one way of writing."""
    return unicodedata.normalize("NFC", text).strip().strip("\"'").replace("\\", "/").casefold()


def _strip_ending(name: str) -> str:
    head, dot, ending = name.rpartition(".")
    return head if dot and head and _ENDING.fullmatch(f".{ending}") else name


def _list_ways(name: str) -> tuple[str, str, str]:
    """Return a name as it is, without its ending, and that as a number where it is one."""
    stem = _strip_ending(name)
    return name, stem, _read_number(stem)


def _read_number(name: str) -> str:
    """Return a name of digits as spreadsheets write it: ``001`` and ``1.0`` are 1."""
    whole = _WHOLE.sub(r"\1", name)
    return str(int(whole)) if whole.isdecimal() and len(whole) < 19 else name


def _count_files(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def _name_some(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:60]) for name in names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
