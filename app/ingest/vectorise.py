"""Turn texts into word counts: find how their words are written, count them, and choose the vocabulary."""

import tempfile
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from topiary.app.ingest import observing
from topiary.app.ingest.errors import IngestError, list_some, plural
from topiary.app.ingest.observing import Limits, MessageSample, Observer, Vocabulary, recommend_common
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.report import describe_recommendation
from topiary.app.ingest.source import BLOCK, LEFT_OUT, Array, CountSource, Map, Progress, Rows, TextDocument, TextSource
from topiary.app.ingest.tables import joining
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.cleaning import (
    HyphenEvidence,
    Rejoining,
    make_word_pattern,
    read_stop_words,
    strip_mail_lines,
)
from topiary.app.ingest.text.languages import Recognised, Sample, name_language
from topiary.app.ingest.text.words import Pairs, Wording
from topiary.engine.contract import TEST, TRAIN, Counts
from topiary.engine.parts import hash_contents
from topiary.engine.quality.background import find_common_words

DOCUMENTS, LETTERS = 500, 1 << 20  # the most in a batch, for a tenth of a second of work and some megabytes sent
_LEAST_SHARE = 0.01  # share of the letters above which a language without spaces is segmented
_EXAMPLES = 8  # examples in a note
PHRASE_NPMI, PHRASE_COUNT = 0.5, 10
_DOTLESS_SHARES = {"all": 0.015, "marked": 0.0005}  # least share of ı and İ among the characters; 4 % in Turkish
IN_MEMORY = 1 << 25  # bytes of counts kept in memory before they are moved to the disk
MIN_DF, MAX_DF, MAX_WORDS = 2, 0.7, 10_000  # defaults for texts: documents, share of the documents, words


class Bags(NamedTuple):
    """Documents as bags of words.

    Attributes
    ----------
    words : tuple of str
        The different words of the documents.
    counts : Counts
        Counts of these words, in order of appearance.
    stopped : mapping of str to int
        Frequencies of the stop words that were left out.
    """

    words: tuple[str, ...]
    counts: Counts
    stopped: Mapping[str, int]


def batch_documents(documents: Iterable[TextDocument]) -> Iterator[list[TextDocument]]:
    """Yield batches of some hundred documents, fewer if they are long, without labels, parts and columns."""
    batch: list[TextDocument] = []
    letters = 0
    for document in documents:
        batch.append(document._replace(label=None, part=None, columns={}))
        letters += len(document.text)
        if len(batch) >= DOCUMENTS or letters >= LETTERS:
            yield batch
            batch, letters = [], 0
    if batch:
        yield batch


def count_bags(documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], wording: Wording) -> Bags:
    """Count the words of documents.

    Parameters
    ----------
    counted : callable
        Returns the text of a document to count, as in :class:`app.ingest.source.TextSource`.
    """
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    stopped: Counter[str] = Counter()
    lengths: list[int] = []
    words: list[int] = []
    values: list[int] = []
    for document in documents:
        frequencies = wording.count_words(wording.clean_document(document, counted), stopped)
        lengths.append(len(frequencies))
        words.extend([numbers[word] for word in frequencies])
        values.extend(frequencies.values())
    cells = (np.array(each, np.int32) for each in (words, values))
    return Bags(tuple(numbers), Counts.of(np.array(lengths, np.int64), *cells), dict(stopped))


def find_runs(
    documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], wording: Wording
) -> list[list[list[str]]]:
    """Return the words of each document, in runs of adjacent words."""
    unique: dict[str, str] = {}  # equal words share one object, which is pickled once
    texts = (wording.space_text(wording.clean_document(document, counted)) for document in documents)
    return [[[unique.setdefault(word, word) for word in run] for run in wording.runs(text)] for text in texts]


@dataclass
class _Survey:
    """The findings of a pass over the documents."""

    sample: Sample = field(default_factory=Sample)
    cut: HyphenEvidence = field(default_factory=HyphenEvidence)
    documents: int = 0
    pages: int = 0
    mail: int = 0
    characters: int = 0
    dotless: int = 0  # letters ı and İ


def find_wording(
    source: TextSource, options: ImportOptions, progress: Progress, map_batches: Map = map
) -> tuple[Wording, Recognised, list[str]]:
    """Return how to find the words of these texts, the recognised languages, and notes about both.

    The documents are read once, and once more for phrases.

    Parameters
    ----------
    map_batches : Map
        Splits batches of texts into words, for phrases.

    Raises
    ------
    IngestError
        If a required library is not installed.
    """
    wording = Wording(
        html=options.html,
        strip_mail=options.strip_mail,
        pattern=make_word_pattern() if options.token_pattern is None else options.token_pattern,
    )
    survey = _look_at_texts(source, wording, options, progress)
    recognised = languages.recognise_languages(survey.sample.texts)
    named_language = languages.find_language_code(options.stop_words or "")
    text_languages = (named_language,) if named_language else recognised.main
    rejoining, hyphen_note = _find_rejoining(survey, options)
    notes = [hyphen_note]
    if survey.pages:
        pages = plural(survey.pages, "document is a page", "documents are pages")
        notes.insert(0, f"{pages} in HTML, read without tags, scripts and styles (change it with --html)")
    if survey.mail:
        left_out = f"mail headers, quoted lines and signatures were left out of {plural(survey.mail, 'document')}"
        notes.insert(-1, left_out)
    segmented, segment_notes = _find_segmented(source.where, recognised, survey.sample.texts, options)
    stop_languages, file_words, stop_note = _find_stop_words(options, recognised)
    lemma_languages = _find_lemmas(source.where, text_languages, options)
    wording = replace(
        wording,
        hyphens=rejoining.which,
        hyphens_listed=tuple(sorted(rejoining.listed)),
        segmented=segmented,
        lemmas=lemma_languages,
        stop_words=stop_languages,
        stop_list=tuple(sorted(file_words | source.stop_words)),
        dotless=_find_dotless(survey),
    )
    notes += [stop_note, *segment_notes]
    if wording.dotless != "no":
        notes.append("the capital I is read as ı and İ as i, as in Turkish")
    if lemma_languages:
        notes.append(f"words are counted in their dictionary form in {_list_languages(lemma_languages)}")
    if options.phrases:
        wording = replace(wording, phrases=_find_phrases(source, wording, options, progress, map_batches))
        notes.append(_note_phrases(wording.phrases))
    return wording, recognised, [note for note in notes if note]


def _find_dotless(survey: _Survey) -> str:
    """Return in which texts the capital I is one without a dot, by the share of such letters."""
    shares = _DOTLESS_SHARES.items()
    return next((which for which, share in shares if survey.dotless > share * survey.characters), "no")


def _list_documents(source: TextSource) -> Iterator[TextDocument]:
    """Return an iterator over the documents of the source that are not left out."""
    return (document for document in source.documents() if document.part != LEFT_OUT)


def _look_at_texts(source: TextSource, wording: Wording, options: ImportOptions, progress: Progress) -> _Survey:
    """Read all documents once and collect samples of texts and counts of pages, mail and hyphens."""
    survey = _Survey()
    for document in _list_documents(source):
        survey.documents += 1
        survey.pages += wording.is_page(document.text)
        survey.characters += len(document.text)
        if not document.text.isascii():
            survey.dotless += document.text.count("ı") + document.text.count("İ")
        if wording.strip_mail:
            survey.mail += strip_mail_lines(document.text).split() != document.text.split()
        if options.hyphens == "auto":
            survey.cut.see(document.text)
        survey.sample.add(lambda document=document: wording.clean_document(document, source.counted))  # type: ignore[misc]
        if survey.documents % BLOCK == 0:
            progress(f"Recognising the language: {survey.documents:,} documents", None)
    return survey


def _find_rejoining(survey: _Survey, options: ImportOptions) -> tuple[Rejoining, str]:
    """Return how to join words hyphenated at the ends of lines, and a note."""
    if options.hyphens != "auto":
        return Rejoining("all" if options.hyphens == "join" else "none"), ""
    for text in survey.sample.texts:
        survey.cut.learn(text)
    decision = survey.cut.decide()
    if decision is None or not decision.joined:
        return Rejoining("soft"), ""
    words = plural(decision.joined, "word")
    note = f"{words} cut at the end of a line joined ({decision.examples[0]})"
    if decision.kept:
        note += f", {decision.kept:,} kept with the hyphen ({decision.examples[1]})"
    return decision.rejoining, f"{note} (change it with --hyphens)"


def _find_segmented(
    path: str, recognised: Recognised, texts: list[str], options: ImportOptions
) -> tuple[tuple[str, ...], list[str]]:
    """Return the languages without spaces whose words are to be segmented, and notes."""
    if options.token_pattern is not None:  # the pattern finds the words
        return (), []
    segmented, notes = [], []
    for code in languages.WITHOUT_SPACES:
        share = recognised.letters.get(code, 0.0)
        if share < _LEAST_SHARE or not languages.runs_together(code, texts):
            continue
        if not languages.list_missing((code,)):
            segmented.append(code)
            notes.append(f"{name_language(code)} has no spaces between words, so they were set apart by a dictionary")
        elif share >= languages.MAIN:
            cause = f"is in {name_language(code)}, whose words are written without spaces between them"
            raise IngestError(path, f"{cause}: {languages.SEGMENT_INSTALL} and import it again")
        else:
            sentence = f"{share:.0%} of the text is in {name_language(code)}, whose words are not separated"
            notes.append(f"{sentence}: {languages.SEGMENT_INSTALL}")
    return tuple(segmented), notes


def _find_stop_words(options: ImportOptions, recognised: Recognised) -> tuple[tuple[str, ...], frozenset[str], str]:
    """Return the languages whose stop words are left out, the stop words of a file, and a note."""
    choice = options.stop_words
    if choice is not None:
        code = languages.find_language_code(choice)
        description = _describe_languages(recognised)
        return ((code,), frozenset(), description) if code else ((), read_stop_words(choice), description)
    advice = "(change it with --stop-words)"
    script = next(iter(recognised.scripts), "Latin")
    if not recognised.main and script != "Latin":
        note = f"the language of the texts, in {script} letters, was not recognised, so no stop words are left out"
        return (), frozenset(), f"{note} {advice}"
    if not recognised.main:
        note = f"the language of the texts was not recognised, so English stop words are left out {advice}"
        return ("en",), frozenset(), note if recognised.enough else ""
    listed = tuple(code for code in recognised.main if languages.list_stop_words(code))
    unlisted = [code for code in recognised.main if code not in listed]
    whose = "its" if len(listed) == 1 else "their"
    note = _describe_languages(recognised) + (f"; {whose} stop words are left out" if listed else "")
    if unlisted:
        note += f"{', but' if listed else ', and'} there is no list of stop words for {_list_languages(unlisted)}"
    return listed, frozenset(), f"{note} {advice}"


def _describe_languages(recognised: Recognised) -> str:
    if not recognised.main:
        return ""
    if len(recognised.main) == 1:
        return f"the texts are in {name_language(recognised.main[0])}"
    parts = (f"{name_language(code)} ({recognised.languages[code]:.0%})" for code in recognised.main)
    return f"the texts are in several languages, {', '.join(parts)}"


def _find_lemmas(path: str, text_languages: tuple[str, ...], options: ImportOptions) -> tuple[str, ...]:
    """Return the languages whose words are counted in dictionary form; none if that is not requested."""
    if not options.lemmas:
        return ()
    if not languages.is_lemmatiser_installed():
        cause = f"cannot be counted in dictionary forms without simplemma: {languages.LEMMA_INSTALL}"
        raise IngestError(path, f"{cause}, or leave --lemmas out")
    lemma_languages = languages.list_lemma_languages(text_languages or ("en",))
    if not lemma_languages:
        cause = f"is in {_list_languages(text_languages)}, whose dictionary forms are not known"
        raise IngestError(path, f"{cause}; leave --lemmas out")
    return lemma_languages


def _find_phrases(
    source: TextSource, wording: Wording, options: ImportOptions, progress: Progress, map_batches: Map
) -> tuple[str, ...]:
    """Return the pairs of words that are counted as phrases."""
    pairs = Pairs()
    batches = batch_documents(_list_documents(source))
    results = map_batches(partial(find_runs, counted=source.counted, wording=wording), batches)
    for number, runs in enumerate(chain.from_iterable(results), start=1):
        pairs.add(runs)
        if number % BLOCK == 0:
            progress(f"Looking for phrases: {number:,} documents", None)
    threshold = PHRASE_NPMI if options.phrase_npmi is None else options.phrase_npmi
    return pairs.phrases(threshold, PHRASE_COUNT if options.phrase_count is None else options.phrase_count)


def _note_phrases(phrases: tuple[str, ...]) -> str:
    if not phrases:
        return "no two words belong together closely enough to be a phrase; lower --phrase-npmi or --phrase-count"
    subject = plural(len(phrases), "phrase is", "phrases are")
    return f"{subject} counted as one word: {list_some(phrases, _EXAMPLES)}"


def _list_languages(codes: list[str] | tuple[str, ...]) -> str:
    *first, last = map(name_language, codes)
    return f"{', '.join(first)} and {last}" if first else last


class _Block(NamedTuple):
    """A block of documents in the file: its offset in bytes, its number of documents and of non-zero counts."""

    begin: int
    documents: int
    cells: int


class CountFile:
    """A temporary file of document counts, written and read in order; deleted with the last reference to it.

    Parameters
    ----------
    where : str
        Name of the import, for the error message if the disk is full.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, prefix="topiary-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._blocks: list[_Block] = []
        self._end = 0

    def add(self, counts: Counts) -> None:
        """Append the counts of the next documents.

        Raises
        ------
        IngestError
            When the disk is full.
        """
        lengths = np.diff(counts.starts)
        raw = b"".join(np.asarray(array).astype(np.int32).tobytes() for array in (lengths, counts.words, counts.values))
        try:
            self._file.seek(self._end)
            self._file.write(raw)
        except OSError as error:
            folder = tempfile.gettempdir()
            cause = f"has counts that do not fit into {folder}, the folder of temporary files ({error.strerror})"
            raise IngestError(self._where, f"{cause}; make room there, or set TMPDIR to another one") from None
        self._blocks.append(_Block(self._end, len(lengths), len(counts.words)))
        self._end += len(raw)

    def __iter__(self) -> Iterator[Counts]:
        for begin, documents, cells in self._blocks:
            self._file.seek(begin)
            values_read = np.frombuffer(self._file.read(4 * (documents + 2 * cells)), np.int32)
            lengths, words, values = np.split(values_read, [documents, documents + cells])
            yield Counts.of(lengths, words, values)

    def reader(self) -> Callable[[int, int], Counts]:
        """Return a function of ``(begin, end)`` that reads these documents, for consecutive ranges from 0."""
        blocks = iter(self)
        rest = Counts.of(*(np.empty(0, np.int32) for _ in range(3)))

        def rows(begin: int, end: int) -> Counts:
            nonlocal rest
            parts, n_documents = [rest], rest.n_documents
            while n_documents < end - begin:
                parts.append(next(blocks))
                n_documents += parts[-1].n_documents
            joined = matrices.join_counts(parts)
            rest = joined.rows(end - begin, n_documents)
            return joined.rows(0, end - begin)

        return rows


def measure_counts(counts: CountFile) -> Array:
    """Return the number of different words of each document, (documents,) int64."""
    return np.concatenate([np.empty(0, np.int64), *(np.diff(each.starts) for each in counts)])


def choose_words(document_counts: Array, totals: Array, n_documents: int, limits: Limits) -> Array:
    """Return the numbers of the words to keep, the most frequent first; ties stay in their order.

    Parameters
    ----------
    document_counts, totals : (V,)
        Number of documents with each word, and number of its tokens.

    >>> choose_words(np.array([1, 3, 2, 4]), np.array([9, 3, 5, 4]), 4, Limits("none", 2, 0.9, None))
    array([2, 1])
    """
    fits = np.flatnonzero((document_counts >= limits.min_df) & (document_counts <= limits.max_df * n_documents))
    ranked = fits[np.argsort(-totals[fits], kind="stable")]
    return ranked[: limits.max_words]


def find_common(
    document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str], notes: list[str]
) -> Array:
    """Return the numbers of the words that are common everywhere, and append a note that they are left out."""
    common = find_common_words(document_counts, totals, lengths)
    ranked = common[np.argsort(-document_counts[common], kind="stable")]
    if len(ranked):
        are = plural(len(ranked), "word that is", "words that are")
        notes.append(f"{are} everywhere left out: {' '.join(vocabulary[word] for word in ranked.tolist())}")
    return common


def is_pruning_requested(options: ImportOptions) -> bool:
    """Return whether the options restrict the vocabulary; for a format of counts the default is to keep it whole."""
    cut = any(value is not None for value in (options.min_df, options.max_df, options.max_words))
    return cut or options.leave_out_common or options.stop_words not in (None, "none")


def prune_words(source: CountSource, options: ImportOptions, observer: Observer) -> CountSource:
    """Return the source restricted to the words that the options keep, in the same order; reads the counts once.

    The observer receives the vocabulary before the cuts.
    """
    n_words = len(source.vocabulary)
    document_counts, totals, lengths = np.zeros(n_words, np.int64), np.zeros(n_words), [np.zeros(0)]
    if options.leave_out_common and (source.kind == "real" or source.image_shape is not None):
        raise IngestError(source.where, "has no words that were counted; leave --leave-out-common out")
    for rows in source.blocks():
        tokens = np.concatenate([[0], np.cumsum(rows.counts.values, dtype=np.float64)])
        lengths.append(np.diff(tokens[rows.counts.starts]))
        document_counts += np.bincount(rows.counts.words, minlength=n_words)
        totals += np.bincount(rows.counts.words, weights=rows.counts.values, minlength=n_words)
    stops = read_stop_words(options.stop_words or "none")
    limits = Limits(options.stop_words or "none", options.min_df or 1, options.max_df or 1.0, options.max_words,
                    options.leave_out_common)  # fmt: skip
    stopped = np.array([word.lower() in stops for word in source.vocabulary])
    document_counts[stopped] = 0
    everywhere = np.empty(0, np.int64)
    if options.leave_out_common:
        everywhere = find_common(document_counts, totals, np.concatenate(lengths), source.vocabulary, source.notes)
    observer.take(_describe_vocabulary(source, document_counts, totals, stopped, everywhere), limits)
    document_counts[everywhere] = 0
    kept = np.sort(choose_words(document_counts, totals, source.n_documents, limits))
    if len(kept) == 0:
        raise IngestError(source.where, observing.explain_cuts(observer))
    new_number = np.full(n_words, -1, np.int32)
    new_number[kept] = np.arange(len(kept))
    renumber = partial(_renumber_cells, new_number=new_number)
    return replace(
        source,
        vocabulary=tuple(source.vocabulary[word] for word in kept),
        blocks=lambda: (rows.with_counts(renumber) for rows in source.blocks()),
    )


def _describe_vocabulary(
    source: CountSource, document_counts: Array, totals: Array, stopped: Array, everywhere: Array
) -> Vocabulary:
    """Return the vocabulary of a source before the cuts, with stop words apart."""
    others = np.flatnonzero(~stopped)
    words = np.array(source.vocabulary, dtype=object)
    stop_word_counts = {word: int(times) for word, times in zip(words[stopped], totals[stopped], strict=True)}
    common = np.flatnonzero(np.isin(others, everywhere))
    return Vocabulary(
        words[others].tolist(), document_counts[others], totals[others], source.n_documents, stop_word_counts, common
    )


def _renumber_cells(counts: Counts, new_number: Array) -> Counts:
    words = new_number[counts.words]
    return counts._replace(words=words).select_cells(words >= 0)


class _DocumentRecord:
    """The labels and parts of documents, and messages among them, recorded while they are counted."""

    def __init__(self, source: TextSource, progress: Progress) -> None:
        self.labels: list[str | None] = []
        self.part: list[int | None] = []
        self.left_out = 0
        self.messages = MessageSample()
        self._source, self._progress = source, progress

    def documents(self) -> Iterator[TextDocument]:
        """Yield every document that is not left out, and record its label and part."""
        for document in self._source.documents():
            if document.part == LEFT_OUT:
                self.left_out += 1
                continue
            self.labels.append(document.label)
            self.part.append(document.part)
            self.messages.add(document)
            if len(self.labels) % BLOCK == 0:
                self._progress(f"Counting words: {len(self.labels):,} documents", None)
            yield document

    def split(self) -> Array | None:
        """Return the part of each document, (documents,) int8; None if the file does not have both parts."""
        if {TRAIN, TEST} <= set(self.part):
            return np.array([TRAIN if part is None else part for part in self.part], np.int8)
        return None


class _Frequencies:
    """Running frequencies of all words; words are numbered in the order of their first occurrence.

    Attributes
    ----------
    document_counts, totals : (words or more,) int64
        Number of documents with each word, and number of its tokens.
    stopped : Counter of str
        Number of tokens of each stop word.
    counts : CountFile
        The counts of every document.
    """

    def __init__(self, where: str) -> None:
        self.document_counts, self.totals = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.stopped: Counter[str] = Counter()
        self.counts = CountFile(where)
        self._numbers: dict[str, int] = {}
        self._lengths = [np.empty(0, np.int64)]

    def add(self, bags: Bags) -> None:
        """Add the counts of some documents."""
        numbers_by_word = self._numbers
        numbers = np.array([numbers_by_word.setdefault(word, len(numbers_by_word)) for word in bags.words], np.int32)
        if len(numbers_by_word) > len(self.totals):
            self.document_counts, self.totals = (
                np.concatenate([sums, np.zeros(len(numbers_by_word), np.int64)])
                for sums in (self.document_counts, self.totals)
            )
        starts, words, values = bags.counts
        self.document_counts[numbers] += np.bincount(words, minlength=len(numbers))
        self.totals[numbers] += np.bincount(words, values, minlength=len(numbers)).astype(np.int64)
        self._lengths.append(np.diff(np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[starts]))
        self.stopped.update(bags.stopped)
        self.counts.add(bags.counts._replace(words=numbers[words]))

    @property
    def lengths(self) -> Array:
        """Number of tokens of each document, (documents,) int64."""
        return np.concatenate(self._lengths)

    def list_sorted(self) -> tuple[list[str], Array]:
        """Return the words in alphabetical order, and the number of each."""
        words = sorted(self._numbers)
        return words, np.array([self._numbers[word] for word in words], np.int64)


def count_texts(
    source: TextSource, options: ImportOptions, progress: Progress, observer: Observer, map_batches: Map = map
) -> CountSource:
    """Return the documents of a source as counts; its texts are read again when the blocks are read.

    Words are counted over training and test documents; the vocabulary is in the order of frequency.  The observer
    receives the vocabulary before the cuts.

    Parameters
    ----------
    map_batches : Map
        Applies the function that counts words to batches of texts.

    Raises
    ------
    IngestError
        When there is no document, or no word is left.
    """
    wording, recognised, notes = find_wording(source, options, progress, map_batches)
    observer.languages = tuple((name_language(code), share) for code, share in recognised.languages.items())
    record = _DocumentRecord(source, progress)
    frequencies = _Frequencies(source.where)
    batches = batch_documents(record.documents())
    for bags in map_batches(partial(count_bags, counted=source.counted, wording=wording), batches):
        frequencies.add(bags)
    max_df = _find_limits(options, wording).max_df
    observer.recommended = record.messages.recommend(source.counted, wording, max_df)
    vocabulary, counts = _choose_vocabulary(source, wording, frequencies, options, observer, notes)
    labels, label_names = joining.encode_labels(record.labels, dict(source.classes))
    part = record.split()
    _note_parts(source, record, part)
    source.notes.extend(notes)
    return CountSource(
        where=source.where,
        vocabulary=vocabulary,
        blocks=lambda: read_blocks(source, counts.reader(), labels),
        n_documents=len(labels),
        label_names=label_names,
        part=part,
        lengths=measure_counts(counts),
        contents=np.concatenate([hash_contents(each, binary=options.binary) for each in counts]),
        notes=source.notes,
        understood=source.understood,
        wording=wording.record(),
    )


def _find_limits(options: ImportOptions, wording: Wording) -> Limits:
    """Return the cuts that the options set, and the default for every other one."""
    return Limits(
        options.stop_words or " and ".join(name_language(code).lower() for code in wording.stop_words) or "none",
        MIN_DF if options.min_df is None else options.min_df,
        MAX_DF if options.max_df is None else options.max_df,
        MAX_WORDS if options.max_words is None else options.max_words,
        options.leave_out_common,
    )


def _choose_vocabulary(
    source: TextSource,
    wording: Wording,
    frequencies: _Frequencies,
    options: ImportOptions,
    observer: Observer,
    notes: list[str],
) -> tuple[tuple[str, ...], CountFile]:
    """Return the vocabulary, the most frequent word first, and the counts over it; append recommendations as notes."""
    ordered, numbers = frequencies.list_sorted()
    lengths = frequencies.lengths
    if not len(lengths):
        raise IngestError(source.where, "has no documents for training or test; look at its split, if it has one")
    if not ordered:
        raise IngestError(source.where, observing.explain_no_words(observer, frequencies.stopped, options))
    document_counts, totals = frequencies.document_counts[numbers], frequencies.totals[numbers]
    cut, common = _find_limits(options, wording), np.empty(0, np.int64)
    if options.leave_out_common:
        common = find_common(document_counts, totals, lengths, ordered, source.notes)
    observer.take(Vocabulary(ordered, document_counts, totals, len(lengths), frequencies.stopped, common), cut)
    kept = choose_words(document_counts, totals, len(lengths), cut)
    observer.recommended += recommend_common(kept, document_counts, totals, lengths, ordered)
    notes.extend(describe_recommendation(each) for each in observer.recommended if not getattr(options, each.option))
    if len(common):
        document_counts[common] = 0
        kept = choose_words(document_counts, totals, len(lengths), cut)
    if len(kept) == 0:
        counts_before = frequencies.document_counts[numbers]
        raise IngestError(source.where, observing.explain_no_vocabulary(observer, counts_before, lengths, cut, options))
    new_number = np.full(len(numbers), -1, np.int32)
    new_number[numbers[kept]] = np.arange(len(kept))
    return tuple(ordered[word] for word in kept.tolist()), _renumber_counts(
        frequencies.counts, new_number, source.where
    )


def _renumber_counts(counts: CountFile, new_number: Array, where: str) -> CountFile:
    """Return the counts over the chosen vocabulary, with ascending word numbers in each document."""
    renumbered = CountFile(where)
    for block in counts:
        renumbered.add(matrices.sort_words(_renumber_cells(block, new_number)))
    return renumbered


def _note_parts(source: TextSource, record: _DocumentRecord, part: Array | None) -> None:
    """Append notes about documents that are left out, and about a file with documents of one part only."""
    if record.left_out:
        them = plural(record.left_out, "document is", "documents are")
        source.notes.append(f"{them} in neither the training nor the test part and left out")
    if part is None and set(record.part) != {None}:
        source.notes.append("the file has only one of training and test documents, so the test part is drawn by seed")


def read_blocks(source: TextSource, rows: Callable[[int, int], Counts], labels: Array) -> Iterator[Rows]:
    """Yield the documents of a source, whose texts are read again, with their counts.

    Parameters
    ----------
    rows : callable
        Function of ``(begin, end)`` that returns the counts of these documents.
    """
    begin, remaining = 0, _list_documents(source)
    while documents := list(islice(remaining, BLOCK)):
        end = begin + len(documents)
        if end > len(labels):
            break
        yield Rows(
            rows(begin, end),
            labels[begin:end],
            [document.title for document in documents],
            [document.text for document in documents],
            [dict(document.columns) for document in documents],
        )
        begin = end
    if begin != len(labels):
        raise IngestError(source.where, "changed while it was being read; import it again")
