"""The readers: one file each in this folder, called ``read_FORMAT.py``, found by listing it.

A reader is a module with ``NAME``, ``DESCRIPTION`` (a sentence for people), ``ACCEPTS`` (the options that not every
reader accepts, but it does), ``recognises(path) -> bool`` (a quick look, never an exception) and
``read(path, options) -> Source``.
"""

import importlib
import pkgutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

from app import ingest
from app.ingest import files, guard, packed
from app.ingest.archive import Unpacked, holds_more_than_texts, is_tar
from app.ingest.described_texts import TABLES, DescribedTexts, open_texts
from app.ingest.document import KINDS
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Source

_PREFIX = "read_"
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


class Reader(Protocol):
    """What every reader offers."""

    NAME: str
    DESCRIPTION: str
    ACCEPTS: tuple[str, ...]

    def recognises(self, path: Path) -> bool:
        """Whether the file or folder looks like this format."""

    def read(self, path: Path, options: ImportOptions) -> Source:
        """The documents in it."""


def readers() -> tuple[Reader, ...]:
    """All readers, by name."""
    modules = [module.name for module in pkgutil.iter_modules(ingest.__path__) if module.name.startswith(_PREFIX)]
    return tuple(cast("Reader", importlib.import_module(f"{ingest.__name__}.{name}")) for name in sorted(modules))


class Chosen:
    """The reader of one path, which reads it as it is or, an archive, unpacked; whatever happens is one sentence."""

    def __init__(self, reader: Reader, unpacked: Unpacked | None = None) -> None:
        self.NAME, self.DESCRIPTION, self.ACCEPTS = reader.NAME, reader.DESCRIPTION, reader.ACCEPTS
        self.recognises = reader.recognises
        self._reader, self._unpacked = reader, unpacked

    def read(self, path: Path, options: ImportOptions) -> Source:
        """The documents in it, as :meth:`Reader.read`."""
        if self._unpacked is None:
            with guard.refusing(path):
                source = guard.guarded(self._reader.read(path, options), path)
            if packed.is_packed(path):
                source.understood["compression"] = path.suffix.lower().removeprefix(".")
            return source
        inside = self._unpacked
        with guard.refusing(path), _as_given(inside):
            source = guard.guarded(self._reader.read(inside.path, options), path, lambda: _as_given(inside))
        source.understood["archive"] = f"{len(inside.names):,} files" if len(inside.names) > 1 else inside.names[0]
        return replace(source, where=str(path))


@contextmanager
def _as_given(unpacked: Unpacked) -> Iterator[None]:
    """Sentences about files of an archive call them its members."""
    try:
        yield
    except IngestError as error:
        raise IngestError(
            unpacked.as_given(error.where), unpacked.as_given(error.cause), error.line
        ) from error.__cause__


def choose(path: Path, options: ImportOptions) -> Chosen:
    """The reader that the options name, or the one that recognises the path; what an archive holds is looked at.

    Raises
    ------
    IngestError
        When there is no such path or reader, or not exactly one recognises it, or an option would change nothing.
    """
    _check_there(path)
    with guard.refusing(path):
        if path.is_dir():
            guard.check_links(path)
        else:
            files.check_regular(path)
        chosen = _in_archive(path, options) or Chosen(_fitting(path, options))
    refuse_idle(path, chosen.ACCEPTS, options)
    return chosen


def _in_archive(path: Path, options: ImportOptions) -> Chosen | None:
    """The reader of what an archive holds; None where it is none, or one of texts alone, which need no unpacking."""
    if path.is_dir():
        return None
    named = options.format not in (None, "text")
    if not is_tar(path) and not (path.suffix.lower() == ".zip" and (named or holds_more_than_texts(path))):
        return None
    unpacked = Unpacked(path)
    with _as_given(unpacked):
        reader = _fitting(unpacked.path, options)
    alone = isinstance(reader, DescribedTexts) and not reader.joins and not is_tar(path)
    return None if alone else Chosen(reader, unpacked)


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


def _fitting(path: Path, options: ImportOptions) -> Reader:
    by_name = {reader.NAME: reader for reader in readers()}
    names = ", ".join(by_name)
    name = options.format
    tables = {each: by_name[each] for each in TABLES if each in by_name}
    if name is not None:
        if name not in by_name:
            raise IngestError(path, f"there is no format {name!r}; the formats are {names}")
        return by_name[name] if name != "text" else open_texts(path, options, tables) or by_name[name]
    fitting = [reader for reader in by_name.values() if reader.recognises(path)]
    particular = [reader for reader in fitting if reader.NAME not in _CATCH_ALL] or fitting
    if options.divides and {reader.NAME for reader in particular} <= {"lines"} and files.suffix(path) in KINDS:
        return open_texts(path, options, tables) or by_name["text"]  # a file that is one long text
    if not particular:
        raise IngestError(path, f"{_unknown(path)}, or name a format with --format: {names}")
    particular = [reader for reader in particular if reader.NAME in _LAYOUTS] or particular
    rivals = [reader.NAME for reader in particular if reader.NAME != "text"]
    if any(reader.NAME == "text" for reader in fitting) and tables.keys() >= set(rivals):
        return open_texts(path, options, tables, rivals) or _only(particular, path)
    return _only(particular, path)


def _only(particular: Sequence[Reader], path: Path) -> Reader:
    if len(particular) > 1:
        choices = " or ".join(reader.NAME for reader in particular)
        raise IngestError(path, f"can be read as {choices}; say which with --format, or give one file of it")
    return particular[0]


def _unknown(path: Path) -> str:
    """That a path is of no format that is recognised, what a folder holds, and what one may do."""
    if not path.is_dir() and path.suffix.lower() in KINDS:
        return f"is one document, and a corpus has many: import the folder it is in, or divide it with {_WAYS}"
    inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else []
    held = f" (it holds {files.kinds(inside)})" if inside else ""
    zips = [file for file in inside if file.suffix.lower() == ".zip"]
    advice = f"import {zips[0].relative_to(path)} itself" if zips else "save texts as .txt"
    return f"is not of a format that is recognised{held}: {advice}"
