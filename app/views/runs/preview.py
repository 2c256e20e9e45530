"""The most popular topics of a layer in a few cards: what is this corpus about."""

from html import escape

from app.analysis.hierarchy import BACKGROUND, Hierarchy, identity
from app.analysis.topic_images import atom_uri, has_pictures
from app.views import words
from app.views.markup import element
from app.views.palette import hue
from app.views.text import percent
from app.views.traced import traced
from engine.hierarchy.tree import Node

CARDS = 8
WORDS = 10


def preview(hierarchy: Hierarchy, layer: int) -> str:
    """Cards of the most popular topics of ``layer``, background ones last, each opening its topic in the explorer."""
    every = hierarchy.nodes(layer)
    nodes = sorted(every, key=lambda node: hierarchy.role(node) == BACKGROUND)[:CARDS]  # what all share comes last
    most = max((hierarchy.share(node) for node in nodes), default=0.0) or 1.0
    cards = []
    about = traced("Rank by share, and the topic's share of its layer, in percent of the layer's tokens", hierarchy)
    for node in nodes:
        name = hierarchy.name(node)
        share = hierarchy.share(node)
        head = f'<b class="tp-topic-name">{escape(name)}</b>' if name else ""
        cards.append(
            element(
                "button",
                f'<span class="tp-topic-head"{about}><i class="tp-rank">{hierarchy.rank(node)}</i>'
                f'<span class="tp-topic-bar">'
                f'<i style="width:{100 * share / most:.1f}%"></i></span><em>{percent(share)}</em></span>{head}'
                f"{_inside(hierarchy, node)}",
                class_="tp-topic",
                data_do="topic",
                data_layer=layer,
                data_topic=node.column + 1,
                data_key=identity(node),
            )
        )
    return f'<div class="tp-topics" data-rove style="{hue(layer)}">{"".join(cards)}</div>'


def _inside(hierarchy: Hierarchy, node: Node) -> str:
    """The picture of a topic of images, the words of any other."""
    if has_pictures(hierarchy):
        alt = f"picture of topic {hierarchy.rank(node)} of layer {node.layer}"
        return f'<img class="tp-topic-picture" src="{atom_uri(hierarchy, node)}" alt="{alt}">'
    top = [word.text for word in hierarchy.top_words(node, WORDS)]
    lead, rest = top[:3], top[3:]
    if not hierarchy.name(node):
        lead = hierarchy.title_words(node)
        rest = hierarchy.other_words(node, WORDS - len(lead))
    return f'<span class="tp-topic-words"><strong>{escape(" ".join(lead))}</strong> {escape(" ".join(rest))}</span>'


def caption(hierarchy: Hierarchy, pinned: bool) -> str:  # noqa: FBT001 - one fact
    """Which snapshot this is."""
    return f"{'pinned at' if pinned else 'live ·'} mini-batch {words.number(hierarchy.minibatch)}"


def waiting(sentence: str, *, coming: bool = True) -> str:
    """Say what is being waited for, and show empty cards as long as topics are coming."""
    cards = '<span class="tp-topic tp-placeholder"></span>' * 4
    places = f'<div class="tp-topics" aria-hidden="true">{cards}</div>' if coming else ""
    return f'<p class="tp-wait" role="status">{escape(sentence)}</p>{places}'
