"""Divide the documents of a corpus into training, validation and test: as their file says, or by random draw."""

from collections.abc import Callable
from functools import partial

import numpy as np

from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import Array, CountSource
from topiary.app.ingest.text.passages import Division
from topiary.engine.contract import TEST, TRAIN, VALIDATION
from topiary.engine.parts import PartSizes, divide_share, draw_parts, draw_validation, return_duplicates

# Combined with a corpus's seed, so that draws are independent of other uses of the seed: of held-out documents, and of
# validation documents from the training documents of a file.
_DRAW = 0x5EED
_VALIDATE = 0x5EED2


def seed_parts(seed: int) -> np.random.Generator:
    """Return the random generator that draws the held-out documents of a corpus with this seed."""
    return np.random.default_rng((seed, _DRAW))


def seed_validation(seed: int) -> np.random.Generator:
    """Return the random generator that draws validation documents from the training documents of a corpus."""
    return np.random.default_rng((seed, _VALIDATE))


def choose_parts(
    counted: CountSource, contents: Array, keep_mask: Array, options: ImportOptions, division: Division | None
) -> Array:
    """Return the part of each document, (documents,) int8: as the file says, or drawn where it says nothing."""
    wants_validation = options.validation_share > 0
    if counted.part is None:
        sizes = partial(divide_share, share=options.test_share, validation=wants_validation)
        return draw_part(keep_mask, contents, sizes, options.seed, counted.notes, division)
    if not wants_validation:
        return np.where(counted.part == VALIDATION, TRAIN, counted.part).astype(np.int8)
    part = counted.part.copy()
    if VALIDATION not in part:
        documents = None if division is None else division.groups()[keep_mask]
        share, seed = options.validation_share, options.seed
        part[keep_mask] = draw_validation(seed_validation(seed), part[keep_mask], contents[keep_mask], share, documents)
    return part


def draw_part(
    keep_mask: Array,
    contents: Array,
    sizes: Callable[[int], PartSizes],
    seed: int,
    notes: list[str],
    division: Division | None = None,
) -> Array:
    """Draw the part of each document that is stored; the others get TRAIN.  Return an array (documents,) int8.

    Duplicates are put into the same part.  So are the passages of a document, except that passages with a duplicate in
    another part are put into training.

    Parameters
    ----------
    keep_mask : (documents,) bool
        True for documents that are stored; the others have no influence on the draw.
    contents : (documents,) integers
        Numbers that are equal for duplicates.
    sizes : callable
        Returns the sizes of the held-out parts for a number of documents.
    seed : int
    notes : list of str
        A sentence about passages is appended to it.
    division : Division, optional
        How documents were divided into passages.
    """
    part = np.full(len(keep_mask), TRAIN, np.int8)
    n = int(np.count_nonzero(keep_mask))
    if division is None:
        part[keep_mask] = draw_parts(seed_parts(seed), contents[keep_mask], sizes(n))
        return part
    documents, document_of = np.unique(division.groups()[keep_mask], return_inverse=True)
    if len(documents) < 2:
        part[keep_mask] = draw_parts(seed_parts(seed), contents[keep_mask], sizes(n))
        notes.append("all passages are of one document, so the parts are drawn passage by passage")
        return part
    drawn = draw_parts(seed_parts(seed), np.arange(len(documents)), sizes(len(documents)))[document_of]
    part[keep_mask] = return_duplicates(drawn, contents[keep_mask])
    _note_passages(drawn, part[keep_mask], document_of, notes)
    return part


def _note_passages(drawn: Array, part: Array, of: Array, notes: list[str]) -> None:
    """Append notes on how many documents were held out, and how many of their passages were returned to training.

    Parameters
    ----------
    drawn, part : (passages,) int8
        The part of each passage before and after those with duplicates in another part were returned to training.
    of : (passages,) int64
        The document of each passage.
    """
    test, validation = (len(np.unique(of[drawn == each])) for each in (TEST, VALIDATION))
    held_out = test + validation
    if not held_out:
        return
    whole = f"{held_out:,} of {of.max() + 1:,} documents, with all their passages, {'is' if held_out == 1 else 'are'}"
    purpose = f"for validation ({validation:,}) and the test ({test:,})" if validation else "for the test"
    notes.append(f"{whole} drawn {purpose}, so that no document is in two parts")
    n_returned = int(np.count_nonzero(drawn != part))
    if n_returned:
        passages = (
            "passage that another part has too is" if n_returned == 1 else "passages that other parts have too are"
        )
        notes.append(f"of these {n_returned:,} {passages} for training")
