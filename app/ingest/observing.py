"""Looks on while the documents of a source are read, and counts what a report says of them.

Of every document some numbers are kept and no text: a hash of eight bytes, and what is added up over all.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from app.ingest.column_samples import Column
from app.ingest.cuts import Cut, Limits, Vocabulary, cuts, met
from app.ingest.source import LEFT_OUT, Array, CountSource, Rows, Source, TextDocument, TextSource
from app.ingest.splitting import LongTexts
from app.ingest.values import is_number

_LONGEST_NUMBER = 40  # characters
_AT_ONCE = 1 << 20  # characters counted together


class Characters:
    """Counts characters of many texts, some megabytes at a time: one by one that takes longer than counting words."""

    def __init__(self) -> None:
        self._counts = np.zeros(sys.maxunicode + 1, np.int64)
        self._waiting: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Count a text, sooner or later."""
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= _AT_ONCE:
            self._count()

    def counted(self) -> Counter[str]:
        """How often each character occurred."""
        self._count()
        return Counter({chr(code): int(self._counts[code]) for code in np.flatnonzero(self._counts).tolist()})

    def _count(self) -> None:
        codes = np.frombuffer("".join(self._waiting).encode("utf-32-le", "surrogatepass"), np.uint32)
        found = np.bincount(codes)
        self._counts[: len(found)] += found
        self._waiting, self._size = [], 0


class Tally:
    """What one reading of all documents adds up to.

    Attributes
    ----------
    documents, empty, numeric : int
        Documents of either part; those without a text or a word; texts that are a number.
    characters : Characters
        How often each character occurs in the texts.
    labels : Counter of str
        Documents of each label.
    long : LongTexts
        Whether texts are long, and how they could be divided.
    tokens : int
        Of counts, their sum.
    document_counts, totals : (V,) or None
        Of counts, in how many documents each word occurs, and how often altogether.
    """

    def __init__(self) -> None:
        self.documents = self.empty = self.numeric = self.tokens = 0
        self.characters = Characters()
        self.labels: Counter[str] = Counter()
        self.long = LongTexts()
        self.document_counts: Array | None = None
        self.totals: Array | None = None
        self._hashes = array("q")

    @property
    def duplicates(self) -> int:
        """Documents that are not empty and have the content of one before them."""
        return len(self._hashes) - len(np.unique(np.frombuffer(self._hashes, np.int64))) if self._hashes else 0

    def see(self, document: TextDocument) -> None:
        """Count a text."""
        if document.part == LEFT_OUT:
            return
        self.documents += 1
        if document.label is not None:
            self.labels[document.label] += 1
        text = document.text.strip()
        if not text:
            self.empty += 1
            return
        self.characters.add(text)
        self._hashes.append(hash(text))
        self.long.see(text)
        self.numeric += len(text) <= _LONGEST_NUMBER and is_number(text)

    def see_counts(self, rows: Rows, source: CountSource) -> None:
        """Count documents that are counts."""
        starts, words, values = rows.counts
        n_words = len(source.vocabulary)
        if self.document_counts is None or self.totals is None:
            self.document_counts, self.totals = np.zeros(n_words, np.int64), np.zeros(n_words)
        self.documents += len(rows.labels)
        self.document_counts += np.bincount(words, minlength=n_words)
        self.totals += np.bincount(words, weights=values, minlength=n_words)
        self.tokens += len(words) if source.kind == "real" else int(values.sum(dtype=np.int64))
        for label, times in Counter(rows.labels[rows.labels >= 0].tolist()).items():
            self.labels[source.label_names[label]] += times
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            if begin == end:
                self.empty += 1
            else:
                self._hashes.append(hash((words[begin:end].tobytes(), values[begin:end].tobytes())))


class Observer:
    """Watches a source; what it saw is complete once all documents have been read.

    Attributes
    ----------
    tally : Tally or None
        Of the first whole reading.
    cuts : tuple of Cut
        What each choice about the vocabulary takes away.
    words, tokens : int
        Different words and all words before any cut, told with the cuts.
    letters_in_words : int
        Characters of all those words.
    languages : tuple of (str, float)
        Languages that were recognised, and the share of the texts in each.
    """

    def __init__(self) -> None:
        self.tally: Tally | None = None
        self.cuts: tuple[Cut, ...] = ()
        self.languages: tuple[tuple[str, float], ...] = ()
        self.words = self.tokens = self.letters_in_words = 0
        self._source: Source | None = None

    def watch(self, source: Source) -> Source:
        """The same source, looked at while it is read."""
        self._source = source
        if isinstance(source, TextSource):
            return replace(source, documents=lambda: self._documents(source))
        return replace(source, blocks=lambda: self._blocks(source))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a table."""
        found = self._source.columns if isinstance(self._source, TextSource) else None
        return () if found is None else found.found()

    @property
    def proposed(self) -> dict[str, str]:
        """Options of an import that could make more of the documents, each with a value."""
        found = dict(self._source.proposed) if isinstance(self._source, TextSource) else {}
        split = self.tally.long.proposal() if self.tally is not None else ""
        return found | ({"split": split} if split else {})

    @property
    def classes(self) -> dict[str, str]:
        """Names of the labels, where the file has only numbers."""
        return dict(self._source.classes) if isinstance(self._source, TextSource) else {}

    def take(self, vocabulary: Vocabulary, limits: Limits) -> None:
        """Keep what the cuts do to a vocabulary."""
        self.cuts = cuts(vocabulary, limits)
        self.words, self.tokens = met(vocabulary)
        lengths = np.fromiter(map(len, vocabulary.words), np.int64, len(vocabulary.words))
        stopped = sum(len(word) * times for word, times in vocabulary.stopped.items())
        self.letters_in_words = int((lengths * vocabulary.totals).sum()) + stopped

    def _documents(self, source: TextSource) -> Iterator[TextDocument]:
        if self.tally is not None:
            yield from source.documents()
            return
        tally = Tally()
        for document in source.documents():
            tally.see(document)
            yield document
        self.tally = tally

    def _blocks(self, source: CountSource) -> Iterator[Rows]:
        if self.tally is not None:
            yield from source.blocks()
            return
        tally = Tally()
        for rows in source.blocks():
            tally.see_counts(rows, source)
            yield rows
        self.tally = tally
