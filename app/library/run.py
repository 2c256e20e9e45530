"""A run in a store: its state and records, and methods that wait for it, fork it and control it."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.journal import JournalEntry
from topiary.app.analysis.shares import find_placed_snapshot
from topiary.app.export.records import list_all_facts
from topiary.app.export.topics import add_run_note, list_run_notes
from topiary.app.jobs import control, logs, steering
from topiary.app.jobs.control import ENDED, describe_end, follow_run, show_progress
from topiary.app.jobs.edit_orders import EditOrder, list_steerable
from topiary.app.jobs.edit_previews import find_hints, preview_edit
from topiary.app.jobs.estimates import choose_headline, read_latest
from topiary.app.jobs.forks import find_origin, format_default
from topiary.app.jobs.new_run import request_fork
from topiary.app.jobs.process import find_state
from topiary.app.jobs.progress import Progress
from topiary.app.jobs.topic_guide import convert_guide, read_guide
from topiary.app.names import BROKEN, STEPS, name_step
from topiary.app.views.steer import suggest_edits
from topiary.app.views.text import format_estimate
from topiary.store import events, notes, snapshots
from topiary.store import points as run_points
from topiary.store.errors import NotFound
from topiary.store.points import Point

from .run_evidence import RunBridges, RunEvidence
from .run_topics import find_roots

if TYPE_CHECKING:
    from .corpora import Corpus


def write_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as they would be typed, without those that are None."""
    return {name: format_default(_convert_numpy_values(value)) for name, value in settings.items() if value is not None}


OPTIONS = frozenset(("minibatches", "preset", "seed", "threads", "on", "name", "until", "keep"))  # of a request


def make_fields(model: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request for a run: its model, and arguments, among them settings of the model."""
    texts = write_settings({name: value for name, value in given.items() if name not in (*OPTIONS, "topics")})
    options = {name: _convert_numpy_values(value) for name, value in given.items() if name in OPTIONS}
    if (topics := given.get("topics")) is not None:
        is_file = isinstance(topics, str | os.PathLike)
        options["guide"] = read_guide(Path(topics)) if is_file else convert_guide(topics, "topics")
    return {"model": model, "texts": texts} | options


def _convert_numpy_values(value: Any) -> Any:
    """Convert numbers of NumPy to those of Python, arrays and lists to tuples, and generators to a number of theirs."""
    if isinstance(value, np.random.Generator):
        return int(value.integers(1 << 31))
    converted = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_convert_numpy_values, converted)) if isinstance(converted, list | tuple) else converted


Layers: TypeAlias = Sequence[int] | int | str
Watcher: TypeAlias = Callable[["Run"], None]


class RunFailed(Exception):  # noqa: N818 - named after what has happened
    """The run that is waited for has failed, or its worker is gone; the message is one sentence."""


class Run(RunBridges, RunEvidence):
    """A run: one training of one model on one corpus.

    It trains in a process of its own, and properties are read from the store each time.  Topics have names that last
    for its whole life, such as ``"L2:17"``: topic 17 of layer 2.  Where a method takes ``minibatch``, it looks at the
    snapshot at or before that mini-batch, and at the latest one when it is not given.

    Returned by :attr:`Store.runs`, :meth:`Store.train` or :meth:`fork`.

    Attributes
    ----------
    number : int
    """

    @property
    def state(self) -> str:
        """One of "queued", "running", "paused", "stopped", "finished", "failed", or "silent" (no worker)."""
        return find_state(self._row)

    @property
    def name(self) -> str:
        """The name that a user gave it, or ""."""
        return self._row.name

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return self._row.corpus_name

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the model."""
        return dict(self._row.settings)

    @property
    def info(self) -> dict[str, Any]:
        """The facts of ``topiary show``: state, sizes, perplexities, times, settings, plan and parent."""
        return list_all_facts(self._opened.db, self._row)

    @property
    def points(self) -> pd.DataFrame:
        """Every measured point: minibatch, documents, seconds, name, layer (0 = of no layer) and value."""
        return pd.DataFrame(
            list(run_points.read_points(self._opened.db, self._row.number)), columns=list(Point._fields)
        )

    @property
    def snapshots(self) -> pd.DataFrame:
        """The snapshots: number, minibatch, seconds, size in bytes and time of writing."""
        rows = snapshots.list_snapshots(self._opened.db, self._row.number)
        return pd.DataFrame(rows, columns=["number", "minibatch", "seconds", "size", "created"])

    @property
    def events(self) -> pd.DataFrame:
        """The events of the run: minibatch, kind, text and time."""
        rows = logs.list_events(self._opened.db, self._row.number)
        return pd.DataFrame(rows, columns=list(events.RunEvent._fields))[["minibatch", "kind", "text", "created"]]

    def __eq__(self, other: object) -> bool:
        same_store = isinstance(other, Run) and other._opened.db.url == self._opened.db.url
        return same_store and isinstance(other, Run) and other.number == self.number

    def __hash__(self) -> int:
        return hash((self._opened.db.url, self.number))

    def __repr__(self) -> str:
        try:
            return f"<Run {self.number}: {self._describe()}>"
        except NotFound:
            return f"<Run {self.number}: deleted>"

    def _repr_html_(self) -> str:
        try:
            return f"<p><b>Run {self.number}</b><br>{escape(self._describe())}</p>"
        except NotFound:
            return f"<p><b>Run {self.number}</b><br>deleted</p>"

    def _describe(self) -> str:
        row = self._row
        widths = "-".join(map(str, row.layers))
        named = f"{row.name}, " if row.name else ""
        best = choose_headline(row, read_latest(self._opened.db, self.number))
        result = "" if best is None else f", {best.name} {format_estimate(best)}"
        progress = f"{find_state(row)}, {row.minibatch:,} of {row.planned:,} {STEPS[name_step(row)]}{result}"
        return f"{named}{row.model} {row.inference} {widths} on {row.corpus_name}, {progress}"

    def wait(self, *, progress: bool | Watcher = False, timeout: float | None = None) -> Self:
        """Wait until the run has ended, is paused or is stopped; Ctrl-C ends the waiting, not the run.

        Parameters
        ----------
        progress : bool or callable, default=False
            True shows a progress line on standard error; a function is called with this run at intervals.
        timeout : float, optional
            Seconds.

        Raises
        ------
        RunFailed
            When it fails, or its worker is gone.
        TimeoutError
            If it takes longer than ``timeout``; the run goes on.
        """
        shown, began = Progress(), time.monotonic()
        try:
            for row, state in follow_run(self._opened.db, self.number):
                if state in BROKEN:
                    raise RunFailed(describe_end(self._opened.db, row, state))
                if callable(progress):
                    progress(self)
                elif progress and state not in ENDED:
                    show_progress(shown, row, read_latest(self._opened.db, self.number))
                if timeout is not None and state not in ENDED and time.monotonic() - began > timeout:
                    raise TimeoutError(f"run {self.number} is still {state} after {timeout:g} seconds; it goes on")
        finally:
            if progress is True:
                shown.end()
        return self

    def refine(
        self,
        name: str = "",
        *,
        topic: str = "",
        share: float = 0.2,
        where: Sequence[str] = (),
        query: str = "",
        minibatch: int | None = None,
    ) -> "Corpus":
        """Make a corpus of the documents of a topic, or of those that meet conditions or that a search finds.

        Parameters
        ----------
        name : str, optional
            Name of the new corpus; by default it is made from the names of the corpus and of the topic.
        topic : str, optional
            A topic, such as ``"L2:17"``.
        share : float
            Least share of the topic in a document.
        where : sequence of str
            Conditions, such as ``"date=2004..2005"``.
        query : str
            Words, "a phrase" or /a regular expression/.
        minibatch : int, optional
            The last snapshot at or before this mini-batch is used; by default the latest one with shares of documents.

        Raises
        ------
        ValueError
            When nothing is selected, or too little.
        LookupError
            When there is no such topic.
        """
        from topiary.app.analysis.refinements import refine_run

        from .corpora import Corpus

        hierarchy = self._read_placed(minibatch)
        node = hierarchy.find_topic(topic) if topic else None
        made = refine_run(
            self._opened.db, self._row, hierarchy, name, topic=node, share=share, where=where, query=query
        )
        return Corpus(self._opened, made)

    def report(
        self,
        file: str | os.PathLike[str],
        *,
        topics: Sequence[str] = (),
        below: Sequence[str] = (),
        marked: bool = False,
        quotes: bool = True,
        columns: Sequence[str] = (),
        minibatch: int | None = None,
    ) -> Path:
        """Write a report to an HTML file that needs no other: corpus, tree, every topic with passages, and the method.

        Parameters
        ----------
        file : str or path
            Its name ends in ``.html``.
        topics : sequence of str
            Topics to include, as in ``"L3:1"``; by default, without ``below`` and ``marked``, all but those with few
            tokens.
        below : sequence of str
            Topics to include with all topics that the tree has below them.
        marked : bool, default=False
            Whether topics with a name, a note or a tag are included.
        quotes : bool, default=True
            Whether passages of documents are quoted.
        columns : sequence of str
            Columns of the corpus by which topics are shown over time and by group; by default the first that fit.
        minibatch : int, optional
            The last snapshot at or before this mini-batch is described; by default the latest one, or while the run
            trains the latest whose documents have been placed.

        Raises
        ------
        ValueError
            When the suffix is not ``.html``, no topic is marked, or a column is of no fitting kind.
        LookupError
            When there is no such topic.
        OSError
            When the file cannot be written.
        store.errors.NotFound
            When there is no such column.
        """
        from topiary.app.export.report import write_report

        db, row = self._opened.db, self._row
        snapshot = find_placed_snapshot(db, row, minibatch)
        hierarchy = self.hierarchy(snapshot.minibatch)
        chosen, roots = (find_roots(hierarchy, names, None) for names in (topics, below))
        return write_report(
            db, row, snapshot, Path(file), topics=chosen, below=roots, marked=marked, quotes=quotes, columns=columns
        )

    def fork(
        self,
        model: str | None = None,
        *,
        minibatch: int | None = None,
        minibatches: int | None = None,
        preset: str = "",
        seed: int | None = None,
        threads: int | None = None,
        name: str = "",
        wait: bool = False,
        progress: bool | Watcher = False,
        **settings: Any,
    ) -> "Run":
        """Start a new run from a snapshot of this one, with another model, seed or settings.

        Parameters
        ----------
        model : str, optional
            By default that of this run; "sdatm" also learns from labels.
        minibatch : int, optional
            The new run starts from the snapshot at or before it; by default from the latest one.
        minibatches, seed : int, optional
            By default those of this run.
        preset, threads, name, wait, progress, **settings
            As in :meth:`Store.train`; settings that are not given are those of this run.

        Raises
        ------
        NewRunError
            If the model cannot start from that snapshot, or an argument has an invalid value.
        """
        given = settings | {
            "minibatches": minibatches, "preset": preset, "seed": seed, "threads": threads, "name": name,
        }  # fmt: skip
        origin = find_origin(self._opened.db, self.number, minibatch=minibatch)
        (row,), _ = control.start_runs(self._opened.db, request_fork(origin, **make_fields(model, given)))
        made = Run(self._opened, row.number)
        return made.wait(progress=progress) if wait else made

    def edit(
        self,
        kind: str,
        *,
        topics: Sequence[str] | str = (),
        words: Sequence[str] | str = (),
        strength: str = "medium",
        name: str = "",
        author: str | None = None,
    ) -> int:
        """Tell the topics of the run what you know; return the number of the edit in its journal.

        A run that trains makes the edit after its present step.  A finished one needs :meth:`apply_edits` too.

        Parameters
        ----------
        kind : str
            "seed" makes a new topic of layer 1 from words; "keep" and "out" keep words in a topic or out of it; "ban"
            keeps words out of all topics; "pin" keeps a topic as it is, until "unpin"; "merge" moves the words of the
            second topic into the first; "split" makes two topics of one; "remove" gives the words of a topic to the
            others; "place" puts a topic below one of the layer above.
        topics : sequence of str
            Topics such as ``"L1:17"``.
        words : sequence of str
            Words of the corpus.
        strength : {"weak", "medium", "strong"}
            How much the words of "seed" and "keep" weigh from then on.
        name : str
            A name for the new topic.
        author : str, optional
            The user of this machine by default.

        Raises
        ------
        EditRefused
            When it cannot be done; the message says why, and names words near an unknown one.
        LookupError
            When there is no such topic.
        """
        order = self._write_order(kind, topics, words, strength, name)
        (added,) = steering.queue_edits(self._opened.db, self.number, [order], author)
        return added.edit

    def preview_edit(
        self, kind: str, *, topics: Sequence[str] | str = (), words: Sequence[str] | str = ()
    ) -> pd.DataFrame:
        """Return the topics of layer 1 that an edit would make and change, by identity; nothing is changed.

        It is tried on the topics of all tokens at the last checkpoint.  Columns: their first words, their tokens, the
        documents that have some of them, and their shares in the tokens of all these topics.

        Raises
        ------
        EditRefused
            When it cannot be done, or cannot be tried; the message says why.
        """
        preview = preview_edit(self._opened.db, self._row, self._write_order(kind, topics, words))
        return pd.DataFrame(preview.list_rows(), columns=["topic", "words", "tokens", "documents", "share"]).set_index(
            "topic"
        )

    def suggest_edits(self) -> pd.DataFrame:
        """Return edits that may be worth while, as they are written on the command line, and why; none is made.

        Merges and splits are judged by the likelihood where the topics of all tokens are known, else merges by the
        likeness of words.
        """
        db, row = self._opened.db, self._row
        found = suggest_edits(self.hierarchy(None), list_steerable(db, row)[0], find_hints(db, row))
        return pd.DataFrame([(each.command, each.sentence) for each in found], columns=["edit", "why"])

    def _write_order(self, kind: str, topics: Sequence[str] | str, words: Sequence[str] | str, *rest: str) -> EditOrder:
        """Return an edit of topics of the newest snapshot."""
        named = [topics] if isinstance(topics, str) else list(topics)
        nodes = self.hierarchy(None).find_topics(named) if named else []
        return EditOrder(kind, tuple(nodes), (words,) if isinstance(words, str) else tuple(words), *rest)

    @property
    def edits(self) -> pd.DataFrame:
        """The journal of edits, by number: state, kind, topics, words, step, what each did and the perplexities."""
        rows = [each._asdict() for each in self._reader.edits(self._row)]
        return pd.DataFrame(rows, columns=list(JournalEntry._fields)).set_index("number")

    def apply_edits(self, steps: int = steering.MORE) -> "Run":
        """Have the edits that wait made, and return the run that makes them.

        A finished run goes on as a new one, which trains ``steps`` more; one that was paused or stopped is resumed.
        """
        return Run(self._opened, steering.apply_edits(self._opened.db, self.number, steps).number)

    def undo_edit(self, number: int) -> "Run":
        """Undo an edit and all after it, and return the run that goes on from before it; see :attr:`edits`.

        An edit that still waits is withdrawn, and the run is the same.
        """
        return Run(self._opened, steering.undo_edit(self._opened.db, self.number, int(number)).number)

    def pause(self) -> None:
        """Pause the run after the current mini-batch."""
        control.pause_run(self._opened.db, self.number)

    def stop(self) -> None:
        """Stop the run after the current mini-batch."""
        control.stop_run(self._opened.db, self.number)

    def resume(self, *, on: str = "") -> None:
        """Resume a run that was paused, stopped or killed, or that failed, from its checkpoint.

        ``on`` is "here" or "gpu" for a run whose documents the processor or a graphics processor sweeps from now on.  A
        run that is spread over graphics processors goes on "here" by the processors of the same workers.
        """
        control.resume_run(self._opened.db, self.number, on)

    def delete(self) -> None:
        """Delete the run and everything that belongs to it."""
        control.delete_run(self._opened.db, self.number)

    def rename(self, name: str) -> None:
        """Give the run a name; "" removes it."""
        control.rename_run(self._opened.db, self.number, name)

    def rename_topic(self, topic: str, name: str) -> None:
        """Give a topic such as "L3:17" a name, shown everywhere instead of its title; "" removes it.

        Raises
        ------
        LookupError
            When there is no such topic.
        """
        node = self.hierarchy(None).find_topic(topic)
        notes.set_label(self._opened.db, self.number, node.layer, node.column + 1, name)
        self._record(f"named topic {format_identity(node)} of", f" {name}")

    def notes(self, topic: str | None = None, document: int | None = None) -> pd.DataFrame:
        """Return the notes and tags on the topics of the run and on the documents of its corpus, oldest first.

        Parameters
        ----------
        topic : str, optional
            Only those on this topic, such as "L3:17".
        document : int, optional
            Only those on this document of the corpus, counted from 0.

        Returns
        -------
        pandas.DataFrame
            By number: topic and its title, or document (the other is missing), kind ("note" or "tag"), text, author,
            and created, the time of writing.
        """
        rows = list_run_notes(self._opened.db, self._row, topic=topic, document=document)
        columns = ["number", "topic", "title", "document", "kind", "text", "author", "created"]
        return pd.DataFrame(rows, columns=columns).astype({"document": "Int64"}).set_index("number")

    def add_note(
        self,
        text: str,
        *,
        topic: str | None = None,
        document: int | None = None,
        tag: bool = False,
        author: str | None = None,
    ) -> int:
        """Add a note to a topic of the run, or to a document of its corpus; return its number.

        Parameters
        ----------
        text : str
            At most 4,000 characters, of a tag 60.
        topic, document : str and int
            One of the two: a topic, such as "L3:17", or a document of the corpus, counted from 0.
        tag : bool, default=False
            Whether the text is a tag.
        author : str, optional
            The user of this machine by default.

        Raises
        ------
        LookupError
            When there is no such topic.
        NotFound
            When there is no such document.
        ValueError
            When a topic and a document are given, or neither.
        StoreError
            When the text is empty or too long.
        """
        note = add_run_note(
            self._opened.db, self._row, text, topic=topic, document=document, tag=tag, author=author
        )  # fmt: skip
        subject = topic or f"document {document}"
        self._record(f"added a {note['kind']} to {subject} of")
        return int(note["number"])

    def delete_note(self, number: int) -> None:
        """Delete a note or a tag by its number.

        Raises
        ------
        NotFound
            When there is none with this number.
        """
        notes.delete_note(self._opened.db, int(number))
        self._record(f"deleted note {number} of")

    def carry_notes(self, to: "Run") -> pd.DataFrame:
        """Copy the names, notes and tags of the topics of this run to the same topics of another run on its corpus.

        Topics are the same if :meth:`compare` matches them and their words are more alike than by chance, or if a user
        decided it.  A topic that has a name keeps it.  Notes on documents belong to the corpus, so all of its runs
        have them.

        Returns
        -------
        pandas.DataFrame
            By topic of this run that has a name or a note: target (its topic there, None if there is none), name,
            is_named (whether the target got it), notes (how many there are) and carried (how many the target got).

        Raises
        ------
        StoreError
            When the runs are the same, or on different corpora.
        """
        from topiary.app.analysis.carry import carry_annotations

        db = self._opened.db
        comparison = self._reader.compare(self.hierarchy(None), to.hierarchy(None))
        rows = [
            {
                "topic": format_identity(each.source),
                "target": None if each.target is None else format_identity(each.target),
                **{name: getattr(each, name) for name in ("name", "is_named", "notes", "carried")},
            }
            for each in carry_annotations(db, comparison)
        ]
        self._record("carried names and notes of", f" to run {to.number}")
        columns = ["topic", "target", "name", "is_named", "notes", "carried"]
        return pd.DataFrame(rows, columns=columns).set_index("topic")

    def _record(self, action: str, detail: str = "") -> None:
        """Record an action on the run in the audit log."""
        logs.record_action(self._opened.db.place, f"{action} run {self.number}{detail}")
