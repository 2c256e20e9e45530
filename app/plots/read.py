"""The data of figures, read from the store with the same functions that pages and commands use."""

from dataclasses import dataclass
from functools import cached_property

from topiary.app.analysis.comparison import Comparison, compare
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.reader import StoreReader
from topiary.app.live.history import History, PointColumns
from topiary.app.names import name_inference, name_model
from topiary.app.plots.request import FigureRequest
from topiary.engine.hierarchy.tree import Node
from topiary.store import points, runs
from topiary.store.database import Database
from topiary.store.run_rows import RunRow


@dataclass(frozen=True)
class Source:
    """A run of a store, as the source of a figure's data."""

    db: Database
    number: int

    @cached_property
    def reader(self) -> StoreReader:
        """What reads topics and documents."""
        return StoreReader(self.db)

    @cached_property
    def row(self) -> RunRow:
        """The row of the run."""
        return runs.get_run(self.db, self.number)

    @cached_property
    def history(self) -> History:
        """All points of the run."""
        history = History(self.number, self.row.attempt)
        history.add(points.read_points(self.db, self.number))
        return history

    def curve(self, name: str, layer: int = 0) -> PointColumns:
        """Return the points of one measured curve."""
        return self.history.after(name, layer)

    def hierarchy(self, minibatch: int | None = None) -> Hierarchy:
        """Return the hierarchy of the snapshot at or before a mini-batch (None = the newest)."""
        return self.reader.hierarchy_at(self.row, minibatch)


def name_source(source: Source) -> str:
    """Return the name of a run for a legend, or its number and model if it has none."""
    row = source.row
    widths = "-".join(map(str, row.layers))
    return row.name or " ".join(
        filter(None, (f"run {row.number}: {name_model(row.model)}", name_inference(row.model, row.inference), widths))
    )


def shorten_name(source: Source) -> str:
    """Return the name of a run for the head of a narrow column, or its number and seed if it has none."""
    return source.row.name or f"run {source.number}, seed {source.row.seed}"


def choose_layer(hierarchy: Hierarchy, request: FigureRequest, usual: int) -> int:
    """Return the layer of a figure: the requested one, that of the requested topics, or the ``usual`` one.

    Raises
    ------
    LookupError
        When there is no such layer or topic, or a topic is of another layer.
    """
    own = request.layer or (hierarchy.find_topic(request.topic[0]).layer if request.topic else usual)
    hierarchy.at_rank(own, 1)
    hierarchy.find_topics(request.topic, own)
    return own


def choose_topics(hierarchy: Hierarchy, layer: int, request: FigureRequest, usual: int) -> list[Node]:
    """Return the requested topics, or the most popular ones of a layer (``usual`` many unless requested)."""
    return hierarchy.find_topics(request.topic) or hierarchy.nodes(layer)[: request.most or usual]


def match_sources(one: Source, other: Source, minibatch: int | None = None) -> Comparison:
    """Match the topics of two runs, following the decisions of analysts.

    Raises
    ------
    ReadError
        When the two have no word in common.
    """
    a, b = one.hierarchy(minibatch), other.hierarchy(minibatch)
    try:
        return one.reader.compare(a, b) if one.db.url == other.db.url else compare(a, b)
    except ValueError as error:
        raise ReadError(str(error)) from error
