"""The report of an import: what is seen while documents are read, warnings and recommendations, and lines to show."""

import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from topiary.app.ingest.errors import plural
from topiary.app.ingest.options import CHAPTERS, ImportOptions
from topiary.app.ingest.source import GUESS, LEFT_OUT, Array, CountSource, Rows, Source, TextDocument, TextSource
from topiary.app.ingest.tables.values import Column, ColumnProfiles, is_number
from topiary.app.ingest.text.cleaning import is_message
from topiary.app.ingest.text.passages import USUAL, LongTexts, advise_size
from topiary.app.ingest.text.words import Wording
from topiary.engine.quality.background import find_common_words
from topiary.store.corpus_rows import KINDS

T = TypeVar("T")
EXAMPLES = 10  # words in the description of a cut


class Cut(NamedTuple):
    """A cut of a vocabulary, which leaves some words out.

    Attributes
    ----------
    option : str
        The import option that causes it, such as ``"min_df"``.
    setting : str
        Value of the option, as typed.
    words, tokens : int
        Number of words left out, and of their occurrences.
    examples : tuple of str
        The most frequent of these words.
    """

    option: str
    setting: str
    words: int
    tokens: int
    examples: tuple[str, ...]


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


_LONGEST_NUMBER = 40  # characters of a text that is a number
_AT_ONCE = 1 << 20  # characters to count in one batch


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


_MOST_STOP_WORDS = 5  # stop words in a sentence
_OTHER_SEPARATOR = re.compile(r"[^\w\s.()/-]|\t")  # in a cell that probably contains several cells
_FEW_WORDS = 3.0  # if the median document has fewer words, the wrong column was probably read


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


_FEW_DOCUMENTS = 20  # with fewer documents, shares mean little
_DUPLICATE_SHARE = 0.5  # share of duplicates above which a warning is given
_OUTSIDE_SHARE = 0.5  # share of characters outside of words, likewise
_LOST_SHARE = 0.9  # share of the tokens left out by the cuts, likewise
_WORDLESS_SHARE = 0.1  # share of documents that are empty, or without a word of the vocabulary, likewise
_FEW_KEPT = 50  # words of a vocabulary; with fewer, topics mean little


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
    ('nine of ten', 'two of three', 'all', '61 % of the')
    """
    if part == whole:
        return "all"
    for parts, whole_parts, words in ((9, 10, "nine of ten"), (2, 3, "two of three"), (3, 4, "three of four")):
        if abs(part / whole - parts / whole_parts) < 0.02:
            return words
    return f"{100 * part / whole:.0f} % of the"


STRIP_MAIL, LEAVE_OUT_COMMON = "strip_mail", "leave_out_common"  # the options that can be recommended
_USUAL_WORDS = 10  # words in most documents that are named, before and after
_FEWEST_MESSAGES = 10
_MESSAGE_SHARE = 0.5  # share of the documents that must be messages
_SAMPLED = 400  # most documents from which the words of messages are counted
_ENOUGH_DOCUMENTS = 200  # documents needed before common words are recommended for removal
_NAMED_COMMON = 8  # common words named in a sentence


class Recommendation(NamedTuple):
    """An option of an import that leaves out what says nothing about the subjects of texts, with its effect.

    Attributes
    ----------
    option : str
        ``"strip_mail"`` or ``"leave_out_common"``.
    documents : int
        Number of documents that begin as messages do; of all documents for common words.
    of : int
        Number of documents.
    words : tuple of str
        Common words that are left out, those in most documents first; empty for messages.
    before, after : tuple of str
        Of the words that are kept without the option, and with it, those in most documents.
    """

    option: str
    documents: int
    of: int
    words: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


def describe_recommendation(recommendation: Recommendation) -> str:
    """Return a recommendation in one sentence, with the option of the command line."""
    effect = f"words in most documents now: {' '.join(recommendation.before)}; then: {' '.join(recommendation.after)}"
    if recommendation.option == STRIP_MAIL:
        begin = f"these look like messages: {recommendation.documents:,} of {recommendation.of:,} documents begin with"
        return f"{begin} From: and Subject:; --strip-mail leaves out headers, quoted lines and signatures ({effect})"
    words = recommendation.words
    are = plural(len(words), "word is", "words are")
    named = f"{', '.join(words[:_NAMED_COMMON])}{', …' if len(words) > _NAMED_COMMON else ''}"
    where = f"{are} everywhere in this corpus and may say little ({named})"
    return f"{where}; --leave-out-common leaves them out ({effect})"


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


class Share(NamedTuple):
    """The name of a script or language, and its share."""

    name: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report about an imported file or folder: how it was read, and the effect of each option.

    Attributes
    ----------
    path : str
        Name of the file or folder.
    format, why : str
        Name of the reader, and why it was chosen.
    understood : dict of str to str
        How the file was read: "encoding", "separator", "quote", "header" and so on.
    columns : tuple of Column
        Columns of a table; empty for other files.
    kinds : dict of str to str
        The kind of every column that documents keep: "date", "number", "category", "text" or "id".
    kind : str
        "counts", "binary" or "real".
    documents, train, validation : int
        Number of documents that are stored, and of those for training and for validation.
    read : int
        Number of documents in the file, without those of no part.
    empty, duplicates : int
        Number of documents without a text or a count, and of those with the content of an earlier one.
    wordless : int
        Number of documents without a word that is kept, empty ones included.
    tokens, tokens_kept : int
        Number of words in all documents before and after the cuts; of real values, of cells.
    words, words_kept : int
        Number of different words before and after the cuts.
    cuts : tuple of Cut
    scripts : tuple of Share
        Scripts of the letters, the most frequent first.
    languages : tuple of Share
        Languages recognised in the texts.
    classes : int
        Number of different labels.
    labels : tuple of (str, int)
        The largest classes and the number of documents in each.
    warnings : tuple of str
        Sentences about probable mistakes.
    notes : tuple of str
        Sentences of the reader.
    options : dict
        Options that differ from their defaults.
    proposed : dict of str to str
        Options that may improve the result, each with a value.
    recommended : tuple of Recommendation
        Options that leave out what says nothing about the subjects of texts, with their effect, given or not.
    """

    path: str
    format: str
    why: str
    understood: dict[str, str]
    columns: tuple[Column, ...]
    kind: str
    documents: int
    train: int
    read: int
    empty: int
    duplicates: int
    wordless: int
    tokens: int
    tokens_kept: int
    words: int
    words_kept: int
    cuts: tuple[Cut, ...]
    scripts: tuple[Share, ...]
    languages: tuple[Share, ...]
    classes: int
    labels: tuple[tuple[str, int], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    options: dict[str, Any]
    proposed: dict[str, str] = field(default_factory=dict)
    validation: int = 0
    recommended: tuple[Recommendation, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        named = {name: [each._asdict() for each in getattr(self, name)] for name in _PARTS}
        return asdict(self) | named | {"labels": dict(self.labels)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the report that :meth:`to_json` wrote."""
        named: dict[str, Any] = {
            name: tuple(kind(**_make_tuples(each)) for each in values.get(name, ())) for name, kind in _PARTS.items()
        }
        named |= {name: tuple(values[name]) for name in ("warnings", "notes")}
        return cls(**dict(values) | named | {"labels": tuple(values["labels"].items())})


_PARTS: dict[str, Callable[..., Any]] = {
    "columns": Column, "cuts": Cut, "scripts": Share, "languages": Share, "recommended": Recommendation,
}  # fmt: skip


def load_report(meta: Mapping[str, Any]) -> Report | None:
    """Load the report stored with a corpus; None if it is missing or damaged."""
    record = meta.get("record")
    try:
        report = None if record is None else Report.from_json(record)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return report if report is None or _is_sound(report) else None


def _is_sound(report: Report) -> bool:
    """Return whether every field of a report has its type, which loading it from JSON does not check."""
    plain = {name: hint for name, hint in Report.__annotations__.items() if hint in (str, int)}
    plain_match = all(type(getattr(report, name)) is hint for name, hint in plain.items())
    texts = [*report.understood.items(), *report.labels]
    return (
        plain_match
        and isinstance(report.options, dict)
        and all(isinstance(each, str) for each in (*report.warnings, *report.notes, *(name for name, _ in texts)))
        and all(isinstance(value, str) for value in report.understood.values())
        and isinstance(report.kinds, dict)
        and all(isinstance(value, str) for value in report.kinds.values())
        and all(isinstance(count, int) for _, count in report.labels)
        and all(isinstance(share.share, int | float) for share in (*report.scripts, *report.languages))
    )


def _make_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with lists turned into tuples."""
    return {name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            for name, value in values.items()}  # fmt: skip


LABELS = 6  # classes in a line
MOST_NAMES = 8  # columns of a kind in a line
CUTS = {  # names of the words left out by an option, singular and plural
    "stop_words": ("stop word", "stop words"),
    "leave_out_common": ("word that is everywhere", "words that are everywhere"),
    "min_df": ("rare word", "rare words"),
    "max_df": ("common word", "common words"),
    "max_words": ("word over the size of the vocabulary", "words over the size of the vocabulary"),
}
_LEAST_SHARE = 0.0005  # share from which a script or language is listed


class ReportLine(NamedTuple):
    """A line of the report: its name and its text."""

    name: str
    text: str


def list_lines(report: Report) -> tuple[ReportLine, ...]:
    """Return the lines of the report, without its warnings and the tables of columns and cuts."""
    return tuple(ReportLine(name, text) for name, text in _write_lines(report) if text)


def list_summary(report: Report) -> tuple[str, ...]:
    """Return the five lines that are printed after an import, before the warnings."""
    guess = {GUESS: report.understood[GUESS]} if GUESS in report.understood else {}
    read = "; ".join(f"{name} {text}" for name, text in (guess | report.understood).items())
    roles = ", ".join(f"{each.role} is {each.name!r}" for each in report.columns if each.role not in ("other", "date"))
    kinds = f"; other columns: {listed}" if (listed := describe_kinds(report.kinds)) else ""
    left_out = ", ".join(plural(cut.words, *CUTS[cut.option]) for cut in report.cuts if cut.words)
    return (
        f"read as {_describe_format(report)}" + (f"; {read}" if read else ""),
        (roles or _describe_kind(report)) + kinds,
        f"{_describe_documents(report)}; {_describe_labels(report) or 'no labels'}",
        f"{plural(report.words, 'different word')} met, {report.words_kept:,} kept"
        + (f"; left out {left_out}" if left_out else ""),
        f"{report.tokens_kept:,} of {plural(report.tokens, 'word')} counted"
        + (f"; {shares}" if (shares := _describe_shares(report.languages) or _describe_shares(report.scripts)) else ""),
    )


def list_columns(report: Report) -> tuple[tuple[str, str, str], ...]:
    """Return the name, the role (or the kind, where the column is kept) and some values of every column."""
    roles = {each.name: each.role for each in report.columns}
    kept = {name: kind for name, kind in report.kinds.items() if roles.get(name) in ("date", "id", "other")}
    return tuple((each.name, kept.get(each.name, each.role), " | ".join(each.samples)) for each in report.columns)


def describe_kinds(kinds: Mapping[str, str]) -> str:
    """Return the names of columns by their kinds: ``posted (date), score, age (number)``."""
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        by_kind.setdefault(kind, []).append(name)
    return ", ".join(f"{_list_names(by_kind[kind])} ({kind})" for kind in KINDS if kind in by_kind)


def _list_names(names: Sequence[str]) -> str:
    """Return the first of some names, separated by commas, and the number of others."""
    others = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {others:,} more" if others > 0 else "")


def list_cuts(report: Report) -> tuple[tuple[str, str, str, str], ...]:
    """Return for every cut its name, the option, the number of words left out, and examples."""
    return tuple(
        (
            CUTS[cut.option][1],
            f"--{cut.option.replace('_', '-')} {cut.setting}",
            f"{plural(cut.words, 'word')}, {cut.tokens:,} times" if cut.words else "none",
            " ".join(cut.examples),
        )
        for cut in report.cuts
    )


def describe_parts(documents: int, train: int, validation: int) -> str:
    """Return the number of documents in each part: ``90 training, 5 validation, 5 test``."""
    parts = [f"{train:,} training", f"{validation:,} validation", f"{documents - train - validation:,} test"]
    return ", ".join(parts if validation else parts[::2])


def describe_addition(added: Mapping[str, Any]) -> str:
    """Describe appended documents in one line."""
    if not {"added", "file", "outside", "tokens_read"} <= added.keys():
        return f"more documents after the first {added['documents']:,}; what is kept of them is damaged"
    outside = f"; {added['outside']:,} of {added['tokens_read']:,} words outside the vocabulary"
    return f"{added['added']:,} documents of {added['file']}, after the first {added['documents']:,}{outside}"


def _write_lines(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of all lines, including empty texts."""
    yield "file", report.path
    yield "format", _describe_format(report)
    yield GUESS, report.understood.get(GUESS, "")
    yield from ((name, text) for name, text in report.understood.items() if name != GUESS)
    yield "counts", "" if report.kind == "counts" else _describe_kind(report)
    yield "documents", _describe_documents(report)
    yield "parts", describe_parts(report.documents, report.train, report.validation)
    yield "labels", _describe_labels(report)
    yield "kinds", describe_kinds(report.kinds)
    yield "scripts", _describe_shares(report.scripts)
    yield "languages", _describe_shares(report.languages)
    yield "words", f"{plural(report.tokens, 'word')}, {report.words:,} different"
    share = f" ({100 * report.tokens_kept / report.tokens:.0f} %)" if report.tokens else ""
    yield "kept", f"{plural(report.tokens_kept, 'word')}{share}, {report.words_kept:,} different"
    yield "chosen", ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in report.options.items())


def _describe_format(report: Report) -> str:
    return f"{report.format} ({report.why})" if report.why else report.format


def _describe_documents(report: Report) -> str:
    """Return the number of documents, and of those that are empty, repeated, without words or left out."""
    counts = (
        (report.empty, f"with nothing in {'it' if report.empty == 1 else 'them'}"),
        (report.duplicates, "duplicate" if report.duplicates == 1 else "duplicates"),
        (report.wordless - report.empty, "more without a word that is kept"),
        (report.read - report.documents, "left out"),
    )
    return ", ".join(
        [plural(report.read, "document"), *(f"{count:,} {description}" for count, description in counts if count > 0)]
    )


def _describe_labels(report: Report) -> str:
    if not report.labels:
        return ""
    largest = ", ".join(f"{name} {times:,}" for name, times in report.labels[:LABELS])
    rest = f" and {report.classes - LABELS:,} more" if report.classes > LABELS else ""
    return f"{plural(report.classes, 'class', 'classes')}: {largest}{rest}"


def _describe_shares(shares: Sequence[Share]) -> str:
    large = [each for each in shares if each.share >= _LEAST_SHARE]
    return ", ".join(f"{each.name} {100 * each.share:.{0 if each.share > 0.1 else 1}f} %" for each in large)


def _describe_kind(report: Report) -> str:
    return {"counts": "counts of words", "binary": "only whether a word occurs", "real": "real numbers"}[report.kind]
