"""What the pages Trends and Word share: figures measured in the documents that filters select, in another thread."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.pages.components import Board
from topiary.app.pages.messages import LatestRequest, MessagePart
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
