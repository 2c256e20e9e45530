"""Cells of tables that people open in a spreadsheet, where a text that begins like a formula would be run."""

from collections.abc import Mapping
from typing import Any

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # as OWASP lists them under CSV injection


def cell(value: Any) -> Any:
    """The value; a text that a spreadsheet would take for a formula behind an apostrophe, which makes it text.

    >>> cell("=cmd()"), cell("pear"), cell(-1.5)
    ("'=cmd()", 'pear', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of such cells."""
    return {name: cell(value) for name, value in row.items()}
