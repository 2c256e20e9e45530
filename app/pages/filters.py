"""The filters of documents by columns, which several pages share."""

from app.analysis.filters import Condition, FilterSources, parse_condition, select_by_conditions
from app.analysis.hierarchy import Hierarchy
from app.analysis.shares import LayerUse
from app.ingest.column_kinds import list_columns
from app.pages.components import Message
from app.pages.session import Context, View
from engine.contract import Array
from store import columns
from store.column_rows import CorpusColumn
from store.corpus_rows import CorpusRow
from store.errors import NotFound

_LONGEST = 200  # characters of a condition


def open_sources(context: Context, corpus: CorpusRow, hierarchy: Hierarchy | None) -> FilterSources:
    """Return where filters read the columns of a corpus, and the shares of topics in its documents."""

    def read_column(column: CorpusColumn) -> Array:
        key = corpus.number, corpus.documents, column
        return context.feed.columns.fetch(key, lambda: columns.read_column(context.db, corpus, column))

    def read_use(layer: int) -> LayerUse:
        found = None if hierarchy is None else context.feed.shares.find(hierarchy.run, hierarchy.snapshot)
        if found is None:
            raise NotFound("the shares of the documents are not known yet: they are computed when the run ends")
        return context.feed.shares.read(found, layer)

    place = hierarchy.place if hierarchy is not None else lambda node: node.column
    return FilterSources(list_columns(context.db, corpus), read_column, read_use, place)


def read_selection(
    context: Context, corpus: CorpusRow, hierarchy: Hierarchy | None, where: tuple[str, ...]
) -> Array | None:
    """Return which documents meet all conditions, as a mask; None without conditions.

    Raises
    ------
    FilterError, NotFound
        If a condition means nothing in this corpus, or shares that it needs are not known.
    """
    if not where:
        return None
    sources = open_sources(context, corpus, hierarchy)
    return select_by_conditions(sources, [parse_condition(text) for text in where], corpus.documents)


def handle_filter(view: View, message: Message) -> bool:
    """Add or remove a condition that a message asks for; return False if it asks for nothing of the kind."""
    match message:
        case {"do": "filter", "form": {"column": str(column), "value": str(value)}}:
            add_condition(view, str(Condition(column[: _LONGEST // 2], value.strip()[: _LONGEST // 2])))
        case {"do": "unfilter", "value": str(text)}:
            view.param.update(where=tuple(each for each in view.where if each != text), table_page=1)
        case _:
            return False
    return True


def add_condition(view: View, text: str) -> None:
    """Add a condition to those of the view."""
    if "=" in text[1:] and text not in view.where:
        view.param.update(where=(*view.where, text[:_LONGEST]), table_page=1)
