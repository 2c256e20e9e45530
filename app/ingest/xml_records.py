"""Records in XML: elements that repeat, the values within them, and where in a file they are."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias
from xml.etree.ElementTree import Element, TreeBuilder

from app.ingest.xml_parsing import DamagedXmlError, parse, strip_namespace

Path: TypeAlias = tuple[str, ...]
Values: TypeAlias = list[tuple[Path, str]]
LARGEST = 1 << 25  # characters of a record

_DEEPEST = 200  # elements within each other
# Elements of a line of text: what is in them belongs to the value that they stand in.
_INLINE = frozenset(
    ["a", "b", "i", "em", "strong", "u", "s", "sub", "sup", "small", "big", "font", "span", "tt", "code", "style", "hi"]
)
# Elements that repeat in every document, and are no records.
_OF_DOCUMENTS = frozenset(
    [
        *("p", "para", "paragraph", "sec", "section", "div", "div1", "div2", "chapter", "s", "seg", "sp", "l", "lg"),
        *("line", "note", "head", "title", "pb", "w", "span", "tr", "td", "th", "li", "body", "text", "meta", "link"),
    ]
)
_FEWEST_FIELDS = 0.5  # values or attributes that a record has on average, at least


def read_records(pieces: Iterable[bytes], path: Path) -> Iterator[Values]:
    """Give the values of every element at a path, each with its own path from there on.

    Parameters
    ----------
    path : tuple of str
        The last names of the elements from the outside in: ``("item",)`` stands for all of that name.

    Raises
    ------
    app.ingest.xml_parsing.DamagedXmlError
    """
    reader = _RecordReader(path)
    for _ in parse(pieces, reader):
        yield from reader.taken()
    yield from reader.taken()


class _RecordReader:
    """Target of a parser: gathers the elements at a path as they end."""

    def __init__(self, path: Path) -> None:
        self._path = tuple(name.lower() for name in path)
        self._names: list[str] = []
        self._builder: TreeBuilder | None = None
        self._depth = self._size = 0
        self._done: list[Values] = []

    def taken(self) -> list[Values]:
        """Return the records that have ended since this was last called."""
        done, self._done = self._done, []
        return done

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._names.append(strip_namespace(tag).lower())
        if len(self._names) > _DEEPEST:
            raise DamagedXmlError(f"is no sound XML (more than {_DEEPEST:,} elements within each other)")
        if self._builder is None and tuple(self._names[-len(self._path) :]) == self._path:
            self._builder, self._depth, self._size = TreeBuilder(), len(self._names), 0
        if self._builder is not None:
            self._builder.start(tag, attributes)
            self._grow(sum(map(len, attributes.values())) + 1)

    def end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(tag)
            if len(self._names) == self._depth:
                self._done.append(list(list_values(self._builder.close(), ())))
                self._builder = None
        self._names.pop()

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)
            self._grow(len(text))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LARGEST:
            raise DamagedXmlError(f"has a record of more than {LARGEST >> 20} MB of text")


def list_values(element: Element, path: Path) -> Iterator[tuple[Path, str]]:
    """Give the texts within an element and its attributes, as ``@name``; what stands in a line of text stays there."""
    for key, value in element.attrib.items():
        if value.strip() and not key.startswith("{"):
            yield (*path, f"@{key}"), value.strip()
    children = list(element)
    mixed = bool((element.text or "").strip()) or any((child.tail or "").strip() for child in children)
    if mixed or all(_is_inline(child) for child in children):
        if text := gather_text(element).strip():
            yield path or (strip_namespace(element.tag),), text
        return
    for child in children:
        yield from list_values(child, (*path, strip_namespace(child.tag)))


def gather_text(element: Element) -> str:
    """Return all text within an element; elements that are no parts of a line stand on lines of their own."""
    pieces = [element.text or ""]
    for child in element:
        inside = gather_text(child)
        pieces += [inside if _is_inline(child) else f"\n{inside}\n", child.tail or ""]
    return "".join(pieces)


def _is_inline(element: Element) -> bool:
    return isinstance(element.tag, str) and strip_namespace(element.tag) in _INLINE


class _ElementCensus:
    """Target of a parser: counts elements by their path, and what is within them."""

    def __init__(self) -> None:
        self._path: Path = ()
        self.times: Counter[Path] = Counter()
        self.fields: Counter[Path] = Counter()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._path:
            self.fields[self._path] += 1
        if len(self._path) < _DEEPEST:
            self._path = (*self._path, strip_namespace(tag))
        else:
            raise DamagedXmlError("is nested too deeply")
        self.times[self._path] += 1
        self.fields[self._path] += len(attributes)

    def end(self, tag: str) -> None:  # noqa: ARG002 - as of every target
        self._path = self._path[:-1]


def find_records(start: Iterable[bytes], fewest: int) -> Path | None:
    """Return the path of the elements that are the records of a file that begins so; None where nothing repeats.

    Of all elements that repeat those nearest to the root are taken, and of these the most frequent.

    Parameters
    ----------
    fewest : int
        How many records there are in the beginning at least.
    """
    census = _ElementCensus()
    try:
        for _ in parse(start, census):
            pass
    except DamagedXmlError:  # it is the beginning of a file: the rest is missing
        pass
    found = [
        (len(path), -times, path)
        for path, times in census.times.items()
        if len(path) > 1
        and times >= fewest
        and path[-1].lower() not in _OF_DOCUMENTS
        and census.fields[path] >= _FEWEST_FIELDS * times
    ]
    return min(found)[2] if found else None
