"""Topics as CSV, one row per topic; every text is quoted, so that readers do not guess its type."""

import csv
import io
from typing import Any

from app.export.cells import cells

_COLUMNS = ("layer", "rank", "topic", "share", "name", "title", "words", "light", "role", "npmi")


def render(table: list[dict[str, Any]]) -> str:
    """Write a header and the rows; the words are separated by blanks, a light topic has 1, an unknown NPMI is empty."""
    text = io.StringIO()
    sides = ("side",) if table and "side" in table[0] else ()
    writer = csv.DictWriter(text, (*sides, *_COLUMNS), quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writeheader()
    for row in table:
        npmi = "" if row["npmi"] is None else row["npmi"]
        writer.writerow(cells(row | {"words": " ".join(row["words"]), "light": int(row["light"]), "npmi": npmi}))
    return text.getvalue()
