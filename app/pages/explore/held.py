"""The topic that is selected stays in the tree while training goes on."""

from app.analysis.hierarchy import Hierarchy
from app.views.tree.picture import Choice, cut
from engine.hierarchy.tree import Node


def with_topic(hierarchy: Hierarchy, choice: Choice, node: Node) -> Choice:
    """Choose a topic's nearest ancestors as roots too, or itself, if it would not be drawn.

    What is folded or hidden stays so.
    """
    line = [node]
    while choice.direction == "down" and (parents := hierarchy.parents(line[0], 1)):
        line.insert(0, parents[0].node)
    for each in line:
        drawn = cut(hierarchy, choice)[0].nodes
        if node in drawn:
            return choice
        if each not in drawn and each not in choice.without:
            choice = choice._replace(roots=(*choice.roots, each))
    if node not in cut(hierarchy, choice)[0].nodes:
        choice = choice._replace(roots=(*choice.roots, node))
    return choice


class Held:
    """A topic that was in the picture when a newer snapshot came, and is kept in it."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self._known: tuple[Hierarchy, Choice, Choice] | None = None

    def hold(self, node: Node | None) -> None:
        """Keep this topic in the picture; None keeps none."""
        self._node, self._known = node, None

    def choice(self, hierarchy: Hierarchy, choice: Choice) -> Choice:
        """What is shown with the topic in it; the same choice when it is there anyway, or gone."""
        if self._node is None or not hierarchy.has(self._node):
            return choice
        if self._known is None or self._known[0] is not hierarchy or self._known[1] != choice:
            self._known = (hierarchy, choice, with_topic(hierarchy, choice, self._node))
        return self._known[2]
