"""Cells of rows, read one by one: a damaged cell is noted and replaced by a neutral value of its kind.

SQLite keeps any value in any cell, and JSON is text to both databases.  One damaged cell must not keep people from
everything else in the store, so rows are read through :class:`CellReader`.
"""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

Shape = Callable[[Any], bool]
Value = TypeVar("Value")
EPOCH = datetime.fromtimestamp(0, UTC)


class GarbledText(str):
    """Text that is not UTF-8 in the file of the store, with replacement characters where it is not."""

    __slots__ = ()


class UnreadableCell(NamedTuple):
    """Placeholder of a cell that should hold JSON and does not."""

    reason: str


def decode_text(raw: bytes) -> str:
    """Decode a text of SQLite; one damaged text must not make the whole answer fail."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return GarbledText(raw.decode("utf-8", "replace"))


def read_json(value: Any) -> Any:
    """Return the value that a text of JSON holds, or `UnreadableCell`."""
    if not isinstance(value, str) or isinstance(value, GarbledText):
        return UnreadableCell(_describe_cell(value, "text"))
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return UnreadableCell("not JSON")


class CellReader:
    """A reader of the cells of one row by name; each method reads one kind of cell.

    Attributes
    ----------
    damage : dict of str to str
        The damaged cells, and why they are.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.damage: dict[str, str] = {}

    def read_text(self, name: str, among: tuple[str, ...] = ()) -> str:
        """Read a text without NUL, one of ``among`` where these are given; of a damaged text its readable part."""
        value = self._values[name]
        if type(value) is str and "\x00" not in value and (not among or value in among):
            return value
        reason = f"not one of {', '.join(among)}" if among and type(value) is str else _describe_cell(value, "text")
        self._note(name, reason)
        return value.replace("\x00", "\ufffd") if isinstance(value, str) and not among else ""

    def read_whole(self, name: str, most: int = (1 << 63) - 1) -> int:
        """Read a whole number from 0 to ``most``."""
        value = self._values[name]
        if type(value) is int and 0 <= value <= most:
            return value
        self._note(name, f"not from 0 to {most:,}" if type(value) is int else _describe_cell(value, "a whole number"))
        return 0

    def read_real(self, name: str) -> float:
        """Read a number."""
        value = self._values[name]
        if type(value) in (float, int):
            return float(value)
        self._note(name, _describe_cell(value, "a number"))
        return 0.0

    def read_time(self, name: str) -> datetime:
        """Read a moment, stored as seconds since 1970."""
        try:
            return datetime.fromtimestamp(self.read_real(name), UTC)
        except (ValueError, OverflowError, OSError):
            self._note(name, "no time")
            return EPOCH

    def read_json(self, name: str, fits: Shape, neutral: Value) -> Value:
        """Read a value of JSON of a shape; ``neutral`` where it is none."""
        value: Any = self._values[name]
        if isinstance(value, UnreadableCell):
            self._note(name, value.reason)
        elif fits(value):
            return value
        else:
            self._note(name, "empty" if value is None else "JSON, but not as Topiary writes it")
        return neutral

    def read_optional(self, kind: Callable[[str], Value], name: str) -> Value | None:
        """Read a cell by one of the methods above; None where it is empty."""
        return None if self._values[name] is None else kind(name)

    def _note(self, name: str, reason: str) -> None:
        self.damage.setdefault(name, reason)


def convert_whole(value: Any) -> int:
    """Return a cell that should be a whole number; 0 where it is none."""
    return value if type(value) is int else 0


def describe_damage(damage: Mapping[str, str]) -> str:
    """Name damaged cells and what is wrong with each: ``settings (not JSON)``."""
    return ", ".join(f"{name} ({reason})" for name, reason in damage.items())


def is_text(value: Any) -> bool:
    """Return whether it is a text."""
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    """Return whether it is true or false."""
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether it is a number; JSON of Python knows infinity too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_time(value: Any) -> bool:
    """Return whether it can be seconds since some moment."""
    return is_number(value) and math.isfinite(value)


def is_plain(value: Any) -> bool:
    """Return whether it is a text, a number, true, false or null."""
    return value is None or isinstance(value, str | int | float)


def match_whole(least: int = 0) -> Shape:
    """Make the shape of a whole number of at least ``least``."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def match_nullable(shape: Shape) -> Shape:
    """Make the shape of null, or of something else."""
    return lambda value: value is None or shape(value)


def match_list(shape: Shape, least: int = 0) -> Shape:
    """Make the shape of a list of at least so many values of one shape."""
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(shape, value))


def match_object(known: Mapping[str, Shape], others: Shape = lambda _: True, required: tuple[str, ...] = ()) -> Shape:
    """Make the shape of an object: values of known keys, and of all others; ``required`` keys are there."""

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not all(name in value for name in required):
            return False
        return all(known.get(name, others)(item) for name, item in value.items())

    return fits


def _describe_cell(value: Any, wanted: str) -> str:
    if value is None:
        return "empty"
    if isinstance(value, GarbledText):
        return "not UTF-8"
    if isinstance(value, bytes):
        return f"bytes where {wanted} belongs"
    return "a NUL character in it" if isinstance(value, str) and wanted == "text" else f"not {wanted}"
