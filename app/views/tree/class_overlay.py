"""The weights of one class on the topics of a tree: a number each, its sign, and its size relative to the largest."""

from collections.abc import Sequence
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy
from engine.hierarchy.tree import Node


class ClassOverlay(NamedTuple):
    """One class over a hierarchy.

    Attributes
    ----------
    name : str
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
        """Return the weight divided by the largest, -1 to 1."""
        return self.weight(node) / self.most if self.most > 0 else 0.0

    def words(self, node: Node) -> str:
        """Return the weight of a topic in words."""
        weight = self.weight(node)
        verb = "speaks for" if weight > 0 else "speaks against" if weight < 0 else "is silent about"
        return f"{verb} {self.name} ({format_signed(weight)})"


def find_class_overlay(hierarchy: Hierarchy, label: int) -> ClassOverlay | None:
    """Return the overlay of class ``label``, counted from 1; None without such a class."""
    if not 1 <= label <= len(hierarchy.classes):
        return None
    most = max(float(abs(layer).max()) for layer in hierarchy.class_weights)
    return ClassOverlay(hierarchy, label - 1, hierarchy.classes[label - 1], most)


def find_class(classes: Sequence[str], name: str) -> int:
    """Return the number of a class, counted from 1, by its name, ignoring case if that leaves only one.

    Raises
    ------
    LookupError
        When there is no such class.
    """
    if not classes:
        raise LookupError("no topic speaks for a class here: class weights come with sDATM, on documents with labels")
    alike = [place for place, other in enumerate(classes) if other.casefold() == name.casefold()]
    place = classes.index(name) if name in classes else alike[0] if len(alike) == 1 else -1
    if place < 0:
        raise LookupError(f"there is no class {name!r}; the classes are {', '.join(classes)}")
    return place + 1


def format_signed(value: float) -> str:
    """Return a number with its sign and a typographic minus; no sign for one that rounds to zero."""
    if abs(value) < 0.005:
        return "0.00"
    return f"{value:+.2f}".replace("-", "−")
