"""The panel about a word: its share of the corpus, its topics at every layer, and passages with it."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.word_use import WordContext, find_word, find_word_uses, measure_everywhere
from topiary.app.views.html import render
from topiary.engine.hierarchy.tree import Node

_MOST_TOPICS = 5  # topics listed for each layer


class WordPassage(NamedTuple):
    """A document that has a word: its number, its title, and the text around the word."""

    number: int
    title: str
    passage: WordContext


class WordPassages(NamedTuple):
    """Passages with a word, and the number of documents that have it; ``total`` is None while they are read."""

    word: str
    passages: Sequence[WordPassage] = ()
    total: int | None = None


def draw_word_card(hierarchy: Hierarchy, found: WordPassages, *, focus: bool = False) -> str:
    """Return the panel about a word, with a button that goes back to the topic.

    Parameters
    ----------
    found : WordPassages
        The word, and passages with it.
    focus : bool
        Whether the button has the focus, as right after the word was chosen.
    """
    number, share, topics = find_word(hierarchy, found.word), 0.0, ""
    if number is not None:
        share = float(measure_everywhere(hierarchy, 1)[number])
        topics = draw_word_topics(hierarchy, number, _MOST_TOPICS)
    return render("topic.word_card", hierarchy, found, focus, number, share, topics)


def draw_word_topics(hierarchy: Hierarchy, number: int, most: int, chosen: Node | None = None) -> str:
    """Return the topics to which a word's occurrences belong, at most ``most`` of each layer, the top layer first.

    Parameters
    ----------
    number : int
        Number of the word in the vocabulary.
    chosen : Node, optional
        The topic that is shown as chosen.
    """
    layers = range(hierarchy.n_layers, 0, -1)
    uses = [(layer, find_word_uses(hierarchy, number, layer, most)) for layer in layers]
    return render("topic.word_topics", hierarchy, uses, chosen)
