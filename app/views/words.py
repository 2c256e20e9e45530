"""The page of a word: its topics at every layer, its share over time and by group, and its contexts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.passages import WordContextLine
from topiary.app.analysis.word_trends import WordGroups, WordPeriods
from topiary.app.views.explore.cards import draw_word_topics
from topiary.app.views.html import render
from topiary.app.views.text import format_change, format_percent
from topiary.app.views.theme import LIVE
from topiary.app.views.trends.time_chart import (
    NARROW,
    WIDE,
    GroupBar,
    MeasuredBy,
    TimeAxis,
    TimeLine,
    draw_group_bars,
    draw_lines,
)
from topiary.engine.hierarchy.tree import Node

_TOPICS = 8  # listed of a layer


class WordChoices(NamedTuple):
    """What the controls show as chosen, and what they offer.

    Attributes
    ----------
    topic : Node or None
        The topic whose words are marked.
    date, group : str
        Names of the columns of dates and of groups; empty if there are none.
    dates, groups : sequences of str
        Names of the columns of dates, and of categories and numbers.
    measured : MeasuredBy
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
    measured: MeasuredBy
    where: Sequence[str]
    columns: Sequence[str]


class WordPageContents(NamedTuple):
    """What the page shows.

    Attributes
    ----------
    number : int
        Number of the word in the vocabulary; -1 if it has no such word.
    counted : (float, int, float)
        Occurrences of the word in the selected documents, how many of these have it, and their tokens.
    alike : sequence of str
        Other words, if the vocabulary has no such word.
    suggested : sequence of str
        Words to begin with, if no word begins alike.
    selected, documents : int
        Documents that meet the conditions, and all.
    note : str
        A sentence in place of the figures.
    """

    hierarchy: Hierarchy
    choices: WordChoices
    number: int = -1
    counted: tuple[float, int, float] = (0.0, 0, 0.0)
    over_time: WordPeriods | None = None
    by_group: WordGroups | None = None
    contexts: Sequence[WordContextLine] = ()
    alike: Sequence[str] = ()
    suggested: Sequence[str] = ()
    selected: int = 0
    documents: int = 0
    note: str = ""
    busy: bool = False


def draw_word_page(page: WordPageContents) -> str:
    """Return the page as HTML."""
    hierarchy, choices = page.hierarchy, page.choices
    if page.number < 0:
        return render("words.page", page, "", _format_share, (), "", "")
    topics = draw_word_topics(hierarchy, page.number, _TOPICS, choices.topic)
    over_time, by_group = page.over_time, page.by_group
    pictures = [] if over_time is None else _draw_over_time(over_time, choices.word)
    change = "" if over_time is None else _describe_change(over_time)
    bars = "" if by_group is None else _draw_by_group(by_group)
    return render("words.page", page, topics, _format_share, pictures, change, bars)


def draw_word_note(word: str, sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return render("words.note", word, sentence)


def _draw_over_time(figure: WordPeriods, word: str) -> list[tuple[str, str]]:
    """Return the share of the word in every period as a wide and a narrow picture, each with its style."""
    unit = figure.periods.unit
    line = TimeLine("word", word, LIVE.hues[0], figure.mean, figure.low, figure.high)
    pictures = []
    for style, frame in (("tr-wide", WIDE), ("tr-narrow", NARROW)):
        axis = TimeAxis(unit, figure.periods.starts, figure.documents, frame)
        pictures.append((style, draw_lines(axis, [line], f"Share of the word {word} by {unit}", _format_share)))
    return pictures


def _describe_change(figure: WordPeriods) -> str:
    """Return how the last third of the dated documents differs from the first."""
    low, high = figure.change
    if not np.isfinite([figure.before, figure.after, low, high]).all():
        return ""
    verdict = "more often" if low > 0 else "less often" if high < 0 else "about as often: the interval holds 0"
    ends = " to ".join(format_change(end, _format_share) for end in (low, high))
    return (
        f"First third of the dated documents {_format_share(figure.before)}, last third "
        f"{_format_share(figure.after)}, difference {ends} "
        f"(90% interval): {verdict}."
    )


def _format_share(share: float) -> str:
    """Return a share in percent; one below 0.1 % with two significant digits, because most words are rare."""
    if not 0.0 < share < 0.000995:
        return format_percent(share)
    return f"{np.format_float_positional(100 * share, 2, unique=False, fractional=False, trim='-')}%"


def _draw_by_group(figure: WordGroups) -> str:
    bars = [
        GroupBar(
            name, condition, float(figure.mean[group]), float(figure.low[group]), float(figure.high[group]),
            int(figure.documents[group]),
        )
        for group, (name, condition) in enumerate(zip(figure.groups.names, figure.groups.conditions, strict=True))
    ]  # fmt: skip
    bars.sort(key=lambda bar: -bar.mean if np.isfinite(bar.mean) else np.inf)
    return draw_group_bars(bars, figure.everywhere, _format_share)
