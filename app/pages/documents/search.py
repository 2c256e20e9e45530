"""The search for documents of a corpus by their words, as both halves of the documents page have one."""

from collections.abc import Callable
from functools import partial

from app.pages.documents import loading
from app.pages.session import Context
from app.views.documents.documents_form import Nearby, Search

_LONGEST = 200  # characters that are searched for


class DocumentSearch:
    """What one field searches for in the corpus of the run looked at.

    Parameters
    ----------
    context : Context
    changed : callable
        Called when :attr:`search` has changed.

    Attributes
    ----------
    search : Search
        What is searched for, and what was found.
    """

    def __init__(self, context: Context, changed: Callable[[], None]) -> None:
        self.search = Search()
        self._context = context
        self._changed = changed
        self._asked = (0, "")  # the run whose corpus was searched last, and for what

    def find(self, text: str) -> None:
        """Search for a text as it is typed; what was searched for before is given up."""
        text = text[:_LONGEST]
        asked = self._asked = (self._context.view.run, text)
        self.search = Search(text)
        self._changed()
        if text.strip():
            work = partial(loading.search, self._context, *asked, lambda: asked == self._asked)
            self._context.aside(work, partial(self._found, asked))

    def follow(self) -> None:
        """Search anew where another run is looked at: its corpus may be another, and numbers mean others in it."""
        run, text = self._context.view.run, self.search.text
        if text.strip() and run != self._asked[0] and self._context.feed.run(run) is not None:
            self.find(text)

    def _found(self, asked: tuple[int, str], found: tuple[int, list[Nearby]]) -> None:
        if asked == self._asked:
            self.search = Search(asked[1], *found)
            self._changed()
