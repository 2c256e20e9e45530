"""The text of subtitles, of notebooks, and of files that begin with front matter."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from typing import Any, NamedTuple

import yaml

from topiary.app.ingest.source import Contents, Unreadable

SUBTITLE_KINDS = (".srt", ".vtt", ".sbv")

_CLOCK = r"(?:[0-9]+:)?[0-9]{1,2}:[0-9]{2}[.,][0-9]{1,3}"  # a pattern of a time in subtitles
_TIMES = re.compile(rf"\s*{_CLOCK}\s*(?:-+>|,)\s*{_CLOCK}(?:\s.*)?")
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_SPEAKER = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]{1,200})>")
_MARK = re.compile(r"<[^<>\n]{0,300}>|\{\\[^{}\n]{0,300}\}|\{[A-Za-z]:[^{}\n]{0,100}\}")


def read_subtitles(text: str) -> str:
    r"""Return the spoken lines; those that rolling captions repeat appear once.

    >>> read_subtitles("1\n00:01,000 --> 00:02,000\n<i>The ferry</i>\n\n2\n00:02,000 --> 00:03,000\nwas late.")
    'The ferry\nwas late.'
    """
    return join_cues(_split_cues(text.splitlines()))


def join_cues(cues: Iterable[Sequence[str]]) -> str:
    """Return the spoken lines of cues, without their marks; those that rolling captions repeat appear once."""
    spoken: list[str] = []
    last_lines: list[str] = []  # lines of the previous cue
    for cue in cues:
        lines = [line for each in cue if (line := _strip_marks(each))]
        new_lines = lines
        for size in range(min(len(last_lines), len(lines)), 0, -1):
            if last_lines[-size:] == lines[:size]:
                new_lines = lines[size:]
                break
        spoken += new_lines
        last_lines = lines or last_lines
    return "\n".join(spoken)


def _split_cues(lines: list[str]) -> list[list[str]]:
    """Return the lines of each cue, which follow a line of times, without the number or name of the next cue."""
    starts = [place for place, line in enumerate(lines) if _TIMES.fullmatch(line)]
    if not starts:
        return [lines]
    cues = []
    for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        cue = lines[start + 1 : end]
        if end <= len(lines) and cue and (cue[-1].strip().isdecimal() or (len(cue) > 1 and not cue[-2].strip())):
            cue = cue[:-1]  # the number or name of the next cue
        cues.append(_drop_blocks(cue))
    return cues


def _drop_blocks(lines: list[str]) -> list[str]:
    """Return the lines of a cue without the notes, styles and regions of WebVTT that follow it."""
    for place, line in enumerate(lines):
        if _BLOCK.match(line) and place and not lines[place - 1].strip():
            return lines[:place]
    return lines


def _strip_marks(line: str) -> str:
    """Return a line without its marks, preceded by the name of the speaker if it has one."""
    return " ".join(unescape(_MARK.sub("", _SPEAKER.sub(r"\1: ", line))).split())


_FENCES = {"---": ("---", "..."), "+++": ("+++",)}  # the ends by the opening line, of YAML and of TOML
_BLANK_LINES = 16  # characters of a text in which front matter begins
_LARGEST_FRONT = 1 << 16  # characters of front matter
_YAML_LINE = re.compile(r"([A-Za-z][\w .-]{0,60}?)\s*:\s*(.*)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ATTACHMENT = re.compile(r"!\[[^\]\n]{0,300}\]\(attachment:[^)\n]{0,300}\)")


class FrontMatter(NamedTuple):
    """The fields of the front matter, by name, and the text below it."""

    fields: dict[str, str]
    text: str


def split_front_matter(text: str) -> FrontMatter:
    r"""Split YAML or TOML front matter from a text; without any, return no fields and the whole text.

    >>> split_front_matter("---\ntitle: Tea\ntags: [a, b]\n---\nIt rains.")
    FrontMatter(fields={'title': 'Tea', 'tags': 'a, b'}, text='It rains.')
    """
    if not text[:_BLANK_LINES].lstrip("\ufeff\r\n").startswith(tuple(_FENCES)):
        return FrontMatter({}, text)
    opening, _, rest = text.lstrip("\ufeff\r\n").partition("\n")
    ends = _FENCES.get(opening.rstrip())
    if ends is None:
        return FrontMatter({}, text)
    ending = re.compile(rf"^(?:{'|'.join(map(re.escape, ends))})[ \t]*\r?$\n?", re.MULTILINE)
    end = ending.search(rest, 0, _LARGEST_FRONT)
    if end is None:
        return FrontMatter({}, text)
    block = rest[: end.start()]
    fields = _read_toml(block) if opening.startswith("+") else _read_yaml(block)
    return FrontMatter(fields, rest[end.end() :].lstrip("\r\n")) if fields else FrontMatter({}, text)


def _read_toml(block: str) -> dict[str, str]:
    try:
        return _read_cells(tomllib.loads(block.replace("\r\n", "\n")))
    except (ValueError, RecursionError):
        return {}


def _read_yaml(block: str) -> dict[str, str]:
    """Return the fields of YAML; if it is invalid, as with a colon in a title, use its lines ``name: value``."""
    try:
        fields = _SafeYaml(block).get_single_data()
        return _read_cells(fields) if isinstance(fields, dict) else {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return {
            match[1]: match[2].strip(" \t\r\"'") for line in block.splitlines() if (match := _YAML_LINE.fullmatch(line))
        }


class _SafeYaml(yaml.SafeLoader):  # type: ignore[misc]
    """A loader of YAML that refuses aliases, with which a few lines can expand beyond all bounds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a reference")
        return super().compose_node(parent, index)


def _read_cells(fields: Mapping[Any, Any]) -> dict[str, str]:
    """Return single values and lists of them as texts; deeper nested values are meant for programs and left out."""
    texts = {str(name).strip(): _read_cell(value) for name, value in fields.items()}
    return {name: text for name, text in texts.items() if name and text}


def _read_cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_read_cell(each) for each in value if not isinstance(each, list | dict))))
    if isinstance(value, dict) or value is None:
        return ""
    return " ".join((value if isinstance(value, str) else str(value)).split())


def read_notebook(raw: bytes) -> Contents:
    """Return the title and the text cells of a Jupyter notebook, without its code.

    Raises
    ------
    Unreadable
        If it is not a notebook, or has no text cells.
    """
    try:
        notebook = json.loads(raw)
    except (ValueError, RecursionError):
        notebook = None
    if not isinstance(notebook, dict):
        raise Unreadable("is no notebook")
    cells = _list_cells(notebook.get("cells"))
    for sheet in _list_cells(notebook.get("worksheets")):  # before version 4
        cells += _list_cells(sheet.get("cells"))
    if not cells and "nbformat" not in notebook:
        raise Unreadable("is no notebook")
    texts = [_join_cell(cell) for cell in cells if cell.get("cell_type") in ("markdown", "raw", "heading")]
    text = _ATTACHMENT.sub("", "\n\n".join(filter(None, texts)))
    has_code = any(cell.get("cell_type") == "code" for cell in cells)
    if not text.strip():
        raise Unreadable("has cells of code only" if has_code else "has no cells")
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    heading = _HEADING.search(text)
    title = title if isinstance(title, str) else heading[1] if heading else ""
    return Contents(title, text, {}, "cells of code" if has_code else "")


def _list_cells(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _join_cell(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, which is stored as one string or a list of lines."""
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    text = source if isinstance(source, str) else ""
    return f"# {text}" if cell.get("cell_type") == "heading" else text
