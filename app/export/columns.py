"""Facts about the columns of a corpus: how many documents have a value, and the range or the categories."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from topiary.app.ingest.column_kinds import ensure_columns
from topiary.app.ingest.source import Array, Progress
from topiary.app.names import plural
from topiary.store import columns
from topiary.store.corpus_rows import CATEGORY, DATE, LABEL, NUMBER, CorpusColumn, CorpusRow
from topiary.store.database import Database

MOST_LARGEST = 3  # categories that are named
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """Facts about a column.

    Attributes
    ----------
    column, kind : str
        Its name and kind.
    is_label : bool
        Whether it is the label of the documents.
    filled : int
        Number of documents with a value.
    share : float
        Their share of all documents, 0 to 1.
    invalid : int
        Number of documents with a text that is no value of the kind, which counts as missing.
    first, last : str, float or None
        Smallest and largest value: dates and times in ISO 8601, or numbers; None for other kinds.
    categories : int or None
        Number of categories that documents have; None for other kinds.
    largest : dict of str to int
        The categories that most documents have, and the number of documents in each.
    """

    column: str
    kind: str
    is_label: bool
    filled: int
    share: float
    invalid: int
    first: str | float | None = None
    last: str | float | None = None
    categories: int | None = None
    largest: dict[str, int]

    def to_json(self) -> dict[str, object]:
        """Return the facts as plain JSON values."""
        return asdict(self)

    def describe(self) -> str:
        """Describe the range or the categories in a line; empty for texts and ids."""
        if self.categories is not None:
            named = ", ".join(f"{name} {count:,}" for name, count in self.largest.items()) or "none"
            others = self.categories - len(self.largest)
            return f"{plural(self.categories, 'category', 'categories')}: {named}" + (
                f" and {others:,} more" if others else ""
            )
        if self.first is None:
            return ""
        first, last = (f"{each:g}" if isinstance(each, float) else each for each in (self.first, self.last))
        return f"{first} to {last}"


def list_column_facts(db: Database, corpus: CorpusRow, progress: Progress | None = None) -> list[ColumnFacts]:
    """Return facts about all columns of a corpus, its label first; columns are typed before if they are not yet."""
    return [_find_facts(db, corpus, column) for column in ensure_columns(db, corpus, progress)]


def _find_facts(db: Database, corpus: CorpusRow, column: CorpusColumn) -> ColumnFacts:
    values = columns.read_column(db, corpus, column) if column.has_values or column.place == LABEL else np.empty(0)
    filled = int(np.count_nonzero(values >= 0)) if column.place == LABEL else column.filled
    common = ColumnFacts(
        column=column.name,
        kind=column.kind,
        is_label=column.place == LABEL,
        filled=filled,
        share=filled / max(corpus.documents, 1),
        invalid=column.invalid,
        largest={},
    )
    if column.kind == CATEGORY:
        return _add_categories(common, values, column.levels)
    return _add_range(common, values) if column.kind in (DATE, NUMBER) and filled else common


def _add_categories(facts: ColumnFacts, values: Array, levels: tuple[str, ...]) -> ColumnFacts:
    counts = np.bincount(values[values >= 0], minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:MOST_LARGEST]
    largest = {levels[number]: int(counts[number]) for number in order.tolist() if counts[number]}
    return ColumnFacts(**asdict(facts) | {"categories": int(np.count_nonzero(counts)), "largest": largest})


def _add_range(facts: ColumnFacts, values: Array) -> ColumnFacts:
    if facts.kind == NUMBER:
        first, last = float(np.nanmin(values)), float(np.nanmax(values))
        return ColumnFacts(**asdict(facts) | {"first": first, "last": last})
    present = values[values != np.iinfo(np.int64).min]
    moments = [_EPOCH + timedelta(milliseconds=int(each)) for each in (present.min(), present.max())]
    has_times = bool((present % 86_400_000).any())
    texts = [each.isoformat(timespec="seconds")[:-6] if has_times else each.date().isoformat() for each in moments]
    return ColumnFacts(**asdict(facts) | {"first": texts[0], "last": texts[1]})
