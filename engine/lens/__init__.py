"""Topic shares by group and time with intervals, what is typical of a selection, and badly explained documents."""

from typing import Literal, TypeAlias

UNITS = ("day", "week", "month", "quarter", "year", "decade")  # lengths of periods
Weighting: TypeAlias = Literal["tokens", "documents"]  # what a document counts: its tokens, or 1
