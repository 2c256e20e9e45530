"""Pictures moved and bent by a few pixels: what one shows depends neither on where it stands nor on a shaky hand.

Simard, Steinkraus and Platt, "Best practices for convolutional neural networks applied to visual document analysis"
(ICDAR 2003).  A picture is a document whose words are pixels, so that a model knows of no neighbourhood; moved and
bent ones tell it.
"""

import itertools
import math

import numpy as np
from scipy import ndimage

from engine.contract import Array, Batch
from engine.corpus import kept, owners, rows
from engine.streams import MOVES, generator

SMOOTH = 1 / 7  # of the shorter side: standard deviation of the Gaussian that smooths a field, 4 of 28 pixels
AT_ONCE = 2**20  # pixels bent at a time


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


def bent(docs: Batch, shape: tuple[int, int], far: float, rng: np.random.Generator) -> Batch:
    """Pictures of ``shape`` bent by a smooth random field, every one by its own (elastic distortion).

    What a pixel holds comes from a place ``far`` pixels away down and right, as standard deviations in the middle of a
    picture: uniform noise made smooth by a Gaussian.  Between pixels it is interpolated, and counts are rounded.
    """
    n, (height, width) = len(docs.documents), shape
    some = max(1, AT_ONCE // (height * width))
    tables = [_bent(rows(docs, first, min(first + some, n)), shape, far, rng) for first in range(0, n, some)]
    table = np.concatenate(tables) if tables else np.zeros((0, height * width), docs.counts.dtype)
    own, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=n))]).astype(docs.starts.dtype)
    return docs._replace(words=words.astype(docs.words.dtype), counts=table[own, words], starts=starts)


def _bent(docs: Batch, shape: tuple[int, int], far: float, rng: np.random.Generator) -> Array:
    """The same as a table, (documents, pixels)."""
    table = np.zeros((len(docs.documents), shape[0] * shape[1]), np.float32)
    table[owners(docs.starts), docs.words] = docs.counts
    pictures = table.reshape(-1, *shape)
    spread = SMOOTH * min(shape)
    noise = rng.random((2, *pictures.shape), np.float32) - np.float32(0.5)
    field = ndimage.gaussian_filter(noise, (0, 0, spread, spread), mode="constant")
    # The variance of the noise is 1/12, of which the Gaussian leaves 1 / (4 pi spread^2).
    field *= far * math.sqrt(12.0) * 2.0 * math.sqrt(math.pi) * spread
    places = np.indices(pictures.shape, np.float32)
    places[1:] += field
    found = ndimage.map_coordinates(pictures, places, order=1, mode="grid-constant").reshape(table.shape)
    whole = np.issubdtype(docs.counts.dtype, np.integer)
    return np.asarray((np.rint(found) if whole else found).astype(docs.counts.dtype))


def strewn(docs: Batch, shape: tuple[int, int], most: int, far: float, seed: int, step: int) -> Batch:
    """Every picture bent by ``far`` (0: not at all) and moved another way, each of :func:`ways` as likely."""
    rng = generator(seed, MOVES, step)
    down, right = rng.integers(-most, most + 1, (2, len(docs.documents)))
    return moved(bent(docs, shape, far, rng) if far else docs, shape, down, right)
