"""What a number is, said when it is pointed at: what it counts, its unit, and the snapshot it comes from."""

from typing import Protocol

from app.views.text import escape


class Source(Protocol):
    """What is read from one snapshot of a run: a hierarchy, or the predictions made with it."""

    @property
    def run(self) -> int: ...  # noqa: D102
    @property
    def minibatch(self) -> int: ...  # noqa: D102


def traced(what: str, source: Source | None = None) -> str:
    """The attribute that says where a number comes from, with a blank before it.

    Parameters
    ----------
    what : str
        What the number is, and its unit.
    source : Source, optional
        The snapshot it is read from; none for what does not come from one.
    """
    return f' title="{escape(said(what, source))}"'


def said(what: str, source: Source | None = None) -> str:
    """The same as plain text."""
    of = f". Run {source.run}, snapshot of mini-batch {source.minibatch:,}" if source is not None else ""
    return f"{what}{of}."
