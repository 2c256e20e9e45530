"""The tables of a comparison: pairs of topics and changed edges, the largest changes first."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import (
    KINDS,
    SIDES,
    Comparison,
    EdgeChange,
    Kind,
    Pair,
    Side,
    count_kinds,
    get_other_side,
)
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri
from topiary.app.names import format_signed
from topiary.app.views.compare.trees import ABSENT, choose_dashes, choose_edge_colour
from topiary.app.views.markup import draw_select, draw_term, draw_title, mark_edited, write_element
from topiary.app.views.runs.kpis import draw_choices
from topiary.app.views.text import escape, format_percent, format_weight, shorten
from topiary.app.views.theme import LIVE, RARER_DASHES, declare_hue
from topiary.engine.hierarchy.tree import Edge, Node

SORT_WORDS: Mapping[str, str] = {
    "change": "Most changed first",
    "score": "Least alike first",
    "share": "Most change of share",
    "popularity": "Most popular first",
    "margin": "Least certain first",
}
ROWS_STEP = 40  # rows shown at first, and added by each click on "more"
_COUNTS_TIP = "Topics with a partner, and without one, of the layers listed"
_CARRY_TIP = (
    "Copies names, notes and tags of A's topics to the topics of B that are the same; what B has stays as it is"
)
_LEAST_MARGIN = 0.02  # matches with a smaller margin are marked as uncertain
_FURTHER_WORDS = 2  # heavy words listed after a title
_WORDS_LISTED = 4  # of the words that entered or left; "+3" stands for three more


class PairListing(NamedTuple):
    """The choices of the table: order, layer (0 = all), the chosen pair, and the number of rows.

    ``floors`` has a score for each layer: 95 % of the pairs of two seeds of one model reach it, 5 % stay below.
    """

    sort: str
    layer: int
    chosen: Pair | None
    most: int
    floors: tuple[float, ...] = ()

    def is_beyond_chance(self, pair: Pair) -> bool:
        """Return True if a pair is less alike than nearly all pairs of two seeds."""
        return pair.paired and pair.layer <= len(self.floors) and pair.score < self.floors[pair.layer - 1]


def sort_pairs(comparison: Comparison, sort: str, layer: int = 0) -> list[Pair]:
    """Return the pairs of a layer (0 = all) in the chosen order.

    "change" is ``1 - score``, weighted by the popularity of the topic: a topic without a partner has changed
    completely, and a popular topic that changed a little comes before a rare one that changed much.
    """

    def find_popularity(pair: Pair) -> float:
        return max(comparison.hierarchy(side).share(node) for side in SIDES if (node := pair.on(side)) is not None)

    def compute_key(pair: Pair) -> tuple[float, float]:
        if sort == "share":
            return -abs(comparison.compute_share_change(pair)), -find_popularity(pair)
        if sort == "popularity":
            return -find_popularity(pair), pair.score
        if sort == "margin":
            return (pair.margin if pair.paired else math.inf), -find_popularity(pair)
        if sort == "score":
            return pair.score, -find_popularity(pair)
        return -(1 - pair.score) * find_popularity(pair), pair.score

    return sorted((pair for pair in comparison.pairs if layer in (0, pair.layer)), key=compute_key)


def draw_pair_table(comparison: Comparison, listing: PairListing) -> str:
    """Return the table as HTML, with the controls of its order and layer above it."""
    pairs = sort_pairs(comparison, listing.sort, listing.layer)
    visible = pairs[: listing.most]
    if listing.chosen in pairs and listing.chosen not in visible and listing.chosen is not None:
        visible = [listing.chosen, *visible]
    rows = "".join(_draw_pair_row(comparison, pair, listing) for pair in visible)
    columns = _HEADS[:-2] if comparison.b.has_pictures else _HEADS
    heads = "".join(write_element("th", draw_term(word, tip), scope="col") for word, tip in columns)
    left = len(pairs) - len(visible)
    more = (
        f'<button class="ex-soft" data-do="more-pairs">{min(left, ROWS_STEP)} more of {left}</button>' if left else ""
    )
    body = f"<thead><tr>{heads}</tr></thead><tbody data-rove>{rows}</tbody>"
    return (
        f"{_draw_choices(comparison, listing, pairs)}"
        f'<div class="cm-scroll"><table class="cm-table">{body}</table>{more}</div>'
    )


_HEADS = (
    ("Layer", "The layer of both topics"),
    ("A", "Number in the run, title, and two more of its heaviest words in A"),
    ("B", "Number in the run, title, and two more of its heaviest words in B"),
    ("Alike", "The partner is the nearest topic that is free: 100% alike has the same words under the same parents"),
    ("Margin", "How much worse the second best answer would be; near 0 the match is uncertain"),
    ("Share", "Share of the layer's popularity in B minus that in A, in percent points"),
    ("Words entered", "Among the 12 heaviest in B and not among the 24 heaviest in A"),
    ("Words left", "Among the 12 heaviest in A and not among the 24 heaviest in B"),
)
_TIPS = dict(_HEADS)


def _draw_choices(comparison: Comparison, listing: PairListing, pairs: list[Pair]) -> str:
    depth = max(comparison.a.n_layers, comparison.b.n_layers)
    layers = [("0", "All layers"), *((str(layer), f"Layer {layer}") for layer in range(depth, 0, -1))]
    order = draw_select("sort", SORT_WORDS.items(), listing.sort, "Order of the topics")
    paired = sum(pair.paired for pair in pairs)
    counts = Counter(_describe_unmatched(comparison, pair) for pair in pairs if not pair.paired)
    unmatched = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items())) or "none without a partner"
    n_beyond = sum(listing.is_beyond_chance(pair) for pair in pairs)
    chance = f"; {n_beyond:,} of the pairs less alike than 95% of those of two seeds" if listing.floors else ""
    return (
        f'<div class="tp-card-head"><h2 class="tp-h2">What changed</h2>'
        f'<span class="tp-dim" title="{_COUNTS_TIP}">{paired:,} with a partner, '
        f"{unmatched}{chance}</span>"
        f"{draw_choices('listed', layers, str(listing.layer), 'Layer')}{order}{_draw_carry_button(comparison)}</div>"
    )


def _draw_carry_button(comparison: Comparison) -> str:
    """Return the button that carries names and notes to B; empty where there is nothing to carry."""
    a, b = comparison.a, comparison.b
    if a.run == b.run or a.corpus != b.corpus or not (a.labels or a.notes):
        return ""
    return write_element("button", "Carry names and notes to B", class_="ex-soft", data_do="carry", title=_CARRY_TIP)


def _describe_unmatched(comparison: Comparison, pair: Pair) -> str:
    """Return why a topic has no partner, in a word or two."""
    without = f"of {'A' if pair.b is None else 'B'} without one"
    return {"": without, "pruned": "pruned", "new": "new"}[comparison.find_absence(pair)]


def _draw_pair_row(comparison: Comparison, pair: Pair, listing: PairListing) -> str:
    side: Side = "b" if pair.b is not None else "a"
    key = f"{side}{format_identity(pair.on(side) or Node(0, 0))}"
    words, share = comparison.words(pair), format_share_change(comparison.compute_share_change(pair))
    cells = [
        f'<td title="{_TIPS["Layer"]}"><b class="cm-layer">{pair.layer}</b></td>',
        _draw_topic_cell(comparison, pair, "a"),
        _draw_topic_cell(comparison, pair, "b"),
        _draw_score(pair, listing),
        _draw_margin(pair),
        f'<td class="cm-number" title="{_TIPS["Share"]}">{share}</td>',
    ]
    if not comparison.b.has_pictures:
        cells += [
            f'<td class="cm-in">{_draw_words(words.entered)}</td>',
            f'<td class="cm-out">{_draw_words(words.left)}</td>',
        ]
    state = ' aria-selected="true" class="cm-chosen"' if pair == listing.chosen else ""
    return f'<tr data-key="{key}" style="{declare_hue(pair.layer)}"{state}>{"".join(cells)}</tr>'


def _draw_topic_cell(comparison: Comparison, pair: Pair, side: Side) -> str:
    hierarchy, node = comparison.hierarchy(side), pair.on(side)
    if node is None:
        absence, tip = ABSENT[comparison.find_absence(pair)], describe_absence(comparison, pair)
        return write_element("td", absence, class_="cm-none", title=tip)
    key, title = format_identity(node), hierarchy.title(node)
    label = escape(f"{side.upper()}: topic {key}, {title}")
    picture = f'<img src="{draw_atom_uri(hierarchy, node)}" alt="">' if hierarchy.has_pictures else ""
    further = _list_further_words(hierarchy, node)
    inside = f"<b>{key}</b>{picture}<span>{draw_title(title)}{mark_edited(hierarchy, node)}{further}</span>"
    choose = f'data-do="select" data-side="{side}" data-id="{key}" aria-label="{label}" title="{escape(title)}"'
    return f"<td><button {choose}>{inside}</button></td>"


def _list_further_words(hierarchy: Hierarchy, node: Node) -> str:
    """Return the heaviest words that are not in the title."""
    if hierarchy.image_shape is not None or hierarchy.name(node):
        return ""
    return f" <small>{escape(_shorten_words(hierarchy.other_words(node, _FURTHER_WORDS)))}</small>"


def _shorten_words(words: Sequence[str]) -> str:
    return " ".join(shorten(word, 18) for word in words)


def _draw_score(pair: Pair, listing: PairListing) -> str:
    if not pair.paired:
        return '<td class="cm-none">–</td>'
    hand = '<em title="Matched by hand">by hand</em>' if pair.fixed else ""
    tip, kind = _TIPS["Alike"], "cm-score"
    if pair.layer <= len(listing.floors) and math.isfinite(floor := listing.floors[pair.layer - 1]):
        usual = f"of the pairs of two seeds of one model, 95% are {format_percent(floor, 0)} alike or more"
        tip = f"{'More than chance: ' if listing.is_beyond_chance(pair) else 'No more than chance: '}{usual}"
        kind += " cm-beyond" if listing.is_beyond_chance(pair) else ""
    alike, part = f"<i></i>{format_percent(pair.score, 0)}", f"--part:{100 * pair.score:.0f}%"
    bar = write_element("span", alike, class_=kind, style=part, title=tip)
    return f"<td>{bar}{hand}</td>"


def describe_likeness(comparison: Comparison, pair: Pair) -> str:
    """Return what the topics of a pair are to each other, and how alike: ``nearest, 31% alike``, or ``no partner``."""
    if not pair.paired:
        return ABSENT[comparison.find_absence(pair)]
    return f"{comparison.find_relation(pair)}, {format_percent(pair.score, 0)} alike"


def describe_absence(comparison: Comparison, pair: Pair) -> str:
    """Return in a sentence why the topic of a pair has no partner in the other run, and what is nearest there."""
    side: Side = "b" if pair.a is None else "a"
    node, other = pair.on(side), comparison.hierarchy(get_other_side(side))
    absence = comparison.find_absence(pair)
    if absence == "pruned":
        moment = comparison.hierarchy(side).moment
        return f"Pruned after {moment}, before or at {other.moment}. Next to it are its last known words."
    if absence == "new":
        return f"Not there yet at {other.moment}: its layer was added later."
    nearest = comparison.list_candidates(side, node)[:1] if node is not None else []
    more = [f" The nearest, “{other.title(each.node)}”, is {format_percent(each.score, 0)} alike." for each in nearest]
    return f"No partner in run {other.run}.{''.join(more)}"


def format_margin(pair: Pair) -> str:
    """Return the margin of a pair with its sign; without a sign if it rounds to zero."""
    return format_signed(pair.margin)


def _draw_margin(pair: Pair) -> str:
    if not pair.paired:
        return '<td class="cm-none">–</td>'
    doubt = ' class="cm-doubt" title="Another partner would fit about as well"' if pair.margin < _LEAST_MARGIN else ""
    return f'<td class="cm-number" title="{_TIPS["Margin"]}"><span{doubt}>{format_margin(pair)}</span></td>'


def format_share_change(share: float) -> str:
    """Return a change of share in percentage points with its sign; ±0 if it rounds to zero."""
    points = 100 * share
    if abs(points) < 0.005:
        return "±0"
    return format_signed(points, 1 if abs(points) >= 0.1 else 2)


def _draw_words(words: tuple[str, ...]) -> str:
    """Return the first words of a list, and a count of the others with all words as its tooltip."""
    first = escape(_shorten_words(words[:_WORDS_LISTED]))
    return (
        f'{first} <span title="{escape(" ".join(words))}">+{len(words) - _WORDS_LISTED}</span>'
        if words[_WORDS_LISTED:]
        else first
    )


_CHANGES_LISTED = 25
_WORDS_LEGEND = (
    '<span title="Among the 12 heaviest words in B and not among the 24 heaviest in A"><ins class="cm-in">word</ins> '
    'entered</span><span title="Among the 12 heaviest words in A and not among the 24 heaviest in B">'
    '<del class="cm-out">word</del> left</span>'
)
_RARER_LEGEND = (
    '<span title="The parent makes the child rarer: the weight of the line is negative">'
    '<svg class="tp-stroke cm-stroke" viewBox="0 0 40 8" aria-hidden="true">'
    '<line x1="2" y1="4" x2="38" y2="4" stroke="var(--tp-lowers)" '
    f'stroke-width="7" stroke-opacity=".6" stroke-dasharray="{RARER_DASHES}"/></svg>Makes rarer</span>'
)
TITLES: dict[Kind, tuple[str, str]] = {
    "gained": ("Gained", "Above the threshold in B and not in A"),
    "lost": ("Lost", "Above the threshold in A and not in B"),
    "stronger": ("Stronger", "In both, at least 1.5 times heavier in B against a flat topic"),
    "weaker": ("Weaker", "In both, at least 1.5 times lighter in B against a flat topic"),
    "same": ("Kept", "In both, about as heavy"),
}


def draw_class_choice(classes: Sequence[str], label: int) -> str:
    """Return the choice of the class that tints the topics of both trees.

    A ``label`` of 0 stands for the class that differs most, so that of *No class* is the number after the last class.
    """
    entries = [*enumerate((shorten(name, 40) for name in classes), start=1), (len(classes) + 1, "No class")]
    hint = "Show on every topic how much it speaks for a class (orange) or against it (blue)"
    return draw_select("label", entries, min(label or len(classes) + 1, len(classes) + 1), "Class", hint)


def draw_edge_legend(drawn: Sequence[EdgeChange], every: Sequence[EdgeChange], *, words: bool = True) -> str:
    """Return the legend of the trees: for each kind of edge its line, how many are drawn and how many there are.

    ``words`` says whether words are marked in the trees.
    """
    signed = any(edge is not None and edge.weight < 0 for change in drawn for edge in (change.a, change.b))
    here, all_of = count_kinds(drawn), count_kinds(every)
    entries = "".join(
        f'<span title="{TITLES[kind][1]}">{_draw_stroke(kind)}{TITLES[kind][0]} '
        f"<b>{here[kind]:,}</b> of {all_of[kind]:,}</span>"
        for kind in KINDS
    )
    more = f"{_RARER_LEGEND if signed else ''}{_WORDS_LEGEND if words else ''}"
    return (
        f'<div class="cm-legend"><h2 class="tp-h2">Trees</h2><div class="tp-legend" role="group" '
        f'aria-label="Edges by what became of them">{entries}{more}</div>'
        '<span class="tp-dim">Partners stand in the same place; a dashed place is one without a partner.</span></div>'
    )


def list_edge_changes(comparison: Comparison, every: Sequence[EdgeChange]) -> str:
    """Return the changed edges as text, the largest changes first."""
    lists = "".join(
        _draw_change_list(comparison, kind, [each for each in every if each.kind == kind]) for kind in KINDS[:4]
    )
    return f'<details class="ex-fold cm-edges"><summary>The edges as text</summary><div>{lists}</div></details>'


def compute_edge_change_key(change: EdgeChange) -> float:
    """Return the sort key of an edge change: lower for a larger change."""
    if change.kind in ("stronger", "weaker"):
        return -abs(math.log(change.ratio)) if 0 < change.ratio < math.inf else -math.inf
    edge = change.b if change.kind == "gained" else change.a
    return -(edge.size if edge else 0.0)


def _draw_change_list(comparison: Comparison, kind: Kind, changes: list[EdgeChange]) -> str:
    rows = "".join(
        _draw_change(comparison, change) for change in sorted(changes, key=compute_edge_change_key)[:_CHANGES_LISTED]
    )
    rest = len(changes) - _CHANGES_LISTED
    more = f'<li class="tp-dim">and {rest:,} more</li>' if rest > 0 else ""
    title = f"<h3>{_draw_stroke(kind)}{TITLES[kind][0]} <small>{len(changes):,}</small></h3>"
    return f"<section>{title}<ol>{rows}{more}</ol></section>"


def _draw_change(comparison: Comparison, change: EdgeChange) -> str:
    side: Side = "a" if change.kind == "lost" else "b"
    edge = change.a if side == "a" else change.b
    if edge is None:
        return ""
    hierarchy = comparison.hierarchy(side)
    weights = " → ".join(format_weight(each.weight) if each else "none" for each in (change.a, change.b))
    upper, lower = _draw_edge_end(hierarchy, edge, above=True), _draw_edge_end(hierarchy, edge, above=False)
    choose = f'data-do="select" data-side="{side}" data-id="{format_identity(edge.below)}"'
    return f"<li><button {choose}>{upper} › {lower}</button> <small>{weights}</small></li>"


def _draw_edge_end(hierarchy: Hierarchy, edge: Edge, *, above: bool) -> str:
    node = edge.above if above else edge.below
    return f"{format_identity(node)} {draw_title(hierarchy.title(node))}"


def _draw_stroke(kind: Kind) -> str:
    width = 4.5 if kind == "stronger" else 2.6
    pattern = choose_dashes(kind, width)
    dash = f' stroke-dasharray="{pattern}"' if pattern else ""
    return (
        '<svg class="tp-stroke cm-stroke" viewBox="0 0 40 8" aria-hidden="true"><line x1="2" y1="4" x2="38" y2="4" '
        f'stroke="{choose_edge_colour(LIVE, kind)}" stroke-width="{width}" stroke-linecap="round"{dash}/></svg>'
    )
