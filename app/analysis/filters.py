"""Filters of documents by the columns of a corpus and by the shares of topics.

A condition is written ``column=value``: a category or label by its name (``source=BBC``), a date or a number by a range
(``date=2004..2005-06``, ``rating=3..``), a missing value by nothing (``source=``), and the share of a topic by its
identity and a range (``L2:17=20%..``), or its being the strongest topic of its layer (``L2:17=strongest``).  Both ends
of a range belong to it; an end that is left out is open.  A line on the map of documents is written by its corners,
with the number of the snapshot of the map (``map:6=-1.5:0.25~2:0.5~0.3:4``); it selects the documents inside.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import parse_identity
from topiary.app.analysis.shares import LayerUse, read_topic_shares
from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.tree import Node
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER, CorpusColumn

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_RANGE = ".."
_LINE = re.compile(r"map:(\d{1,9})")
_CORNER = re.compile(r"-?\d{1,5}(?:\.\d{1,2})?:-?\d{1,5}(?:\.\d{1,2})?")
STRONGEST = "strongest"  # the value of a condition that a topic is the strongest one of its layer
MOST_CORNERS = 30  # of a line that is written as a condition
_FIRST_CORNERS = 400  # of a line whose corners are weighed against each other
_FLAT = 2e-4  # of the area of the box around a line; a corner that adds less is left out
_UNITS: dict[int, Literal["Y", "M", "D"]] = {1: "Y", 2: "M", 3: "D"}  # by the number of parts of a date


class Condition(NamedTuple):
    """A condition on a column, or on the share of a topic: the name of either, and the value as it is written."""

    column: str
    value: str

    def __str__(self) -> str:
        """Return the condition as it is written."""
        return f"{self.column}={self.value}"

    @property
    def node(self) -> Node | None:
        """The topic whose share is asked for; None for a condition on a column."""
        return parse_identity(self.column)

    @property
    def strongest(self) -> Node | None:
        """The topic that has to be the strongest one of its layer; None for any other condition."""
        return self.node if self.value == STRONGEST else None

    @property
    def map_snapshot(self) -> int:
        """The number of the snapshot of the map on which the condition is a line; 0 for any other condition."""
        match = _LINE.fullmatch(self.column)
        return int(match[1]) if match and self.value else 0


class DateRange(NamedTuple):
    """A range of dates in milliseconds since 1970, both ends included; infinite where it is open."""

    first: float
    last: float


class FilterSources(NamedTuple):
    """Where filters read values.

    Attributes
    ----------
    read_column : (column) -> array
        Returns the values of a column for all documents.
    read_use : (layer) -> LayerUse
        Returns the shares of the topics of a layer in all documents.
    find_place : (node) -> int
        Returns the column of Phi in which a topic is; raises LookupError if there is no such topic.
    read_positions : (snapshot) -> (documents, 2) array
        Returns the positions of documents on the map under a snapshot.
    read_strongest : (layer) -> (documents,) array
        Returns the column of Phi of the strongest topic of a layer in every document, -1 for none.
    """

    columns: Sequence[CorpusColumn]
    read_column: Callable[[CorpusColumn], Array]
    read_use: Callable[[int], LayerUse]
    find_place: Callable[[Node], int]
    read_positions: Callable[[int], Array]
    read_strongest: Callable[[int], Array]


def parse_condition(text: str) -> Condition:
    """Return the condition that a text stands for.

    >>> parse_condition("date = 2004..")
    Condition(column='date', value='2004..')

    Raises
    ------
    ReadError
        If the text has no sign of equality, or no name before it.
    """
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise ReadError(f"{text!r} is no condition; write one as in source=BBC or date=2004..2005")
    return Condition(name.strip(), value.strip())


def write_line(snapshot: int, corners: Array) -> Condition:
    """Return the condition that selects the documents inside a line on the map under a snapshot.

    Corners that hardly change the area are left out, and of more than ``MOST_CORNERS`` those that change it least.

    Parameters
    ----------
    corners : (n, 2) array
        In the coordinates of the map, which are rounded to hundredths.
    """
    points = np.asarray(corners, dtype=np.float64).reshape(-1, 2)
    points = points[:: -(-len(points) // _FIRST_CORNERS) or 1]
    least = _FLAT * float(np.prod(np.ptp(points, axis=0))) if len(points) else 0.0
    while len(points) > 3:
        (x1, y1), (x2, y2) = (np.roll(points, 1, axis=0) - points).T, (np.roll(points, -1, axis=0) - points).T
        areas = np.abs(x1 * y2 - x2 * y1) / 2
        if len(points) <= MOST_CORNERS and areas.min() > least:
            break
        points = np.delete(points, np.argmin(areas), axis=0)
    texts = (f"{value:.2f}".rstrip("0").rstrip(".") for value in points.ravel().tolist())
    pairs = zip(*(iter(texts),) * 2, strict=True)
    return Condition(f"map:{snapshot}", "~".join(f"{x}:{y}" for x, y in pairs))


def read_line(condition: Condition) -> FloatArray:
    """Return the corners of a line on the map, (n, 2).

    Raises
    ------
    ReadError
        If the value is no line.
    """
    corners = condition.value.split("~")
    if len(corners) < 3 or not all(map(_CORNER.fullmatch, corners)):
        raise ReadError(f"{str(condition)[:60]!r} is no line on the map, as in map:6=-1.5:0.25~2:0.5~0.3:4")
    return np.array([corner.split(":") for corner in corners], dtype=np.float64)


def select_by_conditions(sources: FilterSources, conditions: Sequence[Condition], documents: int) -> Array | None:
    """Return which documents meet all conditions, (documents,) bool; None for all documents, without a condition.

    Raises
    ------
    ReadError
        If a value is none of its column.
    NotFound
        If there is no such column.
    """
    if not conditions:
        return None
    selected = np.ones(documents, dtype=bool)
    for condition in conditions:
        found = _meet_condition(sources, condition)
        selected[: len(found)] &= found[:documents]
        selected[len(found) :] = False  # appended since the values were stored
    return selected


def _meet_condition(sources: FilterSources, condition: Condition) -> Array:
    node = condition.node
    if node is not None:
        return _has_share(sources, node, condition)
    if condition.map_snapshot:
        return _is_inside(sources.read_positions(condition.map_snapshot), condition)
    column = find_column(sources.columns, condition.column)
    values = sources.read_column(column)
    match column.kind:
        case kind if kind == CATEGORY:
            return np.asarray(values == _find_level(column, condition.value))
        case kind if kind == DATE:
            low, high = _read_ends(condition, _read_date)
            missing = np.iinfo(np.int64).min
            if condition.value == "":
                return np.asarray(values == missing)
            return np.asarray((values != missing) & (values >= low) & (values <= high))
        case kind if kind == NUMBER:
            if condition.value == "":
                return np.isnan(values)
            low, high = _read_ends(condition, _read_number)
            return np.asarray((values >= low) & (values <= high))
    wanted = condition.value.casefold()
    return np.array([text.strip().casefold() == wanted for text in values], dtype=bool)


def _has_share(sources: FilterSources, node: Node, condition: Condition) -> Array:
    """Return which documents have a share of a topic in a range; shares below 1 % count as 0."""
    low, high = (-np.inf, np.inf) if condition.strongest else _read_ends(condition, _read_number)
    if any(end > 1.0 for end in (low, high) if np.isfinite(end)):
        raise ReadError(f"a share is between 0 and 1, or 0% and 100%; got {str(condition)!r}")
    try:
        place = sources.find_place(node)
    except LookupError:
        raise ReadError(f"there is no topic {condition.column}; topiary topics lists those of a run") from None
    if condition.strongest:
        return np.asarray(sources.read_strongest(node.layer) == place)
    shares = read_topic_shares(sources.read_use(node.layer), place)
    return np.asarray((shares >= low) & (shares <= high))


def _is_inside(positions: Array, condition: Condition) -> Array:
    """Return which documents lie inside a line on the map."""
    from topiary.engine.document_map.areas import find_inside

    return find_inside(positions, read_line(condition))


def _find_level(column: CorpusColumn, value: str) -> int:
    """Return the number of a category; -1 for the missing value."""
    if value == "":
        return -1
    for wanted in (value, value.casefold()):
        for number, level in enumerate(column.levels):
            if wanted in (level, level.casefold()):
                return number
    listed = ", ".join(column.levels[:8]) + (" …" if len(column.levels) > 8 else "")
    raise ReadError(f"column {column.name!r} has no category {value!r}; it has {listed}")


def _read_ends(condition: Condition, read: Callable[[str, int], float]) -> tuple[float, float]:
    """Return the ends of a range; a single value is a range from its first to its last moment."""
    first, sign, last = condition.value.partition(_RANGE)
    if not sign:
        last = first
    try:
        low = read(first.strip(), 0) if first.strip() else -np.inf
        high = read(last.strip(), 1) if last.strip() else np.inf
    except ValueError as error:
        raise ReadError(f"{str(condition)!r} has no range as in 2004..2005-06, 3.. or 20%..") from error
    if low > high:
        raise ReadError(f"the range of {str(condition)!r} ends before it begins; write the smaller end first")
    return low, high


def _read_date(text: str, side: int) -> float:
    """Return the first (side 0) or the last (side 1) millisecond of a year, a month or a day."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    unit = _UNITS[sum(part is not None for part in match.groups())]
    iso = "-".join([match[1], *(part.zfill(2) for part in match.groups()[1:] if part is not None)])
    date = np.datetime64(iso, unit)
    return float((date + side).astype("datetime64[ms]").astype(np.int64) - side)


def _read_number(text: str, _: int) -> float:
    number = float(text.removesuffix("%"))
    return number / 100 if text.endswith("%") else number


def write_date_range(first: str, last: str) -> str:
    """Return the value of a condition on dates from one day to another, in whole years or months if it can be.

    Parameters
    ----------
    first, last : str
        Days as in 2004-07-01, in either order; an empty one leaves that end open.

    Raises
    ------
    ReadError
        If one is no day, or both are empty.

    >>> [write_date_range("2004-01-01", last) for last in ("2004-12-31", "2005-06-30", "2005-06-29", "")]
    ['2004', '2004-01..2005-06', '2004-01-01..2005-06-29', '2004-01-01..']
    """
    if not first or not last:
        texts = [str(_read_day(each)) for each in (first, last) if each]
        if not texts:
            raise ReadError("a range of dates needs a first or a last day")
        return f"{texts[0]}.." if first else f"..{texts[0]}"
    begin, end = sorted((_read_day(first), _read_day(last)))
    after = end + np.timedelta64(1, "D")
    for unit in (_UNITS[1], _UNITS[2]):
        if all(each == each.astype(f"datetime64[{unit}]") for each in (begin, after)):
            begin, end = (each.astype(f"datetime64[{unit}]") for each in (begin, end))
            break
    return str(begin) if begin == end else f"{begin}{_RANGE}{end}"


def _read_day(text: str) -> np.datetime64:
    try:
        return np.datetime64(text, "D")
    except ValueError as error:
        raise ReadError(f"{text!r} is no day as in 2004-07-01") from error


def split_ranges(where: Sequence[str], column: str) -> tuple[tuple[str, ...], DateRange | None]:
    """Return the conditions that are no range of a column of dates, and the range that the others leave of it.

    The range is None without such a condition.  One for documents without a date is no range.

    Raises
    ------
    ReadError
        If a condition on the column has no range of dates.
    """
    others, ranges = [], []
    for text in where:
        condition = parse_condition(text)
        is_range = condition.column.casefold() == column.casefold() and condition.value != ""
        if is_range:
            ranges.append(DateRange(*_read_ends(condition, _read_date)))
        else:
            others.append(text)
    both = DateRange(max(each.first for each in ranges), min(each.last for each in ranges)) if ranges else None
    return tuple(others), both


class SelectedShares(NamedTuple):
    """The shares of topics in the documents that meet the conditions of a view.

    Attributes
    ----------
    where : tuple of str
        The conditions.
    shares : tuple of (K_l,) arrays
        By layer; empty after an error.
    selected, documents : int
        Documents that meet the conditions, and all of the corpus.
    fault : str
        Why there are no shares, as a sentence.
    moment : str
        The step that the shares are of if that is not the newest one; may be empty.
    """

    snapshot: int
    where: tuple[str, ...]
    shares: tuple[FloatArray, ...] = ()
    selected: int = 0
    documents: int = 0
    fault: str = ""
    moment: str = ""
