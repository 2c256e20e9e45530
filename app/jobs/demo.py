"""The demo: a corpus of the documentation on this machine and a run on it, prepared while a page is already open.

``topiary demo`` and a button on the page of an empty store start it.  A separate process
(``python -P -m app.jobs.demo``) reads the corpus, queues the run and reports progress line by line.
Others compile the kernels at the same time, so that the first topics appear sooner.
"""

import json
import subprocess
import sys
from threading import Thread

from app.ingest.memory import DOCS_NAME, import_builtin
from app.jobs import compile_kernels, launcher, process, progress
from app.jobs.new_run import create_run
from app.jobs.progress import Notifier, Progress
from app.jobs.run_rules import NewRunError
from store import corpora, runs
from store.database import Database, open_database
from store.errors import StoreError

MODEL = "dlda"
RUN_NAME = "demo"


def begin_demo(url: str) -> "subprocess.Popen[str]":
    """Start a process that prepares the demo of a store, and show its progress on every page."""
    progress.post_notice("Preparing the demo: reading the documentation of the Python packages on this machine")
    child = process.start_module("app.jobs.demo", store=url, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    Thread(target=_follow_process, args=(child,), daemon=True).start()
    return child


def prepare_demo(db: Database, notify: Notifier) -> int:
    """Import the built-in corpus and create a run on it, unless they exist, and start the run.

    Returns
    -------
    int
        Number of the run to show.
    """
    compilers = compile_kernels.start_compilers(_request_kernels(), db.url)
    row = next((row for row in corpora.list_corpora(db) if row.name == DOCS_NAME), None) or import_builtin(db, notify)
    if any(compiler.poll() is None for compiler in compilers):
        notify("Compiling kernels, about 20 s, once", None)
    for compiler in compilers:
        compiler.wait()  # whatever its exit status: the worker compiles what is missing
    demo_runs = [run for run in runs.list_runs(db) if run.corpus == row.number and run.name == RUN_NAME]
    if demo_runs and launcher.find_state(demo_runs[-1]) != "failed":
        number = demo_runs[-1].number
        if launcher.find_state(demo_runs[-1]) in ("paused", "stopped", "silent"):
            launcher.resume_run(db, number)
    else:
        notify("Starting a three-layer model", None)
        number = create_run(
            db, row.name, model=MODEL, texts={}, threads=launcher.choose_threads(), name=RUN_NAME
        ).number
    launcher.start_queued_runs(db)
    return number


def main() -> int:
    """Prepare the demo of the store in TOPIARY_STORE, and write its progress to standard output."""
    notify = Notifier(sys.stdout)
    try:
        number = prepare_demo(open_database(), notify)
    except (StoreError, NewRunError) as error:
        notify(f"The demo cannot be prepared: {error}", None)
        return 2
    notify(f"Run {number} is training", 1.0)
    return 0


def _request_kernels() -> compile_kernels.KernelRequest:
    """Return the request for the kernels of the demo's run, without loading any kernel."""
    from engine import models, settings

    config = models.load(MODEL).Config()
    return compile_kernels.KernelRequest(MODEL, settings.to_json(config), real=False, scored=False, averaged=False)


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
    sys.exit(main())
