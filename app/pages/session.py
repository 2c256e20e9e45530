"""The choices of one browser session, mirrored in the URL, and the context of its pages.

A link holds the whole view: :func:`to_query` writes the page, the run and every other field that differs from its
default.  :func:`from_query` reads each value as :class:`View` declares it and ignores values that are not valid, so
that a damaged link opens a similar view instead of showing an error.
"""

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qsl, quote, unquote

import param

from topiary.app.analysis.hierarchy import format_identity, parse_identity
from topiary.app.names import AXES, INTERVAL, MOVING, UNIT, WEIGH, Choice
from topiary.app.views.compare.table import SORT_WORDS
from topiary.app.views.top_bar import NAMES
from topiary.app.views.tree.opening import RULES
from topiary.engine.hierarchy.topics import TRADE
from topiary.engine.hierarchy.tree import RELATED as RELATION
from topiary.engine.hierarchy.tree import Direction, Part

if TYPE_CHECKING:
    from topiary.app.analysis.name_server import NameServer
    from topiary.app.analysis.reader import StoreReader
    from topiary.app.live.actions import Actions
    from topiary.app.live.feed import Feed, Tick
    from topiary.store.database import Database

_NUMBER = re.compile(r"[0-9]{1,9}")
_UNSET = "auto"  # stands in links for None, a field that has not been chosen
_TOGGLE = ("hidden", "shown")
_EFFECT_ORDERS = [
    f"{sign}{name}" for name in ("topic", "group", "mean", "documents", "difference") for sign in ("", "-")
]
_CONDITION = r"(?s)\A[^=]{1,200}=.{0,600}\Z"
LONGEST_QUERY = 200  # characters of a search text in a link


class TopicParameter(param.String):  # type: ignore[type-arg]
    """The identity of a topic, such as ``L3:17``."""


class ConditionParameter(param.String):  # type: ignore[type-arg]
    """A condition on documents, such as ``source=BBC`` (`app.analysis.filters`); a link has its commas as ``%2C``."""


class TupleParameter(param.ClassSelector):  # type: ignore[type-arg]
    """A tuple of values that another parameter declares, separated by commas in a link.

    Parameters
    ----------
    item : param.Parameter
        The parameter that declares each value.
    most : int
        The largest number of values read from a link.
    different : bool
        Whether to drop repeated values.
    """

    __slots__ = ["different", "item", "most"]

    def __init__(self, item: Any, *, most: int = 500, different: bool = True) -> None:
        super().__init__(default=(), class_=tuple)
        self.item, self.most, self.different = item, most, different


def _offer(choice: Choice) -> Any:
    """Return the parameter of a choice."""
    return param.Selector(objects=list(choice.texts))


class View(param.Parameterized):
    """All choices of a visitor.  To change several fields, use a single ``view.param.update(...)``.

    ``run`` is 0 for no run, ``snapshot`` 0 for the newest one, ``topic`` 0 for none; otherwise ``topic`` is the
    identity number (column + 1) in layer ``layer``.  The tree draws at most ``most`` topics of a layer.
    ``threshold`` None means the threshold that `app.views.tree.opening` finds for the topics shown; the tree on the
    explore page then shows the heaviest children instead, as many as ``detail`` says.
    ``light`` says whether list and tree show topics with few tokens, ``sure`` whether the tree shows only sure edges.
    ``picture`` chooses the tiles of the top layer (with roots: the tree), the tree, or the map of layer 1, which joins
    topics with a correlation of at least ``relation``.
    ``search`` is the text in the search field of the explore page.
    ``relevance`` is the lambda by which the words of topics are ranked; 1 ranks them by probability.

    On the compare page, ``partner`` is the run that ``run`` is compared with (0 = the default choice), which has its
    own snapshot and roots; ``side`` says which of the two ``topic`` belongs to.  The table lists at most ``pairs``
    pairs of the layer ``listed`` (0 = all) in the order ``sort``; ``identical`` says whether equal settings are shown,
    ``whole`` whether both whole trees, the table, all figures, the curves and the settings are.

    On the documents page, ``documents`` are the chosen documents of the corpus (one, or two to interpolate between),
    ``trail`` is the topic or path whose words are marked, ``steps`` the number of interpolated points and ``mixed`` the
    layer to interpolate in (0 = the highest layer in which the two differ).  The table of the corpus lists the
    documents with the words of ``query`` and with ``label``, or those of them that use the topic ``subject`` most;
    ``table_page`` counts its pages from 1.  ``explained`` says whether only badly explained ones
    are listed.  Nearest documents are compared by the topics of layer ``near``.
    ``label`` is the number of the chosen class, from 1; 0 = none.

    ``where`` are conditions on documents (`app.analysis.filters`).  On the trends page, ``trend`` chooses topics over
    time or by group, ``trend_layer`` the layer (0 = the top one), ``trend_topic`` the topic whose groups, or children
    over time, are shown, ``column`` the column of dates or groups ("" = the first one), ``unit`` the length of the
    periods, ``moving`` the number of periods of the moving mean, ``weigh`` whether a document counts by its tokens or
    as one, ``interval`` what intervals contain, and ``zoomed`` whether it shows only
    a range of dates that was selected.  ``group`` is compared with ``against`` ("" = each group, and all others);
    ``effects`` is the order of the table, ``every`` whether all its rows are listed, and ``cells``, ``ordered``,
    ``numbers``, ``heads``, ``quiet`` and ``marked`` are `app.views.trends.trends_page.HeatChoices`.  On the page of a
    word, which is ``word``, they mean the same, and the first topic of ``trail`` is the one whose words are marked
    around it.

    On the map of documents, ``colour`` is the column by which they are coloured ("" = by topic); ``layer`` and
    ``topic`` choose the topic whose documents stand out.
    """

    page: Any = param.Selector(default="watch", objects=list(NAMES))
    run = param.Integer(default=0, bounds=(0, None))
    snapshot = param.Integer(default=0, bounds=(0, None))
    layer = param.Integer(default=1, bounds=(1, 999))
    topic = param.Integer(default=0, bounds=(0, None))
    roots = TupleParameter(TopicParameter())
    closed = TupleParameter(TopicParameter())
    hidden = TupleParameter(TopicParameter())
    most = param.Integer(default=40, bounds=(1, 100_000))
    threshold = param.Number(default=None, bounds=(0.0, 1e6), allow_None=True)
    detail: Any = param.Selector(default="normal", objects=list(RULES))
    direction: Any = param.Selector(default="down", objects=list(get_args(Direction)))
    part: Any = param.Selector(default="union", objects=list(get_args(Part)))
    light: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    sure: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    search = param.String(default="", regex=r"(?s)\A.{0,200}\Z")
    relevance = param.Number(default=TRADE, bounds=(0.0, 1.0))
    picture: Any = param.Selector(default="topics", objects=["topics", "tree", "map"])
    relation = param.Number(default=RELATION, bounds=(0.0, 1.0))
    overlay = TupleParameter(param.Integer(default=1, bounds=(1, None)))
    axis: Any = param.Selector(default="minibatches", objects=list(AXES))
    label = param.Integer(default=0, bounds=(0, None))
    tab = param.String(default="", regex=r"\A[a-z0-9-]{0,400}\Z")
    partner = param.Integer(default=0, bounds=(0, None))
    partner_snapshot = param.Integer(default=0, bounds=(0, None))
    partner_roots = TupleParameter(TopicParameter())
    side: Any = param.Selector(default="run", objects=["run", "partner"])
    sort: Any = param.Selector(default="change", objects=list(SORT_WORDS))
    listed = param.Integer(default=0, bounds=(0, 999))
    pairs = param.Integer(default=40, bounds=(1, 100_000))
    whole: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    identical: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    documents = TupleParameter(param.Integer(default=0, bounds=(0, None)), most=2, different=False)
    trail = TupleParameter(TopicParameter())
    steps = param.Integer(default=9, bounds=(2, 30))
    mixed = param.Integer(default=0, bounds=(0, 999))
    query = param.String(default="", regex=rf"(?s)\A.{{0,{LONGEST_QUERY}}}\Z")
    subject = TupleParameter(TopicParameter(), most=1)
    table_page = param.Integer(default=1, bounds=(1, None))
    where = TupleParameter(ConditionParameter(default="column=value", regex=_CONDITION), most=20)
    trend: Any = param.Selector(default="time", objects=["time", "groups"])
    trend_layer = param.Integer(default=0, bounds=(0, 999))
    trend_topic = TupleParameter(TopicParameter(), most=1)
    column = param.String(default="", regex=r"(?s)\A.{0,200}\Z")
    unit: Any = _offer(UNIT)
    moving: Any = _offer(MOVING)
    weigh: Any = _offer(WEIGH)
    interval: Any = _offer(INTERVAL)
    zoomed: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    group = param.String(default="", regex=r"(?s)\A.{0,200}\Z")
    against = param.String(default="", regex=r"(?s)\A.{0,200}\Z")
    effects: Any = param.Selector(default="sure", objects=["sure", *_EFFECT_ORDERS])
    cells: Any = param.Selector(default="difference", objects=["difference", "share"])
    ordered: Any = param.Selector(default="size", objects=["size", "similarity"])
    numbers: Any = param.Selector(default="sure", objects=["sure", "all"])
    heads = TupleParameter(ConditionParameter(default="column=value", regex=_CONDITION), most=40)
    quiet: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    every: Any = param.Selector(default="hidden", objects=list(_TOGGLE))
    marked = TupleParameter(ConditionParameter(default="column=value", regex=_CONDITION), most=1)
    explained: Any = param.Selector(default="any", objects=["any", "badly"])
    near = param.Integer(default=1, bounds=(1, 999))
    word = param.String(default="", regex=r"(?s)\A.{0,100}\Z")
    colour = param.String(default="", regex=r"(?s)\A.{0,200}\Z")


class BackgroundCall(Protocol):
    """A function that runs work in another thread."""

    def __call__(
        self, work: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[], None] | None = None
    ) -> None:
        """Run ``work()`` in another thread, then ``then(result)`` in the session; after an error run ``failed()``."""


@dataclass(frozen=True)
class Context:
    """The services of a session from which its pages are built.

    Attributes
    ----------
    view : View
        The session's choices; pages watch its fields.
    feed : Feed
        The cache of the store that all sessions share.
    db : Database
        Read-only.
    actions : Actions
        The changes to the store that the visitor can make.
    on_tick : (callback) -> None
        Has ``callback(tick)`` run on this session's document whenever the store has changed.
    on_close : (callback) -> None
        Has ``callback()`` run when the session ends.
    later : (work, then, failed) -> None
        Runs ``work()`` in a thread, then ``then(its result)`` on this session's document; an error is shown as a
        message, and ``failed()``, which may try again, runs a few seconds later.
    in_turn : (work, then, failed) -> None
        Like ``later``, but one at a time for all visitors: for work that occupies all processors, so that waiting for
        it does not delay anything else.
    aside : (work, then, failed) -> None
        Like ``later``, for work that may take a minute, such as a search of a million documents, so that quick work
        does not wait for it.
    soon : (work) -> None
        Runs ``work()`` on this session's document after the page is sent, while the browser loads scripts: for parts
        that would delay the page, but are needed as soon as it is open.
    notify : (message, kind) -> None
        Shows a message; kind is "success", "info", "warning" or "error".
    dark : bool
        Whether the session begins with the dark theme; the visitor can change that in the browser.
    window : mapping
        The ``width`` and ``height`` of the window of a picture when the visitor was last here; empty if not known.
    names : NameServer or None
        The server of language models that may be asked for names of topics; None unless the server was started so.
    """

    view: View
    feed: "Feed"
    db: "Database"
    actions: "Actions"
    on_tick: Callable[[Callable[["Tick"], None]], None]
    on_close: Callable[[Callable[[], None]], None]
    later: BackgroundCall
    in_turn: BackgroundCall
    aside: BackgroundCall
    soon: Callable[[Callable[[], None]], None]
    notify: Callable[[str, str], None]
    dark: bool = False
    window: Mapping[str, int] = field(default_factory=dict)
    names: "NameServer | None" = None

    @property
    def reader(self) -> "StoreReader":
        """What reads topics and documents, with the memory that all sessions share."""
        return self.feed.reader


FIELDS = tuple(name for name in View.param if name != "name")
DEFAULTS: dict[str, Any] = {name: View.param[name].default for name in FIELDS}
CHOICES: dict[str, tuple[str, ...]] = {
    name: tuple(View.param[name].objects) for name in FIELDS if isinstance(View.param[name], param.Selector)
}

ALWAYS = ("page", "run")  # in every link
FROM_DOCUMENTS = "seed"  # the tab of Steer that begins a new topic with the documents that the conditions select

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
        "search",
        "side",
        "documents",
        "trail",
        "mixed",
        "near",
        "explained",
        "label",
        "subject",
        "table_page",
        "where",
        "trend_layer",
        "trend_topic",
        "column",
        "colour",
        "group",
        "against",
        "heads",
        "marked",
    )
}  # choices that have no meaning for another run


Slice = TypeVar("Slice", bound=tuple[Any, ...])


def cut_view(view: View, kind: type[Slice]) -> Slice:
    """Return the fields of the view that a `NamedTuple` names; one of another `NamedTuple` is cut out likewise."""
    fields = get_type_hints(kind).items()
    return kind(*(cut_view(view, each) if _is_slice(each) else getattr(view, name) for name, each in fields))


def list_fields(kind: type[tuple[Any, ...]]) -> list[str]:
    """Return the fields of the view that :func:`cut_view` reads."""
    fields = get_type_hints(kind).items()
    return [name for own, each in fields for name in (list_fields(each) if _is_slice(each) else [own])]


def _is_slice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def to_query(view: View, without: Collection[str] = ()) -> str:
    """Return the query of a link to a view: page, run and all fields without their default value, in a fixed order.

    Fields named in ``without`` are left out.
    """
    values = {name: getattr(view, name) for name in FIELDS if name not in without}
    chosen = {name: value for name, value in values.items() if name in ALWAYS or value != DEFAULTS[name]}
    return "&".join(f"{name}={quote(_write(value), safe=':,')}" for name, value in chosen.items())


def from_query(text: str) -> dict[str, Any]:
    """Return the valid fields of a link; damaged, unknown and out-of-bounds ones are left out."""
    fields: dict[str, Any] = {}
    for name, value in parse_qsl(text.removeprefix("?")[:20000], keep_blank_values=True, errors="replace"):
        if name in FIELDS:
            with suppress(ValueError):
                fields[name] = read_field(name, value)
    return fields


def read_field(name: str, text: str) -> Any:
    """Return the value of a field that a text stands for, as its parameter declares it.

    Raises
    ------
    ValueError
        When the field cannot have the value; a field of several values drops invalid ones instead.
    """
    return _read(View.param[name], text)


def _write(value: Any) -> str:
    if value is None:
        return _UNSET
    if isinstance(value, tuple):
        return ",".join(str(item).replace("%", "%25").replace(",", "%2C") for item in value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _read(parameter: Any, text: str) -> Any:
    if text == _UNSET and parameter.allow_None:
        return None
    value = _parse(parameter, text)
    parameter._validate(value)  # noqa: SLF001 - param's own check of type, bounds, choices and form has no other name
    return value


def _parse(parameter: Any, text: str) -> Any:
    """Parse a text for a parameter; return None if it has no meaning.  The parameter checks the value afterwards."""
    match parameter:
        case TupleParameter():
            values: list[Any] = []
            for part in text.split(",")[: parameter.most]:
                with suppress(ValueError):
                    values.append(_read(parameter.item, part))
            return tuple(dict.fromkeys(values) if parameter.different else values)
        case TopicParameter():
            node = parse_identity(text)
            return None if node is None else format_identity(node)
        case ConditionParameter():
            return unquote(text)
        case param.Integer():
            return int(text) if _NUMBER.fullmatch(text) else None
        case param.Number():
            return float(text)
    return text
