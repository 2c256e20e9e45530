"""The summary of a comparison: what differs, whether another seed would differ as much, and the figures."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import Agreement, Comparison, EdgeChange, count_kinds
from topiary.app.analysis.seeds import (
    CHANCE,
    ROUNDING_TOLERANCE,
    UNKNOWN_SPREAD,
    EstimatePair,
    Range,
    SeedExcess,
    SeedSpread,
    count_excesses,
    get_layer_value,
    is_below_range,
)
from topiary.app.names import plural
from topiary.app.views.markup import draw_term, write_element
from topiary.app.views.text import escape, format_estimate, format_percent, format_weight, shorten, write_title
from topiary.app.views.theme import declare_hue

_COUNTS_TIP = (
    "Counts of topics with a partner, and of edges above the threshold; A is run {a.run} at {a.moment}, "
    "B run {b.run} at {b.moment}"
)
_BY_CHANCE = "The words of layer 1 differ no more than between two seeds of one model."
_MOST_WORDS = 8  # words listed at most, of those that entered and of those that left


def summarise_changes(comparison: Comparison, changes: Sequence[EdgeChange], *, by_chance: bool = False) -> str:
    """Return as HTML how many topics and edges of A have a partner in B, and which words entered or left.

    If two seeds of one model are no more alike in layer 1 than these runs (``by_chance``), a sentence says so in
    place of the words.
    """
    sentences = [_summarise_topics(comparison), _summarise_edges(changes)]
    if comparison.a.image_shape is None:
        sentences.append(_BY_CHANCE if by_chance else _summarise_words(comparison))
    tip = write_title(_COUNTS_TIP.format(a=comparison.a, b=comparison.b))
    return f'<p class="cm-short"{tip}>{" ".join(sentence for sentence in sentences if sentence)}</p>'


def _summarise_topics(comparison: Comparison) -> str:
    topics_a, topics_b = sum(comparison.a.widths), sum(comparison.b.widths)
    paired = [pair for pair in comparison.pairs if pair.a is not None and pair.b is not None]
    mass = _measure_paired_share(comparison)
    only_a, only_b = topics_a - len(paired), topics_b - len(paired)
    pruned = sum(comparison.find_absence(pair) == "pruned" for pair in comparison.pairs)
    share = f", with {format_percent(mass)} of the weight" if only_a or only_b else ""
    topics, have = _choose_word(topics_a, "topic", "topics"), _choose_word(len(paired), "has", "have")
    found = f"{have} a partner in B, {format_percent(comparison.mean_score, 0)} alike on average"
    if comparison.a.run == comparison.b.run:
        found = f"{_choose_word(len(paired), 'is', 'are')} found again in B"
    text = f"<b>{len(paired):,} of {topics_a:,} {topics} of A</b> {found}{share}"
    if pruned:
        return f"{text}; {pruned:,} {_choose_word(pruned, 'was', 'were')} pruned."
    if only_a or only_b:
        return f"{text}; {only_a:,} of A and {only_b:,} of B have none."
    return f"{text}."


def _measure_paired_share(comparison: Comparison) -> float:
    """Return the share of the popularity that lies in pairs, averaged over the layers of both runs."""
    layers = max(comparison.a.n_layers, comparison.b.n_layers)
    shares = (
        comparison.a.share(pair.a) + comparison.b.share(pair.b)
        for pair in comparison.pairs
        if pair.a is not None and pair.b is not None
    )
    return sum(shares) / (2 * layers)


def _summarise_edges(changes: Sequence[EdgeChange]) -> str:
    counts = count_kinds(changes)
    n_kept = counts["stronger"] + counts["weaker"] + counts["same"]
    before = n_kept + counts["lost"]
    if not before + counts["gained"]:
        return ""
    new = f"{counts['gained']:,}", f"{_choose_word(counts['gained'], 'is', 'are')} new"
    if not before:
        return f"<b>A has no edges</b>; {' of B '.join(new)}."
    note = f" ({counts['stronger']:,} stronger, {counts['weaker']:,} weaker)" if n_kept else ""
    stay = _choose_word(n_kept, "stays", "stay")
    return f"<b>{n_kept:,} of {plural(before, 'edge')} of A {stay}</b>{note}; {' '.join(new)}."


def _choose_word(count: int, singular: str, several: str) -> str:
    return singular if count == 1 else several


def _summarise_words(comparison: Comparison) -> str:
    """Return the words that entered the heaviest topics of layer 1, and those that left such topics."""
    changes: dict[str, float] = {}  # by word: share of the topics it entered, less that of the topics it left
    for pair in comparison.pairs:
        if pair.layer == 1 and pair.a is not None and pair.b is not None:
            change = comparison.words(pair)
            for words, share in (
                (change.entered, comparison.b.share(pair.b)),
                (change.left, -comparison.a.share(pair.a)),
            ):
                changes |= {word: changes.get(word, 0.0) + share for word in words}
    order = sorted(changes, key=changes.__getitem__)
    entered = [word for word in order[: -_MOST_WORDS - 1 : -1] if changes[word] > 0]
    left = [word for word in order[:_MOST_WORDS] if changes[word] < 0]
    parts = [
        f"{name}: <{tag}>{' '.join(escape(shorten(word, 18)) for word in words)}</{tag}>"
        for name, tag, words in (("entered", "ins", entered), ("left", "del", left))
        if words
    ]
    return f"Words of layer 1 that {'; '.join(parts)}." if parts else ""


_BADGE_TIP = "Figures that differ by more than between any two seeds of one model; open it for which, and for the runs"
_SEEDS_TIP = "Which topics runs with other seeds have in common"
_SEARCHING = "looking for other seeds …"
_TWO_SEEDS = "two seeds of one model"
_NO_SECOND = "no second seed yet"


class SeedVerdict(NamedTuple):
    """How two runs differ in comparison with two seeds of one model.

    Attributes
    ----------
    excesses : sequence of SeedExcess
        The figures by which the runs differ by more than two seeds.
    n_figures : int
        Number of figures that can be compared with seeds; 0 without a second seed.
    sentence : str
        A sentence from `describe_seeds`; empty while runs with other seeds are searched for.
    estimate_pair : EstimatePair or None
        Estimates of how well each run predicts held-out words.
    """

    excesses: Sequence[SeedExcess] = ()
    n_figures: int = 0
    sentence: str = ""
    estimate_pair: EstimatePair | None = None

    @property
    def is_chance(self) -> bool:
        """True if the two runs differ only in their seed."""
        return self.sentence.startswith(CHANCE)


def judge_comparison(
    comparison: Comparison,
    now: Agreement,
    spread: SeedSpread | None,
    sentence: str,
    estimate_pair: EstimatePair | None = None,
) -> SeedVerdict:
    """Compare the differences between two runs with those between seeds.

    Parameters
    ----------
    now : Agreement
        The agreement of the two runs on screen.
    spread : SeedSpread or None
        The agreement of two seeds of one model, if there are any.
    sentence : str
        A sentence from `describe_seeds`; empty while runs with other seeds are searched for.
    estimate_pair : EstimatePair or None
        Estimates of how well each run predicts held-out words.
    """
    if spread is None or not sentence:
        return SeedVerdict(sentence=sentence, estimate_pair=estimate_pair)
    return SeedVerdict(*count_excesses(comparison, now, spread, estimate_pair), sentence, estimate_pair)


def draw_verdict(verdict: SeedVerdict) -> str:
    """Return a badge that says by how many figures two runs differ beyond seeds, with the details in a fold."""
    if not verdict.sentence:
        return f'<p class="cm-verdict" role="status"><span class="cm-badge">{_SEARCHING}</span></p>'
    if verdict.is_chance:
        badge = _TWO_SEEDS
    elif not verdict.n_figures:
        badge = _NO_SECOND
    else:
        badge = count_beyond(verdict)
    lines = [f"<li>{escape(describe_excess(each))}</li>" for each in _list_real(verdict)]
    parts = [f"<ul>{''.join(lines)}</ul>" if lines else ""]
    if verdict.estimate_pair is not None and not verdict.is_chance:
        tip = f"{verdict.estimate_pair.a.protocol}."
        parts.append(write_element("p", escape(compare_perplexities(verdict.estimate_pair)), title=tip))
    parts.append(f'<p class="tp-dim">{escape(verdict.sentence)}</p>')
    if verdict.is_chance or verdict.n_figures:
        parts.append(write_element("button", "What comes back", class_="tp-button", data_do="seeds", title=_SEEDS_TIP))
    summary = write_element("summary", f'<span class="cm-badge">{badge}</span>', title=_BADGE_TIP)
    return f'<details class="cm-verdict">{summary}<div>{"".join(parts)}</div></details>'


def describe_doubt(verdict: SeedVerdict) -> tuple[str, str, str]:
    """Return how far the differences may be chance: a text, and the words of a button with the message it sends."""
    if not verdict.sentence:
        return _SEARCHING, "", ""
    if verdict.is_chance:
        return "two seeds of one model: all of this is chance", "what comes back", "seeds"
    if not verdict.n_figures:
        return "one seed each:", "train a second", "seeds"
    return "", count_beyond(verdict), "whole"


def count_beyond(verdict: SeedVerdict) -> str:
    """Return the number of figures beyond seeds: ``differences beyond seeds: 3 of 11``."""
    return f"differences beyond seeds: {len(verdict.excesses)} of {verdict.n_figures}"


def describe_excess(excess: SeedExcess) -> str:
    """Return a figure beyond seeds in words, with what two seeds reach."""
    if excess.is_difference:
        by, usual = format_weight(excess.value), format_weight(excess.usual.high)
        return f"{excess.name} differs by {by}, two seeds by up to {usual}"
    return f"{excess.name} {excess.value:.2f}, two seeds {format_range(excess.usual)}"


def _list_real(verdict: SeedVerdict) -> Sequence[SeedExcess]:
    """Return the figures beyond seeds; none for two seeds of one model, all of whose differences are chance."""
    return () if verdict.is_chance else verdict.excesses


def compare_perplexities(estimate_pair: EstimatePair) -> str:
    """Return how well both runs predict held-out words, and whether they differ by more than seeds do."""
    name = estimate_pair.a.name.capitalize()
    sentence = f"{name}: {format_estimate(estimate_pair.a)} in A, {format_estimate(estimate_pair.b)} in B"
    if estimate_pair.gap is None:
        return f"{sentence}; no second seed tells whether that is more than chance."
    gap = format_estimate(estimate_pair.a._replace(value=estimate_pair.gap))
    apart = format_estimate(estimate_pair.a._replace(value=estimate_pair.difference))
    comparison = "more than" if estimate_pair.exceeds_seeds else "no more than"
    return f"{sentence}: {apart} apart, {comparison} two seeds of one model, which differ by up to {gap}."


def write_verdict(verdict: SeedVerdict) -> str:
    """Return the verdict as one line of plain text."""
    if verdict.is_chance or not verdict.n_figures:
        return f"compared with other seeds: {verdict.sentence}"
    details = "; ".join(map(describe_excess, verdict.excesses))
    return f"{count_beyond(verdict)}{f' ({details})' if details else ''}. {verdict.sentence}"


def format_range(usual: Range | None) -> str:
    """Return a range in words: ``0.62 to 0.70``, or one figure if both ends are written alike."""
    if usual is None or not math.isfinite(usual.low):
        return "–"
    low, high = f"{usual.low:.2f}", f"{usual.high:.2f}"
    return low if low == high else f"{low} to {high}"


_TIPS = {
    "score": "Mean score of the matched topics of this layer: 1 is the same words under the same parents, 0 no word in "
    "common.",
    "matched": "Share of the layer's popularity that lies in topics with a partner.",
    "edges": "1: every edge of either tree is in the other. F1 of the edges above the threshold.",
    "correlation": "1: the same weights. Correlation of the square roots of all edge weights of matched topics.",
}


def draw_agreement(now: Agreement, spread: SeedSpread | None) -> str:
    """Return the row of figures as HTML.

    Parameters
    ----------
    now : Agreement
        The agreement of the two runs on screen.
    spread : SeedSpread or None
        The agreement of two seeds of one model, which differ by chance only; None if there are none.
    """
    cells = [_draw_layer_agreement(now, spread, index) for index in range(len(now.scores) - 1, -1, -1)]
    usual = spread or UNKNOWN_SPREAD
    cells.append(
        _draw_agreement_cell(
            "Edges kept", _draw_ratio(now.edges), _compare_with_seeds(now.edges, usual.edges), _TIPS["edges"]
        )
    )
    note = _compare_with_seeds(now.correlation, usual.correlation)
    cells.append(_draw_agreement_cell("Edge weights", _draw_ratio(now.correlation), note, _TIPS["correlation"]))
    return f'<div class="tp-kpis cm-kpis">{"".join(cells)}</div>'


def _draw_layer_agreement(now: Agreement, spread: SeedSpread | None, index: int) -> str:
    usual = spread or UNKNOWN_SPREAD
    score = _compare_with_seeds(now.scores[index], get_layer_value(usual.scores, index))
    matched = get_layer_value(usual.matched, index)
    note = f'{score}{" · " if score else ""}<span title="{_TIPS["matched"]}">{format_percent(now.matched[index])} '
    note += "of the weight matched</span>"
    if matched is not None:
        ends = dict.fromkeys((format_percent(matched.low), format_percent(matched.high)))
        note += f" (two seeds {' to '.join(ends)})"
    name = f'<i class="cm-dot" style="{declare_hue(index + 1)}"></i>Likeness, layer {index + 1}'
    return _draw_agreement_cell(name, _draw_ratio(now.scores[index]), note, _TIPS["score"])


def _compare_with_seeds(value: float, usual: Range | None) -> str:
    """Return the range between two seeds, and whether a value is below, in, or above it."""
    if usual is None:
        return ""
    if not math.isfinite(value):
        return f"two seeds {format_range(usual)}"
    return f"{_draw_comparison(value, usual)} two seeds {format_range(usual)}"


def _draw_comparison(value: float, usual: Range) -> str:
    if is_below_range(value, usual):
        return '<strong class="cm-below">below</strong>'
    return "above" if value > usual.high + ROUNDING_TOLERANCE else "like"


def _draw_ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"


def _draw_agreement_cell(name: str, value: str, note: str, tip: str) -> str:
    return (
        f'<div class="tp-kpi" title="{tip}"><span class="tp-kpi-name">{draw_term(name)}</span><b>{value}</b>'
        f'<span class="tp-dim">{note}</span></div>'
    )
