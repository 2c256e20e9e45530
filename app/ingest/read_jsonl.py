"""JSON lines: one object a line, one document an object."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.ingest import files, json_records
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "jsonl"
DESCRIPTION = "JSON lines: NAME.jsonl or NAME.ndjson (.gz), fields text, title, label, split; other fields are kept"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "records", "token_pattern")


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".jsonl", ".ndjson")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The objects as documents; words of the title count too."""
    parts = files.parts(path, recognises, "JSON lines", several=True)

    def values(file: Path) -> Iterator[tuple[int, Any]]:
        return _values(file, options.encoding)

    return json_records.source(path, parts, values, {}, options, empty="give a file with a JSON object on each line")


def _values(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    for line, text in files.lines(path, encoding):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except json.JSONDecodeError as error:
            raise IngestError(path, f"is not JSON: {error.msg} at character {error.colno}", line) from None
        except ValueError:  # Python reads no whole number of more than 4,300 digits
            raise IngestError(path, "has a number of thousands of digits; write it in quotes", line) from None
        except RecursionError:
            raise IngestError(path, "is JSON nested too deeply to be a document", line) from None
        yield line, record
