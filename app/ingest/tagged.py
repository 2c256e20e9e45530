"""Records of lines that begin with a tag: RIS, EndNote, Web of Science and MEDLINE."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from app.ingest import files, packed
from app.ingest.errors import IngestError
from app.ingest.records import ABSTRACT, SEVERAL, TITLE

_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]{3}|20[0-9]{2})(?![0-9])")
_GAP = re.compile(r"\s+")
_END = re.compile(r"\s*(?:/+|\[doi\])$")  # of dates in RIS, and of numbers in MEDLINE


class TagFormat(NamedTuple):
    """How records of one format are written.

    Attributes
    ----------
    line : pattern
        A line with a tag: the tag, and what follows.
    begins : frozenset of str
        TagFormat with which a record begins.
    ends : frozenset of str
        TagFormat with which one ends.
    names : mapping of str to str
        By tag the column it goes to; lines of others are left out.
    paragraphs : frozenset of str
        Columns whose lines go on as one text; each line of others is a value of its own.
    blank_ends : bool
        Whether an empty line ends a record.
    """

    line: re.Pattern[str]
    begins: frozenset[str]
    ends: frozenset[str]
    names: Mapping[str, str]
    paragraphs: frozenset[str]
    blank_ends: bool = False


def make_reader(tags: TagFormat, encoding: str) -> Callable[[Path], Iterator[tuple[int, dict[str, str]]]]:
    """Return what reads the records of a file, each with the line on which it begins."""

    def read(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, found in _records(path, tags, encoding):
            if record := _tidy(found):
                yield line, record

    return read


class _TaggedDraft:
    """A record that is being read."""

    def __init__(self, line: int) -> None:
        self.line, self.size = line, 0
        self.found: dict[str, list[str]] = {}

    def add(self, name: str, text: str, *, goes_on: bool) -> None:
        """Add a value, or the next line of one."""
        values = self.found.setdefault(name, [])
        self.size += len(text) + 1
        if goes_on and values:
            values[-1] += f" {text}"
        else:
            values.append(text)


def _records(path: Path, tags: TagFormat, encoding: str) -> Iterator[tuple[int, dict[str, list[str]]]]:
    draft: _TaggedDraft | None = None
    name = ""
    for line, text in files.lines(path, encoding):
        tagged = tags.line.match(text)
        tag, said = (tagged[1], (tagged[2] or "").strip()) if tagged else ("", "")
        if draft is not None and (tag in tags.begins or tag in tags.ends or (tags.blank_ends and not text.strip())):
            yield draft.line, draft.found
            draft, name = None, ""
        if tagged is None:
            if draft is not None and name and text.strip():
                draft.add(name, text.strip(), goes_on=name in tags.paragraphs)
        elif tag not in tags.ends:
            if draft is None:
                draft = _TaggedDraft(line)
            name = tags.names.get(tag, "")
            if name and said:
                draft.add(name, said, goes_on=False)
        if draft is not None and draft.size > packed.LARGEST_TEXT:
            cause = f"has a record of more than {packed.LARGEST_TEXT >> 20} MB; is a line missing that ends it?"
            raise IngestError(path, cause, draft.line)
    if draft is not None:
        yield draft.line, draft.found


def _tidy(found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the fields of a record as texts, an abstract that is within another one left out."""
    record: dict[str, str] = {}
    for name, values in found.items():
        different = [_GAP.sub(" ", value).strip() for value in dict.fromkeys(values)]
        if name == ABSTRACT:
            record[name] = _joined(different)
        elif name in _ONE:
            record[name] = different[0]
        else:
            record[name] = SEVERAL.join(filter(None, different))
    if year := _YEAR.search(record.get("year") or record.get("date", "")):
        record["year"] = year[0]
    return {name: text for name, value in record.items() if (text := _END.sub("", value))}


_ONE = (TITLE, "year", "date", "journal", "type", "id", "doi", "language")  # fields of which the first value counts


def _joined(abstracts: Sequence[str]) -> str:
    """Return several abstracts, or paragraphs of one, without those that are within others."""
    kept = [each for each in abstracts if not any(each in other and each != other for other in abstracts)]
    return "\n\n".join(kept)
