"""A share by group: bars with intervals."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

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
