"""Cells of rows, read one by one: a damaged cell is recorded and replaced by a neutral value of its kind.

SQLite accepts any value in any cell, and both databases store JSON as text.  A single damaged cell must not make the
rest of the store unreadable, so rows are read through :class:`CellReader`.
"""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

Shape = Callable[[Any], bool]  # a test whether a JSON value has the expected form
Value = TypeVar("Value")
EPOCH = datetime.fromtimestamp(0, UTC)


class GarbledText(str):
    """Text that is not valid UTF-8 in the file of the store; replacement characters stand for its invalid bytes."""

    __slots__ = ()


class UnreadableCell(NamedTuple):
    """Placeholder for a cell that should hold JSON but does not."""

    reason: str


def decode_text(raw: bytes) -> str:
    """Decode a text of SQLite; a damaged one becomes GarbledText, so that the rest of the result can be read."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return GarbledText(raw.decode("utf-8", "replace"))


def read_json(value: Any) -> Any:
    """Return the value of a JSON text, or an `UnreadableCell` if it is damaged."""
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
        What is wrong with each damaged cell, by name.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.damage: dict[str, str] = {}

    def read_text(self, name: str, among: tuple[str, ...] = ()) -> str:
        """Read a text without NUL, one of ``among`` if given; a damaged text is returned as far as it is readable."""
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
        """Read a time, stored as seconds since 1970."""
        try:
            return datetime.fromtimestamp(self.read_real(name), UTC)
        except (ValueError, OverflowError, OSError):
            self._note(name, "no time")
            return EPOCH

    def read_json(self, name: str, fits: Shape, neutral: Value) -> Value:
        """Read a JSON value of the shape ``fits``; return ``neutral`` if the cell does not hold one."""
        value: Any = self._values[name]
        if isinstance(value, UnreadableCell):
            self._note(name, value.reason)
        elif fits(value):
            return value
        else:
            self._note(name, "empty" if value is None else "JSON, but not as Topiary writes it")
        return neutral

    def read_optional(self, kind: Callable[[str], Value], name: str) -> Value | None:
        """Read a cell by one of the methods above; None if it is empty."""
        return None if self._values[name] is None else kind(name)

    def _note(self, name: str, reason: str) -> None:
        """Record what is wrong with a cell; the first reason stays."""
        self.damage.setdefault(name, reason)


def convert_whole(value: Any) -> int:
    """Return a cell that should be a whole number; 0 if it is not."""
    return value if type(value) is int else 0


def describe_damage(damage: Mapping[str, str]) -> str:
    """Return the names of damaged cells and what is wrong with each, such as ``settings (not JSON)``."""
    return ", ".join(f"{name} ({reason})" for name, reason in damage.items())


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a number; Python's JSON allows infinity and NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_time(value: Any) -> bool:
    """Return whether a value is a finite number, as a time in seconds must be."""
    return is_number(value) and math.isfinite(value)


def is_plain(value: Any) -> bool:
    """Return whether a value is a text, a number, true, false or null."""
    return value is None or isinstance(value, str | int | float)


def match_whole(least: int = 0) -> Shape:
    """Return the shape of a whole number of at least ``least``."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def match_nullable(shape: Shape) -> Shape:
    """Return the shape of null or of a value of another shape."""
    return lambda value: value is None or shape(value)


def match_list(shape: Shape, least: int = 0) -> Shape:
    """Return the shape of a list of at least ``least`` values of the same shape."""
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(shape, value))


def match_object(known: Mapping[str, Shape], others: Shape = lambda _: True, required: tuple[str, ...] = ()) -> Shape:
    """Return the shape of an object that has the ``required`` keys; ``others`` is the shape of values of other keys."""

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not all(name in value for name in required):
            return False
        return all(known.get(name, others)(item) for name, item in value.items())

    return fits


def _describe_cell(value: Any, wanted: str) -> str:
    """Return what is wrong with a cell that should hold ``wanted``."""
    if value is None:
        return "empty"
    if isinstance(value, GarbledText):
        return "not UTF-8"
    if isinstance(value, bytes):
        return f"bytes where {wanted} belongs"
    return "a NUL character in it" if isinstance(value, str) and wanted == "text" else f"not {wanted}"
