"""Points: the measured values of a run's curves, one per row.

There may be millions of them, so they are compared with their copies only if one of them is no number.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, func, insert, or_, select

from topiary.store.arrays import Array
from topiary.store.database import Database, reads
from topiary.store.tables import IsSound, points, select_sound

_AT_ONCE = 5000  # points read by one query
_MOST = 2.0**62  # largest number of mini-batches or documents; a larger one is damage


class Point(NamedTuple):
    """A measured value of a curve.

    ``documents`` is the number of documents read so far, ``seconds`` the training time; ``layer`` is 0 if the value
    belongs to no layer.  ``value`` may be NaN.
    """

    minibatch: int
    documents: int
    seconds: float
    name: str
    layer: int
    value: float


class Series(NamedTuple):
    """A curve: (n,) arrays, ``minibatch`` and ``documents`` int64, ``seconds`` and ``value`` float64."""

    minibatch: Array
    documents: Array
    seconds: Array
    value: Array


_COLUMNS = [points.c[name] for name in Point._fields]


def insert_points(connection: Connection, run: int, rows: Iterable[Point]) -> None:
    """Add points inside a transaction that owns the run."""
    values = [{"run": run} | Point(*row)._asdict() for row in rows]
    if values:
        connection.execute(insert(points), values)


@reads
def read_new_points(
    connection: Connection, run: int, cursor: int = 0, *, limit: int = 10_000
) -> tuple[list[Point], int]:
    """Return the points after ``cursor``, oldest first.

    Parameters
    ----------
    db : Database
        The store.
    run : int
        The run's number.
    cursor : int
        0 at first, then the cursor of the last call.
    limit : int
        Largest number of points.

    Returns
    -------
    new : list of Point
    cursor : int
        The cursor for the next call.

    Notes
    -----
    A claim deletes the points after the checkpoint, and the run writes them again under new numbers.  So if the attempt
    of the run changes, a reader must drop its points from the mini-batch of the first new point on.
    """
    rows = connection.execute(_select_later(run, cursor).limit(limit)).all()
    if len(rows) == limit:
        return _make_points(rows), rows[-1].number
    last = connection.execute(select(func.max(points.c.number)).where(points.c.run == run)).scalar()
    return _make_points(rows), max(cursor, last or 0)


@reads
def read_series(connection: Connection, run: int, name: str, layer: int = 0, most: int = 2000) -> Series:
    """Return a curve for a plot, thinned evenly by the database; the first and last points are included.

    Parameters
    ----------
    db : Database
        The store.
    run : int
        The run's number.
    name : str
        Name of the curve.
    layer : int
        0 if the curve belongs to no layer.
    most : int
        Approximate largest number of points, at least 2.
    """
    is_of_curve = (points.c.run == run) & (points.c.name == name) & (points.c.layer == layer)
    total = connection.execute(select(func.count()).select_from(points).where(is_of_curve)).scalar_one()
    return _fetch_series(connection, _select_thinned(is_of_curve, total, max(most, 2)))


@reads
def read_all_series(connection: Connection, run: int) -> tuple[list[tuple[str, int, Series]], int]:
    """Return all curves of a run at one moment, ten times faster than `read_new_points`.

    Returns
    -------
    curves : list of (name, layer, Series)
        The curves, each in the order of mini-batches.
    cursor : int
        The cursor with which `read_new_points` returns later points.
    """
    is_of_run = points.c.run == run
    kinds = select(points.c.name, points.c.layer).where(is_of_run).group_by(points.c.name, points.c.layer)
    curves = []
    last = connection.execute(select(func.max(points.c.number)).where(is_of_run)).scalar()
    for name, layer in connection.execute(kinds).all():
        if not (isinstance(name, str) and isinstance(layer, int)):
            continue
        is_of_curve = is_of_run & (points.c.name == name) & (points.c.layer == layer)
        curves.append((name, layer, _fetch_series(connection, _select_thinned(is_of_curve, 0, 0))))
    return curves, last or 0


def _fetch_series(connection: Connection, query: Select[Any]) -> Series:
    """Return the curve of a query for its four columns, without making an SQLAlchemy object for every row."""
    try:
        table = np.array(connection.execute(query).cursor.fetchall(), dtype=np.float64).reshape(-1, 4)
    except (ValueError, TypeError):  # a cell is damaged
        sound = query.where(IsSound(*points.columns))
        table = np.array(connection.execute(sound).cursor.fetchall(), dtype=np.float64).reshape(-1, 4)
    table = table[(np.abs(table[:, :2]) < _MOST).all(axis=1)]
    minibatch, documents, seconds, value = table.T
    return Series(minibatch.astype(np.int64), documents.astype(np.int64), seconds, value)


def read_points(db: Database, run: int) -> Iterator[Point]:
    """Yield every point of a run, oldest first, in short reads, as the run may be training."""
    cursor = 0
    while True:
        with db.read() as connection:
            rows = connection.execute(_select_later(run, cursor).limit(_AT_ONCE)).all()
        yield from _make_points(rows)
        cursor = rows[-1].number if rows else cursor
        if len(rows) < _AT_ONCE:
            return


def read_curve(db: Database, run: int, name: str) -> list[tuple[int, float]]:
    """Return all points (minibatch, value) of one curve of a run, in order."""
    return _fetch_curves(db, name, points.c.run == run).get(run, [])


def read_curves(db: Database, name: str) -> dict[int, list[tuple[int, float]]]:
    """Return all points (minibatch, value) of one curve by run, for every run that has some; by one query."""
    return _fetch_curves(db, name, points.c.run.is_not(None))


@reads
def _fetch_curves(connection: Connection, name: str, which: Any) -> dict[int, list[tuple[int, float]]]:
    """Return all points (minibatch, value) of one curve, by run."""
    query = select(points.c.run, points.c.minibatch, points.c.value).where(
        which, points.c.name == name, points.c.layer == 0
    )
    curves: dict[int, list[tuple[int, float]]] = {}
    for run, minibatch, value in connection.execute(query.order_by(points.c.minibatch, points.c.number)):
        if isinstance(minibatch, int):
            curves.setdefault(run, []).append((minibatch, _read_number(value)))
    return curves


def read_last_values(connection: Connection, run: int, names: Sequence[str]) -> dict[str, float | None]:
    """Return the latest value of each named curve; None if there is none or it is NaN."""
    found = _read_last_values(connection, run, names)
    return {name: None if np.isnan(found.get(name, np.nan)) else found[name] for name in names}


@reads
def read_newest_values(connection: Connection, run: int, names: Sequence[str]) -> dict[str, float]:
    """Return the latest value, which may be NaN, of each named curve that a run has, by name."""
    return _read_last_values(connection, run, names)


def _read_last_values(connection: Connection, run: int, names: Sequence[str]) -> dict[str, float]:
    """Return the latest value of each named curve that has one, by name."""
    found: dict[str, float] = {}
    for name in names:
        row = connection.execute(_select_last(run, name, 0)).first()
        if row is not None:
            found[name] = _read_number(row.value)
    return found


@reads
def read_newest(connection: Connection, run: int, name: str) -> dict[int, float]:
    """Return the newest value of a curve of each layer, by layer; empty if there is none."""
    is_curve = (points.c.run == run) & (points.c.name == name)
    layers = connection.execute(select(points.c.layer).where(is_curve).distinct()).scalars().all()
    known = sorted(layer for layer in layers if isinstance(layer, int))
    return {layer: _read_number(connection.execute(_select_last(run, name, layer)).scalar()) for layer in known}


def _select_last(run: int, name: str, layer: int) -> Select[Any]:
    """Return the query of the latest value of a curve; SQLite takes a damaged mini-batch for a later one."""
    is_curve = (points.c.run == run) & (points.c.name == name) & (points.c.layer == layer)
    query = select(points.c.value).where(is_curve, points.c.minibatch < int(_MOST))
    return query.order_by(points.c.minibatch.desc(), points.c.number.desc()).limit(1)


def _select_later(run: int, cursor: int) -> Select[Any]:
    """Return the query of the points of a run after a cursor, oldest first, with their numbers."""
    query = select_sound(points, points.c.number, *_COLUMNS)
    return query.where(points.c.run == run, points.c.number > cursor).order_by(points.c.number)


def _select_thinned(condition: Any, total: int, most: int) -> Select[Any]:
    """Return the query of about ``most`` points, evenly chosen; only the index is read to choose them."""
    in_order = (points.c.minibatch, points.c.number)
    columns = select(points.c.minibatch, points.c.documents, points.c.seconds, points.c.value)
    if total <= most:
        return columns.where(condition).order_by(*in_order)
    step = -(-(total - 1) // (most - 1))
    place = func.row_number().over(order_by=in_order)
    placed = select(points.c.number, place.label("place")).where(condition).subquery()
    chosen = select(placed.c.number).where(or_((placed.c.place - 1) % step == 0, placed.c.place == total))
    return columns.where(points.c.number.in_(chosen)).order_by(*in_order)


def _make_points(rows: Iterable[Sequence[Any]]) -> list[Point]:
    """Return rows of :func:`_select_later` as points."""
    return [
        Point(minibatch, documents, _read_number(seconds), name, layer, _read_number(value))
        for _, minibatch, documents, seconds, name, layer, value in rows
    ]


def _read_number(cell: Any) -> float:
    """Return a number of the store, where NaN is NULL."""
    return cell if isinstance(cell, int | float) else np.nan
