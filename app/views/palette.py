"""Colours of the tree for screens and for paper: those of Figure 7 (orange, blue and black) and some more.

Every layer has its own colour and its own style of border, so that no information is in colour alone.
"""

from typing import NamedTuple


class Border(NamedTuple):
    """The outline of a layer's boxes: stroke width, dash pattern, and a second line inside."""

    width: float
    dash: str
    double: bool


class PictureTheme(NamedTuple):
    """The colours of a picture; ``layers[0]`` is the colour of layer 1.

    Topics speak for a class or against it in ``speaks`` and ``denies``; ``changes`` are the colours of edges that
    were gained, lost, became stronger, became weaker, stayed (the first two are also those of words that entered and
    left).  ``lowers`` is the colour of edges to a topic that its parent makes rarer; such edges are also dashed.
    """

    paper: str
    box: str
    ink: str
    muted: str
    layers: tuple[str, ...]
    speaks: str
    denies: str
    changes: tuple[str, str, str, str, str]
    lowers: str


# The same names as explore.css defines, so that the picture in the page follows its theme.
LIVE = PictureTheme(
    "none",
    "var(--tp-card)",
    "var(--tp-ink)",
    "var(--tp-muted)",
    tuple(f"var(--tp-layer-{layer})" for layer in range(1, 7)),
    "var(--tp-speaks)",
    "var(--tp-denies)",
    ("var(--cm-gained)", "var(--cm-lost)", "var(--cm-stronger)", "var(--cm-weaker)", "var(--cm-same)"),
    "var(--tp-lowers)",
)
LIGHT = PictureTheme(
    "#ffffff",
    "#ffffff",
    "#14181c",
    "#5a636d",
    ("#22282e", "#0069a8", "#b85a00", "#a84a86", "#00785a", "#5b5bd6"),
    "#a85400",
    "#00629b",
    ("#0069a8", "#b84f00", "#00785a", "#9a6000", "#8a939b"),
    "#b3261e",
)
RARER_DASHES = "7 5"  # dashes of an edge to a topic that its parent makes rarer

_BORDERS = (
    Border(1.3, "", double=False),
    Border(2.2, "", double=False),
    Border(1.3, "", double=True),
    Border(2.0, "9 4", double=False),
    Border(2.2, "2.5 3", double=False),
    Border(2.0, "12 3 3 3", double=False),
)


def find_layer_colour(theme: PictureTheme, layer: int) -> str:
    """Return the colour of a layer, counted from 1; layers beyond the palette start again."""
    return theme.layers[(layer - 1) % len(theme.layers)]


def find_layer_border(layer: int) -> Border:
    """Return the border of a layer, counted from 1."""
    return _BORDERS[(layer - 1) % len(_BORDERS)]


def declare_hue(layer: int) -> str:
    """Return the CSS declaration that colours a piece of HTML after its layer."""
    return f"--hue:{find_layer_colour(LIVE, layer)}"
