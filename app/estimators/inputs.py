"""Checks of the inputs of the estimators: errors for texts in place of counts, warnings for blank documents, labels."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from topiary.engine.contract import Array

_MOST_SEARCHED = 1000  # values of a column or a list that are searched for texts
_LONGEST_QUOTE = 40  # characters of a value that an error quotes
_MOST_ROWS = 5  # rows that a warning names


def refuse_texts(name: str, X: Any) -> None:
    """Raise an error if X holds texts, or has a column of texts, instead of counts; ``name`` is the estimator's.

    Raises
    ------
    TypeError
        When X is not a table.
    ValueError
        When X holds texts; the message advises to put a CountVectorizer before the estimator.
    """
    wants = f"{name} reads counts of words"
    way = f"put a CountVectorizer before it, as in make_pipeline({{}}, {name}())"
    usual = way.format("CountVectorizer()")
    if isinstance(X, str | bytes | os.PathLike):
        raise TypeError(f"{wants}, and X is one text ({_quote_value(X)}): {usual}, and give that a list of texts")
    if X is None or (isinstance(X, Mapping | Iterator) and not issparse(X)):  # a dok_matrix is a dictionary too
        kind = "None" if X is None else f"a {type(X).__name__}"
        raise TypeError(f"{wants}, and X is {kind}: give an array or a sparse matrix, a row for each document")
    columns = _list_text_columns(X)
    if columns:
        name = repr(columns[0])
        raise ValueError(f"{wants}, and the column {name} of X holds texts: {usual}, and give that X[{name}]")
    text = None if hasattr(X, "columns") else _find_text(X)
    listed = not isinstance(text, str | bytes)
    if text is not None:
        kind, way = ("lists of words", way.format("CountVectorizer(analyzer=list)")) if listed else ("texts", usual)
        raise ValueError(f"{wants}, and X holds {kind} ({_quote_value(text)}): {way}")


def find_blank_rows(starts: Array) -> Array:
    """Return the rows of documents without words, and warn about them.

    ``starts`` are the positions where the rows begin, and where the last one ends.
    """
    rows = np.flatnonzero(np.diff(starts) == 0)
    if len(rows):
        named = ", ".join(map(str, rows[:_MOST_ROWS])) + (" ..." if len(rows) > _MOST_ROWS else "")
        one = len(rows) == 1
        warnings.warn(
            f"{len(rows):,} of {len(starts) - 1:,} documents {'has' if one else 'have'} no word that the model knows "
            f"(row{'' if one else 's'} {named}): nothing can be said of {'it' if one else 'them'}",
            UserWarning,
            stacklevel=3,
        )
    return rows


def _list_text_columns(X: Any) -> list[Any]:
    """Return the columns of a table that hold texts; an empty list if X is not a table with columns."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return []
    candidates = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if _may_be_text(kind)]
    return [name for name in candidates if _find_text(X[name]) is not None]


def _may_be_text(kind: Any) -> bool:
    """Return whether a column of this type may hold texts."""
    return getattr(kind, "kind", "O") in "OUS" or str(kind).lower() in ("string", "str", "category", "utf8")


def _find_text(X: Any) -> Any:
    """Return the first text, or list of words, among the first values of a list or an array; None for none."""
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "O") not in "OUST" or hasattr(X, "indptr") or not isinstance(X, Iterable):
        return None
    for value in islice(X.ravel() if isinstance(X, np.ndarray) else X, _MOST_SEARCHED):
        text = value.as_py() if hasattr(value, "as_py") else value
        if isinstance(text, str | bytes) and not _is_number(text):
            return text
        if isinstance(text, list | tuple) and any(isinstance(each, str) and not _is_number(each) for each in text):
            return text
    return None


def _is_number(text: str | bytes) -> bool:
    """Return whether a text is a number; scikit-learn converts such texts."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quote_value(value: Any) -> str:
    text = repr(str(value) if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def read_labels(y: Any, mark: Any) -> tuple[Array, Array]:
    """Return the classes, and the class of every document, from 0; -1 where y holds ``mark``.

    Raises
    ------
    TypeError
        When y is a single text or a dictionary.
    ValueError
        When y holds None or NaN that is not the mark, mixes text and numbers, or is not valid as classes.
    """
    y = list(y) if isinstance(y, Iterator) else y
    _refuse_several(y)
    listed = isinstance(y, list | tuple)
    # As objects, since NumPy would convert both 0 and "?" to texts.
    given = column_or_1d(np.asarray(y, dtype=object) if listed else y, warn=True)
    known = np.array([not _is_mark(value, mark, row) for row, value in enumerate(strip_scalar(given))], dtype=bool)
    present = given[known]
    if present.dtype == object:
        present = _unify_type(present, listed=listed)
    assert_all_finite(present, input_name="y", estimator_name="SDATM")
    check_classification_targets(present)
    classes, numbers = np.unique(present, return_inverse=True)
    if twins := [label for label in strip_scalar(classes) if _reads_like(label, mark)]:
        raise ValueError(f"unlabelled is {mark!r}, and y has {twins[0]!r}, which is not equal: give both the same type")
    labels = np.full(len(known), -1, dtype=np.int32)
    labels[known] = numbers
    return classes, labels


def _refuse_several(y: Any) -> None:
    """Raise an error for labels that are one text, a table, or several for a document."""
    if isinstance(y, str | bytes | Mapping):
        kind = "one text" if isinstance(y, str | bytes) else f"a {type(y).__name__}"
        raise TypeError(f"y is {kind}: give a list or an array with one label for each document")
    if len(getattr(y, "columns", ())) > 1:
        raise ValueError(f"y is a table of {len(y.columns)} columns: give the one with the labels, y[{y.columns[0]!r}]")
    for row, value in enumerate(y if isinstance(y, list | tuple) else ()):
        several = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) and len(value) != 1
        if several or isinstance(value, set | frozenset | Mapping):
            raise ValueError(f"row {row} of y is {value!r}: a document has one label; choose one of several")


def _unify_type(labels: Array, *, listed: bool) -> Array:
    """Return labels as an array of their own type instead of objects; an array of texts is returned unchanged."""
    kinds = {isinstance(label, str): label for label in labels}
    if len(kinds) > 1:
        raise ValueError(f"labels must be all words or all numbers; y has {kinds[True]!r} and {kinds[False]!r}")
    return np.asarray(column_or_1d(labels.tolist())) if listed or False in kinds else labels


def _is_mark(value: Any, mark: Any, row: int) -> bool:
    """Return whether a value of y marks a document without a label; ``row`` is for the error message."""
    missing_value, missing_mark = _name_missing(value), _name_missing(mark)
    if missing_value and missing_value != missing_mark:
        raise ValueError(f"row {row} of y is {value}, which is no label: give one, or set unlabelled={missing_value}")
    return bool(missing_value if missing_mark else value == mark)


def _name_missing(value: Any) -> str:
    """Return "None" or "np.nan" for a missing value (also pandas' NA and NaT), "" for a value that can be a label."""
    if value is None:
        return "None"
    return "np.nan" if not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT") else ""


def _reads_like(label: Any, mark: Any) -> bool:
    """Return whether a label and the mark differ only in their type, as -1 and "-1" do."""
    if mark is None or isinstance(label, str) == isinstance(mark, str):
        return False
    try:
        return str(label) == str(mark) or float(label) == float(mark)
    except (TypeError, ValueError):
        return False


def strip_scalar(value: Any) -> Any:
    """Return a parameter without NumPy's types: numbers as Python numbers, lists and arrays as tuples."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(strip_scalar(each) for each in value) if isinstance(value, list | tuple) else value


def read_topic_words(topics: Any, names: list[str], n_words: int) -> dict[Any, tuple[int, ...]]:
    """Return the numbers of the words of each of some topics, by name, or by position in a list.

    Parameters
    ----------
    topics : dict, list or None
        Words of each topic, as numbers or names of columns.
    names : list of str
        Names of the columns; empty if they have none.
    n_words : int
        Number of columns.

    Raises
    ------
    ValueError
        When a word is no column, or a topic has less than two; the message is one sentence.
    """
    if not isinstance(topics, Mapping | list | tuple | None):
        raise ValueError(f"topics must be a dictionary or list with words for each topic; got {_quote_value(topics)}")  # noqa: TRY004 - as scikit-learn
    listed = topics if isinstance(topics, Mapping) else dict(enumerate(topics or ()))
    columns = {name: number for number, name in enumerate(names)} | {number: number for number in range(n_words)}
    found: dict[Any, tuple[int, ...]] = {}
    for key, words in listed.items():
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise ValueError(f"the words of topic {key!r} are no list; give at least two in one")  # noqa: TRY004
        plain = [strip_scalar(word) for word in words]
        if unknown := [word for word in plain if word not in columns]:
            has = (
                "the names of its columns are known only of a table"
                if isinstance(unknown[0], str) and not names
                else f"it has {n_words}"
            )
            raise ValueError(f"topic {key!r} has the word {unknown[0]!r}, which is no column of X; {has}")
        found[key] = tuple(dict.fromkeys(columns[word] for word in plain))
        if len(found[key]) < 2:
            raise ValueError(f"topic {key!r} needs at least two different words, and has {len(found[key])}")
    return found
