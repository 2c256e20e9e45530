"""Messages of browsers: which method of a page handles which; and what pages of a kind share.

Pages with trees fit them to their windows; Trends and Word measure in another thread, in the documents that filters
select.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import NoneType, UnionType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.pages.components import Board, Message, TreeView, read_aspect, read_window
from topiary.app.pages.session import Context, read_field
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.runs.run_list import explain_missing_run, explain_no_topics
from topiary.engine.hierarchy.tree import Node
from topiary.store import snapshots
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER, CorpusColumn
from topiary.store.run_rows import RunRow
from topiary.store.shares import ShareSet

_MOST_DIGITS = 15  # of a number in a message
Handler = TypeVar("Handler", bound=Callable[..., None])
Request = TypeVar("Request")  # what a page asks for: fields of the view
Contents = TypeVar("Contents")  # what it then shows


def on(*actions: str) -> Callable[[Handler], Handler]:
    """Mark a method of a `MessagePart` as a handler of the messages whose ``do`` is one of these actions.

    The method is called with the fields of the message, or of its form, that its parameters name, if they have the form
    that the types say: ``str``, ``int`` (a whole number, also as text), a `Literal`, or `Node` (of the field ``id``,
    whatever the parameter is called).  A field named as a word of Python has a line after it, as ``from_``; ``message``
    is the whole message.  A parameter with a default may be missing.
    """

    def mark(method: Handler) -> Handler:
        method.__dict__["actions"] = actions
        return method

    return mark


class MessageMethod:
    """A method that handles messages, and what it wants to know of them."""

    def __init__(self, method: Callable[..., None]) -> None:
        self._method = method
        parameters = tuple(inspect.signature(method).parameters.values())[1:]
        self._parameters = [each.replace(annotation=_leave_out_none(each.annotation)) for each in parameters]

    def call(self, part: "MessagePart", message: Message) -> bool:
        """Call the method with what it wants to know; return False if the message or the page does not have it."""
        arguments = {}
        for each in self._parameters:
            value = part.read_argument(each.name, each.annotation, message)
            if value is None and each.default is inspect.Parameter.empty:
                return False
            arguments[each.name] = each.default if value is None else value
        self._method(part, **arguments)
        return True


class MessagePart:
    """A page, or a part of one, that handles messages of the browser by its methods marked with :func:`on`.

    Parameters
    ----------
    context : Context

    Attributes
    ----------
    fields : mapping of str to str
        Fields of the view, by the action that sets one to the ``value`` of its message; an invalid value does nothing.
    presets : mapping of str to mapping
        New values of fields of the view, by the action that sets them.
    switches : sequence of str
        Fields of the view, "hidden" or "shown", that a message of their name turns over.
    helpers : sequence of MessagePart
        They get the messages that the part itself does not handle.
    """

    fields: ClassVar[Mapping[str, str]] = {}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    switches: ClassVar[Sequence[str]] = ()
    helpers: "Sequence[MessagePart]" = ()
    _methods: ClassVar[Mapping[str, Sequence[MessageMethod]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        named = {name: method for each in reversed(cls.__mro__) for name, method in vars(each).items()}
        methods: dict[str, list[MessageMethod]] = {}
        for method in named.values():
            for action in getattr(method, "actions", ()):
                methods.setdefault(action, []).append(MessageMethod(method))
        cls._methods = methods

    def __init__(self, context: Context) -> None:
        self._context = context
        self._view = context.view

    def handle(self, message: Message) -> bool:
        """Handle a message, whose contents are not trusted; return False if it is not for this part."""
        action = message["do"]
        if action in self.fields:
            self._put_text(self.fields[action], str(message.get("value", "")))
        elif action in self.presets:
            self._put(**self.presets[action])
        elif action in self.switches:
            self._put(**{action: "hidden" if getattr(self._view, action) == "shown" else "shown"})
        elif not any(method.call(self, message) for method in self._methods.get(action, ())):
            return any(helper.handle(message) for helper in self.helpers)
        return True

    def read_argument(self, name: str, kind: Any, message: Message) -> Any:
        """Return what a handler wants to know as ``kind``: by default a field of the message; None if there is none."""
        if name == "message":
            return message
        form, key = message.get("form"), "id" if kind is Node else name.rstrip("_")
        value = message.get(key, form.get(key) if isinstance(form, dict) else None)
        if kind is Node:
            return parse_identity(value) if isinstance(value, str) else None
        if kind is int:
            return _read_number(value)
        if get_origin(kind) is Literal:
            return value if value in get_args(kind) else None
        return value if isinstance(value, get_origin(kind) or kind) else None

    def _put(self, **fields: Any) -> None:
        self._view.param.update(**fields)

    def _open_topic(self, topic: Node) -> None:
        """Open a topic in Explore, as the root of what is drawn."""
        roots = (format_identity(topic),)
        self._put(page="explore", layer=topic.layer, topic=topic.column + 1, roots=roots, tab="")

    def _put_text(self, field: str, text: str) -> None:
        """Set a field to the value that a text stands for; ignore an invalid text."""
        with suppress(ValueError):
            self._put(**{field: read_field(field, text)})


def _leave_out_none(kind: Any) -> Any:
    """Return the type in a union with None; any other type as it is."""
    return next(each for each in get_args(kind) if each is not NoneType) if isinstance(kind, UnionType) else kind


def _read_number(value: object) -> int | None:
    """Return a whole number that is not negative; None for anything else."""
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


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


class TreePage(MessagePart, ABC):
    """A page with trees that are drawn to fit the shape of their windows.

    Parameters
    ----------
    context : Context
    trees : mapping of str to TreeView
        The trees by the side that their messages name; "" for a single tree.
    boards : sequence of Board
    aspect : float
        Width / height of a window until the browser has measured it.
    """

    def __init__(
        self, context: Context, trees: Mapping[str, TreeView], boards: Sequence[Board], *, aspect: float
    ) -> None:
        super().__init__(context)
        self._trees = trees
        self._boards = boards
        self._aspect = aspect
        self._window = (1010.0, 652.0)  # pixels, until the browser has measured it
        if list(trees) == [""] and (known := read_aspect(context.window, aspect)) is not None:
            self._aspect, self._window = known, read_window(context.window)
        self._is_exact = False  # whether the picture on screen is drawn for these pixels
        self._replaced: int | None = None  # length of the picture that the browser still has while a new one is sent

    @abstractmethod
    def _draw_again(self) -> None:
        """Draw the trees again."""

    @abstractmethod
    def _fetch(self) -> None:
        """Read what is on screen again, after a change of the store."""

    def _change_tree(self, **fields: Any) -> None:
        """Change the trees on screen."""
        self._put(**fields)

    @on("threshold")
    def _set_threshold(self, value: str) -> None:
        if (threshold := read_threshold(value)) is not None:
            self._change_tree(threshold=threshold)

    @on("more")
    def _draw_more(self) -> None:
        self._put(most=2 * self._view.most)

    def _rename_topic(self, run: int, node: Node, name: str) -> None:
        rename = partial(self._context.actions.rename_topic, run, node.layer, node.column + 1, name[:120])
        self._context.later(rename, lambda _: self._fetch())

    @on("size")
    def _resize(self, message: dict[str, Any]) -> None:
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
        before, self._window = self._window, read_window(message)
        if aspect != self._aspect or (self._is_exact and before != self._window):
            self._aspect = aspect
            self._replaced = None if tree is None else len(tree.svg)
            self._draw_again()


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


class MeasuredAnswer(NamedTuple, Generic[Request, Contents]):
    """What was asked for and what the page shows of it; without contents, the note of a page that cannot be shown.

    ``shares`` are the shares of documents that were read, where the page may need to read them again.
    """

    request: Request
    contents: Contents | None
    note: str = ""
    shares: ShareSet | None = None


class MeasuredPage(MessagePart, ABC, Generic[Request, Contents]):
    """A page that shows on one board what is measured: it stays, dimmed, until what the view asks for is there.

    Parameters
    ----------
    context : Context
    page : str
        The page, as in the view.
    fields : sequence of str
        The fields of the view on which a request depends.
    waiting : str
        A sentence for the time until there is a first answer.

    Attributes
    ----------
    answer : MeasuredAnswer or None
        The last one; None while there is none to the present request.
    """

    def __init__(self, context: Context, page: str, fields: Sequence[str], waiting: str) -> None:
        super().__init__(context)
        self.answer: MeasuredAnswer[Request, Contents] | None = None
        self.board = Board(on_message=self.handle, sheets=["menu", "explore", "trends"])
        self._page = page
        self._waiting = waiting
        self._latest: LatestRequest[Request] = LatestRequest(context, self.fetch)
        context.view.param.watch(self._on_view, ["page", *fields])

    @abstractmethod
    def _make_request(self) -> Request:
        """Return what the view asks for."""

    @abstractmethod
    def _read(
        self, request: Request, known: MeasuredAnswer[Request, Contents] | None
    ) -> MeasuredAnswer[Request, Contents]:
        """Measure what is asked for, unless it is known; this waits for the store."""

    @abstractmethod
    def _keeps(self, shown: Request, request: Request) -> bool:
        """Return whether what is on screen stays while something else is measured."""

    @abstractmethod
    def _draw_sentence(self, sentence: str) -> str:
        """Return the page with a sentence in place of everything else."""

    @abstractmethod
    def _draw_answer(self, answer: MeasuredAnswer[Request, Contents], contents: Contents, *, busy: bool) -> str:
        """Return the page, dimmed if it is busy."""

    def _on_view(self, *_: Any) -> None:
        if self._view.page == self._page:
            self.fetch()

    def fetch(self, known: MeasuredAnswer[Request, Contents] | None = None) -> None:
        """Measure what the view asks for in another thread; what is ``known`` is not measured again."""
        request = self._make_request()
        if self.answer is not None and not self._keeps(self.answer.request, request):
            self.answer = None
        self.draw()
        self._latest.send(request, partial(self._read, request, known), self._receive)

    def _receive(self, answer: MeasuredAnswer[Request, Contents]) -> None:
        if answer.request == self._make_request():
            self.answer = answer
            self.draw()

    def draw(self) -> None:
        """Draw the last answer, or a sentence."""
        answer = self.answer
        if answer is None:
            self.board.html = self._draw_sentence(self._waiting)
        elif answer.contents is None:
            self.board.html = self._draw_sentence(answer.note)
        else:
            busy = answer.request != self._make_request()
            self.board.html = self._draw_answer(answer, answer.contents, busy=busy)


def find_topics(context: Context, run: int, snapshot: int) -> tuple[RunRow, Hierarchy] | str:
    """Return a run and its topics at a snapshot (0: the newest one), or a sentence on why there are none."""
    feed = context.feed
    row = feed.run(run)
    if row is None:
        return explain_missing_run(run)
    hierarchy = feed.hierarchy(run, snapshot or None)
    return explain_no_topics(run, feed.state(run), row.message) if hierarchy is None else (row, hierarchy)


class OfferedColumns(NamedTuple):
    """The names of the columns of dates and of groups, and that of each which is shown, empty without any."""

    dates: list[str]
    groups: list[str]
    date: str
    group: str


def offer_columns(columns: Sequence[CorpusColumn], wanted: str) -> OfferedColumns:
    """Return the columns by which documents can be ordered in time and grouped; the first are shown by default."""
    dates = [column.name for column in columns if column.kind == DATE]
    groups = [column.name for column in columns if column.kind in (CATEGORY, NUMBER)]
    shown = (wanted if wanted in names else next(iter(names), "") for names in (dates, groups))
    return OfferedColumns(dates, groups, *shown)
