"""Presets: settings of a model that go together under one name, such as those of its paper.

A model offers them as ``PRESETS`` in its file, by name: settings as texts, and under ``minibatches`` the length of a
run.  A setting given beside a preset wins over it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from engine import models

RECOMMENDED = ""  # no preset: the defaults
LENGTH = "minibatches"
CALLED = {"paper": "as in the paper", "best": "best topics: sweeps move the topics, the encoder is fitted beside"}


class Preset(NamedTuple):
    """What a preset says.

    Attributes
    ----------
    texts : dict of str
        Settings of the model.
    minibatches : int or None
        None leaves the length to the settings and the corpus.
    """

    texts: dict[str, str]
    minibatches: int | None


def names(model: str) -> tuple[str, ...]:
    """The presets of a model."""
    return tuple(_presets(model))


def preset(model: str, name: str) -> Preset:
    """A preset of a model; an empty one for no name.

    Raises
    ------
    LookupError
        When the model has no such preset.
    """
    if name == RECOMMENDED:
        return Preset({}, None)
    known = _presets(model)
    if name not in known:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise LookupError(f"model {model} has no preset {name!r}; {has}")
    texts = dict(known[name])
    length = texts.pop(LENGTH, None)
    return Preset(texts, None if length is None else int(length))


def _presets(model: str) -> Mapping[str, Mapping[str, str]]:
    found: Mapping[str, Mapping[str, str]] = getattr(models.load(model), "PRESETS", {})
    return found
