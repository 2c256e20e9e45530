"""Common parts of the requests of several pages."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from app.pages.session import Context, read_field
from app.views.explore.controls import SnapshotOption
from app.views.markup import name_run
from engine.hierarchy.tree import Node
from store import snapshots
from store.run_rows import RunRow

Key = TypeVar("Key")


class LatestRequest(Generic[Key]):
    """The latest request of one kind that is under way; a later one takes its place.

    What is asked for while it is under way is not asked for twice, but it may have read the store before the change
    that the second request is about: :attr:`repeated` says that the answer has to be followed by one more request.
    """

    def __init__(self) -> None:
        self._key: Key | None = None
        self._repeated = False

    @property
    def pending(self) -> Key | None:
        """The last request that is not answered yet."""
        return self._key

    @property
    def repeated(self) -> bool:
        """True where the last request was made again while it was under way."""
        return self._repeated

    def begin(self, key: Key) -> bool:
        """Record a request; return False where it is under way already."""
        self._repeated = key == self._key
        if self._repeated:
            return False
        self._key = key
        return True

    def end(self, key: Key) -> bool:
        """Record an answer or an error; return False where something else has been requested since."""
        if key != self._key:
            return False
        self._key = None
        return True

    def forget(self) -> None:
        """Ignore the answer of the request under way."""
        self._key = None
        self._repeated = False


class PageCallbacks(Protocol):
    """The functions of a page that every class of requests calls."""

    @property
    def refetch(self) -> Callable[[], None]:
        """Read again what is on screen, after a change of the store."""


LentCallbacks = TypeVar("LentCallbacks", bound=PageCallbacks)


class PageRequests(Generic[LentCallbacks]):
    """The messages of the browser, turned into changes of the view and of the store.

    Parameters
    ----------
    context : Context
    callbacks : NamedTuple
        The functions of the page that requests call.
    """

    def __init__(self, context: Context, callbacks: LentCallbacks) -> None:
        self._context = context
        self._view = context.view
        self._callbacks = callbacks

    def _put(self, **fields: Any) -> None:
        self._view.param.update(**fields)

    def _put_text(self, field: str, text: str) -> None:
        """Set a field to the value of a text; a text that the field cannot have changes nothing."""
        with suppress(ValueError):
            self._put(**{field: read_field(field, text)})

    def _switch(self, field: str) -> None:
        self._put(**{field: "hidden" if getattr(self._view, field) == "shown" else "shown"})

    def _rename_topic(self, run: int, node: Node, name: str) -> None:
        act = partial(self._context.actions.rename_topic, run, node.layer, node.column + 1, name[:120])
        self._context.later(act, lambda _: self._callbacks.refetch())


def read_threshold(text: str) -> float | None:
    """Read a threshold; return None when it is not one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1e6 else None


def list_moments(context: Context, run: int) -> tuple[SnapshotOption, ...]:
    """List the snapshots of a run in the order of training; waits for the store."""
    rows = snapshots.list_snapshots(context.db, run)
    return tuple(SnapshotOption(row.number, row.minibatch) for row in sorted(rows, key=lambda row: row.minibatch))


def delete_run(context: Context, run: RunRow, typed: str) -> None:
    """Delete a run if its name was typed."""
    if typed != name_run(run):
        context.notify(f"Run {run.number} stays: the name typed was not its name.", "warning")
        return
    notify = partial(context.notify, f"Run {run.number} is deleted.", "success")
    context.later(partial(context.actions.delete, run.number), lambda _: notify())
