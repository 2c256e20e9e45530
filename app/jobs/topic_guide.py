"""Guides: what users know of the topics of a run before it begins, from a YAML file or from plain values.

    topics:
      - name: Doping
        words: [doping, kenteris, thanou]
        parent: Sport
      - name: Aid
        words: [tsunami, aid, relief]
    ban: [year, mr]

Each topic becomes one of layer 1, made from its words soon after the first steps, and has its name; topics with the
same parent are placed below the topic of layer 2 that has most to do with them, which gets the name of the parent.  The
same in lines, for forms:

    Sport > Doping: doping, kenteris, thanou
    Aid: tsunami, aid, relief
    ban: year, mr
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from topiary.app.names import plural
from topiary.engine.steering.edit import EditRefused

LEAST_WORDS = 2  # of a topic
LARGEST = 1_000_000  # bytes of a file


class GuideTopic(NamedTuple):
    """A topic of a guide."""

    name: str
    words: tuple[str, ...]
    parent: str = ""


class TopicGuide(NamedTuple):
    """What users know of the topics of a run: topics, and words that say nothing about topics."""

    topics: tuple[GuideTopic, ...] = ()
    ban: tuple[str, ...] = ()


def read_guide(path: Path) -> TopicGuide:
    """Return the guide in a YAML file.

    Raises
    ------
    EditRefused
        When it cannot be read; the message is one sentence.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise EditRefused(f"{path} is larger than any guide to topics; give a file with topics and their words")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EditRefused(f"{path} cannot be read ({error.strerror or error}); give a file with topics") from error
    except UnicodeDecodeError as error:
        raise EditRefused(f"{path} is no text in UTF-8; save it as one") from error
    return parse_guide(text, path.name)


def parse_guide(text: str, name: str = "the guide") -> TopicGuide:
    """Return the guide in a text of YAML; ``name`` is for errors."""
    try:
        values = yaml.BaseLoader(text).get_single_data()  # texts, lists and dictionaries only
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1} of {name}" if mark is not None else name
        raise EditRefused(
            f"{where} is no YAML ({getattr(error, 'problem', None) or error}); see the guide's page on steering"
        ) from error
    return convert_guide(values, name)


def read_lines(text: str) -> TopicGuide | None:
    """Return the guide in a text of one topic a line, or of YAML; None for an empty text."""
    if re.search(r"^(topics|ban):[ \t]*(\[|\r?$)", text, re.MULTILINE):
        return parse_guide(text)
    topics: list[dict[str, Any]] = []
    ban: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, words = line.rpartition(":")
        parent, _, own = name.rpartition(">")
        listed = [word for word in re.split(r"[\s,]+", words) if word]
        if colon and name.strip() == "ban":
            ban += listed
        else:
            topics.append({"name": own, "words": listed, "parent": parent})
    return convert_guide({"topics": topics, "ban": ban}) if topics or ban else None


def convert_guide(values: Any, name: str = "the guide") -> TopicGuide:
    """Return plain values, as from YAML, as a guide."""
    _check_keys(values, ("topics", "ban"), name)
    listed = values.get("topics") or []
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise EditRefused(f"the topics of {name} are no list; begin each with a dash, as in - name: Aid")
    topics = tuple(_convert_topic(each, f"topic {i} of {name}") for i, each in enumerate(listed, 1))
    ban = _convert_words(values.get("ban") or [], f"ban of {name}")
    if not topics and not ban:
        raise EditRefused(f"{name} says nothing: give topics, each with words, or ban with words")
    names = [each.name for each in topics if each.name]
    if twice := [each for each in names if names.count(each) > 1]:
        raise EditRefused(f"{name} has two topics with the name {twice[0]!r}; give each a name of its own")
    return TopicGuide(topics, ban)


def _convert_topic(values: Any, where: str) -> GuideTopic:
    _check_keys(values, ("name", "words", "parent"), where)
    words = _convert_words(values.get("words") or [], f"words of {where}")
    if len(words) < LEAST_WORDS:
        raise EditRefused(f"{where} has {plural(len(words), 'word')}; give at least {LEAST_WORDS}")
    name, parent = (" ".join(str(values.get(key) or "").split()) for key in ("name", "parent"))
    return GuideTopic(name, words, parent)


def _convert_words(values: Any, where: str) -> tuple[str, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not all(isinstance(each, str) for each in values):
        raise EditRefused(f"the {where} are no list of words, such as [tsunami, aid]")
    return tuple(values)


def _check_keys(values: Any, known: Sequence[str], where: str) -> None:
    if not isinstance(values, Mapping):
        raise EditRefused(f"{where} has no {' or '.join(known)}; write them as in topics: and - name: Aid")
    if unknown := [key for key in values if key not in known]:
        raise EditRefused(f"{where} has a key {unknown[0]!r}, which means nothing; the keys are {', '.join(known)}")
