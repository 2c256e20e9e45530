"""Some documents as bags of words: the work on texts that any process can do, knowing nothing of other documents."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from app.ingest.source import TextDocument
from app.ingest.wording import Wording
from engine.contract import Counts

DOCUMENTS, LETTERS = 500, 1 << 20  # of a batch: a tenth of a second of work, some megabytes on the way


class Bags(NamedTuple):
    """Documents as bags of words.

    Attributes
    ----------
    words : tuple of str
        Every word that is in them, once.
    counts : Counts
        Over these words, in the order in which they are met.
    stopped : mapping of str to int
        Stop words that were left out, and how often each.
    """

    words: tuple[str, ...]
    counts: Counts
    stopped: Mapping[str, int]


def batches(documents: Iterable[TextDocument]) -> Iterator[list[TextDocument]]:
    """Documents some hundred at a time, fewer of long ones, and of each what its words are found in."""
    held: list[TextDocument] = []
    letters = 0
    for document in documents:
        held.append(document._replace(label=None, part=None, columns={}))
        letters += len(document.text)
        if len(held) >= DOCUMENTS or letters >= LETTERS:
            yield held
            held, letters = [], 0
    if held:
        yield held


def bags_of(documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], wording: Wording) -> Bags:
    """The words of documents, counted.

    Parameters
    ----------
    counted : callable
        As of a :class:`app.ingest.source.TextSource`.
    """
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    stopped: Counter[str] = Counter()
    lengths: list[int] = []
    words: list[int] = []
    values: list[int] = []
    for document in documents:
        found = Counter(wording.tokens(counted(wording.prepared_document(document)), stopped))
        lengths.append(len(found))
        words.extend([numbers[word] for word in found])
        values.extend(found.values())
    cells = (np.array(each, np.int32) for each in (words, values))
    return Bags(tuple(numbers), Counts.of(np.array(lengths, np.int64), *cells), dict(stopped))


def runs_of(
    documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], wording: Wording
) -> list[list[list[str]]]:
    """The words of each document in runs within which they are neighbours."""
    known: dict[str, str] = {}  # a word is sent once, however often it occurs
    texts = (wording.spaced(counted(wording.prepared_document(document))) for document in documents)
    return [[[known.setdefault(word, word) for word in run] for run in wording.runs(text)] for text in texts]
