"""Peak memory of a worker on a large synthetic corpus, and the time until its first perplexity is in the store.

800,000 documents, 75 million tokens, 10,000 words.  The bound: the corpus as compressed rows, four copies of
the parameters, and 300 MB for interpreter, compiler and everything else.
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.report import load, parser, say
from tests.benchmarks.synthetic import store_corpus
from tests.benchmarks.workers import watch
from topiary.app.jobs import new_run
from topiary.engine.jit import find_cache_folder
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_database

DOCUMENTS, TOKENS, WORDS = 800_000, 75_000_000, 10_000
MB = 1e6
ALLOWANCE = 300 * MB
COPIES = 4
NAME = "synthetic"


def main(argv: Sequence[str] | None = None) -> int:
    """Print peak and bound, and the seconds to the first perplexity."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--scale", type=float, default=1.0, help="of the number of documents; 0.02 to try")
    options.add_argument("--layers", default="128-64-32")
    options.add_argument("--minibatches", type=int, default=200)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--folder", type=Path, help="keep the store here, and use the one that is there")
    arguments = options.parse_args(argv)
    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        return measure(arguments, arguments.folder)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return measure(arguments, Path(folder))


def measure(arguments: argparse.Namespace, folder: Path) -> int:
    """Make the corpus, train a worker on it, compare."""
    db = open_database(folder / f"memory-{arguments.scale:g}.db")
    try:
        about = made(db, arguments.scale)
        run = new_run.create_run(
            db,
            NAME,
            model="dlda",
            texts={"layers": arguments.layers, "inference": "tlasgr"},
            minibatches=arguments.minibatches,
            threads=arguments.threads,
        )
        marks = {
            "sampling begins": lambda row: row.message.startswith("training"),
            "first perplexity in the store": lambda row: row.point_perplexity is not None,
        }
        cold = not any(find_cache_folder().rglob("*.nbi"))
        life = watch(db, run.number, folder, marks)
        if life.row.state != "finished":
            raise SystemExit(f"the worker did not finish but {life.row.state}: {life.row.message}")
    finally:
        db.close()
    say(f"  kernels {'compiled by this worker' if cold else 'compiled before'}")
    for name, seconds in life.seen.items():
        say(f"  {name:<32}{seconds:8.1f} s after the start of the worker")
    say(f"  {arguments.minibatches} mini-batches done {life.seconds:24.1f} s")
    rows, parameters = corpus_bytes(about), parameter_bytes(arguments.layers, about.words)
    bound = rows + COPIES * parameters + ALLOWANCE
    say(f"  corpus {rows / MB:.0f} MB + {COPIES} x parameters {parameters / MB:.1f} MB + 300 MB = {bound / MB:.0f} MB")
    say(f"  peak of the worker {life.peak / MB:.0f} MB, ratio to the bound {life.peak / bound:.2f}; {load()}")
    return 0


def made(db: Database, scale: float) -> CorpusRow:
    """The corpus, from the store when it is there."""
    for row in corpora.list_corpora(db):
        if row.name == NAME:
            return row
    began = time.monotonic()
    row = store_corpus(db, NAME, documents=int(DOCUMENTS * scale), words=WORDS, tokens=int(TOKENS * scale))
    seconds = time.monotonic() - began
    say(f"{row.documents:,} documents, {row.tokens:,} tokens, {row.cells:,} cells made in {seconds:.0f} s; {load()}")
    return row


def corpus_bytes(row: CorpusRow) -> int:
    """Compressed rows: int64 starts, int32 words and counts, and the part and label of every document."""
    return 8 * (row.documents + 1) + 8 * row.cells + 5 * row.documents


def parameter_bytes(layers: str, words: int) -> int:
    """Phi of every layer and r in float64."""
    widths = [words, *map(int, layers.split("-"))]
    return 8 * (sum(a * b for a, b in itertools.pairwise(widths)) + widths[-1])


if __name__ == "__main__":
    sys.exit(main())
