"""The gallery of the demo: four runs on its corpus, each of which has something to show that the others lack.

The default run is there to explore, a run by mini-batches shows step sizes while it trains, and a run of DATM is
continued with labels, so that there is something to compare and there are classes.  The lengths let the runs, which
wait for each other on two processors, end within minutes.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from topiary.app.jobs import compile_kernels, launcher
from topiary.app.jobs.forks import LABEL_MODEL, find_origin
from topiary.app.jobs.new_run import create_run, fork_run
from topiary.app.names import COMING
from topiary.store import runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

RUN_NAME = "demo"  # of the first run; the names of the others begin with it
PAUSE = 0.5  # seconds between two looks at the runs
GIVEN_UP = ("failed", "stopped")  # states after which nothing is continued


class GalleryRun(NamedTuple):
    """One run of the gallery.

    Attributes
    ----------
    name : str
    title : str
        What the progress of the demo calls it.
    model : str
    texts : dict of str
        Settings of the model as texts; the others keep their defaults.
    minibatches : int
        Its length; of the first run, the most that it may take until its tree has settled.
    purpose : str
        What it shows, as part of a sentence.
    pages : tuple of str
        The pages that open with it while a visitor has not chosen a run.
    seconds : float
        How long it takes on two processors that have nothing else to do, from its start to its end.
    """

    name: str
    title: str
    model: str
    texts: dict[str, str]
    minibatches: int
    purpose: str
    pages: tuple[str, ...]
    seconds: float


FIRST = GalleryRun(
    RUN_NAME, "DLDA", "dlda", {}, 800, "three layers of topics to explore", ("explore", "documents", "seeds"), 30.0
)
LIVE = GalleryRun(
    f"{RUN_NAME}, mini-batches", "DLDA by mini-batches", "dlda", {"inference": "tlasgr"}, 2_000,
    "topics that learn by mini-batches", ("watch",), 55.0,
)  # fmt: skip
PARENT = GalleryRun(
    f"{RUN_NAME}, DATM", "DATM", "datm", {}, 400, "a neural encoder, which reads a whole document in one pass", (), 20.0
)
LABELLED = GalleryRun(
    f"{RUN_NAME}, sDATM", "sDATM", LABEL_MODEL, {}, 300, "the same model, with the package of a document as its label",
    ("compare", "classes"), 25.0,
)  # fmt: skip
GALLERY = (FIRST, LIVE, PARENT, LABELLED)


class Notify(Protocol):
    """A function that reports the current activity and the share of it that is done."""

    def __call__(self, words: str, share: float | None) -> None:
        """Report what is happening."""


def find_run(rows: Iterable[Any], corpus: int, member: GalleryRun) -> Any | None:
    """Return the newest run on a corpus that is this one of the gallery; None if there is none.

    Parameters
    ----------
    rows : iterable of rows of runs
    corpus : int
    member : GalleryRun
    """
    found = [row for row in rows if (row.corpus, row.name, row.model) == (corpus, member.name, member.model)]
    return max(found, key=lambda row: row.number, default=None)


def create_first(db: Database, corpus: CorpusRow) -> RunRow:
    """Write the first run of the gallery, queued."""
    return _create(db, corpus, FIRST, launcher.choose_threads())


def fill_gallery(db: Database, corpus: CorpusRow, notify: Notify, pause: Callable[[float], None] = time.sleep) -> None:
    """Write the runs of the gallery that are not there, and wait until the last of them can be written.

    That one continues the last snapshot of another, which must have ended.  Meanwhile kernels are compiled.  It is left
    out if the other run is deleted, has failed or was stopped.

    Parameters
    ----------
    db : Database
    corpus : CorpusRow
        The corpus of the demo, on which the first run is there.
    notify : callable
        Called with a sentence about the run that is under way.
    pause : callable
        Waits some seconds.

    Raises
    ------
    NewRunError
        When the corpus does not allow a run.
    """
    for member in (LIVE, PARENT):
        if find_run(runs.list_runs(db), corpus.number, member) is None:
            _create(db, corpus, member, threads=1 if member is LIVE else launcher.choose_threads())
    launcher.start_queued_runs(db)
    if len(corpus.label_names) < 2 or find_run(runs.list_runs(db), corpus.number, LABELLED) is not None:
        return
    is_compiled = False
    while (parent := find_run(runs.list_runs(db), corpus.number, PARENT)) is not None:
        state = launcher.find_state(parent)
        if state in GIVEN_UP:
            return
        if state == "finished":
            origin = find_origin(db, parent.number)
            fork_run(
                db, origin, model=LABELLED.model, texts=LABELLED.texts, minibatches=LABELLED.minibatches,
                name=LABELLED.name, threads=launcher.choose_threads(),
            )  # fmt: skip
            launcher.start_queued_runs(db)
            notify(_describe(LABELLED), None)
            return
        rows = runs.list_runs(db)
        notify(_describe(_find_current(rows, corpus.number)), None)
        live = find_run(rows, corpus.number, LIVE)
        if not is_compiled and live is not None and live.minibatch:  # it trains in one thread: a processor is idle
            _compile_ahead(db, parent)
            is_compiled = True
        pause(PAUSE)


def find_first(rows: Iterable[Any]) -> Any | None:
    """Return the newest first run of a gallery, whose corpus is that of the others; None if there is none."""
    return max((row for row in rows if row.name == FIRST.name), key=lambda row: row.number, default=None)


def choose_run(rows: Iterable[Any], page: str) -> int:
    """Return the run of the gallery with which a page opens; 0 if the gallery has none for it.

    A run that has not begun has nothing to show; the first run is shown instead.

    Parameters
    ----------
    rows : iterable of rows of runs
    page : str
    """
    everyone = list(rows)
    first = find_first(everyone)
    if first is None:
        return 0
    for member in GALLERY:
        if page in member.pages:
            row = find_run(everyone, first.corpus, member)
            return int(row.number if row is not None and row.minibatch else first.number)
    return 0


def is_of_gallery(rows: Iterable[Any], number: int) -> bool:
    """Return whether a run is one of the gallery."""
    names = {member.name for member in GALLERY}
    return any(row.number == number and row.name in names for row in rows)


def request_kernels(model: str, layers: tuple[int, ...] | None = None, **choices: str) -> compile_kernels.KernelRequest:
    """Return the request for the kernels of a run of the demo, without loading any kernel.

    Parameters
    ----------
    model : str
    layers : tuple of int, optional
        Widths of the layers, of which only the number counts.
    **choices : str
        Settings other than the defaults.
    """
    from topiary.engine import models, settings

    config = models.load(model).Config(**choices, **({} if layers is None else {"layers": layers}))
    return compile_kernels.KernelRequest(model, settings.to_json(config), real=False, scored=False, averaged=False)


def _create(db: Database, corpus: CorpusRow, member: GalleryRun, threads: int) -> RunRow:
    return create_run(
        db, corpus.number, model=member.model, texts=member.texts, minibatches=member.minibatches, threads=threads,
        name=member.name, until="settled" if member is FIRST else "",
    )  # fmt: skip


def _compile_ahead(db: Database, parent: RunRow) -> None:
    """Compile the kernels of the last two runs, one after the other; a worker compiles what is missing."""
    for model in (PARENT.model, LABELLED.model):
        for compiler in compile_kernels.start_compilers(request_kernels(model, parent.layers), db.url):
            compiler.wait()


def _find_current(rows: Iterable[Any], corpus: int) -> GalleryRun:
    """Return the run that trains, or else the next one."""
    everyone = list(rows)
    for member in GALLERY:
        row = find_run(everyone, corpus, member)
        if row is None or launcher.find_state(row) in COMING:
            return member
    return LABELLED


def _describe(member: GalleryRun) -> str:
    """Return a sentence about the run that is under way and what comes after it."""
    position = GALLERY.index(member)
    after = [f"“{later.name}”" for later in GALLERY[position + 1 :]]
    rest = f"; next: {', '.join(after)}" if after else ""
    return f"Run {position + 1} of {len(GALLERY)}, “{member.name}”: {member.purpose}{rest}"
