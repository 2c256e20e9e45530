"""What users of scikit-learn give as counts: texts that are none are refused, documents without a word are named."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from engine.contract import Array

_LOOKED_AT = 1000  # values of a column or a list in which a text is looked for
_SHOWN = 40  # letters of it
_ROWS = 5  # that a warning names


def refuse_texts(name: str, X: Any) -> None:
    """Refuse texts, and tables with a column of texts, where an estimator of this name wants counts.

    Raises
    ------
    TypeError
        When X is no table at all.
    ValueError
        When it holds texts; the sentence names the way out, a CountVectorizer before the estimator.
    """
    wants = f"{name} reads counts of words"
    way = f"put a CountVectorizer before it, as in make_pipeline({{}}, {name}())"
    usual = way.format("CountVectorizer()")
    if isinstance(X, str | bytes | os.PathLike):
        raise TypeError(f"{wants}, and X is one text ({_shown(X)}): {usual}, and give that a list of texts")
    if X is None or isinstance(X, Mapping | Iterator):
        kind = "None" if X is None else f"a {type(X).__name__}"
        raise TypeError(f"{wants}, and X is {kind}: give an array or a sparse matrix, a row for each document")
    columns = _text_columns(X)
    if columns:
        name = repr(columns[0])
        raise ValueError(f"{wants}, and the column {name} of X holds texts: {usual}, and give that X[{name}]")
    text = None if hasattr(X, "columns") else _first_text(X)
    listed = not isinstance(text, str | bytes)
    if text is not None:
        kind, way = ("lists of words", way.format("CountVectorizer(analyzer=list)")) if listed else ("texts", usual)
        raise ValueError(f"{wants}, and X holds {kind} ({_shown(text)}): {way}")


def blank_rows(starts: Array) -> Array:
    """Return the documents without a word, by the starts of all documents, and name them in a warning."""
    rows = np.flatnonzero(np.diff(starts) == 0)
    if len(rows):
        named = ", ".join(map(str, rows[:_ROWS])) + (" ..." if len(rows) > _ROWS else "")
        one = len(rows) == 1
        warnings.warn(
            f"{len(rows):,} of {len(starts) - 1:,} documents {'has' if one else 'have'} no word that the model knows "
            f"(row{'' if one else 's'} {named}): nothing can be said of {'it' if one else 'them'}",
            UserWarning,
            stacklevel=3,
        )
    return rows


def _text_columns(X: Any) -> list[Any]:
    """Return the columns of a table that hold texts; none of anything else."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return []
    plain = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if _may_be_text(kind)]
    return [name for name in plain if _first_text(X[name]) is not None]


def _may_be_text(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "OUS" or str(kind).lower() in ("string", "str", "category", "utf8")


def _first_text(X: Any) -> Any:
    """Return a text, or a list of words, among the first values of a list or an array; None where there is none."""
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "O") not in "OUST" or hasattr(X, "indptr") or not isinstance(X, Iterable):
        return None
    for value in islice(X.ravel() if isinstance(X, np.ndarray) else X, _LOOKED_AT):
        text = value.as_py() if hasattr(value, "as_py") else value
        if isinstance(text, str | bytes) and not _is_number(text):
            return text
        if isinstance(text, list | tuple) and any(isinstance(each, str) and not _is_number(each) for each in text):
            return text
    return None


def _is_number(text: str | bytes) -> bool:
    """Return whether a text says a number, which scikit-learn reads as that."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(str(value) if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
