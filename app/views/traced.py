"""What a number is, said when it is pointed at: what it counts, its unit, and the snapshot it comes from."""

from app.analysis.hierarchy import Hierarchy
from app.views.text import escape


def traced(what: str, hierarchy: Hierarchy | None = None) -> str:
    """The attribute that says where a number comes from, with a blank before it.

    Parameters
    ----------
    what : str
        What the number is, and its unit.
    hierarchy : Hierarchy, optional
        The snapshot it is read from; none for what does not come from one.
    """
    return f' title="{escape(said(what, hierarchy))}"'


def said(what: str, hierarchy: Hierarchy | None = None) -> str:
    """The same as plain text."""
    source = f". Run {hierarchy.run}, snapshot of mini-batch {hierarchy.minibatch:,}" if hierarchy is not None else ""
    return f"{what}{source}."
