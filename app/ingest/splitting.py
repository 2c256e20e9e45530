"""Long documents as passages: each keeps the title, the label and the columns of its document, and its place in it."""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import median

import numpy as np

from app.ingest.chapters import by_chapters, has_chapters
from app.ingest.errors import IngestError
from app.ingest.options import CHAPTERS, PARAGRAPHS
from app.ingest.passages import Passage, by_paragraphs, by_words, count_words, one_line_end
from app.ingest.source import LEFT_OUT, Array, TextDocument, TextSource

USUAL = 500  # words of a passage that are proposed
LONG = 5_000  # words of a usual document from which passages are proposed

_LONG_TEXT = 2 * LONG  # letters of a text whose words are counted; a shorter one has no more than LONG
_LOOKED_AT = 20  # long texts in which chapters are looked for
_NAMED = 3  # documents named in a note
_LONGEST_TITLE = 200
_LICENCE_BEGINS = re.compile(
    r"^[ \t]*\*\*\*[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK[^\n]*(?:\n[^\n]+){0,2}?\*\*\*[ \t]*$",
    re.MULTILINE,
)
_LICENCE_ENDS = re.compile(
    r"^[ \t]*(?:\*\*\*[ \t]*END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK|End of (?:the )?Project Gutenberg)",
    re.MULTILINE | re.IGNORECASE,
)


def without_licence(text: str) -> str:
    """Return a text without the licence that stands before and after a book of Project Gutenberg."""
    begins = _LICENCE_BEGINS.search(text)
    ends = _LICENCE_ENDS.search(text, begins.end() if begins else len(text) // 2)
    return text[begins.end() if begins else 0 : ends.start() if ends else len(text)]


class Division:
    """Divides the documents of a source while they are read.

    Parameters
    ----------
    how : str
        As :attr:`app.ingest.options.ImportOptions.split`.
    prepared : callable
        What a text is without what is not to be read of it, such as the tags of a page.
    strict : bool
        Whether texts that have no chapters at all are refused where these are asked for.

    Attributes
    ----------
    documents : array of int
        For each passage of either part the number of its document; complete once all documents have been read.
    """

    def __init__(self, how: str, prepared: Callable[[str], str], *, strict: bool = True) -> None:
        self.how = how
        self._strict = strict
        self.documents = array("q")
        self._prepared = prepared
        self._divide = _divider(how)

    def applied(self, source: TextSource) -> TextSource:
        """Return the source whose documents are passages."""
        return replace(source, documents=lambda: self._passages(source))

    def groups(self) -> Array:
        """Return for each passage the number of its document, (passages,) int64."""
        return np.frombuffer(self.documents, np.int64) if self.documents else np.empty(0, np.int64)

    def _passages(self, source: TextSource) -> Iterator[TextDocument]:
        found = array("q")
        licences, whole, documents = 0, [], 0
        for number, document in enumerate(source.documents()):
            text = one_line_end(self._prepared(document.text))
            inside = without_licence(text)
            passages = self._divide(inside) if inside.strip() else []
            if document.part != LEFT_OUT:
                documents += 1
                licences += len(inside) < len(text)
                found.extend([number] * max(1, len(passages)))
                if len(passages) <= 1:
                    whole.append(document.title)
            yield from _in_pieces(document, passages)
        self.documents = found
        self._say(source, documents, licences, whole)

    def _say(self, source: TextSource, documents: int, licences: int, whole: list[str]) -> None:
        """Keep in the source what was done, once.

        Raises
        ------
        IngestError
            When no document has chapters.
        """
        if self._strict and self.how == CHAPTERS and documents and len(whole) == documents:
            has = "has no headings of chapters, such as 'Chapter 1', a numeral on its own line or '# Heading'"
            raise IngestError(source.where, f"{has}; divide it with --split paragraphs or --split '{USUAL} words'")
        number, of = len(self.documents), "1 document" if documents == 1 else f"{documents:,} documents"
        source.understood["split"] = f"{self.how}: {of} in {number:,} passages"
        said = []
        if licences:
            books = "1 book" if licences == 1 else f"{licences:,} books"
            said.append(f"the licence of Project Gutenberg is left out of {books}")
        if self.how == CHAPTERS and whole:
            have = "1 document has" if len(whole) == 1 else f"{len(whole):,} documents have"
            named = ", ".join(map(repr, whole[:_NAMED])) + (" …" if len(whole) > _NAMED else "")
            said.append(f"{have} no headings of chapters and {'is' if len(whole) == 1 else 'are'} kept whole ({named})")
        source.notes.extend(note for note in said if note not in source.notes)


def _divider(how: str) -> Callable[[str], list[Passage]]:
    if how == CHAPTERS:
        return by_chapters
    if how == PARAGRAPHS:
        return by_paragraphs
    size = int(how.partition(" ")[0])
    return lambda text: by_words(text, size)


def _in_pieces(document: TextDocument, passages: list[Passage]) -> Iterator[TextDocument]:
    """Give the passages of a document as documents; one that is not divided keeps its title."""
    total = max(1, len(passages))
    if total == 1:
        text = passages[0].text if passages else document.text
        yield document._replace(text=text, columns=_columns(document, 1, 1, ""))
        return
    for place, passage in enumerate(passages, 1):
        where = f"{place} of {total}"
        title = f"{document.title}, {where}" + (f": {passage.heading}" if passage.heading else "")
        columns = _columns(document, place, total, passage.heading)
        short = title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
        yield document._replace(text=passage.text, title=short, columns=columns, titled=False)


def _columns(document: TextDocument, place: int, total: int, heading: str) -> Mapping[str, str]:
    """Return the columns of a passage: those of its document, the title of that, and its place in it."""
    own = {"document": document.title, "passage": f"{place} of {total}"} | ({"chapter": heading} if heading else {})
    taken = document.columns
    return {**taken, **{name if name not in taken else f"{name} (split)": value for name, value in own.items()}}


class LongTexts:
    """Looks whether documents are long, and how they could be divided.

    Attributes
    ----------
    documents : int
        Texts that were seen, without empty ones.
    """

    def __init__(self) -> None:
        self.documents = 0
        self._words = array("q")
        self._looked = self._divided = 0

    def see(self, text: str) -> None:
        """Look at the text of a document."""
        self.documents += 1
        if len(text) > _LONG_TEXT and (words := count_words(text)) > LONG:
            self._words.append(words)
            if self._looked < _LOOKED_AT:
                self._looked += 1
                self._divided += has_chapters(one_line_end(text))

    @property
    def usual(self) -> int:
        """How many words the usual document has; 0 where that is no more than `LONG`."""
        if 2 * len(self._words) <= self.documents:
            return 0
        return int(median([0] * (self.documents - len(self._words)) + list(self._words)))

    def proposal(self) -> str:
        """Return how the documents could be divided, empty where they are short."""
        if not self.usual:
            return ""
        return CHAPTERS if 2 * self._divided > self._looked else f"{USUAL} words"

    def chaptered(self) -> tuple[int, int]:
        """Return in how many texts chapters were found, and in how many they were looked for."""
        return self._divided, self._looked
