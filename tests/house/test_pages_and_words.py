"""What people read: README, guide and pages; no link leads nowhere, and no page asks anybody else for anything."""

import ast
import os
import re
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests import readme_picture
from tests.samples.sources import ROOT, nodes, sources
from topiary.app.cli.main import build_parser
from topiary.app.pages.guide import list_chapters, render_chapter
from topiary.engine import models, settings

GUIDE = ROOT / "assets" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
README = ROOT / "README.md"
ADDRESS = re.compile(r"(?:https?:|wss?:)?//[\w.-]+\.[a-z]{2,}", re.IGNORECASE)
NAMES = re.compile(
    r"https?://www\.w3\.org/(?:2000/svg|1999/xlink|1999/xhtml)"
)  # names of languages; nobody fetches them
CDN = re.compile(r"googleapis|gstatic|jsdelivr|unpkg|cdnjs|esm\.sh|cdn\.(?:holoviz|bokeh|pydata)")


def addresses(text: str) -> list[str]:
    """Outside addresses in a text."""
    return ADDRESS.findall(NAMES.sub("", text))


@cache
def render(path: Path) -> str:
    """A page of Markdown as HTML."""
    return MarkdownIt("commonmark").enable("table").render(path.read_text(encoding="utf-8"))


def links(path: Path) -> list[str]:
    """Where the links and pictures of a page of Markdown lead."""
    return re.findall(r'(?:href|src)="([^"]+)"', render(path))


def code_lines(path: Path) -> list[str]:
    """The lines of the code blocks of a page."""
    blocks = re.findall(r"```\w*\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("kind", ["*.js", "*.css", "*.svg", "*.html"])
def test_no_style_script_or_picture_names_another_machine(kind):
    assert {
        path.name: found
        for path in (ROOT / "assets").rglob(kind)
        if (found := addresses(path.read_text(encoding="utf-8")))
    } == {}


def test_no_module_names_another_machine_outside_its_docstrings():
    named = {}
    for source in sources("app"):
        prose = {id(node.value) for node in nodes(source) if isinstance(node, ast.Expr)}
        for node in nodes(source):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                found = [each for each in addresses(node.value) if "127.0.0.1" not in each] + CDN.findall(node.value)
                if found:
                    named.setdefault(source.path, []).extend(found)
    assert named == {}


def test_the_rule_about_addresses_notices_a_font_from_elsewhere():
    assert addresses('@import url("https://fonts.googleapis.com/css?family=Inter")') == ["https://fonts.googleapis.com"]
    assert addresses("<script src='//cdn.jsdelivr.net/x.js'>") == ["//cdn.jsdelivr.net"]
    assert addresses('xmlns="http://www.w3.org/2000/svg"') == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_guide_page_loads_nothing_from_elsewhere(page):
    assert re.findall(r"<(?:img|script|iframe|link)[^>]*//", render(page)) == []


def test_every_guide_page_is_in_one_group_with_a_title_of_its_own():
    chapters = [each for group in list_chapters().values() for each in group.items()]
    assert sorted(name for name, _ in chapters) == sorted(page.stem for page in PAGES)
    assert len({title for _, title in chapters}) == len(PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_guide_page_can_be_drawn_and_begins_with_its_heading(page):
    assert render_chapter(page.stem).startswith("<h1>")


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_every_link_inside_the_project_leads_somewhere(page):
    inside = [link for link in links(page) if not re.match(r"[a-z]+:|\?|#", link)]
    assert [link for link in inside if not (page.parent / link.partition("#")[0]).exists()] == []


def test_every_command_is_told_of_in_the_guide():
    guide = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    (commands,) = (action for action in build_parser()._actions if action.dest == "command")
    assert [name for name in commands.choices if f"topiary {name}" not in guide] == []


def test_every_command_in_readme_and_guide_exists():
    (commands,) = (action for action in build_parser()._actions if action.dest == "command")
    report = [
        (page.name, found)
        for page in (README, *PAGES)
        for line in code_lines(page)
        for found in re.findall(r"^topiary (\w+)", line)
    ]
    assert report
    assert [each for each in report if each[1] not in commands.choices] == []


def test_every_example_line_of_the_readme_is_understood():
    lines = [line.partition("  #")[0].split()[1:] for line in code_lines(README) if line.startswith("topiary ")]
    assert lines
    for words in lines:
        build_parser().parse_args(words)


@pytest.mark.parametrize("name", models.list_names())
def test_every_setting_of_a_model_is_told_of_in_the_guide(name):
    report = (GUIDE / "models.md").read_text(encoding="utf-8")
    described = settings.describe(models.load(name).Config)
    assert [about.name for about in described if f"`{about.name}`" not in report] == []


def test_the_guide_says_which_settings_of_datm_its_supervised_form_lacks():
    (report,) = re.findall(r"^All others as in DATM.*", (GUIDE / "models.md").read_text(encoding="utf-8"), re.MULTILINE)
    datm, sdatm = ({each.name for each in settings.describe(models.load(name).Config)} for name in ("datm", "sdatm"))
    assert set(re.findall(r"`(\w+)`", report)) == datm - sdatm


def test_ci_runs_the_test_line_of_the_readme_to_the_letter():
    (line,) = (line for line in code_lines(README) if "pytest" in line)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert script[-1] == line


@pytest.mark.skipif(os.name == "nt", reason="Windows files have no executable bit")
def test_ci_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_readme_opens_with_what_topiary_is_and_a_picture_of_it():
    title, _, sentence, _, picture = README.read_text(encoding="utf-8").splitlines()[:5]
    assert title == "# Topiary"
    assert sentence.startswith("Topiary ")
    assert picture.startswith("![")
    assert "](assets/" in picture


def test_the_picture_of_the_readme_shows_the_top_layer_and_what_it_is_made_of():
    facts = readme_picture.read_facts()
    assert facts["layers"] == 2
    assert facts["tiles"] > 12
    assert facts["curves"] > 1  # a run by sweeps has no step sizes
