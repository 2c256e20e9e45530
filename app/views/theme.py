"""The look of Topiary: colours, fonts, the skeleton of the page, and the colours of topic trees, also on paper.

Colours of series and layers are fixed hues that are visible in both themes (Okabe-Ito, slightly adjusted), and never
carry information alone: dashes and marks do too.  Everything else is a CSS variable ``--tp-*`` that differs between
the light and the dark theme; the variables are in ``assets/css/tokens.css``.

Trees have the paper's orange, blue and black (Figure 7), and some more colours.  Every layer has its own colour and its
own style of border, so that nothing depends on colour alone.
"""

import hashlib
import json
from functools import cache
from typing import Any, NamedTuple

from topiary.app.machine import find_asset, make_asset_url

FONT = '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
SERIES = ("#0B9B74", "#E08E00", "#3D94D1", "#C8699C", "#D5602B", "#7F8C86")
DASHES = ("solid", "dashed", "dotdash", "dotted", "dashdot", [8, 3, 2, 3])
# Style sheets that components adopt.
STYLES = "styles"  # the path below which the server sends the shared style sheets
SHARED_STYLES = (
    "board",
    "menu",
    "film",
    "explore",
    "compare",
    "documents",
    "classes",
    "seeds",
    "trends",
    "document_map",
    "steer",
    "waiting",
)
LAYERS = ("#7F8C86", "#2E8BC9", "#E08E00", "#C8699C", "#0B9B74", "#8A7BD1")  # 1 grey ink, 2 blue, 3 orange ...
GAMMA_R = "#D5602B"  # the weights r above the top layer
MARK = "#7F8C86"  # lines at moments of a run; readable in both themes

_PALETTES: dict[str, dict[str, str]] = {
    "light": {"primary": "#1B5E47", "ground": "#F5F4EE", "card": "#FFFFFF", "ink": "#18241E", "muted": "#5A6861"},
    "dark": {"primary": "#62C79C", "ground": "#0F1512", "card": "#161E1A", "ink": "#E6ECE8", "muted": "#9AA9A1"},
}


def pick_layer_colour(layer: int) -> str:
    """Return the colour of ``layer`` (from 1); colours repeat after six layers, with other dashes."""
    return LAYERS[(layer - 1) % len(LAYERS)]


def make_theme_config() -> dict[str, Any]:
    """Return the Material theme, light and dark, for ``panel_material_ui.Page``."""
    return {name: _make_theme(name) for name in _PALETTES}


def _make_theme(name: str) -> dict[str, Any]:
    colours = _PALETTES[name]
    line = "#E1E2D9" if name == "light" else "#28332D"
    bar = "linear-gradient(100deg,#123F31,#1B5742)" if name == "light" else "linear-gradient(100deg,#0B1310,#12211B)"
    return {
        "palette": {
            "primary": {"main": colours["primary"]},
            "background": {"default": colours["ground"], "paper": colours["card"]},
            "text": {"primary": colours["ink"], "secondary": colours["muted"]},
            "divider": line,
        },
        "typography": {"fontFamily": FONT, "fontSize": 13},
        "shape": {"borderRadius": 10},
        "components": {
            "MuiTypography": {"styleOverrides": {"h5": {"display": "none"}}},  # the page's own title, which is empty
            "MuiAppBar": {"styleOverrides": {"root": {"background": bar, "color": "#F2F7F4", "boxShadow": "none"}}},
            "MuiToolbar": {
                "styleOverrides": {
                    "root": {
                        "minHeight": "56px !important",
                        "padding": "0 16px !important",
                        "& > .MuiBox-root": {"minWidth": 0},  # cut a long name rather than push other items off the bar
                        "@media (max-width: 760px)": _TWO_LINE_BAR,
                    }
                }
            },
        },
    }


class FigureLook(NamedTuple):
    """The properties of a figure, of its axes, and of its grid."""

    figure: dict[str, Any]
    axis: dict[str, Any]
    grid: dict[str, Any]


@cache
def make_figure_look(*, dark: bool) -> FigureLook:
    """Return the properties that the Material theme would set on a figure, so that the browser changes nothing."""
    colours = _PALETTES["dark" if dark else "light"]
    line, grid = (
        ("rgba(255, 255, 255, 0.28)", "rgba(255, 255, 255, 0.12)")
        if dark
        else ("rgba(0, 0, 0, 0.22)", "rgba(0, 0, 0, 0.1)")
    )
    lines = ("axis_line", "major_tick_line", "minor_tick_line")
    axis = {f"{name}_color": line for name in lines} | {f"{name}_alpha": 0 for name in lines}
    labels = {"text_font": FONT, "text_font_style": "normal"}
    axis |= {f"major_label_{name}": value for name, value in labels.items()}
    axis |= {f"axis_label_{name}": value for name, value in labels.items()}
    axis |= {"major_label_text_color": colours["muted"], "major_label_text_font_size": "0.925em"}
    axis |= {"axis_label_text_color": colours["ink"], "axis_label_text_font_size": "1em", "axis_label_standoff": 12}
    ground = {"background_fill_color": colours["card"], "border_fill_color": colours["card"]}
    return FigureLook(ground | {"outline_line_color": None}, axis, {"grid_line_color": grid, "grid_line_alpha": 1})


# On a phone the bar has a second line with the state of the run; the toolbar below the fixed bar is equally high.
_TWO_LINE_BAR = {"minHeight": "90px !important", "padding": "8px 12px 0 !important", "alignItems": "flex-start"}

CARD = """:host(.tp-card) { background: var(--tp-card); border: 1px solid var(--tp-line); border-radius: 16px;
  padding: 16px 18px 8px; box-shadow: var(--tp-shadow); box-sizing: border-box; }"""
PAGE = """:host(.tp-page) { max-width: 1480px; margin: 0 auto !important; padding: 22px 24px 48px;
  box-sizing: border-box;
  display: flex; flex-direction: column; gap: 18px; width: 100%; }
@media (max-width: 640px) { :host(.tp-page) { padding: 14px 12px 90px; } }"""


@cache
def read_style(name: str) -> str:
    """Return the text of the style sheet ``name``."""
    return find_asset(f"css/{name}.css").read_text(encoding="utf-8")


class PackedStyles(NamedTuple):
    """The shared style sheets and ``js/page.js`` as one script, which browsers keep, and its address."""

    address: str
    text: str


@cache
def pack_styles() -> PackedStyles:
    """Return the script, which defines the style sheets' texts by name, and its address, which changes with it."""
    styles = json.dumps({name: read_style(name) for name in SHARED_STYLES})
    text = f"const topiary_styles = {styles}\n{_read_script('page')}"
    return PackedStyles(f"{STYLES}/{hashlib.sha256(text.encode()).hexdigest()[:16]}", text)


class PageStart(NamedTuple):
    """The beginning of every page: fonts, colours, and a skeleton that is shown until the page is ready.

    It is the same for all sessions, so that a browser has it before its session is built.  The scripts, which keep a
    browser busy, follow once it has painted this.

    Attributes
    ----------
    scripts : tuple of str
        Addresses of BokehJS and of its extensions, which run in this order.
    modules, sheets : tuples of str
        Addresses of the scripts and the style sheets that every page needs; they are preloaded in parallel.
    """

    scripts: tuple[str, ...]
    modules: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()

    def draw(self, nonce: str, *, dark: bool, styled: bool = False) -> str:
        """Return the HTML with the nonce of the answer; ``styled`` is for a browser that has no style sheets yet.

        It need not wait for them then, while the server builds the session, to show what follows.
        """
        return self._draw(styled).replace(_NONCE, nonce).replace(_SIDE, "dark" if dark else "light")

    def draw_scripts(self, nonce: str) -> str:
        """Return the scripts that run before a session's document comes."""
        bokeh, *extensions = self.scripts
        lines = (_link_script(bokeh), _embed_script(_read_script("plugins")), *map(_link_script, extensions))
        return "\n".join(lines).replace(_NONCE, nonce)

    @cache  # noqa: B019 - there is one of them
    def _draw(self, styled: bool) -> str:  # noqa: FBT001 - part of the cache's key
        fonts = {name: make_asset_url(find_asset(f"fonts/{name}.woff2")) for name in ("inter", "fraunces")}
        tokens, styles = read_style("tokens"), pack_styles()
        for name, address in fonts.items():
            tokens = tokens.replace(f"topiary/fonts/{name}.woff2", address)
        lines = (
            f'<!DOCTYPE html><html lang="en" data-tp="{_SIDE}" data-theme-managed="true"><head><meta charset="utf-8">',
            "<title>Topiary</title>",
            '<meta name="viewport" content="width=device-width, initial-scale=1.0">',
            f'<link rel="icon" href="{make_asset_url(find_asset("icons/topiary.svg"))}">',
            f'<link rel="{"prefetch" if styled else "preload"}" href="{styles.address}" as="script">',
            f'<link rel="preload" href="{fonts["inter"]}" as="font" type="font/woff2" crossorigin>',
            *(f'<link rel="modulepreload" href="{module}">' for module in self.modules),
            *(f'<link rel="preload" href="{script}" as="script">' for script in self.scripts),
            *(f'<link rel="preload" href="{sheet}" as="style">' for sheet in self.sheets),
            f"<style>{_DOCUMENT}{tokens}</style></head><body>",
            _SKELETON,
            _embed_script(_read_script("load_again")),
            _embed_script(styles.text) if styled else _link_script(styles.address),
        )
        return "\n".join(lines)


_NONCE, _SIDE = "NONCE-OF-THE-ANSWER", "SIDE-OF-THE-VISITOR"
# What Material expects of a page.
_DOCUMENT = """html, body { display: flow-root; box-sizing: border-box; height: 100%; margin: 0; padding: 0;
  font: var(--mui-font-body1); }
.tp-root { display: contents; }
"""


def _link_script(address: str) -> str:
    return f'<script nonce="{_NONCE}" src="{address}"></script>'


def _embed_script(text: str) -> str:
    return f'<script nonce="{_NONCE}">{text}</script>'


def _read_script(name: str) -> str:
    return find_asset(f"js/{name}.js").read_text(encoding="utf-8")


_SKELETON = """
<div id="tp-skeleton" aria-busy="true">
  <div class="tp-sk-bar"><b>Topiary</b></div>
  <div class="tp-sk-body"><i></i><i></i><p>Opening the view …</p></div>
</div>
"""


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
