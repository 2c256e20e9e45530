"""The controls above the tree, and the foot below it: hints and the tree as text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import LEAST_RELATION, Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.views.compare.recurrence import describe_most
from topiary.app.views.html import render
from topiary.app.views.markup import draw_icon, draw_select, draw_title
from topiary.app.views.palette import LIVE, declare_hue
from topiary.app.views.save_report import ReportScope, draw_save_report
from topiary.app.views.save_table import draw_save_table
from topiary.app.views.text import escape, format_percent, shorten
from topiary.app.views.tree.map_svg import MapDrawing
from topiary.app.views.tree.opening import STEP
from topiary.app.views.tree.picture import TreeChoice, TreeDrawing, write_caption
from topiary.app.views.tree.tiles import TilesDrawing, describe_shares
from topiary.engine.hierarchy.tree import Direction, Edge, Node, Subnetwork

SLIDER = (STEP, 30.0, STEP)  # lowest threshold (at 0 all topics are joined), highest threshold, and step


class SnapshotOption(NamedTuple):
    """A snapshot that can be chosen."""

    number: int
    minibatch: int


class ControlState(NamedTuple):
    """The state of the controls that is not part of the `TreeChoice`.

    Attributes
    ----------
    chosen : bool
        Whether the roots were chosen by hand.
    hidden : int
        The number of topics that the visitor has hidden.
    moments : sequence of SnapshotOption
        Snapshots, oldest first.
    pinned : int
        The snapshot on screen, 0 = the newest.
    wide : bool
        Whether the side panels are hidden.
    formats : sequence of str
        The formats in which the tree can be saved.
    scopes : mapping of str to ReportScope
        The topics that a report can be about, by name, once the visitor has opened the dialog.
    picture : "topics", "tree" or "map"
        What is on screen.
    relation : float
        The least correlation at which two topics are joined on the map.
    listed : bool
        Whether the list of topics stands next to the tiles.
    """

    chosen: bool
    hidden: int
    moments: Sequence[SnapshotOption]
    pinned: int
    wide: bool
    formats: Sequence[str]
    scopes: Mapping[str, ReportScope] = {}
    picture: str = "tree"
    relation: float = 0.85
    listed: bool = False


def draw_controls(hierarchy: Hierarchy, choice: TreeChoice, state: ControlState) -> str:
    """Return the controls above the tree."""
    pictures = draw_segments("picture", state.picture, _PICTURES) if hierarchy.n_layers > 1 else ""
    is_rooted = state.chosen or choice.detail == "paper"
    tree_tools = [
        draw_segments("direction", choice.direction, _DIRECTIONS, closed=_find_dead_ends(hierarchy, choice)),
        draw_segments("part", choice.part, _PARTS) if is_rooted and len(choice.roots) > 1 else "",
        draw_select("detail", _DETAILS, choice.detail, "Detail", _DETAIL_HINT),
        draw_threshold_slider(choice.threshold) if choice.detail == "paper" else "",
        _draw_sure_switch(hierarchy, sure=choice.sure) if hierarchy.edge_variances or hierarchy.recurrence else "",
    ]
    map_tools = [draw_relation_slider(state.relation)] if hierarchy.relations else []
    tools = [
        pictures,
        *{"topics": [], "tree": tree_tools, "map": map_tools}[state.picture],
        draw_class_choice(hierarchy.classes, choice.label) if hierarchy.classes and state.picture != "topics" else "",
        _draw_list_switch(listed=state.listed) if state.picture == "topics" else "",
        _draw_button("open-all", "Open all", "Unfold every topic") if choice.closed else "",
        _draw_button("unhide", f"{state.hidden} hidden, show", "Show the hidden topics") if state.hidden else "",
        _draw_snapshot_choice(hierarchy, state),
        _draw_saving(state.formats),
        draw_save_report(hierarchy.run, state.scopes),
        draw_save_table(hierarchy),
        _draw_wide_switch(wide=state.wide),
    ]
    roots = _draw_roots(hierarchy, choice, chosen=state.chosen) if is_rooted and state.picture == "tree" else ""
    title = '<h1 class="tp-unseen">Explore</h1>'
    return f'<div class="ex-controls">{title}{roots}<div class="ex-tools">{"".join(tools)}</div></div>'


_PICTURES = (
    ("topics", "Topics", "all topics of the top layer by their size, and what each is made of"),
    ("tree", "Tree", "how topics are made of each other, layer by layer"),
    ("map", "Map", "the topics of layer 1, coloured by parent: similar ones lie close together"),
)
_DETAILS = (
    ("backbone", "Detail: backbone"),
    ("normal", "Detail: normal"),
    ("all", "Detail: all"),
    ("paper", "As in the paper (τ)"),
)
_DETAIL_HINT = (
    "Which children a topic has: the heaviest until 40 %, 70 % or 95 % of it is covered; as in the paper, all those "
    "above a threshold τ"
)
_DIRECTIONS = (("down", "Down", "to the children"), ("up", "Up", "to the parents"))
_PARTS = (
    ("union", "All roots", "everything reached from the roots"),
    ("shared", "Shared by roots", "what two or more roots reach"),
    ("unique", "Unique to a root", "what only one root reaches"),
)


def _find_dead_ends(hierarchy: Hierarchy, choice: TreeChoice) -> dict[str, str]:
    """Return the directions in which nothing lies beyond any root, with a reason."""
    layers = {root.layer for root in choice.roots}
    ends = {"up": (hierarchy.n_layers, "Nothing is above the top layer"), "down": (1, "Nothing is below layer 1")}
    return {way: reason for way, (layer, reason) in ends.items() if layers == {layer}}


def _draw_roots(hierarchy: Hierarchy, choice: TreeChoice, *, chosen: bool) -> str:
    roots = [root for root in choice.roots if root not in choice.closed] or choice.roots
    chips = "".join(_draw_root(hierarchy, root) for root in roots)
    word = "Roots" if chosen else "Most popular"
    back = _draw_button("popular", "Reset", "Back to the view with which the page opens") if chosen else ""
    style = f'style="--chips:{len(roots)}"'  # the style sheet sizes the row by this number
    label = f'role="group" aria-label="Roots of the tree" {style}'
    return f'<div class="ex-roots" data-rove {label}><span>{word}</span>{chips}{back}</div>'


def _draw_root(hierarchy: Hierarchy, root: Node) -> str:
    key, title = format_identity(root), hierarchy.title(root)
    label = f"Remove topic {key} from the roots"
    return (
        f'<span class="ex-chip" data-key="{key}" style="{declare_hue(root.layer)}">'
        f'<button data-do="select" data-id="{key}" title="{escape(title)}"><b>{key}</b> '
        f"{_draw_face(hierarchy, root, title)}</button>"
        f'<button data-do="unpin" data-id="{key}" title="{label}" aria-label="{label}">×</button></span>'
    )


def _draw_face(hierarchy: Hierarchy, root: Node, title: str) -> str:
    if has_pictures(hierarchy) and not hierarchy.name(root):
        return f'<img src="{draw_atom_uri(hierarchy, root)}" alt="{escape(title)}">'
    return draw_title(title)


def draw_segments(
    name: str,
    now: str,
    options: Sequence[tuple[str, str, str]],
    label: str = "",
    *,
    closed: Mapping[str, str] | None = None,
) -> str:
    """Return a group of buttons, one for each (value, word, hint); the button with the value ``now`` is pressed.

    The buttons send the message ``name``, which is also the label of the group unless one is given.  Values in
    ``closed`` cannot be chosen, for the reason given there.
    """
    return render("macros.segments", name, now, options, label, closed or {})


def _draw_button(do: str, word: str, hint: str) -> str:
    return f'<button class="ex-soft" data-do="{do}" title="{hint}">{word}</button>'


def draw_threshold_slider(threshold: float) -> str:
    """Return the slider of the threshold tau."""
    low, high, step = SLIDER
    hint = "τ: an edge is drawn when its weight is above τ / K, with K topics in the layer below"
    scale = f'min="{low:g}" max="{high:g}" step="{step:g}" value="{min(threshold, high):g}"'
    return (
        f'<label class="ex-tau" title="{hint}"><span>Threshold</span><input type="range" {scale}'
        f' data-input="threshold" aria-label="Threshold tau"><output>{threshold:g}</output></label>'
    )


def _draw_sure_switch(hierarchy: Hierarchy, *, sure: bool) -> str:
    name, hint = "Only what is sure within this run", "Draw only edges above the threshold with at least 90 %"
    if hierarchy.recurrence is not None:
        name, hint = "Only what other seeds found", f"Draw only edges {describe_most(hierarchy.recurrence.n_runs)}"
    return (
        f'<button class="ex-soft" data-do="sure" aria-pressed="{"true" if sure else "false"}" title="{hint}">'
        f"{name}</button>"
    )


def draw_relation_slider(least: float) -> str:
    """Return the slider of the least correlation at which two topics are joined on the map."""
    hint = "Two topics are joined when documents use them together: when their correlation is at least this"
    scale = f'min="{LEAST_RELATION:g}" max="1" step="0.01" value="{least:g}"'
    return (
        f'<label class="ex-tau" title="{hint}"><span>Correlation</span><input type="range" {scale}'
        f' data-input="relation" aria-label="Least correlation"><output>{least:g}</output></label>'
    )


def _draw_snapshot_choice(hierarchy: Hierarchy, state: ControlState) -> str:
    newest = f"Latest · {hierarchy.minibatch:,}" if not state.pinned else "Latest"
    older = ((moment.number, f"Mini-batch {moment.minibatch:,}") for moment in reversed(state.moments))
    return draw_select("snapshot", [(0, newest), *older], state.pinned, "Snapshot", "Which snapshot is shown")


def draw_class_choice(classes: Sequence[str], label: int) -> str:
    """Return the choice of a class whose weights are shown on the topics."""
    entries = enumerate(shorten(name, 40) for name in ("No class", *classes))
    hint = "Show on every topic how much it speaks for a class (orange) or against it (blue)"
    return draw_select("label", entries, label, "Class", hint)


def _draw_saving(formats: Sequence[str]) -> str:
    names = [(name, name.upper()) for name in (*formats[:1], "png", *formats[1:])]
    return draw_select("save", (("", "Save as …"), *names), "", "Save the tree as", again=True)


def _draw_list_switch(*, listed: bool) -> str:
    state = (
        f'aria-pressed="{"true" if listed else "false"}" title="Search, and the topics of every layer as a list ( / )"'
    )
    return f'<button class="ex-soft" data-do="list" {state}>Find, list</button>'


def _draw_wide_switch(*, wide: bool) -> str:
    word = "Show the side panels" if wide else "Only the tree"
    state = f'aria-pressed="{"true" if wide else "false"}" title="{word}" aria-label="{word}"'
    return f'<button class="ex-soft ex-wide" data-do="wide" {state}>{draw_icon("tree")}</button>'


def draw_map_legend(hierarchy: Hierarchy, drawing: MapDrawing) -> str:
    """Return the parents that have a colour on the map, as buttons that select them; empty for a single layer."""
    if not drawing.hues:
        return ""
    layer = next(iter(drawing.hues)).layer
    chips = "".join(_draw_parent(hierarchy, parent, LIVE.hues[hue]) for parent, hue in drawing.hues.items())
    label = f"Colour: heaviest parent in layer {layer}"
    others = f'<span class="ex-others">{drawing.others} topics of other parents</span>' if drawing.others else ""
    return (
        f'<div class="ex-top-row ex-parents" data-rove role="group" aria-label="{label}">'
        f"<span>{label}</span>{chips}{others}</div>"
    )


def _draw_parent(hierarchy: Hierarchy, parent: Node, colour: str) -> str:
    key, title = format_identity(parent), escape(hierarchy.title(parent))
    tip = f"{title}: topic {key}; select it"
    return (
        f'<button data-do="select" data-id="{key}" data-key="{key}" title="{tip}" style="--hue:{colour}">'
        f"<i></i>{draw_title(hierarchy.title(parent))}</button>"
    )


def draw_map_foot(hierarchy: Hierarchy, drawing: MapDrawing, relation: float, child: str) -> str:
    """Return the foot of the map: the meaning of circles and lines, and the topics as a list."""
    alike = " and the same parents" if drawing.hues else ""
    facts = (
        f"{hierarchy.corpus} · run {hierarchy.run} · {hierarchy.moment} · {drawing.topics} topics of "
        f"layer 1 · area: share of the tokens · close together: similar words{alike} · seed {hierarchy.seed} · Topiary"
    )
    joined = (
        f"{drawing.lines} pairs of topics are joined: documents use them together, with a correlation of at least "
        f"{relation:g}."
    )
    light = f"{drawing.hidden} light topics, of under 0.1 % of the tokens, are left out." if drawing.hidden else ""
    parents = child if hierarchy.n_layers > 1 else ""  # with a single layer there are no child topics
    hints = [joined if hierarchy.relations else "", light, parents]
    lines = "".join(f'<p class="ex-hint">{escape(hint)}</p>' for hint in hints if hint)
    rows = "".join(_draw_map_topic(hierarchy, node) for node in hierarchy.nodes(1))
    return (
        f'<p class="ex-caption">{escape(facts)}</p>{lines}'
        f'<details class="ex-fold"><summary>The map as text</summary><ul class="ex-outline">{rows}</ul></details>'
    )


def _draw_map_topic(hierarchy: Hierarchy, node: Node) -> str:
    words = " ".join((escape(hierarchy.title(node)), *map(escape, hierarchy.other_words(node, 8))))
    button = f'<button data-do="select" data-id="{format_identity(node)}">{format_identity(node)}</button>'
    return f"<li>{button} <small>{format_percent(hierarchy.share(node))}</small> {words}</li>"


def draw_tiles_foot(hierarchy: Hierarchy, drawing: TilesDrawing, child: str) -> str:
    """Return the lines below the tiles."""
    drawn = len(drawing.rows.nodes)
    facts = (
        f"{hierarchy.corpus} · run {hierarchy.run} · {hierarchy.moment} · {drawn} of {hierarchy.widths[-1]} top topics "
        f"drawn · children that do not fit are counted in the dashed places · seed {hierarchy.seed} · Topiary"
    )
    hint = f'<p class="ex-hint">{escape(child)}</p>' if child else ""
    return f'<p class="ex-caption">{escape(facts)}</p>{hint}'


def draw_answer(hierarchy: Hierarchy) -> str:
    """Return the sentence above the tiles that answers what the documents are about, and how the picture is read."""
    reading = "Area = share of all words · click a topic to read it, double-click to open its tree"
    return f'<p class="ex-answer">{escape(describe_shares(hierarchy))}</p><p class="ex-reading">{reading}</p>'


def draw_tree_foot(hierarchy: Hierarchy, choice: TreeChoice, drawing: TreeDrawing, hints: Sequence[str]) -> str:
    """Return the lines below a tree.

    Parameters
    ----------
    drawing : TreeDrawing
        The tree that was drawn.
    hints : sequence of str
        Sentences; empty ones are left out.
    """
    news = f" · <span>{escape(drawing.news.words())}</span>" if drawing.news else ""
    lines = "".join(f'<p class="ex-hint">{escape(hint)}</p>' for hint in hints if hint)
    caption = escape(write_caption(hierarchy, choice, linking=len(drawing.linking)))
    outline = draw_outline(hierarchy, drawing.part, choice.direction)
    return (
        f'<p class="ex-caption">{caption}{news}</p>{lines}'
        f'<details class="ex-fold"><summary>The tree as text</summary>{outline}</details>'
    )


def draw_outline(hierarchy: Hierarchy, part: Subnetwork, direction: Direction = "down") -> str:
    """Return the topics of a tree as nested lists, heaviest edges first.

    A topic with several parents is listed in full under the first, and by its name only under the others.
    """
    links: dict[Node, list[tuple[Node, Edge]]] = {}
    for edge in part.edges:
        source, target = (edge.above, edge.below) if direction == "down" else (edge.below, edge.above)
        links.setdefault(source, []).append((target, edge))
    written: set[Node] = set()
    items = "".join(
        _draw_outline_item(hierarchy, root, None, links, part.hidden, written)
        for root in part.roots
        if root not in written
    )
    rest = [node for node in part.nodes if node not in written]
    items += "".join(
        _draw_outline_item(hierarchy, node, None, links, part.hidden, written) for node in rest if node not in written
    )
    return f'<ul class="ex-outline">{items}</ul>'


def _draw_outline_item(
    hierarchy: Hierarchy,
    node: Node,
    edge: Edge | None,
    links: Mapping[Node, list[tuple[Node, Edge]]],
    hidden: Mapping[Node, int],
    written: set[Node],
) -> str:
    words = escape(" ".join(hierarchy.other_words(node, 8)))
    title = f"<strong>{escape(hierarchy.title(node))}</strong> "
    edge_note = f" · edge {'−' if edge.weight < 0 else ''}{format_percent(edge.size)}" if edge else ""
    edge_note += " (rarer)" if edge and edge.weight < 0 else ""
    head = (
        f'<button data-do="select" data-id="{format_identity(node)}">{format_identity(node)}</button> '
        f"<small>{format_percent(hierarchy.share(node))}{edge_note}</small> {title}"
    )
    if node in written:
        return f"<li>{head}<em>(above)</em></li>"
    written.add(node)
    folded = f" <em>{hidden[node]} more folded away</em>" if node in hidden else ""
    child_links = sorted(links.get(node, ()), key=lambda pair: -pair[1].size)
    children = "".join(
        _draw_outline_item(hierarchy, child, link, links, hidden, written) for child, link in child_links
    )
    return f"<li>{head}{words}{folded}{f'<ul>{children}</ul>' if children else ''}</li>"
