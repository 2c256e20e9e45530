"""What one browser session has chosen, mirrored in the URL, and what its pages may use.

A link is the whole view: :func:`to_query` writes page and run and whatever else differs from the defaults;
what a link does not say has its default.  :func:`from_query` drops what it cannot read, so a damaged link opens
the nearest view instead of an error.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, quote

import param

from app.analysis.hierarchy import identity, parse_identity

if TYPE_CHECKING:
    from app.live.actions import Actions
    from app.live.feed import Feed
    from app.live.ticks import Tick
    from store.database import Database

PAGES = ("runs", "watch", "explore", "classes", "compare", "documents", "guide")
DIRECTIONS = ("down", "up")
PARTS = ("union", "shared", "unique")
AXES = ("minibatches", "documents", "seconds")
SIDES = ("run", "partner")
SORTS = ("change", "score", "share", "popularity", "margin")
IDENTICAL = ("hidden", "shown")
PRUNED = ("hidden", "shown")
LIGHT = ("hidden", "shown")

_NUMBER = re.compile(r"\d{1,9}")
_WORD = re.compile(r"[a-z0-9-]{0,40}")
_MOST = 500  # list entries of one field read from a link
_NOBODYS = "auto"  # what a link says of a field that nobody has chosen


class View(param.Parameterized):
    """Everything a visitor has chosen.  Change several fields by one ``view.param.update(...)``.

    ``run`` 0 is no run, ``snapshot`` 0 is live (the newest one), ``topic`` 0 is none; ``topic`` is the
    identity number (column + 1) in layer ``layer``; of one layer of the tree at most ``most`` topics are drawn.
    ``threshold`` None is the one that `app.views.tree.opening` finds for the topics shown.
    ``pruned`` says whether the tree shows pruned topics, ``light`` whether list and tree show those of few tokens.

    On the compare page ``partner`` is the run that ``run`` is compared with (0 = the usual one), with a
    snapshot and roots of its own; ``side`` says whose ``topic`` is selected.  ``pairs`` of the layer ``listed``
    (0 = all) are listed in the order ``sort``; ``identical`` says whether equal settings are shown.

    On the documents page ``documents`` are the documents of the corpus chosen (one, or the two ends of a line),
    ``trail`` is the topic or path whose words are marked, ``steps`` the points of the line and ``mixed`` its layer
    (0 = the highest that tells the two apart).
    ``label`` is the class looked at, from 1, 0 = none.
    """

    page: Any = param.Selector(default="watch", objects=list(PAGES))
    run = param.Integer(default=0, bounds=(0, None))
    snapshot = param.Integer(default=0, bounds=(0, None))
    layer = param.Integer(default=1, bounds=(1, 999))
    topic = param.Integer(default=0, bounds=(0, None))
    roots = param.ClassSelector(default=(), class_=tuple)
    closed = param.ClassSelector(default=(), class_=tuple)
    hidden = param.ClassSelector(default=(), class_=tuple)
    most = param.Integer(default=40, bounds=(1, 100_000))
    threshold = param.Number(default=None, bounds=(0.0, 1e6), allow_None=True)
    direction: Any = param.Selector(default="down", objects=list(DIRECTIONS))
    part: Any = param.Selector(default="union", objects=list(PARTS))
    pruned: Any = param.Selector(default="hidden", objects=list(PRUNED))
    light: Any = param.Selector(default="hidden", objects=list(LIGHT))
    overlay = param.ClassSelector(default=(), class_=tuple)
    axis: Any = param.Selector(default="minibatches", objects=list(AXES))
    label = param.Integer(default=0, bounds=(0, None))
    tab = param.String(default="")
    partner = param.Integer(default=0, bounds=(0, None))
    partner_snapshot = param.Integer(default=0, bounds=(0, None))
    partner_roots = param.ClassSelector(default=(), class_=tuple)
    side: Any = param.Selector(default="run", objects=list(SIDES))
    sort: Any = param.Selector(default="change", objects=list(SORTS))
    listed = param.Integer(default=0, bounds=(0, 999))
    pairs = param.Integer(default=40, bounds=(1, 100_000))
    identical: Any = param.Selector(default="hidden", objects=list(IDENTICAL))
    documents = param.ClassSelector(default=(), class_=tuple)
    trail = param.ClassSelector(default=(), class_=tuple)
    steps = param.Integer(default=9, bounds=(2, 30))
    mixed = param.Integer(default=0, bounds=(0, 999))


class Later(Protocol):
    """A way to have work done elsewhere."""

    def __call__(
        self, work: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[], None] | None = None
    ) -> None:
        """Run ``work()`` elsewhere, then ``then(its result)`` here, or ``failed()`` a few seconds after an error."""


@dataclass(frozen=True)
class Context:
    """What a page function gets.

    Attributes
    ----------
    view : View
        The session's choices; pages watch its fields.
    feed : Feed
        The process-wide cache of what is in the store.
    db : Database
        Read-only.
    actions : Actions
        The ways a page may change the store.
    on_tick : (callback) -> None
        ``callback(tick)`` runs on this session's document whenever the store has something new.
    on_close : (callback) -> None
        ``callback()`` runs when the browser is gone.
    later : (work, then, failed) -> None
        ``work()`` runs in a thread, ``then(its result)`` on this session's document; an error is
        shown as a message, and ``failed()`` runs a few seconds after it, so that it can be asked again.
    in_turn : (work, then, failed) -> None
        As ``later``, but one at a time for all visitors: for what takes every processor, so that whoever waits
        for it holds up nobody else.
    aside : (work, then, failed) -> None
        As ``later``, for what may take a minute, such as a search of a million documents: nothing else waits for it.
    soon : (work) -> None
        ``work()`` runs on this session's document while the browser still loads its scripts: for what is
        too slow to make before the answer, and wanted as soon as the page stands.
    notify : (message, kind) -> None
        Shows a message; kind is "success", "info", "warning" or "error".
    """

    view: View
    feed: "Feed"
    db: "Database"
    actions: "Actions"
    on_tick: Callable[[Callable[["Tick"], None]], None]
    on_close: Callable[[Callable[[], None]], None]
    later: Later
    in_turn: Later
    aside: Later
    soon: Callable[[Callable[[], None]], None]
    notify: Callable[[str, str], None]


FIELDS = tuple(name for name in View.param if name != "name")
DEFAULTS: dict[str, Any] = {name: View.param[name].default for name in FIELDS}

ALWAYS = ("page", "run")  # in every link

ANOTHER_RUN = {
    name: DEFAULTS[name]
    for name in (
        "snapshot",
        "layer",
        "topic",
        "roots",
        "closed",
        "hidden",
        "most",
        "threshold",
        "overlay",
        "side",
        "documents",
        "trail",
        "mixed",
        "label",
    )
}  # what was chosen of one run means nothing in another


def to_query(view: View) -> str:
    """The view as the query of a link: page and run, and what else differs from the defaults, in a fixed order."""
    values = {name: getattr(view, name) for name in FIELDS}
    said = {name: value for name, value in values.items() if name in ALWAYS or value != DEFAULTS[name]}
    return "&".join(f"{name}={quote(_write(value), safe=':,')}" for name, value in said.items())


def from_query(text: str) -> dict[str, Any]:
    """The fields of a link that can be read; what is damaged, unknown or out of bounds is left out."""
    fields: dict[str, Any] = {}
    for name, value in parse_qsl(text.removeprefix("?")[:20000], keep_blank_values=True, errors="replace"):
        reader = _READERS.get(name)
        if reader is None:
            continue
        read = reader(value)
        if read is not None or (value == _NOBODYS and DEFAULTS[name] is None):
            fields[name] = read
    return fields


def _write(value: Any) -> str:
    if value is None:
        return _NOBODYS
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _whole(low: int, high: int = 999_999_999) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        found = _NUMBER.fullmatch(text)
        return int(text) if found and text.isascii() and low <= int(text) <= high else None

    return read


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str | None]:
    return lambda text: text if text in choices else None


def _threshold(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= 1e6 else None


def _identities(text: str) -> tuple[str, ...]:
    nodes = map(parse_identity, text.split(",")[:_MOST])
    return tuple(dict.fromkeys(identity(node) for node in nodes if node is not None))


def _ends(text: str) -> tuple[int, ...]:
    read = _whole(0)
    return tuple(number for part in text.split(",")[:2] if (number := read(part)) is not None)


def _numbers(text: str) -> tuple[int, ...]:
    read = _whole(1)
    return tuple(dict.fromkeys(number for part in text.split(",")[:_MOST] if (number := read(part)) is not None))


def _word(text: str) -> str | None:
    return text if _WORD.fullmatch(text) else None


_READERS: dict[str, Callable[[str], Any]] = {
    "page": _one_of(PAGES),
    "run": _whole(0),
    "snapshot": _whole(0),
    "layer": _whole(1, 999),
    "topic": _whole(0),
    "roots": _identities,
    "closed": _identities,
    "hidden": _identities,
    "most": _whole(1, 100_000),
    "threshold": _threshold,
    "direction": _one_of(DIRECTIONS),
    "part": _one_of(PARTS),
    "pruned": _one_of(PRUNED),
    "light": _one_of(LIGHT),
    "overlay": _numbers,
    "axis": _one_of(AXES),
    "label": _whole(0),
    "tab": _word,
    "partner": _whole(0),
    "partner_snapshot": _whole(0),
    "partner_roots": _identities,
    "side": _one_of(SIDES),
    "sort": _one_of(SORTS),
    "listed": _whole(0, 999),
    "pairs": _whole(1, 100_000),
    "identical": _one_of(IDENTICAL),
    "documents": _ends,
    "trail": _identities,
    "steps": _whole(2, 30),
    "mixed": _whole(0, 999),
}
