"""Texts of a corpus and shares as a terminal shows them."""

import re

from app.views.text import format_percent as on_page

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def flat(text: object) -> str:
    """A text of a corpus as one line without control characters: they would steer the terminal, or break a table."""
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", str(text))


def percent(share: float, digits: int = 2) -> str:
    """Write a share as the pages do, with a space before the sign."""
    return on_page(share, digits).replace("%", " %")
