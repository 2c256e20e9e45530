"""How templates become HTML: what is escaped, what line breaks mean, and that every macro is there and used."""

import html
import re

import pytest
from jinja2 import Environment
from sources import ROOT, sources

from topiary.app.machine import find_asset
from topiary.app.pages.guide import render_chapter
from topiary.app.views.html import join_lines, render
from topiary.app.views.markup import draw_term, explain_term, read_glossary

TEMPLATES = sorted((ROOT / "assets" / "templates").glob("*.html"))


def list_macros() -> dict[str, str]:
    """The boards in which each macro is defined, as ``board.macro``, each with its macro."""
    found = {}
    for path in TEMPLATES:
        for name in re.findall(r"\{%-? macro (\w+)\(", path.read_text(encoding="utf-8")):
            found[f"{path.stem}.{name}"] = name
    return found


def test_values_are_escaped_and_characters_that_xml_forbids_replaced() -> None:
    assert (
        render("macros.error", "<b>\x07'\"&") == '<p class="tp-error" role="alert">&lt;b&gt;\ufffd&#39;&#34;&amp;</p>'
    )


@pytest.mark.parametrize(
    ("source", "joined"),
    [
        ("<ul>\n  <li>a</li>\n</ul>", "<ul><li>a</li></ul>"),
        ("<p>one\n  two {{ n }}\n three</p>", "<p>one two {{ n }} three</p>"),
        ('<a href="x"\n   title="y">', '<a href="x" title="y">'),
        ("{{ a }}\n{{ b }}\n{% if c %}\n{{ d }}\n{% endif %}", "{{ a }}{{ b }}{% if c %}{{ d }}{% endif %}"),
    ],
)
def test_line_breaks_between_tags_are_not_in_the_page_and_those_in_text_are_blanks(source: str, joined: str) -> None:
    assert join_lines(source) == joined


def test_every_part_that_a_view_renders_is_a_macro_and_every_macro_is_used() -> None:
    macros = list_macros()
    rendered = {part for source in sources("app") for part in re.findall(r'"(\w+\.\w+)"', source.text)}
    used = {name for path in TEMPLATES for name in re.findall(r"(\w+)\(", uncover(path.read_text(encoding="utf-8")))}
    asked = {part for source in sources("app") for part in re.findall(r'render\(\s*"(\w+\.\w+)"', source.text)}
    assert asked - macros.keys() == set()
    assert {part for part, name in macros.items() if part not in rendered and name not in used} == set()


def uncover(text: str) -> str:
    """A template without the heads of its macros, and with the names that others have for them."""
    aliases = dict(reversed(pair) for pair in re.findall(r"(\w+) as (\w+)", text))
    bare = re.sub(r"\{%-? macro \w+", "", text)
    return re.sub(r"\b(\w+)\(", lambda call: f"{aliases.get(call[1], call[1])}(", bare)


def test_every_template_can_be_read() -> None:
    for path in TEMPLATES:
        Environment(autoescape=True).parse(find_asset(f"templates/{path.name}").read_text(encoding="utf-8"))


def test_a_term_is_explained_on_hover_and_focus_in_the_words_of_the_guide() -> None:
    guide = html.unescape(re.sub("<[^>]+>", "", render_chapter("glossary")))
    for name, meaning in read_glossary().items():
        assert name in guide
        assert all(part.rstrip(".") in guide for part in re.split(r"[(;,]", meaning)), f"the guide says other of {name}"
    drawn = draw_term("NPMI, layer 2", "The mean & more")
    assert drawn.startswith('<span class="tp-term" tabindex="0" title="NPMI: of a topic: how much more often its first')
    assert drawn.endswith(' of papers. The mean &amp; more.">NPMI, layer 2</span>')
    assert draw_term("Time <left>") == "Time &lt;left&gt;"


def test_every_label_that_a_template_gives_as_a_term_is_in_the_glossary() -> None:
    given = [
        name for path in TEMPLATES for name in re.findall(r'\bterm\("([^"]+)"\)', path.read_text(encoding="utf-8"))
    ]
    assert {"R-hat", "Tokens per second", "wanders"} <= {*given}
    assert [name for name in given if not explain_term(name)] == []
