"""What a store has several of, as mappings that are also tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd

from store.errors import NotFound

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class Listing(Mapping[Key, Entry]):
    """A mapping that is read anew from the store every time.

    Parameters
    ----------
    columns : sequence of str
        Of its table.
    facts : () -> iterable of dict
        Its rows, by column.
    """

    def __init__(self, columns: Sequence[str], facts: Callable[[], Iterable[dict[str, Any]]]) -> None:
        self._columns, self._facts = list(columns), facts

    @property
    def table(self) -> pd.DataFrame:
        """One row for each, with what is known of it."""
        return pd.DataFrame(list(self._facts()), columns=self._columns)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except NotFound:
            return False
        return True

    def get(self, key: Key, /, default: Any = None) -> Any:
        """The one of that key, or ``default``."""
        try:
            return self[key]
        except NotFound:
            return default

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False, border=0))
