"""The panel about a topic: its words, relatives, documents and facts, its small charts, and the notes on it."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topiary.app.analysis.column_topics import find_topics_above
from topiary.app.analysis.hierarchy import Hierarchy, Relative, format_identity
from topiary.app.analysis.name_server import PASSAGES, NameRequest, NameServer
from topiary.app.analysis.notes import LONGEST_AUTHOR, LONGEST_NOTE, LONGEST_TAG, Note, rank_tags
from topiary.app.analysis.passages import TopicPassage
from topiary.app.analysis.trends import TopicSeries
from topiary.app.names import plural
from topiary.app.views.compare.recurrence import draw_found_link
from topiary.app.views.html import render
from topiary.app.views.markup import mark_places
from topiary.app.views.report_trends import draw_stretches
from topiary.app.views.text import break_lines, escape, fit_lines, format_percent, shorten
from topiary.app.views.tree.tree_svg import describe_mark
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node

if TYPE_CHECKING:
    from topiary.app.analysis.topic_names import ProposedName

LONGEST = SimpleNamespace(note=LONGEST_NOTE, tag=LONGEST_TAG, author=LONGEST_AUTHOR)  # characters
_MOST_COLUMN_TOPICS = 4  # column topics listed for a topic
_EXCERPT, _LONGEST_TEXT = 220, 6000  # characters of an excerpt, and of a text that is unfolded
_MOST_CLASSES = 8  # classes listed for a topic
ONLY_ROOT = "The tree has no other root: make another topic a root first"
_LEAST_CHILD = 0.01  # relatives with a smaller share are folded
_MOST_RELATIVES, _FEWEST_RELATIVES, _MOST_FOLDED = 12, 3, 24  # listed at most and at least, and in the fold
MUCH = 0.2  # share of a document from which the topic counts as much of it
_FEW_RELATIVES = 4  # listed where the panel is short
_WIDTH, _HEIGHT, _BASE = 146, 58, 55
_NAMES, _ROW, _LETTERS = 64, 14.5, 12  # width of the names of groups, height of a row, and size of the letters
_HEADROOM = 1.4  # height of a picture in multiples of the largest share; bands may be cut at the top


class NoteForm(NamedTuple):
    """The form below notes.

    Attributes
    ----------
    subject : str
        What the notes are on: the identity of a topic, or the number of a document.
    what : str
        The same for users, such as "this topic".
    known_tags : sequence of str
        Tags in use, proposed while one is typed.
    sent : int
        How often the visitor has added something, after which the form is empty again.
    focus : bool
        Whether the field of the text takes the focus.
    """

    subject: str
    what: str
    known_tags: Sequence[str] = ()
    sent: int = 0
    focus: bool = False


def draw_notes(notes: Sequence[Note], form: NoteForm) -> str:
    """Return the fold with the notes and tags on a topic or document; it is open where there are any."""
    return render("notes.fold", notes, form, LONGEST)


def list_columns_above(hierarchy: Hierarchy, node: Node) -> str:
    """Return the column topics that weigh most in a topic of layer 1; empty for other layers and models."""
    topics = find_topics_above(hierarchy, node, _MOST_COLUMN_TOPICS) if hierarchy.columns else ()
    return render("topic.columns_above", topics) if topics else ""


def draw_role_tag(hierarchy: Hierarchy, node: Node) -> str:
    """Return a tag that says why a topic is weak, with an explanation on hover; empty for a live topic."""
    return render("topic.role_tag", hierarchy, node)


def draw_twin_tag(hierarchy: Hierarchy, node: Node) -> str:
    """Return a tag that names the more popular topic of which this one is nearly the same; empty without one."""
    return render("topic.twin_tag", hierarchy, node)


def draw_layer_quality(hierarchy: Hierarchy, layer: int) -> str:
    """Return the NPMI and the diversity of a layer, for the head of its list."""
    return render("topic.quality", hierarchy.quality(layer))


def draw_common_words(hierarchy: Hierarchy) -> str:
    """Return the folded list of words that are left out of titles; empty if there are none."""
    return render("topic.common_words", [hierarchy.vocabulary[number] for number in hierarchy.common_words])


class TopicDocument(NamedTuple):
    """A document that uses a topic: its title, text and label, how strongly it uses the topic, and its best passage."""

    title: str
    text: str
    label: str
    weight: float
    number: int = -1
    passage: TopicPassage | None = None


def cut_excerpt(text: str, most: int = _EXCERPT) -> str:
    """Return the beginning of a text on one line."""
    return shorten(" ".join(break_lines(text[: 4 * most]).split()), most)


def draw_missing_topic(hierarchy: Hierarchy, node: Node) -> str:
    """Return the panel about a topic that is not in the snapshot on screen."""
    return render("topic.missing", hierarchy, node)


class NameOffer(NamedTuple):
    """What the panel says of names for a topic without one.

    Attributes
    ----------
    asked : bool
        Whether phrases were asked for.
    phrases : sequence of ProposedName, or None
        None while they are looked for.
    answers : sequence of str
        Names by a language model.
    server : NameServer or None
        The server that can be asked for them.
    request : NameRequest or None
        What would be sent to it, if that is shown.
    sending : bool
        Whether the answer is waited for.
    """

    asked: bool = False
    phrases: "Sequence[ProposedName] | None" = None
    answers: Sequence[str] = ()
    server: NameServer | None = None
    request: NameRequest | None = None
    sending: bool = False


class PanelState(NamedTuple):
    """What the panel of a topic depends on besides the topic.

    Attributes
    ----------
    root, alone : bool
        Whether the topic is a root of the tree, and whether it is the only root.
    drawn : bool
        Whether the tree shows it.
    picture : "topics", "tree" or "map"
        What is on screen.
    sent, focus : int and bool
        How often the visitor has added notes, and whether the field for the next one takes the focus.
    closer : str
        The section about a closer look at its documents.
    using : int
        Documents of which it has at least `MUCH`; 0 if that is not known.
    trend : str
        The topic over time and by group.
    whole : bool
        Whether everything about it is shown, or only what is asked for most.
    naming : NameOffer
        Names that are proposed for a topic without one.
    """

    root: bool = False
    alone: bool = False
    drawn: bool = True
    picture: str = "tree"
    sent: int = 0
    focus: bool = False
    closer: str = ""
    using: int = 0
    trend: str = ""
    whole: bool = True
    naming: NameOffer = NameOffer()


def draw_topic(
    hierarchy: Hierarchy,
    node: Node,
    threshold: float,
    documents: Sequence[TopicDocument] | None,
    state: PanelState | None = None,
) -> str:
    """Return the panel about a topic.

    Parameters
    ----------
    threshold : float
        Relatives on lighter edges are listed paler.
    documents : sequence of TopicDocument, or None
        None while they are being read.
    """
    state = state or PanelState()
    form = NoteForm(format_identity(node), "this topic", rank_tags(hierarchy.notes), state.sent, state.focus)
    is_picture, is_layered = hierarchy.has_pictures, hierarchy.n_layers > 1
    actions = []
    if is_layered:
        is_top = node.layer == hierarchy.n_layers
        is_tiled = state.picture == "topics"
        actions = _list_tile_actions(top=is_top) if is_tiled else _list_actions(state)
    return render(
        "topic.panel", hierarchy, node,
        actions=actions, opens=_find_way(hierarchy, node, state) if is_layered else None,
        found=draw_found_link(hierarchy, node) if hierarchy.recurrence else "",
        notes=hierarchy.notes.get(node, ()), form=form, longest=LONGEST,
        words=[] if is_picture else _list_words(hierarchy, node),
        rarer=[] if is_picture else hierarchy.lowered_words(node, 12),
        kin="".join(list_relatives(hierarchy, node, threshold, above=above) for above in (True, False)),
        columns=list_columns_above(hierarchy, node), classes=_list_classes(hierarchy, node), closer=state.closer,
        documents=None if documents is None else [*map(_describe_document, documents)],
        facts=_describe_facts(hierarchy, node, threshold, state.using), trend=state.trend,
        unfolded=state.whole, naming=state.naming, passages=PASSAGES,
    )  # fmt: skip


def _describe_facts(hierarchy: Hierarchy, node: Node, threshold: float, using: int) -> SimpleNamespace:
    """Return what the head of a panel says of a topic in words and figures."""
    rank, n_topics = hierarchy.rank(node), hierarchy.widths[node.layer - 1]
    is_top = node.layer == hierarchy.n_layers and hierarchy.n_layers > 1
    order = f"largest of {n_topics}" if rank == 1 else f"rank {rank} of {n_topics}"
    place = f"{'Top layer' if is_top else f'Layer {node.layer}'} · {order}"
    many = f"{plural(using, 'document')} of which it has at least {format_percent(MUCH)}"
    return SimpleNamespace(
        place=f"{place} · {format_percent(hierarchy.share(node))} of all words",
        all=f"all {using:,}" if using else "all",
        many=many if using else f"Documents of which it has at least {format_percent(MUCH)}",
        belongs=[each for each in hierarchy.belongs(node) if each.weight >= _LEAST_CHILD][:_FEW_RELATIVES],
        made_of=hierarchy.children(node, _FEW_RELATIVES),
        sure=_describe_certainty(hierarchy, node, threshold),
    )


def _describe_certainty(hierarchy: Hierarchy, node: Node, threshold: float) -> str:
    """Return how sure the share of the heaviest child is, as a sentence; empty where it is not known."""
    children = hierarchy.children(node, 1)
    certainty = hierarchy.find_certainty(node, children[0].node, threshold) if children else None
    if certainty is None:
        return ""
    share, title = abs(children[0].weight), hierarchy.title(children[0].node)
    low, high = (format_percent(abs(bound)) for bound in (certainty.low, certainty.high))
    return f"{title} is {format_percent(share)} of it, 90% sure between {low} and {high}."


def _find_way(hierarchy: Hierarchy, node: Node, state: PanelState) -> tuple[str, str, str]:
    """Return the message, its value and the word of the button that leads from a topic to its tree, or back."""
    if state.picture == "tree" and state.alone:
        return ("picture", "topics", "Back to all topics") if not hierarchy.has_pictures else ("popular", "", "Back")
    return ("root", "", "Open its tree" if node.layer == hierarchy.n_layers else "Open in the tree")


def _list_actions(state: PanelState) -> list[tuple[str, str, str]]:
    """Return what else can be done with a topic in the tree: the message, its word, and why it cannot be sent."""
    actions = [("pin", "Remove from roots" if state.root else "Add to roots", "")]
    if state.drawn:
        return [*actions, ("hide", "Hide", ONLY_ROOT if state.alone else "")]
    return [("show", "Show in the tree", ""), *actions]


def _list_tile_actions(*, top: bool) -> list[tuple[str, str, str]]:
    """Return what else can be done with a topic among the tiles; those of the top layer can be set apart."""
    return [("apart", "Set apart", "")] if top else []


def _list_words(hierarchy: Hierarchy, node: Node) -> list[SimpleNamespace]:
    """Return the first words of a topic, each with its share in the corpus."""
    words = hierarchy.top_words(node, 30)
    numbers = hierarchy.words[node.layer - 1][hierarchy.place(node), : len(words)]
    everywhere = hierarchy.measure_everywhere(node.layer, numbers).tolist()
    return [SimpleNamespace(word=word, everywhere=share) for word, share in zip(words, everywhere, strict=True)]


def list_relatives(hierarchy: Hierarchy, node: Node, threshold: float, *, above: bool) -> str:
    """Return the parents or the children of a topic with the shares of the edges; empty if there are none.

    Those under 1 % are folded, except for the first three.  Edges not above ``threshold / K`` are paler, with K topics
    in the lower layer; the tip says how many other seeds found an edge, and how sure it is within this run.
    """
    relatives = (hierarchy.parents if above else hierarchy.children)(node, max(hierarchy.widths))
    if not relatives:
        return ""
    n_heavy = sum(abs(relative.weight) >= _LEAST_CHILD for relative in relatives)
    n_listed = min(max(n_heavy, _FEWEST_RELATIVES), _MOST_RELATIVES)
    largest, limit = abs(relatives[0].weight), threshold / hierarchy.widths[node.layer - 1 - (not above)]

    def describe(relative: Relative) -> SimpleNamespace:
        ends = (relative.node, node) if above else (node, relative.node)
        kind = ["ex-weak"] * (abs(relative.weight) <= limit) + ["ex-rarer"] * (relative.weight < 0)
        return SimpleNamespace(
            node=relative.node,
            weight=relative.weight,
            largest=largest,
            kind=" ".join(kind),
            marks=describe_mark(hierarchy.find_mark(*ends, threshold)),
        )

    folded, n_more = relatives[n_listed : n_listed + _MOST_FOLDED], len(relatives) - n_listed
    return render(
        "topic.relatives", hierarchy, "Parents" if above else "Children", relatives[0].node.layer,
        [*map(describe, relatives[:n_listed])], [*map(describe, folded)],
        f"{n_more} more" if n_heavy > n_listed else f"{n_more} under 1%", n_more > len(folded),
    )  # fmt: skip


def _list_classes(hierarchy: Hierarchy, node: Node) -> list[tuple[str, int, float, float]]:
    """Return the classes for which a topic has the largest weights: name, number from 1, weight, part of the largest.

    Empty if there are no classes.
    """
    if not hierarchy.classes:
        return []
    weights = hierarchy.class_weights[node.layer - 1][:, hierarchy.place(node)]
    largest = max(float(abs(weights).max()), 1e-12)
    order = abs(weights).argsort(kind="stable")[::-1][:_MOST_CLASSES].tolist()
    return [
        (hierarchy.classes[index], index + 1, float(weights[index]), abs(float(weights[index])) / largest)
        for index in sorted(order, key=lambda index: -weights[index])
    ]


def _describe_document(document: TopicDocument) -> SimpleNamespace:
    """Return what the panel says of a document; its excerpt is markup with the words of the topic marked."""
    passage, text = document.passage, document.text
    excerpt = escape(cut_excerpt(text)) if passage is None else mark_places(passage.text, passage.marks)
    return SimpleNamespace(
        number=document.number,
        title=document.title,
        label=document.label,
        weight=document.weight,
        is_passage=passage is not None,
        excerpt=excerpt,
        text=shorten(break_lines(text), _LONGEST_TEXT) if text.strip() else "",
    )


def draw_place_button(document: int) -> str:
    """Return the button that shows where a document lies among the topics; empty for a negative number."""
    return render("macros.place_button", document)


class GroupShare(NamedTuple):
    """The share of a topic in a group of documents, with its 90 % interval."""

    name: str
    mean: float
    low: float
    high: float


class TopicTrend(NamedTuple):
    """A topic over time and by group; without ``series``, or ``groups``, one or both are not known.

    Attributes
    ----------
    unit : str
        The length of the periods.
    column : str
        The column of the groups.
    """

    unit: str = ""
    series: TopicSeries | None = None
    column: str = ""
    groups: Sequence[GroupShare] = ()


def draw_small_trends(trend: TopicTrend) -> str:
    """Return both pictures, each with a heading; empty if neither is known."""
    over_time = "" if trend.series is None else _draw_over_time(trend.unit, trend.series)
    groups = _draw_groups(trend.column, trend.groups) if trend.groups else ""
    return render("explore.small_trends", over_time, trend.unit, groups, trend.column) if over_time or groups else ""


def _draw_over_time(unit: str, series: TopicSeries) -> str:
    known = np.isfinite(series.mean)
    if not known.any():
        return ""
    top = max(min(float(np.nanmax(series.high)), _HEADROOM * float(np.nanmax(series.mean))), 1e-9)
    x = 3 + (_WIDTH - 6) * np.arange(len(known)) / max(1, len(known) - 1)

    def place(shares: FloatArray) -> FloatArray:
        return np.asarray(_BASE - (_BASE - 3) * np.clip(shares, 0.0, top) / top)

    first, last = (format_percent(float(series.mean[known][end])) for end in (0, -1))
    label = f"Share by {unit} with 90% band: from {first} to {last}, at most {format_percent(top)}"
    lines = draw_stretches(x, place(series.mean), place(series.low), place(series.high))
    return _draw_svg(label, [f'<path class="rp-axis" d="M0 {_BASE}H{_WIDTH}"/>', *lines])


def _draw_groups(column: str, groups: Sequence[GroupShare]) -> str:
    top = max(*(each.mean for each in groups), min(1.0, max(each.high for each in groups)), 1e-9)
    scale, parts = (_WIDTH - _NAMES - 2) / top, []
    for row, each in enumerate(groups):
        y = row * _ROW
        (name,) = fit_lines(each.name, (_NAMES - 4) / _LETTERS, 1) or [""]
        low, high = (_NAMES + scale * min(top, max(0.0, end)) for end in (each.low, each.high))
        parts += [
            f'<text x="0" y="{y + 11:.1f}" font-size="{_LETTERS}">{escape(name)}</text>',
            f'<rect x="{_NAMES}" y="{y + 3:.1f}" width="{scale * each.mean:.1f}" height="8" rx="2"/>',
            f'<path class="ex-whisker" d="M{low:.1f} {y + 7:.1f}H{high:.1f}"/>',
        ]
    shares = "; ".join(f"{each.name} {format_percent(each.mean)}" for each in groups)
    return _draw_svg(f"Largest shares by {column}, with 90% intervals: {shares}", parts)


def _draw_svg(label: str, parts: Sequence[str]) -> str:
    text = escape(label)
    head = f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{text}"><title>{text}</title>'
    return f"{head}{''.join(parts)}</svg>"
