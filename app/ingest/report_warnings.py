"""What in a file is probably not as it was meant, in sentences: nothing is refused for it."""

from collections.abc import Iterator

from app.ingest.observing import Observer, Tally
from app.ingest.options import CHAPTERS

_FEW = 20  # documents below which shares say little
_SAME = 0.5  # share of duplicates that is worth a sentence
_OUTSIDE = 0.5  # share of the characters outside words
_LOST = 0.9  # share of the tokens that the cuts take
_WORDLESS = 0.1  # share of the documents without a word of the vocabulary
_SMALL = 50  # words of a vocabulary below which topics say little


def warnings(observer: Observer, *, wordless: int, tokens_kept: int, words_kept: int, texts: bool) -> tuple[str, ...]:
    """The sentences about a source that was read whole.

    Parameters
    ----------
    observer : Observer
    wordless : int
        Documents without a word of the vocabulary that is kept.
    tokens_kept, words_kept : int
        After the cuts.
    texts : bool
        Whether the documents are texts, whose words were found.
    """
    if observer.tally is None or not observer.tally.documents:
        return ()
    tally = observer.tally
    found = [*_of_documents(tally), *_of_labels(tally)]
    if texts:
        found += _of_texts(observer, tally)
    found += _of_words(observer, tokens_kept, words_kept)
    more = wordless - tally.empty
    if more > _WORDLESS * tally.documents:
        found.append(f"{_share(more, tally.documents)} documents have no word that is kept; cut less of the vocabulary")
    return tuple(found)


def _of_documents(tally: Tally) -> Iterator[str]:
    if tally.duplicates > _SAME * tally.documents:
        yield f"{_share(tally.duplicates, tally.documents)} documents have the same content as one before them"
    if tally.empty > _WORDLESS * tally.documents:
        yield f"{_share(tally.empty, tally.documents)} documents are empty; is it the right file, or column?"
    if tally.documents < _FEW:
        only = "there is only 1 document" if tally.documents == 1 else f"there are only {tally.documents} documents"
        yield f"{only}, and topics are learnt from many; is each document one row, line or file?"


def _of_labels(tally: Tally) -> Iterator[str]:
    labelled = tally.labels.total()
    if labelled >= _FEW and len(tally.labels) == labelled:
        yield "the label is another one in every document, so it is no class; name another column, or none"
    elif labelled >= _FEW and len(tally.labels) > labelled / 2:
        yield f"the label has {len(tally.labels):,} values in {labelled:,} documents, which is much for a class"
    elif labelled >= _FEW and len(tally.labels) == 1:
        yield f"the label is {next(iter(tally.labels))!r} in every document, so there is nothing to tell apart"


def _of_texts(observer: Observer, tally: Tally) -> Iterator[str]:
    filled = tally.documents - tally.empty
    if filled and tally.numeric > filled / 2:
        only = "only numbers" if tally.numeric == filled else f"a number in {_share(tally.numeric, filled)} documents"
        yield f"the text has {only}; name the column of the text"
    characters = tally.characters.counted()
    visible = sum(times for letter, times in characters.items() if not letter.isspace())
    outside = max(0, visible - observer.letters_in_words)
    if visible and outside > _OUTSIDE * visible:
        yield f"{_share(outside, visible)} characters are not in any word; is it text, in words that spaces divide?"
    yield from _of_length(tally)
    broken = characters["\ufffd"]
    if broken:
        times = "once" if broken == 1 else f"{broken:,} times"
        yield f"the replacement character \ufffd occurs {times}: something read the text in the wrong encoding before"


def _of_length(tally: Tally) -> Iterator[str]:
    usual = tally.long.usual
    if not usual:
        return
    with_chapters, looked_at = tally.long.chaptered()
    ways = "--split paragraphs or --split '500 words'"
    if tally.long.proposal() == CHAPTERS:
        ways = f"--split chapters (found in {with_chapters} of {looked_at}) or --split '500 words'"
    documents = (
        f"half of the documents have {usual:,} words or more" if tally.documents > 1 else f"it has {usual:,} words"
    )
    yield f"{documents}, too many for one mixture of topics; divide them into passages: {ways}"


def _of_words(observer: Observer, tokens_kept: int, words_kept: int) -> Iterator[str]:
    if observer.cuts and observer.tokens and tokens_kept < (1 - _LOST) * observer.tokens:
        yield f"the cuts take {_share(observer.tokens - tokens_kept, observer.tokens)} words away; cut less"
    if observer.cuts and words_kept < _SMALL:
        kept = "1 word is kept" if words_kept == 1 else f"{words_kept} different words are kept"
        yield f"only {kept}, too few for topics; cut less, or import more documents"


def _share(part: int, whole: int) -> str:
    """How much of something, in words where they say it.

    >>> _share(9, 10), _share(2, 3), _share(5, 5), _share(61, 100)
    ('nine of ten', 'two of three', 'all', '61 % of the')
    """
    if part == whole:
        return "all"
    for parts, of, words in ((9, 10, "nine of ten"), (2, 3, "two of three"), (3, 4, "three of four")):
        if abs(part / whole - parts / of) < 0.02:
            return words
    return f"{100 * part / whole:.0f} % of the"
