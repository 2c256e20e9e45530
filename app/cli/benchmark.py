"""``topiary benchmark``: measure on this machine what the papers published."""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import benchmark_completion, benchmark_scaling, benchmark_topics, output
from app.cli.parser import MISTAKE, Parser, some_of, threads
from app.jobs.progress import Progress, TimeLeft

if TYPE_CHECKING:
    from app.benchmarks.classification import Effort
    from app.benchmarks.fidelity import Length, Row
    from app.benchmarks.keeping import Table
    from app.benchmarks.published import Trial
    from app.jobs.training import Training
    from engine.corpus import Corpus

CLASSIFIERS = ("sdatm-n", "sdatm-l", "svm", "logistic")  # rows of the table of classification
LAYERS = "512-256-128-64"  # of that table
KEEP_SECONDS = 60.0  # between two savings of an unfinished row


def main(argv: Sequence[str]) -> int:
    """Run one benchmark; the exit status is 0, or 2 for a mistake of the user."""
    arguments = _parser().parse_args(list(argv))
    from app.benchmarks.keeping import check_place
    from app.cli.console import Mistake
    from app.ingest.errors import IngestError
    from store.errors import StoreError

    try:
        check_place(arguments.json)
        run = {
            "fidelity": fidelity,
            "classification": classification,
            "completion": benchmark_completion.completion,
            "topics": benchmark_topics.topics,
            "scaling": benchmark_scaling.scaling,
        }
        return run[arguments.benchmark](arguments)
    except (IngestError, LookupError, Mistake, StoreError, ValueError) as error:
        sys.stderr.write(f"topiary benchmark: {' '.join(str(error).split())}\n")
        return MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130


def fidelity(arguments: argparse.Namespace) -> int:
    """Print the table of averaged perplexity beside the published figures, row by row."""
    from app.benchmarks import published, table
    from app.benchmarks.fidelity import Length
    from app.benchmarks.keeping import Table
    from app.benchmarks.pooling import pooled
    from app.benchmarks.reading import read_corpus
    from engine.jit import engine_digest

    trials = published.chosen(arguments.models, arguments.only)
    progress = Progress()
    progress.show(f"reading {arguments.data.name}")
    corpus = read_corpus(arguments.data, arguments.words, arguments.format)
    kept = Table(arguments.json, corpus, arguments.minibatches, arguments.scored)
    progress.end()
    for name in dict.fromkeys(trial.table for trial in trials):
        on = pooled(corpus, arguments.scored) if name == "datm" else corpus
        _say(_about(arguments, name, on))
        rows = list(kept.rows)
        mine = []
        for trial, seed in itertools.product((t for t in trials if t.table == name), range(1, arguments.seeds + 1)):
            length = Length(minibatches=arguments.minibatches, threads=arguments.threads)
            row = found = kept.find(trial.key, seed)
            if row is None:
                row = _measured(on, trial, seed, length, kept=kept, progress=progress)
                rows.append(row)
            mine.append(row)
            _say(table.line(row, rows, engine_digest()))
            if found is None:  # said before it is kept, so that a full disk takes no figure away
                kept.add(row)
        others = [row for row in rows if row not in mine and row.trial.startswith(f"{name} tlasgr:")]
        _say("\n" + "\n".join(table.summary(name, [*others, *mine] if name == "datm" else mine)) + "\n")
    return 0


def classification(arguments: argparse.Namespace) -> int:
    """Print error and macro-F1 of sDATM and of plain classifiers beside the published errors."""
    from app.benchmarks import classification as judging
    from app.benchmarks import classification_table as table
    from app.benchmarks import labelled
    from app.cli.console import settings_of

    texts = {"layers": LAYERS} | settings_of(arguments.set, layers=arguments.layers)
    if "classifier" in texts:
        raise ValueError("the rows say which classifier sDATM has; leave --set classifier out and choose by --models")
    for classifier in set(arguments.models) & {"sdatm-n", "sdatm-l"} or {"sdatm-n"}:
        judging.configured(classifier, texts)  # a mistake shows before the corpus is read
    progress = Progress()
    progress.show(f"reading {arguments.data.name}")
    what = labelled.Request(arguments.corpus, arguments.validation, arguments.words, arguments.stop_words)
    corpus = labelled.read(arguments.data, what)
    progress.end()
    effort = judging.Effort(texts, arguments.minibatches, arguments.threads)
    kept = table.Kept(arguments.json, corpus, effort)
    _say(table.head(corpus, effort))
    for classifier, seed in itertools.product(arguments.models, range(1, arguments.seeds + 1)):
        row = found = kept.find(classifier, seed)
        if row is None:
            row = judging.measure(corpus, classifier, seed, effort, watch=_watch(progress, classifier, seed, effort))
            progress.end()
        _say(table.line(row))
        if found is None:  # said before it is kept, so that a full disk takes no figure away
            kept.add(row)
    _say("\n" + table.note(corpus))
    return 0


def _watch(progress: Progress, classifier: str, seed: int, effort: "Effort") -> "Callable[[int, float | None], None]":
    """A bar that grows with the mini-batches of one classifier."""
    left = TimeLeft(effort.minibatches)
    name = f"{classifier} seed {seed}"
    progress.show(name)

    def watch(done: int, error: float | None) -> None:
        figure = "" if error is None else f"  validation error {error:.2f} %"
        progress.show(name, done / effort.minibatches, left.words(done) + figure)

    return watch


def _about(arguments: argparse.Namespace, name: str, corpus: "Corpus") -> str:
    """What stands above a table: corpus, length, and the names of its columns."""
    from app.benchmarks import table
    from engine.contract import TEST, TRAIN

    n_train, n_test = len(corpus.documents(TRAIN)), len(corpus.documents(TEST))
    return (
        f"{arguments.data.name}: {n_train:,} training and {n_test:,} test documents, {corpus.n_words:,} words\n"
        f"{arguments.minibatches:,} mini-batches (sweeps for Gibbs), {arguments.threads} threads\n{table.PROTOCOL}\n\n"
        f"{table.head(name)}"
    )


def _measured(
    corpus: "Corpus", trial: "Trial", seed: int, length: "Length", *, kept: "Table", progress: Progress
) -> "Row":
    """One row, saved as it grows and shown on the way."""
    from app.benchmarks import fidelity as trials
    from engine.jit import engine_digest

    key = {"trial": trial._asdict(), "seed": seed, "engine": engine_digest()}
    saved = time.monotonic()
    left = TimeLeft(length.minibatches)

    def watch(training: "Training", now: trials.Standing) -> None:
        nonlocal saved
        done = now.position.minibatch
        figure = "" if now.averaged is None else f"  averaged {now.averaged:.1f}"
        progress.show(f"{trial.name} seed {seed}", done / length.minibatches, left.words(done) + figure)
        if kept.keeps and time.monotonic() - saved >= KEEP_SECONDS:
            kept.save(key, trials.packed(training, now))
            saved = time.monotonic()

    progress.show(f"{trial.name} seed {seed}: starting")
    row = trials.measure(corpus, trial, seed, length, start=kept.load(key), watch=watch)
    progress.end()
    return row


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="topiary benchmark", description="Measure this installation of Topiary beside what was published."
    )
    benchmarks = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    one = benchmarks.add_parser("fidelity", help="averaged perplexity beside the published figures")
    one.add_argument(
        "--data", required=True, type=Path, metavar="PATH", help="file or folder of counts, as 20news_data.mat"
    )
    one.add_argument("--format", metavar="NAME", help="its format, as mtx (default: recognised)")
    one.add_argument("--words", type=_positive, help="keep the most frequent that are no stop words (default: all)")
    one.add_argument(
        "--models", type=_list, default=("dlda",), help="tables: any of dlda,dpfa,dpfa-wiki,datm (default: dlda)"
    )
    rows = "only these rows, as in tlasgr:128,gibbs:128-64-32; whai+3:128 has 3 sweeps after the encoder"
    one.add_argument("--only", type=_list, default=(), help=rows)
    one.add_argument("--scored", type=_natural, default=0, help="documents that DATM's table scores (default 0: all)")
    one.add_argument("--minibatches", type=_at_least_two, default=3500, help="steps (default 3500); sweeps for gibbs")
    one.add_argument("--seeds", type=_positive, default=1, help="runs of every row, with seeds 1, 2, ... (default 1)")
    one.add_argument("--threads", type=threads, default=2, help="threads (default 2); no effect on results")
    one.add_argument("--json", type=Path, metavar="FILE", help="keep the rows here, and go on from what is there")
    _add_classification(benchmarks)
    benchmark_completion.add(benchmarks)
    benchmark_topics.add(benchmarks)
    benchmark_scaling.add(benchmarks)
    return parser


def _add_classification(benchmarks: Any) -> None:
    one = benchmarks.add_parser("classification", help="errors of sDATM and plain classifiers beside the published")
    one.add_argument("--data", required=True, type=Path, metavar="FOLDER", help="the folder of the corpus")
    one.add_argument("--corpus", choices=("20news", "imdb", "mnist"), help="which it is (default: found out)")
    one.add_argument(
        "--models",
        type=some_of(CLASSIFIERS),
        default=CLASSIFIERS,
        help=f"any of {', '.join(CLASSIFIERS)} (default: all)",
    )
    one.add_argument("--layers", help=f"topics per layer (default {LAYERS})")
    one.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of sDATM")
    one.add_argument("--minibatches", type=_positive, default=3500, help="of sDATM (default 3500)")
    one.add_argument("--validation", action="store_true", help="judge a quarter of what is for training instead")
    one.add_argument("--words", type=_positive, help="words kept of texts (default 10000)")
    one.add_argument("--stop-words", help="left out of texts: english (default), none or a file of words")
    one.add_argument("--seeds", type=_positive, default=1, help="runs of every row, with seeds 1, 2, ... (default 1)")
    one.add_argument("--threads", type=threads, default=2, help="threads (default 2); no effect on results")
    one.add_argument("--json", type=Path, metavar="FILE", help="keep the rows here, and go on from what is there")


def _list(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.lower().replace(" ", "").split(",") if part)


def _natural(text: str) -> int:
    return 0 if text == "0" else _positive(text)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return int(text)


def _at_least_two(text: str) -> int:
    if _positive(text) < 2:
        raise argparse.ArgumentTypeError("must be at least 2, one to burn in and one to score")
    return int(text)


def _say(text: str) -> None:
    output.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
