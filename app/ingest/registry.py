"""Choose the reader of a file or folder, open it, and put several files together.

Each module of `app.ingest.readers` may have a tuple ``READERS`` of :class:`app.ingest.source.Reader`, the formats that
it can read.
"""

import importlib
import os
import pkgutil
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO, NamedTuple, TypeAlias, TypeVar

import numpy as np

from topiary.app.ingest import packing, readers
from topiary.app.ingest.errors import NO_MEMORY, IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.packing import Unpacked, _is_hidden, is_tar
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.readers.texts import TABLES, open_texts, read_texts
from topiary.app.ingest.source import COLUMNS, Array, CountSource, Reader, Rows, Source, TextDocument, TextSource
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.tables.sniff import advise_export, advise_exports
from topiary.app.ingest.text.cleaning import make_storable
from topiary.app.ingest.text.encodings import _GARBLED, are_garbled, repair_text
from topiary.app.ingest.text.passages import advise_size, count_words

_NO_CELLS = "is no table with separated cells (--format csv reads a text file as one)"
_NOT_ACCEPTED = {  # why some readers do not accept an option
    **dict.fromkeys(COLUMNS, "is no table of texts and no JSON lines, which alone have columns to choose"),
    "header": "is no table, which alone may have a line of column names",
    "skip_lines": "is no table, which alone may have lines above its column names",
    "records": "is no JSON or XML with records within others (--format xml reads .xml files as such)",
    "separator": _NO_CELLS,
    "quote": _NO_CELLS,
    "token_pattern": "holds counts, whose words are not found by a pattern",
    "vocabulary": "brings its own words",
    "levels": "holds no idx images, which alone have grey values to count",
    "metadata": "is no folder or zip file of texts, which alone can be joined with a table",
    "name_fields": "is no folder or zip file of texts, whose files alone are documents with names",
    "split": "holds counts, which cannot be divided into passages",
}
# Options accepted by the readers that find words by a pattern.
_OF_TEXTS = ("html", "strip_mail", "hyphens", "lemmas", "phrases", "phrase_npmi", "phrase_count", "split")
_CATCH_ALL = ("lines", "text")  # used only if no more particular reader recognises a file

# Formats recognised by the names or the content of files, which readers of texts or lines would recognise as well.
_LAYOUTS = (
    "captions",
    "octis",
    "topmost",
    "wiki",
    "bibtex",
    "feed",
    "iramuteq",
    "medline",
    "ris",
    "whatsapp",
    "wordcounts",
    "wos",
)
T = TypeVar("T")
# Endings of tables that are imported one by one if uploaded together.
_TABLES = {".csv", ".tsv", ".tab", ".jsonl", ".ndjson"}
Paths: TypeAlias = "Path | str | Sequence[Path | str]"
_SAMPLED = 400  # documents by which a source is judged
_LETTERS = 4_000  # characters of a text in the sample
_EXAMPLES = 3  # words in the note
STDIN_NAME = "standard input"  # name of the copied file, and of a corpus without a name
# First bytes of compressed files; suffixes by format, and by kind of bibliography.
_COMPRESSED_STARTS = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))
_FORMAT_SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl", "lines": ".txt", "text": ".zip", "svmlight": ".svmlight"}
_KIND_SUFFIXES = {"bibtex": ".bib", "ris": ".ris", "endnote": ".enw", "wos": ".ciw", "medline": ".nbib"}
_START = 1 << 16  # bytes from which the format is recognised


def list_readers() -> tuple[Reader, ...]:
    """Return all readers, by name."""
    modules = (importlib.import_module(module.name) for module in _list_modules())
    all_readers = (reader for module in modules for reader in getattr(module, "READERS", ()))
    return tuple(sorted(all_readers, key=lambda reader: reader.name))


def _list_modules() -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(readers.__path__, f"{readers.__name__}.")


def _guard_reader(reader: Reader, unpacked: Unpacked | None = None) -> Reader:
    """Return a reader of a path, or of an unpacked archive, whose failures are all raised as IngestError."""

    def read_guarded(path: Path, options: ImportOptions) -> Source:
        if unpacked is None:
            with refuse_failures(path):
                source = guard_source(reader.read(path, options), path)
            if packing.is_packed(path):
                source.understood["compression"] = path.suffix.lower().removeprefix(".")
            return source
        with refuse_failures(path), _name_members(unpacked):
            source = guard_source(reader.read(unpacked.path, options), path, lambda: _name_members(unpacked))
        names = unpacked.names
        source.understood["archive"] = f"{len(names):,} files" if len(names) > 1 else names[0]
        return replace(source, where=str(path))

    return replace(reader, read=read_guarded)


@contextmanager
def _name_members(unpacked: Unpacked) -> Iterator[None]:
    """Name the files of an archive as its members in errors raised inside the block."""
    try:
        yield
    except IngestError as error:
        member, cause = map(unpacked.name_members, (error.where, error.cause))
        raise IngestError(member, cause, error.line) from error.__cause__


def choose_reader(path: Path, options: ImportOptions) -> Reader:
    """Return the reader given in the options, or the one that recognises the path or the contents of an archive.

    Raises
    ------
    IngestError
        If the path or the reader does not exist, not exactly one recognises the path, or it does not accept an option.
    """
    _check_exists(path)
    with refuse_failures(path):
        if path.is_dir():
            check_links(path)
        else:
            packing.check_regular(path)
        chosen = _choose_in_archive(path, options) or _guard_reader(_find_fitting(path, options))
    refuse_idle(path, chosen.accepts, options)
    return chosen


def _choose_in_archive(path: Path, options: ImportOptions) -> Reader | None:
    """Return a reader of an archive's contents; None for no archive, or a zip file of texts, read without unpacking."""
    if path.is_dir():
        return None
    has_format = options.format not in (None, "text")
    if not is_tar(path) and not (path.suffix.lower() == ".zip" and (has_format or holds_more_than_texts(path))):
        return None
    unpacked = Unpacked(path)
    with _name_members(unpacked):
        reader = _find_fitting(unpacked.path, options)
    only_texts = reader.name == "text" and not reader.joins and not is_tar(path)
    return None if only_texts else _guard_reader(reader, unpacked)


def refuse_idle(path: Path, obeyed: Collection[str], options: ImportOptions) -> None:
    """Refuse options that the reader of the path does not accept, but others do.

    Raises
    ------
    IngestError
        Naming the first such option.
    """
    for option in options.report():
        requirement = "token_pattern" if option in _OF_TEXTS else option
        if requirement in _NOT_ACCEPTED and requirement not in obeyed:
            raise IngestError(
                path, f"{_NOT_ACCEPTED.get(option, _NOT_ACCEPTED[requirement])}; leave --{option.replace('_', '-')} out"
            )


def _check_exists(path: Path) -> None:
    """Refuse a path that does not exist or cannot be a path."""
    try:
        exists = path.exists()
    except OSError as error:  # a name that is too long, or a folder without permission
        cause = f"cannot be opened ({error.strerror or error}); check the path and your rights"
        raise IngestError(path, cause) from None
    except ValueError:  # a zero byte
        raise IngestError(path, "is a name that no file can have; check the path") from None
    if not exists:
        raise IngestError(path, "there is no such file or folder")


def _find_fitting(path: Path, options: ImportOptions) -> Reader:
    """Return the reader of the given format, or the only one that recognises the path and is not a catch-all."""
    by_name = {reader.name: reader for reader in list_readers()}
    names = ", ".join(by_name)
    name = options.format
    table_readers = {each: by_name[each] for each in TABLES if each in by_name}
    if name is not None:
        if name not in by_name:
            raise IngestError(path, f"there is no format {name!r}; the formats are {names}")
        is_binary = not path.is_dir() and b"\0" in sniff.look_at(path).raw[:4096]
        if is_binary and not by_name[name].recognise(path) and (advice := advise_export(path)):
            raise IngestError(path, advice)
        return by_name[name] if name != "text" else open_texts(path, options, table_readers) or by_name[name]
    fitting = [reader for reader in by_name.values() if reader.recognise(path)]
    specific = [reader for reader in fitting if reader.name not in _CATCH_ALL] or fitting
    only_lines = {reader.name for reader in specific} <= {"lines"}
    if options.divides and only_lines and packing.find_suffix(path) in packing.TEXTUAL:
        return open_texts(path, options, table_readers) or by_name["text"]  # the file is one long text
    if not specific:
        raise IngestError(path, _describe_unknown(path, names))
    specific = [reader for reader in specific if reader.name in _LAYOUTS] or specific
    rivals = [reader.name for reader in specific if reader.name != "text"]
    if any(reader.name == "text" for reader in fitting) and table_readers.keys() >= set(rivals):
        return open_texts(path, options, table_readers, rivals) or _take_only(specific, path)
    return _take_only(specific, path)


def _take_only(specific: Sequence[Reader], path: Path) -> Reader:
    """Return the only reader; refuse the path if there are several."""
    if len(specific) > 1:
        choices = " or ".join(reader.name for reader in specific)
        raise IngestError(path, f"can be read as {choices}; say which with --format, or give one file of it")
    return specific[0]


def _describe_unknown(path: Path, formats: str) -> str:
    """Explain that the format of a path is not recognised, with the kinds of files in a folder and some advice."""
    or_name = f"or name a format with --format: {formats}"
    if not path.is_dir():
        if path.suffix.lower() in packing.TEXTUAL:
            return f"is one document, and a corpus has many: import the folder it is in, {_advise_split(path)}{or_name}"
        if advice := advise_export(path):
            return advice
        return f"is not of a format that is recognised: save texts as .txt, {or_name}"
    folder_files = [path / name for name in packing.list_names(path)]
    contents = f" (it holds {packing.describe_kinds(folder_files)})" if folder_files else ""
    zips = [file for file in folder_files if file.suffix.lower() == ".zip"]
    advice = f"import {zips[0].relative_to(path)} itself" if zips else advise_exports(folder_files)
    return f"is not of a format that is recognised{contents}: {advice or 'save texts as .txt'}, {or_name}"


def _advise_split(path: Path) -> str:
    """Return how a single text can be divided, as a part of a sentence; empty if it is too short, or damaged."""
    try:
        words = sum(count_words(document.text) for document in read_texts(path, ImportOptions()).documents())
    except IngestError:
        return ""
    split = advise_size(words)
    return f"divide it with {split} (or chapters, or paragraphs, where it has such), " if split else ""


@contextmanager
def refuse_failures(where: Path | str) -> Iterator[None]:
    """Turn errors of memory, recursion and files inside the block into an IngestError.

    Raises
    ------
    IngestError
        In place of the original error.
    """
    try:
        yield
    except MemoryError:
        raise IngestError(where, NO_MEMORY) from None
    except RecursionError:
        raise IngestError(where, "is nested too deeply to be documents; is it damaged?") from None
    except OSError as error:
        name = error.filename if isinstance(error.filename, (str, Path)) else where
        raise IngestError(name, f"cannot be read ({error.strerror or error}); check the path and your rights") from None


def guard_source(
    source: Source, where: Path | str, besides: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Source:
    """Return the source with its documents read inside the contexts `refuse_failures` and ``besides``."""
    if isinstance(source, TextSource):
        return replace(source, documents=partial(_guard_items, repair_source(source).documents, where, besides))
    return replace(source, blocks=partial(_guard_items, source.blocks, where, besides))


def _guard_items(
    read: Callable[[], Iterator[T]], path: Path | str, besides: Callable[[], AbstractContextManager[None]]
) -> Iterator[T]:
    """Yield the items of a source, with each read inside the contexts of `guard_source`."""
    with refuse_failures(path), besides():
        items = read()
    while True:
        with refuse_failures(path), besides():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def check_links(folder: Path) -> None:
    """Refuse a folder with links that lead out of it, as it could choose which of the user's files are read.

    Hidden files and folders are not read, and therefore not checked.

    Raises
    ------
    IngestError
        Naming the first such link.
    """
    root = os.path.realpath(folder)
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *names):
            path = os.path.join(directory, name)  # noqa: PTH118 - a folder may have a million files, and Path is slow
            if os.path.islink(path) and not _is_inside(os.path.realpath(path), root):  # noqa: PTH114
                cause = "is a link that leads out of the folder; put what it leads to in its place, or remove the link"
                raise IngestError(path, cause)


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


class OpenedSource(NamedTuple):
    """A source of documents, its name and format, and why that format was chosen.

    Attributes
    ----------
    source : Source
    file : str
        Name of the file or folder to show; for several, the first and how many more there are.
    format, why : str
        Name of the reader, and why it was chosen.
    """

    source: Source
    file: str
    format: str
    why: str


def list_paths(paths: Paths) -> list[Path]:
    """Return one path or several as a list."""
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]


def list_uploaded(path: Path) -> list[Path]:
    """List the paths of an upload: the files in a folder if all are tables of one kind, else the folder itself.

    A folder with files of training and test documents is also read as a whole.
    """
    if not path.is_dir():
        return [path]
    folder_files = sorted(path.iterdir())
    tables = {packing.find_suffix(file) for file in folder_files} <= _TABLES and all(
        file.is_file() for file in folder_files
    )
    if len(folder_files) < 2 or not tables or any(packing.find_part(file) is not None for file in folder_files):
        return [path]
    return folder_files


def name_corpus(paths: Paths, options: ImportOptions) -> str:
    """Return the name of a corpus: the one in the options, else that of the first file or folder."""
    real_path = os.path.realpath(list_paths(paths)[0])  # unlike resolve(), it accepts links that lead in circles
    return make_storable(options.name or packing.strip_endings(Path(real_path)))


def open_paths(paths: Paths, options: ImportOptions, display_name: str = "") -> OpenedSource:
    """Choose the reader of a file or folder, or of several files, and open them.

    Parameters
    ----------
    paths : path, or sequence of paths
    options : ImportOptions
    display_name : str
        Name shown instead of the file names, if the files are temporary copies, as of standard input.

    Raises
    ------
    IngestError
        If one cannot be read, or they are not of one format.
    """
    first, *others = list_paths(paths)
    reader = choose_reader(first, options)
    sources = [reader.read(first, options)]
    for path in others:
        other = choose_reader(path, options)
        if other.name != reader.name:
            cause = f"is {other.name}, and {first.name} is {reader.name}; give files of one format, or name it"
            table = "; a table that describes texts lies in their folder, or is given with --metadata"
            raise IngestError(path, f"{cause} with --format{table if 'text' in (reader.name, other.name) else ''}")
        sources.append(reader.read(path, options))
    source = join_sources(sources)
    if display_name:
        source = replace(source, where=display_name)
    file = display_name or (f"{first.name} and {len(others):,} more" if others else first.name)
    return OpenedSource(source, file, reader.name, _explain_choice(reader, first, options))


def _explain_choice(reader: Reader, path: Path, options: ImportOptions) -> str:
    """Explain why a reader was chosen."""
    if options.format is not None:
        return "named with --format"
    format_name = reader.description.partition(":")[0]
    if path.is_dir():
        return f"{format_name}; the only format that fits the files in the folder"
    return f"{format_name}; the only format that fits its name and its beginning"


def join_sources(sources: Sequence[Source]) -> Source:
    """Join the documents of all sources, one after the other, and unite their words and classes.

    Raises
    ------
    IngestError
        If tables use different columns for the text, title, label or split, or counts are of different kinds.
    """
    first, *others = sources
    if not others:
        return first
    for other in others:
        _refuse_mixture(first, other)
    if isinstance(first, TextSource):
        return _join_texts([source for source in sources if isinstance(source, TextSource)])
    return _join_counts([source for source in sources if isinstance(source, CountSource)])


def _list_roles(source: TextSource) -> dict[str, str]:
    """Return the roles of a table's columns, except for dates, which a file may lack."""
    roles = {} if source.columns is None else source.columns.roles
    return {name: role for name, role in roles.items() if role != "date"}


def _refuse_mixture(first: Source, other: Source) -> None:
    """Refuse two sources that cannot be joined."""
    if isinstance(first, TextSource) and isinstance(other, TextSource):
        first_roles, other_roles = map(_list_roles, (first, other))
        if first_roles != other_roles:
            cause = f"has {_describe_roles(other_roles)}, where {first.where} has {_describe_roles(first_roles)}"
            raise IngestError(other.where, f"{cause}; name the columns with --text-column, --title-column and the like")
    elif isinstance(first, CountSource) and isinstance(other, CountSource):
        same = (first.kind, first.image_shape, first.has_scored) == (other.kind, other.image_shape, other.has_scored)
        if not same:
            cause = f"holds counts of another kind than {first.where}"
            raise IngestError(other.where, f"{cause}; import them one by one")
    else:
        raise IngestError(other.where, f"is read otherwise than {first.where}; import them one by one")


def _describe_roles(roles: dict[str, str]) -> str:
    return ", ".join(f"{role} {name!r}" for name, role in roles.items())


def _join_texts(sources: Sequence[TextSource]) -> TextSource:
    """Return a source of the texts of all sources, one after the other."""
    notes: list[str] = []
    _gather_notes(sources, notes)

    def documents() -> Iterator[TextDocument]:
        for source in sources:
            yield from source.documents()
        _gather_notes(sources, notes)

    classes = {name: label for source in reversed(sources) for name, label in source.classes.items()}
    stops = frozenset().union(*(source.stop_words for source in sources))
    return replace(sources[0], documents=documents, classes=classes, stop_words=stops, notes=notes)


def _gather_notes(sources: Sequence[Source], notes: list[str]) -> None:
    """Add the notes of all sources to ``notes``, each once; sources may add notes while they are read."""
    unique = dict.fromkeys(note for source in sources for note in source.notes)
    notes.extend(note for note in unique if note not in notes)


def _join_counts(sources: Sequence[CountSource]) -> CountSource:
    """Return a source of the counts of all sources, over the united vocabulary and classes."""
    vocabulary, words = _unite_names([source.vocabulary for source in sources])
    names, labels = _unite_names([source.label_names for source in sources])
    parts = [source.part for source in sources]
    notes: list[str] = []
    _gather_notes(sources, notes)

    def blocks() -> Iterator[Rows]:
        for source, new_words, new_labels in zip(sources, words, labels, strict=True):
            for rows in source.blocks():
                yield _renumber_rows(rows, new_words, new_labels)
        _gather_notes(sources, notes)

    return replace(
        sources[0],
        vocabulary=vocabulary,
        label_names=names,
        blocks=blocks,
        n_documents=sum(source.n_documents for source in sources),
        part=_join_arrays(sources, parts),
        notes=notes,
    )


def _join_arrays(sources: Sequence[CountSource], arrays: Sequence[Array | None]) -> Array | None:
    """Join the arrays of all sources; return None if one source has none."""
    existing = [each for each in arrays if each is not None]
    return np.concatenate(existing) if len(existing) == len(sources) else None


def _unite_names(lists: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[Array]]:
    """Return the unique names in order of appearance and, for each list, the new numbers of its names."""
    numbers: dict[str, int] = {}
    new_numbers = [np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32) for names in lists]
    return tuple(numbers), new_numbers


def _renumber_rows(rows: Rows, words: Array, labels: Array) -> Rows:
    """Return rows with new numbers of words and labels, given by their old numbers."""
    old = rows.labels
    if len(labels):
        rows = rows._replace(labels=np.where(old >= 0, labels[np.maximum(old, 0)], -1).astype(np.int32))
    return rows.with_counts(lambda counts: matrices.sort_words(counts._replace(words=words[counts.words])))


def repair_source(source: TextSource) -> TextSource:
    """Return a source whose texts and columns are repaired if its first documents are garbled, with a note."""
    is_noted = False

    def documents() -> Iterator[TextDocument]:
        nonlocal is_noted
        read = source.documents()
        first = list(islice(read, _SAMPLED))
        if not are_garbled(f"{document.title}\n{document.text[:_LETTERS]}" for document in first):
            yield from chain(first, read)
            return
        if not is_noted:
            is_noted = True
            source.notes.append(_note_repair(first))
            if source.columns is not None:
                source.columns.rewrite(repair_text)
        yield from map(_repair_document, chain(first, read))

    return replace(source, documents=documents)


def _note_repair(documents: Iterable[TextDocument]) -> str:
    texts = (document.text[:_LETTERS] for document in documents)
    words = dict.fromkeys(word.strip(".,;:!?()") for text in texts for word in text.split() if _GARBLED.search(word))
    examples = ", ".join(f"{repair_text(word)} for {word}" for word in islice(words, _EXAMPLES))
    return f"letters that were saved in a wrong encoding are put right: {examples}"


def _repair_document(document: TextDocument) -> TextDocument:
    return document._replace(
        text=repair_text(document.text),
        title=repair_text(document.title),
        label=None if document.label is None else repair_text(document.label),
        columns={repair_text(name): repair_text(value) for name, value in document.columns.items()},
    )


def holds_more_than_texts(path: Path) -> bool:
    """Return whether a .zip contains files other than single documents: tables, records or counts."""
    if path.suffix.lower() != ".zip":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = [packing.get_member_path(info) for info in archive.infolist() if not packing.is_folder(info)]
    except (*packing.UNPACKING, NotImplementedError, UnicodeDecodeError):
        return False
    visible = [PurePosixPath(packing.strip_packing(name.name)) for name in names if not _is_hidden(name)]
    if any(name.suffix for name in visible) and any(name.suffix.lower() not in packing.TEXTUAL for name in visible):
        return True
    return sniff.find_kind_in_zip(path) is not None


def name_input(names: Sequence[str]) -> str:
    """Return the name of the input if it is standard input, else an empty text."""
    return STDIN_NAME if list(names) == ["-"] else ""


@contextmanager
def spool_input(names: Sequence[str], form: str | None = None, stream: BinaryIO | None = None) -> Iterator[list[Path]]:
    """Yield the paths of files; ``-`` is standard input, which is copied to a file that exists during the block.

    Parameters
    ----------
    names : sequence of str
    form : str or None
        Name of the format; None = recognise it.
    stream : binary file, optional
        Read instead of standard input.

    Raises
    ------
    IngestError
        When standard input is given with other files, or its format is not recognised.  Errors raised inside the block
        name standard input instead of the copy.
    """
    if "-" not in names:
        yield [Path(name) for name in names]
        return
    if len(names) > 1:
        raise IngestError(STDIN_NAME, "cannot be read together with files; give either")
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        try:
            yield [_copy_input(stream or sys.stdin.buffer, Path(folder), form)]
        except IngestError as error:
            raise IngestError(STDIN_NAME, error.cause.replace(f"{folder}/", ""), error.line) from None


def _copy_input(stream: BinaryIO, folder: Path, form: str | None) -> Path:
    """Copy a stream to a file in a folder, and return its path; the suffix tells the format."""
    start = stream.read(_START)
    if not start.strip():
        raise IngestError(STDIN_NAME, "is empty")
    path = folder / f"{STDIN_NAME}{_guess_suffix(start, form)}"
    with path.open("wb") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
    return path


def _guess_suffix(start: bytes, form: str | None) -> str:
    """Return the suffix of a file that starts with these bytes."""
    packed = next((ending for mark, ending in _COMPRESSED_STARTS if start.startswith(mark)), "")
    if form == "text" and not start.startswith(b"PK\x03\x04"):
        return ".txt" + packed
    if form is not None:
        return _FORMAT_SUFFIXES.get(form, f".{form}") + packed
    if packed:
        raise IngestError(STDIN_NAME, "is compressed; say what is in it with --format")
    if start.startswith(b"PK\x03\x04"):
        return ".zip"
    beginning = sniff.Beginning(PurePath(STDIN_NAME), start)
    if beginning.first == b"{":
        return ".jsonl"
    if beginning.content:
        return _KIND_SUFFIXES.get(beginning.content, ".txt")
    if beginning.root not in ("", "html"):
        return ".xml"
    return ".csv" if _is_table(start) else ".txt"


def _is_table(start: bytes) -> bool:
    """Return whether the first two lines have the same number of some separator, at least one."""
    first, _, rest = start.partition(b"\n")
    second = rest.partition(b"\n")[0]
    return any(first.count(mark) == second.count(mark) > 0 for mark in (b",", b";", b"\t", b"|"))
