"""Predictions of classes under one snapshot: what is computed, remembered and shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from engine.contract import Array, FloatArray
from engine.hierarchy.class_scores import ClassScores, majority_error
from engine.hierarchy.tree import Node

Report = Callable[[int, int], None]  # documents done, of all


class ClassError(Exception):
    """There is nothing to predict or to compare with; the message is one sentence for the user."""


class Misled(NamedTuple):
    """A document predicted wrongly.

    Attributes
    ----------
    document : int
    label, predicted : int
        Classes, from 0.
    probability : float
        Of the predicted class.
    path : tuple of Node
        From the top layer to layer 1: the path of the document that speaks most for the predicted class
        against the true one; its heaviest path where the model gives no topic a weight of its own.
    share : float
        Of the document's rate that takes this path.
    """

    document: int
    label: int
    predicted: int
    probability: float
    path: tuple[Node, ...]
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Classified:
    """The test documents of a corpus under one snapshot.

    Attributes
    ----------
    run, snapshot, minibatch : int
    names : tuple of str
        The C classes.
    train_counts, test_counts : (C,) int
        Documents of every class.
    documents, labels : (n,) int
        Numbers and true classes of the test documents that have a label.
    probabilities : (n, C) float64
    scores : Scores
    carried : tuple of float
        Part of the predictions that each layer carries; empty when no topic has a weight of its own.
    misled : tuple of Misled
        The surest wrong predictions, surest first.
    """

    run: int
    snapshot: int
    minibatch: int
    names: tuple[str, ...]
    train_counts: Array
    test_counts: Array
    documents: Array
    labels: Array
    probabilities: FloatArray
    scores: ClassScores
    carried: tuple[float, ...]
    misled: tuple[Misled, ...]

    @property
    def commonest(self) -> int | None:
        """The class, from 0, with the most documents for training, the first of equals; None where none has a label."""
        return int(self.train_counts.argmax()) if self.train_counts.any() else None

    @property
    def majority_error(self) -> float | None:
        """Error of always saying that class, as one would who knows only the documents for training."""
        return majority_error(self.labels, self.train_counts) if self.commonest is not None else None


class Doing(NamedTuple):
    """The prediction that is being computed, and how far it is; of no documents before their number is known."""

    run: int
    snapshot: int
    done: int = 0
    total: int = 0
