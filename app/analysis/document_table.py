"""The table of a corpus: titles of documents, the documents that a filter selects, and their strongest topics."""

import re
from collections.abc import Callable, Mapping, Sequence
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.filters import parse_condition
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, parse_identity
from topiary.app.analysis.shares import RankedDocuments
from topiary.app.ingest.text.cleaning import strip_mail_lines
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.shares import LayerShares

LONGEST_TITLE = 90  # characters
_SHORTEST_SENTENCE = 20  # characters; a shorter one, such as "Hi all.", is followed by the next
_HEAD = 8000  # characters of a text in which its title is sought
_TAG = re.compile(r"<[^<>]{1,300}>")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SUBJECT = re.compile(r"\s*subject\s*:\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]")
_NUMBERED = re.compile(r"(?:document|message|text|row|line)?[\s_#-]*[\d_.-]+(?:\.\w{1,5})?", re.IGNORECASE)
_ID_COLUMNS = ("id", "file", "path")


def make_title(title: str, text: str, columns: Mapping[str, str]) -> str:
    r"""Return the title by which a document is listed.

    That is its stored title, unless this is only a number or the name of a file.  Then it is the subject of a message,
    or the first line with letters, shortened to a sentence or at a word.  Without a text, the stored title remains.

    >>> make_title("sci.space/6", "From: a@b.c\nSubject: Re: The comet\n\nBo writes:\n> Is it bright?\nVery.", {})
    'The comet'
    >>> make_title("Albedo", "", {}), make_title("document 3", "\n---\nShe came home. It rained.", {})
    ('Albedo', 'She came home. It rained.')
    """
    title = title.strip()
    if title and not _is_file_name(title, columns):
        return title
    lines = strip_mail_lines(_BREAK.sub("\n", text[:_HEAD])).splitlines() or text[:_HEAD].splitlines()
    plain = (" ".join(_TAG.sub(" ", _SUBJECT.sub("", line.lstrip("> |"), count=1)).split()) for line in lines)
    first = next((line for line in plain if any(map(str.isalpha, line))), "")
    return shorten_title(_decode_subject(first)) or title


def shorten_title(line: str, most: int = LONGEST_TITLE) -> str:
    """Return a line of at most ``most`` characters: whole, its first sentence, or cut at a word, with an ellipsis."""
    if len(line) <= most:
        return line
    for end in _SENTENCE_END.finditer(line, _SHORTEST_SENTENCE, most + 1):
        if end.end() <= most:
            return line[: end.end()]
    words = line[: most - 1].rsplit(maxsplit=1)
    at_word = words[0] if len(words) > 1 and len(words[0]) > most // 2 else line[: most - 1]
    return at_word.rstrip(" ,;:-") + "…"


def _is_file_name(title: str, columns: Mapping[str, str]) -> bool:
    """Return whether a title says nothing about a document: a number, a path, or one of its columns for these."""
    if title in (columns.get(name) for name in _ID_COLUMNS) or _NUMBERED.fullmatch(title):
        return True
    return not re.search(r"\s", title) and ("/" in title or "\\" in title)


def _decode_subject(line: str) -> str:
    """Return a line with the encoded words of a mail header decoded."""
    if "=?" not in line:
        return line
    try:
        return str(make_header(decode_header(line)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return line


class DocumentFilter(NamedTuple):
    """The filters of the table.

    Attributes
    ----------
    text : str
        Words that the title or the text has; "" = any.
    label : int
        Number of a label, from 1; 0 = any.
    where : tuple of str
        Conditions on columns (`app.analysis.filters`).
    subject : str
        Identity of a topic, such as "L1:3", of which the documents that use it most are listed; "" = any.
    badly : bool
        Only those that the topics explain badly (:mod:`engine.lens.typical`), the worst first.
    """

    text: str = ""
    label: int = 0
    subject: str = ""
    where: tuple[str, ...] = ()
    badly: bool = False

    @property
    def node(self) -> Node | None:
        """The topic of ``subject``."""
        return parse_identity(self.subject)

    @property
    def ranked(self) -> Node | None:
        """The topic by whose share documents are ordered: that of ``subject``, or one that has to be the strongest."""
        return self.node or next(filter(None, (parse_condition(text).strongest for text in self.where)), None)

    @property
    def reads_shares(self) -> bool:
        """Whether it depends on the shares of topics in documents."""
        return self.node is not None or self.badly or any(parse_condition(text).node for text in self.where)


class DocumentSelection(NamedTuple):
    """The documents that a filter selects, in the order of the table.

    Attributes
    ----------
    numbers : (total,) int64 array or None
        None for all documents of the corpus.
    """

    total: int
    numbers: Array | None

    def read_page(self, page: int, size: int) -> list[int]:
        """Return the numbers of the documents of a page, from 0."""
        places = range(self.total)[page * size : (page + 1) * size]
        return list(places) if self.numbers is None else self.numbers[places.start : places.stop].tolist()

    def find_place(self, document: int) -> int | None:
        """Return the place of a document in the table, from 0; None if the filter does not select it."""
        if self.numbers is None:
            return document if 0 <= document < self.total else None
        places = np.flatnonzero(self.numbers == document)
        return int(places[0]) if len(places) else None

    def find_neighbour(self, document: int, step: int) -> int | None:
        """Return the document ``step`` places after a document; None at an end.

        From a document that the filter does not select, any step leads to the first of the table.
        """
        place = self.find_place(document)
        place = 0 if place is None else place + step
        if not 0 <= place < self.total:
            return None
        return place if self.numbers is None else int(self.numbers[place])


def select_documents(
    db: Database,
    corpus: CorpusRow,
    wanted: DocumentFilter,
    hierarchy: Hierarchy | None,
    read_labels: Callable[[CorpusRow], Array],
    order_documents: Callable[[Hierarchy, Node], RankedDocuments],
    is_wanted: Callable[[], bool],
    selected: Array | None = None,
    listed: Array | None = None,
) -> DocumentSelection:
    """Return the documents that all filters select.

    Those of a topic are in the order of ``order_documents``, others in the order of the corpus.  The search of the text
    ends early when ``is_wanted()`` returns False.

    Parameters
    ----------
    hierarchy : Hierarchy or None
        The topics; None if there are none yet, so that no document has any.
    read_labels : (corpus) -> (documents,) int32 array
        Returns the label of every document, from 0, -1 = none.
    order_documents : (hierarchy, node) -> RankedDocuments
        Returns the documents that use a topic, the strongest first.
    is_wanted : () -> bool
    selected : (documents,) bool array, optional
        The documents that meet the conditions of the filter; None for all.
    listed : (n,) int array, optional
        Numbers of documents, of which those are selected that all filters select, in this order.
    """
    numbers: Array | None = None
    ranked = wanted.ranked
    if ranked is not None:
        numbers = np.zeros(0, dtype=np.int64)
        if hierarchy is not None and hierarchy.has(ranked):
            numbers = order_documents(hierarchy, ranked).numbers
            numbers = numbers[numbers < corpus.documents]
    if wanted.text.strip():
        with_text = corpora.find_documents(db, corpus.number, wanted.text, is_wanted)
        numbers = with_text if numbers is None else numbers[np.isin(numbers, with_text)]
    if wanted.label:
        labels = read_labels(corpus)
        if numbers is None:
            numbers = np.flatnonzero(labels == wanted.label - 1)
        else:
            numbers = numbers[numbers < len(labels)]
            numbers = numbers[labels[numbers] == wanted.label - 1]
    if selected is not None:
        numbers = np.flatnonzero(selected) if numbers is None else numbers[selected[numbers]]
    if listed is not None:
        numbers = listed if numbers is None else listed[np.isin(listed, numbers)]
    return DocumentSelection(corpus.documents if numbers is None else len(numbers), numbers)


class StrongestTopic(NamedTuple):
    """The topic of a layer that has the largest share of a document, and this share."""

    node: Node
    share: float


def find_strongest(hierarchy: Hierarchy, layers: Sequence[LayerShares], row: int) -> tuple[StrongestTopic | None, ...]:
    """Return the strongest topic of a document in every layer, background topics left out where there are others.

    None where no topic has 1 % of the document.

    Parameters
    ----------
    layers : sequence of LayerShares
        The shares of documents in layers 1, 2, ...
    row : int
        The row of the document.
    """
    return tuple(find_layer_strongest(hierarchy, layer, part, row) for layer, part in enumerate(layers, start=1))


def find_layer_strongest(hierarchy: Hierarchy, layer: int, part: LayerShares, row: int) -> StrongestTopic | None:
    """Return the strongest topic of a document in one layer, as `find_strongest`."""
    entries = slice(part.starts[row], part.starts[row + 1])
    columns, shares = part.topics[entries].tolist(), part.shares[entries].tolist()
    pairs = [(share, -column) for share, column in zip(shares, columns, strict=True)]
    roles = hierarchy.roles[layer - 1]
    others = [pair for pair in pairs if roles[-pair[1]] != BACKGROUND]
    share, column = max(others or pairs, default=(0.0, 0))
    return StrongestTopic(hierarchy.node(layer, -column), share) if share else None
