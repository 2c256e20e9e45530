"""Colours of topic trees for screens and for paper: the paper's orange, blue and black (Figure 7), and some more.

Every layer has its own colour and its own style of border, so that nothing depends on colour alone.
"""

from typing import NamedTuple


class Border(NamedTuple):
    """The outline of a layer's boxes: stroke width, dash pattern, and whether there is a second line inside."""

    width: float
    dash: str
    double: bool


class PictureTheme(NamedTuple):
    """The colours of a picture; ``layers[0]`` is the colour of layer 1.

    ``speaks`` marks topics that speak for a class, ``denies`` those that speak against it.  ``changes`` are the colours
    of edges that were gained, lost, became stronger, became weaker or stayed the same, in this order; the first two
    are also the colours of words that entered and left.  ``lowers`` is the colour of edges to a topic that its parent
    makes rarer; such edges are also dashed.  ``hues`` tell the parents on the map apart, together with their captions.
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
    hues: tuple[str, ...]


# The custom properties of explore.css, so that a picture in the page follows the theme of the page.
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
    tuple(f"var(--tp-hue-{hue})" for hue in range(1, 8)),
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
    ("#0069a8", "#b07d00", "#00785a", "#c94f00", "#b0568f", "#3a90c8", "#7a1f4f"),
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
    """Return the colour of a layer, counted from 1; the colours repeat after the last one."""
    return theme.layers[(layer - 1) % len(theme.layers)]


def find_layer_border(layer: int) -> Border:
    """Return the border of a layer, counted from 1; the borders repeat after the last one."""
    return _BORDERS[(layer - 1) % len(_BORDERS)]


def declare_hue(layer: int) -> str:
    """Return the CSS declaration that gives an HTML element the colour of its layer."""
    return f"--hue:{find_layer_colour(LIVE, layer)}"
