"""The panel about one pair of topics: words, ranks and parents of both, and the choice of another partner."""

from topiary.app.analysis.comparison import SHOWN_WORDS, Comparison, Pair, Side, get_other_side
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.views.compare.table import describe_absence, describe_likeness, format_margin, format_share_change
from topiary.app.views.markup import draw_options, draw_title, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.text import escape, format_percent, shorten, write_title
from topiary.engine.hierarchy.tree import Node

_HEAD_TIP = "Layer; how alike the two are, 100% is the same; how much worse the second best partner would be"
_SHARE_TIP = "Share of the layer's tokens, in percent"
_FACT_TIPS = {
    "Rank": "Rank in the layer by share, in A and in B",
    "Share of the layer": "Share in B minus share in A, in percent points",
    "Heaviest parent": "The topic of the layer above in which it weighs most, in A and in B",
}
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
    close = write_element("button", "×", class_="ex-close", data_do="select", data_side="b", data_id="",
                    aria_label="Close the details", title="Close")  # fmt: skip
    parts = [
        close,
        _draw_pair_head(comparison, pair),
        "" if drawn else _offer_pair(pair),
        '<div class="cm-two">',
        _draw_side(comparison, pair, "a"),
        _draw_side(comparison, pair, "b"),
        "</div>",
    ]
    parts.append(_list_facts(comparison, pair))
    if not one_run:
        parts.append(_draw_partner_choice(comparison, pair))
    key = "-".join(format_identity(node) for node in (pair.a, pair.b) if node)
    return (
        f'<article class="ex-detail cm-pair" data-key="{key}'
        f'" style="{declare_hue(pair.layer)}">{"".join(parts)}</article>'
    )


def _draw_pair_head(comparison: Comparison, pair: Pair) -> str:
    if pair.paired:
        doubt_note = " · another partner would fit about as well" if pair.margin < 0.02 and not pair.fixed else ""
        sentence = f"{describe_likeness(comparison, pair)} · margin {format_margin(pair)}{doubt_note}"
    else:
        sentence = (
            f"of {'A' if pair.b is None else 'B'} · {describe_likeness(comparison, pair)}"
            f"{' · decided by hand' if pair.fixed and not comparison.find_absence(pair) else ''}"
        )
    return f'<p class="ex-over" title="{_HEAD_TIP}">Layer {pair.layer} · {sentence}</p>'


def _offer_pair(pair: Pair) -> str:
    """Return a button that adds the pair to the trees, which do not show it yet."""
    side: Side = "b" if pair.b is not None else "a"
    key, tip = format_identity(pair.on(side) or Node(0, 0)), "Show it in both trees, under its heaviest ancestors"
    button = write_element("button", "Show in the trees", data_do="show", data_side=side, data_id=key, title=tip)
    return f'<div class="ex-acts">{button}</div>'


def _draw_side(comparison: Comparison, pair: Pair, side: Side) -> str:
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    tag = f'<b class="cm-tag cm-{side}">{side.upper()}</b>'
    if node is None:
        return f'<section><h3>{tag}</h3><p class="ex-none">{escape(describe_absence(comparison, pair))}</p></section>'
    head = (
        f'<h3>{tag} <span title="{format_identity(node)} of run {hierarchy.run}">topic {format_identity(node)}</span>'
        f"<small{write_title(_SHARE_TIP, hierarchy)}>{format_percent(hierarchy.share(node))}</small></h3>"
    )
    named = not has_pictures(hierarchy) or hierarchy.name(node)
    name = f"<p><strong>{escape(hierarchy.title(node))}</strong></p>" if named else ""
    if has_pictures(hierarchy):
        uri, alt = draw_atom_uri(hierarchy, node), f"picture of topic {format_identity(node)} of {side.upper()}"
        return f'<section>{head}{name}<img class="ex-picture" src="{uri}" alt="{alt}"></section>'
    return f"<section>{head}{name}{_list_words(comparison, pair, side)}</section>"


def _list_words(comparison: Comparison, pair: Pair, side: Side) -> str:
    node = pair.on(side)
    words = comparison.hierarchy(side).top_words(node, SHOWN_WORDS) if node else []
    heaviest = max((word.weight for word in words), default=0.0) or 1.0
    change = comparison.words(pair)
    changed_words, mark, word = (
        (change.left, "−", "left: not among the heaviest of B")
        if side == "a"
        else (change.entered, "+", "entered: not among the heaviest of A")
    )
    rows = []
    for each in words:
        new = each.text in changed_words
        sign = f'<ins title="{word}">{mark}</ins>' if new else ""
        kind = f' class="cm-{"out" if side == "a" else "in"}"' if new else ""
        rows.append(
            f"<li{kind}><span>{sign}{escape(shorten(each.text, 24))}</span>"
            f'<i style="--part:{100 * each.weight / heaviest:.0f}%"></i></li>'
        )
    return f'<ol class="cm-words">{"".join(rows)}</ol>'


def _list_facts(comparison: Comparison, pair: Pair) -> str:
    share = format_share_change(comparison.compute_share_change(pair))
    rows = [("Share of the layer", f"{share} percent points")]
    if pair.a is not None and pair.b is not None:
        ranks = comparison.a.rank(pair.a), comparison.b.rank(pair.b)
        rows.insert(0, ("Rank", f"{ranks[0]} → {ranks[1]}" if ranks[0] != ranks[1] else f"{ranks[0]} in both"))
        rows.append(("Heaviest parent", _list_parents(comparison, pair.a, pair.b)))
    cells = "".join(
        f"<div{write_title(_FACT_TIPS[name])}><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows if value
    )
    return f'<dl class="cm-facts">{cells}</dl>'


def _list_parents(comparison: Comparison, a: Node, b: Node) -> str:
    parents = []
    for hierarchy, node in ((comparison.a, a), (comparison.b, b)):
        top = hierarchy.parents(node, 1)
        parents.append((top[0].node if top else None, _name_topic(hierarchy, top[0].node) if top else ""))
    (parent_a, name_a), (parent_b, name_b) = parents
    if parent_a is None and parent_b is None:
        return ""
    same = parent_a is not None and comparison.partner("a", parent_a) == parent_b
    return f"{name_a} → its partner {name_b}" if same else f"{name_a or 'none'} → {name_b or 'none'}"


def _name_topic(hierarchy: Hierarchy, node: Node) -> str:
    return f"{format_identity(node)} {draw_title(hierarchy.title(node))}"


def _draw_partner_choice(comparison: Comparison, pair: Pair) -> str:
    """Return the choice of another partner for the topic of B (of A, if there is none in B)."""
    side: Side = "b" if pair.b is not None else "a"
    node = pair.on(side)
    if node is None:
        return ""
    other = comparison.hierarchy(get_other_side(side))
    candidates = comparison.list_candidates(side, node)
    partner = pair.on(get_other_side(side))
    entries = [("none", "No partner")]
    for rank, topic in enumerate(candidates):
        if rank < _MOST_PARTNERS or topic.node == partner:
            alike = f"{format_percent(topic.score, 0)} alike"
            title = f"{format_identity(topic.node)} · {alike} · {other.title(topic.node)}"
            entries.append((format_identity(topic.node), title))
    label = f"Partner in {get_other_side(side).upper()}"
    tip = "Choose which topic this one is; the choice is kept for these two runs and can be undone"
    chooser = write_element(
        "select",
        draw_options(entries, format_identity(partner) if partner is not None else "none"),
        class_="ex-select",
        data_change="match",
        data_side=side,
        data_id=format_identity(node),
        data_key=f"match-{format_identity(node)}",
        aria_label=label,
        title=tip,
    )
    undo = (
        write_element("button", "Undo", class_="ex-soft", data_do="unmatch", data_side=side,
                data_id=format_identity(node),
                title="Forget what was chosen by hand and match by words and parents again")
        if pair.fixed
        else ""
    )  # fmt: skip
    return f'<div class="cm-choose"><label>{label} {chooser}</label>{undo}</div>'
