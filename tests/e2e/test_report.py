"""A report in a browser: it is short, asks for nothing, can be read, and is printed with all that it folds."""

from importlib import resources

import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.passages import TopicPassage
from topiary.app.machine import find_asset
from topiary.app.views.report import ReportContents, ReportTopic, draw_report
from topiary.app.views.report_trends import ReportTrends
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.opening import choose_main_roots
from topiary.app.views.tree.picture import TreeChoice, draw_tree

SCREEN = 900  # pixels of its height
FOLDED = """() => [...document.querySelectorAll("details")]
  .filter(each => !each.lastElementChild.checkVisibility({contentVisibilityAuto: true})).length"""
SMALL = """() => [...document.querySelectorAll("body *")]
  .filter(each => each.checkVisibility({contentVisibilityAuto: true})
    && [...each.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.textContent.trim())
    && (each.getScreenCTM?.().a ?? 1) * parseFloat(getComputedStyle(each).fontSize) < 11.95)
  .map(each => each.textContent)"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A report on 32, 16 and 8 topics with three quotations of the usual length for each."""
    hierarchy = make_hierarchy((32, 16, 8), n_words=400)
    text = "The members of the council agreed on the price of coffee, and on the quotas of each country. " * 5
    quotes = [TopicPassage(number, f"The title of document {number}", text, [(4, 11)], 1.0) for number in range(3)]
    nodes = [node for layer in (3, 2, 1) for node in hierarchy.nodes(layer)]
    contents = ReportContents(
        title="What “coffee” is about", lead="3,000 documents with 240,000 words.", hierarchy=hierarchy,
        topics=[ReportTopic(node, quotes) for node in nodes], apart=(), facts={"Model": "DLDA"}, document_notes={},
        tree=draw_tree(hierarchy, TreeChoice(choose_main_roots(hierarchy, hierarchy.edges(1.0))), theme=LIGHT).svg,
        trends=ReportTrends(), refinements={},
    )  # fmt: skip
    written = tmp_path_factory.mktemp("report") / "report.html"
    style = find_asset("css/report.css").read_text(encoding="utf-8")
    written.write_text(draw_report(contents, style), encoding="utf-8")
    return written


def test_a_report_on_56_topics_is_short_begins_with_the_picture_and_is_printed_whole(chromium, path):
    pytest.importorskip("axe_playwright_python")
    page = chromium.new_page(viewport={"width": 1400, "height": SCREEN}, bypass_csp=True)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 11 * SCREEN  # and one for what grew and shrank
    assert page.evaluate("document.querySelector('.tp-tiles').getBoundingClientRect().bottom") < SCREEN + 60
    assert page.evaluate(SMALL) == []
    assert page.evaluate(FOLDED) == 58
    page.locator("nav a", has_text="Layer 1").click()
    assert page.evaluate("document.querySelector('#layer-1').getBoundingClientRect().top") == pytest.approx(0, abs=2)
    page.locator("#tree summary").click()
    assert page.evaluate(SMALL) == []
    page.add_script_tag(content=resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    assert page.evaluate("axe.run(document).then(found => found.violations.map(each => each.id))") == []
    page.emulate_media(media="print")
    assert page.evaluate(FOLDED) == 0
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator(".rp-bars").is_visible()
    assert page.evaluate(SMALL) == []
    assert asked == [path.as_uri()]
    page.close()
