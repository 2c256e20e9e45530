"""The topics of the top layer that the tree does not show, as a strip above it."""

from collections.abc import Collection, Sequence

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.views.markup import draw_title
from topiary.app.views.palette import declare_hue
from topiary.app.views.text import escape, format_percent
from topiary.app.views.tree.opening import list_top_topics
from topiary.engine.hierarchy.tree import Node


def draw_top_topics(hierarchy: Hierarchy, shown: Collection[Node], *, light: bool = False) -> str:
    """Return a strip of buttons that make a topic of the top layer the root, without topics that are shown already.

    Background topics are a group of their own at the end.

    Parameters
    ----------
    shown : collection of Node
        The topics in the tree.
    light : bool
        Whether light topics are there, too.
    """
    others = [node for node in list_top_topics(hierarchy, light=light) if node not in shown]
    background = [node for node in others if hierarchy.role(node) == BACKGROUND]
    main = others[: len(others) - len(background)]
    n_main, n_background = len(main), len(background)
    return _draw_group(hierarchy, main, f"{n_main} more top topic{'s' * (n_main != 1)}") + _draw_group(
        hierarchy, background, f"Background topic{'s' * (n_background != 1)}", "words that documents of all kinds use"
    )


def _draw_group(hierarchy: Hierarchy, nodes: Sequence[Node], label: str, hint: str = "") -> str:
    if not nodes:
        return ""
    chips = "".join(_draw_chip(hierarchy, node) for node in nodes)
    kind = "ex-top-row ex-quiet" if hint else "ex-top-row"
    return (
        f'<div class="{kind}" data-rove role="group" aria-label="{label}" style="{declare_hue(hierarchy.n_layers)}">'
        f'<span title="{hint}">{label}</span>{chips}</div>'
    )


def _draw_chip(hierarchy: Hierarchy, node: Node) -> str:
    key, title = format_identity(node), escape(hierarchy.title(node))
    face = draw_title(hierarchy.title(node))
    if has_pictures(hierarchy) and not hierarchy.name(node):
        face = f'<img src="{draw_atom_uri(hierarchy, node)}" alt="{title}">'
    tip = f"{title} ({format_percent(hierarchy.share(node))}): make it the root of the tree"
    return f'<button data-do="root" data-id="{key}" data-key="{key}" title="{tip}"><b>{key}</b> {face}</button>'
