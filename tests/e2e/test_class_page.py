"""A small run that learns from labels, in a real browser: its classes, the paths behind them, and what misled it."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from addresses import says
from orchard import DOCUMENTS, SUBJECTS, InnerTopiary, write_collection
from playwright.sync_api import expect

SMALL = ("batch_size=60", "burn_in=1", "collect=1", "kl_warm_up=20")
LABELS = ("classifier=linear", "label_start=20", "label_ramp=20")
SLOW = 60_000  # the first prediction on a machine compiles kernels
TEST_DOCUMENTS, MISLABELLED = DOCUMENTS // 5, 6

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> InnerTopiary:
    """Run 1 is DATM on documents of six subjects; run 2, forked from it, has learnt their labels too."""
    topiary = InnerTopiary(tmp_path_factory.mktemp("classes"))
    path = mislabelled(write_collection(topiary.folder / "collection.csv"))
    topiary("import", path, "--stop-words", "none", "--token-pattern", r"\S+", "--name", "orchard")
    datm = ("--model", "datm", "--layers", "8-4", *settings(SMALL), "--threads", 1)
    topiary("train", "orchard", *datm, "--minibatches", 40, "--wait")
    topiary("fork", 1, "--model", "sdatm", *settings(LABELS), "--minibatches", 150, "--threads", 1, "--wait")
    return topiary


def mislabelled(path: Path) -> Path:
    """The collection with some test documents that bear the label of another subject."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    names = list(SUBJECTS)
    for row in [row for row in rows if row[3] == "test"][:MISLABELLED]:
        row[2] = names[(names.index(row[2]) + 1) % len(names)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def settings(pairs: tuple[str, ...]) -> list[str]:
    """The settings of a model as options of a command."""
    return [word for pair in pairs for word in ("--set", pair)]


@pytest.fixture(scope="module")
def server(grown, serve) -> Any:
    """A server on the store, which the tests do not change."""
    return serve(grown.store)


@pytest.fixture
def opened(server, page) -> Any:
    """The classes page with its numbers."""
    page.on("dialog", lambda _: pytest.fail("a title of the collection was run as a script"))
    page.goto(f"{server.url}?page=classes&run=2&threshold=1")
    page.get_by_role("heading", name="Confusion").wait_for(timeout=SLOW)
    return page


def cells(page: Any) -> list[list[int]]:
    """The confusion table on screen; a pair that never came is a dot there."""
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".cl-heat tbody tr").all()]
    return [[int(text.replace("·", "0")) for text in row] for row in rows]


@pytest.fixture(scope="module")
def report(grown) -> Any:
    """What the command says of the classes."""
    return grown.read("classify", 2)


def test_the_numbers_on_the_page_are_those_of_the_command_and_beat_guessing(opened, report, server):
    table = cells(opened)
    assert table == report["confusion"]
    assert sum(map(sum, table)) == TEST_DOCUMENTS
    shown = opened.locator(".tp-kpi", has_text="Error").first.locator("b").inner_text()
    assert shown == f"{report['error']:.2%}"
    wrong = TEST_DOCUMENTS - sum(row[place] for place, row in enumerate(table))
    assert report["error"] == pytest.approx(wrong / TEST_DOCUMENTS)
    assert report["error"] < 0.5 * (1 - 1 / len(SUBJECTS))
    assert report["error"] >= MISLABELLED / TEST_DOCUMENTS * 0.99
    assert opened.get_by_role("region", name="Classes").locator("tbody tr").count() == len(SUBJECTS)
    assert server.complaints == []


def test_a_class_is_part_of_the_address_and_its_paths_lead_to_the_tinted_tree(opened, server):
    assert opened.get_by_text("the commonest in training (choose another above)").is_visible()
    opened.get_by_label("Class", exact=True).select_option(label="garden")
    opened.wait_for_url(re.compile(r"[?&]label=[1-9]"))
    opened.reload()
    opened.get_by_text("For garden:").wait_for(timeout=SLOW)
    opened.get_by_role("button", name="Show on the tree").click()
    opened.wait_for_url(re.compile(r"page=explore.*[?&]label=[1-9]"))
    opened.locator(".tp-node .tp-tint").first.wait_for()
    assert opened.get_by_label("Class", exact=True).locator("option:checked").inner_text() == "garden"
    tip = opened.locator(".tp-node").first.get_attribute("aria-label")
    assert re.search(r"speaks (for|against) garden \([+−]\d|is silent about garden", tip)
    opened.go_back()
    opened.get_by_text("For garden:").wait_for(timeout=SLOW)
    assert server.complaints == []


def test_what_misled_is_opened_with_the_words_of_its_path_marked(opened, report, server):
    assert len(report["misled"]) >= MISLABELLED - 1
    assert opened.locator(".cl-misled li").count() == len(report["misled"])
    opened.locator(".cl-misled li button").first.click()
    opened.wait_for_url(re.compile(r"page=documents.*documents=\d+.*trail=L2:\d+,L1:\d+"))
    opened.locator(".dc-document").wait_for(timeout=SLOW)
    opened.get_by_text("Predicted class").wait_for(timeout=SLOW)
    expect(opened.locator(".dc-paths .dc-choice, .dc-topics .dc-choice").first).to_be_visible()
    assert opened.evaluate("window.hacked") is None
    assert server.complaints == []


def test_a_fork_is_one_click_from_its_parent_and_shows_a_class_on_both_trees(server, page):
    page.goto(f"{server.url}?page=runs")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(says(page="compare", run=2, partner=1))
    page.get_by_role("button", name="View", exact=True).click(timeout=SLOW)
    page.get_by_role("button", name="Whole trees and all figures").click()
    page.locator(".cm-short").wait_for(timeout=SLOW)
    page.locator(".cm-tree-b .tp-node").first.wait_for()
    page.get_by_label("Class", exact=True).select_option(label="space")
    page.locator(".cm-tree-b .tp-tint").first.wait_for()
    assert page.locator(".cm-tree-a .tp-tint").count() == 0  # DATM knows no classes
    assert server.complaints == []
