"""Labels and parameters as users of scikit-learn give them: arrays, lists and types of every kind."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from engine.contract import Array


def labels_of(y: Any, mark: Any) -> tuple[Array, Array]:
    """The classes, and the number of every document's class: -1 where y holds ``mark``.

    Raises
    ------
    TypeError
        When y is a single text or a dictionary.
    ValueError
        When a None or NaN is not the mark, text and numbers are mixed, or y cannot be labels of classes.
    """
    y = list(y) if isinstance(y, Iterator) else y
    _refuse_several(y)
    listed = isinstance(y, list | tuple)
    given = column_or_1d(np.asarray(y, dtype=object) if listed else y, warn=True)  # NumPy would make text of 0 and "?"
    known = np.array([not _is(value, mark, row) for row, value in enumerate(plain(given))], dtype=bool)
    found = given[known]
    if found.dtype == object:
        found = _of_one_type(found, listed=listed)
    assert_all_finite(found, input_name="y", estimator_name="SDATM")
    check_classification_targets(found)
    classes, numbers = np.unique(found, return_inverse=True)
    if twins := [label for label in plain(classes) if _reads_like(label, mark)]:
        raise ValueError(f"unlabelled is {mark!r}, and y has {twins[0]!r}, which is not equal: give both the same type")
    labels = np.full(len(known), -1, dtype=np.int32)
    labels[known] = numbers
    return classes, labels


def _refuse_several(y: Any) -> None:
    """Refuse what holds several labels for a document, or none at all."""
    if isinstance(y, str | bytes | Mapping):
        kind = "one text" if isinstance(y, str | bytes) else f"a {type(y).__name__}"
        raise TypeError(f"y is {kind}: give a list or an array with one label for each document")
    if len(getattr(y, "columns", ())) > 1:
        raise ValueError(f"y is a table of {len(y.columns)} columns: give the one with the labels, y[{y.columns[0]!r}]")
    for row, value in enumerate(y if isinstance(y, list | tuple) else ()):
        several = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) and len(value) != 1
        if several or isinstance(value, set | frozenset | Mapping):
            raise ValueError(f"row {row} of y is {value!r}: a document has one label; choose one of several")


def _of_one_type(found: Array, *, listed: bool) -> Array:
    """Labels of any type as an array of their own; words stay as they are unless they come from a list."""
    kinds = {isinstance(label, str): label for label in found}
    if len(kinds) > 1:
        raise ValueError(f"labels must be all words or all numbers; y has {kinds[True]!r} and {kinds[False]!r}")
    return np.asarray(column_or_1d(found.tolist())) if listed or False in kinds else found


def _is(value: Any, mark: Any, row: int) -> bool:
    """Whether the ``row``-th value of y is the mark of documents without a label."""
    gap, lack = _gap(value), _gap(mark)
    if gap and gap != lack:
        raise ValueError(f"row {row} of y is {value}, which is no label: give one, or set unlabelled={gap}")
    return bool(gap if lack else value == mark)


def _gap(value: Any) -> str:
    """What a value that can be no label is called, NaN and the NA of pandas alike; nothing for others."""
    if value is None:
        return "None"
    return "np.nan" if not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT") else ""


def _reads_like(label: Any, mark: Any) -> bool:
    """Whether one is text, the other is not, and both say the same, as -1 and "-1" do."""
    if mark is None or isinstance(label, str) == isinstance(mark, str):
        return False
    try:
        return str(label) == str(mark) or float(label) == float(mark)
    except (TypeError, ValueError):
        return False


def plain(value: Any) -> Any:
    """A value of a grid of parameters without NumPy's types: numbers as Python's, lists and arrays as tuples."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(plain(each) for each in value) if isinstance(value, list | tuple) else value
