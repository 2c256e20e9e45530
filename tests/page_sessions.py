"""A page on a small store, without a browser: what it asks to be done elsewhere waits until a test does it."""

from typing import Any, Self

from app.feed import Feed
from app.session import Context, View
from store.database import Database


class PageSession:
    """What surrounds a page; a test makes the page from ``context``.

    ``tasks`` are what the page wants done elsewhere, ``in_turn`` how many of them one at a time, ``ticks`` whom it
    wants told what is new, ``told`` the messages that it shows.
    """

    def __init__(self, db: Database, page: str, /, **fields: Any) -> None:
        self.view = View(**({"page": page, "run": 1} | fields))
        self.feed = Feed(db)
        self.feed.look_now()
        self.tasks: list[Any] = []
        self.in_turn = 0
        self.ticks: list[Any] = []
        self.told: list[str] = []
        self.context = Context(
            view=self.view,
            feed=self.feed,
            db=db,
            actions=None,  # type: ignore[arg-type]
            on_tick=self.ticks.append,
            later=lambda work, then: self.tasks.append((work, then)),
            in_turn=self._in_turn,
            soon=lambda work: work(),
            tell=lambda message, kind: self.told.append(message),
        )

    def _in_turn(self, work: Any, then: Any) -> None:
        self.in_turn += 1
        self.tasks.append((work, then))

    def work(self, steps: int = 99) -> Self:
        """Do what waits, and what that asks for; at most so many pieces of work."""
        for _ in range(steps):
            if not self.tasks:
                break
            work, then = self.tasks.pop(0)
            then(work())
        return self
