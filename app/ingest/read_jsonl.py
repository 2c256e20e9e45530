"""JSON lines: one object a line, one document an object."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from app.ingest import fields, files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "jsonl"
DESCRIPTION = "JSON lines: NAME.jsonl or NAME.ndjson (.gz), fields text, title, label, split; other fields are kept"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "token_pattern")

_SAMPLE = 200


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".jsonl", ".ndjson")


def read(path: Path, options: ImportOptions) -> TextSource:
    """The objects as documents; words of the title count too."""
    parts = files.parts(path, recognises, "JSON lines", several=True)
    sample = [record for _, record in islice(_records(parts[0].path, options.encoding), _SAMPLE)]
    if not sample:
        raise IngestError(parts[0].path, "has no documents; give a file with a JSON object on each line")
    roles = fields.find_roles(sample, options, parts[0].path)
    return fields.source(path, parts, roles, lambda file: _records(file, options.encoding), options)


def _records(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
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
        if not isinstance(record, dict):
            raise IngestError(path, "is JSON, but not an object {...} with the fields of a document", line)
        yield line, record
