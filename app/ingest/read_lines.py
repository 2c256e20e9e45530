"""One document a line: ``name <tab> label <tab> text``, or nothing but text; a page of a book a paragraph."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

from app.ingest import beside, files, separated, text_kinds
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import GUESS, TextDocument, TextSource

NAME = "lines"
DESCRIPTION = "one document a line: NAME.txt, the whole line or 'name <tab> label <tab> text'"
ACCEPTS = ("token_pattern",)

_SAMPLE = 50
_LOOKED_AT = 2_000  # lines by which a wrapped text is recognised,
_FEWEST = 12  # and so many of them at least
_WIDEST = 100  # characters of a line of such a text,
_NARROWEST = 40
_FULL = 0.75  # how far a line within a paragraph fills the width, at least,
_MOST = 0.85  # in so large a share of them
_ENDS = tuple(".!?:;\"'”’»)")  # letters with which a line of prose ends that goes on no further
_FIELD = re.compile(
    r"([^\W\d_][\w /-]{0,30}:|[A-Z%][A-Z0-9]{1,3} {0,3}-)(?:\s|$)"
)  # the name of a field or of a speaker
# What stands in every document of exports as text of PubMed, ProQuest, LexisNexis and Factiva.
_SIGN = re.compile(
    r"\s*(?:PMID: [0-9]+|(?:Document )?[0-9]+ of [0-9]+(?: DOCUMENTS)?$|End of Document$|Load-Date: |"
    r"ProQuest document ID: |Document [A-Za-z0-9]{15,}$|_{20,}$)"
)
_FEWEST_SIGNS = 3
_NAMED, _FEWEST_TIMES = 12, 5  # names that are looked at, and how often each occurs at least
_OTHER_WAYS = "--split chapters, paragraphs or '500 words' divides it otherwise"
_WAYS = f"{_OTHER_WAYS}, --format lines takes every line"


def recognises(path: Path) -> bool:
    """Recognise a single ``.txt`` file that is neither a bag of words nor a table."""
    if path.is_dir() or files.suffix(path) != ".txt" or separated.is_separated(path):
        return False
    first = files.start(path).splitlines()[:4]
    return not (len(first) == 4 and all(line.replace(b" ", b"").isdigit() for line in first))


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the lines as documents; three fields in all of the first lines are name, label and text."""
    if options.format is None and text_kinds.find_kind(path) == "wordcounts":
        cause = "is a list of words and counts, which is one document"
        raise IngestError(path, f"{cause}; import the folder of all such files, or say --format lines")
    start = [text for _, text in islice(files.lines(path, options.encoding), _LOOKED_AT)]
    sample = [text for text in start[:_SAMPLE] if text.strip()] or [text for text in start if text.strip()]
    if not sample:
        raise IngestError(path, "has no documents; give a file with a text on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    wrapped = options.format is None and not tabs and is_wrapped(start)
    page = options.format is None and not tabs and not wrapped and is_wrapped(start, between=False)
    source = TextSource(
        where=str(path),
        documents=lambda: (_read_paragraphs if wrapped else _read_documents)(path, options.encoding, tabs=tabs),
        classes=beside.class_names(path, options.encoding) if tabs else {},
        notes=files.guesses([path], options.encoding),
        understood=files.understood(path, options.encoding),
    )
    if wrapped:
        what = "its lines are those of a page, so every paragraph between empty lines is a document"
        source.understood[GUESS] = f"{what} ({_WAYS})"
    elif page:
        what = "its lines seem to be those of a page, and every line is a document"
        source.understood[GUESS] = f"{what} ({_OTHER_WAYS})"
    elif options.format is None and (doubt := _find_doubt(start)):
        source.understood[GUESS] = f"every line is a document, though {doubt}; --format lines says that it is meant"
    return source


def is_wrapped(lines: list[str], *, between: bool = True) -> bool:
    """Return whether lines are those of a page, wrapped at one width.

    Parameters
    ----------
    between : bool
        Whether empty lines stand between its paragraphs.
    """
    blocks = [list(block) for filled, block in groupby(lines, lambda line: bool(line.strip())) if filled]
    inner = [line.rstrip() for block in blocks for line in block[:-1]]  # lines that another one follows
    if len(inner) < _FEWEST or len(inner) < len(blocks) - 1 or (len(blocks) > 1) != between:
        return False
    width = sorted(map(len, inner))[int(0.98 * len(inner))]
    if not _NARROWEST <= width <= _WIDEST:
        return False
    prose = [line for line in inner if len(line) >= _NARROWEST / 2]
    full = sum(len(line) >= _FULL * width for line in inner)
    goes_on = sum(not line.endswith(_ENDS) for line in prose)
    return full >= _MOST * len(inner) and 2 * goes_on > len(prose)


def _find_doubt(lines: list[str]) -> str:
    """Say why lines may be no documents of their own; empty where nothing says so."""
    filled = [line for line in lines if line.strip()]
    signs = [line.strip() for line in filled if _SIGN.match(line)]
    if len(signs) >= _FEWEST_SIGNS:
        return f"it seems to be an export of many ({signs[0][:40]!r}): export it as RIS, BibTeX or PubMed instead"
    names = Counter(found[1] for line in filled if (found := _FIELD.match(line)))
    usual = [name for name, times in names.most_common(_NAMED) if times >= _FEWEST_TIMES]
    if len(usual) > 1 and 2 * sum(names[name] for name in usual) > len(filled):
        return f"most begin with one of a few names, such as {' and '.join(map(repr, usual[:2]))}"
    blocks = [list(block) for is_filled, block in groupby(lines, lambda line: bool(line.strip())) if is_filled]
    if len(blocks) >= _FEWEST_TIMES and len(filled) >= 2 * len(blocks):
        return "they stand in groups between empty lines"
    return ""


def _read_documents(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    for line, text in files.lines(path, encoding):
        if not text.strip():
            continue
        if not tabs:
            yield TextDocument(text, f"document {line}")
            continue
        cells = text.split("\t", 2)
        if len(cells) != 3:
            raise IngestError(path, "is not 'name <tab> label <tab> text' like the lines before it", line)
        yield TextDocument(cells[2], cells[0].strip() or f"document {line}", cells[1].strip() or None)


def _read_paragraphs(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:  # noqa: ARG001 - as of lines
    """Give the lines between empty ones, together; each is called by the number of its first line."""
    begun: list[str] = []
    first = size = 0
    for line, text in files.lines(path, encoding):
        if text.strip():
            first = first if begun else line
            begun.append(text)
            size += len(text)
            files.check_length(size, path, line)
        elif begun:
            yield TextDocument("\n".join(begun), f"paragraph in line {first}", titled=False)
            begun, size = [], 0
    if begun:
        yield TextDocument("\n".join(begun), f"paragraph in line {first}", titled=False)
