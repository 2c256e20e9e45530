"""Open what is to be imported or inspected: one file or folder, or several files of one format."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from app.ingest import files, registry
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.registry import Reader
from app.ingest.several import joined
from app.ingest.source import Source
from app.ingest.words import storable

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


def listed(paths: Paths) -> list[Path]:
    """One path or several as a list."""
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]


def as_sent(path: Path) -> list[Path]:
    """What came from a browser: the files of a folder one by one where that is a heap of tables of one kind.

    A folder is otherwise read as it is, and so is one with a file to train on and one for the test.
    """
    if not path.is_dir():
        return [path]
    inside = sorted(path.iterdir())
    tables = {files.suffix(file) for file in inside} <= _TABLES and all(file.is_file() for file in inside)
    if len(inside) < 2 or not tables or any(files.part_of(file) is not None for file in inside):
        return [path]
    return inside


def name_for(paths: Paths, options: ImportOptions) -> str:
    """What a corpus is called: as the options say, else as the first file or folder is."""
    whole = Path(os.path.realpath(listed(paths)[0]))  # fails for no path; resolve() does for links that lead in circles
    return storable(options.name or files.stem(whole))


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
    first, *others = listed(paths)
    reader = registry.choose(first, options)
    sources = [reader.read(first, options)]
    for path in others:
        other = registry.choose(path, options)
        if other.NAME != reader.NAME:
            cause = f"is {other.NAME}, and {first.name} is {reader.NAME}; give files of one format, or name it"
            table = "; a table that describes texts lies in their folder, or is given with --metadata"
            raise IngestError(path, f"{cause} with --format{table if 'text' in (reader.NAME, other.NAME) else ''}")
        sources.append(reader.read(path, options))
    source = joined(sources)
    if called:
        source = replace(source, where=called)
    file = called or (f"{first.name} and {len(others):,} more" if others else first.name)
    return Opening(source, file, reader.NAME, _why(reader, first, options))


def _why(reader: Reader, path: Path, options: ImportOptions) -> str:
    """Why a reader was taken."""
    if options.format is not None:
        return "named with --format"
    what = reader.DESCRIPTION.partition(":")[0]
    if path.is_dir():
        return f"{what}; the only format that fits the files in the folder"
    return f"{what}; the only format that fits its name and its beginning"
