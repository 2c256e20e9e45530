"""Predictions of classes in memory; light to import, the engine comes with the first that is wanted."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from engine.classify import Scores
from engine.contract import Array, FloatArray
from engine.tree import Node
from store import corpora, runs, snapshots
from store.corpora import CorpusRow
from store.database import Database
from store.errors import NotFound
from store.runs import RunRow

KEPT = 6  # snapshots whose predictions are remembered


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
    scores: Scores
    carried: tuple[float, ...]
    misled: tuple[Misled, ...]


class ClassCache:
    """Predictions by (run, snapshot), computed once for all sessions, the least used forgotten first.

    Parameters
    ----------
    db : Database
    work : (db, run row, snapshot) -> Classified, optional
        What computes; :func:`app.classes.classify_run` by default, which brings the engine with it.
    """

    def __init__(self, db: Database, work: Callable[[Database, RunRow, int], Classified] | None = None) -> None:
        self._db = db
        self._work = work
        self._lock = Lock()
        self._turn = Lock()  # one at a time: a prediction takes every processor
        self._known: OrderedDict[tuple[int, int], Classified] = OrderedDict()
        self._predicts: dict[int, bool] = {}

    def known(self, run: int, snapshot: int) -> Classified | None:
        """What is in memory of a snapshot (its number, not 0)."""
        with self._lock:
            found = self._known.get((run, snapshot))
            if found is not None:
                self._known.move_to_end((run, snapshot))
            return found

    def known_to_predict(self, run: int) -> bool | None:
        """Whether the run's model predicts classes; None when nobody has asked :meth:`predicts` yet."""
        return self._predicts.get(run)

    def predicts(self, run: int) -> bool:
        """Whether the run's model predicts classes; waits for the store."""
        if run not in self._predicts:
            row = runs.get(self._db, run)
            corpus = corpora.get(self._db, row.corpus)
            self._predicts[run] = len(corpus.label_names) > 1 and _asked(row, corpus)
        return self._predicts[run]

    def fetch(self, run: int, snapshot: int) -> Classified:
        """The predictions under a snapshot (0 = the newest), computed if they are not here."""
        number = snapshot or self._newest(run)
        with self._turn:
            known = self.known(run, number)
            if known is not None:
                return known
            made = (self._work or _computed)(self._db, runs.get(self._db, run), number)
        with self._lock:
            self._known[run, number] = made
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return made

    def _newest(self, run: int) -> int:
        latest = snapshots.latest(self._db, run)
        if latest is None:
            raise NotFound(f"run {run} has no snapshot yet, so no document can be placed in its topics")
        return latest.number


def _asked(run: RunRow, corpus: CorpusRow) -> bool:
    from app.classes import predicts

    return predicts(run, corpus)


def _computed(db: Database, run: RunRow, snapshot: int) -> Classified:
    from app.classes import classify_run

    return classify_run(db, run, snapshot)
