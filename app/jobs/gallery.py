"""The gallery of the demo: four runs on its corpus, each of which has something to show that the others lack.

The default run is there to explore, a run by mini-batches shows step sizes while it trains, and a run of DATM is
continued with labels, so that there is something to compare and there are classes.  The lengths let the runs, which
wait for each other on two processors, end within minutes.
"""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from topiary.app.jobs import compile_kernels, launcher
from topiary.app.jobs.forks import LABEL_MODEL, find_origin, format_default
from topiary.app.jobs.new_run import create_run, fork_run
from topiary.app.jobs.process import find_state
from topiary.app.jobs.progress import Notice, Notifier, format_duration
from topiary.app.jobs.run_rules import propose_layers
from topiary.app.machine import choose_threads
from topiary.app.names import COMING
from topiary.store import runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

MOST_BEFORE_END = 0.95  # of a stage whose share is estimated from the time that it takes


class Stage(NamedTuple):
    """A stage of the preparation.

    Attributes
    ----------
    name : str
        What is done in it, as in "next: compiling kernels".
    seconds : float
        How long it takes on two processors with nothing compiled; estimated, and scaled by the pace of this machine.
    beginnings : tuple of str
        How the messages of the stage begin.
    """

    name: str
    seconds: float
    beginnings: tuple[str, ...]


STAGES = (
    Stage("reading the documentation", 5.0, ("Reading documentation", "Reading the documentation")),
    Stage("counting words", 4.0, ("Recognising", "Counting", "Choosing", "Reading documents")),
    Stage("storing the documents", 1.0, ("Storing",)),
    Stage("compiling the model, once", 40.0, ("Compiling",)),
    Stage("starting the first run", 5.0, ("Starting",)),
)


class Preparation:
    """A notifier of the stages of the preparation, whose share never falls.

    Parameters
    ----------
    notify : Notifier
        Gets each sentence with the share of the whole preparation.
    clock : callable
        Returns seconds that only grow.
    """

    def __init__(self, notify: Notifier, clock: Callable[[], float] = time.monotonic) -> None:
        self._notify = notify
        self._clock = clock
        self._begin = clock()
        self._stage_begin = self._begin
        self._stage = 0
        self._share = 0.0

    def __call__(self, words: str, share: float | None) -> None:
        """Tell a message of a stage; messages of no stage, such as notes, are left out."""
        stage = next((n for n, each in enumerate(STAGES) if words.startswith(each.beginnings)), None)
        if stage is None or stage < self._stage:
            return
        now = self._clock()
        if stage > self._stage:
            self._stage, self._stage_begin = stage, now
        if share is None:
            share = MOST_BEFORE_END * -math.expm1(-(now - self._stage_begin) / STAGES[stage].seconds)
        total = sum(each.seconds for each in STAGES)
        done = sum(each.seconds for each in STAGES[:stage]) + min(max(share, 0.0), 1.0) * STAGES[stage].seconds
        self._share = max(self._share, done / total)
        left = (total - self._share * total) * self._measure_pace(now, self._share * total)
        rest = f"; next: {STAGES[stage + 1].name}" if stage + 1 < len(STAGES) else ""
        self._notify(f"{words}{rest}; about {format_duration(max(1.0, left))} left", self._share)

    def _measure_pace(self, now: float, done: float) -> float:
        """Return how many times slower this machine is than two idle processors; 1 until there is something to go by.

        Three seconds of both are added, so that the first moments, in which processes start, count little.  Stages that
        were left out make it seem faster, which it is not.
        """
        return max(1.0, (now - self._begin + 3.0) / (done + 3.0))


RUN_NAME = "demo"  # of the first run; the names of the others begin with it
PAUSE = 0.5  # seconds between two looks at the runs
GIVEN_UP = ("failed", "stopped")  # states after which nothing is continued


class GalleryRun(NamedTuple):
    """One run of the gallery.

    Attributes
    ----------
    title : str
        What the progress of the demo calls it.
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
    """
    found = [row for row in rows if (row.corpus, row.name, row.model) == (corpus, member.name, member.model)]
    return max(found, key=lambda row: row.number, default=None)


def create_first(db: Database, corpus: CorpusRow) -> RunRow:
    """Write the first run of the gallery, queued, with the proposed widths; trying others would delay its topics."""
    layers = format_default(propose_layers(corpus, FIRST.model))
    return _create(db, corpus, FIRST._replace(texts={"layers": layers}), choose_threads())


def fill_gallery(db: Database, corpus: CorpusRow, notify: Notify, pause: Callable[[float], None] = time.sleep) -> None:
    """Write the runs of the gallery that are not there, and wait until the last of them can be written.

    That one continues the last snapshot of another, which must have ended.  Meanwhile kernels are compiled.  It is left
    out if the other run is deleted, has failed or was stopped.

    Parameters
    ----------
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
            _create(db, corpus, member, threads=1 if member is LIVE else choose_threads())
    launcher.start_queued_runs(db)
    if len(corpus.label_names) < 2 or find_run(runs.list_runs(db), corpus.number, LABELLED) is not None:
        return
    is_compiled = False
    while (parent := find_run(runs.list_runs(db), corpus.number, PARENT)) is not None:
        state = find_state(parent)
        if state in GIVEN_UP:
            return
        if state == "finished":
            origin = find_origin(db, parent.number)
            fork_run(
                db, origin, model=LABELLED.model, texts=LABELLED.texts, minibatches=LABELLED.minibatches,
                name=LABELLED.name, threads=choose_threads(),
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
        name=member.name, until="settled" if member.name == FIRST.name else "",
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
        if row is None or find_state(row) in COMING:
            return member
    return LABELLED


def _describe(member: GalleryRun) -> str:
    """Return a sentence about the run that is under way and what comes after it."""
    position = GALLERY.index(member)
    after = [f"“{later.name}”" for later in GALLERY[position + 1 :]]
    rest = f"; next: {', '.join(after)}" if after else ""
    return f"Run {position + 1} of {len(GALLERY)}, “{member.name}”: {member.purpose}{rest}"


PREPARATION = sum(stage.seconds for stage in STAGES)  # seconds, as in the attribute of a run of the gallery
OVER = ("finished", *GIVEN_UP)  # states of runs for which nobody waits
HEAD_START = 10.0  # seconds added to times as expected and as measured, so that the first moments count little
_WORDS = {
    "running": "{} is training",
    "queued": "{} is about to start",
    "paused": "{} is paused",
    "silent": "{} has fallen silent",
    "": "{} comes next",
}
_ORDER = ("running", "silent", "queued", "paused", "")  # the first of these states is the one to tell about


class GalleryProgress(NamedTuple):
    """What the demo is doing, and the share of all that it does which is done, from 0 to 1."""

    sentence: str
    share: float


class _GalleryState(NamedTuple):
    """A run of the gallery with its row, if it has one, and its state, which is empty without a row."""

    run: GalleryRun
    row: Any | None
    state: str

    @property
    def done(self) -> float:
        """The seconds of it that are done, on two processors that have nothing else to do."""
        if self.row is None:
            return 0.0
        if self.state in OVER:
            return self.run.seconds
        share = self.row.minibatch / self.row.planned if self.row.planned else 0.0
        if self.row.options.get("until_plateau"):  # it ends sooner, nobody knows when
            share = max(share, -math.expm1(-self.row.seconds / self.run.seconds))
        return min(share, MOST_BEFORE_END) * self.run.seconds


def measure_gallery(rows: Iterable[Any], state: Callable[[int], str], notice: Notice) -> GalleryProgress | None:
    """Return how far the demo is; None if there is none, or if nothing of it is under way.

    The share does not fall as long as no run of the gallery is deleted.

    Parameters
    ----------
    rows : iterable of rows of runs
    state : (run number) -> str
        The state to show for a run.
    notice : Notice
        The notice of the process that prepares the demo, with a share until the first run has started; empty if it has
        ended.
    """
    everyone = list(rows)
    first = find_first(everyone)
    is_working = bool(notice.sentence) and not notice.failed
    members = []
    for run in GALLERY:
        row = find_run(everyone, first.corpus, run) if first is not None else None
        if row is not None or is_working:
            members.append(_GalleryState(run, row, state(row.number) if row is not None else ""))
    if all(member.state in OVER for member in members):
        return None
    if not is_working and not any(member.state in COMING for member in members):
        return None
    total = PREPARATION + sum(member.run.seconds for member in members)
    if is_working and not any(member.row is not None and member.row.minibatch for member in members):
        prepared = 1.0 if notice.share is None else min(max(notice.share, 0.0), 1.0)
        return GalleryProgress(notice.sentence, prepared * PREPARATION / total)
    done = PREPARATION + sum(member.done for member in members)
    return GalleryProgress(_describe_group(members, total - done), done / total)


def _describe_group(members: list[_GalleryState], left: float) -> str:
    """Return the sentence about runs of which one has begun; ``left`` are seconds on two idle processors."""
    current = min(
        (member for member in members if member.state not in OVER), key=lambda member: _ORDER.index(member.state)
    )
    waiting = [member.run.title for member in members if member.state not in OVER and member is not current]
    ready = sum(member.state == "finished" for member in members)
    parts = ["Demo" if len(members) == 1 else f"Demo: {ready} of {len(members)} runs ready"]
    parts.append(_WORDS[current.state].format(current.run.title))
    if waiting:
        parts.append(f"next: {', '.join(waiting)}")
    if current.state in ("running", "queued", ""):
        at_once = max(1, sum(member.state == "running" for member in members))
        parts.append(f"about {_round_duration(left * _measure_pace(members) / at_once)} left")
    return " · ".join(parts)


def _measure_pace(members: list[_GalleryState]) -> float:
    """Return how many times slower this machine is than two processors that have nothing else to do."""
    begun = [member for member in members if member.row is not None and member.row.minibatch]
    seconds = sum(member.row.seconds for member in begun if member.row is not None)
    return (seconds + HEAD_START) / (sum(member.done for member in begun) + HEAD_START)


def _round_duration(seconds: float) -> str:
    """Return a duration so coarse that it does not flicker: ``15 s``, ``2 min``."""
    return f"{max(5, 5 * math.ceil(seconds / 5))} s" if seconds <= 55 else f"{math.ceil(seconds / 60)} min"
