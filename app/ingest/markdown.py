"""What stands around the text of Markdown: front matter of site generators, and the cells of notebooks."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

_FENCES = {"---": ("---", "..."), "+++": ("+++",)}  # of YAML, and of TOML
_BLANKS = 16  # characters among which it begins
_LARGEST = 1 << 16  # characters of front matter
_LINE = re.compile(r"([A-Za-z][\w .-]{0,60}?)\s*:\s*(.*)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ATTACHED = re.compile(r"!\[[^\]\n]{0,300}\]\(attachment:[^)\n]{0,300}\)")


class FrontMatter(NamedTuple):
    """What stands before a text about it, as texts by name, and the text."""

    fields: dict[str, str]
    text: str


def split_front_matter(text: str) -> FrontMatter:
    r"""Split the YAML or TOML before a text from it; no fields where there is none.

    >>> split_front_matter("---\ntitle: Tea\ntags: [a, b]\n---\nIt rains.")
    FrontMatter(fields={'title': 'Tea', 'tags': 'a, b'}, text='It rains.')
    """
    if not text[:_BLANKS].lstrip("\ufeff\r\n").startswith(tuple(_FENCES)):
        return FrontMatter({}, text)
    opening, _, rest = text.lstrip("\ufeff\r\n").partition("\n")
    ends = _FENCES.get(opening.rstrip())
    if ends is None:
        return FrontMatter({}, text)
    end = re.compile(rf"^(?:{'|'.join(map(re.escape, ends))})[ \t]*\r?$\n?", re.MULTILINE).search(rest, 0, _LARGEST)
    if end is None:
        return FrontMatter({}, text)
    block = rest[: end.start()]
    fields = _read_toml(block) if opening.startswith("+") else _read_yaml(block)
    return FrontMatter(fields, rest[end.end() :].lstrip("\r\n")) if fields else FrontMatter({}, text)


def _read_toml(block: str) -> dict[str, str]:
    try:
        return _plain(tomllib.loads(block.replace("\r\n", "\n")))
    except (ValueError, RecursionError):
        return {}


def _read_yaml(block: str) -> dict[str, str]:
    """Return the fields of YAML; where it is none, as with a colon in a title, its lines ``name: value``."""
    try:
        found = _Yaml(block).get_single_data()
        return _plain(found) if isinstance(found, dict) else {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return {match[1]: match[2].strip(" \t\r\"'") for line in block.splitlines() if (match := _LINE.fullmatch(line))}


class _Yaml(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML without references to what stands before: with them a few lines can grow beyond all bounds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a reference")
        return super().compose_node(parent, index)


def _plain(found: Mapping[Any, Any]) -> dict[str, str]:
    """Return single values and lists of them as texts; what is nested deeper is for programs, and may be endless."""
    texts = {str(name).strip(): _text_of(value) for name, value in found.items()}
    return {name: text for name, text in texts.items() if name and text}


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_text_of(each) for each in value if not isinstance(each, list | dict))))
    if isinstance(value, dict) or value is None:
        return ""
    return " ".join((value if isinstance(value, str) else str(value)).split())


class NotebookText(NamedTuple):
    """The text of a notebook: its title, empty where it has none, and its cells of text."""

    title: str
    text: str
    code: int


def read_notebook(raw: bytes) -> NotebookText | None:
    """Return the cells of text of a Jupyter notebook, and how many of code it has; None where it is none."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    cells = _list_of(found.get("cells"))
    for sheet in _list_of(found.get("worksheets")):  # before version 4
        cells += _list_of(sheet.get("cells"))
    if not cells and "nbformat" not in found:
        return None
    texts = [_source(cell) for cell in cells if cell.get("cell_type") in ("markdown", "raw", "heading")]
    text = _ATTACHED.sub("", "\n\n".join(filter(None, texts)))
    named = found.get("metadata")
    title = named.get("title") if isinstance(named, dict) else None
    heading = _HEADING.search(text)
    code = sum(cell.get("cell_type") == "code" for cell in cells)
    return NotebookText(title if isinstance(title, str) else heading[1] if heading else "", text, code)


def _list_of(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _source(cell: Mapping[str, Any]) -> str:
    """Return the lines of a cell, which stand in a list or as one."""
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    text = source if isinstance(source, str) else ""
    return f"# {text}" if cell.get("cell_type") == "heading" else text
