"""The corpora of a store as a list."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from app.ingest.report.report import Report
from app.views.markup import attributes, delete_button, delete_dialog
from app.views.runs.report import folded
from app.views.text import end_sentence


class CorpusFacts(NamedTuple):
    """A corpus: its number, name, sizes, what its reader had to say, and its record and what was appended to it."""

    number: int
    name: str
    documents: int
    words: int
    classes: int
    notes: Sequence[str]
    record: Report | None = None
    added: Sequence[str] = ()


def corpus_list(rows: Sequence[CorpusFacts]) -> str:
    """Every corpus as a row, the newest first; nothing where there is none."""
    if not rows:
        return ""
    listed = "".join(map(_row, sorted(rows, key=lambda row: -row.number)))
    return f'<section class="tp-corpora"><h2>In this store</h2><ul aria-label="Corpora">{listed}</ul></section>'


def _row(row: CorpusFacts) -> str:
    classes = f", {row.classes:,} classes" if row.classes else ""
    notes = "".join(f'<div class="tp-dim">Note: {escape(end_sentence(note))}</div>' for note in row.notes)
    record = "" if row.record is None else folded(row.record, row.number, row.added)
    return (
        f'<li{attributes(data_key=row.number)}><div><b>{escape(row.name)}</b> <span class="tp-dim">{row.documents:,} '
        f"documents, {row.words:,} words{classes}</span>{notes}{record}</div>"
        f"{delete_button('corpus', row.number)}"
        f"{delete_dialog('corpus', row.number, row.name, 'The files it was made of stay where they are.')}</li>"
    )
