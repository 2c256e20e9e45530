"""Division of a corpus into training, validation and test documents, drawn at random; duplicates stay together."""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import TEST, TRAIN, VALIDATION, Array, Counts

# Constants of SplitMix64.
_SPLITMIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


class PartSizes(NamedTuple):
    """Numbers of documents to draw for the test and for validation."""

    test: int
    validation: int


def divide_share(n: int, share: float, *, validation: bool, least: int = 1) -> PartSizes:
    """Return the sizes of the two held-out parts of ``n`` documents: half of the share each, an odd one for the test.

    Parameters
    ----------
    n : int
    share : float
        Share of the documents to hold out.
    validation : bool
        Whether to draw validation documents; if not, all held-out documents are for the test.
    least : int
        Smallest number of documents to hold out, unless the share is 0; one always stays for training.
    """
    held_out = min(max(round(n * share), least), max(n - 1, 0)) if share > 0 else 0
    test = (held_out + 1) // 2 if validation else held_out
    return PartSizes(test, held_out - test)


def hash_contents(counts: Counts, *, binary: bool = False) -> Array:
    """Return a hash of the words and counts of each document, (documents,) uint64.

    Documents with the same words and counts, in any order, have the same hash; if ``binary``, counts are ignored.
    The hash of an empty document is 0.
    """
    values = np.ones(len(counts.words)) if binary else counts.values.astype(np.float64)
    cells = _mix_bits(_mix_bits(counts.words.astype(np.uint64)) + values.view(np.uint64))
    totals = np.zeros(len(cells) + 1, np.uint64)
    np.cumsum(cells, out=totals[1:])
    return totals[counts.starts[1:]] - totals[counts.starts[:-1]]


def _mix_bits(numbers: Array) -> Array:
    """Mix the bits of 64-bit numbers (the finaliser of SplitMix64)."""
    mixed = numbers + _SPLITMIX[0]
    mixed = (mixed ^ (mixed >> _SHIFTS[0])) * _SPLITMIX[1]
    mixed = (mixed ^ (mixed >> _SHIFTS[1])) * _SPLITMIX[2]
    return mixed ^ (mixed >> _SHIFTS[2])


def draw_parts(rng: np.random.Generator, contents: Array, sizes: PartSizes) -> Array:
    """Draw the part of each document, (documents,) int8; documents of equal content go to the same part.

    Parameters
    ----------
    rng : Generator
    contents : (documents,) integers
        Equal for documents that stay together.
    sizes : PartSizes
        Sizes of the parts; they become smaller if no group of duplicates fits into the rest.
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
    """Move a random share of the training documents to validation; return all parts, (documents,) int8.

    At most as many are moved as there are test documents.  A document with a duplicate in the test part stays.

    Parameters
    ----------
    rng : Generator
    part : (documents,) int8
    contents : (documents,) integers
        Equal for documents of equal content.
    share : float
    documents : (documents,) integers, optional
        Equal for passages of the same document, which stay together; one with a duplicate in training stays there.
    """
    training = np.flatnonzero(part == TRAIN)
    fresh = training[~np.isin(contents[training], contents[part == TEST])]
    owner = contents if documents is None else documents
    groups = _Groups(owner[fresh])
    n_wanted = min(round(share * len(training)), int(np.count_nonzero(part == TEST)))
    order = rng.permutation(len(fresh))
    drawn = part.copy()
    drawn[fresh[np.isin(groups.of, groups.choose(order, n_wanted))]] = VALIDATION
    return drawn if documents is None else return_duplicates(drawn, contents, (VALIDATION,))


def return_duplicates(part: Array, contents: Array, parts: tuple[int, ...] = (VALIDATION, TEST)) -> Array:
    """Return the parts after moving documents of ``parts`` that have a duplicate in another part to training."""
    result = part.copy()
    _, group = np.unique(contents, return_inverse=True)
    lowest, highest = np.full(group.max(initial=-1) + 1, 127), np.full(group.max(initial=-1) + 1, -1)
    np.minimum.at(lowest, group, part)
    np.maximum.at(highest, group, part)
    result[(lowest != highest)[group] & np.isin(part, parts)] = TRAIN
    return result


class _Groups:
    """Groups of documents that stay together because they have the same value in ``common``."""

    def __init__(self, common: Array) -> None:
        _, self.of, self._sizes = np.unique(common, return_inverse=True, return_counts=True)

    def choose(self, order: Array, n_wanted: int, taken: frozenset[int] = frozenset()) -> list[int]:
        """Return groups with ``n_wanted`` documents in total, in the order of documents; too large ones are skipped."""
        chosen: dict[int, None] = {}
        for document in order if n_wanted else ():
            group = int(self.of[document])
            if group not in taken and group not in chosen and self._sizes[group] <= n_wanted:
                chosen[group] = None
                n_wanted -= int(self._sizes[group])
                if not n_wanted:
                    break
        return list(chosen)

    def choose_smallest(self, order: Array, n_wanted: int) -> list[int]:
        """Return the smallest group, the first one in the order of documents; none if there is only one group."""
        if not n_wanted or len(self._sizes) < 2:
            return []
        return [int(self.of[order[np.argmin(self._sizes[self.of[order]])]])]
