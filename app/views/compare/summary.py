"""What changed between two runs, in a few plain sentences: the answer before the numbers."""

from collections.abc import Sequence

from app.analysis.comparison import Comparison, EdgeChange, counted
from app.views.text import escape, percent, shorten
from app.views.traced import traced

_COUNTED = (
    "Counts of topics with a partner, and of edges above the threshold; A is run {a.run} at mini-batch "
    "{a.minibatch:,}, B run {b.run} at {b.minibatch:,}"
)
_BY_CHANCE = "The words of layer 1 differ no more than between two seeds of one model."
_WORDS = 8  # named of those that entered or left


def in_short(comparison: Comparison, changes: Sequence[EdgeChange], *, by_chance: bool = False) -> str:
    """Write how many topics and edges of A are found again in B, and the words that came and went.

    Where two seeds of one model are no more alike in layer 1 than these runs (``by_chance``), that is said of the words
    instead.
    """
    said = [_topics(comparison), _lines(changes)]
    if comparison.a.image_shape is None:
        said.append(_BY_CHANCE if by_chance else _words(comparison))
    about = traced(_COUNTED.format(a=comparison.a, b=comparison.b))
    return f'<p class="cm-short"{about}>{" ".join(each for each in said if each)}</p>'


def _topics(comparison: Comparison) -> str:
    topics_a, topics_b = sum(comparison.a.widths), sum(comparison.b.widths)
    paired = [pair for pair in comparison.pairs if pair.a is not None and pair.b is not None]
    mass = _mass(comparison)
    gone, new = topics_a - len(paired), topics_b - len(paired)
    pruned = sum(comparison.absence(pair) == "pruned" for pair in comparison.pairs)
    share = f", with {percent(mass)} of the weight" if gone or new else ""
    topics, are = _number(topics_a, "topic", "topics"), _number(len(paired), "is", "are")
    text = f"<b>{len(paired):,} of {topics_a:,} {topics} of A</b> {are} found again in B{share}"
    if pruned:
        return f"{text}; {pruned:,} {_number(pruned, 'was', 'were')} pruned."
    if gone or new:
        return f"{text}; {gone:,} only in A, {new:,} only in B."
    return f"{text}."


def _mass(comparison: Comparison) -> float:
    """Share of the popularity in pairs, the mean over the layers of both."""
    layers = max(comparison.a.n_layers, comparison.b.n_layers)
    shares = (
        comparison.a.share(pair.a) + comparison.b.share(pair.b)
        for pair in comparison.pairs
        if pair.a is not None and pair.b is not None
    )
    return sum(shares) / (2 * layers)


def _lines(changes: Sequence[EdgeChange]) -> str:
    counts = counted(changes)
    kept = counts["stronger"] + counts["weaker"] + counts["same"]
    before = kept + counts["lost"]
    if not before + counts["gained"]:
        return ""
    new = f"{counts['gained']:,}", f"{_number(counts['gained'], 'is', 'are')} new"
    if not before:
        return f"<b>A has no edges</b>; {' of B '.join(new)}."
    moved = f" ({counts['stronger']:,} stronger, {counts['weaker']:,} weaker)" if kept else ""
    edges, stay = _number(before, "edge", "edges"), _number(kept, "stays", "stay")
    return f"<b>{kept:,} of {before:,} {edges} of A {stay}</b>{moved}; {' '.join(new)}."


def _number(count: int, one: str, many: str) -> str:
    """The word that goes with a count."""
    return one if count == 1 else many


def _words(comparison: Comparison) -> str:
    """Name the words that came into topics of layer 1 of the most weight, and those that left such topics."""
    moved: dict[str, float] = {}  # share of the layer that a word came into, less the share that it left
    for pair in comparison.pairs:
        if pair.layer == 1 and pair.a is not None and pair.b is not None:
            change = comparison.words(pair)
            for words, share in (
                (change.entered, comparison.b.share(pair.b)),
                (change.left, -comparison.a.share(pair.a)),
            ):
                moved |= {word: moved.get(word, 0.0) + share for word in words}
    order = sorted(moved, key=moved.__getitem__)
    entered = [word for word in order[: -_WORDS - 1 : -1] if moved[word] > 0]
    left = [word for word in order[:_WORDS] if moved[word] < 0]
    report = [
        f"{name}: <{tag}>{' '.join(escape(shorten(word, 18)) for word in words)}</{tag}>"
        for name, tag, words in (("entered", "ins", entered), ("left", "del", left))
        if words
    ]
    return f"Words of layer 1 that {'; '.join(report)}." if report else ""
