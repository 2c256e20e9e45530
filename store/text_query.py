"""The language in which documents are searched: words, "phrases in quotation marks", and /regular expressions/.

Words match the beginnings of words and need no order; a phrase matches words that follow each other, with blanks, line
ends or hyphens between them; a regular expression matches anywhere in the title or the text.  Case does
not matter to any of them.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import regex

from topiary.store.errors import StoreError
from topiary.store.full_text import UNSPACED, split_query

LONGEST_SEARCH = 1.0  # seconds for which a regular expression may be sought in one document
_QUOTED = regex.compile(r'["“”„«»]([^"“”„«»]+)["“”„«»]')
_WORD = regex.compile(r"[^\W_]+")
_GAP = regex.compile(r"[\s_\p{Pd}]+")
_UNSPACED_LETTER = regex.compile(rf"[{UNSPACED}]")
_EXPRESSION = regex.compile(r"\s*/(.+)/\s*", regex.DOTALL)


class QueryError(StoreError):
    """An error in a search: a regular expression that is wrong, or that takes too long."""


class TextQuery:
    r"""A search for documents, as users write it.

    >>> query = TextQuery('"prime minister" brown')
    >>> query.words, query.phrases, query.expression
    ('brown', ('prime minister',), None)
    >>> [match.group() for match in query.find_matches("The Prime-Minister, Gordon Brown")]
    ['Prime-Minister', 'Brown']
    >>> TextQuery(r"/colou?rs?\b/").has_match("Colours of autumn")
    True

    Parameters
    ----------
    text : str
        What the user wrote.

    Attributes
    ----------
    words : str
        The words outside quotation marks, separated by blanks.
    phrases : tuple of str
        What stands in quotation marks.
    expression : str or None
        The regular expression between slashes, which is then all there is.

    Raises
    ------
    QueryError
        If the regular expression is wrong.
    """

    def __init__(self, text: str) -> None:
        whole = _EXPRESSION.fullmatch(text)
        self.expression: str | None = whole[1] if whole else None
        self.phrases: tuple[str, ...] = ()
        self.words = ""
        if whole is None:
            self.phrases = tuple(part for part in _QUOTED.findall(text) if _WORD.search(part))
            self.words = " ".join(_QUOTED.sub(" ", text).split())
        self._patterns = tuple(self._compile_parts())

    @property
    def indexed_words(self) -> str:
        """The words that the index can look up: a document without one of them does not match."""
        return " ".join((self.words, *(word for phrase in self.phrases for word in split_query(phrase)))).strip()

    @property
    def is_empty(self) -> bool:
        """Whether every document matches."""
        return not self._patterns

    @property
    def must_read(self) -> bool:
        """Whether the index does not suffice, so that texts have to be read."""
        return bool(self.phrases) or self.expression is not None

    def has_match(self, *texts: str) -> bool:
        """Return whether each part of what is sought is in one of several texts, such as a title and a text.

        Raises
        ------
        QueryError
            If the regular expression takes longer than ``LONGEST_SEARCH``.
        """
        with self._report_time():
            return all(
                any(pattern.search(text, timeout=LONGEST_SEARCH) for text in texts) for pattern in self._patterns
            )

    def find_matches(self, text: str) -> "Iterator[regex.Match[str]]":
        """Yield the places in a text of any part of what is sought, without overlaps, in order.

        Raises
        ------
        QueryError
            If the regular expression takes longer than ``LONGEST_SEARCH``.
        """
        if self.is_empty:
            return
        with self._report_time():
            for match in self._any_part.finditer(text, timeout=LONGEST_SEARCH):
                if match.end() > match.start():
                    yield match

    @cached_property
    def _any_part(self) -> "regex.Pattern[str]":
        """The pattern of any of the parts."""
        parts = (f"(?:{pattern.pattern})" for pattern in self._patterns)
        return regex.compile("|".join(parts), regex.IGNORECASE)

    def _compile_parts(self) -> "Iterator[regex.Pattern[str]]":
        if self.expression is not None:
            try:
                yield regex.compile(self.expression, regex.IGNORECASE)
            except regex.error as error:
                raise QueryError(f"the regular expression /{self.expression}/ is wrong: {error}") from error
            return
        for phrase in self.phrases:
            yield regex.compile(_write_phrase(phrase), regex.IGNORECASE)
        for word in split_query(self.words):
            yield regex.compile(rf"{_bound(word[0])}{regex.escape(word)}\w*", regex.IGNORECASE)

    @contextmanager
    def _report_time(self) -> Iterator[None]:
        """Raise QueryError if the regular expression takes too long."""
        try:
            yield
        except TimeoutError as error:
            raise QueryError(
                f"the regular expression /{self.expression}/ takes longer than {LONGEST_SEARCH:g} s in one document; "
                "write it without a repetition inside a repetition"
            ) from error


def _write_phrase(phrase: str) -> str:
    """Return the pattern of a phrase: its words, with blanks or dashes where it has either, and its other signs."""
    words = list(_WORD.finditer(phrase))
    pattern = _bound(words[0][0][0])
    for before, word in itertools.pairwise(words):
        signs = phrase[before.end() : word.start()]
        gap = r"[\s_\p{Pd}]+" if _GAP.fullmatch(signs) else rf"\s*{regex.escape(signs.strip())}\s*"
        pattern += regex.escape(before[0]) + gap
    return pattern + regex.escape(words[-1][0]) + _bound(words[-1][0][-1])


def _bound(letter: str) -> str:
    """Return the pattern of the edge of a word at this letter; scripts without spaces have none."""
    return "" if _UNSPACED_LETTER.match(letter) else r"\b"
