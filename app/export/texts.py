"""Texts for files and terminals: JSON, CSV that is safe to open in a spreadsheet, lines without control characters."""

import csv
import io
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from topiary.app.analysis.errors import ReadError

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # as OWASP lists them under CSV injection
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def find_format(path: Path, formats: Collection[str], what: str) -> str:
    """Return the format named by the suffix of a file.

    Raises
    ------
    ReadError
        When the suffix is none of ``formats``; ``what`` describes in the message what cannot be written.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in formats:
        listed = ", ".join(f".{name}" for name in formats)
        raise ReadError(f"cannot write {what}: its name must end in one of {listed}")
    return suffix


def render_json(value: Any) -> str:
    """Return a value as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def drop_infinite(value: float | None) -> float | None:
    """Return a number for JSON: None instead of NaN and infinity, which JSON does not have."""
    return float(value) if value is not None and math.isfinite(value) else None


def render_csv(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Return rows as CSV with a header; every text is quoted, so that readers do not guess its type."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guard_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def guard_cell(value: Any) -> Any:
    """Return a value for a cell; a text that a spreadsheet would run as a formula gets an apostrophe in front.

    >>> guard_cell("=cmd()"), guard_cell("pear"), guard_cell(-1.5)
    ("'=cmd()", 'pear', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def flatten_text(text: object) -> str:
    """Return a text as one line without control characters, which could control the terminal or break a table."""
    return _CONTROL.sub(lambda match: " " if match[0].isspace() else "", str(text))
