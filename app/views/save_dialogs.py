"""The dialogs in which a visitor saves a table of a run, or a report on it, as a file."""

from collections.abc import Mapping
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.html import render
from topiary.app.views.tree.picture import TreeChoice, cut_tree, list_below
from topiary.engine.hierarchy.tree import Node

SAVED_TABLES = {
    "topics": "Topics: words, shares, certainty, relatives",
    "documents": "Documents, their columns and their shares of the topics of a layer",
    "theta": "Documents and their activations (theta) of all topics of a layer",
    "time": "Topics over time, with intervals",
    "groups": "Topics by group, with intervals",
    "contexts": "Every place where a search finds something",
}
FORMATS = {"csv": "CSV", "xlsx": "Excel (XLSX)", "parquet": "Parquet"}
QUOTATIONS = {"three": "Three for each topic", "none": "Without quotations"}


def draw_save_table(hierarchy: Hierarchy, table: str = "topics", *, layer: int = 0, query: str = "") -> str:
    """Return the button *Save table* and its dialog (:func:`draw_table_dialog`)."""
    dialog = draw_table_dialog(hierarchy.run, hierarchy.n_layers, table, layer=layer, query=query)
    return render("macros.table_button") + dialog


def draw_table_dialog(run: int, n_layers: int, table: str = "topics", *, layer: int = 0, query: str = "") -> str:
    """Return the dialog that sends ``save-table`` with its fields.

    Parameters
    ----------
    table : str
        The table that is chosen at first.
    layer : int
        The layer that is chosen at first; 0 for the one usual for the table.
    query : str
        The search that is filled in.
    """
    layers = [(0, "All, or the usual one"), *((n, f"Layer {n}") for n in range(n_layers, 0, -1))]
    return render("macros.table_dialog", run, SAVED_TABLES.items(), table, layers, layer, FORMATS.items(), query)


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
