"""Parquet and Arrow tables, alone or in the folders of Hugging Face datasets: one document a row."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from app.ingest import arrow_files, fields, files, json_shapes, tables
from app.ingest.errors import IngestError
from app.ingest.json_shapes import Record
from app.ingest.options import ImportOptions
from app.ingest.roles import PARTS, find_roles, split_columns
from app.ingest.source import LEFT_OUT, TextSource

NAME = "parquet"
DESCRIPTION = "Parquet: NAME.parquet, NAME.arrow, or the folder of a Hugging Face dataset, one document a row"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "token_pattern")

_SAMPLE = 200


def recognises(path: Path) -> bool:
    """By the ending of the name, unless it is a table of counts; a folder by the files in it and straight below it."""
    if path.is_dir():
        return bool(_inside(path))
    is_table = files.suffix(path) in (*arrow_files.PARQUET, *arrow_files.ARROW)
    return is_table and tables.find_counts(path) is None


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows as documents; words of the title count too."""
    parts = _parts(path)
    first = parts[0].path
    sample: list[Record] = [record for _, record in islice(arrow_files.records(first), _SAMPLE)]
    if not sample:
        raise IngestError(first, "has no rows; give a table with a row for each document")
    flat = json_shapes.needs_flattening(sample, split_columns(options.text_column, list(sample[0])))

    def records(file: Path) -> Iterator[tuple[int, Record]]:
        for line, record in arrow_files.records(file):
            yield line, json_shapes.flatten(record) if flat else record

    if flat:
        sample = [json_shapes.flatten(record) for record in sample]
    roles = find_roles(sample, options, first)
    source = fields.source(path, parts, roles, records, options, encoded=False)
    source.notes.extend(arrow_files.repeated_names(first))
    names = _class_names(first, roles.label)
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
    if files.suffix(path) not in arrow_files.PARQUET:
        return None
    from pyarrow import parquet

    kept = parquet.ParquetFile(stream).schema_arrow.metadata or {}
    about = json.loads(kept.get(b"huggingface", b"{}"))
    return about.get("info") if isinstance(about, dict) else None
