"""A first pass over the texts of a corpus, which recognises their languages and decides how to find their words."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import BLOCK, LEFT_OUT, Map, Progress, TextDocument, TextSource
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.cleaning import (
    HyphenEvidence,
    Rejoining,
    make_word_pattern,
    read_stop_words,
    strip_mail_lines,
)
from topiary.app.ingest.text.languages import Recognised, Sample, name_language
from topiary.app.ingest.text.wording import Pairs, Wording
from topiary.engine.contract import Counts

DOCUMENTS, LETTERS = 500, 1 << 20  # the most in a batch, for a tenth of a second of work and some megabytes sent


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
        frequencies = Counter(wording.tokens(wording.clean_document(document, counted), stopped))
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


_LEAST_SHARE = 0.01  # share of the letters above which a language without spaces is segmented
_EXAMPLES = 8  # examples in a note
PHRASE_NPMI, PHRASE_COUNT = 0.5, 10


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
    notes = [_note_pages(survey.pages), _note_mail(survey.mail), hyphen_note]
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


_DOTLESS_SHARES = {"all": 0.015, "marked": 0.0005}  # least share of ı and İ among the characters; 4 % in Turkish


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
    words = "1 word" if decision.joined == 1 else f"{decision.joined:,} words"
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


def _note_pages(n: int) -> str:
    if not n:
        return ""
    subject = "1 document is a page" if n == 1 else f"{n:,} documents are pages"
    return f"{subject} in HTML, read without tags, scripts and styles (change it with --html)"


def _note_mail(n: int) -> str:
    subject = "1 document" if n == 1 else f"{n:,} documents"
    return f"mail headers, quoted lines and signatures were left out of {subject}" if n else ""


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
    subject = "1 phrase is" if len(phrases) == 1 else f"{len(phrases):,} phrases are"
    return f"{subject} counted as one word: {', '.join(phrases[:_EXAMPLES])}{' …' if len(phrases) > _EXAMPLES else ''}"


def _list_languages(codes: list[str] | tuple[str, ...]) -> str:
    *first, last = map(name_language, codes)
    return f"{', '.join(first)} and {last}" if first else last
