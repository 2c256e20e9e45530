"""How good topics are, as the page says it: a tag for a weak topic, its coherence, the figures of a layer."""

from app.analysis.hierarchy import LIVE, REASONS, Hierarchy
from app.views.text import escape
from engine.hierarchy.topics import TRADE
from engine.hierarchy.tree import Node

_FIRST = f"ten first words at λ = {TRADE:g}"  # a snapshot knows no other's, wherever the slider stands
NPMI = (
    f"Document NPMI of its {_FIRST} over the training documents, -1 to 1: how much more often they meet in one "
    "document than by chance (0)"
)
_MEAN = f"Mean document NPMI of the topics that are not light: how much more often their {_FIRST} meet than by chance"
_DIVERSITY = "Different words among the ten first of the topics that are not light: 1 when no two share one"
_RELEVANCE = "λ of relevance: towards 0 words that few other topics have come first, towards 1 the most probable ones"
_STEP = 0.05


def role_tag(hierarchy: Hierarchy, node: Node) -> str:
    """Say in one word why a topic is weak, the reason on hover; nothing of a live one."""
    role = hierarchy.role(node)
    return "" if role == LIVE else f'<small class="ex-role ex-{role}" title="{REASONS[role]}">{role}</small>'


def coherence(hierarchy: Hierarchy, node: Node) -> str:
    """The NPMI of a topic with what it means on hover; nothing where it is not known."""
    value = hierarchy.coherence(node)
    return "" if value is None else f' · <span title="{NPMI}">NPMI {signed(value)}</span>'


def layer_quality(hierarchy: Hierarchy, layer: int) -> str:
    """The figures of a layer, for the head of its list."""
    found = hierarchy.quality(layer)
    npmi = "" if found.npmi is None else f'<span title="{_MEAN}">NPMI {signed(found.npmi)}</span> · '
    diversity = f'<span title="{_DIVERSITY}">diversity {found.diversity:.2f}</span>' if found.topics else ""
    return f'<p class="ex-quality">{npmi}{diversity}</p>'


def word_choice(trade: float) -> str:
    """Write the switch between relevant and probable words, and the slider between them."""
    ways = (
        ("Relevant", TRADE, "First the words that tell a topic from its neighbours", trade < 1.0),
        ("Probable", 1.0, "First the most probable words, as in the papers", trade >= 1.0),
    )
    buttons = "".join(
        f'<button data-do="relevance" data-value="{value:g}" title="{hint}" aria-pressed="{"true" if on else "false"}">'
        f"{word}</button>"
        for word, value, hint, on in ways
    )
    scale = f'min="0" max="1" step="{_STEP:g}" value="{trade:g}"'
    return (
        f'<div class="ex-choice"><div class="ex-segments" role="group" aria-label="Words">{buttons}</div>'
        f'<label class="ex-lambda" title="{_RELEVANCE}"><span>λ</span><input type="range" {scale}'
        f' data-input="relevance" aria-label="Lambda of relevance"><output>{trade:.2f}</output></label></div>'
    )


def common_words(hierarchy: Hierarchy) -> str:
    """List the words that are left out of titles, folded; nothing where there are none."""
    if not hierarchy.everywhere:
        return ""
    words = " ".join(escape(hierarchy.vocabulary[number]) for number in hierarchy.everywhere)
    noun = "word is" if len(hierarchy.everywhere) == 1 else "words are"
    hint = "Found from the counts; they are left out of titles. A corpus can be added without them"
    return (
        f'<details class="ex-common"><summary title="{hint}">{len(hierarchy.everywhere)} {noun} everywhere in this'
        f" corpus</summary><p>{words}</p></details>"
    )


def signed(value: float) -> str:
    """A coherence for people: two digits, and a true minus."""
    return f"{value:.2f}".replace("-", "−")
