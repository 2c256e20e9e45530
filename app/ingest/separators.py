"""What stands between and around the cells of a table, by name: as it is chosen, kept with a corpus and said."""

import unicodedata

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
QUOTES = {"double": '"', "single": "'", "none": ""}
USUAL = (",", ";", "\t", "|")  # those that are looked for where none is chosen
_TYPED = {r"\t": "tab", "bar": "pipe"}
_NEVER = "\r\n\0\"'"  # they end lines, no reader of tables takes them, or they are quotation marks


def separator_named(text: str) -> str | None:
    """The name of a separator, the character itself where it has none; None for what can be none.

    >>> [separator_named(text) for text in (";", "Tab", "~", "::")]
    ['semicolon', 'tab', '~', None]
    """
    name = _TYPED.get(text.lower(), text.lower())
    if name in SEPARATORS:
        return name
    if len(text) != 1 or text in _NEVER or unicodedata.category(text) == "Cs":  # half a character
        return None
    return _name_of(text)


def separator_of(name: str) -> str:
    """The character of such a name."""
    return SEPARATORS.get(name, name)


def said(separator: str) -> str:
    """A separator in words: its name, or the character, by number where nobody could see it."""
    name = _name_of(separator)
    return name if name.isprintable() and not name.isspace() else f"U+{ord(separator):04X}"


def quote_named(text: str) -> str | None:
    """The name of a quotation mark, given as itself or by name; None for what is none.

    >>> [quote_named(text) for text in ("'", "double", "none", "<")]
    ['single', 'double', 'none', None]
    """
    named = {mark: name for name, mark in QUOTES.items() if mark} | {name: name for name in QUOTES}
    return named.get(text.lower())


def _name_of(separator: str) -> str:
    return next((name for name, mark in SEPARATORS.items() if mark == separator), separator)
