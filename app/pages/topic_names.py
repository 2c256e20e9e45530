"""Names proposed for the topic in the panel of Explore: phrases of its documents, and those of a language model."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.name_server import NameRequest, NameServer, NamingError, quote_documents, write_request
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.views.explore.detail import NameOffer
from topiary.app.views.text import end_sentence
from topiary.engine.hierarchy.tree import Node
from topiary.store import runs

if TYPE_CHECKING:
    from topiary.app.analysis.topic_names import Proposals

_Layer = tuple[int, int, int]  # run, snapshot and layer
_Topic = tuple[int, int, Node]  # run, snapshot and topic


class _ShownRequest(NamedTuple):
    """The request that the panel shows, of which topic it is, and whether it has passages of documents."""

    topic: _Topic
    request: NameRequest
    has_passages: bool


class NameProposer(MessagePart):
    """Proposes names once a visitor has asked for them; nothing is sent that was not shown before.

    Parameters
    ----------
    find : () -> Hierarchy or None
        Returns the topics on screen.
    changed : () -> None
        Draws the panel again.
    """

    def __init__(self, context: Context, find: Callable[[], Hierarchy | None], changed: Callable[[], None]) -> None:
        super().__init__(context)
        self._find, self._changed = find, changed
        self._asked = False
        self._found: dict[_Layer, Proposals] = {}
        self._pending: _Layer | None = None
        self._shown: _ShownRequest | None = None
        self._sending: _Topic | None = None
        self._answers: dict[_Topic, list[str]] = {}

    def offer(self, hierarchy: Hierarchy, node: Node) -> NameOffer | None:
        """Return what the panel says of names for a topic; None for one that has a name, or whose words are pixels."""
        if hierarchy.name(node) or hierarchy.image_shape is not None:
            return None
        topic, layer = (hierarchy.run, hierarchy.snapshot, node), (hierarchy.run, hierarchy.snapshot, node.layer)
        if self._asked and layer not in self._found and self._pending is None:
            self._pending = layer
            self._context.aside(partial(self._read, layer), partial(self._receive, layer), self._fail)
        found, shown = self._found.get(layer), self._shown
        return NameOffer(
            self._asked,
            None if found is None else found.get(node, ()),
            self._answers.get(topic, ()),
            self._context.names,
            shown.request if shown is not None and shown.topic == topic else None,
            has_passages=shown is not None and shown.has_passages,
            sending=self._sending == topic,
        )

    @on("propose-names")
    def _propose(self) -> None:
        self._asked = True
        self._changed()

    @on("name-request")
    def _prepare(self, topic: Node, value: str) -> None:
        """Show what would be sent for a topic: its words, with ``passages`` of its documents or without."""
        hierarchy, server = self._find(), self._context.names
        if hierarchy is None or server is None or not hierarchy.has(topic):
            return
        has_passages = value == "passages"
        work = partial(self._write, hierarchy, topic, server, has_passages=has_passages)
        key = (hierarchy.run, hierarchy.snapshot, topic)
        self._context.later(work, lambda request: self._show(_ShownRequest(key, request, has_passages)))

    @on("close-request")
    def _close(self) -> None:
        self._show(None)

    @on("send-names")
    def _send(self, topic: Node) -> None:
        """Send what is shown of a topic."""
        shown = self._shown
        if shown is None or shown.topic[2] != topic or self._sending is not None:
            return
        self._sending = shown.topic
        self._changed()
        work = partial(self._context.actions.ask_names, shown.topic[0], topic, shown.request)
        self._context.aside(partial(_try, work), partial(self._take, shown.topic), partial(self._take, shown.topic, ""))

    def _show(self, shown: _ShownRequest | None) -> None:
        self._shown = shown
        self._changed()

    def _write(self, hierarchy: Hierarchy, node: Node, server: NameServer, *, has_passages: bool) -> NameRequest:
        run = runs.get_run(self._context.db, hierarchy.run)
        passages = quote_documents(self._context.reader, run, hierarchy, node) if has_passages else ()
        return write_request(server, hierarchy, node, passages)

    def _take(self, topic: _Topic, answer: list[str] | str) -> None:
        """Show the names of an answer, or say why there are none."""
        self._sending = None
        if isinstance(answer, list):
            self._answers[topic], self._shown = answer, None
        elif answer:
            self._context.notify(end_sentence(answer), "warning")
        self._changed()

    def _read(self, layer: _Layer) -> "Proposals":
        from topiary.app.analysis.topic_names import propose_names  # loads SciPy

        return propose_names(self._context.reader, runs.get_run(self._context.db, layer[0]), *layer[1:])

    def _receive(self, layer: _Layer, found: "Proposals") -> None:
        self._pending, self._found[layer] = None, found
        self._changed()

    def _fail(self) -> None:
        self._pending, self._asked = None, False
        self._changed()


def _try(work: Callable[[], list[str]]) -> list[str] | str:
    """Return names, or the sentence that says why there are none."""
    try:
        return work()
    except NamingError as error:
        return str(error)
