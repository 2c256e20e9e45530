"""What is typical of the documents that a filter selects, as lists of topics and of words."""

from collections.abc import Sequence

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.typical import TypicalTopic, TypicalTopics, TypicalWord, TypicalWords
from topiary.app.names import plural
from topiary.app.views.text import escape, format_change, format_percent
from topiary.app.views.trends.effect_table import draw_topic_button

TYPICAL_WORDS = 30  # of a list
_TOPICS = 8  # of a list
_FORMULA = (
    "<p>Topics: the share in the selected documents less that in all others, with the intervals of <i>Effects</i>. "
    "Words: the ratio of the odds of a word here and elsewhere, "
    "(y + α) / (n + α₀ − y − α) : (y′ + α) / (n′ + α₀ − y′ − α), where the word is y of the n words here and y′ of the "
    "n′ elsewhere, α₀ = 500, and α = α₀ (y + y′) / (n + n′) is its prior (Monroe, Colaresi and Quinn, “Fightin’ "
    "words”, 2008, with a variance that allows for bursts of a word in a document).</p>"
)


def draw_typical(hierarchy: Hierarchy, topics: TypicalTopics, words: TypicalWords | None, waiting: str) -> str:
    """Return the lists; while the words are being counted, ``waiting`` says so in their place."""
    here, elsewhere = topics.documents
    lists = [
        _draw_topics(hierarchy, "Topics with more", topics.more),
        _draw_topics(hierarchy, "Topics with less", topics.less),
    ]
    counted = ""
    if words is None:
        lists.append(f'<div><p class="tr-note" role="status">{escape(waiting)}</p></div>')
    else:
        lists.append(_draw_words("Words that are more frequent", words.more))
        lists.append(_draw_words("Words that are rarer", words.less))
        counted = f" and of {words.compared:,} comparisons of words"
    note = (
        f"{here:,} selected documents against {elsewhere:,} others. Listed is what differs beyond chance: with 90 % "
        f"probability none of {topics.compared:,} comparisons of topics{counted} is listed by chance."
    )
    fold = f'<details class="tr-fold"><summary>How this is computed</summary>{_FORMULA}</details>'
    return f'<div class="tr-typical">{"".join(lists)}</div><p class="tr-note">{note}</p>{fold}'


def _draw_topics(hierarchy: Hierarchy, heading: str, topics: Sequence[TypicalTopic]) -> str:
    rows = "".join(
        f"<li>{draw_topic_button(hierarchy, each.node)}<span>{format_percent(each.share)}</span>"
        f"<small>{format_change(each.low)} to {format_change(each.high)}</small></li>"
        for each in topics[:_TOPICS]
    )
    more = f'<p class="tr-note">and {len(topics) - _TOPICS:,} more</p>' if len(topics) > _TOPICS else ""
    return f"<div><h3>{heading}</h3>{_write_list('ol', 'tr-grown', rows)}{more}</div>"


def _draw_words(heading: str, words: Sequence[TypicalWord]) -> str:
    items = "".join(
        f'<li title="{_describe(each)}">{escape(each.word)} <small>{_format_ratio(each.ratio)}</small></li>'
        for each in words
    )
    return f"<div><h3>{heading}</h3>{_write_list('ul', 'tr-words', items)}</div>"


def _write_list(element: str, style: str, items: str) -> str:
    if not items:
        return '<p class="tr-note">None beyond chance.</p>'
    return f'<{element} class="{style}">{items}</{element}>'


def _describe(word: TypicalWord) -> str:
    low, high = _format_ratio(word.low), _format_ratio(word.high)
    documents = f"{plural(word.documents, 'selected document')}"
    return f"90 % interval {low} to {high}; in {documents}"


def _format_ratio(ratio: float) -> str:
    """Return how many times as large odds are, as in ×3.1, ×120 or ÷4.

    >>> [_format_ratio(ratio) for ratio in (3.14, 120.2, 0.25, 0.005)]
    ['×3.1', '×120', '÷4.0', '÷200']
    """
    sign, size = ("×", ratio) if ratio >= 1.0 else ("÷", 1.0 / max(ratio, 1e-9))
    return f"{sign}{size:.1f}" if size < 10 else f"{sign}{size:,.0f}"
