"""The panel about one pair of topics: words, ranks and parents of both, and the choice of another partner."""

from types import SimpleNamespace

from topiary.app.analysis.comparison import SHOWN_WORDS, SIDES, Comparison, Pair, Side, get_other_side
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.topic_images import has_pictures
from topiary.app.views.compare.table import describe_absence, describe_likeness, format_margin, format_share_change
from topiary.app.views.html import render
from topiary.app.views.text import format_percent
from topiary.engine.hierarchy.tree import Node

_MOST_PARTNERS = 12  # candidates listed as partners, the best first

NOTHING = '<p class="ex-none">Choose a topic in the table or in one of the trees.</p>'


def draw_pair(comparison: Comparison, pair: Pair, *, one_run: bool, drawn: bool = True) -> str:
    """Return the panel about a pair.

    Parameters
    ----------
    one_run : bool
        Whether both sides are the same run: then topics are paired by number, and no other partner can be chosen.
    drawn : bool
        Whether the trees show the pair.
    """
    shown: Side = "b" if pair.b is not None else "a"
    offered = None if drawn else SimpleNamespace(side=shown, key=format_identity(pair.on(shown) or Node(0, 0)))
    return render(
        "compare.pair", pair, "-".join(format_identity(node) for node in (pair.a, pair.b) if node),
        _describe_pair(comparison, pair), offered, [_describe_side(comparison, pair, side) for side in SIDES],
        _describe_facts(comparison, pair), None if one_run else _list_partners(comparison, pair),
    )  # fmt: skip


def _describe_pair(comparison: Comparison, pair: Pair) -> str:
    likeness = describe_likeness(comparison, pair)
    if pair.paired:
        doubt = " · another partner would fit about as well" if pair.margin < 0.02 and not pair.fixed else ""
        return f"{likeness} · margin {format_margin(pair)}{doubt}"
    decided = " · decided by hand" if pair.fixed and not comparison.find_absence(pair) else ""
    return f"of {'A' if pair.b is None else 'B'} · {likeness}{decided}"


def _describe_side(comparison: Comparison, pair: Pair, side: Side) -> SimpleNamespace:
    """Return the topic of one side with its words, or why there is none."""
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    absence = describe_absence(comparison, pair) if node is None else ""
    words = [] if node is None or has_pictures(hierarchy) else hierarchy.top_words(node, SHOWN_WORDS)
    heaviest = max((word.weight for word in words), default=0.0) or 1.0
    change = comparison.words(pair)
    changed = change.left if side == "a" else change.entered
    rows = [(word.text, 100 * word.weight / heaviest, word.text in changed) for word in words]
    return SimpleNamespace(side=side, hierarchy=hierarchy, node=node, absence=absence, words=rows)


def _describe_facts(comparison: Comparison, pair: Pair) -> SimpleNamespace:
    """Return the ranks, the change of the share, and the heaviest parents of both, which may be partners."""
    facts = SimpleNamespace(ranks="", share=format_share_change(comparison.compute_share_change(pair)), parents=())
    if pair.a is None or pair.b is None:
        return facts
    ranks = comparison.a.rank(pair.a), comparison.b.rank(pair.b)
    facts.ranks = f"{ranks[0]} → {ranks[1]}" if ranks[0] != ranks[1] else f"{ranks[0]} in both"
    parents = [
        (hierarchy, relative.node) if (relative := next(iter(hierarchy.parents(node, 1)), None)) is not None else None
        for hierarchy, node in ((comparison.a, pair.a), (comparison.b, pair.b))
    ]
    if any(parents):
        a, b = (None if each is None else each[1] for each in parents)
        facts.parents, facts.is_same = parents, a is not None and comparison.partner("a", a) == b
    return facts


def _list_partners(comparison: Comparison, pair: Pair) -> SimpleNamespace | None:
    """Return the choice of another partner for the topic of B (of A, if there is none in B)."""
    side: Side = "b" if pair.b is not None else "a"
    node, other_side = pair.on(side), get_other_side(side)
    if node is None:
        return None
    other, partner = comparison.hierarchy(other_side), pair.on(other_side)
    entries = [("none", "No partner")]
    for rank, topic in enumerate(comparison.list_candidates(side, node)):
        if rank < _MOST_PARTNERS or topic.node == partner:
            alike = f"{format_percent(topic.score, 0)} alike"
            title = f"{format_identity(topic.node)} · {alike} · {other.title(topic.node)}"
            entries.append((format_identity(topic.node), title))
    chosen = format_identity(partner) if partner is not None else "none"
    label = f"Partner in {other_side.upper()}"
    return SimpleNamespace(side=side, key=format_identity(node), label=label, entries=entries, chosen=chosen)
