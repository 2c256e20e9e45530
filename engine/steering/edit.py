"""Edits of topics, and what a state remembers of them.

An edit takes effect between two steps of a run.  Some edits change where the chain is (tokens move from topic to
topic), some what the next steps do (:class:`Steering`), most do both.  Edits are numbered in the journal of their run,
and draw their random numbers from ``(seed, EDIT, step, number)``, so a journal that is played again gives equal bits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array

SEED, KEEP, OUT, BAN, PIN, UNPIN, MERGE, SPLIT, REMOVE, PLACE = KINDS = (
    "seed",  # a new topic from words
    "keep",  # words belong into a topic
    "out",  # words stay out of a topic
    "ban",  # words say nothing about topics
    "pin",  # a topic stays as it is
    "unpin",
    "merge",  # topics[1] into topics[0]
    "split",  # a topic into two
    "remove",
    "place",  # topics of ``layer`` under the last of ``topics``, which is of the layer above
)
WITHOUT_TOKENS = frozenset(KINDS) - {SEED, SPLIT}  # what models do that keep no topics of tokens
LOWEST = frozenset({KEEP, OUT, SPLIT})  # what is about words or tokens, which only topics of layer 1 have
STRENGTHS = {"weak": 0.1, "medium": 0.3, "strong": 1.0}


class Edit(NamedTuple):
    """An edit of the topics of a run.

    Attributes
    ----------
    number : int
        1, 2 ... in the journal of the run.
    step : int
        The edit takes effect after this many steps of the run.
    kind : str
        One of ``KINDS``.
    layer : int
        Layer of the topics, from 1.
    topics : tuple of int
        Original columns of the topics, from 0.  Seeds of a new topic name none, or the column to use; ``merge`` names
        the topic that stays and the one that goes into it; ``place`` one or more topics and their parent in the layer
        above, where -1 stands for the topic that has most to do with them.
    words : tuple of int
        Numbers of words.
    strength : str
        One of ``STRENGTHS``: how much words of ``seed`` and ``keep`` weigh in the prior of their topic.
    """

    number: int
    step: int
    kind: str
    layer: int = 1
    topics: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    strength: str = "medium"


class EditResult(NamedTuple):
    """What an edit did at once; the sweeps after it may move more.

    Attributes
    ----------
    topic : int or None
        The original column of the topic that the edit made, found to be about its words already, or chose as a parent.
    changed : tuple of int
        Original columns of the topics of the edit's layer that it changed.
    tokens : int
        Tokens that changed their topic.
    documents : int
        Documents with such tokens.
    found : bool
        Whether ``topic`` was there before.
    """

    topic: int | None
    changed: tuple[int, ...]
    tokens: int
    documents: int
    found: bool = False


class EditRefused(ValueError):  # noqa: N818 - named after what has happened
    """An edit that cannot be done; its message is one sentence that says what to do instead."""


def check_layer(kind: str, layer: int) -> None:
    """Refuse an edit of words or tokens that names a topic above layer 1, which is a mixture of those below it."""
    if kind in LOWEST and layer != 1:
        raise EditRefused(f"the edit {kind} is about a topic of layer 1; choose one of those below this topic")


class Steering(NamedTuple):
    """What edits tell all later steps; topics are original columns, and every array is empty at first.

    Attributes
    ----------
    prior : (entries, 3) int64
        Word, topic of layer 1, and what is added to the Dirichlet parameter of this word in this topic.
    out : (entries, 3) int64
        Layer, row and column of weights that stay 0: words of layer 1, topics of the layer below of others.
    pinned : (topics, 2) int64
        Layer and column of the topics that no step moves.
    removed : (topics, 2) int64
        Layer and column of the topics that edits took away, which are free for new ones.
    banned : (words, 2) float64
        Words that say nothing about topics, and the share of training tokens that each has.
    applied : () int64
        Number of the last edit.
    """

    prior: Array
    out: Array
    pinned: Array
    removed: Array
    banned: Array
    applied: Array


def read_steering(arrays: Sequence[Array]) -> Steering:
    """Return the steering of a state, in which it is () before the first edit."""
    if arrays:
        return Steering(*arrays)
    return Steering(
        np.zeros((0, 3), np.int64),
        np.zeros((0, 3), np.int64),
        np.zeros((0, 2), np.int64),
        np.zeros((0, 2), np.int64),
        np.zeros((0, 2)),
        np.array(0, np.int64),
    )
