"""What the pages Trends and Word share: figures measured in the documents that filters select, in another thread."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.pages.components import Board
from topiary.app.pages.requests import LatestRequest
from topiary.app.pages.session import Context
from topiary.app.views.runs.notices import explain_missing_run, explain_no_topics
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER, CorpusColumn
from topiary.store.run_rows import RunRow
from topiary.store.shares import ShareSet

Request = TypeVar("Request")  # what a page asks for: fields of the view
Contents = TypeVar("Contents")  # what it then shows


class MeasuredAnswer(NamedTuple, Generic[Request, Contents]):
    """What was asked for and what the page shows of it; without contents, the note of a page that cannot be shown.

    ``shares`` are the shares of documents that were read, where the page may need to read them again.
    """

    request: Request
    contents: Contents | None
    note: str = ""
    shares: ShareSet | None = None


class MeasuredCallbacks(NamedTuple, Generic[Request, Contents]):
    """The functions of a page that measures.

    Attributes
    ----------
    make_request : () -> request
        Returns what the view asks for.
    read : (request, known answer) -> answer
        Measures what is asked for, unless it is known; this waits for the store.
    keeps : (request on screen, request) -> bool
        Returns whether what is on screen stays while something else is measured.
    draw_sentence : (sentence) -> str
        Returns the page with a sentence in place of everything else.
    draw : (answer, contents, busy) -> str
        Returns the page, dimmed if it is busy.
    """

    make_request: Callable[[], Request]
    read: Callable[[Request, MeasuredAnswer[Request, Contents] | None], MeasuredAnswer[Request, Contents]]
    keeps: Callable[[Request, Request], bool]
    draw_sentence: Callable[[str], str]
    draw: Callable[[MeasuredAnswer[Request, Contents], Contents, bool], str]


class MeasuredBoard(Generic[Request, Contents]):
    """What a page shows on its board: it stays, dimmed, until what the view asks for has been measured.

    Parameters
    ----------
    context : Context
    board : Board
    fields : sequence of str
        The page, as in the view, and the fields of the view on which a request depends.
    waiting : str
        A sentence for the time until there is a first answer.
    callbacks : MeasuredCallbacks

    Attributes
    ----------
    answer : MeasuredAnswer or None
        The last one; None while there is none to the present request.
    """

    def __init__(
        self,
        context: Context,
        board: Board,
        fields: Sequence[str],
        waiting: str,
        callbacks: MeasuredCallbacks[Request, Contents],
    ) -> None:
        self.answer: MeasuredAnswer[Request, Contents] | None = None
        self._context = context
        self._board = board
        self._page = fields[0]
        self._waiting = waiting
        self._callbacks = callbacks
        self._latest: LatestRequest[Request] = LatestRequest(context, self.fetch)
        context.view.param.watch(self._on_view, ["page", *fields[1:]])

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page == self._page:
            self.fetch()

    def fetch(self, known: MeasuredAnswer[Request, Contents] | None = None) -> None:
        """Measure what the view asks for in another thread; what is ``known`` is not measured again."""
        request = self._callbacks.make_request()
        if self.answer is not None and not self._callbacks.keeps(self.answer.request, request):
            self.answer = None
        self.draw()
        self._latest.send(request, partial(self._callbacks.read, request, known), self._receive)

    def _receive(self, answer: MeasuredAnswer[Request, Contents]) -> None:
        if answer.request == self._callbacks.make_request():
            self.answer = answer
            self.draw()

    def draw(self) -> None:
        """Draw the last answer, or a sentence."""
        answer, callbacks = self.answer, self._callbacks
        if answer is None:
            self._board.html = callbacks.draw_sentence(self._waiting)
        elif answer.contents is None:
            self._board.html = callbacks.draw_sentence(answer.note)
        else:
            self._board.html = callbacks.draw(answer, answer.contents, answer.request != callbacks.make_request())


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
