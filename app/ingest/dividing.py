"""Divide the documents of a corpus into training, validation and test: as their file does, and else by seed."""

from collections.abc import Callable
from functools import partial

import numpy as np

from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource
from app.ingest.text.passages import Division
from engine.contract import TEST, TRAIN, VALIDATION
from engine.parts import PartSizes, divide_share, draw_parts, draw_validation, return_duplicates

_DRAW = 0x5EED  # keeps the draw of held-out documents apart from other uses of the same seed
_VALIDATE = 0x5EED2  # the same of validation documents that are drawn from the training documents of a file


def seed_parts(seed: int) -> np.random.Generator:
    """Return the random numbers that draw the held-out documents of a corpus with this seed."""
    return np.random.default_rng((seed, _DRAW))


def seed_validation(seed: int) -> np.random.Generator:
    """Return the random numbers that draw validation documents from the training documents of a corpus."""
    return np.random.default_rng((seed, _VALIDATE))


def choose_parts(
    counted: CountSource, contents: Array, stays: Array, options: ImportOptions, division: Division | None
) -> Array:
    """Return the part of each document, (documents,) int8: as the file divides them, what it leaves open by seed."""
    validates = options.validation_share > 0
    if counted.part is None:
        sizes = partial(divide_share, share=options.test_share, validation=validates)
        return draw_part(stays, contents, sizes, options.seed, counted.notes, division)
    if not validates:
        return np.where(counted.part == VALIDATION, TRAIN, counted.part).astype(np.int8)
    part = counted.part.copy()
    if VALIDATION not in part:
        documents = None if division is None else division.groups()[stays]
        share, seed = options.validation_share, options.seed
        part[stays] = draw_validation(seed_validation(seed), part[stays], contents[stays], share, documents)
    return part


def draw_part(
    stays: Array,
    contents: Array,
    sizes: Callable[[int], PartSizes],
    seed: int,
    notes: list[str],
    division: Division | None = None,
) -> Array:
    """Draw the part of each document, (documents,) int8, among those that stay.

    Duplicates stay together, and so do the passages of a document, except those with a duplicate in another part,
    which are for training.

    Parameters
    ----------
    stays : (documents,) bool
        Which documents are stored; the others have no influence on the draw.
    contents : (documents,) integers
        Equal for duplicates.
    sizes : callable
        Gives the sizes of the parts to be drawn from so many documents.
    seed : int
    notes : list of str
        Gets a sentence about passages.
    division : Division, optional
        How documents were divided into passages.
    """
    part = np.full(len(stays), TRAIN, np.int8)
    n = int(np.count_nonzero(stays))
    if division is None:
        part[stays] = draw_parts(seed_parts(seed), contents[stays], sizes(n))
        return part
    documents, of = np.unique(division.groups()[stays], return_inverse=True)
    if len(documents) < 2:
        part[stays] = draw_parts(seed_parts(seed), contents[stays], sizes(n))
        notes.append("all passages are of one document, so the parts are drawn passage by passage")
        return part
    drawn = draw_parts(seed_parts(seed), np.arange(len(documents)), sizes(len(documents)))[of]
    part[stays] = return_duplicates(drawn, contents[stays])
    _note_passages(drawn, part[stays], of, notes)
    return part


def _note_passages(drawn: Array, part: Array, of: Array, notes: list[str]) -> None:
    """Note how many documents were held out with all their passages, and which passages went back to training.

    Parameters
    ----------
    drawn, part : (passages,) int8
        The part of each before and after those with duplicates in another part went back.
    of : (passages,) int64
        The document of each.
    """
    test, validation = (len(np.unique(of[drawn == each])) for each in (TEST, VALIDATION))
    held_out = test + validation
    if not held_out:
        return
    whole = f"{held_out:,} of {of.max() + 1:,} documents, with all their passages, {'is' if held_out == 1 else 'are'}"
    where = f"for validation ({validation:,}) and the test ({test:,})" if validation else "for the test"
    notes.append(f"{whole} drawn {where}, so that no document is in two parts")
    back = int(np.count_nonzero(drawn != part))
    if back:
        them = "passage that another part has too is" if back == 1 else "passages that other parts have too are"
        notes.append(f"of these {back:,} {them} for training")
