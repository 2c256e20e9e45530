"""The dialog with the columns of a corpus, in which their kinds can be changed."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.names import plural
from topiary.app.views.markup import draw_options, write_element
from topiary.app.views.text import escape, shorten

KIND_NAMES = {"date": "date", "number": "number", "category": "category", "text": "text", "id": "identifier"}
_LETTERS = 40  # of the name of a column


class ColumnEntry(NamedTuple):
    """What the dialog shows of a column.

    Attributes
    ----------
    is_label : bool
        Whether it is the label of the documents, whose kind cannot be changed.
    filled, invalid : int
        Documents with a value, and documents with a text that is no value of the kind.
    categories : int
        0 for other kinds.
    """

    name: str
    kind: str
    is_label: bool
    filled: int
    invalid: int
    categories: int


def draw_column_button() -> str:
    """Return the button that opens the dialog."""
    return '<button type="button" class="ex-soft" data-open="columns-of-corpus">Columns …</button>'


def draw_column_dialog(columns: Sequence[ColumnEntry], documents: int) -> str:
    """Return the dialog; a choice of a kind sends ``kind`` with the name of the column.

    Parameters
    ----------
    documents : int
        Documents of the corpus.
    """
    rows = "".join(_draw_column(each, documents) for each in columns)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Column", "Kind", "Documents with a value"))
    table = f'<table class="tr-effects"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    text = (
        "<p>Dates are for topics over time, categories and numbers for groups, and all for filters. After a change, "
        "the texts of the column are read again, for all who use this corpus.</p>"
    )
    body = table if columns else '<p class="tr-note">This corpus has no columns.</p>'
    close = '<div class="tp-dialog-acts"><button type="button" class="tp-button" data-close>Close</button></div>'
    return (
        '<dialog id="columns-of-corpus" class="tp-dialog tr-columns" aria-label="Columns of the corpus">'
        f"<h2>Columns</h2>{text}{body}{close}</dialog>"
    )


def _draw_column(column: ColumnEntry, documents: int) -> str:
    name = escape(shorten(column.name, _LETTERS))
    if column.is_label:
        return f'<tr><th scope="row">{name}</th><td>label</td><td></td></tr>'
    options, label = draw_options(KIND_NAMES.items(), column.kind), f"Kind of {column.name}"
    kind = write_element(
        "select", options, class_="ex-select", data_change="kind", data_column=column.name, aria_label=label
    )
    filled = f"{column.filled:,} of {documents:,}"
    if column.invalid:
        filled += f"; {column.invalid:,} have another text"
    if column.categories:
        filled += f"; {plural(column.categories, 'category', 'categories')}"
    return f'<tr><th scope="row">{name}</th><td>{kind}</td><td>{filled}</td></tr>'
