"""What stands around the picture of Explore: the menus above, the bar of a layer, the foot, and rows for a phone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from topiary.app.analysis.column_topics import list_column_layers, rank_column_topics
from topiary.app.analysis.filters import SelectedShares
from topiary.app.analysis.hierarchy import BACKGROUND, LEAST_RELATION, LIGHT, REASONS, Hierarchy, format_identity
from topiary.app.names import plural
from topiary.app.views.compare.recurrence import describe_most
from topiary.app.views.html import render
from topiary.app.views.markup import draw_select, draw_title
from topiary.app.views.save_dialogs import ReportScope, draw_report_dialog, draw_table_dialog
from topiary.app.views.text import BOLD, describe_moment, escape, format_percent, measure_text, shorten
from topiary.app.views.theme import LIVE
from topiary.app.views.tree.map_svg import MapDrawing
from topiary.app.views.tree.opening import STEP
from topiary.app.views.tree.picture import TreeChoice, TreeDrawing, describe_elsewhere, write_caption
from topiary.app.views.tree.tiles import TilesDrawing
from topiary.engine.hierarchy.topics import TRADE
from topiary.engine.hierarchy.tree import Direction, Edge, Node, Subnetwork

SLIDER = (STEP, 30.0, STEP)  # lowest threshold (at 0 all topics are joined), highest threshold, and step
_PICTURES = (
    ("topics", "Topics", "all topics of the top layer by their size, and what each is made of"),
    ("tree", "Tree", "how topics are made of each other, layer by layer"),
    ("map", "Map of topics", "the topics of layer 1, coloured by parent: similar ones lie close together"),
)
_KEYS = {"topics": "1", "tree": "3", "map": "4"}
_DETAILS = (
    ("backbone", "Backbone: until 40% is covered"),
    ("normal", "Heaviest: until 70% is covered"),
    ("all", "All: until 95% is covered"),
    ("paper", "As in the paper: above a threshold τ"),
)
_WAYS = (("down", "Down, to the children"), ("up", "Up, to the parents"))
_PARTS = (
    ("union", "All that the roots reach"),
    ("shared", "Only what several roots share"),
    ("unique", "Only what one root alone reaches"),
)
_TITLE, _PADDING, _GAP = 12.5, 15.0, 4.0  # of a cell of the bar: size of the letters, and pixels within and between
_LEAST_SEGMENT = 0.02  # part of a topic that has a piece of its own in the bar of a row


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
        The number of topics that the visitor has hidden, or set apart.
    wide : bool
        Whether the panel is hidden.
    formats : tuple of str
        The formats in which the picture can be saved.
    scopes : pairs of str and ReportScope
        The topics that a report can be about, with their names, once the visitor has opened the dialog.
    picture : "topics", "tree" or "map"
        What is on screen.
    relation : float
        The least correlation at which two topics are joined on the map.
    listed : bool
        Whether the list of topics is next to the picture.
    search : str
        The text in the search field.
    answer, reading : str
        The sentence above the picture that answers, and how the picture is read.
    """

    chosen: bool
    hidden: int
    wide: bool
    formats: tuple[str, ...]
    scopes: tuple[tuple[str, ReportScope], ...] = ()
    picture: str = "tree"
    relation: float = 0.85
    listed: bool = False
    search: str = ""
    answer: str = ""
    reading: str = ""


class MenuEntry(NamedTuple):
    """An entry of a menu: the message that it sends, its text, and whether it is chosen (None: it is an act).

    ``closes`` says whether the menu closes after it, ``key`` is the key that does the same, and ``bar`` the reason why
    it cannot be chosen.
    """

    do: str
    value: str
    text: str
    chosen: bool | None = None
    hint: str = ""
    key: str = ""
    closes: bool = False
    bar: str = ""


class _MenuFacts(NamedTuple):
    """What the menus depend on of the topics; from one snapshot to the next it is usually the same.

    ``everywhere`` are the topics that :func:`list_everywhere` returns, ``n_runs`` the runs with other seeds and this
    one, 0 where what comes back is not measured.
    """

    run: int
    n_layers: int
    pictured: bool
    trade: float
    classes: tuple[str, ...]
    related: bool
    certain: bool
    n_runs: int
    light: bool
    everywhere: tuple[Node, ...]


def draw_controls(hierarchy: Hierarchy, choice: TreeChoice, state: ControlState) -> str:
    """Return the sentence above the picture, the search, and the menus *View* and *Save*."""
    is_tree = state.picture == "tree"
    facts = _MenuFacts(
        hierarchy.run, hierarchy.n_layers, hierarchy.has_pictures, hierarchy.trade,
        classes=hierarchy.classes if state.picture != "topics" else (), related=bool(hierarchy.relations),
        certain=bool(hierarchy.edge_variances), n_runs=hierarchy.recurrence.n_runs if hierarchy.recurrence else 0,
        light=bool(hierarchy.light), everywhere=(*list_everywhere(hierarchy),) if state.picture == "topics" else (),
    )  # fmt: skip
    drawn = choice if is_tree else choice._replace(roots=(), threshold=0.0)  # these change while a run trains
    return render("explore.head", state.answer, state.reading, _draw_menus(facts, drawn, state._replace(answer="")))


@lru_cache(maxsize=256)
def _draw_menus(facts: _MenuFacts, choice: TreeChoice, state: ControlState) -> tuple[str, str]:
    """Return the search with the menus, and their dialogs."""
    is_layered, is_tree = facts.n_layers > 1, state.picture == "tree"
    pictures = [each for each in _PICTURES if facts.pictured <= (each[0] != "topics")] if is_layered else []
    tools = render(
        "explore.tools", facts.trade, state,
        pictures=[each for each in pictures if each[0] != "map"],
        groups=[
            ("Draw", _list_pictures(state, pictures)),
            ("Children of each topic", _list_details(choice) if is_tree else []),
            ("Words", [] if facts.pictured else _list_words(facts.trade)),
            ("Show", _list_shown(facts, choice, state)),
        ],
        paper=_list_paper(facts, choice, state) if is_tree else [],
        threshold=draw_threshold_slider(choice.threshold) if is_tree and choice.detail == "paper" else "",
        relation=draw_relation_slider(state.relation) if state.picture == "map" and facts.related else "",
        classes=draw_class_choice(facts.classes, choice.label) if facts.classes else "",
        files=[*state.formats[:1], "png", *state.formats[1:]],
    )  # fmt: skip
    dialogs = draw_report_dialog(facts.run, dict(state.scopes)) + draw_table_dialog(facts.run, facts.n_layers)
    return tools, dialogs


def _list_pictures(state: ControlState, pictures: Sequence[tuple[str, str, str]]) -> list[MenuEntry]:
    entries = [
        MenuEntry("picture", name, text, name == state.picture, hint, _KEYS[name], closes=True)
        for name, text, hint in pictures
    ]
    return [
        *entries,
        MenuEntry("list", "", "List of topics", state.listed, "All topics, layer by layer", "2", closes=True),
    ]


def _list_details(choice: TreeChoice) -> list[MenuEntry]:
    return [MenuEntry("detail", name, text, name == choice.detail) for name, text in _DETAILS]


def _list_words(trade: float) -> list[MenuEntry]:
    """Return the choice between the words that tell a topic from its neighbours and the most probable ones."""
    return [
        MenuEntry(
            "relevance", f"{TRADE:g}", "Most telling", trade < 1.0,
            "First the words that tell a topic from its neighbours",
        ),
        MenuEntry("relevance", "1", "Most frequent", trade >= 1.0, "First the most probable words, as in the papers"),
    ]  # fmt: skip


def _list_shown(facts: _MenuFacts, choice: TreeChoice, state: ControlState) -> list[MenuEntry]:
    """Return what can be shown or hidden in the picture on screen."""
    is_tree, entries = state.picture == "tree", []
    if facts.everywhere:
        is_apart = choice.without.issuperset(facts.everywhere)
        entries.append(MenuEntry("apart", "", "Set apart topics in every kind of text", is_apart))
    elif state.hidden:
        entries.append(MenuEntry("unhide", "", f"Show the {plural(state.hidden, 'hidden topic')}"))
    if is_tree and (facts.certain or facts.n_runs):
        text, hint = "Only lines that are sure", "Draw only edges above the threshold with at least 90%"
        if facts.n_runs:
            text, hint = "Only what other seeds found", f"Draw only edges {describe_most(facts.n_runs)}"
        entries.append(MenuEntry("sure", "", text, choice.sure, hint))
    if is_tree and choice.closed:
        entries.append(MenuEntry("open-all", "", "Open all", None, "Unfold every topic"))
    if state.picture != "topics" and facts.light:
        entries.append(MenuEntry("light", "", "Light topics too", choice.light, REASONS[LIGHT]))
    return [*entries, MenuEntry("wide", "", "Only the picture", state.wide, "Put the panel away")]


def _list_paper(facts: _MenuFacts, choice: TreeChoice, state: ControlState) -> list[MenuEntry]:
    """Return the rest of what can be chosen of a tree: its direction, its roots, and which of what they reach."""
    bars = _find_dead_ends(facts.n_layers, choice)
    entries = [
        MenuEntry("direction", name, text, name == choice.direction, bar=bars.get(name, "")) for name, text in _WAYS
    ]
    if len(choice.roots) > 1:
        entries += [MenuEntry("part", name, text, name == choice.part) for name, text in _PARTS]
    if state.chosen:
        entries.append(
            MenuEntry("popular", "", "Back to the tree as it opens", hint="Forget the roots that were chosen")
        )
    return entries


def list_everywhere(hierarchy: Hierarchy) -> list[Node]:
    """Return the topics of the top layer that are in every kind of text, unless all are."""
    tops = hierarchy.nodes(hierarchy.n_layers)
    found = [node for node in tops if hierarchy.role(node) == BACKGROUND]
    return found if len(found) < len(tops) else []


def _find_dead_ends(n_layers: int, choice: TreeChoice) -> dict[str, str]:
    """Return the directions in which nothing lies beyond any root, with a reason."""
    layers = {root.layer for root in choice.roots}
    ends = {"up": (n_layers, "Nothing is above the top layer"), "down": (1, "Nothing is below layer 1")}
    return {way: reason for way, (layer, reason) in ends.items() if layers == {layer}}


def draw_threshold_slider(threshold: float) -> str:
    """Return the slider of the threshold tau."""
    low, high, step = SLIDER
    hint = "τ: an edge is drawn when its weight is above τ / K, with K topics in the layer below"
    scale = f'min="{low:g}" max="{high:g}" step="{step:g}" value="{min(threshold, high):g}"'
    return (
        f'<label class="ex-tau" title="{hint}"><span>Threshold</span><input type="range" {scale}'
        f' data-input="threshold" aria-label="Threshold tau"><output>{threshold:g}</output></label>'
    )


def draw_relation_slider(least: float) -> str:
    """Return the slider of the least correlation at which two topics are joined on the map."""
    hint = "Two topics are joined when documents use them together: when their correlation is at least this"
    scale = f'min="{LEAST_RELATION:g}" max="1" step="0.01" value="{least:g}"'
    return (
        f'<label class="ex-tau" title="{hint}"><span>Correlation</span><input type="range" {scale}'
        f' data-input="relation" aria-label="Least correlation"><output>{least:g}</output></label>'
    )


def draw_class_choice(classes: Sequence[str], label: int) -> str:
    """Return the choice of a class whose weights are shown on the topics."""
    entries = enumerate(shorten(name, 40) for name in ("No class", *classes))
    hint = "Show on every topic how much it speaks for a class (orange) or against it (blue)"
    return draw_select("label", entries, label, "Class", hint)


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
    light = f"{drawing.hidden} light topics, of under 0.1% of the tokens, are left out." if drawing.hidden else ""
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


class TopicRow(NamedTuple):
    """A row of the topics on a phone: how deep it stands, its share in words, its bar, and a remark.

    ``bar`` is a CSS colour; ``pieces`` are the parts of its length at which it is cut, which all lie in (0, 1).
    """

    node: Node
    depth: int
    share: str
    length: float
    pieces: Sequence[float] = ()
    tag: str = ""


def draw_share_bar(hierarchy: Hierarchy, layer: int, roots: Collection[Node], width: float) -> str:
    """Return a bar of the topics of a layer, each as wide as its share, with as many words of its title as fit.

    A click makes a topic the root.

    Parameters
    ----------
    roots : collection of Node
        The roots of the tree, which are marked.
    width : float
        Of the bar, in pixels.
    """
    nodes = [node for node in hierarchy.nodes(layer) if hierarchy.share(node) > 0]
    total = sum(map(hierarchy.share, nodes))
    room = width - _GAP * len(nodes)
    cells = []
    for node in nodes:
        part = hierarchy.share(node) / total
        title = _begin_title(hierarchy.title(node), (part * room - _PADDING) / (BOLD * _TITLE))
        cells.append((node, part, title, node in roots))
    return render("explore.share_bar", hierarchy, layer, cells) if len(cells) > 1 else ""


def _begin_title(title: str, width: float) -> str:
    """Return a title, or of its first words as many as fit into a width in ems; empty if not even one does."""
    words = title.split()
    starts = (" ".join(words[:n_words]).rstrip(",&") for n_words in range(len(words) - 1, 0, -1))
    return next((text for text in (title, *(f"{start}…" for start in starts)) if measure_text(text) <= width), "")


def describe_tree(hierarchy: Hierarchy, part: Subnetwork, direction: Direction) -> str:
    """Return one sentence about a tree: what most of its root is, or what its roots reach."""
    n_reached = len(part.nodes) - len(part.roots)
    if len(part.roots) != 1:
        what = "topics that they are made of" if direction == "down" else "topics that they are part of"
        return f"{len(part.roots)} topics, and {n_reached} {what}." if part.roots else ""
    root = part.roots[0]
    title, ends = hierarchy.title(root), [edge for edge in part.edges if root in (edge.above, edge.below)]
    if not ends:
        return f"{title}: no other topic is drawn."
    if direction == "up":
        belongs = hierarchy.belongs(root)
        n_more = len(belongs) - 1
        more = f"; the rest is in {plural(n_more, 'more topic')}" if n_more else ""
        return f"{format_percent(belongs[0].weight)} of {title} is in {hierarchy.title(belongs[0].node)}{more}."
    first, *others = sorted(ends, key=lambda edge: -edge.size)
    rest = format_percent(sum(edge.size for edge in others))
    more = f"; {plural(len(others), 'more topic')} {'makes' if len(others) == 1 else 'make'} up another {rest}"
    verb = "of" if hierarchy.linear else "of what is changed by"
    return f"{format_percent(first.size)} {verb} {title} is {hierarchy.title(first.below)}{more if others else ''}."


def draw_column_topics(hierarchy: Hierarchy) -> str:
    """Return the folded list of all column topics, layer by layer, top first; empty for other models."""
    if hierarchy.columns is None:
        return ""
    layers = [(layer, rank_column_topics(hierarchy, layer)) for layer in reversed(list_column_layers(hierarchy))]
    return render("topic.column_topics", layers) if layers else ""


def list_top_rows(hierarchy: Hierarchy) -> list[TopicRow]:
    """Return the topics of the top layer as rows whose bars are cut where their children begin."""
    nodes = [node for node in hierarchy.nodes(hierarchy.n_layers) if hierarchy.share(node) > 0]
    largest = max(map(hierarchy.share, nodes), default=1.0)
    rows = []
    for node in nodes:
        pieces, end = [], 0.0
        for child in hierarchy.children(node, hierarchy.widths[-2]):
            if abs(child.weight) < _LEAST_SEGMENT or end >= 1.0:
                break
            end += abs(child.weight)
            pieces.append(min(end, 1.0))
        share = hierarchy.share(node)
        rows.append(TopicRow(node, 0, format_percent(share), share / largest, pieces))
    return rows


def list_tree_rows(hierarchy: Hierarchy, part: Subnetwork, direction: Direction) -> list[TopicRow]:
    """Return a tree as rows, each topic below every one that leads to it, the heaviest edges first."""
    tags = describe_elsewhere(hierarchy, part)
    links: dict[Node, list[tuple[Node, Edge]]] = {}
    for edge in sorted(part.edges, key=lambda edge: -edge.size):
        near, far = (edge.above, edge.below) if direction == "down" else (edge.below, edge.above)
        links.setdefault(near, []).append((far, edge))
    return [
        row
        for root in part.roots
        for row in (
            TopicRow(root, 0, format_percent(hierarchy.share(root)), 1.0),
            *_list_rows_below(root, 1, links, tags),
        )
    ]


def _list_rows_below(
    node: Node, depth: int, links: Mapping[Node, Sequence[tuple[Node, Edge]]], tags: Mapping[Node, str]
) -> Iterator[TopicRow]:
    for far, edge in links.get(node, ()):
        tag = tags.get(far, "") if depth == 1 else ""
        yield TopicRow(far, depth, f"{format_percent(edge.size)} of it", edge.size, (), tag)
        yield from _list_rows_below(far, depth + 1, links, tags)


def draw_rows(hierarchy: Hierarchy, rows: Sequence[TopicRow], selected: Node | None) -> str:
    """Return rows of topics for a phone; a click on one selects its topic."""
    return render("explore.rows", hierarchy, rows, selected)


def draw_selection(selection: SelectedShares | None) -> str:
    """Return the conditions that select documents, and how many these are; empty without a selection."""
    if selection is None:
        return ""
    return render("macros.selection", selection, describe_moment(selection.moment) if selection.moment else "")
