"""How well a run predicts the classes of test documents."""

from html import escape
from typing import Any

import pandas as pd

from app.analysis.inference import find_snapshot
from app.analysis.predictions import Classified
from app.analysis.read_hierarchy import read_hierarchy
from app.cli.classify import class_facts
from store.run_rows import RunRow

from .opened import Opened


class Classification:
    """Predictions of the classes of test documents, and how good they are; made by :meth:`Run.classify`.

    Attributes
    ----------
    run, minibatch, documents : int
    error : float
        Part of the documents predicted wrongly.
    majority_error : float or None
        Error of one who knows only which class is the commonest for training.
    macro_f1, log_loss, calibration_error : float
    layers : tuple of float
        Part of the predictions that each layer carries; empty when topics have no weights of their own.
    classes : pandas.DataFrame
        By class: documents for training and for the test, precision, recall and F1.
    confusion : pandas.DataFrame
        How many documents of each class (rows) were taken for which (columns).
    calibration : pandas.DataFrame
        By bin of confidence: documents, mean confidence and accuracy.
    misled : pandas.DataFrame
        The surest wrong predictions, and the path of topics that misled.
    predictions : pandas.DataFrame
        By number of the document: its class, the predicted one, and the probability of every class.
    """

    def __init__(self, found: Classified, facts: dict[str, Any]) -> None:
        names = list(found.names)
        self.run: int = facts["run"]
        self.minibatch: int = facts["minibatch"]
        self.documents: int = facts["documents"]
        self.error: float = facts["error"]
        self.majority_error: float | None = facts["majority_error"]
        self.macro_f1: float = facts["macro_f1"]
        self.log_loss: float = facts["log_loss"]
        self.calibration_error: float = facts["calibration_error"]
        self.layers: tuple[float, ...] = tuple(facts["layers"])
        self.classes = pd.DataFrame(facts["classes"]).set_index("class")
        self.confusion = pd.DataFrame(
            facts["confusion"], index=pd.Index(names, name="class"), columns=pd.Index(names, name="predicted")
        )
        self.calibration = pd.DataFrame(facts["calibration"])
        self.misled = pd.DataFrame(
            [each | {"path": [step["topic"] for step in each["path"]]} for each in facts["misled"]],
            columns=["document", "class", "predicted", "probability", "share", "path"],
        )
        self.predictions = _predictions(found, names)

    def __repr__(self) -> str:
        return f"<Classification: {self._sentence()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._sentence())}</p>{self.classes.to_html(border=0)}"

    def _sentence(self) -> str:
        return f"run {self.run}, error {100 * self.error:.2f} % of {self.documents:,} test documents"


def classify(opened: Opened, run: RunRow, snapshot: int) -> Classification:
    """Predict under a snapshot, or take what the store remembers; see :meth:`Run.classify`."""
    found = opened.classes.fetch(run.number, snapshot)
    hierarchy = read_hierarchy(opened.db, run, find_snapshot(opened.db, run.number, found.snapshot))
    return Classification(found, class_facts(found, hierarchy))


def _predictions(found: Classified, names: list[str]) -> pd.DataFrame:
    chances = pd.DataFrame(found.probabilities, columns=names, index=pd.Index(found.documents, name="document"))
    chances.insert(0, "class", [names[label] for label in found.labels])
    chances.insert(1, "predicted", [names[label] for label in found.probabilities.argmax(axis=1)])
    return chances
