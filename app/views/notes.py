"""Notes and tags on a topic or a document: the fold that shows them, with its form."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

from topiary.app.analysis.notes import LONGEST_AUTHOR, LONGEST_NOTE, LONGEST_TAG, Note
from topiary.app.views.html import render

LONGEST = SimpleNamespace(note=LONGEST_NOTE, tag=LONGEST_TAG, author=LONGEST_AUTHOR)  # characters


class NoteForm(NamedTuple):
    """The form below notes.

    Attributes
    ----------
    subject : str
        What the notes are on: the identity of a topic, or the number of a document.
    what : str
        The same for users, such as "this topic".
    known_tags : sequence of str
        Tags in use, proposed while one is typed.
    sent : int
        How often the visitor has added something, after which the form is empty again.
    focus : bool
        Whether the field of the text takes the focus.
    """

    subject: str
    what: str
    known_tags: Sequence[str] = ()
    sent: int = 0
    focus: bool = False


def draw_notes(notes: Sequence[Note], form: NoteForm) -> str:
    """Return the fold with the notes and tags on a topic or document; it is open where there are any."""
    return render("notes.fold", notes, form, LONGEST)
