"""Fields out of the names of files: ``{year}_{label}_{author}`` finds three in ``1990_sea_Miller-Ann.txt``."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import PurePosixPath

ROLES = LABEL, TITLE, SPLIT = "label", "title", "split"  # fields that are more than a column
_FIELD = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[^\W_][\w -]{0,39}")
_REST = "*"  # at the end of a field that may hold the marks between fields, too
_MARKS = (" - ", "__", "_", "-", " ", ".")  # what stands between fields, the clearest first
_MOST_FIELDS = 8
_FEWEST = 5  # files from which fields are proposed
_SHARE = 0.9  # of the names that fall into equally many parts
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_DATE = re.compile(r"(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})")


class PatternError(ValueError):
    """A pattern of file names that cannot be one; the message says why."""


class Pattern:
    """A pattern of file names.

    Parameters
    ----------
    text : str
        Fields in braces with something between them.  A field holds none of the marks next to it, but for one with a
        star, ``{title*}``; ``{}`` is left out.  With slashes it is a pattern of folders, too.

    Attributes
    ----------
    text : str
    fields : tuple of str
        Names of the fields.

    Raises
    ------
    PatternError
        When it is none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        literals, named = _FIELD.split(text)[::2], _FIELD.findall(text)
        if not named or any("{" in each or "}" in each for each in literals):
            raise PatternError(f"must have fields in braces, as in {{year}}_{{label}}_{{author}}; got {text!r}")
        if not all(literals[1:-1]):
            raise PatternError(f"must have something between two fields, as in {{year}}_{{label}}; got {text!r}")
        self.fields = tuple(name.removesuffix(_REST) for name in named if name.removesuffix(_REST))
        for name in self.fields:
            if not _NAME.fullmatch(name):
                raise PatternError(f"must name its fields by letters, as in {{year}}; got {{{name}}}")
        twice = [name for name, times in Counter(self.fields).items() if times > 1]
        if twice or not self.fields:
            what = f"names {twice[0]!r} twice" if twice else "names no field"
            raise PatternError(f"{what}; give each field a name of its own, as in {{year}}_{{label}}; got {text!r}")
        self._folders = text.count("/")
        self._expression = re.compile(_expression(literals, named), re.IGNORECASE)

    def found(self, name: str) -> dict[str, str] | None:
        """Return the fields of a name without its ending, perhaps with folders above it; None where it does not fit.

        >>> Pattern("{year}_{label}").found("letters/1990_sea")
        {'year': '1990', 'label': 'sea'}
        >>> Pattern("{year}_{label}").found("1990_deep_sea") is None
        True
        """
        parts = unicodedata.normalize("NFC", name).split("/")
        match = self._expression.fullmatch("/".join(parts[-1 - self._folders :]))
        return None if match is None else dict(zip(self.fields, map(str.strip, match.groups()), strict=True))


def bare(file: str, kinds: Sequence[str]) -> str:
    """Return the name of a file without its ending, where that is one of some kinds.

    >>> bare("a/Miller. Ann", (".txt",)), bare("a/1990.TXT", (".txt",))
    ('a/Miller. Ann', 'a/1990')
    """
    ending = PurePosixPath(file).suffix
    return file[: -len(ending)] if ending.lower() in kinds else file


def propose(names: Sequence[str]) -> str:
    """Return a pattern that more than nine in ten names fit and whose fields say something; empty where there is none.

    Parameters
    ----------
    names : sequence of str
        Of files, without folders and endings.
    """
    if len(names) < _FEWEST:
        return ""
    if sum(_is_date(name) for name in names) > _SHARE * len(names):
        return "{date}"
    for mark in _MARKS:
        parts = [name.split(mark) for name in names]
        size, times = Counter(map(len, parts)).most_common(1)[0]
        if 2 <= size <= _MOST_FIELDS and times > _SHARE * len(names):
            proposed = _proposed(list(zip(*(each for each in parts if len(each) == size), strict=True)), mark)
            if proposed:
                return proposed
    return ""


def example(pattern: str, names: Sequence[str], most: int) -> Sequence[Mapping[str, str]]:
    """Return the fields of the first names that fit."""
    made = Pattern(pattern)
    found = (made.found(name) for name in names)
    return [fields for fields in found if fields is not None][:most]


def _expression(literals: Sequence[str], named: Sequence[str]) -> str:
    pieces = [re.escape(literals[0])]
    for place, name in enumerate(named):
        before, after = literals[place], literals[place + 1]
        kept_out = [re.escape(mark) for mark in (before, after) if mark and "/" not in mark]
        inside = "[^/]+" if name.endswith(_REST) else f"(?:(?!{'|'.join(kept_out)})[^/])+" if kept_out else "[^/]+"
        pieces.append((f"({inside})" if name.removesuffix(_REST) else f"(?:{inside})") + re.escape(after))
    return "".join(pieces)


def _proposed(columns: Sequence[Sequence[str]], mark: str) -> str:
    """Return a pattern in which each part is called what it seems to be; empty where no part says anything."""
    names: list[str] = []
    for place, values in enumerate(columns, 1):
        if len(set(values)) == 1:
            names.append(values[0])  # the same everywhere: no field
        elif all(map(_YEAR.fullmatch, values)) and "{year}" not in names:
            names.append("{year}")
        elif all(map(_is_date, values)) and "{date}" not in names:
            names.append("{date}")
        else:
            names.append(f"{{part{place}}}")
    label = _label_among(columns, names)
    if label is not None:
        names[label] = "{label}"
    if not {"{year}", "{date}", "{label}"}.intersection(names) or any("{" in name and name[0] != "{" for name in names):
        return ""
    return mark.join(names)


def _label_among(columns: Sequence[Sequence[str]], names: Sequence[str]) -> int | None:
    """Return the place of the part with the fewest different values that are words and come again."""
    able = []
    for place, values in enumerate(columns):
        different = set(values)
        repeats = 1 < len(different) <= max(2, len(values) // 3)
        if names[place].startswith("{part") and repeats and not any(value.isdecimal() for value in different):
            able.append((len(different), place))
    return min(able)[1] if able else None


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    try:
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return 1000 <= int(match[1]) < 2100
