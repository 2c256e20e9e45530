"""HTML from the templates in ``assets/templates``: a file for each board, a macro for each part of it.

Values are escaped where they are written, unless they are `Markup` or the template says ``|safe`` of what another view
has drawn.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from topiary.app import names
from topiary.app.machine import find_asset
from topiary.app.views import markup, run_facts, text
from topiary.app.views.palette import declare_hue

_BREAK = re.compile(r"\s*\n\s*")


class _LineLoader(FileSystemLoader):
    """Reads templates whose line breaks and indentation are for people, and do not come into the page."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, name, is_current = super().get_source(environment, template)
        return _BREAK.sub(_join_lines, source.strip()), name, is_current


def _join_lines(line_break: re.Match[str]) -> str:
    """Return nothing next to a tag, a block or between two values; elsewhere a blank, as in text and in a tag."""
    source, begin, end = line_break.string, line_break.start(), line_break.end()
    beside = source.endswith((">", "%}", "#}"), 0, begin) or source.startswith(("<", "{%", "{#"), end)
    between = source.endswith("}}", 0, begin) and source.startswith("{{", end)
    return "" if beside or between else " "


def render(part: str, /, *values: Any, **named: Any) -> str:
    """Return a part of a board as HTML.

    Parameters
    ----------
    part : str
        The board and the macro: ``notices.failure`` is the macro ``failure`` of ``notices.html``.
    *values, **named
        What the macro is called with.
    """
    board, _, macro = part.partition(".")
    return text.replace_unprintable(str(getattr(_load_board(board), macro)(*values, **named)))


@cache
def _load_board(board: str) -> Any:
    return _make_environment().get_template(f"{board}.html").module


@cache
def _make_environment() -> Environment:
    # Forms are drawn without these, which load the compiler.
    from topiary.app.analysis.hierarchy import format_identity
    from topiary.app.analysis.notes import sign_note
    from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
    from topiary.engine.lens import UNITS

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=_LineLoader(find_asset("templates")), auto_reload=False
    )
    environment.filters |= {
        "change": text.format_change,
        "commas": "{:,}".format,
        "condition": markup.name_condition,
        "hue": declare_hue,
        "identity": format_identity,
        "percent": text.format_percent,
        "perplexity": run_facts.format_perplexity,
        "rate": run_facts.format_rate,
        "sign_note": sign_note,
        "shorten": text.shorten,
        "signed": names.format_signed,
        "sentence": text.end_sentence,
        "weight": text.format_weight,
    }
    environment.globals |= {
        "MOVING": names.MOVING.items(),
        "UNDATED": names.UNDATED,
        "UNITS": UNITS,
        "atom": draw_atom_uri,
        "has_pictures": has_pictures,
        "plural": names.plural,
        "tip": text.describe_origin,
        "attributes": _mark(markup.write_attributes),
        "icon": _mark(markup.draw_icon),
        "marked": _mark(markup.mark_places),
        "options": _mark(markup.draw_options),
        "select": _mark(markup.draw_select),
        "state": _mark(markup.draw_state),
        "topic_title": _mark(markup.draw_title),
    }
    return environment


def _mark(draw: Callable[..., str]) -> Callable[..., Markup]:
    """Return a function that draws HTML as one whose result a template does not escape."""
    return lambda *values, **named: Markup(draw(*values, **named))  # noqa: S704 - it is HTML, escaped by `draw`
