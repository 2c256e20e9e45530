"""The words that are typical of the documents that the view selects, counted in another thread."""

from collections.abc import Callable
from functools import partial

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.typical import TypicalWords, find_typical_words, sum_corpus_words
from topiary.app.pages.filters import open_documents
from topiary.app.pages.session import Context
from topiary.app.views.trends.typical_card import TYPICAL_WORDS
from topiary.store import corpora, runs
from topiary.store.errors import StoreError

_COUNTING = "Counting the words of the documents …"
_REAL = "Words are not compared, because this corpus has real values in place of counts."
WordsKey = tuple[int, tuple[str, ...]]  # snapshot, conditions


class SelectionWords:
    """The words of a session's selection; those of a large corpus take some seconds.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wanted: WordsKey | None = None
        self._answer: tuple[WordsKey, TypicalWords | None, str] | None = None

    def read(
        self, hierarchy: Hierarchy, where: tuple[str, ...], then: Callable[[], None]
    ) -> tuple[TypicalWords | None, str]:
        """Return the words, or None and a sentence that says why; count them if need be, and call ``then`` after."""
        key = hierarchy.snapshot, where
        if self._answer is not None and self._answer[0] == key:
            return self._answer[1:]
        if self._wanted != key:
            self._wanted = key
            self._context.aside(partial(self._count, key, hierarchy), partial(self._receive, key, then), self._fail)
        return None, _COUNTING

    def _count(self, key: WordsKey, hierarchy: Hierarchy) -> tuple[TypicalWords | None, str]:
        """Count the words unless they are no longer wanted; this waits for the store."""
        db, n_words = self._context.db, len(hierarchy.vocabulary)
        corpus = corpora.get_run_corpus(db, runs.get_run(db, hierarchy.run))
        if corpus.kind == "real":
            return None, _REAL
        try:
            selected = open_documents(self._context, corpus, hierarchy, key[1]).selected
            selection = sum_corpus_words(db, corpus, n_words, selected, lambda: self._wanted == key)
            if self._wanted != key:
                return None, _COUNTING
            everything = self._context.reader.sum_words(corpus, n_words)
        except (ReadError, StoreError) as error:
            return None, f"The words could not be counted: {error}."
        return find_typical_words(selection, everything, hierarchy.vocabulary, TYPICAL_WORDS), ""

    def _receive(self, key: WordsKey, then: Callable[[], None], found: tuple[TypicalWords | None, str]) -> None:
        if self._wanted == key:
            self._answer = (key, *found)
            then()

    def _fail(self) -> None:
        self._wanted = None
