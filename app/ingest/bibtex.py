"""Entries of BibTeX and BibLaTeX, as reference managers export them; one that is damaged takes no others along."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from app.ingest import latex

_ENTRY = re.compile(r"^[ \t]*@[ \t]*([A-Za-z]+)[ \t]*[{(]", re.MULTILINE)
_KEY = re.compile(r"\s{0,99}([^\s,{}=\"]{0,300})\s{0,99},")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w:.+-]{0,60})\s{0,99}=\s*")
_BARE = re.compile(r"[^\s,{}\"#]{1,300}")
_JOIN = re.compile(r"\s*#\s*")
_MONTHS = dict.fromkeys("jan feb mar apr may jun jul aug sep oct nov dec".split())  # noqa: SIM905
_NO_ENTRIES = ("comment", "preamble", "string")
_BRACKET = re.compile(r"[{}]")


class BibtexEntry(NamedTuple):
    """An entry: the line on which it begins, its kind and key, its fields, and whether all of them end."""

    line: int
    kind: str
    key: str
    fields: dict[str, str]
    whole: bool


def read_entries(source: str) -> Iterator[BibtexEntry]:
    r"""Give every entry that has fields.

    >>> list(read_entries('@string{n = "Nature"}\n@article{a, title = {On {M}ice}, journal = n # "!"}'))
    [BibtexEntry(line=2, kind='article', key='a', fields={'title': 'On {M}ice', 'journal': 'Nature!'}, whole=True)]
    """
    macros: dict[str, str] = {month: month for month in _MONTHS}
    starts = list(_ENTRY.finditer(source))
    line, counted = 1, 0
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(source)
        line, counted = line + source.count("\n", counted, start.start()), start.start()
        kind, inside = start[1].lower(), source[start.end() : end]
        if kind == "string":
            macros.update(_read_fields(inside, 0, macros)[0])
        if kind in _NO_ENTRIES:
            continue
        key = _KEY.match(inside)
        fields, place = _read_fields(inside, key.end() if key else 0, macros)
        if fields:
            yield BibtexEntry(line, kind, key[1] if key else "", fields, place <= len(inside))


def _read_fields(inside: str, place: int, macros: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Return the fields from a place on, up to the end of the entry or what cannot be understood; and where that is."""
    found: dict[str, str] = {}
    while field := _FIELD.match(inside, place):
        value, place = _read_value(inside, field.end(), macros)
        found.setdefault(field[1].lower(), value)
    return found, place


def _read_value(inside: str, place: int, macros: Mapping[str, str]) -> tuple[str, int]:
    """Return the value that begins at a place, and where it ends."""
    pieces: list[str] = []
    while True:
        piece, place = _read_piece(inside, place, macros)
        pieces.append(piece)
        more = _JOIN.match(inside, place)
        if more is None:
            return "".join(pieces), place
        place = more.end()


def _read_piece(inside: str, place: int, macros: Mapping[str, str]) -> tuple[str, int]:
    first = inside[place : place + 1]
    if first == "{":
        end = _find_brace(inside, place)
        return inside[place + 1 : end], end + 1
    if first == '"':
        end = _find_quote(inside, place)
        return inside[place + 1 : end], end + 1
    bare = _BARE.match(inside, place)
    if bare is None:
        return "", place
    return macros.get(bare[0].lower(), bare[0]), bare.end()


def _find_brace(inside: str, place: int) -> int:
    """Return where the brace closes that opens at a place; the end of the entry where it never does."""
    depth = 0
    for brace in _BRACKET.finditer(inside, place):
        if brace.start() and inside[brace.start() - 1] == "\\":
            continue
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return len(inside)


def _find_quote(inside: str, place: int) -> int:
    """Return where the quotation ends that begins at a place: at the next mark outside of braces."""
    depth = 0
    for end in range(place + 1, len(inside)):
        letter = inside[end]
        if letter == '"' and depth == 0 and inside[end - 1] != "\\":
            return end
        depth += {"{": 1, "}": -1}.get(letter, 0)
    return len(inside)


def decode_value(value: str) -> str:
    r"""Return the value of a field as people read it, in one line.

    >>> decode_value(r"Erd{\H{o}}s \& {Bj{\"o}rk}: {\em caf{\'e}}s")
    'Erdős & Björk: cafés'
    """
    plain = latex.strip_commands(value) if any(mark in value for mark in "\\{$~") else value
    return " ".join(plain.split())
