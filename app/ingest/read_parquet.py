"""Parquet and Arrow tables, alone or in the folders of Hugging Face datasets: one document a row."""

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from app.ingest import fields, files
from app.ingest.errors import IngestError
from app.ingest.fields import PARTS
from app.ingest.options import ImportOptions
from app.ingest.source import LEFT_OUT, TextSource

NAME = "parquet"
DESCRIPTION = "Parquet: NAME.parquet, NAME.arrow, or the folder of a Hugging Face dataset, one document a row"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "token_pattern")

_SAMPLE = 200
_ROWS = 1_000  # at a time
_PARQUET, _ARROW = (".parquet",), (".arrow", ".feather")


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it and straight below it."""
    if path.is_dir():
        return bool(_inside(path))
    return files.suffix(path) in (*_PARQUET, *_ARROW)


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows as documents; words of the title count too."""
    parts = _parts(path)
    with closing(_records(parts[0].path)) as rows:
        sample = [record for _, record in islice(rows, _SAMPLE)]
    if not sample:
        raise IngestError(parts[0].path, "has no rows; give a table with a row for each document")
    roles = fields.find_roles(sample, options, parts[0].path)
    source = fields.source(path, parts, roles, _records, options, encoded=False)
    names = _class_names(parts[0].path, roles.label)
    return replace(source, classes=names) if names else source


def _inside(folder: Path) -> list[Path]:
    """The tables of a folder: in it, in ``data``, or in a folder for each part."""
    here = files.listed(folder, recognises)
    try:
        below = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError:
        return here
    return here or [file for each in below for file in files.listed(each, recognises)]


def _parts(path: Path) -> list[files.Part]:
    if not path.is_dir():
        return [files.Part(path, None)]
    found = _inside(path)
    if not found:
        raise IngestError(path, "has no .parquet or .arrow file in it")
    parts = [files.Part(file, _part(file)) for file in found]
    known = {each.part for each in parts}
    if None in known and len(known) > 1:
        names = ", ".join(each.path.name for each in parts if each.part is None)[:80]
        raise IngestError(path, f"has tables of training or test documents and others ({names}); give one of them")
    return sorted(parts, key=lambda each: (each.part or 0, each.path))


def _part(file: Path) -> int | None:
    """The part that the name of a file says, or that of its folder, as in ``train/data-00000-of-00001.arrow``."""
    named = files.part_of(file)
    above = PARTS.get(file.parent.name.lower())
    return named if named is not None or above == LEFT_OUT else above


def _records(path: Path) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """The rows as mappings, each with its number from 1."""
    number = 0
    with files.seekable(path) as stream:
        try:
            for batch in _batches(path, stream):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
        except (IngestError, MemoryError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
            said = " ".join(str(error).split())[:120] or type(error).__name__
            raise IngestError(path, f"is no sound table of its format ({said}); save or download it again") from None


def _batches(path: Path, stream: Any) -> Iterator[Any]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        cause = "is a table that needs one more package to be read"
        raise IngestError(path, f"{cause}: pip install 'topiary[parquet]', or save it as .csv or .jsonl") from None
    if files.suffix(path) in _PARQUET:
        yield from parquet.ParquetFile(stream, memory_map=False).iter_batches(batch_size=_ROWS, use_threads=False)
        return
    start = stream.read(6)
    stream.seek(0)
    if start != b"ARROW1":  # as datasets are saved: a stream, without the list of its batches at the end
        for batch in arrow.ipc.open_stream(stream):
            yield from _pieces(batch)
        return
    reader = arrow.ipc.open_file(stream)
    for number in range(reader.num_record_batches):
        yield from _pieces(reader.get_batch(number))


def _pieces(batch: Any) -> Iterator[Any]:
    batch.validate(full=True)
    for begin in range(0, batch.num_rows, _ROWS):
        yield batch.slice(begin, _ROWS)


def _class_names(path: Path, label: str | None) -> dict[str, str]:
    """Names of numbered labels, as Hugging Face datasets keep them in the table or beside it."""
    about = _about(path)
    features = about.get("features") if isinstance(about, dict) else None
    feature = features.get(label) if isinstance(features, dict) else None
    names = feature.get("names") if isinstance(feature, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return {}
    return {str(number): name for number, name in enumerate(names)}


def _about(path: Path) -> Any:
    try:
        for folder in (path.parent, path.parent.parent):
            if (folder / "dataset_info.json").is_file():
                return json.loads((folder / "dataset_info.json").read_bytes())
        with files.seekable(path) as stream:
            return _within(path, stream)
    except (OSError, ValueError, RecursionError):
        return None


def _within(path: Path, stream: Any) -> Any:
    if files.suffix(path) not in _PARQUET:
        return None
    from pyarrow import parquet

    kept = parquet.ParquetFile(stream).schema_arrow.metadata or {}
    about = json.loads(kept.get(b"huggingface", b"{}"))
    return about.get("info") if isinstance(about, dict) else None
