"""``topiary benchmark scaling``: what a step costs on 1, 2, 4 ... processes, and what it would on many machines."""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import output
from app.cli.parser import whole
from app.jobs.progress import Progress

if TYPE_CHECKING:
    from app.benchmarks.scaling import Row
    from store.corpus_rows import CorpusRow
    from store.database import Database

TOKENS, WORDS = 94, 2000  # of a synthetic document, and of the vocabulary


def add(benchmarks: Any) -> None:
    """Add the command to the benchmarks."""
    one = benchmarks.add_parser("scaling", help="seconds of a step on several processes, and a model of many machines")
    one.add_argument("corpus", nargs="?", metavar="CORPUS", help="name or number of a corpus (default: synthetic)")
    one.add_argument("--store", metavar="URL", help="file or database URL of the store")
    one.add_argument("--documents", type=whole(100), default=800_000, help="of a synthetic corpus (default 800000)")
    one.add_argument("--layers", default="128-64-32", help="topics per layer of DLDA (default 128-64-32)")
    one.add_argument("--processes", type=_numbers, default=(1, 2, 4, 8), help="to measure (default 1,2,4,8)")
    one.add_argument("--steps", type=whole(3), default=6, help="sweeps of each; the first does not count (default 6)")
    one.add_argument("--picture", type=Path, metavar="FILE", help="also draw measurement and prediction (.svg, .png)")
    one.add_argument("--json", type=Path, metavar="FILE", help="also write the rows and the model to this file")


def scaling(arguments: argparse.Namespace) -> int:
    """Print the table and what the model says."""
    from app.jobs.cluster.place import check_place
    from store import corpora
    from store.database import open_database, open_existing

    check_place("local:1", "")
    if arguments.corpus is not None:
        db = open_existing(arguments.store)
        return _measure(db, corpora.find_corpus(db, arguments.corpus), arguments)
    from app.benchmarks.synthetic import store_corpus

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        db, n = open_database(Path(folder) / "store.db"), arguments.documents
        try:
            output.write(f"making {n:,} synthetic documents\n")
            return _measure(db, store_corpus(db, "synthetic", documents=n, words=WORDS, tokens=n * TOKENS), arguments)
        finally:
            db.close()


def _measure(db: "Database", about: "CorpusRow", arguments: argparse.Namespace) -> int:
    from app.benchmarks import scaling as measuring
    from app.benchmarks import scaling_table as table

    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    setting = measuring.Setting(arguments.layers, arguments.steps, processors)
    output.write(
        f"{about.name}: {about.train_documents:,} training documents, {about.tokens:,} tokens, {about.words:,} words; "
        f"DLDA by Gibbs, {arguments.layers}; medians of {arguments.steps - 1} steps on {processors} processors\n"
        f"{table.HEAD}\n"
    )
    progress, rows = Progress(), list["Row"]()
    for threads in sorted({1, processors}):
        progress.show(f"one process, threads: {threads}")
        rows.append(measuring.alone(db, about, threads, setting))
        output.write(table.line(rows[-1], rows[0]) + "\n")
    for processes in arguments.processes:
        progress.show(f"processes: {processes}")
        rows.append(measuring.spread(db, about, processes, setting))
        output.write(table.line(rows[-1], rows[0]) + "\n")
    progress.end()
    model = measuring.fitted(rows, about.train_documents, processors)
    output.write("\n" + "\n".join(table.sentences(model, rows)) + "\n")
    if arguments.picture is not None:
        from app.plots.scaling import picture

        picture(model, rows, processors, arguments.picture)
    if arguments.json is not None:
        found = {"rows": [row._asdict() for row in rows], "model": model._asdict()}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _numbers(text: str) -> tuple[int, ...]:
    read = whole(1)
    return tuple(sorted({read(part) for part in text.split(",")}))
