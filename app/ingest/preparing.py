"""From a source to counted documents of two parts: what an import stores, and what a report is made of."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from app.ingest import prune
from app.ingest.errors import IngestError
from app.ingest.observing import Observer
from app.ingest.options import ImportOptions
from app.ingest.source import BLOCK, Array, CountSource, Map, Progress, Rows, Source, TextSource, piece
from app.ingest.splitting import Division
from app.ingest.wording import Wording
from engine.contract import TEST, TRAIN, Counts

_DRAW = 0x5EED  # keeps the draw of test documents apart from other uses of the same seed


class Prepared(NamedTuple):
    """Documents ready to be stored.

    Attributes
    ----------
    source : CountSource
    part : (documents,) int8
        TRAIN or TEST.
    stays : (documents,) bool
        Which documents are stored.
    lengths : (documents,)
        Cells of each.
    observer : Observer
        What was seen of the source; complete once it has been read.
    texts : bool
        Whether they came as texts.
    """

    source: CountSource
    part: Array
    stays: Array
    lengths: Array
    observer: Observer
    texts: bool


def prepare(source: Source, options: ImportOptions, progress: Progress, mapped: Map = map) -> Prepared:
    """Count the documents of a source, draw those of the test, and say which of them stay.

    Parameters
    ----------
    mapped : Map
        Cuts batches of texts into words.
    """
    observer = Observer()
    division = None
    if options.divides and isinstance(source, TextSource):
        division = Division(str(options.split), prepared_by(options))
        source = division.applied(source)
    counted = _counted(observer.watch(source), options, progress, observer, mapped)
    lengths = _lengths(counted, progress)
    stays = staying(counted, lengths)
    if counted.part is not None:
        part = counted.part
    else:
        part = draw_part(stays, options.test_share, options.seed, counted.notes, division)
    return Prepared(counted, part, stays, lengths, observer, isinstance(source, TextSource))


def prepared_by(options: ImportOptions) -> Callable[[str], str]:
    """Return what takes away from a text what is not to be read of it, such as tags, before it is divided."""
    return Wording(html=options.html, strip_mail=options.strip_mail, pattern="").prepared


def draw_part(
    stays: Array, share: float, seed: int, notes: list[str], division: Division | None = None, *, least: int = 1
) -> Array:
    """Part of each document, (documents,) int8, drawn among those that stay; passages of a document stay together.

    Parameters
    ----------
    stays : (documents,) bool
        Which documents are stored; the others have no influence on the draw.
    share, seed, least
        As in `draw_test`.
    notes : list of str
        Gets a sentence about passages.
    division : Division, optional
        How documents were divided into passages.
    """
    part = np.full(len(stays), TRAIN, np.int8)
    if division is None:
        part[stays] = draw_test(int(np.count_nonzero(stays)), share, seed, least=least)
        return part
    documents, of = np.unique(division.groups()[stays], return_inverse=True)
    if len(documents) < 2:
        part[stays] = draw_test(len(of), share, seed, least=least)
        notes.append("all passages are of one document, so those for the test are drawn one by one")
        return part
    drawn = draw_test(len(documents), share, seed, least=least)
    part[stays] = drawn[of]
    for_test = int(np.count_nonzero(drawn == TEST))
    whole = f"{for_test:,} of {len(documents):,} documents, with all their passages, {'is' if for_test == 1 else 'are'}"
    notes.append(f"{whole} drawn for the test, so that no document is in both parts")
    return part


def draw_test(n: int, share: float, seed: int, *, least: int = 1) -> Array:
    """Part of each of ``n`` documents, (n,) int8: a share of them, at least ``least``, drawn by seed for the test."""
    part = np.full(n, TRAIN, np.int8)
    request = min(max(round(n * share), least), max(n - 1, 0)) if share > 0 else 0
    part[np.random.default_rng((seed, _DRAW)).permutation(n)[:request]] = TEST
    return part


def _counted(
    source: Source, options: ImportOptions, progress: Progress, observer: Observer, mapped: Map
) -> CountSource:
    if isinstance(source, TextSource):
        from app.ingest import vectorise  # what recognises languages takes long to import; counts need it not

        return vectorise.count(source, options, progress, observer, mapped)
    if mapped is not map:
        raise IngestError(source.where, "holds counts, which need not be cut into words; import it without --on")
    if prune.asked_for(options):
        progress("Choosing words", None)
        return prune.pruned(source, options, observer)
    return source


def _lengths(source: CountSource, progress: Progress) -> Array:
    """Cells of each document; where only the counts tell, they are read once, which also proves them sound."""
    if source.lengths is not None:
        return source.lengths
    found, seen = [np.empty(0, np.int64)], 0
    for rows in source.blocks():
        found.append(np.diff(rows.counts.starts))
        seen += len(rows.labels)
        progress(f"Reading documents: {seen:,}", min(seen / max(source.n_documents, 1), 1.0))
    return np.concatenate(found)


def staying(source: CountSource, lengths: Array) -> Array:
    """Which documents are stored, (documents,) bool.

    A document without words teaches nothing and is left out.  Where the file says which documents are for the test,
    those stay, so that test sets keep their published size.
    """
    if len(lengths) == 0:
        raise IngestError(source.where, "has no documents; give a file that has some")
    empty = lengths == 0
    what = "document" if source.part is None else "training document"
    if source.part is not None:
        empty &= source.part == TRAIN
        if np.count_nonzero(empty) == np.count_nonzero(source.part == TRAIN):
            raise IngestError(source.where, "has no training document with a word of the vocabulary in it")
    elif empty.all():
        raise IngestError(source.where, "has no document with a word of the vocabulary in it")
    if empty.any():
        source.notes.append(wordless_note(int(np.count_nonzero(empty)), what))
    stays: Array = ~empty
    return stays


def wordless_note(documents: int, what: str) -> str:
    """A note about documents that are left out; ``what`` calls one of them."""
    are = f"{what} is" if documents == 1 else f"{what}s are"
    return f"{documents:,} {are} without words and left out"


def ready(prepared: Prepared) -> Iterator[tuple[Rows, Array]]:
    """Runs of at most BLOCK documents that stay, and the part of each."""
    source, part, stays, begin = prepared.source, prepared.part, prepared.stays, 0
    for run in source.blocks():
        n = len(run.labels)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            here = slice(begin + first, begin + last)
            if stays[here].any():
                yield _only(piece(run, first, last), stays[here]), part[here][stays[here]]
        begin += n


def _only(rows: Rows, stays: Array) -> Rows:
    """The documents where ``stays``; those that go have no cells, or take them along."""
    if stays.all():
        return rows
    numbers = np.flatnonzero(stays)
    return Rows(
        _take(rows.counts, stays),
        rows.labels[stays],
        [rows.titles[n] for n in numbers],
        [rows.texts[n] for n in numbers],
        [rows.columns[n] for n in numbers],
        None if rows.scored is None else _take(rows.scored, stays),
    )


def _take(counts: Counts, stays: Array) -> Counts:
    lengths = np.diff(counts.starts)
    cells = np.repeat(stays, lengths)
    return Counts.of(lengths[stays], counts.words[cells], counts.values[cells])
