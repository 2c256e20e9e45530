"""A closer look at documents: the offer to train a run on them, the runs on them, and where such a run comes from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.names import name_state
from topiary.app.views.explore.detail import draw_heading
from topiary.app.views.markup import draw_options, write_element
from topiary.app.views.text import escape, format_percent, shorten
from topiary.engine.hierarchy.tree import Node

_DIALOG = "refine"
_HINT = (
    "A run on the documents of this topic alone finds topics that are too fine for the whole corpus; it is a run of "
    "its own, on a corpus of its own"
)
_TIP = "Make a corpus of the documents that the filters select, and train a run on it"
_UNKNOWN = "The shares of documents are computed when the run ends; then a run can be trained on those of a topic."


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


def draw_closer_look(node: Node, look: CloserLook | None, *, busy: bool) -> str:
    """Return the section *Look closer* of a topic's panel: the offer of a run, and the runs that refine the topic.

    Parameters
    ----------
    look : CloserLook or None
        None while it is read.
    busy : bool
        Whether a corpus is being made.
    """
    if look is None:
        return ""
    refining = "".join(map(_draw_refining, look.refining))
    inside = _draw_offer(node, look, busy=busy) + refining
    return (
        f'<section class="ex-closer">{draw_heading("Look closer", "a run on its documents", _HINT)}{inside}</section>'
    )


def _draw_offer(node: Node, look: CloserLook, *, busy: bool) -> str:
    if look.counts is None:
        return f'<p class="ex-none">{_UNKNOWN}</p>'
    among = f"the {look.among:,} selected" if look.among < look.documents else f"{look.documents:,}"
    usable = [count for count in look.counts if count.training >= look.least]
    if not usable:
        least = look.counts[0]
        return (
            f'<p class="ex-none">{least.documents:,} of {among} documents have at least '
            f"{format_percent(least.share)} of it, {least.training:,} of them for training: too few for a run, which "
            f"needs {look.least}.</p>"
        )
    entries = [
        (
            f"{count.share:g}",
            f"{format_percent(count.share)} of it: {count.documents:,} documents, {count.words:,.0f} words",
        )
        for count in usable
    ]
    usual = min(usable, key=lambda count: abs(count.share - 0.2))
    select = write_element(
        "select", draw_options(entries, f"{usual.share:g}"), class_="ex-select", name_="share",
        aria_label="Documents with at least this share of the topic",
    )  # fmt: skip
    button = write_element("button", "Train a run on these", type="submit", class_="ex-soft", disabled=busy)
    note = '<p class="ex-none" role="status">The corpus is being made …</p>' if busy else ""
    lead = f'<p class="ex-none">Of {among} documents, those with at least</p>'
    return f'<form data-do="refine" data-id="{format_identity(node)}">{lead}{select}{button}</form>{note}'


def _draw_refining(run: RefiningRun) -> str:
    """Return a run that refines the topic, with its largest topics and their children as links."""
    link = draw_run_link(run.number, f"Refined in run {run.number}")
    met = escape(shorten(" and ".join(run.where), 60))
    facts = f"{run.documents:,} documents with {met} · {escape(name_state(run.state))}"
    rows = "".join(_draw_finer_topic(run.number, topic) for topic in run.topics)
    inside = f'<ul class="ex-finer">{rows}</ul>' if rows else '<p class="ex-none">No topics yet.</p>'
    return f'<div class="ex-refined" data-key="refined-{run.number}"><p>{link} <small>{facts}</small></p>{inside}</div>'


def _draw_finer_topic(run: int, topic: FinerTopic) -> str:
    children = write_element("span", escape("; ".join(topic.children))) if topic.children else ""
    link = draw_run_link(run, topic.title, topic.node)
    return f"<li>{link} <small>{format_percent(topic.share)}</small>{children}</li>"


def draw_run_link(run: int, text: str, node: Node | None = None) -> str:
    """Return a link to a run on Explore, at one of its topics if one is given; it sends ``open-run``."""
    at = "" if node is None else f"&layer={node.layer}&topic={node.column + 1}"
    return write_element(
        "a", escape(text), href=f"?page=explore&run={run}{at}", data_go=True, data_do="open-run", data_number=run,
        data_id=None if node is None else format_identity(node),
    )  # fmt: skip


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
    where = f"run {run}"
    link = draw_run_link(run, where, node) if exists else f"{where}, which was deleted"
    return f'<div class="fl-row"><span>Refines {escape(what)} of {link}: {documents:,} of its documents.</span></div>'


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
    button = write_element(
        "button", "Look closer", type="button", class_="ex-soft", data_open=_DIALOG, disabled=busy, title=_TIP
    )
    conditions = escape(shorten(" and ".join([*where, *([query.strip()] if query.strip() else [])]), 200))
    acts = (
        '<div class="tp-dialog-acts"><button type="button" class="tp-button" data-close>Cancel</button>'
        '<button type="submit" class="tp-button tp-strong">Train a run on these</button></div>'
    )
    return (
        f'{button}<dialog id="{_DIALOG}" class="tp-dialog" aria-label="Look closer"><form data-do="refine">'
        f"<h2>Look closer at {selected:,} documents?</h2><p>The {selected:,} of {documents:,} documents with <b>"
        f"{conditions}</b> become a corpus of their own, and a run is trained on it in the background.</p>{acts}"
        "</form></dialog>"
    )
