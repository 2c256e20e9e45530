"""A page on a small store, without a browser: what it asks to be done elsewhere waits until a test does it."""

from typing import Any, Self

from topiary.app.live.feed import TROUBLE, Feed
from topiary.app.pages.session import Context, View
from topiary.store.database import Database


def make_context(view: View, feed: Any, later: Any, **parts: Any) -> Context:
    """Return a context for a page; ``later`` gets what it wants done elsewhere, ``parts`` are fields of the context."""
    nothing: dict[str, Any] = {"db": None, "actions": None, "on_close": lambda _: None, "notify": lambda *_: None}
    threads = {"later": later, "in_turn": later, "aside": later}
    return Context(view=view, feed=feed, soon=lambda work: work(), **(nothing | threads | parts))


class PageSession:
    """The surroundings of a page; a test makes the page from ``context``.

    ``tasks`` are what the page wants done elsewhere, ``in_turn`` how many of them one at a time, ``ticks`` the
    functions to call when something is new, ``report`` the messages that it shows.
    """

    def __init__(self, db: Database, page: str, /, **fields: Any) -> None:
        self.view = View(**({"page": page, "run": 1} | fields))
        self.feed = Feed(db)
        self.feed.look_now()
        self.tasks: list[Any] = []
        self.in_turn = 0
        self.ticks: list[Any] = []
        self.report: list[str] = []
        self.closers: list[Any] = []
        self.context = make_context(
            self.view,
            self.feed,
            self._later,
            db=db,
            on_tick=self.ticks.append,
            on_close=self.closers.append,
            in_turn=self._in_turn,
            notify=lambda message, kind: self.report.append(message),
        )

    def _later(self, work: Any, then: Any, failed: Any = None) -> None:
        self.tasks.append((work, then, failed))

    def _in_turn(self, work: Any, then: Any, failed: Any = None) -> None:
        self.in_turn += 1
        self._later(work, then, failed)

    def work(self, steps: int = 99) -> Self:
        """Do what waits, and what that asks for; at most so many pieces of work."""
        for _ in range(steps):
            if not self.tasks:
                break
            work, then, failed = self.tasks.pop(0)
            try:
                found = work()
            except TROUBLE:
                failed()
            else:
                then(found)
        return self
