"""What writers of files share: formats by suffix, JSON, and CSV whose cells no spreadsheet runs as formulas."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # as OWASP lists them under CSV injection


def find_format(path: Path, formats: Collection[str], what: str) -> str:
    """Return the format that the suffix of a file names.

    Raises
    ------
    ValueError
        When it is none of ``formats``; ``what`` says what cannot be written.
    """
    form = path.suffix.lower().removeprefix(".")
    if form not in formats:
        listed = ", ".join(f".{name}" for name in formats)
        raise ValueError(f"cannot write {what}: its name must end in one of {listed}")
    return form


def render_json(value: Any) -> str:
    """Return a value as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def render_csv(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Return rows as CSV with a header; every text is quoted, so that readers do not guess its type."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guard_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def guard_cell(value: Any) -> Any:
    """Return the value of a cell; a text that would be run as a formula gets an apostrophe, which makes it text.

    >>> guard_cell("=cmd()"), guard_cell("pear"), guard_cell(-1.5)
    ("'=cmd()", 'pear', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
