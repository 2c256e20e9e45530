"""The demo: a corpus of the documentation on this machine and runs on it, prepared while a page is already open.

``topiary demo`` and a button on the page of an empty store start it.  A separate process
(``python -P -m app.jobs.demo``) reads the corpus, queues the runs and reports progress line by line.
Others compile the kernels at the same time, so that the first topics appear sooner.  The command starts it before it
loads the server, so readers of files are imported where they are needed.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

from topiary.app.jobs import compile_kernels, control, gallery, launcher, process, progress
from topiary.app.jobs.gallery import Preparation
from topiary.app.jobs.process import find_state
from topiary.app.jobs.progress import Notifier, Progress
from topiary.app.jobs.run_rules import NewRunError
from topiary.store import corpora, runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_database
from topiary.store.errors import StoreError

QUICK = "--quick"  # the first run only
PAUSE = 0.5  # seconds between two messages while kernels are compiled


def begin_demo(url: str, *, quick: bool = False, hold: bool = False) -> "subprocess.Popen[str]":
    """Start a process that prepares the demo of a store, and show its progress on every page.

    Parameters
    ----------
    url : str
        URL of the store.
    quick : bool
        Whether the first run is the only one.
    hold : bool
        Whether it compiles kernels only after its standard input is closed.  Compilers take all processors, so that a
        server which starts at the same time would answer seconds later.
    """
    progress.post_notice("Preparing the demo: reading the documentation of the Python packages on this machine", 0.0)
    child = process.start_module(
        "topiary.app.jobs.demo",
        *([QUICK] if quick else []),
        store=url,
        stdin=subprocess.PIPE if hold else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    Thread(target=_follow_process, args=(child,), daemon=True).start()
    return child


def prepare_demo(db: Database, notify: Notifier, wait: Callable[[], object] = bool) -> int:
    """Import the built-in corpus and create the first run on it, unless they exist, and start the run.

    Parameters
    ----------
    wait : () -> object
        Returns when kernels may be compiled; called in a thread, while documents are read.

    Returns
    -------
    int
        Number of the run to show.
    """
    from topiary.app.ingest.memory import import_builtin

    report = Preparation(notify)
    with ThreadPoolExecutor(1) as pool:
        row = find_corpus(db)
        starting = pool.submit(_start_compilers, db.url, wait, is_new=row is None)
        row = row or import_builtin(db, report)
        compilers = starting.result()
    while any(compiler.poll() is None for compiler in compilers):  # whatever its status: the worker compiles the rest
        report("Compiling the model, once", None)
        time.sleep(PAUSE)
    first = gallery.find_run(runs.list_runs(db), row.number, gallery.FIRST)
    if first is None or find_state(first) == "failed":
        report("Starting the first run, of three layers", None)
        first = gallery.create_first(db, row)
    elif find_state(first) in ("paused", "stopped", "silent"):
        control.resume_run(db, first.number)
    launcher.start_queued_runs(db)
    return int(first.number)


def find_corpus(db: Database) -> CorpusRow | None:
    """Return the built-in corpus of a store; None if it has none."""
    from topiary.app.ingest.docstrings import DOCS_NAME

    return next((row for row in corpora.list_corpora(db) if row.name == DOCS_NAME), None)


def prepare_stored_demo(arguments: list[str]) -> int:
    """Prepare the demo of the store in TOPIARY_STORE, and write its progress to standard output."""
    notify = Notifier(sys.stdout)
    try:
        db = open_database()
        number = prepare_demo(db, notify, sys.stdin.read)
        state = find_state(runs.get_run(db, number))
        notify(f"Run {number} is {'finished' if state == 'finished' else 'training'}", 1.0)
        corpus = find_corpus(db)
        if QUICK not in arguments and corpus is not None:
            gallery.fill_gallery(db, corpus, notify)
    except (StoreError, NewRunError) as error:
        notify(f"The demo cannot be prepared: {error}", None)
        return 2
    return 0


def _start_compilers(url: str, wait: Callable[[], object], *, is_new: bool) -> list["subprocess.Popen[bytes]"]:
    """Start the worker of a new first run, which loads its kernels, or compile these first, once `wait` returns."""
    kernels = gallery.request_kernels(gallery.FIRST.model)
    if compile_kernels.list_missing(kernels):
        wait()
        return compile_kernels.start_compilers(kernels, url)
    if is_new:
        process.start_worker_ahead(kernels._asdict(), url)
    return []


def _follow_process(child: "subprocess.Popen[str]") -> None:
    """Show the progress of the preparing process in the terminal and on the pages."""
    line = Progress()
    sentence = ""
    for message in child.stdout or ():
        sentence, share = json.loads(message)
        line.show(sentence, share)
        progress.post_notice(f"Preparing the demo: {sentence[0].lower()}{sentence[1:]}", share)
    line.end(sentence)
    match child.wait():
        case 0:
            progress.post_notice("")
        case 2:
            progress.post_notice(sentence, failed=True)
        case _:
            progress.post_notice("The demo could not be prepared; the terminal of the server says why", failed=True)


if __name__ == "__main__":
    sys.exit(prepare_stored_demo(sys.argv[1:]))
