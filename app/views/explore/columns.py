"""The topics of the columns of a table, as HTML: those above a topic of layer 1, and all of them beneath the tree."""

from app.analysis.column_topics import Above, ColumnTopic, above, column_topics, list_column_layers
from app.analysis.hierarchy import Hierarchy
from app.views.explore.bars import bar, heading
from app.views.text import escape, percent, shorten
from app.views.traced import traced
from engine.hierarchy.tree import Node

_MOST = 4  # above a topic
_HINT = "Groups of columns in which this topic weighs most: its share of all that the group changes"
_ABOUT = "The columns have topics of their own above layer 1, which they share with the rows: groups of columns."


def columns_above(hierarchy: Hierarchy, node: Node) -> str:
    """List the topics of columns that weigh most in a topic of layer 1; empty for other layers and models."""
    found = above(hierarchy, node, _MOST)
    if not found:
        return ""
    rows = "".join(_above(each, found[0].weight) for each in found)
    return f'<section>{heading("Column topics", "layer 2", _HINT)}<ol class="ex-bars ex-kin">{rows}</ol></section>'


def _above(found: Above, most: float) -> str:
    topic = found.topic
    title = escape(shorten(topic.title, 44))
    name = f'<span title="{_items(topic)}"><b>{topic.rank}</b> {title}</span>'
    return f"<li>{name}{bar(found.weight, most, traced(_HINT))}</li>"


def columns_fold(hierarchy: Hierarchy) -> str:
    """Write the list of all topics of columns, layer by layer, top first, to be unfolded; empty for other models."""
    every = "".join(_layer(hierarchy, layer) for layer in reversed(list_column_layers(hierarchy)))
    if not every:
        return ""
    about = f'<p class="ex-hint">{_ABOUT}</p>'
    return f'<details class="ex-fold ex-columns"><summary>Column topics</summary>{about}{every}</details>'


def _layer(hierarchy: Hierarchy, layer: int) -> str:
    found = column_topics(hierarchy, layer)
    rows = "".join(
        f"<li><b>Column topic {topic.rank}</b> <small>{percent(topic.share)}</small> {_items(topic)}</li>"
        for topic in found
    )
    return f'<p class="ex-hint">Layer {layer}, {len(found)} topics</p><ul class="ex-outline">{rows}</ul>'


def _items(topic: ColumnTopic) -> str:
    return " · ".join(escape(item.text) for item in topic.items)
