"""Reader of corpora of IRaMuTeQ, Alceste and rainette, in which a line of starred variables begins each text."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import text_kinds
from topiary.app.ingest.readers.text_kinds import STARS
from topiary.app.ingest.source import COLUMNS, Reader, TextDocument, TextSource
from topiary.app.ingest.tables.records import make_text_source
from topiary.app.ingest.tables.roles import find_roles

_THEME = "-*"  # begins a line with the theme of the text below it
_SAMPLE = 200  # texts by which the roles of the variables are found
_TEXT = "text"


def read_starred(path: Path, options: ImportOptions) -> TextSource:
    """Read the texts as documents, and the variables above them as columns."""
    paths = text_kinds.list_files(path, (STARS,))
    themes: Counter[str] = Counter()

    def records(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        return _read_texts(file, options.encoding, themes)

    sample = [record for _, record in islice(chain.from_iterable(map(records, paths)), _SAMPLE)]
    if not sample:
        raise IngestError(paths[0], "has no line of stars such as '**** *id_1 *year_2001', which begins every text")
    parts = [files.Part(file, None) for file in paths]
    usual = [name for name in sample[0] if name != _TEXT]
    roles = find_roles(sample, replace(options, text_column=options.text_column or _TEXT), paths[0])
    source = make_text_source(path, parts, roles, records, options, usual=usual)

    def documents() -> Iterator[TextDocument]:
        themes.clear()
        yield from source.documents()
        note = f"left out of the texts: {themes.total():,} lines that begin with {_THEME} and name a theme"
        if themes and note not in source.notes:
            source.notes.append(note)

    return replace(source, documents=documents)


def _read_texts(path: Path, encoding: str, themes: Counter[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the variables and the text below each line of stars, and the number of that line."""
    variables: dict[str, str] | None = None
    lines: list[str] = []
    first_line = size = 0
    for line, text in files.read_lines(path, encoding):
        if text_kinds.is_star_line(text):
            if variables is not None:
                yield first_line, {**variables, _TEXT: "\n".join(lines).strip()}
            variables, lines, first_line, size = _read_variables(text), [], line, 0
        elif text.startswith(_THEME):
            themes[text.strip()] += 1
        elif variables is not None:
            lines.append(text)
            size += len(text)
            files.check_length(size, path, line)
        elif text.strip():
            raise IngestError(path, "is above the first line of stars, which begins a text", line)
    if variables is not None:
        yield first_line, {**variables, _TEXT: "\n".join(lines).strip()}


def _read_variables(line: str) -> dict[str, str]:
    """Return the variables of a line of stars; one without a value is there or not.

    >>> _read_variables("**** *id_1 *theme_deep_sea *letter")
    {'id': '1', 'theme': 'deep_sea', 'letter': 'yes'}
    """
    variables: dict[str, str] = {}
    for word in line.split()[1:]:
        name, _, value = word.removeprefix("*").partition("_")
        if name and word.startswith("*"):
            key = f"{name} (variable)" if name == _TEXT else name
            variables[key] = f"{variables[key]}; {value}" if key in variables else value or "yes"
    return variables


_STARRED_FILES = "IRaMuTeQ, Alceste or rainette: a .txt with a line '**** *id_1 *year_2001' above every text"
READERS = (
    Reader("iramuteq", _STARRED_FILES, (*COLUMNS, "token_pattern"), text_kinds.recognise_kinds(STARS), read_starred),
)
