"""From what people decided, as the store keeps it, to what the engine honours."""

from engine.align import NONE, Fixed
from store import matches
from store.database import Database


def decisions(db: Database, run_a: int, run_b: int) -> frozenset[Fixed]:
    """Give the decisions about two runs, topics counted from 0 and `NONE` instead of a missing partner."""
    return frozenset(Fixed(each.layer, _column(each.a), _column(each.b)) for each in matches.every(db, run_a, run_b))


def _column(topic: int) -> int:
    return topic - 1 if topic > 0 else NONE
