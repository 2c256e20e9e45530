"""The dialog in which a visitor saves a report on a run: on which topics, and with or without quotations."""

from collections.abc import Mapping
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.html import render
from topiary.app.views.tree.picture import TreeChoice, cut_tree, list_below
from topiary.engine.hierarchy.tree import Node

QUOTATIONS = {"three": "Three for each topic", "none": "Without quotations"}


class ReportScope(NamedTuple):
    """Topics that a report can be about, and what they are called."""

    text: str
    topics: tuple[Node, ...]


def list_report_scopes(hierarchy: Hierarchy, choice: TreeChoice, selected: Node | None) -> dict[str, ReportScope]:
    """Return the topics among which a visitor chooses those of a report, by name; none of them is empty.

    Parameters
    ----------
    choice : TreeChoice
        The tree on screen.
    selected : Node, optional
        The topic that is open: one choice are it and the topics below it, by the rule of the tree, unfolded.
    """
    every = [node for layer in range(hierarchy.n_layers, 0, -1) for node in hierarchy.nodes(layer)]
    whole = [node for node in every if node not in hierarchy.light]
    text = "All topics, light ones left out" if len(whole) < len(every) else "All topics"
    scopes = {"all": ReportScope(text, tuple(whole))}
    if hierarchy.n_layers > 1:
        scopes["tree"] = ReportScope("Those of the tree on screen", cut_tree(hierarchy, choice)[0].nodes)
    if selected is not None:
        title = f"“{hierarchy.title(selected)}”"
        text = f"{title} and those below it" if selected.layer > 1 else title
        scopes["open"] = ReportScope(text, list_below(hierarchy, choice, selected))
    marked = tuple(hierarchy.list_marked())
    scopes["marked"] = ReportScope("Those with a name, a note or a tag", marked)
    return {name: scope for name, scope in scopes.items() if scope.topics}


def draw_report_dialog(run: int, scopes: Mapping[str, ReportScope]) -> str:
    """Return the dialog that sends ``save-report``."""
    return render("macros.report_dialog", run, scopes, QUOTATIONS)
