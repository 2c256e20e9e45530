"""The weights of the topics of a tree for one class: as numbers, relative to the largest, and in words."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.names import format_signed
from topiary.engine.hierarchy.tree import Node


class ClassOverlay(NamedTuple):
    """The weights of the topics of a hierarchy for one class.

    Attributes
    ----------
    label : int
        The number of the class, counted from 0.
    most : float
        The largest weight, of either sign, of any topic for any class.
    """

    hierarchy: Hierarchy
    label: int
    name: str
    most: float

    def weight(self, node: Node) -> float:
        """Return the weight of a topic for the class, less the mean over classes."""
        return self.hierarchy.opinion(node, self.label)

    def part(self, node: Node) -> float:
        """Return the weight of a topic divided by the largest weight, -1 to 1."""
        return self.weight(node) / self.most if self.most > 0 else 0.0

    def words(self, node: Node) -> str:
        """Return the weight of a topic in words."""
        weight = self.weight(node)
        verb = "speaks for" if weight > 0 else "speaks against" if weight < 0 else "is silent about"
        return f"{verb} {self.name} ({format_signed(weight)})"


def find_class_overlay(hierarchy: Hierarchy, label: int) -> ClassOverlay | None:
    """Return the overlay of class ``label``, counted from 1; None if there is no such class."""
    if not 1 <= label <= len(hierarchy.classes):
        return None
    largest = max(float(abs(layer).max()) for layer in hierarchy.class_weights)
    return ClassOverlay(hierarchy, label - 1, hierarchy.classes[label - 1], largest)


def find_class(classes: Sequence[str], name: str) -> int:
    """Return the number of a class, counted from 1, by its name, ignoring case if that leaves only one.

    Raises
    ------
    LookupError
        If there is no such class.
    """
    if not classes:
        raise LookupError("no topic speaks for a class here: class weights come with sDATM, on documents with labels")
    matches = [index for index, other in enumerate(classes) if other.casefold() == name.casefold()]
    index = classes.index(name) if name in classes else matches[0] if len(matches) == 1 else -1
    if index < 0:
        raise LookupError(f"there is no class {name!r}; the classes are {', '.join(classes)}")
    return index + 1
