"""The notes that visitors write on Explore and Documents, and those above a document that is read."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from topiary.app.analysis.notes import Note, read_document_notes
from topiary.app.pages.components import Board
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.views.explore.detail import NoteForm, draw_notes
from topiary.store import notes, runs
from topiary.store.notes import NOTE, TAG, NewNote


class NoteWriter(MessagePart):
    """Adds, changes and deletes notes.

    Parameters
    ----------
    prepare : (subject, new) -> work or None
        Return the function that adds notes to the topic or document that a text from the browser names; None if it
        names none on screen.
    changed : () -> None
        Called in the session after each change.

    Attributes
    ----------
    sent : int
        How often the visitor has added notes here.
    focus : bool
        Whether the field for the next note takes the focus.
    """

    def __init__(
        self,
        context: Context,
        prepare: Callable[[str, Sequence[NewNote]], Callable[[], None] | None],
        changed: Callable[[], None],
    ) -> None:
        self.sent = 0
        self.focus = False
        super().__init__(context)
        self._prepare = prepare
        self._changed = changed

    @on("note-add")
    def _add(self, message: dict[str, Any], author: str = "", text: str = "", tag: str = "") -> None:
        """Add what was written to the topic or document that ``id`` names."""
        texts = {NOTE: text, TAG: tag}
        new = [NewNote(text, kind, author) for kind, text in texts.items() if text.strip()]
        work = self._prepare(str(message.get("id", "")), new)
        if not new:
            self._context.notify("Write a note or a tag first.", "info")
        elif work is not None:
            self._context.later(work, self._receive_new)

    @on("note-change")
    def _change(self, number: int, value: str, author: str = "") -> None:
        self._context.later(partial(self._context.actions.change_note, number, value, author), self._receive_change)

    @on("note-delete")
    def _delete(self, number: int) -> None:
        self._context.later(partial(self._context.actions.delete_note, number), self._receive_change)

    def _receive_new(self, _: None) -> None:
        self.sent += 1
        self.focus = True
        self._changed()
        self.focus = False

    def _receive_change(self, _: None) -> None:
        self._changed()


class FetchedNotes(NamedTuple):
    """The notes on a document of a run's corpus, the number of the corpus, and the tags in use there."""

    run: int
    document: int
    corpus: int
    notes: Sequence[Note]
    known_tags: Sequence[str]


def fetch_notes(context: Context, run: int, document: int) -> FetchedNotes:
    """Return the notes on a document; this waits for the store."""
    corpus = runs.get_run(context.db, run).corpus
    written = read_document_notes(context.db, corpus, [document]).get(document, ())
    return FetchedNotes(run, document, corpus, written, list(notes.count_tags(context.db, corpus)))


class DocumentNotes:
    """The notes on the document that is read.

    Parameters
    ----------
    sheets : list of str
        Style sheets of the board.

    Attributes
    ----------
    board : Board
        The notes, empty until they are read.
    """

    def __init__(self, context: Context, sheets: list[str]) -> None:
        self._context = context
        self._fetched: FetchedNotes | None = None
        self._writer = NoteWriter(context, self._prepare, self.fetch)
        self.board = Board(on_message=self._writer.handle, sheets=sheets)

    def choose(self) -> None:
        """Show the notes on the document that is read, and read them if they are not on screen."""
        view, shown = self._context.view, self._fetched
        if view.documents and (shown is None or (shown.run, shown.document) != (view.run, view.documents[0])):
            self._fetched, self.board.html = None, ""
            self.fetch()

    def fetch(self) -> None:
        """Read the notes on the document again."""
        view = self._context.view
        if view.documents:
            self._draw()
            self._context.later(partial(fetch_notes, self._context, view.run, view.documents[0]), self._receive)

    def _receive(self, fetched: FetchedNotes) -> None:
        view = self._context.view
        if view.documents and (fetched.run, fetched.document) == (view.run, view.documents[0]):
            self._fetched = fetched
            self._draw()

    def _draw(self) -> None:
        if self._fetched is None:
            return
        form = NoteForm(
            str(self._fetched.document), "this document", self._fetched.known_tags,
            self._writer.sent, self._writer.focus,
        )  # fmt: skip
        self.board.html = f'<div class="dc-notes">{draw_notes(self._fetched.notes, form)}</div>'

    def _prepare(self, subject: str, new: Sequence[NewNote]) -> Callable[[], None] | None:
        shown = self._fetched
        if shown is None or subject != str(shown.document):
            return None
        return partial(self._context.actions.add_document_notes, shown.corpus, shown.document, new)
