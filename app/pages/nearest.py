"""The documents nearest to one that is read, for the documents page."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Neighbour
from topiary.app.analysis.shares import find_nearest
from topiary.app.pages.documents_reading import Placement, describe_documents
from topiary.app.pages.session import Context
from topiary.app.views.documents.documents_form import ListedDocument
from topiary.engine.hierarchy.paths import cut_shares
from topiary.store import corpora
from topiary.store.shares import LayerShares

NEAREST = 8  # shown


class Surroundings(NamedTuple):
    """The nearest documents, or the progress of placing documents to compare with.

    ``layer`` is the layer whose topics are compared; ``stored`` says whether the shares of all documents are stored, so
    that none had to be placed.
    """

    done: int
    total: int
    nearest: list[ListedDocument] | None
    layer: int = 1
    stored: bool = False


def find_neighbours(context: Context, inferred: Placement, layer: int) -> Surroundings:
    """Return the documents nearest to one by the topics of a layer.

    They are sought among all documents if the shares of these are stored.  If not, the next block of a part of the
    corpus is placed, and the nearest of them are found after the last block, by the topics of layer 1.
    """
    hierarchy, answer = inferred.hierarchy, inferred.answer
    found = context.reader.find_shares(hierarchy.run, hierarchy.snapshot)
    if found is not None:
        layer = min(layer, hierarchy.n_layers)
        use = context.reader.read_use(found, layer)
        if 0 <= answer.document < found.documents:
            one = use.layer.select_rows(np.array([answer.document]))
        else:
            one = LayerShares(*cut_shares(answer.shares[layer - 1][None, :]))
        neighbours = find_nearest(use, one, NEAREST, without=answer.document)
        return Surroundings(
            found.documents, found.documents, _list_neighbours(context, inferred, neighbours), layer, stored=True
        )
    near = context.feed.places.neighbourhood(hierarchy.run, hierarchy.snapshot)
    if not near.ready:
        near.advance()
    nearest = None
    if near.ready:
        neighbours = near.find_nearest(answer.shares[0], NEAREST, without=answer.document)
        nearest = _list_neighbours(context, inferred, neighbours)
    return Surroundings(near.done, len(near.numbers), nearest)


def _list_neighbours(context: Context, inferred: Placement, neighbours: Sequence[Neighbour]) -> list[ListedDocument]:
    corpus = inferred.inference.corpus.number
    documents = corpora.read_documents(context.db, corpus, [neighbour.document for neighbour in neighbours])
    rows = describe_documents(context, corpus, documents)
    return [row._replace(distance=neighbour.distance) for row, neighbour in zip(rows, neighbours, strict=True)]
