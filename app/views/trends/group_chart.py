"""Topics by group: bars with intervals for one topic, a heat map of topics and groups, and a table of effects."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.views.html import render
from topiary.app.views.text import format_percent

_HEADROOM = 1.4  # length of a row in multiples of the largest share, at most; intervals may be cut


class GroupBar(NamedTuple):
    """The share of a topic in a group of documents, with its 90 % interval; nan without documents.

    ``filters`` is the condition that selects the group, for a click on it.
    """

    name: str
    filters: str
    mean: float
    low: float
    high: float
    documents: int


class GroupTable(NamedTuple):
    """Shares of topics in groups, and where they differ from the rest beyond chance.

    Attributes
    ----------
    documents : sequence of int
        Documents of every group.
    keys, topics : sequences of str
        Identities and titles of the topics.
    mean : (groups, topics) array
    beyond : (groups, topics) array
        1 where a share is higher than in all other groups together beyond chance, -1 where it is lower, else 0.
    """

    groups: Sequence[str]
    documents: Sequence[int]
    keys: Sequence[str]
    topics: Sequence[str]
    mean: NDArray[np.float64]
    beyond: NDArray[np.int8]


def draw_group_bars(
    bars: Sequence[GroupBar],
    everywhere: float,
    form: Callable[[float], str] = format_percent,
    bands: str = "90 % intervals",
) -> str:
    """Return bars with intervals, in the order given, and a line at the topic's share in all documents.

    Parameters
    ----------
    form : (share) -> str
        Writes a share.
    bands : str
        What the intervals are.
    """
    known = [bar for bar in bars if np.isfinite(bar.mean)]
    largest = max((bar.mean for bar in known), default=0.0)
    top = min(max((bar.high for bar in known), default=0.0), _HEADROOM * largest) or 1.0
    rows = [_describe_bar(bar, top, form) for bar in bars]
    return render("trends.group_bars", rows, 100 * min(everywhere / top, 1.0), form(everywhere), bands)


def _describe_bar(bar: GroupBar, top: float, form: Callable[[float], str]) -> SimpleNamespace:
    """Return a bar with the places of its ends in percent of the row; without documents it has none."""
    shown = SimpleNamespace(name=bar.name, filters=bar.filters, documents=bar.documents, ends=())
    if np.isfinite(bar.mean):
        low, high = max(bar.low, 0.0), min(bar.high, 1.0)
        shown.share, shown.interval = form(bar.mean), f"{form(low)} – {form(high)}"
        shown.ends = (100 * bar.mean / top, 100 * min(low, top) / top, 100 * min(high, top) / top)
    return shown


def draw_heat_map(table: GroupTable) -> str:
    """Return a table of topics and groups whose cells are tinted by their share in proportion to the topic's mean.

    A triangle marks shares that differ from those of all other groups beyond chance.
    """
    weights = np.asarray(table.documents, dtype=np.float64)
    known = np.isfinite(table.mean)
    average = np.nansum(table.mean * weights[:, None], axis=0) / np.maximum((known * weights[:, None]).sum(axis=0), 1.0)
    rows = [
        (key, title, [_tint_cell(table, group, place, float(average[place])) for group in range(len(table.groups))])
        for place, (key, title) in enumerate(zip(table.keys, table.topics, strict=True))
    ]
    return render("trends.heat_map", zip(table.groups, table.documents, strict=True), rows)


def _tint_cell(table: GroupTable, group: int, topic: int, average: float) -> tuple[str, float, float, int] | None:
    """Return the style of a cell, how strong its tint is, its share and its mark; None without documents."""
    mean = float(table.mean[group, topic])
    if not np.isfinite(mean):
        return None
    tint = 100 * min(1.0, abs(np.log2(max(mean, 1e-6) / max(average, 1e-6))) / 3)
    return "tr-more" if mean >= average else "tr-less", tint, mean, int(table.beyond[group, topic])
