"""The table of classification: as text, and as a file that goes on where it stopped."""

import json
from pathlib import Path
from typing import Any

from app.benchmarks.classification import Effort, Judged
from app.benchmarks.keeping import TableError, digest_of, replace_file
from app.benchmarks.labelled import Labelled
from app.jobs.progress import format_duration

NAMES = {"sdatm-n": "sDATM-N", "sdatm-l": "sDATM-L", "svm": "tf-idf, linear SVM", "logistic": "tf-idf, logistic"}
_PLAIN = ("svm", "logistic")


def head(labelled: Labelled, effort: Effort) -> str:
    """What stands above the rows."""
    judged = "held out for validation" if labelled.validation else "for the test"
    chosen = "  ".join(f"{name}={value}" for name, value in effort.settings.items())
    return (
        f"{labelled.name}: {labelled.learned.n_documents:,} documents for training and "
        f"{labelled.judged.n_documents:,} {judged}, {labelled.n_words:,} words, {len(labelled.label_names)} classes\n"
        f"sDATM: {effort.minibatches:,} mini-batches, {chosen}\n\n"
        f"{'classifier':<20}{'seed':>5}{'error':>10}{'published':>11}{'macro-F1':>10}{'training':>15}"
        f"{'of processors':>15}{'prediction':>12}"
    )


def line(row: Judged) -> str:
    """One row."""
    published = "-" if row.published is None else f"{row.published:.2f} %"
    return (
        f"{NAMES[row.classifier]:<20}{row.seed:>5}{row.error:>8.2f} %{published:>11}{row.macro_f1:>10.4f}"
        f"{format_duration(row.training_seconds):>15}{format_duration(row.processor_seconds):>15}"
        f"{format_duration(row.prediction_seconds):>12}"
    )


def note(labelled: Labelled) -> str:
    """What must be known to read the table."""
    if labelled.validation:
        return "Judged on the last quarter of the training documents of each class; no test document was looked at."
    return "Published: four layers of 512-256-128-64.  Choose settings with --validation, never by this table."


class Kept:
    """Finished rows, in a JSON file where there is one.

    Raises
    ------
    TableError
        When the file holds the table of something else.
    """

    def __init__(self, path: Path | None, labelled: Labelled, effort: Effort) -> None:
        self._path = path
        arrays = (*labelled.learned, labelled.learned_labels, *labelled.judged, labelled.judged_labels)
        self._head: dict[str, Any] = {
            "corpus": labelled.name,
            "content": digest_of(arrays),
            "documents": [labelled.learned.n_documents, labelled.judged.n_documents],
            "words": labelled.n_words,
            "judged": "validation" if labelled.validation else "test",
        }
        self._training = {"minibatches": effort.minibatches, "settings": dict(sorted(effort.settings.items()))}
        self._rows: list[dict[str, Any]] = []
        if path is not None and path.exists():
            self._read(path)

    def find(self, classifier: str, seed: int) -> Judged | None:
        """The finished row of a classifier and seed, of sDATM only one with the same settings and length."""
        request = {"classifier": classifier, "seed": seed} | ({} if classifier in _PLAIN else self._training)
        for row in self._rows:
            if all(row.get(name) == value for name, value in request.items()):
                return Judged(**{name: row[name] for name in Judged._fields})
        return None

    def add(self, row: Judged) -> None:
        """Keep a finished row with the settings that it was reached with."""
        self._rows.append(row._asdict() | ({} if row.classifier in _PLAIN else self._training))
        if self._path is not None:
            replace_file(self._path, json.dumps(self._head | {"rows": self._rows}, indent=1).encode())

    def _read(self, path: Path) -> None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            same = all(found[name] == value for name, value in self._head.items())
            rows = [{**row, "classifier": row["classifier"], "seed": row["seed"]} for row in found["rows"]]
        except (ValueError, KeyError, TypeError):
            raise TableError(f"{path} is not the table of this benchmark; name another file with --json") from None
        if not same:
            raise TableError(f"{path} holds a table of other documents; name another file with --json")
        self._rows = rows
