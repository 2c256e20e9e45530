"""Images moved by a few pixels: what one shows does not depend on where it stands.

Simard, Steinkraus and Platt, "Best practices for convolutional neural networks applied to visual document analysis"
(ICDAR 2003).  An image is a document whose words are pixels, so that a model knows of no neighbourhood; moved ones
tell it.
"""

import itertools

import numpy as np

from engine.autoencoder.classifier import uniforms
from engine.contract import Array, Batch
from engine.corpus import kept, owners
from engine.streams import MOVES


def ways(most: int) -> list[tuple[int, int]]:
    """All (down, right) by at most ``most`` pixels each, the shortest first: (0, 0), then its neighbours ..."""
    span = range(-most, most + 1)
    return sorted(itertools.product(span, span), key=lambda way: (way[0] ** 2 + way[1] ** 2, way))


def moved(docs: Batch, shape: tuple[int, int], down: Array | int, right: Array | int) -> Batch:
    """Pictures of ``shape`` (height, width) moved; what leaves the frame is lost.

    Parameters
    ----------
    down, right : (documents,) int, or one number for all
        Pixels.
    """
    height, width = shape
    own = owners(docs.starts)
    rows, columns = np.divmod(docs.words, width)
    rows = rows + np.broadcast_to(down, docs.documents.shape)[own]
    columns = columns + np.broadcast_to(right, docs.documents.shape)[own]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    words = np.where(inside, rows * width + columns, 0).astype(docs.words.dtype)
    return kept(docs._replace(words=words), np.where(inside, docs.counts, 0).astype(docs.counts.dtype))


def moved_at_random(docs: Batch, shape: tuple[int, int], most: int, seed: int, step: int) -> Batch:
    """Every image moved another way, each of :func:`ways` as likely."""
    chances = uniforms(seed, MOVES, step, docs.documents, 2)  # keyed by document: its company does not matter
    down, right = (np.floor(chances * (2 * most + 1)).astype(np.int64) - most).T
    return moved(docs, shape, down, right)
