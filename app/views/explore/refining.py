"""A closer look at documents: the offer to train a run on them, the runs on them, and where such a run comes from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.views.html import render
from topiary.app.views.markup import name_condition
from topiary.app.views.text import format_percent, shorten
from topiary.engine.hierarchy.tree import Node


class CountFacts(Protocol):
    """How many documents have at least so much of a topic, how many are for training, and their words."""

    @property
    def share(self) -> float: ...  # noqa: D102
    @property
    def documents(self) -> int: ...  # noqa: D102
    @property
    def training(self) -> int: ...  # noqa: D102
    @property
    def words(self) -> float: ...  # noqa: D102


class FinerTopic(NamedTuple):
    """A topic of a run that refines another topic: its title, share, and the titles of its heaviest children."""

    node: Node
    title: str
    share: float
    children: Sequence[str]


class RefiningRun(NamedTuple):
    """A run on the documents of a topic of another run.

    Attributes
    ----------
    documents : int
        Documents of its corpus.
    where : sequence of str
        The conditions that they met.
    topics : sequence of FinerTopic
        Its largest topics of the top layer; empty while it has none.
    """

    number: int
    state: str
    documents: int
    where: Sequence[str]
    topics: Sequence[FinerTopic]


class CloserLook(NamedTuple):
    """What the panel of a topic says of a closer look.

    Attributes
    ----------
    counts : sequence of CountFacts or None
        Documents with at least so much of the topic, by share; None while the shares of documents are not known.
    among : int
        Documents among which they were counted.
    documents : int
        Documents of the corpus.
    least : int
        Training documents that a run needs.
    """

    counts: Sequence[CountFacts] | None
    among: int
    documents: int
    least: int
    refining: Sequence[RefiningRun]


def draw_closer_look(node: Node, look: CloserLook, *, busy: bool) -> str:
    """Return the section *Look closer* of a topic's panel: the offer of a run, and the runs that refine the topic.

    Parameters
    ----------
    busy : bool
        Whether a corpus is being made.
    """
    among = f"the {look.among:,} selected" if look.among < look.documents else f"{look.documents:,}"
    counts = look.counts or ()
    usable = [count for count in counts if count.training >= look.least]
    entries = [
        (
            f"{count.share:g}",
            f"{format_percent(count.share)} of it: {count.documents:,} documents, {count.words:,.0f} words",
        )
        for count in usable
    ]
    usual = min((count.share for count in usable), key=lambda share: abs(share - 0.2), default=0.0)
    least = counts[0] if counts else None
    return render("topic.closer_look", node, look, among, least, entries, f"{usual:g}", busy)


def draw_run_origin(run: int, text: str, node: Node | None, *, documents: int, exists: bool) -> str:
    """Return the line above the tree of a run on documents of another one, with a link to where they come from.

    Parameters
    ----------
    run : int
        The other run.
    text : str
        Title of its topic that the documents have in common, or the conditions that they meet.
    node : Node or None
        That topic.
    documents : int
        Documents of the corpus.
    exists : bool
        Whether the other run is still in the store.
    """
    what = (
        f"“{shorten(text, 60)}” ({format_identity(node)})"
        if node is not None
        else f"documents with {shorten(text, 80)}"
    )
    return render("topic.run_origin", run, what, node, documents, exists)


def draw_refine_selection(where: Sequence[str], query: str, selected: int, documents: int, *, busy: bool) -> str:
    """Return the button that makes a corpus of the documents selected and trains a run on it, and its dialog.

    Parameters
    ----------
    where : sequence of str
        The conditions.
    query : str
        The search.
    selected, documents : int
        Documents selected, and all of the corpus.
    busy : bool
        Whether a corpus is being made.
    """
    if not (where or query.strip()) or not 0 < selected < documents:
        return ""
    conditions = " and ".join(filter(None, (*map(name_condition, where), query.strip())))
    return render("topic.refine_selection", conditions, selected, documents, busy)
