"""Texts, labels and titles as programs hold them: lists, arrays and columns; what would be misunderstood is refused."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from app.ingest.memory import explain_no_text

_LOOKED_AT = 50  # values of a column
_NAMED = 5  # columns that a sentence names
_FILES = 3  # strings that are tried as names of files


def texts_of(source: Any) -> list[Any]:
    """Return the texts that a program gives, one for each document; each of them may yet turn out to be none.

    Raises
    ------
    TypeError
        When it is a table, a dictionary, an open file or anything else that is no sequence of texts; the sentence says
        what to give instead.
    """
    refuse_table(source)
    if isinstance(source, bytes | bytearray):
        raise TypeError("bytes are no text: decode them, as in data.decode('utf-8')")
    if isinstance(source, set | frozenset):
        raise TypeError("a set has no order, and documents have one: give a list, such as sorted(texts)")
    if isinstance(source, io.IOBase):
        raise TypeError("an open file is no list of texts: give its path, or its lines by list(file)")
    if not _can_be_listed(source):
        raise TypeError(f"texts are a list of strings, a column or an array of one dimension; got {source!r:.60}")
    found = _listed(source)
    names = [text for text in found[:_FILES] if _is_file(text)]
    if found and len(names) == min(_FILES, len(found)):
        raise TypeError(f"{names[0]!r} is the name of a file: to read files give their paths, as in Path(name)")
    return found


def refuse_one_text(source: str) -> None:
    """Refuse a string that is meant as a text where it is the path of a file.

    Raises
    ------
    TypeError
        When it has several words, and there is no file of that name.
    """
    if len(source.split()) < 2:
        return
    try:
        there = Path(source).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # a name longer than the system allows, or with a NUL in it
        there = False
    if not there:
        raise TypeError(
            f"a string is the path of a file, and there is none called {source!r:.60}: give texts as a list"
        )


def column_of(what: str, values: Any) -> list[Any] | None:
    """Return labels or titles that a program gives, one for each document; None where it gives none.

    Raises
    ------
    TypeError
        When it is a single text, a dictionary, or a table of several columns.
    """
    if values is None:
        return None
    if isinstance(values, str | bytes):
        raise TypeError(f"{what} are a list with one for each document; got the single text {values!r:.60}")
    refuse_table(values, what)
    if isinstance(values, set | frozenset) or not _can_be_listed(values):
        raise TypeError(f"{what} are a list with one for each document; got {values!r:.60}")
    return _listed(values)


def refuse_table(source: Any, what: str = "texts") -> None:
    """Refuse tables and dictionaries, whose names would be taken for what is in them.

    Raises
    ------
    TypeError
        The sentence names a column that can be given.
    """
    columns, kind = _columns(source), type(source).__name__
    if columns:
        name = _most_like_text(source, columns) if what == "texts" else columns[0]
        others = ", ".join(map(repr, columns[:_NAMED])) + (" ..." if len(columns) > _NAMED else "")
        wanted = f"such as df[{name!r}] (it has {others})"
        raise TypeError(f"a {kind} is no list of {what}: give one of its columns, {wanted}")
    if isinstance(source, Mapping):
        keys = ", and its keys as titles" if what == "texts" else ", in the order of the texts"
        raise TypeError(f"a {kind} is no list of {what}: give its values, list(d.values()){keys}")
    if isinstance(source, np.ndarray) and source.ndim > 1:
        raise TypeError(f"an array of {source.ndim} dimensions is no list of {what}: give a column of it, array[:, 0]")


def refuse_other_order(texts: Any, values: Any, what: str) -> None:
    """Refuse two columns of pandas with the same index in another order, which would be put together wrongly.

    Raises
    ------
    TypeError
        The sentence says how to bring them together.
    """
    if not (isinstance(texts, pd.Series) and isinstance(values, pd.Series)) or len(texts) != len(values):
        return
    if not texts.index.equals(values.index) and set(texts.index) == set(values.index):
        raise TypeError(f"{what} have the index of the texts in another order: give {what}.loc[texts.index]")


def index_of(texts: Any) -> pd.Index | None:
    """Return the index of a column of pandas, by which its documents are known; None of anything else."""
    return texts.index if isinstance(texts, pd.Series) else None


def refuse_missing(texts: Iterable[Any]) -> None:
    """Refuse what is no text among texts that are to be placed.

    Raises
    ------
    TypeError
        With its place and what to do.
    """
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"document {number} {explain_no_text(text)}")


def _is_file(text: Any) -> bool:
    return isinstance(text, str) and len(text) < 256 and "\0" not in text and Path(text).is_file()


def _can_be_listed(source: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(source, Iterable) and not (isinstance(source, np.ndarray) and source.ndim == 0)


def _listed(source: Any) -> list[Any]:
    """Return values as a list; those of Arrow as Python's."""
    return list(source.to_pylist() if hasattr(source, "to_pylist") else source)


def _columns(source: Any) -> list[Any]:
    """Return the names of the columns of a table, or of a dictionary of columns."""
    if isinstance(source, Mapping):
        long = [
            value for value in source.values() if not isinstance(value, str | bytes) and isinstance(value, Iterable)
        ]
        return list(source) if long and len(long) == len(source) else []
    for attribute in ("column_names", "columns"):
        found = getattr(source, attribute, None)
        if found is not None and not callable(found):
            return list(found)
    return []


def _most_like_text(table: Any, columns: list[Any]) -> Any:
    """Return the column with the longest texts."""
    return max(columns, key=lambda name: _length(table[name]))


def _length(column: Any) -> float:
    """Return how many letters the first values of a column have on average, of those that are texts."""
    try:
        values = _listed(column[:_LOOKED_AT])
    except (TypeError, KeyError, IndexError):
        return 0.0
    return sum(len(value) for value in values if isinstance(value, str)) / max(1, len(values))
