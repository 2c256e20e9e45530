"""No page has a finding of axe, the checker of accessibility, on either side."""

import os
from importlib import resources
from importlib.util import find_spec

import garden
import pytest

from store.database import open_database

HOW = "no axe: pip install axe-playwright-python (it is among the packages of the extra 'test')"
PAGES = {
    "runs": "page=runs&run=1",
    "new run": "page=runs&tab=new",
    "add documents": "page=runs&tab=add",
    "watch": "page=watch&run=1",
    "explore": "page=explore&run=1&layer=1&topic=2",
    "compare": "page=compare&run=2&partner=1&layer=1&topic=2",
    "documents": "page=documents&run=1",
    "guide": "page=guide",
}
FOUND = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(each =>
  `${each.id}: ${each.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(" ; ")}`))"""


@pytest.fixture(scope="module")
def axe():
    """The text of the checker; skips, or fails under TOPIARY_REQUIRE_ALL=1, with a sentence how to get it."""
    if find_spec("axe_playwright_python") is None:
        if os.environ.get("TOPIARY_REQUIRE_ALL") == "1":
            pytest.fail(HOW)
        pytest.skip(HOW)
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("side", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(start_server, planted, new_page, axe, side):
    db = open_database(planted)
    row = garden.begin(db, 1, "second", fork=1)
    garden.advance(db, row, 10)
    db.close()
    server, page = start_server(planted), new_page(side)
    findings = {}
    for name, query in PAGES.items():
        page.goto(f"{server.url}?{query}")
        page.get_by_role("navigation", name="Pages").wait_for()
        page.wait_for_timeout(3000)  # curves and trees are drawn
        page.evaluate(axe)
        found = page.evaluate(FOUND)
        if found:
            findings[name] = found
    assert findings == {}
