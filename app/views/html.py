"""HTML from the templates in ``assets/templates``: a file for each board, a macro for each part of it.

Values are escaped where they are written, unless they are `Markup` or the template says ``|safe`` of what another view
has drawn.
"""

import operator
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from markupsafe import Markup, escape

from topiary.app import names
from topiary.app.machine import find_asset
from topiary.app.views import markup, text
from topiary.app.views.theme import declare_hue

_WIDEST = 14  # letters of the longest word that fits into a column
_BREAK = re.compile(r"\s*\n\s*")


class _LineLoader(FileSystemLoader):
    """Reads templates whose line breaks and indentation are for people, and do not come into the page."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, name, is_current = super().get_source(environment, template)
        return join_lines(source), name, is_current


def join_lines(source: str) -> str:
    """Return a template on one line: a line break is a blank in text and within a tag, and nothing elsewhere."""
    return _BREAK.sub(_replace_break, source.strip())


def _replace_break(line_break: re.Match[str]) -> str:
    """Return nothing next to a tag, a block or between two values; elsewhere a blank."""
    source, begin, end = line_break.string, line_break.start(), line_break.end()
    is_adjacent = source.endswith((">", "%}", "#}"), 0, begin) or source.startswith(("<", "{%", "{#"), end)
    between = source.endswith("}}", 0, begin) and source.startswith("{{", end)
    return "" if is_adjacent or between else " "


class _PlainCode(CodeGenerator):
    """Makes Python of a template that reads attributes and calls functions as Python does: in half the time."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802 - the name of Jinja2
        self.write("(")
        self.visit(node.node, frame)
        self.write(f").{node.attr}")

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: FBT001, FBT002, N802
        self.write("environment.call(")
        self.visit(node.node, frame)
        self.signature(node, frame, {"caller": "caller"} if forward_caller else None)
        self.write(")")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ARG002
        self.write("environment.write(")


class _PlainEnvironment(Environment):
    """The environment of the templates."""

    code_generator_class = _PlainCode
    call: Callable[..., Any] = operator.call

    @staticmethod
    def write(value: Any) -> str:
        """Return a value as a page has it."""
        kind = type(value)
        if kind is int or kind is Markup or (kind is str and value.isalnum()):
            return str(value)
        return escape(value)


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
    from topiary.app.analysis.hierarchy import REASONS, format_identity
    from topiary.app.analysis.notes import sign_note
    from topiary.app.analysis.topic_images import draw_atom_uri
    from topiary.engine.hierarchy.titles import SHOWN, TWIN
    from topiary.engine.hierarchy.topics import TRADE
    from topiary.engine.lens.typical import LISTED

    environment = _PlainEnvironment(
        autoescape=True, undefined=StrictUndefined, loader=_LineLoader(find_asset("templates")), auto_reload=False
    )
    environment.filters |= {
        "change": text.format_change,
        "commas": "{:,}".format,
        "condition": markup.name_condition,
        "hue": declare_hue,
        "identity": format_identity,
        "is_wide": lambda value: any(len(part) > _WIDEST for part in re.split(r"[\s-]+", value)),
        "minus": lambda value: f"{value:.2f}".replace("-", "−"),
        "percent": text.format_percent,
        "points": text.format_points,
        "perplexity": text.format_perplexity,
        "ratio": text.format_ratio,
        "rate": text.format_rate,
        "sign_note": sign_note,
        "shorten": text.shorten,
        "signed": names.format_signed,
        "state_name": names.name_state,
        "sentence": text.end_sentence,
        "whole_sentence": text.write_sentence,
        "weight": text.format_weight,
    }
    environment.globals |= {
        "INTERVAL": names.INTERVAL,
        "LISTED": LISTED,
        "MOVING": names.MOVING,
        "REASONS": REASONS,
        "SHOWN": SHOWN,
        "TRADE": TRADE,
        "TWIN": TWIN,
        "UNDATED": names.UNDATED,
        "UNIT": names.UNIT,
        "WEIGH": names.WEIGH,
        "atom": draw_atom_uri,
        "choice": _mark(markup.draw_choice),
        "plural": names.plural,
        "tip": text.describe_origin,
        "icon": _mark(markup.draw_icon),
        "marked": _mark(markup.mark_places),
        "options": _mark(markup.draw_options),
        "select": _mark(markup.draw_select),
        "state": _mark(markup.draw_state),
        "edited_mark": _mark(markup.mark_edited),
        "term": _mark(markup.draw_term),
        "topic_title": _mark(markup.draw_title),
    }
    return environment


def _mark(draw: Callable[..., str]) -> Callable[..., Markup]:
    """Return a function that draws HTML as one whose result a template does not escape."""
    return lambda *values, **named: Markup(draw(*values, **named))  # noqa: S704 - it is HTML, escaped by `draw`
