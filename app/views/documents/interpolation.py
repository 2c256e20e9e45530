"""The line between two documents: a card for every step, with its words or its picture."""

from collections.abc import Sequence, Set

from app.analysis.hierarchy import Hierarchy
from app.analysis.interpolation import ALIKE, Step, apart, percent_of_way
from app.analysis.topic_images import has_pictures, picture_uri
from app.views.text import escape, percent, shorten
from app.views.traced import traced

_LEGEND = (
    '<b class="dc-new">+ word</b> has come in since the step before, <span class="dc-stay">word</span> is in every step'
)
_WAY = "How far this step is from the first document to the second, in percent of the way"


def line(hierarchy: Hierarchy, steps: Sequence[Step]) -> str:
    """Write all steps, from the one document to the other."""
    everywhere = set.intersection(*(set(step.words) for step in steps))
    cards = "".join(_step(hierarchy, step, everywhere) for step in steps)
    pictures = " dc-line-pictures" if has_pictures(hierarchy) else ""
    hint = "" if pictures else f'<p class="dc-legend">{_LEGEND}</p>'
    body = f'<ol class="dc-steps{pictures}" tabindex="0">{cards}</ol>{_alike(steps)}{hint}'
    return f'<section class="dc-card">{body}</section>'


def _alike(steps: Sequence[Step]) -> str:
    """Say so where the ends are decoded to nearly the same: the mixed layer does not tell the documents apart."""
    distance = apart(steps[0].rates, steps[-1].rates)
    if distance >= ALIKE:
        return ""
    common = percent(1 - distance)
    return (
        f'<p class="dc-legend" role="status">Both ends are decoded to nearly the same ({common} in common): this layer '
        "hardly tells the two apart. Mix at another layer, or choose documents that differ more.</p>"
    )


def _step(hierarchy: Hierarchy, step: Step, everywhere: Set[int]) -> str:
    name = f"{percent_of_way(step.weight)}%"
    small = f"<small{traced(_WAY, hierarchy)}>{name}</small>"
    if has_pictures(hierarchy):
        image = picture_uri(hierarchy.image_shape or (1, 1), step.rates)
        return f'<li><img src="{image}" alt="{name} of the way">{small}</li>'
    words = "".join(
        _word(hierarchy, word, share, "dc-new" if new else "dc-stay" if word in everywhere else "")
        for word, share, new in zip(step.words, step.shares, step.new, strict=True)
    )
    return f'<li>{small}<ol aria-label="Words {name} of the way">{words}</ol></li>'


def _word(hierarchy: Hierarchy, word: int, share: float, kind: str) -> str:
    plus = "+ " if kind == "dc-new" else ""
    about = traced(f"{percent(share)} of the words expected at this step", hierarchy)
    return f'<li class="{kind}"{about}>{plus}{escape(shorten(hierarchy.vocabulary[word], 22))}</li>'
