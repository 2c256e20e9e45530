"""What comes back, on a phone and in both themes: from the list of runs to a topic and back; axe finds nothing."""

import re
from importlib import resources

import pytest
import seed_samples
from playwright.sync_api import expect

AXE = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(each =>
  `${each.id}: ${each.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(" ; ")}`))"""


@pytest.mark.nightly
@pytest.mark.parametrize(("side", "width"), [("light", 1400), ("dark", 400)])
def test_from_a_group_of_runs_to_what_comes_back_and_to_a_topic(share_server, new_page, wait_until_quiet, side, width):
    pytest.importorskip("axe_playwright_python")
    server, page = share_server(seed_samples.add_group), new_page(side, width=width, height=900)
    page.goto(f"{server.url}?page=runs")
    page.get_by_role("button", name="What comes back of run 1").click()
    expect(page.get_by_role("heading", name="What comes back")).to_be_visible()
    expect(page.get_by_text("Layer 1: agreement")).to_be_visible()
    expect(page).to_have_url(re.compile(r"page=seeds&run=1"))
    topic = page.locator('li[data-key="L1:4"]')
    expect(topic).to_contain_text("3 of 4")
    wait_until_quiet(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    assert page.evaluate(AXE) == []
    topic.get_by_role("button").click()
    back = page.get_by_role("button", name="Found by 3 of 4 other seeds")
    back.click()
    expect(page.get_by_text("Layer 1: agreement")).to_be_visible()
