"""No page has a finding of axe, the checker of accessibility, on either side, nor speaks in names of the code."""

import os
import re
from importlib import resources
from importlib.util import find_spec

import class_samples
import garden
import numpy as np
import pytest
from trend_samples import DOCUMENTS, plant_map, plant_refinement

from topiary.store import runs, snapshots
from topiary.store.database import open_database

HOW = "no axe: pip install axe-playwright-python (it is among the packages of the extra 'test')"
PAGES = {
    "runs": "page=runs&run=1",
    "new run": "page=runs&tab=new",
    "add documents": "page=runs&tab=add",
    "watch": "page=watch&run=1",
    "explore": "page=explore&run=1&layer=1&topic=2&tab=list-more",
    "steer": "page=steer&run=1&layer=1&topic=2",
    "compare": "page=compare&run=2&partner=1&layer=1&topic=2",
    "documents": "page=documents&run=1",
    "document": "page=documents&run=1&documents=3",
    "topics of a text": "page=documents&run=1&tab=topics",
    "guide": "page=guide",
    "map of topics": "page=explore&run=3&topic=2",
    "watch of a failed run": "page=watch&run=4",
    "classes": "page=classes&run=5&threshold=1",
    "paths of a class": "page=classes&run=5&label=2&threshold=1",
    "topics over time": "page=trends&run=6&where=source%3Dherald",
    "topics by group": "page=trends&run=6&trend=groups",
    "word": "page=word&run=6&word=garden",
    "map of documents": "page=documents&run=6&tab=map",
    "documents chosen on the map": "page=documents&run=6&tab=map&where=L3:1%3Dstrongest",
    "refined topic": "page=explore&run=6&layer=3&topic=1&tab=more",
    "tree": "page=explore&run=1&picture=tree",
    "what comes back": "page=seeds&run=1",
}
ALWAYS = ("runs", "explore", "compare", "topics over time")  # the others, which have the parts of these, at night
READY = {  # what stands on a page when it shows what its name here says
    "steer": ".st-words li",
    "compare": 'h2:text("What changed")',
    "documents": ".dc-table .dc-chip",
    "document": ".dc-text mark",
    "map of topics": ".tp-node",
    "watch of a failed run": "text=out of memory",
    "classes": ".cl-heat",
    "paths of a class": ".cl-misled",
    "topics over time": ".tr-typical li",
    "topics by group": ".tr-heat",
    "word": ".tr-contexts",
    "map of documents": f".dm-stage[data-shown='{DOCUMENTS}']",
    "documents chosen on the map": ".dm-table tr[data-point]",
    "refined topic": ".ex-refined a",
}
TEXT = """() => {
  const found = []
  const walk = (root) => {
    for (const each of root.childNodes) {
      if (each.nodeType === Node.TEXT_NODE) { found.push(each.textContent) }
      if (each.nodeType !== Node.ELEMENT_NODE || ["STYLE", "SCRIPT", "PRE"].includes(each.nodeName)) { continue }
      for (const name of ["title", "aria-label", "placeholder", "data-tip"]) {
        if (each.getAttribute(name)) { found.push(each.getAttribute(name)) }
      }
      if (each.shadowRoot) { walk(each.shadowRoot) }
      walk(each)
    }
  }
  walk(document.body)
  return found
}"""
CODE = {
    "a name with an underscore": re.compile(r"\b(?!eps_|M_|phi_|[a-z]_\d|gamma_0)[A-Za-z]{2,}_[A-Za-z_]+\b"),
    "a flag of the command line": re.compile(r"(?<![\w-])--[a-z]"),
    "a value that is none": re.compile(r"\b(?:None|nan|NaN|null|undefined|inf|Infinity)\b"),
    "a name of a model in the code": re.compile(
        r"\b(?:lda-(?:gibbs|cavi|svi)|deep-exp-family|double-def)\b", re.IGNORECASE
    ),
    "a value of a choice in the code": re.compile(r"\b(?:tlasgr|tlfsgr|sgrld|sgnht|AUTO)\b"),
    "an error of Python": re.compile(r"Traceback|Error:|Exception\b"),
}
SETTING = re.compile(r"[a-z0-9_]+: ")
SPEAKING = ("runs", "watch", "explore", "compare", "documents", "what comes back")
DIALOGS = {"explore": "save-report", "topics over time": "save-table"}  # which are looked at too
MENUS = {"explore": "Save"}  # from which it is opened
FOUND = """rules => axe.run(document, {resultTypes: ["violations"], ...(rules ? {runOnly: rules} : {})})
  .then(found => found.violations.map(each =>
    `${each.id}: ${each.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(" ; ")}`))"""
COLOURS = ["color-contrast"]  # the rule that depends on the side


@pytest.fixture(scope="module")
def axe():
    """The text of the checker; skips, or fails under TOPIARY_REQUIRE_ALL=1, with a sentence how to get it."""
    if find_spec("axe_playwright_python") is None:
        if os.environ.get("TOPIARY_REQUIRE_ALL") == "1":
            pytest.fail(HOW)
        pytest.skip(HOW)
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def pages(planted):
    """The planted store with a fork, runs of one layer, that failed, that predicts classes, with a map and refined."""
    db = open_database(planted)
    garden.advance(db, garden.begin(db, 1, "second", fork=1), 10)
    flat = garden.begin(db, 1, "one layer", layers=(8,))
    whole = garden.arrays(3)
    one = {name: whole[name] for name in ("phi.0", "step.0", "top_documents.0", "top_weights.0")}
    snapshots.append_snapshot(db, flat.number, flat.attempt, 10, 0.5, one | {"r": np.linspace(2.0, 1.0, 8)})
    runs.finish_run(db, flat.number, flat.attempt, "finished")
    bad = garden.begin(db, 1, "too large")
    garden.advance(db, bad, 10, snapshot=True)
    runs.finish_run(db, bad.number, bad.attempt, "failed", "out of memory: use fewer topics", "Traceback: MemoryError")
    class_samples.predicted(db)
    refined = plant_map(db)
    plant_refinement(db, refined.number)
    db.close()
    return planted


@pytest.mark.parametrize(
    ("names", "both"),
    [(ALWAYS, False), pytest.param([*PAGES], True, marks=[pytest.mark.nightly, pytest.mark.timeout(900)])],
    ids=["always", "all, on both sides"],
)
def test_axe_finds_nothing_on_any_page_and_nothing_is_said_in_names_of_the_code(
    start_server, pages, page, wait_until_quiet, axe, names, both
):
    """Pages open light and dark in turn, and fit a phone; at night each is looked at for its colours on both sides."""
    server, side = start_server(pages), "light"
    findings, said = {}, {}
    for name in names:
        page.goto(f"{server.url}?{PAGES[name]}")
        page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        if name in READY:
            page.locator(READY[name]).first.wait_for()
        wait_until_quiet(page)
        page.evaluate(axe)
        found = page.evaluate(FOUND)
        if words := find_code_words(page, name):
            said[name] = words
        if name in DIALOGS:
            if name in MENUS:
                page.get_by_role("button", name=MENUS[name], exact=True).click()
                found += page.evaluate(FOUND)
            page.locator(f"[data-open={DIALOGS[name]}]").click()
            page.locator(f"#{DIALOGS[name]}").wait_for()
            found += page.evaluate(FOUND)
            page.keyboard.press("Escape")
        page.set_viewport_size({"width": 420, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= 420")
        page.set_viewport_size({"width": 1440, "height": 960})
        side = switch_sides(page, side)
        if both:
            wait_until_quiet(page)
            found += page.evaluate(FOUND, COLOURS)
        if found:
            findings[name] = found
    assert findings == {}
    assert said == {}


def switch_sides(page, side):
    """Choose the other side, and return it."""
    other = "dark" if side == "light" else "light"
    page.get_by_role("banner").locator(".MuiIconButton-root").click()
    page.wait_for_function("wanted => document.documentElement.dataset.tp === wanted", arg=other)
    return other


def find_code_words(page, name):
    """What a page says in names of the code; a page about an error may show its text."""
    found = []
    for text in page.evaluate(TEXT) if name in SPEAKING else ():
        if garden.NASTY in text or SETTING.match(text):
            continue  # a word of the corpus; the tip of a setting, which names it as commands do
        found += [(what, text[:120]) for what, words in CODE.items() if words.search(text)]
    return found


@pytest.mark.nightly
def test_axe_finds_nothing_on_any_page_that_opens_dark(start_server, pages, new_page, wait_until_quiet, axe):
    server, page = start_server(pages), new_page("dark")
    findings = {}
    for name, query in PAGES.items():
        page.goto(f"{server.url}?{query}")
        page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        if name in READY:
            page.locator(READY[name]).first.wait_for()
        wait_until_quiet(page)
        page.evaluate(axe)
        if found := page.evaluate(FOUND):
            findings[name] = found
    assert findings == {}
