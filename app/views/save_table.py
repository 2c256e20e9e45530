"""The dialog in which a visitor saves a table of a run as a file."""

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.markup import draw_options, write_attributes, write_element
from topiary.app.views.text import escape

SAVED_TABLES = {
    "topics": "Topics: words, shares, certainty, relatives",
    "documents": "Documents, their columns and their shares of the topics of a layer",
    "theta": "Documents and their activations (theta) of all topics of a layer",
    "time": "Topics over time, with intervals",
    "groups": "Topics by group, with intervals",
    "contexts": "Every place where a search finds something",
}
FORMATS = {"csv": "CSV", "xlsx": "Excel (XLSX)", "parquet": "Parquet"}
_DIALOG = "save-table"
_TIP = "Save topics, documents, time, groups or matches of a search as CSV, XLSX or Parquet"
_NOTE = (
    "Filters and the search apply to documents and matches, filters alone to time and groups, and none to topics. Time "
    "and groups have the column, periods and weights that are chosen on Trends, without smoothing."
)


def draw_save_table(hierarchy: Hierarchy, table: str = "topics", *, layer: int = 0, query: str = "") -> str:
    """Return the button *Save table* and its dialog, which sends ``save-table`` with its fields.

    Parameters
    ----------
    hierarchy : Hierarchy
    table : str
        The table that is chosen at first.
    layer : int
        The layer that is chosen at first; 0 for the one usual for the table.
    query : str
        The search that is filled in.
    """
    layers = [(0, "All, or the usual one"), *((n, f"Layer {n}") for n in range(hierarchy.n_layers, 0, -1))]
    fields = "".join(
        (
            _draw_choice("table", "Table", draw_options(SAVED_TABLES.items(), table)),
            _draw_choice("layer", "Layer", draw_options(layers, layer)),
            _draw_choice("format", "Format", draw_options(FORMATS.items(), "csv")),
        )
    )
    names = write_attributes(name="query", value=query, placeholder='words, a "phrase" or /a regular expression/')
    search = f'<label><span>Search</span><input class="tp-input" autocomplete="off"{names}></label>'
    button = write_element("button", "Save table", type="button", class_="ex-soft", data_open=_DIALOG, title=_TIP)
    acts = (
        '<div class="tp-dialog-acts"><button type="button" class="tp-button" data-close>Cancel</button>'
        '<button type="submit" class="tp-button tp-strong">Save</button></div>'
    )
    return (
        f'{button}<dialog id="{_DIALOG}" class="tp-dialog st-dialog" aria-label="Save a table">'
        f'<form data-do="save-table"><h2>Save a table of run {hierarchy.run}</h2>{fields}{search}'
        f"<p>{escape(_NOTE)}</p>{acts}</form></dialog>"
    )


def _draw_choice(name: str, label: str, options: str) -> str:
    return f'<label><span>{label}</span><select class="ex-select" name="{name}">{options}</select></label>'
