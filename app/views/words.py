"""The page of a word: its topics at every layer, its share over time and by group, and its contexts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topiary.app.analysis.concordance import WordContextLine
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.word_trends import WordGroups, WordPeriods
from topiary.app.names import UNDATED, plural
from topiary.app.views.explore.word_card import draw_word_topics
from topiary.app.views.filters import draw_conditions, draw_filter_form
from topiary.app.views.markup import draw_title, mark_places, write_attributes, write_element
from topiary.app.views.palette import LIVE
from topiary.app.views.text import escape, format_change, format_percent, shorten
from topiary.app.views.trends.controls import draw_card, draw_column_choice, draw_period_choices, draw_weight_choice
from topiary.app.views.trends.group_chart import GroupBar, draw_group_bars
from topiary.app.views.trends.time_chart import NARROW, WIDE, TimeAxis, TimeLine, draw_lines
from topiary.engine.hierarchy.tree import Node

_TOPICS = 8  # listed of a layer
_NO_DATES = "No column of this corpus holds dates. topiary columns lists the columns, and changes their kinds."
_NO_GROUPS = "This corpus has no label, category or number by which documents could be grouped."


class WordChoices(NamedTuple):
    """What the controls show as chosen, and what they offer.

    Attributes
    ----------
    word : str
    topic : Node or None
        The topic whose words are marked.
    date, group : str
        Names of the columns of dates and of groups; empty if there are none.
    dates, groups : sequences of str
        Names of the columns of dates, and of categories and numbers.
    unit, moving, weigh : str
    where : sequence of str
        The conditions.
    columns : sequence of str
        Names of all columns that can be filtered.
    """

    word: str
    topic: Node | None
    date: str
    group: str
    dates: Sequence[str]
    groups: Sequence[str]
    unit: str
    moving: str
    weigh: Any
    where: Sequence[str]
    columns: Sequence[str]


class WordPageContents(NamedTuple):
    """What the page shows.

    Attributes
    ----------
    hierarchy : Hierarchy
    choices : WordChoices
    number : int
        Number of the word in the vocabulary; -1 if it has no such word.
    counted : (float, int, float)
        Occurrences of the word in the selected documents, how many of these have it, and their tokens.
    over_time : WordPeriods or None
    by_group : WordGroups or None
    contexts : sequence of WordContextLine
    alike : sequence of str
        Other words, if the vocabulary has no such word.
    selected, documents : int
        Documents that meet the conditions, and all.
    note : str
        A sentence in place of the figures.
    busy : bool
    """

    hierarchy: Hierarchy
    choices: WordChoices
    number: int = -1
    counted: tuple[float, int, float] = (0.0, 0, 0.0)
    over_time: WordPeriods | None = None
    by_group: WordGroups | None = None
    contexts: Sequence[WordContextLine] = ()
    alike: Sequence[str] = ()
    selected: int = 0
    documents: int = 0
    note: str = ""
    busy: bool = False


def draw_word_page(page: WordPageContents) -> str:
    """Return the page as HTML."""
    body = _draw_unknown(page) if page.number < 0 else _draw_figures(page)
    note = f'<p class="tr-note" role="status">{escape(page.note)}</p>' if page.note else ""
    dim = " tr-busy" if page.busy else ""
    return (
        f'<div class="tr-page{dim}">{_draw_title(page.choices.word)}{_draw_controls(page)}{_draw_filters(page)}'
        f"{note}{body}</div>"
    )


def draw_word_note(word: str, sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return f'<div class="tr-page">{_draw_title(word)}<p class="tr-note" role="status">{escape(sentence)}</p></div>'


def _draw_title(word: str) -> str:
    names = {"name": "word", "value": word, "placeholder": "A word", "aria_label": "Word of the vocabulary"}
    field = f'<input class="tp-input" autocomplete="off" maxlength="100" data-hold{write_attributes(**names)}>'
    form = f'<form class="fl-form" data-do="word">{field}<button type="submit" class="ex-soft">Show</button></form>'
    return f'<div class="tr-controls"><h1>{escape(shorten(word, 60)) or "A word"}</h1>{form}</div>'


def _draw_unknown(page: WordPageContents) -> str:
    """Return why there is nothing to show, with words that begin alike."""
    word = page.choices.word
    sentence = f"“{escape(shorten(word, 60))}” is not in the vocabulary." if word else "Type a word of the vocabulary."
    offers = "".join(
        write_element("button", escape(each), type="button", class_="ex-soft", data_do="word", data_value=each)
        for each in page.alike
    )
    listed = f'<p class="tr-note">Words that begin alike:</p><div class="tr-controls">{offers}</div>' if offers else ""
    return f'<section class="tr-card"><p role="status">{sentence}</p>{listed}</section>'


def _draw_controls(page: WordPageContents) -> str:
    choices, parts = page.choices, []
    if len(choices.dates) > 1:
        parts.append(draw_column_choice(choices.dates, choices.date, "Column of dates"))
    if choices.dates:
        parts.append(draw_period_choices(choices.unit, choices.moving))
    if len(choices.groups) > 1:
        parts.append(draw_column_choice(choices.groups, choices.group, "Column of groups"))
    if choices.dates or choices.groups:
        parts.append(draw_weight_choice(choices.weigh))
    return f'<div class="tr-controls">{"".join(parts)}</div>' if parts and page.number >= 0 else ""


def _draw_filters(page: WordPageContents) -> str:
    """Return the conditions as chips, a form for another one, and how often the word is used in what they select."""
    choices, count = page.choices, ""
    if page.number >= 0 and page.documents and not page.note:
        occurrences, with_it, tokens = page.counted
        part = f"{page.selected:,} of {page.documents:,}" if choices.where else f"all {page.documents:,}"
        share = _format_share(occurrences / tokens) if tokens else "0%"
        count = (
            f'<span class="tr-note" role="status">{occurrences:,.6g} times in {with_it:,} documents, {share} of the '
            f"words of {part} documents</span>"
        )
    return f'<div class="tr-controls">{draw_conditions(choices.where)}{draw_filter_form(choices.columns)}{count}</div>'


def _draw_figures(page: WordPageContents) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    topics = draw_word_topics(hierarchy, page.number, _TOPICS, choices.topic)
    hint = (
        "Of all its occurrences, as the topics of each layer say. A click marks the words of a topic in the contexts."
    )
    parts = [draw_card("Its topics", f'<div class="tr-topics">{topics}</div>', hint)]
    if page.note:
        return "".join(parts)
    if not page.selected:
        return "".join([*parts, draw_card("Over time", "", "No document meets all filters.")])
    parts.append(_draw_over_time(page))
    parts.append(_draw_contexts(page))
    parts.append(_draw_by_group(page))
    return "".join(parts)


def _draw_over_time(page: WordPageContents) -> str:
    figure, word = page.over_time, page.choices.word
    if figure is None:
        return draw_card("Over time", "", _NO_DATES)
    unit, label = figure.periods.unit, f"Share of the word {word} by {figure.periods.unit}"
    line = TimeLine("word", word, LIVE.hues[0], figure.mean, figure.low, figure.high)
    pictures = ""
    for style, frame in (("tr-wide", WIDE), ("tr-narrow", NARROW)):
        axis = TimeAxis(unit, figure.periods.starts, figure.documents, frame)
        pictures += f'<div class="{style}">{draw_lines(axis, [line], label, _format_share)}</div>'
    return draw_card("Over time", pictures, f"{_tell_missing(figure)} {_tell_change(figure)}")


def _tell_missing(figure: WordPeriods) -> str:
    missing = f" {plural(figure.missing, *UNDATED)} left out." if figure.missing else ""
    return f"Band: 90 % interval. Grey bars: documents of every {figure.periods.unit}.{missing}"


def _tell_change(figure: WordPeriods) -> str:
    """Return how the last third of the dated documents differs from the first."""
    low, high = figure.change
    if not np.isfinite([figure.before, figure.after, low, high]).all():
        return ""
    verdict = "more often" if low > 0 else "less often" if high < 0 else "about as often: the interval holds 0"
    ends = (format_change(each, _format_share) for each in figure.change)
    return (
        f"First third of the dated documents {_format_share(figure.before)}, last third "
        f"{_format_share(figure.after)}, difference {' to '.join(ends)} "
        f"(90 % interval): {verdict}."
    )


def _format_share(share: float) -> str:
    """Return a share in percent; one below 0.1 % with two significant digits, because most words are rare."""
    if not 0.0 < share < 0.000995:
        return format_percent(share)
    return f"{np.format_float_positional(100 * share, 2, unique=False, fractional=False, trim='-')}%"


def _draw_by_group(page: WordPageContents) -> str:
    figure = page.by_group
    if figure is None:
        return draw_card("By group", "", _NO_GROUPS)
    bars = [
        GroupBar(
            name, condition, float(figure.mean[group]), float(figure.low[group]), float(figure.high[group]),
            int(figure.documents[group]),
        )
        for group, (name, condition) in enumerate(zip(figure.groups.names, figure.groups.conditions, strict=True))
    ]  # fmt: skip
    bars.sort(key=lambda bar: -bar.mean if np.isfinite(bar.mean) else np.inf)
    missing = figure.missing
    note = f"{missing:,} documents have no value, or one that few documents have, and are left out." if missing else ""
    return draw_card(f"By {page.choices.group}", draw_group_bars(bars, figure.everywhere, _format_share), note)


def _draw_contexts(page: WordPageContents) -> str:
    """Return the word in its contexts, with the words of the chosen topic marked."""
    hierarchy, node = page.hierarchy, page.choices.topic
    search = write_element(
        "button", "Search its documents", type="button", class_="ex-soft", data_do="search",
        title="The documents with this word, and with words that begin with it",
    )  # fmt: skip
    if not page.contexts:
        note = "The word is in no text of the documents selected."
        return draw_card("In context", f'<div class="tr-controls">{search}</div>', note)
    lead = ""
    if node is not None:
        title = write_element(
            "button", draw_title(hierarchy.title(node)), type="button", class_="ex-soft", data_do="explore",
            data_id=format_identity(node), title="Show this topic in Explore",
        )  # fmt: skip
        lead = f"<span>Marked: words of topic</span>{title}"
    rows = "".join(_draw_context(line) for line in page.contexts)
    shown, with_it = len(page.contexts), page.counted[1]
    ranked = "those with most words of the topic first, at most two of a document" if node is not None else ""
    note = f"{shown:,} contexts from the {with_it:,} documents that have the word{', ' if ranked else ''}{ranked}."
    body = f'<div class="tr-controls">{lead}{search}</div><ol class="tr-contexts">{rows}</ol>'
    return draw_card("In context", body, note)


def _draw_context(line: WordContextLine) -> str:
    place = write_element(
        "button", escape(line.match), type="button", data_do="place", data_number=line.document,
        title=f"Open document {line.document}: {shorten(line.title, 90)}",
    )  # fmt: skip
    before, after = (mark_places(piece.text, piece.marks) for piece in (line.before, line.after))
    return f"<li><span><bdi>{before}</bdi></span>{place}<span><bdi>{after}</bdi></span></li>"
