"""What is seen of documents while they are read: sums, cuts of the vocabulary, warnings and recommendations."""

import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from topiary.app.ingest.errors import plural
from topiary.app.ingest.options import CHAPTERS, ImportOptions
from topiary.app.ingest.report import LEAVE_OUT_COMMON, STRIP_MAIL, Cut, Recommendation
from topiary.app.ingest.source import LEFT_OUT, Array, CountSource, Rows, Source, TextDocument, TextSource
from topiary.app.ingest.tables.values import Column, ColumnProfiles, is_number
from topiary.app.ingest.text.cleaning import is_message
from topiary.app.ingest.text.passages import USUAL, LongTexts, advise_size
from topiary.app.ingest.text.words import Wording
from topiary.engine.quality.background import find_common_words

T = TypeVar("T")
EXAMPLES = 10  # words in the description of a cut
_LONGEST_NUMBER = 40  # characters of a text that is a number
_AT_ONCE = 1 << 20  # characters to count in one batch
_MOST_STOP_WORDS = 5  # stop words in a sentence
_OTHER_SEPARATOR = re.compile(r"[^\w\s.()/-]|\t")  # in a cell that probably contains several cells
_FEW_WORDS = 3.0  # if the median document has fewer words, the wrong column was probably read
_FEW_DOCUMENTS = 20  # with fewer documents, shares mean little
_DUPLICATE_SHARE = 0.5  # share of duplicates above which a warning is given
_OUTSIDE_SHARE = 0.5  # share of characters outside of words, likewise
_LOST_SHARE = 0.9  # share of the tokens left out by the cuts, likewise
_WORDLESS_SHARE = 0.1  # share of documents that are empty, or without a word of the vocabulary, likewise
_FEW_KEPT = 50  # words of a vocabulary; with fewer, topics mean little
_USUAL_WORDS = 10  # words in most documents that are named, before and after
_FEWEST_MESSAGES = 10
_MESSAGE_SHARE = 0.5  # share of the documents that must be messages
_SAMPLED = 400  # most documents from which the words of messages are counted
_ENOUGH_DOCUMENTS = 200  # documents needed before common words are recommended for removal


class Vocabulary(NamedTuple):
    """Words with their frequencies, before any cut except that of stop words.

    Attributes
    ----------
    words : sequence of str
    document_counts, totals : (V,)
        Number of documents with each word, and of its occurrences.
    n_documents : int
    stopped : mapping of str to int
        Frequencies of the stop words, which are not among ``words``.
    common : (n,) int
        Indices of words that are everywhere in the corpus, such as repeated headers.
    """

    words: Sequence[str]
    document_counts: Array
    totals: Array
    n_documents: int
    stopped: Mapping[str, int] = {}
    common: Array = np.empty(0, np.int64)


class Limits(NamedTuple):
    """The settings of the cuts, with defaults filled in; ``stop_words`` is the value of the option."""

    stop_words: str
    min_df: int
    max_df: float
    max_words: int | None
    leave_out_common: bool = False


def make_cuts(vocabulary: Vocabulary, limits: Limits) -> tuple[Cut, ...]:
    """Return the cuts in order; each applies to the words left by those before it."""
    return tuple(_list_cuts(vocabulary, limits))


def count_met(vocabulary: Vocabulary) -> tuple[int, int]:
    """Count the different words before any cut, and the tokens."""
    tokens = int(vocabulary.totals.sum()) + sum(vocabulary.stopped.values())
    return len(vocabulary.words) + len(vocabulary.stopped), tokens


def _list_cuts(vocabulary: Vocabulary, limits: Limits) -> Iterator[Cut]:
    """Yield the cuts in order: stop words, common boilerplate, rare words, frequent words, and the limit."""
    ranked = sorted(vocabulary.stopped, key=lambda word: (-vocabulary.stopped[word], word))
    yield Cut("stop_words", limits.stop_words, len(ranked), sum(vocabulary.stopped.values()), tuple(ranked[:EXAMPLES]))
    remaining = np.ones(len(vocabulary.words), bool)
    everywhere = np.zeros(len(vocabulary.words), bool)
    everywhere[np.asarray(vocabulary.common, np.int64)] = True
    if limits.leave_out_common:
        yield _make_cut("leave_out_common", "true", vocabulary, remaining, everywhere)
    yield _make_cut("min_df", str(limits.min_df), vocabulary, remaining, vocabulary.document_counts < limits.min_df)
    most = limits.max_df * vocabulary.n_documents
    yield _make_cut("max_df", f"{limits.max_df:g}", vocabulary, remaining, vocabulary.document_counts > most)
    ranks = np.flatnonzero(remaining)[np.argsort(-vocabulary.totals[remaining], kind="stable")]
    beyond_limit = np.zeros(len(vocabulary.words), bool)
    beyond_limit[ranks[limits.max_words :] if limits.max_words is not None else ranks[:0]] = True
    yield _make_cut(
        "max_words", "all" if limits.max_words is None else str(limits.max_words), vocabulary, remaining, beyond_limit
    )


def _make_cut(option: str, setting: str, vocabulary: Vocabulary, remaining: Array, dropped: Array) -> Cut:
    """Return the cut of the remaining words among ``dropped``, and mark them as no longer remaining, in place."""
    cut = np.flatnonzero(remaining & dropped)
    remaining[cut] = False
    ranked = cut[np.argsort(-vocabulary.totals[cut], kind="stable")][:EXAMPLES]
    examples = tuple(str(vocabulary.words[place]) for place in ranked.tolist())
    return Cut(option, setting, len(cut), int(vocabulary.totals[cut].sum()), examples)


class Characters:
    """A counter of characters in many texts, which counts megabytes at a time because single texts take long."""

    def __init__(self) -> None:
        self._counts = np.zeros(sys.maxunicode + 1, np.int64)
        self._waiting: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Add a text, which is counted with the next batch."""
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= _AT_ONCE:
            self._count()

    def count_all(self) -> Counter[str]:
        """Return the frequency of each character in all texts."""
        self._count()
        return Counter({chr(code): int(self._counts[code]) for code in np.flatnonzero(self._counts).tolist()})

    def _count(self) -> None:
        codes = np.frombuffer("".join(self._waiting).encode("utf-32-le", "surrogatepass"), np.uint32)
        frequencies = np.bincount(codes)
        self._counts[: len(frequencies)] += frequencies
        self._waiting, self._size = [], 0


class Tally:
    """Sums over all documents, collected while they are read once.

    Attributes
    ----------
    documents, empty, numeric : int
        Number of documents; of those without a text or a word; and of texts that are a number.
    characters : Characters
        How often each character occurs in the texts.
    labels : Counter of str
        Documents of each label.
    long : LongTexts
        Statistics on the lengths of texts, and on ways to divide them.
    columns : ColumnProfiles
    tokens : int
        Sum of the counts; of real values, the number of cells.
    document_counts, totals : (V,) or None
        For counts: number of documents with each word, and of its occurrences.
    """

    def __init__(self) -> None:
        self.documents = self.empty = self.numeric = self.tokens = 0
        self.characters = Characters()
        self.labels: Counter[str] = Counter()
        self.long = LongTexts()
        self.columns = ColumnProfiles()
        self.document_counts: Array | None = None
        self.totals: Array | None = None
        self._hashes = array("q")

    @property
    def duplicates(self) -> int:
        """The number of documents with the same content as an earlier one, empty ones excluded."""
        return len(self._hashes) - len(np.unique(np.frombuffer(self._hashes, np.int64))) if self._hashes else 0

    def see(self, document: TextDocument) -> None:
        """Add a document that is a text."""
        if document.part == LEFT_OUT:
            return
        self.documents += 1
        self.columns.add(document.columns)
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
        """Add documents that are counts."""
        starts, words, values = rows.counts
        n_words = len(source.vocabulary)
        if self.document_counts is None or self.totals is None:
            self.document_counts, self.totals = np.zeros(n_words, np.int64), np.zeros(n_words)
        self.documents += len(rows.labels)
        for columns in rows.columns:
            self.columns.add(columns)
        self.document_counts += np.bincount(words, minlength=n_words)
        self.totals += np.bincount(words, weights=values, minlength=n_words)
        self.tokens += len(words) if source.kind == "real" else int(values.sum(dtype=np.int64))
        for label, n_documents in Counter(rows.labels[rows.labels >= 0].tolist()).items():
            self.labels[source.label_names[label]] += n_documents
        for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            if start == end:
                self.empty += 1
            else:
                self._hashes.append(hash((words[start:end].tobytes(), values[start:end].tobytes())))


class Observer:
    """An observer of a source, complete once all documents have been read.

    Attributes
    ----------
    tally : Tally or None
        Sums over the first complete reading.
    cuts : tuple of Cut
        The cuts of the vocabulary.
    words, tokens, letters_in_words : int
        Number of different words, of all words, and of characters in words before any cut, set with the cuts.
    languages : tuple of (str, float)
        Languages recognised in the texts, and the share of the texts in each.
    recommended : tuple of Recommendation
    """

    def __init__(self) -> None:
        self.recommended: tuple[Recommendation, ...] = ()
        self.tally: Tally | None = None
        self.cuts: tuple[Cut, ...] = ()
        self.languages: tuple[tuple[str, float], ...] = ()
        self.words = self.tokens = self.letters_in_words = 0
        self._source: Source | None = None

    def watch(self, source: Source) -> Source:
        """Return a source that is observed while it is read."""
        self._source = source
        if isinstance(source, TextSource):
            return replace(source, documents=lambda: self._watch_items(source.documents, Tally.see))
        return replace(
            source, blocks=lambda: self._watch_items(source.blocks, lambda tally, rows: tally.see_counts(rows, source))
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a table."""
        columns = self._source.columns if isinstance(self._source, TextSource) else None
        return () if columns is None else columns.list_all()

    @property
    def proposed(self) -> dict[str, str]:
        """Import options that may improve the result, each with a value."""
        options = dict(self._source.proposed) if isinstance(self._source, TextSource) else {}
        split = self.tally.long.propose_split() if self.tally is not None else ""
        return options | ({"split": split} if split else {})

    @property
    def classes(self) -> dict[str, str]:
        """Names of the labels, if the file itself has only numbers."""
        return dict(self._source.classes) if isinstance(self._source, TextSource) else {}

    def take(self, vocabulary: Vocabulary, limits: Limits) -> None:
        """Apply the cuts to a vocabulary and store the results."""
        self.cuts = make_cuts(vocabulary, limits)
        self.words, self.tokens = count_met(vocabulary)
        lengths = np.fromiter(map(len, vocabulary.words), np.int64, len(vocabulary.words))
        stopped = sum(len(word) * times for word, times in vocabulary.stopped.items())
        self.letters_in_words = int((lengths * vocabulary.totals).sum()) + stopped

    def _watch_items(self, read: Callable[[], Iterator[T]], see: Callable[[Tally, T], None]) -> Iterator[T]:
        """Yield the items; the first complete reading fills the tally."""
        tally = Tally() if self.tally is None else None
        for item in read():
            if tally is not None:
                see(tally, item)
            yield item
        self.tally = tally or self.tally


def explain_no_words(observer: Observer, stopped: Mapping[str, int], options: ImportOptions) -> str:
    """Explain why no document has a word to count.

    Parameters
    ----------
    observer : Observer
        The observer of the documents, which have been read.
    stopped : mapping of str to int
        Frequencies of the stop words in the documents.
    options : ImportOptions
    """
    tally = observer.tally
    n_filled = 0 if tally is None else tally.documents - tally.empty
    column = "name the column of the text with --text-column" if observer.columns else ""
    if tally is not None and not n_filled:
        subject = "its only document is" if tally.documents == 1 else f"all of its {tally.documents:,} documents are"
        return f"has no words: {subject} empty; {column or 'give texts'}"
    if tally is not None and tally.numeric == n_filled:
        counts = "give the texts that were counted, or counts in one of the formats of counts"
        return f"has numbers where texts should be; {column or counts}"
    if options.token_pattern is not None:
        pattern = f"--token-pattern {options.token_pattern!r} finds no words in it"
        return f"{pattern}{' but stop words' if stopped else ''}; give another pattern, or none"
    if stopped:
        frequent = " ".join(sorted(stopped, key=lambda word: (-stopped[word], word))[:_MOST_STOP_WORDS])
        return f"has no words but stop words ({frequent}); keep them with --stop-words none, or give longer texts"
    return "has no words of two letters or more; is it text, and in the encoding that it is read in?"


def explain_no_vocabulary(
    observer: Observer, document_counts: Array, lengths: Array, limits: Limits, options: ImportOptions
) -> str:
    """Explain why no word is kept of documents that have words.

    Parameters
    ----------
    observer : Observer
        The observer, which has the cuts.
    document_counts : (V,)
        Number of documents with each word, before the cuts.
    lengths : (documents,)
        Number of words in each document.
    limits : Limits
    options : ImportOptions
    """
    documents, filled = len(lengths), int(np.count_nonzero(lengths))
    if filled == 1:
        return _explain_single(documents, int(lengths.max()), options)
    if document_counts.min() == filled:
        same = observer.tally is not None and observer.tally.duplicates == filled - 1
        alike = "have the same text" if same else "have the same words"
        return f"has nothing that tells its documents apart: all {filled:,} {alike}; give documents that differ"
    if limits.min_df > limits.max_df * documents:
        least = f"--min-df {limits.min_df:,} (documents or more)"
        most = f"--max-df {limits.max_df:g} (of all documents or less)"
        cause = f"has only {documents:,} documents, and no word can pass {least} and {most}"
        return f"{cause}; give more documents, lower --min-df or raise --max-df"
    if document_counts.max() == 1:
        why = _explain_unlike(observer, lengths[lengths > 0])
        return f"has no word that two of its {filled:,} documents share; {why}"
    return explain_cuts(observer)


def explain_cuts(observer: Observer) -> str:
    """Explain which cuts leave no word."""
    cuts = [cut for cut in observer.cuts if cut.words]
    effects = [f"--{cut.option.replace('_', '-')} {cut.setting} takes {cut.words:,}" for cut in cuts]
    return f"has {observer.words:,} different words, and none is left: {', '.join(effects)}; cut less"


def _explain_single(documents: int, words: int, options: ImportOptions) -> str:
    """Explain why a single document is not a corpus."""
    if documents > 1:
        return f"has {documents:,} documents, but words in only 1 of them; is the text where it is read?"
    split = advise_size(words)
    if options.divides:
        finer = f"divide it more finely with {split}" if split else "give more text"
        return f"is a single passage of {words:,} words; {finer}"
    many = "and topics are learnt from many: give more documents"
    return f"is read as a single document, {many}" + (f", or divide it into passages with {split}" if split else "")


def _explain_unlike(observer: Observer, lengths: Array) -> str:
    """Explain what is probably wrong with documents that have no words in common."""
    columns = observer.columns
    if len(columns) == 1:
        name, samples = columns[0].name, columns[0].samples
        cells = samples if name.isdecimal() else (name, *samples)
        if cells and all(map(_OTHER_SEPARATOR.search, cells)):
            return f"the table has one column ({cells[0]!r}), so say with --separator what stands between its cells"
    text = next((column.name for column in columns if column.role == "text"), None)
    if text is not None and np.median(lengths) < _FEW_WORDS:
        return f"{text!r} was taken for the text and has few words, so name the column of the text with --text-column"
    return "are they long enough, and in one language? --min-df 1 keeps all words"


def list_warnings(
    observer: Observer, *, wordless: int, tokens_kept: int, words_kept: int, texts: bool, split: str | None = None
) -> tuple[str, ...]:
    """Return warnings about a source that has been read completely.

    Parameters
    ----------
    observer : Observer
    wordless : int
        Number of documents without a word that is kept.
    tokens_kept, words_kept : int
        Number of tokens and of different words after the cuts.
    texts : bool
        Whether the documents are texts, not counts.
    split : str or None
        How the documents were divided, which is not advised again.
    """
    if observer.tally is None or not observer.tally.documents:
        return ()
    tally = observer.tally
    warnings = [*_warn_of_documents(tally), *_warn_of_labels(tally)]
    if texts:
        warnings += _warn_of_texts(observer, tally, split)
    warnings += _warn_of_words(observer, tokens_kept, words_kept)
    n_emptied = wordless - tally.empty
    if n_emptied > _WORDLESS_SHARE * tally.documents:
        share = _describe_share(n_emptied, tally.documents)
        warnings.append(f"{share} documents have no word that is kept; cut less of the vocabulary")
    return tuple(warnings)


def _warn_of_documents(tally: Tally) -> Iterator[str]:
    """Yield warnings about duplicates, empty documents, and too few documents."""
    if tally.duplicates > _DUPLICATE_SHARE * tally.documents:
        yield f"{_describe_share(tally.duplicates, tally.documents)} documents have the same content as one before them"
    if tally.empty > _WORDLESS_SHARE * tally.documents:
        yield f"{_describe_share(tally.empty, tally.documents)} documents are empty; is it the right file, or column?"
    if tally.documents < _FEW_DOCUMENTS:
        only = "there is only 1 document" if tally.documents == 1 else f"there are only {tally.documents} documents"
        yield f"{only}, and topics are learnt from many; is each document one row, line or file?"


def _warn_of_labels(tally: Tally) -> Iterator[str]:
    """Yield warnings about labels that are not useful as classes."""
    labelled = tally.labels.total()
    if labelled >= _FEW_DOCUMENTS and len(tally.labels) == labelled:
        yield "the label is another one in every document, so it is no class; name another column, or none"
    elif labelled >= _FEW_DOCUMENTS and len(tally.labels) > labelled / 2:
        yield f"the label has {len(tally.labels):,} values in {labelled:,} documents, which is much for a class"
    elif labelled >= _FEW_DOCUMENTS and len(tally.labels) == 1:
        yield f"the label is {next(iter(tally.labels))!r} in every document, so there is nothing to predict"


def _warn_of_texts(observer: Observer, tally: Tally, split: str | None) -> Iterator[str]:
    """Yield warnings about texts that are numbers, not words, too long, or wrongly decoded."""
    filled = tally.documents - tally.empty
    if filled and tally.numeric > filled / 2:
        partly = f"a number in {_describe_share(tally.numeric, filled)} documents"
        only = "only numbers" if tally.numeric == filled else partly
        yield f"the text has {only}; name the column of the text"
    characters = tally.characters.count_all()
    visible = sum(times for letter, times in characters.items() if not letter.isspace())
    outside = max(0, visible - observer.letters_in_words)
    if visible and outside > _OUTSIDE_SHARE * visible:
        share = _describe_share(outside, visible)
        yield f"{share} characters are not in any word; is it text, in words that spaces divide?"
    yield from _warn_of_length(tally, split)
    broken = characters["\ufffd"]
    if broken:
        times = "once" if broken == 1 else f"{broken:,} times"
        yield f"the replacement character \ufffd occurs {times}: something read the text in the wrong encoding before"


def _warn_of_length(tally: Tally, split: str | None) -> Iterator[str]:
    """Yield a warning if the documents are too long, with ways to divide them."""
    median_length = tally.long.usual
    if not median_length:
        return
    with_chapters, looked_at = tally.long.count_chaptered()
    ways = f"--split paragraphs or --split '{USUAL} words'"
    if split is not None:
        ways = f"--split '{USUAL} words'"
    elif tally.long.propose_split() == CHAPTERS:
        ways = f"--split chapters (found in {with_chapters} of {looked_at}) or --split '{USUAL} words'"
    half = f"half of the documents have {median_length:,} words or more"
    documents = half if tally.documents > 1 else f"it has {median_length:,} words"
    yield f"{documents}, too many for one mixture of topics; divide them into passages: {ways}"


def _warn_of_words(observer: Observer, tokens_kept: int, words_kept: int) -> Iterator[str]:
    """Yield warnings if few words are left after the cuts."""
    if observer.cuts and observer.tokens and tokens_kept < (1 - _LOST_SHARE) * observer.tokens:
        yield f"the cuts take {_describe_share(observer.tokens - tokens_kept, observer.tokens)} words away; cut less"
    if observer.cuts and words_kept < _FEW_KEPT:
        subject = plural(words_kept, "word is kept", "different words are kept")
        yield f"only {subject}, too few for topics; cut less, or import more documents"


def _describe_share(part: int, whole: int) -> str:
    """Describe a share, in words if it is a simple fraction.

    >>> _describe_share(9, 10), _describe_share(2, 3), _describe_share(5, 5), _describe_share(61, 100)
    ('nine of ten', 'two of three', 'all', '61% of the')
    """
    if part == whole:
        return "all"
    for parts, whole_parts, words in ((9, 10, "nine of ten"), (2, 3, "two of three"), (3, 4, "three of four")):
        if abs(part / whole - parts / whole_parts) < 0.02:
            return words
    return f"{100 * part / whole:.0f}% of the"


class MessageSample:
    """A counter of messages among documents, with an evenly spread sample of the documents."""

    def __init__(self) -> None:
        self.documents = self.messages = 0
        self._sample: list[TextDocument] = []
        self._stride = 1

    def add(self, document: TextDocument) -> None:
        """Add a document as it was read."""
        self.messages += is_message(document.text)
        if self.documents % self._stride == 0:
            self._sample.append(document)
            if len(self._sample) > _SAMPLED:
                self._sample = self._sample[::2]
                self._stride *= 2
        self.documents += 1

    def recommend(
        self, counted: Callable[[TextDocument], str], wording: Wording, max_df: float
    ) -> tuple[Recommendation, ...]:
        """Return the recommendation to leave out headers and quotes; none if most documents are no messages.

        Parameters
        ----------
        counted : callable
            Returns the text of a document to count, as in :class:`app.ingest.source.TextSource`.
        wording : Wording
            How words are found; its ``strip_mail`` is ignored.
        max_df : float
            Share of the documents above which a word is not kept.
        """
        if self.messages < max(_FEWEST_MESSAGES, _MESSAGE_SHARE * self.documents):
            return ()
        before, after = (
            _list_usual_words(self._sample, counted, replace(wording, strip_mail=strip), max_df)
            for strip in (False, True)
        )
        return (Recommendation(STRIP_MAIL, self.messages, self.documents, (), before, after),)


def _list_usual_words(
    documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], wording: Wording, max_df: float
) -> tuple[str, ...]:
    """Return the words in most documents, without those in more than the share ``max_df`` of them."""
    document_counts: Counter[str] = Counter()
    for document in documents:
        document_counts.update(set(wording.tokens(wording.clean_document(document, counted))))
    ranked = sorted(document_counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(word for word, n in ranked if n <= max_df * len(documents))[:_USUAL_WORDS]


def recommend_common(
    kept: Array, document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str]
) -> tuple[Recommendation, ...]:
    """Return the recommendation to leave out words that are everywhere; none if there are none, or few documents.

    Parameters
    ----------
    kept : (n,) int
        Numbers of the words that are kept otherwise.
    document_counts, totals : (V,)
        Number of documents with each word, and of its occurrences.
    lengths : (documents,)
        Number of words in each document.
    vocabulary : sequence of str
    """
    if len(lengths) < _ENOUGH_DOCUMENTS:
        return ()
    ranked = kept[np.argsort(-document_counts[kept], kind="stable")]
    everywhere = np.isin(ranked, find_common_words(document_counts, totals, lengths))
    if not everywhere.any():
        return ()
    words, before, after = (
        tuple(vocabulary[word] for word in numbers.tolist())
        for numbers in (ranked[everywhere], ranked[:_USUAL_WORDS], ranked[~everywhere][:_USUAL_WORDS])
    )
    return (Recommendation(LEAVE_OUT_COMMON, len(lengths), len(lengths), words, before, after),)
