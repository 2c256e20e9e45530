"""The parts of a corpus: documents for validation and for the test, drawn by seed, with duplicates kept together."""

from typing import NamedTuple

import numpy as np

from engine.contract import TEST, TRAIN, VALIDATION, Array, Counts

VALIDATION_SHARE = 0.05  # of the training documents, where the test documents are given
_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


class PartSizes(NamedTuple):
    """How many documents are to be drawn for the test and for validation."""

    test: int
    validation: int


def divide_share(n: int, share: float, *, validation: bool, least: int = 1) -> PartSizes:
    """Return the sizes of the held-out parts of ``n`` documents: half of a share each, the test having the odd one.

    Parameters
    ----------
    n : int
    share : float
        Of the documents, held out.
    validation : bool
        Whether there are to be validation documents; without them all held-out documents are for the test.
    least : int
        Documents held out at least, where the share is not 0; one always stays for training.
    """
    held_out = min(max(round(n * share), least), max(n - 1, 0)) if share > 0 else 0
    test = (held_out + 1) // 2 if validation else held_out
    return PartSizes(test, held_out - test)


def number_contents(counts: Counts, *, binary: bool = False) -> Array:
    """Return a number for the words and counts of each document, (documents,) uint64.

    Documents have the same number when they have the same words as often, in whatever order, or, ``binary``, the same
    words at all.  Empty ones have 0.
    """
    values = np.ones(len(counts.words)) if binary else counts.values.astype(np.float64)
    cells = _mix_bits(_mix_bits(counts.words.astype(np.uint64)) + values.view(np.uint64))
    totals = np.zeros(len(cells) + 1, np.uint64)
    np.cumsum(cells, out=totals[1:])
    return totals[counts.starts[1:]] - totals[counts.starts[:-1]]


def _mix_bits(numbers: Array) -> Array:
    """Mix the bits of 64-bit numbers (the finaliser of SplitMix64)."""
    mixed = numbers + _ODD[0]
    mixed = (mixed ^ (mixed >> _SHIFTS[0])) * _ODD[1]
    mixed = (mixed ^ (mixed >> _SHIFTS[1])) * _ODD[2]
    return mixed ^ (mixed >> _SHIFTS[2])


def draw_parts(rng: np.random.Generator, contents: Array, sizes: PartSizes) -> Array:
    """Draw the part of each document, (documents,) int8; documents of equal content come into one part.

    Parameters
    ----------
    rng : Generator
    contents : (documents,) integers
        Equal for documents that stay together.
    sizes : PartSizes
        The parts are smaller where no group of duplicates fits into what is left.
    """
    part = np.full(len(contents), TRAIN, np.int8)
    order = rng.permutation(len(contents))
    groups = _Groups(contents)
    first = groups.choose(order, sizes.test) or groups.choose_smallest(order, sizes.test)
    part[np.isin(groups.of, first)] = TEST
    part[np.isin(groups.of, groups.choose(order, sizes.validation, frozenset(first)))] = VALIDATION
    return part


def draw_validation(
    rng: np.random.Generator, part: Array, contents: Array, share: float, documents: Array | None = None
) -> Array:
    """Draw validation documents from the training documents of a division, and return the parts, (documents,) int8.

    They are a share of the training documents, at most as many as the test documents.  A document with a duplicate in
    the test part stays where it is.

    Parameters
    ----------
    rng : Generator
    part : (documents,) int8
    contents : (documents,) integers
        Equal for documents of equal content.
    share : float
    documents : (documents,) integers, optional
        Equal for passages of one document, which stay together; one with a duplicate in training stays there, too.
    """
    training = np.flatnonzero(part == TRAIN)
    fresh = training[~np.isin(contents[training], contents[part == TEST])]
    owner = contents if documents is None else documents
    groups = _Groups(owner[fresh])
    request = min(round(share * len(training)), int(np.count_nonzero(part == TEST)))
    order = rng.permutation(len(fresh))
    drawn = part.copy()
    drawn[fresh[np.isin(groups.of, groups.choose(order, request))]] = VALIDATION
    return drawn if documents is None else return_duplicates(drawn, contents, (VALIDATION,))


def return_duplicates(part: Array, contents: Array, parts: tuple[int, ...] = (VALIDATION, TEST)) -> Array:
    """Return the parts with documents of ``parts`` put into training that have a duplicate in another part."""
    found = part.copy()
    _, of = np.unique(contents, return_inverse=True)
    lowest, highest = np.full(of.max(initial=-1) + 1, 127), np.full(of.max(initial=-1) + 1, -1)
    np.minimum.at(lowest, of, part)
    np.maximum.at(highest, of, part)
    found[(lowest != highest)[of] & np.isin(part, parts)] = TRAIN
    return found


class _Groups:
    """Documents that stay together, by what they have in common."""

    def __init__(self, common: Array) -> None:
        _, self.of, self._sizes = np.unique(common, return_inverse=True, return_counts=True)

    def choose(self, order: Array, request: int, taken: frozenset[int] = frozenset()) -> list[int]:
        """Return groups of ``request`` documents together, in the order of documents; those too large are passed by."""
        chosen: dict[int, None] = {}
        for document in order if request else ():
            group = int(self.of[document])
            if group not in taken and group not in chosen and self._sizes[group] <= request:
                chosen[group] = None
                request -= int(self._sizes[group])
                if not request:
                    break
        return list(chosen)

    def choose_smallest(self, order: Array, request: int) -> list[int]:
        """Return the smallest group, the first in the order of documents; none where there is but one."""
        if not request or len(self._sizes) < 2:
            return []
        return [int(self.of[order[np.argmin(self._sizes[self.of[order]])]])]
