"""What a value of a table is: missing, a number, a link, a list, and how it reads as text."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# What programs write where there is no value. A survey may mean "none", and a class may be called so.
MISSING = frozenset((
    "nan", "NaN", "NAN", "-nan", "None", "<NA>", "NULL", "Null", "null", "N/A", "n/a", "#N/A", "NA", "<na>", "NaT",
    "nil", "(null)", r"\N", "#NULL!", "-", "--", "---", "–", "—", "[deleted]", "[removed]",
))  # fmt: skip
_LONGEST_MISSING = max(map(len, MISSING))
_LINK = re.compile(r"<?(?:https?://|www\.|/r/|mailto:)\S*$|<a\s[^>]*>[^<]*</a>$|\S+@\S+\.\w+$")
_INSIDE = ("text", "elements", "content", "children", "items", "paragraphs", "ops", "insert", "value", "body")

_OF_JSON = (bool, int, float, dict)


def is_missing(text: str) -> bool:
    """Return whether a text stands for a value that is not there.

    >>> [is_missing(text) for text in ("NaN", " <NA> ", "", "none", "nothing")]
    [True, True, False, False, False]
    """
    return len(text) <= _LONGEST_MISSING + 2 and text.strip() in MISSING


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, as in ``4``, ``-1.5``, ``1,234.5`` and ``12 %``."""
    try:
        float(cell.strip().replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True


def is_link(text: str) -> bool:
    """Return whether a text is nothing but a link or an address."""
    return _LINK.match(text) is not None


def is_prose(text: str) -> bool:
    """Return whether a text is of several words, in scripts with and without spaces."""
    return len(text) >= 10 and (" " in text or not text.isascii()) and not is_link(text)


def is_list_of_texts(value: Any) -> bool:
    """Return whether a value is a list with texts in it: words, sentences, or parts of one text."""
    if not isinstance(value, list) or not value:
        return False
    return any(isinstance(each, str) for each in value) and all(isinstance(each, str | dict) for each in value)


def as_text(value: Any) -> str:
    """Return any JSON value as people would write it; a list with commas."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    if isinstance(value, bytes):  # a picture, or a sound
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, _OF_JSON) else str(value)


def as_prose(value: Any) -> str:
    r"""Return the value of a column of texts: of a list its words, its paragraphs, or its parts one after the other.

    >>> as_prose(["spade", "lawn"]), as_prose(["see ", {"type": "link", "text": "this"}, "!"])
    ('spade lawn', 'see this!')
    >>> as_prose(["One line.", "Another one."])
    'One line.\nAnother one.'
    """
    if isinstance(value, str):
        return _join_written_list(value) if value[:2] in _LISTS and value[-2:] in _LIST_ENDS else value
    if isinstance(value, list):
        return _join_list(value)
    return join_parts(value) if isinstance(value, dict) else as_text(value)


def _join_written_list(text: str) -> str:
    """Return the words of a list that Python wrote into a cell, as pandas does with lists of words."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return _join_list(found) if is_list_of_texts(found) else text


_LISTS, _LIST_ENDS = ("['", '["'), ("']", '"]')


def _join_list(value: Sequence[Any]) -> str:
    if any(isinstance(each, dict) for each in value):
        parts = [each if isinstance(each, str) else join_parts(each) for each in value]
        return ("" if any(isinstance(each, str) for each in value) else "\n").join(parts)
    texts = [as_text(each) for each in value]
    return ("\n" if any(" " in text for text in texts) else " ").join(texts)


def join_parts(value: Any) -> str:
    """Return the text of what programs of messages and editors make of one: parts within parts, some of them texts.

    >>> join_parts({"type": "section", "elements": [{"type": "text", "text": "late "}, {"type": "emoji", "name": "x"}]})
    'late '
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        blocks = [join_parts(each) for each in value]
        inline = all(not isinstance(each, dict) or _is_inline(each) for each in value)
        return ("" if inline else "\n").join(block for block in blocks if block)
    if isinstance(value, dict):
        return next((found for name in _INSIDE if name in value and (found := join_parts(value[name]))), "")
    return ""


def _is_inline(part: Mapping[str, Any]) -> bool:
    """Return whether a part stands within a line: a text, or what has none, such as a smiley or a link."""
    return isinstance(part.get("text"), str) or not any(name in part for name in _INSIDE)
