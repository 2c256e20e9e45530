"""Imports on the Runs page: which go on, whoever began them, and which ended without a corpus."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from app.views.markup import attributes
from app.views.runs.corpus_form import meter


class AddingFacts(NamedTuple):
    """An import: its number, what is added, what is done or why nothing was stored, and how much of it is done."""

    number: int
    name: str
    said: str
    share: float | None
    failed: bool


def adding(imports: Sequence[AddingFacts]) -> str:
    """Write a row for every import; nothing where there is none."""
    rows = "".join(_failed(each) if each.failed else _going(each) for each in imports)
    return f'<ul class="tp-adding" aria-label="Imports">{rows}</ul>' if rows else ""


def _going(each: AddingFacts) -> str:
    bar = meter(each.share, f"Progress of adding {each.name}")
    said = f"Adding “{escape(each.name)}”: {escape(each.said)} …"
    return f'<li{attributes(data_key=f"import{each.number}")}><p role="status">{said}</p>{bar}</li>'


def _failed(each: AddingFacts) -> str:
    acts = "".join(
        f'<button class="tp-button"{attributes(data_do=do, data_import=each.number)}>{word}</button>'
        for do, word in (("add-again", "Choose the files again"), ("dismiss", "Dismiss"))
    )
    why = f'<p class="tp-error" role="alert">“{escape(each.name)}” was not added. {escape(each.said)}</p>'
    return f'<li{attributes(data_key=f"import{each.number}")}>{why}<div class="tp-title-acts">{acts}</div></li>'
