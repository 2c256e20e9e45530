"""What differs between two runs beyond what another seed changes: the first sentence of a comparison."""

import math
from collections.abc import Sequence
from html import escape

from app.analysis.comparison import Agreement
from app.analysis.seeds import JudgedPair, Range, SeedSpread, at, below
from app.views.markup import element
from app.views.run_facts import figure

_CHANCE = "These two runs differ in their seed only, so what differs here is what chance does."
_RANGES = "Each figure beside the lowest and the highest of the pairs of seeds; what the figures are stands below"
_LOOKING = "Looking for other seeds of these runs, which tell a difference from chance …"
_NONE = (
    "There is no second seed of either run, so nothing below can be told from chance: train run {} once more with "
    "another seed (the same settings, corpus and number of mini-batches)."
)


def seeds_sentence(pairs: Sequence[str], run: int, *, alone: bool) -> str:
    """Say which pairs of seeds are behind the baseline, or how to get one.

    Parameters
    ----------
    pairs : sequence of str
        Such as "3 and 4".
    run : int
        The run that another seed is wanted of where there is none.
    alone : bool
        Whether the two runs on screen differ in their seed only.
    """
    if alone:
        more = f" Other pairs of seeds, runs {'; '.join(pairs)}, stand beside the figures." if pairs else ""
        return f"{_CHANCE}{more}"
    if not pairs:
        return _NONE.format(run)
    word = "runs that differ" if len(pairs) == 1 else f"{len(pairs)} pairs of runs that differ"
    return f"Two seeds of one model: {word} in nothing but the seed, {'; '.join(pairs)}."


def verdict(now: Agreement, spread: SeedSpread | None, sentence: str, judged: JudgedPair | None = None) -> str:
    """Write whether the runs differ by more than another seed changes, and in what, as HTML.

    Parameters
    ----------
    now : Agreement
        Of the two runs on screen.
    spread : SeedSpread or None
        What two seeds of one model reach, where there are some.
    sentence : str
        Which seeds these are, or why there are none; empty while they are looked for.
    judged : JudgedPair or None
        How well both predict held-out words.
    """
    first = element("p", _said(now, spread, sentence), class_="cm-verdict", title=_RANGES)
    if judged is None:
        return first
    return first + element("p", escape(judged_words(judged)), class_="cm-verdict", title=f"{judged.a.protocol}.")


def judged_words(judged: JudgedPair) -> str:
    """How well both runs predict held-out words, and whether they differ by more than seeds do."""
    name = judged.a.name.capitalize()
    said = f"{name}: {figure(judged.a)} in A, {figure(judged.b)} in B"
    if judged.gap is None:
        return f"{said}; no second seed tells whether that is more than chance."
    gap = figure(judged.a._replace(value=judged.gap))
    apart = figure(judged.a._replace(value=judged.difference))
    more = "more than" if judged.beyond else "no more than"
    return f"{said}: {apart} apart, {more} two seeds of one model, which differ by up to {gap}."


def in_words(now: Agreement, spread: SeedSpread | None, sentence: str) -> str:
    """The same as one line of plain text."""
    if spread is None or sentence.startswith(_CHANCE):
        return sentence
    found = beyond(now, spread)
    if not found:
        return f"no more than another seed changes: no figure is lower than two seeds of one model reach. {sentence}"
    return f"more than another seed changes: {'; '.join(found)}. {sentence}"


def beyond(now: Agreement, spread: SeedSpread) -> list[str]:
    """The figures that lie below all that two seeds reach, each with both."""
    named = [
        *(
            (f"likeness of layer {place + 1}", score, at(spread.scores, place))
            for place, score in enumerate(now.scores)
        ),
        ("edges kept", now.edges, spread.edges),
        ("edge weights", now.correlation, spread.correlation),
    ]
    return [
        f"{name} {value:.2f}, two seeds {written(usual)}"
        for name, value, usual in named
        if usual is not None and below(value, usual)
    ]


def written(usual: Range | None) -> str:
    """A range as people read it: ``0.62 to 0.70``, or one figure where both ends read the same."""
    if usual is None or not math.isfinite(usual.low):
        return "–"
    low, high = f"{usual.low:.2f}", f"{usual.high:.2f}"
    return low if low == high else f"{low} to {high}"


def _said(now: Agreement, spread: SeedSpread | None, sentence: str) -> str:
    if not sentence:
        return _LOOKING
    if spread is None or sentence.startswith(_CHANCE):
        return f"<b>{escape(sentence)}</b>" if spread is None else escape(sentence)
    found = beyond(now, spread)
    if not found:
        return (
            "<b>No more than another seed changes:</b> no figure is lower than two seeds of one model reach. "
            f'<span class="tp-dim">{escape(sentence)}</span>'
        )
    return (
        f"<b>More than another seed changes:</b> {escape('; '.join(found))}. "
        f'<span class="tp-dim">{escape(sentence)}</span>'
    )
