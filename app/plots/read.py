"""The data of figures, read from the store by the functions that pages and commands use."""

from dataclasses import dataclass
from functools import cached_property

from app.analysis.comparison import Comparison, compare
from app.analysis.hierarchy import Hierarchy
from app.analysis.partners import list_decisions
from app.analysis.predictions import Classified
from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.live.history import History, PointColumns
from app.live.predictions import fetch_predictions
from app.plots.request import FigureError, FigureRequest
from engine.hierarchy.tree import Node
from store import points, runs
from store.database import Database
from store.run_rows import RunRow


@dataclass(frozen=True)
class Source:
    """One run of a store.

    Attributes
    ----------
    db : Database
    number : int
    """

    db: Database
    number: int

    @cached_property
    def row(self) -> RunRow:
        """The row of the run."""
        return runs.get_run(self.db, self.number)

    @cached_property
    def history(self) -> History:
        """Every point of the run."""
        history = History(self.number, self.row.attempt)
        history.add(points.read_points(self.db, self.number))
        return history

    def curve(self, name: str, layer: int = 0) -> PointColumns:
        """Return one measured curve."""
        return self.history.after(name, layer)

    def hierarchy(self, minibatch: int | None = None) -> Hierarchy:
        """Return the snapshot at or before a mini-batch; the newest one for None."""
        return read_hierarchy(self.db, self.row, find_snapshot_at(self.db, self.row, minibatch))

    def predictions(self, minibatch: int | None = None) -> Classified:
        """Return predictions of classes, from the store or computed.

        Raises
        ------
        ClassError
            When the run predicts none.
        """
        return fetch_predictions(self.db, self.row, find_snapshot_at(self.db, self.row, minibatch).number)


def name_source(source: Source) -> str:
    """Return the name of a run for a legend: its own name, else its number and model."""
    row = source.row
    return row.name or f"run {row.number}: {row.model.upper()} {row.inference} {'-'.join(map(str, row.layers))}"


def shorten_name(source: Source) -> str:
    """Return the name of a run for the head of a narrow column."""
    return source.row.name or f"run {source.number}, seed {source.row.seed}"


def choose_topics(hierarchy: Hierarchy, layer: int, request: FigureRequest, usual: int) -> list[Node]:
    """Return the topics of the wanted ranks, or the most popular ones, as many as wanted or ``usual``.

    Raises
    ------
    LookupError
        When there is no such layer or rank.
    """
    hierarchy.at_rank(layer, 1)
    return [hierarchy.at_rank(layer, rank) for rank in request.node] or hierarchy.nodes(layer)[: request.most or usual]


def match_sources(one: Source, other: Source, minibatch: int | None = None) -> Comparison:
    """Match the topics of two runs, respecting the decisions of analysts.

    Raises
    ------
    FigureError
        When the two have no word in common.
    """
    decided = list_decisions(one.db, one.number, other.number) if one.db.url == other.db.url else ()
    try:
        return compare(one.hierarchy(minibatch), other.hierarchy(minibatch), decided)
    except ValueError as error:
        raise FigureError(str(error)) from error
