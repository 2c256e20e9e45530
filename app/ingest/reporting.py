"""The report of a source that has been read."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from app.ingest.beside import encode
from app.ingest.observing import Observer, Tally
from app.ingest.options import ImportOptions
from app.ingest.preparing import Prepared
from app.ingest.report import Report, Share
from app.ingest.report_warnings import warnings
from app.ingest.scripts import scripts
from engine.contract import TRAIN

MOST_LABELS = 50  # that a report counts one by one; a column of ids would fill the record of a corpus


def report(prepared: Prepared, options: ImportOptions, *, file: str, form: str, why: str) -> Report:
    """Say what was understood and chosen.

    Parameters
    ----------
    prepared : Prepared
        Its documents have been read.
    options : ImportOptions
    file, form, why : str
        Name of the file or folder, name of its format, and why that was taken.
    """
    source, observer = prepared.source, prepared.observer
    tally = observer.tally or Tally()
    words, tokens = (observer.words, observer.tokens) if observer.cuts else (len(source.vocabulary), tally.tokens)
    tokens_kept = tokens - sum(cut.tokens for cut in observer.cuts)
    wordless = int(np.count_nonzero(prepared.lengths == 0))
    said = warnings(
        observer, wordless=wordless, tokens_kept=tokens_kept, words_kept=len(source.vocabulary), texts=prepared.texts
    )
    return Report(
        path=file,
        format=form,
        why=why,
        understood=dict(source.understood),
        columns=observer.columns,
        kind="binary" if options.binary else source.kind,
        documents=int(np.count_nonzero(prepared.stays)),
        train=int(np.count_nonzero(prepared.stays & (prepared.part == TRAIN))),
        read=len(prepared.stays),
        empty=tally.empty,
        duplicates=tally.duplicates,
        wordless=wordless,
        tokens=tokens,
        tokens_kept=tokens_kept,
        words=words,
        words_kept=len(source.vocabulary),
        cuts=observer.cuts,
        scripts=_scripts(tally.characters.counted()),
        languages=tuple(Share(*each) for each in observer.languages),
        classes=len(tally.labels),
        labels=_labels(prepared.observer),
        warnings=said,
        notes=tuple(source.notes),
        options={name: value for name, value in options.report().items() if name != "name"},
        proposed=observer.proposed,
    )


def _labels(observer: Observer) -> tuple[tuple[str, int], ...]:
    """How many documents have each class, by the name it has in the corpus, the largest first."""
    found = observer.tally.labels.most_common() if observer.tally is not None else []
    coded, names = encode([label for label, _ in found], observer.classes)
    named = zip(coded.tolist()[:MOST_LABELS], found[:MOST_LABELS], strict=True)
    return tuple((names[number], times) for number, (_, times) in named)


def _scripts(characters: Mapping[str, int]) -> tuple[Share, ...]:
    """Scripts and the share of all letters that each has, the largest first."""
    counted: Counter[str] = Counter()
    for letter, times in characters.items():
        for script in scripts(letter):
            counted[script] += times
    total = counted.total()
    return tuple(Share(script, times / total) for script, times in counted.most_common())
