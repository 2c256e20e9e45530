"""The columns of a table as a report shows them: what each was taken for, and some of its values."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.ingest.dates import is_date_column
from app.ingest.values import as_prose, as_text

SAMPLES = 3  # values shown of a column
_LOOKED_AT = 200  # records from which they are taken
_LONGEST = 80  # characters of a value that is shown


class Column(NamedTuple):
    """A column (or field): its name, its role and some of its values.

    Attributes
    ----------
    name : str
    role : str
        "text", "title", "label", "split", "id", "date" or "other".
    samples : tuple of str
        The first different values, at most three.
    """

    name: str
    role: str
    samples: tuple[str, ...]


class Columns:
    """Collects the columns of a table while its records are read.

    Parameters
    ----------
    roles : mapping of str to str
        Role by name, of the columns that have one.
    """

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = dict(roles)
        self._samples: dict[str, list[str]] = {}
        self._seen = 0

    @property
    def roles(self) -> dict[str, str]:
        """Role by name, of the columns that were given one."""
        return dict(self._roles)

    def see(self, record: Mapping[str, Any]) -> None:
        """Look at a record; of a long table only at the first ones."""
        if self._seen >= _LOOKED_AT:
            return
        self._seen += 1
        for name, value in record.items():
            known = self._samples.setdefault(str(name), [])
            if len(known) < SAMPLES:
                shown = _shorten(as_prose(value) if self._roles.get(str(name)) == "text" else as_text(value))
                if shown and shown not in known:
                    known.append(shown)

    def found(self) -> tuple[Column, ...]:
        """The columns in the order of the table."""
        names = dict.fromkeys((*self._samples, *self._roles))
        return tuple(self._column(name, self._samples.get(name, [])) for name in names)

    def _column(self, name: str, samples: list[str]) -> Column:
        role = self._roles.get(name) or ("date" if is_date_column(name, samples) else "other")
        return Column(name, role, tuple(samples))


def _shorten(text: str) -> str:
    """Return the beginning of a text as one short line."""
    line = " ".join(text[: 10 * _LONGEST].split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"
