"""Names proposed for the topic in the panel of Explore: phrases of its documents, and those of a language model."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.name_server import NameRequest, write_request
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.pages.topic_documents import TopicReading
from topiary.app.views.explore.detail import NameOffer
from topiary.engine.hierarchy.tree import Node

if TYPE_CHECKING:
    from topiary.app.analysis.topic_names import ProposedName

_Topic = tuple[int, int, Node]  # run, snapshot and topic


class _Phrases(TopicReading["tuple[ProposedName, ...]"]):
    """The phrases that are proposed for topics."""

    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> "tuple[ProposedName, ...]":  # noqa: ARG002
        from topiary.app.analysis.topic_names import propose_names  # loads SciPy

        return propose_names(self._context.reader, hierarchy, node.layer).get(node, ())


class NameProposer(MessagePart):
    """Proposes names once a visitor has asked for them; nothing is sent that was not shown before.

    Parameters
    ----------
    find : () -> Hierarchy or None
        Returns the topics on screen.
    changed : () -> None
        Draws the panel again.

    Attributes
    ----------
    is_used : bool
        Whether the visitor has asked for anything; until then every topic is offered the same.
    """

    def __init__(self, context: Context, find: Callable[[], Hierarchy | None], changed: Callable[[], None]) -> None:
        super().__init__(context)
        self._find, self._changed = find, changed
        self.is_used = self._asked = self._sending = False
        self._phrases = _Phrases(context)
        self._shown: tuple[_Topic, NameRequest] | None = None
        self._answers: dict[_Topic, list[str]] = {}

    def offer(self, hierarchy: Hierarchy, node: Node) -> NameOffer:
        """Return what the panel says of names for a topic."""
        topic, shown = (hierarchy.run, hierarchy.snapshot, node), self._shown
        phrases = self._phrases.of(hierarchy, node, self._changed) if self._asked else None
        request = shown[1] if shown is not None and shown[0] == topic else None
        answers = self._answers.get(topic, ())
        return NameOffer(self._asked, phrases, answers, self._context.names, request, self._sending)

    @on("propose-names")
    def _propose(self) -> None:
        self.is_used = self._asked = True
        self._changed()

    @on("name-request")
    def _prepare(self, topic: Node, value: str) -> None:
        """Show what would be sent for a topic: its words, with ``passages`` of its documents or without."""
        hierarchy, server = self._find(), self._context.names
        if hierarchy is not None and server is not None and hierarchy.has(topic):
            work = partial(write_request, server, self._context.reader, hierarchy, topic, passages=value == "passages")
            key = hierarchy.run, hierarchy.snapshot, topic
            self._context.later(work, lambda request: self._show((key, request)))

    @on("close-request")
    def _show(self, shown: tuple[_Topic, NameRequest] | None = None) -> None:
        self.is_used, self._shown = True, shown
        self._changed()

    @on("send-names")
    def _send(self, topic: Node) -> None:
        """Send what is shown of a topic."""
        if self._shown is None or self._shown[0][2] != topic or self._sending:
            return
        key, request = self._shown
        self._sending = True
        self._changed()
        work = partial(self._context.actions.ask_names, key[0], topic, request)
        self._context.aside(work, partial(self._take, key), self._end)

    def _take(self, topic: _Topic, names: list[str]) -> None:
        self._answers[topic], self._shown = names, None
        self._end()

    def _end(self) -> None:
        self._sending = False
        self._changed()
