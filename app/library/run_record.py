"""What the store holds of a run: its state, settings and sizes, what was measured, and what happened to it."""

from html import escape
from typing import Any

import pandas as pd

from app.cli.show import all_facts
from app.jobs import launcher
from app.jobs.estimates import choose_headline, read_latest
from app.views.run_facts import format_estimate
from store import events, runs, snapshots
from store import points as points_of
from store.errors import NotFound
from store.points import Point
from store.run_rows import RunRow

from .opened import Opened


class RunRecord:
    """How a run is; the properties of :class:`Run` that only read what is stored of it."""

    def __init__(self, opened: Opened, number: int) -> None:
        self._opened = opened
        self.number = number

    @property
    def state(self) -> str:
        """One of "queued", "running", "paused", "stopped", "finished", "failed", "silent" (no worker), "damaged"."""
        return launcher.find_state(self._row)

    @property
    def name(self) -> str:
        """The name that a person gave it, or ""."""
        return self._row.name

    @property
    def corpus(self) -> str:
        """The name of its corpus."""
        return self._row.corpus_name

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of its model."""
        return dict(self._row.settings)

    @property
    def info(self) -> dict[str, Any]:
        """All that ``topiary show`` tells: state, sizes, perplexities, times, settings, plan and parent."""
        return all_facts(self._opened.db, self._row)

    @property
    def points(self) -> pd.DataFrame:
        """Every measured point: minibatch, documents, seconds, name, layer (0 = of no layer) and value."""
        return pd.DataFrame(list(points_of.read_points(self._opened.db, self._row.number)), columns=list(Point._fields))

    @property
    def snapshots(self) -> pd.DataFrame:
        """Its snapshots: number, minibatch, seconds, size in bytes and when it was written."""
        rows = snapshots.list_snapshots(self._opened.db, self._row.number)
        return pd.DataFrame(rows, columns=["number", "minibatch", "seconds", "size", "created"])

    @property
    def events(self) -> pd.DataFrame:
        """What happened to it: minibatch, kind, text and when."""
        found, cursor = events.read_new_events(self._opened.db, self._row.number)
        while found and (more := events.read_new_events(self._opened.db, self.number, cursor))[0]:
            found, cursor = found + more[0], more[1]
        return pd.DataFrame(found, columns=list(events.RunEvent._fields))[["minibatch", "kind", "text", "created"]]

    def __eq__(self, other: object) -> bool:
        same_store = isinstance(other, RunRecord) and other._opened.db.url == self._opened.db.url
        return same_store and isinstance(other, RunRecord) and other.number == self.number

    def __hash__(self) -> int:
        return hash((self._opened.db.url, self.number))

    def __repr__(self) -> str:
        try:
            return f"<Run {self.number}: {self._sentence()}>"
        except NotFound:
            return f"<Run {self.number}: deleted>"

    def _repr_html_(self) -> str:
        try:
            return f"<p><b>Run {self.number}</b><br>{escape(self._sentence())}</p>"
        except NotFound:
            return f"<p><b>Run {self.number}</b><br>deleted</p>"

    def _sentence(self) -> str:
        row = self._row
        widths = "-".join(map(str, row.layers))
        named = f"{row.name}, " if row.name else ""
        best = choose_headline(row, read_latest(self._opened.db, self.number))
        ended = "" if best is None else f", {best.name} {format_estimate(best)}"
        how = f"{launcher.find_state(row)}, {row.minibatch:,} of {row.planned:,} mini-batches{ended}"
        return f"{named}{row.model} {row.inference} {widths} on {row.corpus_name}, {how}"

    @property
    def _row(self) -> RunRow:
        return runs.get_run(self._opened.db, self.number)
