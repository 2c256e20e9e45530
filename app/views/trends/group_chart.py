"""Topics by group: bars with intervals for one topic, a heat map of topics and groups, and a table of effects."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.views.markup import draw_title, write_element
from topiary.app.views.text import escape, format_percent, shorten

_MARKS = {1: '<i aria-label="more than elsewhere">▲</i>', -1: '<i aria-label="less than elsewhere">▼</i>'}
_HEADROOM = 1.4  # length of a row in multiples of the largest share, at most; intervals may be cut
_LETTERS = 40  # of the name of a group


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
    rows = "".join(_draw_bar(bar, top, form) for bar in bars)
    style = f"--everywhere:{100 * min(everywhere / top, 1.0):.2f}%"
    note = f"Line: all documents, {form(everywhere)}. Thin bars: {bands}."
    return f'<div class="tr-groups" style="{style}"><ol>{rows}</ol><p class="tr-note">{note}</p></div>'


def _draw_bar(bar: GroupBar, top: float, form: Callable[[float], str]) -> str:
    name = escape(shorten(bar.name, _LETTERS))
    tip = f"Only the documents of {bar.name}"
    button = write_element("button", name, type="button", data_do="group", data_value=bar.filters, title=tip)
    count = f"<small>n = {bar.documents:,}</small>"
    if not np.isfinite(bar.mean):
        return f"<li>{button}{count}<span class='tr-none'>no documents</span></li>"
    low, high = max(bar.low, 0.0), min(bar.high, 1.0)
    interval = f"{form(low)} – {form(high)}"
    low, high = min(low, top), min(high, top)
    places = f"--mean:{100 * bar.mean / top:.2f}%;--low:{100 * low / top:.2f}%;--high:{100 * high / top:.2f}%"
    tip = f"{form(bar.mean)}, 90 % interval {interval}"
    track = f'<span class="tr-track" style="{places}" title="{tip}"></span>'
    return f"<li>{button}{count}{track}<b>{form(bar.mean)}</b></li>"


def draw_heat_map(table: GroupTable) -> str:
    """Return a table of topics and groups whose cells are tinted by their share in proportion to the topic's mean.

    A triangle marks shares that differ from those of all other groups beyond chance.
    """
    weights = np.asarray(table.documents, dtype=np.float64)
    known = np.isfinite(table.mean)
    average = np.nansum(table.mean * weights[:, None], axis=0) / np.maximum((known * weights[:, None]).sum(axis=0), 1.0)
    head = "".join(
        f'<th scope="col" title="{documents:,} documents">{escape(shorten(name, 18))}</th>'
        for name, documents in zip(table.groups, table.documents, strict=True)
    )
    rows = "".join(_draw_heat_row(table, topic, float(average[topic])) for topic in range(len(table.topics)))
    return (
        f'<div class="tr-scroll"><table class="tr-heat"><thead><tr><th scope="col">Topic</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _draw_heat_row(table: GroupTable, topic: int, average: float) -> str:
    title = draw_title(table.topics[topic])
    name = write_element("button", title, type="button", data_do="topic", data_id=table.keys[topic])
    cells = []
    for group in range(len(table.groups)):
        mean, beyond = float(table.mean[group, topic]), int(table.beyond[group, topic])
        if not np.isfinite(mean):
            cells.append("<td>–</td>")
            continue
        tint = 100 * min(1.0, abs(np.log2(max(mean, 1e-6) / max(average, 1e-6))) / 3)
        side = "tr-more" if mean >= average else "tr-less"
        mark = _MARKS.get(beyond, "")
        cells.append(f'<td class="{side}" style="--tint:{tint:.0f}%">{format_percent(mean)}{mark}</td>')
    return f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'
