"""Seeds of runs that are ordered together, as people write them."""

import re

MOST_SEEDS = 100  # of one group of runs


def read_seeds(text: str) -> tuple[int, ...]:
    """Read seeds, as in ``1-5`` or ``1,3,7-9``; refuse every other text, and more than 100 of them.

    Raises
    ------
    ValueError
        With what seeds must be, for a sentence that begins with their name.
    """
    found: list[int] = []
    got = repr(text if len(text) <= 60 else f"{text[:59]}…")
    for piece in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,19})(?:\s*-\s*(\d{1,19}))?\s*", piece, re.ASCII)
        if ends is None:
            raise ValueError(f"must be seeds such as 1-5 or 1,3,7; got {got}")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not first <= last < first + MOST_SEEDS:
            raise ValueError(f"must be at most {MOST_SEEDS} seeds, the lower one first; got {got}")
        found += range(first, last + 1)
    if len(found) > MOST_SEEDS or len(found) != len(set(found)):
        raise ValueError(f"must be at most {MOST_SEEDS} seeds, each once; got {got}")
    return tuple(found)
