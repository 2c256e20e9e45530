"""A first look at the texts of a corpus: which languages they are in, and so how their words are found."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from app.ingest import languages, lemmas, segment
from app.ingest.bags import batches, runs_of
from app.ingest.errors import IngestError
from app.ingest.hyphens import HyphenEvidence, Rejoining
from app.ingest.languages import Recognised, Sample, name_of
from app.ingest.mail import without_mail
from app.ingest.options import ImportOptions
from app.ingest.phrases import Pairs
from app.ingest.source import BLOCK, LEFT_OUT, Map, Progress, TextDocument, TextSource
from app.ingest.wording import Wording
from app.ingest.words import stop_list, usual_pattern

_FEW = 0.01  # share of the letters from which a language without spaces is segmented
_NAMED = 8  # examples in a note
PHRASE_NPMI, PHRASE_COUNT = 0.5, 10


@dataclass
class _Seen:
    """What a pass over the documents finds."""

    sample: Sample = field(default_factory=Sample)
    cut: HyphenEvidence = field(default_factory=HyphenEvidence)
    documents: int = 0
    pages: int = 0
    mail: int = 0


def wording_of(
    source: TextSource, options: ImportOptions, progress: Progress, mapped: Map = map
) -> tuple[Wording, Recognised, list[str]]:
    """How the words of these texts are found, what was recognised, and notes that say it and what was chosen.

    Reads the documents once, and once more for phrases.

    Parameters
    ----------
    mapped : Map
        Cuts batches of texts into words for phrases.

    Raises
    ------
    IngestError
        When a library that is needed is not installed.
    """
    wording = Wording(
        html=options.html,
        strip_mail=options.strip_mail,
        pattern=usual_pattern() if options.token_pattern is None else options.token_pattern,
    )
    seen = _look(source, wording, options, progress)
    recognised = languages.recognise(seen.sample.texts)
    named = languages.code_of(options.stop_words or "")
    spoken = (named,) if named else recognised.main
    rejoining, about_hyphens = _rejoining(seen, options)
    said = [_pages(seen.pages), _mail(seen.mail), about_hyphens]
    segmented, about = _segmented(source.where, recognised, seen.sample.texts, options)
    listed, of_files, of_stops = _stops(options, recognised)
    forms = _lemmas(source.where, spoken, options)
    wording = replace(
        wording,
        hyphens=rejoining.which,
        hyphens_listed=tuple(sorted(rejoining.listed)),
        segmented=segmented,
        lemmas=forms,
        stop_words=listed,
        stop_list=tuple(sorted(of_files | source.stop_words)),
    )
    said += [of_stops, *about, f"words are counted in their dictionary form in {_list(forms)}" if forms else ""]
    if options.phrases:
        wording = replace(wording, phrases=_phrases(source, wording, options, progress, mapped))
        said.append(_joined(wording.phrases))
    return wording, recognised, [note for note in said if note]


def _documents(source: TextSource) -> Iterator[TextDocument]:
    """Each document of the source that is not left out."""
    return (document for document in source.documents() if document.part != LEFT_OUT)


def _look(source: TextSource, wording: Wording, options: ImportOptions, progress: Progress) -> _Seen:
    seen = _Seen()
    for document in _documents(source):
        seen.documents += 1
        seen.pages += wording.is_page(document.text)
        if wording.strip_mail:
            seen.mail += without_mail(document.text).split() != document.text.split()
        if options.hyphens == "auto":
            seen.cut.see(document.text)
        seen.sample.add(lambda document=document: source.counted(wording.prepared_document(document)))  # type: ignore[misc]
        if seen.documents % BLOCK == 0:
            progress(f"Recognising the language: {seen.documents:,} documents", None)
    return seen


def _rejoining(seen: _Seen, options: ImportOptions) -> tuple[Rejoining, str]:
    """Which words are joined that the ends of lines have cut, and a note."""
    if options.hyphens != "auto":
        return Rejoining("all" if options.hyphens == "join" else "none"), ""
    for text in seen.sample.texts:
        seen.cut.learn(text)
    found = seen.cut.decide()
    if found is None or not found.joined:
        return Rejoining("soft"), ""
    words = "1 word" if found.joined == 1 else f"{found.joined:,} words"
    said = f"{words} cut at the end of a line joined ({found.examples[0]})"
    if found.kept:
        said += f", {found.kept:,} kept with the hyphen ({found.examples[1]})"
    return found.rejoining, f"{said} (change it with --hyphens)"


def _segmented(
    where: str, recognised: Recognised, texts: list[str], options: ImportOptions
) -> tuple[tuple[str, ...], list[str]]:
    """The languages whose words are to be set apart, and notes."""
    if options.token_pattern is not None:  # whoever says what a word is has words
        return (), []
    segmented, notes = [], []
    for code in segment.WITHOUT_SPACES:
        share = recognised.letters.get(code, 0.0)
        if share < _FEW or not segment.runs_together(code, texts):
            continue
        if not segment.missing((code,)):
            segmented.append(code)
            notes.append(f"{name_of(code)} has no spaces between words, so they were set apart by a dictionary")
        elif share >= languages.MAIN:
            cause = f"is in {name_of(code)}, whose words are written without spaces between them: {segment.INSTALL}"
            raise IngestError(where, f"{cause} and import it again")
        else:
            few = f"{share:.0%} of the text is in {name_of(code)}, whose words are not told apart"
            notes.append(f"{few}: {segment.INSTALL}")
    return tuple(segmented), notes


def _stops(options: ImportOptions, recognised: Recognised) -> tuple[tuple[str, ...], frozenset[str], str]:
    """Languages whose stop words are left out, stop words of a file, and a note."""
    choice = options.stop_words
    if choice is not None:
        code = languages.code_of(choice)
        about = _spoken(recognised)
        return ((code,), frozenset(), about) if code else ((), stop_list(choice), about)
    change = "(change it with --stop-words)"
    script = next(iter(recognised.scripts), "Latin")
    if not recognised.main and script != "Latin":
        said = f"the language of the texts, in {script} letters, was not recognised, so no stop words are left out"
        return (), frozenset(), f"{said} {change}"
    if not recognised.main:
        said = f"the language of the texts was not recognised, so English stop words are left out {change}"
        return ("en",), frozenset(), said if recognised.enough else ""
    listed = tuple(code for code in recognised.main if languages.stop_words(code))
    unlisted = [code for code in recognised.main if code not in listed]
    whose = "its" if len(listed) == 1 else "their"
    said = f"{_spoken(recognised)}; {whose} stop words are left out" if listed else _spoken(recognised)
    if unlisted:
        said += f"{', but' if listed else ', and'} there is no list of stop words for {_list(unlisted)}"
    return listed, frozenset(), f"{said} {change}"


def _spoken(recognised: Recognised) -> str:
    if not recognised.main:
        return ""
    if len(recognised.main) == 1:
        return f"the texts are in {name_of(recognised.main[0])}"
    parts = (f"{name_of(code)} ({recognised.languages[code]:.0%})" for code in recognised.main)
    return f"the texts are in several languages, {', '.join(parts)}"


def _lemmas(where: str, spoken: tuple[str, ...], options: ImportOptions) -> tuple[str, ...]:
    if not options.lemmas:
        return ()
    if not lemmas.installed():
        raise IngestError(
            where, f"cannot be counted in dictionary forms without simplemma: {lemmas.INSTALL}, or leave --lemmas out"
        )
    found = lemmas.known(spoken or ("en",))
    if not found:
        raise IngestError(where, f"is in {_list(spoken)}, whose dictionary forms are not known; leave --lemmas out")
    return found


def _pages(n: int) -> str:
    if not n:
        return ""
    are = "1 document is a page" if n == 1 else f"{n:,} documents are pages"
    return f"{are} in HTML, read without tags, scripts and styles (change it with --html)"


def _mail(n: int) -> str:
    of = "1 document" if n == 1 else f"{n:,} documents"
    return f"mail headers, quoted lines and signatures were left out of {of}" if n else ""


def _phrases(
    source: TextSource, wording: Wording, options: ImportOptions, progress: Progress, mapped: Map
) -> tuple[str, ...]:
    pairs = Pairs()
    found = mapped(partial(runs_of, counted=source.counted, wording=wording), batches(_documents(source)))
    for number, runs in enumerate(chain.from_iterable(found), start=1):
        pairs.add(runs)
        if number % BLOCK == 0:
            progress(f"Looking for phrases: {number:,} documents", None)
    least = PHRASE_NPMI if options.phrase_npmi is None else options.phrase_npmi
    return pairs.phrases(least, PHRASE_COUNT if options.phrase_count is None else options.phrase_count)


def _joined(phrases: tuple[str, ...]) -> str:
    if not phrases:
        return "no two words belong together closely enough to be a phrase; lower --phrase-npmi or --phrase-count"
    are = "1 phrase is" if len(phrases) == 1 else f"{len(phrases):,} phrases are"
    return f"{are} counted as one word: {', '.join(phrases[:_NAMED])}{' …' if len(phrases) > _NAMED else ''}"


def _list(codes: list[str] | tuple[str, ...]) -> str:
    *first, last = map(name_of, codes)
    return f"{', '.join(first)} and {last}" if first else last
