"""The dialog in which a visitor saves a report on a run: on which topics, and with or without quotations."""

from collections.abc import Mapping
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.markup import write_attributes, write_element
from topiary.app.views.text import escape
from topiary.app.views.tree.picture import TreeChoice, cut_tree, list_below
from topiary.engine.hierarchy.tree import Node

QUOTATIONS = {"three": "Three for each topic", "none": "Without quotations"}
_USUAL, _USUAL_QUOTATIONS = "all", "three"
_DIALOG = "save-report"
_TIP = "Save a report for people who do not have Topiary, as one HTML file"
_NOTE = "One HTML file that needs no other, with the tree as it is on screen."


class ReportScope(NamedTuple):
    """Topics that a report can be about, and what they are called."""

    text: str
    topics: tuple[Node, ...]


def list_report_scopes(hierarchy: Hierarchy, choice: TreeChoice, selected: Node | None) -> dict[str, ReportScope]:
    """Return the topics among which a visitor chooses those of a report, by name; none of them is empty.

    Parameters
    ----------
    hierarchy : Hierarchy
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


def draw_save_report(run: int, scopes: Mapping[str, ReportScope]) -> str:
    """Return the button *Save report*, which sends ``report``, and its dialog, which sends ``save-report``."""
    opens = {"data_open": _DIALOG, "data_do": "report"}
    button = write_element("button", "Save report", type="button", class_="ex-soft", title=_TIP, **opens)
    topics = "".join(
        _draw_choice("topics", name, scope.text, f"{len(scope.topics):,}", _USUAL) for name, scope in scopes.items()
    )
    quotations = "".join(_draw_choice("quotes", name, text, "", _USUAL_QUOTATIONS) for name, text in QUOTATIONS.items())
    acts = (
        '<div class="tp-dialog-acts"><button type="button" class="tp-button" data-close>Cancel</button>'
        '<button type="submit" class="tp-button tp-strong">Save</button></div>'
    )
    return (
        f'{button}<dialog id="{_DIALOG}" class="tp-dialog" aria-label="Save a report">'
        f'<form data-do="save-report"><h2>Save a report on run {run}</h2>'
        f'<fieldset class="st-choices"><legend>Topics</legend>{topics}</fieldset>'
        f'<fieldset class="st-choices"><legend>Quotations</legend>{quotations}</fieldset>'
        f"<p>{_NOTE}</p>{acts}</form></dialog>"
    )


def _draw_choice(field: str, value: str, text: str, count: str, usual: str) -> str:
    """Return one of several choices; it has a key, so that the visitor's choice survives others that come and go."""
    button = write_attributes(type="radio", name=field, value=value, checked=value == usual)
    number = f"<b>{count}</b>" if count else ""
    return f'<label data-key="{field}-{value}"><input{button}><span>{escape(text)}</span>{number}</label>'
