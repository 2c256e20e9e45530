"""The dialog in which a visitor saves a table of a run as a file."""

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.html import render

SAVED_TABLES = {
    "topics": "Topics: words, shares, certainty, relatives",
    "documents": "Documents, their columns and their shares of the topics of a layer",
    "theta": "Documents and their activations (theta) of all topics of a layer",
    "time": "Topics over time, with intervals",
    "groups": "Topics by group, with intervals",
    "contexts": "Every place where a search finds something",
}
FORMATS = {"csv": "CSV", "xlsx": "Excel (XLSX)", "parquet": "Parquet"}


def draw_save_table(hierarchy: Hierarchy, table: str = "topics", *, layer: int = 0, query: str = "") -> str:
    """Return the button *Save table* and its dialog (:func:`draw_table_dialog`)."""
    return render("macros.table_button") + draw_table_dialog(hierarchy, table, layer=layer, query=query)


def draw_table_dialog(hierarchy: Hierarchy, table: str = "topics", *, layer: int = 0, query: str = "") -> str:
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
    layers = [(0, "All, or the usual one"), *((n, f"Layer {n}") for n in range(hierarchy.n_layers, 0, -1))]
    return render(
        "macros.table_dialog", hierarchy.run, SAVED_TABLES.items(), table, layers, layer, FORMATS.items(), query
    )
