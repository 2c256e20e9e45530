"""Two runs, or two snapshots of one, compared topic by topic."""

import os
from collections.abc import Iterable
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from app.analysis import comparison as pairs_of
from app.analysis.comparison import edge_changes
from app.analysis.hierarchy import Hierarchy, identity, parse_identity
from app.analysis.partners import decisions
from app.cli.compare import Request, summary_text, write_comparison
from app.export.comparison import edge_rows, summary, topic_rows
from app.views.tree.opening import choose_threshold
from engine.hierarchy.tree import Node
from store import annotations
from store.annotations import MatchDecision
from store.database import Database

CHANGED = 12  # topics that the text lists


class Comparison:
    """Which topic of A (what is compared with) is which of B (what is looked at); made by :meth:`Run.compare`."""

    def __init__(self, db: Database, found: pairs_of.Comparison, threshold: float) -> None:
        self._db, self._found, self._threshold = db, found, threshold

    @cached_property
    def summary(self) -> dict[str, Any]:
        """How far the two agree: by layer, and how many edges were kept, gained and lost."""
        return summary(self._found, self._threshold)

    @cached_property
    def topics(self) -> pd.DataFrame:
        """One row a pair: layer, topic and title of a and b (missing without a partner), score, margin and words.

        ``by_hand`` marks what a person has decided; ``entered`` and ``left`` are the words that b has and has lost.
        """
        rows = [row | _side(row, "a") | _side(row, "b") for row in topic_rows(self._found)]
        changes = ["share_change", "score", "margin", "by_hand", "absence", "entered", "left"]
        return pd.DataFrame(rows, columns=["layer", "a", "title_a", "b", "title_b", *changes])

    @cached_property
    def edges(self) -> pd.DataFrame:
        """One row for every edge above the threshold in a or b: its kind, ends, weights and their ratio."""
        return pd.DataFrame(edge_rows(edge_changes(self._found, self._threshold)))

    def decide(self, a: str | None, b: str | None) -> "Comparison":
        """Say that topic ``a`` (such as "L2:5") is topic ``b``, or that one has no partner (None); the store keeps it.

        Returns
        -------
        Comparison
            The two compared anew.

        Raises
        ------
        LookupError
            When there is no such topic.
        ValueError
            When the two are of different layers, or both None.
        """
        annotations.save_match(self._db, self._found.a.run, self._found.b.run, self._decision(a, b))
        return compare(self._db, (self._found.a, self._found.b), self._threshold)

    def undo(self, a: str | None, b: str | None) -> "Comparison":
        """Take back what was decided about these topics, and compare anew."""
        annotations.undo_match(self._db, self._found.a.run, self._found.b.run, self._decision(a, b))
        return compare(self._db, (self._found.a, self._found.b), self._threshold)

    def export(
        self, file: str | os.PathLike[str], *, layer: int | None = None, ranks: Iterable[int] = (), label: str = ""
    ) -> Path:
        """Write both trees side by side (``.svg``), or everything (``.json``).

        Parameters
        ----------
        file : str or path
        layer, ranks : int and iterable of int, optional
            Topics of B that a picture begins with.
        label : str
            Tint topics by how much they speak for this class.
        """
        view = Request(self._threshold, layer or 0, tuple(ranks), label)
        return write_comparison(self._db, (self._found.a, self._found.b), view, Path(file))

    def __repr__(self) -> str:
        return summary_text(self._found, self._threshold, CHANGED)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _decision(self, a: str | None, b: str | None) -> MatchDecision:
        one, other = _named(self._found.a, a), _named(self._found.b, b)
        layers = {node.layer for node in (one, other) if node is not None}
        if len(layers) != 1:
            raise ValueError(f"a decision is about topics of one layer; got {a} and {b}")
        return MatchDecision(layers.pop(), *(0 if node is None else node.column + 1 for node in (one, other)))


def compare(db: Database, hierarchies: tuple[Hierarchy, Hierarchy], threshold: float | None) -> Comparison:
    """Match two hierarchies, people's decisions honoured; see :meth:`Run.compare`."""
    found = pairs_of.compare(*hierarchies, decisions(db, hierarchies[0].run, hierarchies[1].run))
    return Comparison(db, found, choose_threshold(threshold, *hierarchies))


def _side(row: dict[str, Any], side: str) -> dict[str, Any]:
    topic = row[side]
    if topic is None:
        return {side: None, f"title_{side}": None}
    return {side: identity(Node(row["layer"], topic["topic"] - 1)), f"title_{side}": topic["title"]}


def _named(hierarchy: Hierarchy, topic: str | None) -> Node | None:
    node = None if topic is None else parse_identity(topic)
    if topic is not None and (node is None or not hierarchy.has(node)):
        raise LookupError(f"run {hierarchy.run} has no topic {topic!r}; topics() lists them, as in 'L1:3'")
    return node
