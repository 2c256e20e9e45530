"""Pieces of the lists of Explore: a weight as a bar, and the heading of a list."""

from app.views.text import number


def bar(weight: float, most: float, hint: str) -> str:
    """A weight as a part of the largest, and as a number that ``hint``, a `title` attribute, explains."""
    return f'<i style="--part:{100 * abs(weight) / most:.1f}%"></i><small{hint}>{number(weight)}</small>'


def heading(word: str, note: str, hint: str) -> str:
    """The heading of a list, with a note beside it that ``hint`` explains."""
    return f'<h3>{word} <small title="{hint}">{note}</small></h3>'
