"""Where the labels and captions of the map are: none covers another one, and no label covers a circle.

All sizes are in units of the picture.  There is a set of labels for each zoom level: the nearer one looks, the smaller
the letters, relative to the picture, and the more of them find a place.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.views.text import BOLD, measure_text
from topiary.engine.contract import FloatArray

BoolArray: TypeAlias = NDArray[np.bool_]
LEADING = 1.15  # distance of the lines of a label, relative to its letters
_GAP = 4.0  # between a circle and its label
_MOVES = 9, 4.5  # positions of a caption across and down, and how far it moves, relative to its letters
_DISTANCE_COST = 0.35  # of a caption's distance from its centre, relative to what it covers of circles
_WORD_COST = 2.5  # of each word that a caption lacks, relative to its letters
_COUNTS = (1, 2, 2, 3, 3, 3)  # parts of each way of `list_lines`

# places of a label around a circle: the direction from the centre of the circle to the label
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, -0.7), (0.7, 0.7), (-0.7, -0.7), (-0.7, 0.7))


class Circles(NamedTuple):
    """The circles of the map: centres (K, 2), radii (K,), and the width and height of the picture."""

    centres: FloatArray
    radii: FloatArray
    size: tuple[float, float]


class PlacedText(NamedTuple):
    """Lines of a label or caption, the size of its letters, and its box (left, top, right, bottom)."""

    lines: tuple[str, ...]
    size: float
    box: FloatArray

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of the box."""
        left, top, right, bottom = self.box.tolist()
        return (left + right) / 2, (top + bottom) / 2


def list_lines(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the ways of writing the first one, two or three parts of a title, the shortest first.

    What lacks a part ends with an ellipsis.

    >>> list_lines(["film,", "award"])
    [('film…',), ('film, award',), ('film,', 'award')]
    """
    ways: list[tuple[str, ...]] = [_end(words[:1], cut=len(words) > 1)]
    if len(words) > 1:
        two = _end(words[:2], cut=len(words) > 2)
        ways += [(" ".join(two),), two]
    if len(words) > 2:
        ways += [(" ".join(words[:3]),), (" ".join(words[:2]), words[2]), tuple(words[:3])]
    return ways


def _end(words: Sequence[str], *, cut: bool) -> tuple[str, ...]:
    return (*words[:-1], f"{words[-1].rstrip(',')}…") if cut else tuple(words)


def place_labels(
    words: Sequence[Sequence[str]], circles: Circles, sizes: Sequence[float], captions: Sequence[Sequence[PlacedText]]
) -> list[dict[int, PlacedText]]:
    """Place the labels of circles at each zoom level.

    Every circle gets one word if there is a place for it, the first circles first; then labels get more words where
    there is room.  A label that is there at one level stays at the next nearer one, unless a caption takes its place.

    Parameters
    ----------
    words : sequence of sequences of str
        The parts of the title of each circle, at most three, the most important circle first.
    sizes : sequence of float
        The size of letters at each level, the nearest level (with the smallest letters) first.
    captions : sequence of sequences of PlacedText
        The captions at each level, which labels do not cover.

    Returns
    -------
    list of dict of int to PlacedText
        At each level, the labels of the circles that have one.
    """
    levels: list[dict[int, PlacedText]] = []
    before: dict[int, tuple[int, int]] = {}
    for size, taken in zip(reversed(sizes), reversed(captions), strict=True):
        labels, before = _place_level(words, circles, size, taken, before)
        levels.insert(0, labels)
    return levels


def _place_level(
    words: Sequence[Sequence[str]],
    circles: Circles,
    size: float,
    captions: Sequence[PlacedText],
    before: dict[int, tuple[int, int]],
) -> tuple[dict[int, PlacedText], dict[int, tuple[int, int]]]:
    """Return the labels of a level, and the (way, side) of each; ``before`` are those of the level farther away."""
    n_captions = len(captions)
    boxes = np.zeros((n_captions + len(words), 4))  # empty ones cover nothing
    boxes[:n_captions] = [caption.box for caption in captions] or np.zeros((0, 4))
    ways = [list_lines(each) for each in words]
    candidates = [_list_boxes(each, circles, number, size) for number, each in enumerate(ways)]
    free = [~_covers_circle(each, circles) & _is_inside(each, circles.size) for each in candidates]
    chosen: dict[int, tuple[int, int]] = {}
    for number, choice in before.items():  # letters are smaller now, so these do not cover each other
        at = n_captions + number
        box = candidates[number][choice]
        if free[number][choice] and not _overlap(box[None], boxes).any():
            chosen[number], boxes[at] = choice, box
    for most in (1, 2, 3):
        for number in range(len(words)):
            if most > 1 and number not in chosen:
                continue
            at = n_captions + number
            own, boxes[at] = boxes[at].copy(), 0.0
            open_places = free[number] & ~_overlap(candidates[number].reshape(-1, 4), boxes).reshape(free[number].shape)
            found = _choose_place(open_places, most, chosen.get(number))
            boxes[at] = own
            if found is not None:
                chosen[number], boxes[at] = found, candidates[number][found]
    labels = {number: PlacedText(ways[number][way], size, candidates[number][way, side])
              for number, (way, side) in sorted(chosen.items())}  # fmt: skip
    return labels, chosen


def _choose_place(is_free: BoolArray, most: int, now: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the (way, side) with ``most`` words that is free, at the side of ``now`` if possible; None for none."""
    sides = list(range(len(_SIDES)))
    if now is not None:
        if _COUNTS[now[0]] >= most:
            return None
        sides = sorted(sides, key=lambda side: side != now[1])
    fitting = [way for way, count in enumerate(_COUNTS[: len(is_free)]) if count == most]
    return next(((way, side) for side, way in product(sides, fitting) if is_free[way, side]), None)


def _list_boxes(ways: Sequence[tuple[str, ...]], circles: Circles, number: int, size: float) -> FloatArray:
    """Return the boxes (ways, sides, 4) of a circle's label in all ways of writing it, at all its sides."""
    half = np.array([_measure_lines(lines, size) for lines in ways])[:, None] / 2  # (ways, 1, 2)
    sides = np.array(_SIDES)
    edges = circles.centres[number] + sides * (circles.radii[number] + _GAP)
    middles = edges + np.sign(sides) * half
    return np.concatenate([middles - half, middles + half], axis=2)


def _measure_lines(lines: Sequence[str], size: float, weight: float = 1.0) -> tuple[float, float]:
    return weight * size * max(map(measure_text, lines), default=0.0), size * LEADING * len(lines)


def place_captions(
    titles: Sequence[Sequence[str]], centres: FloatArray, circles: Circles, size: float
) -> list[PlacedText | None]:
    """Place captions in bold letters of one size near their centres, the first ones first; None for lack of room.

    A caption covers no other one, and as little of the circles as possible.
    """
    placed: list[PlacedText | None] = []
    for words, centre in zip(titles, centres, strict=True):
        taken = np.array([each.box for each in placed if each is not None]).reshape(-1, 4)
        placed.append(_place_caption(words, centre, circles, size, taken))
    return placed


def _place_caption(
    words: Sequence[str], centre: FloatArray, circles: Circles, size: float, taken: FloatArray
) -> PlacedText | None:
    ways, steps = list_lines(words), np.linspace(-1.0, 1.0, _MOVES[0])
    half = np.array([_measure_lines(lines, size, BOLD) for lines in ways])[:, None] / 2  # (ways, 1, 2)
    moves = np.array(list(product(steps, steps))) * (half + _MOVES[1] * size)  # (ways, positions, 2)
    boxes = np.concatenate([centre + moves - half, centre + moves + half], axis=2)
    open_places = _is_inside(boxes, circles.size) & ~_overlap(boxes.reshape(-1, 4), taken).reshape(boxes.shape[:2])
    if not open_places.any():
        return None
    lacking = max(_COUNTS[: len(ways)]) - np.array(_COUNTS[: len(ways)])
    cost = np.maximum(circles.radii - _measure_distances(boxes, circles), 0.0).sum(axis=2)
    cost += _DISTANCE_COST * np.linalg.norm(moves, axis=2) + _WORD_COST * size * lacking[:, None]
    way, position = np.unravel_index(np.argmin(np.where(open_places, cost, np.inf)), cost.shape)
    return PlacedText(ways[way], size, boxes[way, position])


def _measure_distances(boxes: FloatArray, circles: Circles) -> FloatArray:
    """Return the distances (..., K) of boxes from the centres of the circles; 0 inside a box."""
    low, high = boxes[..., None, :2], boxes[..., None, 2:]
    away = np.maximum(np.maximum(low - circles.centres, circles.centres - high), 0.0)
    distances: FloatArray = np.sqrt((away**2).sum(axis=-1))
    return distances


def _covers_circle(boxes: FloatArray, circles: Circles) -> BoolArray:
    covers: BoolArray = np.logical_or.reduce(_measure_distances(boxes, circles) < circles.radii, axis=-1)
    return covers


def _is_inside(boxes: FloatArray, size: tuple[float, float]) -> BoolArray:
    inside = np.concatenate([boxes[..., :2] >= 0, boxes[..., 2:] <= np.array(size)], axis=-1)
    all_inside: BoolArray = np.logical_and.reduce(inside, axis=-1)
    return all_inside


def _overlap(boxes: FloatArray, taken: FloatArray) -> BoolArray:
    """Return for each of the boxes (n, 4) whether it overlaps any of those that are taken (m, 4)."""
    meets = (boxes[:, None, :2] < taken[None, :, 2:]) & (taken[None, :, :2] < boxes[:, None, 2:])
    overlap: BoolArray = np.logical_or.reduce(np.logical_and.reduce(meets, axis=2), axis=1)
    return overlap
