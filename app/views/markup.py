"""Pieces of HTML used in more than one place."""

from html import escape

from app.views import words
from app.views.icons import icon
from app.views.run_facts import RunFacts


def attributes(**values: object) -> str:
    """HTML attributes, escaped: ``attributes(data_do="stop", data_run=3)``; None and False are left out."""
    return "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in values.items()
        if value is not None and value is not False
    )


def element(name: str, content: str, **values: object) -> str:
    """An HTML element: ``content`` is markup, the attribute values are text and escaped."""
    return f"<{name}{attributes(**values)}>{content}</{name}>"


def run_title(run: RunFacts) -> str:
    """The name of a run, or what it is about."""
    return run.name or f"{run.corpus_name} · {words.model(run.model)}"


def chip(state: str, wish: str = "run") -> str:
    """The state of a run as a coloured word; a request on its way is said too."""
    word = words.state(state)
    if state == "running" and wish in ("pause", "stop"):
        word = {"pause": "pausing", "stop": "stopping"}[wish]
    return f'<span class="tp-chip tp-{escape(state)}"><i></i>{escape(word)}</span>'


def delete_button(what: str, number: int) -> str:
    """Open the dialog that deletes a "run" or "corpus"."""
    about = attributes(data_open=f"delete-{number}", title="Delete", aria_label=f"delete {what} {number}")
    return f'<button class="tp-icon-button tp-danger"{about}>{icon("trash")}</button>'


def delete_dialog(what: str, number: int, name: str, loses: str) -> str:
    """Ask for the name of a "run" or "corpus" before it is deleted; ``loses`` says what goes with it."""
    delete = element("button", "Delete", type="submit", class_="tp-button tp-deadly", data_needs=name, disabled=True)
    return (
        f'<dialog id="delete-{number}" class="tp-dialog" aria-label="Delete {what} {number}">'
        f'<form data-do="delete" data-{what}="{number}"><h3>Delete {what} {number}?</h3>'
        f"<p>{loses} Type <b>{escape(name)}</b> to delete it.</p>"
        f'<input class="tp-input" name="typed" autocomplete="off" data-hold aria-label="Name of the {what}">'
        f'<div class="tp-dialog-acts"><button type="button" class="tp-button" data-close>Keep it</button>'
        f"{delete}</div></form></dialog>"
    )
