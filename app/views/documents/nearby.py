"""Lists of documents of the corpus, to choose one from: those found, and those nearest to another."""

from collections.abc import Sequence
from typing import NamedTuple

from app.analysis.inference import MOST
from app.views.text import escape, shorten
from app.views.traced import Source, said, traced

_DISTANCE = (
    "Hellinger distance of the shares of the topics of layer 1: 0 is the same mixture, 1 nothing in common; "
    "it has no unit"
)


class Nearby(NamedTuple):
    """A document of the corpus in a list.

    Attributes
    ----------
    number : int
    title, excerpt, label : str
    distance : float or None
        From the document asked about.
    picture : str
        Data URI, or "" where documents are texts.
    """

    number: int
    title: str
    excerpt: str
    label: str
    distance: float | None = None
    picture: str = ""


class Act(NamedTuple):
    """A button beside a document: what the server hears, the word on it, and a value that goes with it."""

    do: str
    word: str
    value: str = ""


def document_list(documents: Sequence[Nearby], acts: Sequence[Act], source: Source | None = None) -> str:
    """Write documents with their buttons; ``source`` is the snapshot that distances are of."""
    return f'<ul class="dc-list">{"".join(_row(document, acts, source) for document in documents)}</ul>'


def neighbours(documents: Sequence[Nearby] | None, done: int, total: int, acts: Sequence[Act], source: Source) -> str:
    """Write the card of the nearest documents; None while they are not known.

    Parameters
    ----------
    documents : sequence of Nearby, or None
    done, total : int
        Documents of the corpus placed so far, and to be placed.
    acts : sequence of Act
    source : Source
        The snapshot in which they were placed.
    """
    head = f'<h3 title="{escape(said(_DISTANCE, source))}">Nearest documents'
    if documents is None:
        wait = f"Placing documents of the corpus to compare with: {done:,} of {total:,} …"
        meter = f'<div class="tp-meter tp-running"><i style="width:{100 * done / max(total, 1):.0f}%"></i></div>'
        return f'<section class="dc-card">{head}</h3><p class="dc-read" role="status">{wait}</p>{meter}</section>'
    compared = f"Documents of the corpus that were placed in the topics and compared, at most {MOST:,} of them"
    among = f" <small{traced(compared, source)}>among {total:,} of the corpus</small></h3>"
    return f'<section class="dc-card">{head}{among}{document_list(documents, acts, source)}</section>'


def _row(document: Nearby, acts: Sequence[Act], source: Source | None) -> str:
    label = f"<em>{escape(shorten(document.label, 40))}</em>" if document.label else ""
    distance = ""
    if document.distance is not None:
        distance = f"<small{traced(_DISTANCE, source)}>{document.distance:.2f}</small>"
    picture = f'<img src="{document.picture}" alt="document {document.number}">' if document.picture else ""
    excerpt = f"<p>{escape(document.excerpt)}</p>" if document.excerpt else ""
    title = escape(shorten(document.title, 100) or "untitled")
    buttons = "".join(
        f'<button class="ex-soft" data-do="{act.do}" data-number="{document.number}" data-side="{act.value}" '
        f'aria-label="{act.word}: {title}">{act.word}</button>'
        for act in acts
    )
    return (
        f'<li data-key="d{document.number}">{picture}<div><strong>{title}</strong>{label}{distance}{excerpt}</div>'
        f'<span class="dc-acts">{buttons}</span></li>'
    )
