"""Errors of sDATM and plain classifiers next to those published: ``python -m tests.benchmarks.classification``."""

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import classifiers, labelled
from tests.benchmarks.classifiers import Effort, Judged
from tests.benchmarks.commands import read_choices, read_positive, run_benchmark
from tests.benchmarks.files import TableError, replace_file
from tests.benchmarks.keeping import digest_of
from tests.benchmarks.labelled import Labelled
from tests.benchmarks.report import TimeLeft
from topiary.app.cli.console import Parser, read_settings, say, threads
from topiary.app.jobs.progress import Progress, format_duration

CLASSIFIERS = ("sdatm-n", "sdatm-l", "svm", "logistic")  # rows of the table of classification
LAYERS = "512-256-128-64"  # of that table


def main(argv: Sequence[str] | None = None) -> int:
    """Print error and macro-F1 of sDATM and of plain classifiers next to the published errors."""
    return run_benchmark(print_table, build_parser(), argv)


def print_table(arguments: argparse.Namespace) -> None:
    """Measure and print row by row."""
    texts = {"layers": LAYERS} | read_settings(arguments.set, layers=arguments.layers)
    if "classifier" in texts:
        raise ValueError("the rows say which classifier sDATM has; leave --set classifier out and choose by --models")
    for classifier in set(arguments.models) & {"sdatm-n", "sdatm-l"} or {"sdatm-n"}:
        classifiers.configured(classifier, texts)  # a mistake shows before the corpus is read
    progress = Progress()
    progress.show(f"reading {arguments.data.name}")
    what = labelled.Request(arguments.corpus, arguments.validation, arguments.words, arguments.stop_words)
    corpus = labelled.read(arguments.data, what)
    progress.end()
    effort = Effort(texts, arguments.minibatches, arguments.threads)
    kept = Kept(arguments.json, corpus, effort)
    say(head(corpus, effort))
    for classifier, seed in itertools.product(arguments.models, range(1, arguments.seeds + 1)):
        row = found = kept.find(classifier, seed)
        if row is None:
            row = classifiers.measure(
                corpus, classifier, seed, effort, watch=_watch(progress, classifier, seed, effort)
            )
            progress.end()
        say(line(row))
        if found is None:  # said before it is kept, so that a full disk takes no figure away
            kept.add(row)
    say("\n" + note(corpus))


def _watch(progress: Progress, classifier: str, seed: int, effort: "Effort") -> "Callable[[int, float | None], None]":
    """A bar that grows with the mini-batches of one classifier."""
    left = TimeLeft(effort.minibatches)
    name = f"{classifier} seed {seed}"
    progress.show(name)

    def watch(done: int, error: float | None) -> None:
        figure = "" if error is None else f"  validation error {error:.2f}%"
        progress.show(name, done / effort.minibatches, left.words(done) + figure)

    return watch


def build_parser() -> Parser:
    """Return the parser of this benchmark."""
    about = "Errors of sDATM and plain classifiers next to those published."
    parser = Parser(prog="python -m tests.benchmarks.classification", description=about)
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER", help="the folder of the corpus")
    parser.add_argument("--corpus", choices=("20news", "imdb", "mnist"), help="which it is (default: found out)")
    parser.add_argument(
        "--models",
        type=read_choices(CLASSIFIERS),
        default=CLASSIFIERS,
        help=f"any of {', '.join(CLASSIFIERS)} (default: all)",
    )
    parser.add_argument("--layers", help=f"topics per layer (default {LAYERS})")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of sDATM")
    parser.add_argument("--minibatches", type=read_positive, default=3500, help="of sDATM (default 3500)")
    parser.add_argument("--validation", action="store_true", help="judge a quarter of what is for training instead")
    parser.add_argument("--words", type=read_positive, help="words kept of texts (default 10000)")
    parser.add_argument("--stop-words", help="left out of texts: english (default), none or a file of words")
    parser.add_argument(
        "--seeds", type=read_positive, default=1, help="runs of every row, with seeds 1, 2, ... (default 1)"
    )
    parser.add_argument("--threads", type=threads, default=2, help="threads (default 2); no effect on results")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the rows here, and go on from what is there")
    return parser


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
    published = "-" if row.published is None else f"{row.published:.2f}%"
    return (
        f"{NAMES[row.classifier]:<20}{row.seed:>5}{row.error:>8.2f}%{published:>11}{row.macro_f1:>10.4f}"
        f"{format_duration(row.training_seconds):>15}{format_duration(row.processor_seconds):>15}"
        f"{format_duration(row.prediction_seconds):>12}"
    )


def note(labelled: Labelled) -> str:
    """What must be known to read the"""
    if labelled.validation:
        return "Judged on the last quarter of the training documents of each class; no test document was looked at."
    return "Published: four layers of 512-256-128-64.  Choose settings with --validation, never by this "


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


if __name__ == "__main__":
    sys.exit(main())
