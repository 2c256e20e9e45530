"""Parts that several pages share for handling the requests of visitors."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from topiary.app.pages.components import Board, Message, TreeView, read_aspect
from topiary.app.pages.session import Context, read_field
from topiary.app.views.explore.controls import SnapshotOption
from topiary.engine.hierarchy.tree import Node
from topiary.store import snapshots
from topiary.store.run_rows import RunRow

Key = TypeVar("Key")


class LatestRequest(Generic[Key]):
    """The latest pending request of one kind; a newer request replaces it.

    A request that is already pending is not sent again at once.  Its answer may predate the change that led to the
    second request, so the request is repeated after the answer.

    Parameters
    ----------
    context : Context
    repeat : () -> None
        Sends the request for what is on screen.

    Attributes
    ----------
    pending : key or None
        The last request, until it has been answered.
    """

    def __init__(self, context: Context, repeat: Callable[[], None]) -> None:
        self.pending: Key | None = None
        self._context = context
        self._repeat = repeat
        self._repeated = False

    def send(self, key: Key, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Run ``work()`` in another thread, then ``then(result)`` in the session; repeat the request after an error."""
        self._repeated = key == self.pending
        if not self._repeated:
            self.pending = key
            self._context.later(work, partial(self._receive, key, then), partial(self._fail, key))

    def _receive(self, key: Key, then: Callable[[Any], None], answer: Any) -> None:
        if self._end(key) and self._repeated:
            self._repeat()
        then(answer)

    def _fail(self, key: Key) -> None:
        if self._end(key):
            self._repeat()

    def _end(self, key: Key) -> bool:
        """Record that a request is over; return False if another request has replaced it."""
        if key != self.pending:
            return False
        self.pending = None
        return True


class PageCallbacks(Protocol):
    """The functions of a page that its requests call."""

    @property
    def refetch(self) -> Callable[[], None]:
        """Read what is on screen again, after a change of the store."""

    @property
    def resize(self) -> Callable[[Message], None]:
        """Draw the trees again for the window size in a message."""


LentCallbacks = TypeVar("LentCallbacks", bound=PageCallbacks)
MessageHandler: TypeAlias = Callable[[Message, str], None]  # called with a message and its value as text


class PageRequests(Generic[LentCallbacks]):
    """The handler of a page with trees: it turns messages of the browser into changes of the view and the store.

    Parameters
    ----------
    context : Context
    callbacks : NamedTuple
        The functions of the page that the handler calls.
    """

    text_fields: ClassVar[Mapping[str, str]]  # fields of the view, by the action that sets them to its value
    _actions: Mapping[str, MessageHandler]  # handlers of the other actions

    def __init__(self, context: Context, callbacks: LentCallbacks) -> None:
        self._context = context
        self._view = context.view
        self._callbacks = callbacks

    def handle(self, message: Message) -> None:
        """Handle a message of the browser, whose contents are not trusted."""
        action, value = message["do"], str(message.get("value", ""))
        if action in self.text_fields:
            self._put_text(self.text_fields[action], value)
        elif action == "size":
            self._callbacks.resize(message)
        elif action == "threshold":
            if (threshold := read_threshold(value)) is not None:
                self._change_tree(threshold=threshold)
        elif action in self._actions:
            self._actions[action](message, value)

    def _change_tree(self, **fields: Any) -> None:
        """Change the trees on screen."""
        self._put(**fields)

    def _put(self, **fields: Any) -> None:
        self._view.param.update(**fields)

    def _put_text(self, field: str, text: str) -> None:
        """Set a field to the value that a text stands for; ignore an invalid text."""
        with suppress(ValueError):
            self._put(**{field: read_field(field, text)})

    def _switch(self, field: str) -> None:
        self._put(**{field: "hidden" if getattr(self._view, field) == "shown" else "shown"})

    def _rename_topic(self, run: int, node: Node, name: str) -> None:
        rename = partial(self._context.actions.rename_topic, run, node.layer, node.column + 1, name[:120])
        self._context.later(rename, lambda _: self._callbacks.refetch())


class TreePage:
    """A page with trees that are drawn to fit the shape of their windows.

    A subclass sets ``_requests``.

    Parameters
    ----------
    context : Context
    trees : mapping of str to TreeView
        The trees by the side that their messages name; "" for a single tree.
    boards : sequence of Board
    redraw : () -> None
        Draws the trees again.
    aspect : float
        Width / height of a window until the browser has measured it.
    """

    _requests: PageRequests[Any]

    def __init__(
        self,
        context: Context,
        trees: Mapping[str, TreeView],
        boards: Sequence[Board],
        redraw: Callable[[], None],
        *,
        aspect: float,
    ) -> None:
        self._context = context
        self._view = context.view
        self._trees = trees
        self._boards = boards
        self._redraw = redraw
        self._aspect = aspect
        self._replaced: int | None = None  # length of the picture that the browser still has while a new one is sent

    def _on_message(self, message: Message) -> None:
        self._requests.handle(message)

    def _resize(self, message: Message) -> None:
        """Fit the trees to the window size in a message; send everything again if the browser's picture is outdated."""
        aspect, tree = read_aspect(message, self._aspect), self._trees.get(str(message.get("side", "")))
        if aspect is None:
            return
        if tree is not None and message.get("here") not in (len(tree.svg), self._replaced):
            for view in self._trees.values():
                view.svg += " "  # the added blank makes it count as changed
            for board in self._boards:
                board.html += " "
        self._replaced = None  # it is excused once: a browser that goes on to report it has lost the new one
        if aspect != self._aspect:
            self._aspect = aspect
            self._replaced = None if tree is None else len(tree.svg)
            self._redraw()


def read_threshold(text: str) -> float | None:
    """Return the threshold that a text stands for; None if it is not valid."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1e6 else None


def list_moments(context: Context, run: int) -> tuple[SnapshotOption, ...]:
    """Return the snapshots of a run in the order of training; this waits for the store."""
    rows = snapshots.list_snapshots(context.db, run)
    return tuple(SnapshotOption(row.number, row.minibatch) for row in sorted(rows, key=lambda row: row.minibatch))


def delete_run(context: Context, run: RunRow, typed: str) -> None:
    """Delete a run if the visitor has typed its number."""
    if typed.strip() != str(run.number):
        context.notify(f"Run {run.number} stays: the number typed was not its number.", "warning")
        return
    notify = partial(context.notify, f"Run {run.number} is deleted.", "success")
    context.later(partial(context.actions.delete, run.number), lambda _: notify())
