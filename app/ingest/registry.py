"""Choose the reader of a file or folder, open it, and put several files together.

The modules of `app.ingest.readers` are listed; what each has in a tuple ``READERS`` of
:class:`app.ingest.source.Reader` is a format that can be read.
"""

import importlib
import os
import pkgutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from app.ingest import files, packing, readers
from app.ingest.archives import Unpacked, holds_more_than_texts, is_tar
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers import matrices
from app.ingest.readers.described_texts import TABLES, open_texts
from app.ingest.readers.documents import KINDS
from app.ingest.source import Array, CountSource, Reader, Rows, Source, TextDocument, TextSource
from app.ingest.text.cleaning import make_storable

_NO_COLUMNS = "is no table of texts and no JSON lines, which alone have columns to choose"
_NO_CELLS = "is no table with separated cells (--format csv reads a text file as one)"
_IDLE = {  # options that not every reader accepts, and why not
    "text_column": _NO_COLUMNS,
    "title_column": _NO_COLUMNS,
    "label_column": _NO_COLUMNS,
    "split_column": _NO_COLUMNS,
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
# Where words are found by a pattern.
_OF_TEXTS = ("html", "strip_mail", "hyphens", "lemmas", "phrases", "phrase_npmi", "phrase_count", "split")
_WAYS = "--split chapters, paragraphs or '500 words'"
_CATCH_ALL = ("lines", "text")  # plain text is what a file is when it is nothing more particular

# Folders of known names, and files known by their content, which other readers would take one by one or line by line.
_LAYOUTS = ("octis", "topmost", "wiki", "bibtex", "feed", "medline", "ris", "whatsapp", "wordcounts", "wos")


def list_readers() -> tuple[Reader, ...]:
    """Return all readers, by name."""
    modules = (importlib.import_module(module.name) for module in _list_modules())
    found = (reader for module in modules for reader in getattr(module, "READERS", ()))
    return tuple(sorted(found, key=lambda reader: reader.name))


def _list_modules() -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(readers.__path__, f"{readers.__name__}.")


def _guard_reader(reader: Reader, unpacked: Unpacked | None = None) -> Reader:
    """Return a reader that reads a path as it is or, an archive, unpacked; whatever happens is one sentence."""

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
        where, cause = map(unpacked.name_members, (error.where, error.cause))
        raise IngestError(where, cause, error.line) from error.__cause__


def choose_reader(path: Path, options: ImportOptions) -> Reader:
    """Return the reader that the options name, or that recognises the path or what an archive holds.

    Raises
    ------
    IngestError
        When there is no such path or reader, or not exactly one recognises it, or an option would change nothing.
    """
    _check_there(path)
    with refuse_failures(path):
        if path.is_dir():
            check_links(path)
        else:
            files.check_regular(path)
        chosen = _choose_in_archive(path, options) or _guard_reader(_find_fitting(path, options))
    refuse_idle(path, chosen.accepts, options)
    return chosen


def _choose_in_archive(path: Path, options: ImportOptions) -> Reader | None:
    """Return the reader of what an archive holds; None where it is none, or one of texts alone, read as it is."""
    if path.is_dir():
        return None
    named = options.format not in (None, "text")
    if not is_tar(path) and not (path.suffix.lower() == ".zip" and (named or holds_more_than_texts(path))):
        return None
    unpacked = Unpacked(path)
    with _name_members(unpacked):
        reader = _find_fitting(unpacked.path, options)
    alone = reader.name == "text" and not reader.joins and not is_tar(path)
    return None if alone else _guard_reader(reader, unpacked)


def refuse_idle(path: Path, obeyed: Collection[str], options: ImportOptions) -> None:
    """Refuse options that the reader of the path does not accept, though others do.

    Raises
    ------
    IngestError
        Naming the first of them.
    """
    for option in options.report():
        found = "token_pattern" if option in _OF_TEXTS else option
        if found in _IDLE and found not in obeyed:
            raise IngestError(path, f"{_IDLE.get(option, _IDLE[found])}; leave --{option.replace('_', '-')} out")


def _check_there(path: Path) -> None:
    try:
        there = path.exists()
    except OSError as error:  # a name longer than the system allows, or a folder that may not be looked into
        cause = f"cannot be opened ({error.strerror or error}); check the path and your rights"
        raise IngestError(path, cause) from None
    except ValueError:  # a zero byte
        raise IngestError(path, "is a name that no file can have; check the path") from None
    if not there:
        raise IngestError(path, "there is no such file or folder")


def _find_fitting(path: Path, options: ImportOptions) -> Reader:
    by_name = {reader.name: reader for reader in list_readers()}
    names = ", ".join(by_name)
    name = options.format
    tables = {each: by_name[each] for each in TABLES if each in by_name}
    if name is not None:
        if name not in by_name:
            raise IngestError(path, f"there is no format {name!r}; the formats are {names}")
        return by_name[name] if name != "text" else open_texts(path, options, tables) or by_name[name]
    fitting = [reader for reader in by_name.values() if reader.recognise(path)]
    particular = [reader for reader in fitting if reader.name not in _CATCH_ALL] or fitting
    if options.divides and {reader.name for reader in particular} <= {"lines"} and files.find_suffix(path) in KINDS:
        return open_texts(path, options, tables) or by_name["text"]  # a file that is one long text
    if not particular:
        raise IngestError(path, f"{_describe_unknown(path)}, or name a format with --format: {names}")
    particular = [reader for reader in particular if reader.name in _LAYOUTS] or particular
    rivals = [reader.name for reader in particular if reader.name != "text"]
    if any(reader.name == "text" for reader in fitting) and tables.keys() >= set(rivals):
        return open_texts(path, options, tables, rivals) or _take_only(particular, path)
    return _take_only(particular, path)


def _take_only(particular: Sequence[Reader], path: Path) -> Reader:
    if len(particular) > 1:
        choices = " or ".join(reader.name for reader in particular)
        raise IngestError(path, f"can be read as {choices}; say which with --format, or give one file of it")
    return particular[0]


def _describe_unknown(path: Path) -> str:
    """Explain that the format of a path is not recognised, what a folder holds, and what one may do."""
    if not path.is_dir() and path.suffix.lower() in KINDS:
        return f"is one document, and a corpus has many: import the folder it is in, or divide it with {_WAYS}"
    inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else []
    held = f" (it holds {files.describe_kinds(inside)})" if inside else ""
    zips = [file for file in inside if file.suffix.lower() == ".zip"]
    advice = f"import {zips[0].relative_to(path)} itself" if zips else "save texts as .txt"
    return f"is not of a format that is recognised{held}: {advice}"


T = TypeVar("T")

NO_MEMORY = "needs more memory than this machine has free; import a part of it, or close other programs"


@contextmanager
def refuse_failures(where: Path | str) -> Iterator[None]:
    """Turn what any reader may meet into its refusal.

    Raises
    ------
    IngestError
        In place of what the machine raised.
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
    """Return the source with its documents read within `refuse_failures` and ``besides``."""
    if isinstance(source, TextSource):
        return replace(source, documents=partial(_guard_items, source.documents, where, besides))
    return replace(source, blocks=partial(_guard_items, source.blocks, where, besides))


def _guard_items(
    read: Callable[[], Iterator[T]], where: Path | str, besides: Callable[[], AbstractContextManager[None]]
) -> Iterator[T]:
    with refuse_failures(where), besides():
        items = read()
    while True:
        with refuse_failures(where), besides():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def check_links(folder: Path) -> None:
    """Refuse a folder with links that lead out of it: it would choose which of your files are read.

    What is hidden is not read, nor looked at here.

    Raises
    ------
    IngestError
        Naming the first of them.
    """
    root = os.path.realpath(folder)
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *names):
            path = os.path.join(here, name)  # noqa: PTH118 - a folder may have a million files, and Path is slow
            if os.path.islink(path) and not _is_inside(os.path.realpath(path), root):  # noqa: PTH114
                cause = "is a link that leads out of the folder; put what it leads to in its place, or remove the link"
                raise IngestError(path, cause)


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


_TABLES = {".csv", ".tsv", ".tab", ".jsonl", ".ndjson"}
Paths: TypeAlias = "Path | str | Sequence[Path | str]"


class Opening(NamedTuple):
    """Documents that can be read, and how they came to be.

    Attributes
    ----------
    source : Source
    file : str
        Name of the file or folder, for people; of several the first, and how many more there are.
    format, why : str
        Name of the reader, and why it was taken.
    """

    source: Source
    file: str
    format: str
    why: str


def list_paths(paths: Paths) -> list[Path]:
    """Return one path or several as a list."""
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]


def list_uploaded(path: Path) -> list[Path]:
    """List what came from a browser: the files of a folder one by one where all are tables of one kind.

    A folder is otherwise read as it is, and so is one with a file to train on and one for the test.
    """
    if not path.is_dir():
        return [path]
    inside = sorted(path.iterdir())
    tables = {files.find_suffix(file) for file in inside} <= _TABLES and all(file.is_file() for file in inside)
    if len(inside) < 2 or not tables or any(files.find_part(file) is not None for file in inside):
        return [path]
    return inside


def name_corpus(paths: Paths, options: ImportOptions) -> str:
    """Return the name of a corpus: that of the options, else of the first file or folder."""
    whole = os.path.realpath(list_paths(paths)[0])  # fails for no path; resolve() does for links that lead in circles
    return make_storable(options.name or files.strip_endings(Path(whole)))


def open_paths(paths: Paths, options: ImportOptions, called: str = "") -> Opening:
    """Choose the reader of a file or folder, or of several files, and read how they begin.

    Parameters
    ----------
    paths : path, or sequence of paths
    options : ImportOptions
    called : str
        What stands in the place of their names, where they are copies of something.

    Raises
    ------
    IngestError
        When one cannot be read, or they are not of one format.
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
    if called:
        source = replace(source, where=called)
    file = called or (f"{first.name} and {len(others):,} more" if others else first.name)
    return Opening(source, file, reader.name, _explain_choice(reader, first, options))


def _explain_choice(reader: Reader, path: Path, options: ImportOptions) -> str:
    """Explain why a reader was taken."""
    if options.format is not None:
        return "named with --format"
    what = reader.description.partition(":")[0]
    if path.is_dir():
        return f"{what}; the only format that fits the files in the folder"
    return f"{what}; the only format that fits its name and its beginning"


def join_sources(sources: Sequence[Source]) -> Source:
    """Join the documents of all sources, one after the other, with the words and classes of any.

    Raises
    ------
    IngestError
        When tables take different columns for the text, the title, the label or the split, or counts are of different
        kinds.
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
    """Return the roles of the columns of a table but those of dates, which one file may lack."""
    roles = {} if source.columns is None else source.columns.roles
    return {name: role for name, role in roles.items() if role != "date"}


def _refuse_mixture(first: Source, other: Source) -> None:
    if isinstance(first, TextSource) and isinstance(other, TextSource):
        mine, theirs = map(_list_roles, (first, other))
        if mine != theirs:
            cause = f"has {_describe_roles(theirs)}, where {first.where} has {_describe_roles(mine)}"
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
    """Add the notes of all sources, which may grow while documents are read; each once."""
    every = dict.fromkeys(note for source in sources for note in source.notes)
    notes.extend(note for note in every if note not in notes)


def _join_counts(sources: Sequence[CountSource]) -> CountSource:
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
    """Return arrays of all documents; None where one source has none."""
    known = [each for each in arrays if each is not None]
    return np.concatenate(known) if len(known) == len(sources) else None


def _unite_names(lists: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[Array]]:
    """Return all names, each once in the order of appearance, and the new numbers of those of each list."""
    numbers: dict[str, int] = {}
    new = [np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32) for names in lists]
    return tuple(numbers), new


def _renumber_rows(rows: Rows, words: Array, labels: Array) -> Rows:
    old = rows.labels
    if len(labels):
        rows = rows._replace(labels=np.where(old >= 0, labels[np.maximum(old, 0)], -1).astype(np.int32))
    return rows.with_counts(lambda counts: matrices.sort_words(counts._replace(words=words[counts.words])))
