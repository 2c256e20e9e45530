"""Notes and tags on a topic or a document: the fold that shows them, with its form."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from topiary.app.analysis.notes import LONGEST_AUTHOR, LONGEST_NOTE, LONGEST_TAG, Note, list_remarks
from topiary.app.views.markup import write_attributes, write_element
from topiary.app.views.text import escape

_SUGGESTED = 50  # tags proposed while one is typed
_NAME_TIP = "Shown with your notes and remembered by this browser; may be empty"
_EDIT_TIP = "Double-click or F2 to change it; Ctrl+Enter or a click elsewhere keeps the change, Escape does not"


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
    tags = "".join(_draw_tag(note) for note in notes if note.is_tag)
    chips = f'<ul class="ex-labels" aria-label="Tags">{tags}</ul>' if tags else ""
    remarks = "".join(map(_draw_remark, list_remarks(notes)))
    listed = f'<ul class="ex-remarks" aria-label="Notes">{remarks}</ul>' if remarks else ""
    # Buttons in the form send its fields too, so that a changed note gets the name that stands there.
    inside = f'<form data-do="note-add" data-id="{escape(form.subject)}">{chips}{listed}{_draw_fields(form)}</form>'
    count = f" <small>{len(notes)}</small>" if notes else ""
    heading = f"<summary>Notes{count}</summary>"
    return write_element("details", heading + inside, class_="ex-fold ex-notes", open=bool(notes) or form.focus)


def _draw_tag(note: Note) -> str:
    text = escape(note.text)
    chip = write_element("span", text, title=sign_note(note)) + _draw_delete(note, f"Delete the tag {note.text}")
    return write_element("li", chip, data_key=f"n{note.number}")


def _draw_remark(note: Note) -> str:
    # Without blanks around it: they would be kept, and come into the field when the note is edited.
    text = write_element(
        "p", escape(note.text), data_edit="note-change", data_lines=True, data_number=note.number, tabindex=0,
        data_label="Text of the note", title=_EDIT_TIP,
    )  # fmt: skip
    signature = f"<small>{escape(sign_note(note))}</small>"
    return write_element("li", text + signature + _draw_delete(note, "Delete the note"), data_key=f"n{note.number}")


def _draw_delete(note: Note, label: str) -> str:
    return write_element(
        "button", "×", type="button", data_do="note-delete", data_number=note.number, aria_label=label, title=label
    )


def _draw_fields(form: NoteForm) -> str:
    """Return the fields of the form; another ``sent`` makes them new, hence empty."""
    text = write_element(
        "textarea", "", class_="tp-input", name_="text", rows=2, maxlength=LONGEST_NOTE, data_autofocus=form.focus,
        placeholder=f"A note on {form.what}", aria_label=f"Note on {form.what}",
    )  # fmt: skip
    tag = write_attributes(
        name="tag", maxlength=LONGEST_TAG, list="known-tags", autocomplete="off", placeholder="A tag",
        aria_label=f"Tag of {form.what}",
    )  # fmt: skip
    author = write_attributes(
        name="author", maxlength=LONGEST_AUTHOR, autocomplete="name", data_remember="topiary-author",
        placeholder="Your name", aria_label="Your name", title=_NAME_TIP,
    )  # fmt: skip
    inputs = "".join(f'<input class="tp-input" data-hold{attributes}>' for attributes in (tag, author))
    options = "".join(write_element("option", "", value=tag) for tag in form.known_tags[:_SUGGESTED])
    button = '<button type="submit" class="ex-soft">Add</button>'
    fields = f'{text}<div>{inputs}{button}</div><datalist id="known-tags">{options}</datalist>'
    return write_element("div", fields, class_="ex-note-form", data_key=f"{form.subject}-{form.sent}")


def sign_note(note: Note) -> str:
    """Return the author of a note, if known, and its time as text: ``Ada · 27 Nov 2026, 14:03``."""
    return " · ".join(filter(None, (note.author, _format_time(note.created))))


def _format_time(time: datetime) -> str:
    local = time.astimezone()
    return f"{local.day} {local:%b %Y, %H:%M}"
