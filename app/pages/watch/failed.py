"""The card that stands above everything else on the watch page when a run has failed or fallen silent."""

from functools import partial
from typing import Any

from app.jobs.forks import list_remedies
from app.live.ticks import Tick
from app.pages.components.board import Board, Message
from app.pages.session import ANOTHER_RUN, Context
from app.views.markup import run_title
from app.views.runs.notices import DAMAGED_WAYS, SILENT_WAYS, Log, damaged, failed
from store.run_rows import RunRow


class FailedRun:
    """What went wrong with the run looked at, and the buttons that may mend it.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log: tuple[int, Log] | None = None
        self.board = Board(on_message=self._on_board)
        context.view.param.watch(self._on_view, ["page", "run"])
        context.on_tick(self._on_tick)
        self._draw()

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page == "watch":
            self._draw()

    def _on_tick(self, _: Tick) -> None:
        self._on_view()

    def _draw(self) -> None:
        feed, number = self._context.feed, self._context.view.run
        run, state = feed.run(number), feed.state(number)
        if run is None:
            self.board.html = ""
            return
        ways = {"silent": SILENT_WAYS, "damaged": DAMAGED_WAYS}.get(state) or list_remedies(run)
        log = self._log[1] if self._log is not None and self._log[0] == number else None
        self.board.html = failed(run, state, ways, log) + damaged(feed.damage(number))

    def _on_board(self, message: Message) -> None:
        context, run = self._context, self._context.feed.run(self._context.view.run)
        if run is None:
            return
        match message:
            case {"do": "retry"}:
                context.later(partial(context.actions.retry, run.number), self._retried)
            case {"do": "resume"}:
                context.later(partial(context.actions.resume, run.number), lambda _: None)
            case {"do": "log"}:
                context.later(partial(context.actions.log, run.number), partial(self._read, run.number))
            case {"do": "delete", "form": {"typed": str(typed)}}:
                self._delete(run, typed)

    def _retried(self, new: RunRow) -> None:
        self._context.notify(f"Run {new.number} starts with smaller mini-batches.", "success")
        self._context.view.param.update(run=new.number, **ANOTHER_RUN)

    def _read(self, run: int, found: tuple[str, list[str]]) -> None:
        self._log = (run, Log(*found))
        self._draw()

    def _delete(self, run: RunRow, typed: str) -> None:
        if typed != run_title(run):
            self._context.notify(f"Run {run.number} stays: the name typed was not its name.", "warning")
            return
        told = partial(self._context.notify, f"Run {run.number} is deleted.", "success")
        self._context.later(partial(self._context.actions.delete, run.number), lambda _: told())
