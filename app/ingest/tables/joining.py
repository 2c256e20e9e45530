"""Files next to the data: vocabularies, class names, labels and titles of counts, and tables that describe texts."""

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

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, list_some, plural
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import Array, Reader, TextDocument, TextSource
from topiary.app.ingest.tables.values import Columns
from topiary.app.ingest.text.cleaning import make_storable

_GENSIM_LINE = re.compile(r"\d+\t[^\t]+\t\d+")
_PICKLE = "is a pickle, which could run programs, so it is not opened; save it with gensim's dictionary.save_as_text"
_WORD_AND_COUNT = re.compile(r"\S+[ \t]+\d+")
_NAME_THEN_NUMBER = re.compile(r"(.*\S)\s+(-?\d+)")
_NUMBER_THEN_NAME = re.compile(r"(-?\d+)\s+(\S.*)")
_VOCABULARIES = ("vocabulary.txt", "vocab.txt", "vocabulary", "vocab", "vocab.new", "words.txt", "dictionary.txt",
                 "wordids.txt")  # fmt: skip
# Files with the names of numbered classes.
_CLASSES = ("labels.map", "labels.txt", "classes.txt", "label_names.txt", "labels.names")


def find_beside(folder: Path, names: Iterable[str]) -> Path | None:
    """Return the first of some files that exists in a folder, plain or compressed; None if there is none."""
    for name in names:
        for path in (folder / f"{name}{ending}" for ending in ("", *packing.ENDINGS)):
            if path.is_file():
                return path
    return None


def find_vocabulary(path: Path, options: ImportOptions, own_names: Sequence[str] = ()) -> tuple[Path, tuple[str, ...]]:
    """Find the vocabulary of the counts at ``path``; return its file and its words.

    Each line is a word, even ``None``, ``nan``, ``inf``, ``true`` or ``1992``.  If all lines are ``word count``, the
    counts are dropped.

    Parameters
    ----------
    own_names : sequence of str
        File names to try before the usual ones, such as ``vocab.kos.txt`` for ``docword.kos.txt``.

    Raises
    ------
    IngestError
        If there is none, or one of its lines is empty.
    """
    if options.vocabulary is not None:
        return Path(options.vocabulary), read_words(Path(options.vocabulary), options.encoding)
    base = packing.strip_endings(path)
    own = (f"{base}.vocab", f"{base}.tokens", f"{base}.vocab.txt", f"{base}.dict.txt", f"{base}_wordids.txt")
    names = (*own_names, *own, *_list_dictionaries(base), *_VOCABULARIES)
    file = find_beside(path.parent, names)
    if file is None:
        _refuse_pickle(path.parent, base)
        usual = ", ".join(dict.fromkeys((*own_names, f"{base}.vocab", "vocabulary.txt", "vocab.txt")))
        cause = f"has no vocabulary next to it (looked for {usual}, ...)"
        raise IngestError(path, f"{cause}; put it there, or name one with --vocabulary")
    return file, read_words(file, options.encoding)


def _list_dictionaries(base: str) -> tuple[str, ...]:
    """Return possible names of the dictionary that gensim saves for ``wiki_bow.mm`` or ``news.mm``."""
    short = base.rpartition("_")[0] if base.endswith(("_bow", "_tfidf")) else base
    return (f"{short}_wordids.txt", f"{short}.dict.txt", f"{short}.dict", f"{base}.dict", "dictionary.dict")


def _refuse_pickle(folder: Path, base: str) -> None:
    """Refuse a dictionary in the form of a pickle, which could run programs."""
    names = (f"{base}.dict", f"{base}.mm.dict", f"{base}.id2word", "dictionary.gensim", f"{base}.pkl", "dictionary.pkl")
    pickle = find_beside(folder, names)
    if pickle is not None:
        raise IngestError(pickle, _PICKLE)


def read_words(path: Path, encoding: str) -> tuple[str, ...]:
    """Return the words of a vocabulary, one on each line."""
    if packing.read_start(path, 2)[:1] == b"\x80":  # the first byte of every pickle since Python 3
        raise IngestError(path, _PICKLE)
    words = [line.strip() for _, line in packing.read_lines(path, encoding)]
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
    if len(words) > 1 and words[0].isdecimal() and all(map(_GENSIM_LINE.fullmatch, words[1:])):
        return _read_gensim_words(words[1:], path)
    return tuple(words)


def _read_gensim_words(lines: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the words from lines ``number<tab>word<tab>documents`` of gensim's ``save_as_text``, sorted by number."""
    by_number = {int(number): word for number, word, _ in (line.split("\t") for line in lines)}
    if sorted(by_number) != list(range(len(lines))):
        cause = f"is a gensim dictionary whose {len(lines):,} words are not numbered from 0 to {len(lines) - 1:,}"
        raise IngestError(path, f"{cause}; call its compactify() before it and the counts are saved")
    return tuple(by_number[number] for number in range(len(lines)))


def check_size(vocabulary_path: Path, words: Sequence[str], path: Path, request: int) -> None:
    """Refuse a vocabulary whose size differs from the number of words in the counts."""
    if len(words) != request:
        cause = f"has {len(words):,} words, but {path.name} counts {request:,}; they do not belong together"
        raise IngestError(vocabulary_path, cause)


def read_class_names(path: Path, encoding: str = "utf-8") -> dict[str, str]:
    """Return the names of numbered classes from a file next to ``path``; none if there is no such file.

    Lines are ``name number``, ``number name``, or names alone (numbered from 1).
    """
    file = find_beside(path if path.is_dir() else path.parent, _CLASSES)
    if file is None:
        return {}
    lines = [line.strip() for _, line in packing.read_lines(file, encoding) if line.strip()]
    for pattern, number, name in ((_NUMBER_THEN_NAME, 1, 2), (_NAME_THEN_NUMBER, 2, 1)):
        matches = [pattern.fullmatch(line) for line in lines]
        if all(matches):
            return {match[number]: match[name] for match in matches if match}
    return {str(number): name for number, name in enumerate(lines, 1)}


def read_column(path: Path, names: Iterable[str], documents: int, encoding: str = "utf-8") -> list[str] | None:
    """Return a line for each document, such as labels, from a file next to ``path``; None if there is no such file."""
    file = find_beside(path.parent, names)
    if file is None:
        return None
    values = [line.strip() for _, line in packing.read_lines(file, encoding)]
    while len(values) > documents and not values[-1]:
        values.pop()
    if len(values) != documents:
        raise IngestError(file, f"has {len(values):,} lines, but {path.name} has {documents:,} documents")
    return values


def read_labels(
    parts: list[packing.Part], sizes: list[int], names: dict[str, str], encoding: str
) -> tuple[Array, tuple[str, ...]]:
    """Return the class of each document and the class names, from files ``NAME.label`` next to the data.

    Parameters
    ----------
    sizes : list of int
        Number of documents in each file.
    names : dict
        Names of numbered classes.
    """
    raw: list[str | None] = []
    for part, size in zip(parts, sizes, strict=True):
        base = packing.strip_endings(part.path)
        label_files = (f"{base}.label", f"{base}.labels", f"{base}.labels.txt")
        lines = read_column(part.path, label_files, size, encoding) or [""] * size
        raw += [value or None for value in lines]  # an empty line is no label
    return encode_labels(raw, names)


def encode_labels(labels: Iterable[str | None], names: dict[str, str]) -> tuple[Array, tuple[str, ...]]:
    """Return the class number of each document, (documents,) int32 with -1 for none, and the class names.

    >>> encode_labels(["2", None, "10", "2"], {})
    (array([ 0, -1,  1,  0], dtype=int32), ('2', '10'))
    """
    raw = list(labels)
    present = {label for label in raw if label is not None}
    if "0" in present and list(names) == [str(n) for n in range(1, len(names) + 1)] and str(len(names)) not in present:
        names = {str(int(number) - 1): name for number, name in names.items()}  # the labels are numbered from 0
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


# Usual names of columns with file names, which are tried first.
KEYS = (
    "filename", "file_name", "file name", "file", "filepath", "path", "document", "doc", "doc_id", "document_id",
    "text_id", "id", "name", "key", "item", "identifier", "url", "source", "title",
)  # fmt: skip
TEXTS = (
    "text", "texts", "body", "content", "contents", "full_text", "fulltext", "full text", "document_text", "article",
)  # fmt: skip
_TEXT_LENGTH = 100  # median letters from which a column with the name of a text has texts
_SAMPLED_ROWS = 200  # rows in which texts are searched
_JOINED_SHARE = 0.5  # share of the texts, or of the rows, that a column of file names must join
_LONGEST_PATH = 1_000  # letters of a path; longer cells are not paths
_LARGEST_JSON = 1 << 26  # bytes of a JSON table that is read as a whole
_MOST_EXAMPLES = 3  # texts or rows in a note
_WHOLE_NUMBER = re.compile(r"(\d+)\.0+")
_ENDING = re.compile(r"\.[a-z0-9]{1,5}")


class Facts(NamedTuple):
    """The values of a table row that describe a text."""

    columns: Mapping[str, str]
    label: str | None = None
    title: str = ""
    part: int | None = None


class NamedFile(NamedTuple):
    """A file that a cell may mean, and the number of its parent folders that the cell names."""

    file: str
    folders: int


class TextFiles:
    """An index of text files by the names in cells of a table.

    Case, parent folders and endings may differ if only one file can be meant.

    Parameters
    ----------
    files : sequence of str
        Paths of the files.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._indexes = tuple(defaultdict[str, list[str]](list) for _ in range(3))
        for file in files:
            for index, spelling in zip(
                self._indexes, _list_spellings(_simplify_name(file).rpartition("/")[2]), strict=True
            ):
                index[spelling].append(file)

    def find(self, cell: str) -> list[NamedFile]:
        """Return the files that a cell of a table may mean, several if they cannot be distinguished."""
        parts = _split_path(cell)
        if not parts:
            return []
        name, stem, number = _list_spellings(parts[-1])
        names, stems, numbers = self._indexes
        hits = (names.get(name), stems.get(name), stems.get(stem), numbers.get(_read_number(name)), numbers.get(number))
        candidates = next((files for files in hits if files), [])
        cell_name = cell.strip().replace("\\", "/").rpartition("/")[2]
        exact = [file for file in candidates if file.rpartition("/")[2] == cell_name]
        scored = [NamedFile(file, _find_shared(_split_path(file)[:-1], parts[:-1])) for file in exact or candidates]
        most = max((each.folders for each in scored), default=0)
        return [each for each in scored if each.folders == most]


class TableRow(NamedTuple):
    """A row of a table: the cell that names its text, and the facts about the text."""

    cell: str
    facts: Facts


@dataclass(frozen=True, kw_only=True)
class Join:
    """A table whose rows describe texts.

    Attributes
    ----------
    table, key : str
        Name of the table, and of the column that names the texts.
    facts : dict of str to Facts
        The facts about each text, by its file.
    roles : dict of str to str
        Columns of title, label and split, by role.
    separate : bool
        Whether the rows are files of their own, one next to each text.
    strange, doubtful, repeated, elsewhere : list of str
        Cells of the key that mean no text; that may mean several; of rows whose text another row describes; and that
        name another folder than that of their text.
    """

    table: str
    key: str
    facts: dict[str, Facts]
    roles: dict[str, str]
    separate: bool = False
    strange: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def list_notes(self, files: Sequence[str]) -> Iterator[str]:
        """Yield notes about texts and rows without a counterpart."""
        bare = [file for file in files if file not in self.facts]
        if bare:
            lacking = "no file of metadata" if self.separate else f"no row in {self.table}"
            yield f"{plural(len(bare), 'text has', 'texts have')} {lacking}: {_name_some(bare)}"
        for cells, one, several, advice in (
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
                yield f"{plural(len(cells), 'row')} of {self.table} {verb}: {_name_some(cells)}{advice}"

    def describe(self, files: Sequence[str], without: Sequence[str] = ()) -> str:
        """Describe in a sentence how many texts have a row, and the columns of all roles except ``without``."""
        with_row = sum(file in self.facts for file in files)
        roles = "".join(f", {role} is {name!r}" for role, name in self.roles.items() if role not in without)
        how, have = ("", "one") if self.separate else (f" by its column {self.key!r}", "a row")
        return f"{self.table}{how}: {with_row:,} of {len(files):,} texts have {have}{roles}"


def join_table(table: Path, reader: Reader, files: Sequence[str], options: ImportOptions) -> Join | None:
    """Join the rows of a table with the text files that they describe; return None if no column names the files.

    Raises
    ------
    IngestError
        If the table cannot be read.
    """
    index = TextFiles(files)
    best: tuple[int, str] = 0, ""
    failure: IngestError | None = None
    any_read = False
    for name in _list_candidates(table, reader, options):
        matched, n_rows = set[str](), 0
        try:
            for document in _read_rows(table, reader, options, name).documents():
                n_rows += 1
                matched.update(each.file for each in index.find(document.text))
        except IngestError as error:  # the column name cannot be an option, or rows cannot be read
            failure = error
            continue
        any_read = True
        enough = len(matched) >= _JOINED_SHARE * min(len(files), n_rows)
        is_usual_key = name.strip().casefold() in KEYS and len(matched) > 1
        if (enough or is_usual_key) and len(matched) > best[0]:
            best = len(matched), name
        if len(matched) >= 0.9 * len(files):
            break
    if best[0]:
        return _join_column(table, reader, index, options, best[1])
    if failure is not None and not any_read:
        raise failure
    return None


@contextmanager
def copy_rows(table: Path, files: Sequence[str]) -> Iterator[Path]:
    """Yield the path of a table, or of a copy as JSON lines if it is JSON with records by file or values by column."""
    records = _list_records(table, files) if table.suffix.lower() == ".json" else []
    if not records:
        yield table
        return
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        copy = Path(folder, f"{table.stem}.jsonl")
        copy.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        yield copy


def _list_records(table: Path, files: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records of ``{"001.txt": {"year": 1990}}`` or ``{"file": ["001.txt"], "year": [1990]}``, or none."""
    try:
        content = json.loads(table.read_bytes()) if table.stat().st_size <= _LARGEST_JSON else None
    except (ValueError, RecursionError):  # the reader will explain what is wrong
        return []
    if not isinstance(content, dict) or not content:
        return []
    index = TextFiles(files)
    if sum(bool(index.find(name)) for name in content) >= _JOINED_SHARE * min(len(files), len(content)):
        facts = {name: value if isinstance(value, dict) else {"label": value} for name, value in content.items()}
        return [{"file": name} | value for name, value in facts.items()]
    values = [list(column.values() if isinstance(column, dict) else column) for column in content.values()
              if isinstance(column, dict | list)]  # fmt: skip
    if len(values) < len(content) or len({len(column) for column in values}) > 1:
        return []
    return [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]


def find_text_column(table: Path, reader: Reader, options: ImportOptions) -> str:
    """Return the column that has whole texts, by its name and cells; empty if there is none."""
    for name in _list_candidates(table, reader, options):
        if name.strip().casefold() not in TEXTS:
            continue
        lengths = []
        for document in _read_rows(table, reader, options, name).documents():
            lengths.append(len(document.text))
            if len(lengths) == _SAMPLED_ROWS:
                break
        if lengths and sorted(lengths)[len(lengths) // 2] >= _TEXT_LENGTH:
            return name
    return ""


def _list_candidates(table: Path, reader: Reader, options: ImportOptions) -> list[str]:
    """Return the names of the columns, the usual names of columns of files first."""
    try:
        source = reader.read(table, _adapt_options(options, reader))
    except IngestError:  # a table of numbers only, without a column of text
        return [*KEYS, *map(str.capitalize, KEYS), *map(str.upper, KEYS)]
    if not isinstance(source, TextSource) or source.columns is None:
        return []
    for number, _ in enumerate(source.documents()):
        if number >= _SAMPLED_ROWS:
            break
    names = [column.name for column in source.columns.list_all()]
    return sorted(names, key=lambda name: KEYS.index(low) if (low := name.strip().casefold()) in KEYS else len(KEYS))


def _read_rows(table: Path, reader: Reader, options: ImportOptions, key: str) -> TextSource:
    """Return the rows as documents whose text is the cell in the column ``key``."""
    source = reader.read(table, replace(_adapt_options(options, reader), text_column=key))
    if not isinstance(source, TextSource):
        raise IngestError(table, "is no table of texts")
    return source


def _adapt_options(options: ImportOptions, reader: Reader) -> ImportOptions:
    """Return the options that the reader of a table accepts, without the column of the text, which will be the key."""
    accepted = {*reader.accepts, "encoding"} - {"text_column", "token_pattern"}
    return ImportOptions(**{name: value for name, value in options.report().items() if name in accepted})


def _join_column(table: Path, reader: Reader, index: TextFiles, options: ImportOptions, key: str) -> Join:
    """Join the rows of a table by the file names in the column ``key``."""
    source = _read_rows(table, reader, options, key)
    columns = source.columns or Columns({})
    roles = {role: name for name, role in columns.roles.items() if role in ("title", "label", "split") and name != key}
    join = Join(table=table.name, key=key, facts={}, roles=roles)
    best: dict[str, tuple[int, str]] = {}
    for document in source.documents():
        row = _make_row(document, source, roles)
        matches = index.find(row.cell)
        if len(matches) != 1:
            (join.doubtful if matches else join.strange).append(row.cell)
            continue
        file, folders = matches[0]
        if file in best and folders <= best[file][0]:
            (join.repeated if folders == best[file][0] else join.strange).append(row.cell)
            continue
        if file in best:  # the earlier row means a file of this name in another folder
            join.strange.append(best[file][1])
        if not folders and "/" in file and len(_split_path(row.cell)) > 1:
            join.elsewhere.append(row.cell)
        best[file] = folders, row.cell
        join.facts[file] = row.facts
    return join


def _make_row(document: TextDocument, source: TextSource, roles: Mapping[str, str]) -> TableRow:
    label = document.label if "label" in roles else None
    class_name = None if label is None else source.classes.get(label, label)
    title = document.title if "title" in roles and document.titled else ""
    return TableRow(document.text, Facts(document.columns, class_name, title, document.part))


def _find_shared(folders: Sequence[str], other_folders: Sequence[str]) -> int:
    """Return the number of folders, from the innermost on, that are equal in two paths."""
    n_shared = 0
    for folder, other in zip(reversed(folders), reversed(other_folders), strict=False):
        if folder != other:
            break
        n_shared += 1
    return n_shared


def _split_path(text: str) -> list[str]:
    """Return the parts of a path in simplified form; none for a text that is too long."""
    parts = _simplify_name(text).split("/") if len(text) < _LONGEST_PATH else []
    return [part for part in parts if part not in ("", ".", "..")]


def _simplify_name(text: str) -> str:
    """Return a path with slashes, in lower case and normalised Unicode, without quotes."""
    return unicodedata.normalize("NFC", text).strip().strip("\"'").replace("\\", "/").casefold()


def _strip_ending(name: str) -> str:
    head, dot, ending = name.rpartition(".")
    return head if dot and head and _ENDING.fullmatch(f".{ending}") else name


def _list_spellings(name: str) -> tuple[str, str, str]:
    """Return a name, the name without its ending, and the latter as a plain number if it is one."""
    stem = _strip_ending(name)
    return name, stem, _read_number(stem)


def _read_number(name: str) -> str:
    """Return a number as spreadsheets write it, ``001`` and ``1.0`` as ``1``, and any other name unchanged."""
    whole = _WHOLE_NUMBER.sub(r"\1", name)
    return str(int(whole)) if whole.isdecimal() and len(whole) < 19 else name


def _name_some(names: Sequence[str]) -> str:
    return list_some([repr(name[:60]) for name in names], _MOST_EXAMPLES)
