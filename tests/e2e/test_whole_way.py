"""The whole way: a file of documents becomes a corpus, a run survives SIGKILL, and a browser explores its topics."""

import json
import re
from typing import Any, NamedTuple

import networkx as nx
import pytest
from addresses import says
from orchard import DOCUMENTS, MARKUP, SUBJECTS, TITLES, Topiary, kill, wait_for, write_collection

from topiary.store import checkpoints
from topiary.store.database import open_database

LAYERS = (12, 6, 3)
MINIBATCHES = 600
SMALL = ("--layers", "12-6-3", "--set", "batch_size=60", "--set", "burn_in=4", "--set", "collect=3", "--threads", 1)
TREE = """nodes => nodes.map(node =>
    [node.dataset.id, node.getAttribute("aria-expanded"), node.getAttribute("aria-selected")])"""
CARDS = """cards => cards.map(card => [card.dataset.key, card.querySelector(".ex-rank").textContent,
    card.querySelector(".ex-words").textContent.trim().split(/\\s+/)])"""

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]


class Grown(NamedTuple):
    """A store with a corpus and two equal runs: one killed and resumed, one left alone."""

    topiary: Topiary
    killed: int
    whole: int


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Grown:
    """Import, train in the background, kill the worker, resume; beside it the same run undisturbed."""
    topiary = Topiary(tmp_path_factory.mktemp("whole-way"))
    path = write_collection(topiary.folder / "collection.csv")
    topiary("import", path, "--stop-words", "none", "--token-pattern", r"\S+", "--name", "orchard")
    killed = int(train(topiary, 1))
    db = open_database(topiary.store)
    row = wait_for(db, killed, lambda row: row.minibatch >= 40)
    assert row.state == "running", "the run was over before it could be killed"
    kill(db, killed)
    assert topiary.read("show", killed)["state"] == "silent"
    whole = int(train(topiary, 1))
    topiary("resume", killed, "--wait")
    wait_for(db, whole, lambda row: row.state == "finished")
    db.close()
    return Grown(topiary, killed, whole)


def train(topiary: Topiary, seed: int, minibatches: int = MINIBATCHES) -> str:
    """Order a small run; gives its number as printed."""
    return topiary("train", "orchard", "--model", "dlda", *SMALL, "--minibatches", minibatches, "--seed", seed)


@pytest.fixture
def url(grown, start_server) -> str:
    """Address of a server on the store."""
    return start_server(grown.topiary.store).url


# --------------------------------------------------------- without a browser


def test_a_run_killed_and_resumed_has_the_bits_of_one_left_alone(grown):
    db = open_database(grown.topiary.store, readonly=True)
    kept = [checkpoints.load_checkpoint(db, run) for run in (grown.killed, grown.whole)]
    db.close()
    assert kept[0].minibatch == kept[1].minibatch == MINIBATCHES
    assert kept[0].arrays.keys() == kept[1].arrays.keys()
    assert [name for name, array in kept[0].arrays.items() if array.tobytes() != kept[1].arrays[name].tobytes()] == []
    shown = [grown.topiary.read("show", run) for run in (grown.killed, grown.whole)]
    assert shown[0]["attempt"] > shown[1]["attempt"] == 1
    assert shown[0]["point_perplexity"] == shown[1]["point_perplexity"]


def test_the_planted_subjects_come_back_as_topics(grown):
    found = [set(row["words"][:6]) for row in grown.topiary.read("topics", grown.killed, "--layer", 1)]
    assert {name for name, words in SUBJECTS.items() if any(top <= set(words) for top in found)} == set(SUBJECTS)


def test_a_command_tells_all_about_a_run(grown):
    facts = grown.topiary.read("show", grown.killed)
    assert facts["state"] == "finished"
    assert (facts["model"], facts["inference"], tuple(facts["layers"])) == ("dlda", "auto", LAYERS)
    assert facts["minibatch"] == MINIBATCHES
    assert 1 < facts["point_perplexity"] < len(SUBJECTS) * 8
    assert facts["averaged_perplexity"] is None
    assert facts["seconds"] > 0
    assert facts["tokens_per_second"] > 0
    (corpus,) = grown.topiary.read("corpora")
    assert (corpus["documents"], corpus["labels"]) == (DOCUMENTS, len(SUBJECTS))
    assert corpus["train_documents"] == 228, "a twentieth of the 240 of the file is for validation"


# ---------------------------------------------------------------- a browser


def explore(page: Any, url: str, run: int, more: str = "") -> None:
    """Open the explorer and wait for its tree."""
    page.goto(f"{url}?page=explore&run={run}&picture=tree&tab=list{more}")
    page.locator(".tp-node").first.wait_for()


def tree(page: Any) -> list[list[str | None]]:
    """Every node of the tree on screen: identity, whether it is open, whether it is chosen."""
    return sorted(page.locator(".tp-node").evaluate_all(TREE), key=str)


def seen(page: Any) -> dict[str, Any]:
    """The view as a visitor sees it: tree, roots and threshold."""
    return {
        "tree": tree(page),
        "roots": page.locator(".ex-shares [aria-current] button").evaluate_all("all => all.map(one => one.dataset.id)"),
        "threshold": page.locator(".ex-tau output").text_content(),
        "topic": page.locator(".ex-detail").get_attribute("data-key"),
    }


def choose_a_view(page: Any) -> dict[str, Any]:
    """Pick a root of the top layer, lower tau, fold a topic and open it again, choose a child."""
    page.get_by_role("tab", name="Layer 3").click()
    card = page.locator(".ex-card").nth(1)
    root = card.get_attribute("data-key")
    card.locator(".ex-topic").click()
    page.locator(".ex-detail").and_(page.locator(f"[data-key='{root}']")).wait_for()
    page.get_by_role("button", name="Open its tree").click()
    page.wait_for_url(lambda url: f"roots={root}" in url)
    page.get_by_role("button", name="View", exact=True).click()
    page.get_by_role("button", name="As in the paper").click()
    page.get_by_label("Threshold tau").fill("0.5")
    page.wait_for_url("**threshold=0.5**")
    page.locator(".ex-tau output").get_by_text("0.5", exact=True).wait_for()
    page.keyboard.press("Escape")
    top = page.locator(f".tp-node[data-id='{root}']")
    page.locator(".tp-node[data-id^='L1:']").first.wait_for()
    whole = len(tree(page))
    top.locator(".tp-toggle").click()
    page.locator(f".tp-node[data-id='{root}'][aria-expanded='false']").wait_for()
    assert [node[0] for node in tree(page)] == [root]
    top.locator(".tp-toggle").click()
    page.locator(f".tp-node[data-id='{root}'][aria-expanded='true']").wait_for()
    assert len(tree(page)) == whole
    name = page.locator(".tp-node[data-id^='L2:']").first.get_attribute("data-id")
    child = page.locator(f".tp-node[data-id='{name}']")
    child.locator(".tp-toggle").click()
    page.locator(f".tp-node[data-id='{name}'][aria-expanded='false']").wait_for()
    child.click(position={"x": 12, "y": 12})
    page.locator(f".tp-node[data-id='{name}'][aria-selected='true']").wait_for()
    page.locator(f".ex-detail[data-key='{name}']").wait_for()
    view = seen(page)
    assert view["roots"] == [root]
    assert view["threshold"] == "0.5"
    assert view["topic"] == name
    assert [name, "false", "true"] in view["tree"]
    return view


def come_back(page: Any, view: dict[str, Any]) -> dict[str, Any]:
    """The view on screen once it has as many nodes as before."""
    page.locator(f".tp-node[data-id='{view['topic']}'][aria-selected='true']").wait_for()
    page.locator(f".ex-detail[data-key='{view['topic']}']").wait_for()
    return seen(page)


def test_a_view_is_found_again_after_reload_in_another_browser_and_by_going_back(grown, url, page, new_page):
    explore(page, url, grown.killed)
    view = choose_a_view(page)
    address = page.url
    page.reload()
    assert come_back(page, view) == view
    assert page.url == address
    other = new_page()
    other.goto(address)
    assert come_back(other, view) == view
    page.get_by_role("link", name="Watch").click()
    page.wait_for_url("**page=watch**")
    page.go_back()
    assert come_back(page, view) == view


def test_moving_tau_changes_the_edges_as_the_definition_says(grown, url, page, tmp_path):
    explore(page, url, grown.killed, "&roots=L3:1&threshold=0.5")
    page.get_by_role("button", name="View", exact=True).click()
    for threshold in ("1", "2.5"):
        page.get_by_label("Threshold tau").fill(threshold)
        page.wait_for_url(says(threshold=threshold))
        page.locator(".ex-tau output").get_by_text(threshold, exact=True).wait_for()
        shown = page.locator(".tp-edge").evaluate_all("edges => edges.map(e => [e.dataset.from, e.dataset.to])")
        path = tmp_path / f"tree-{threshold}.json"
        grown.topiary("tree", grown.killed, "--topic", "L3:1", "--threshold", threshold, "--output", path)
        graph = nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")
        assert sorted(map(tuple, shown)) == sorted(graph.edges)
        for parent, _, weight in graph.edges(data="weight"):
            below = LAYERS[graph.nodes[parent]["layer"] - 2]
            assert weight > float(threshold) / below


def test_the_view_comes_back_when_the_server_was_killed_under_the_open_page(grown, start_process, page):
    first = start_process(grown.topiary.store)
    explore(page, first.url, grown.killed)
    view = choose_a_view(page)
    address, port = page.url, first.port
    first.kill()
    page.get_by_text("The server is not answering").wait_for()
    start_process(grown.topiary.store, port)
    page.get_by_text("The server is not answering").wait_for(state="detached")
    assert come_back(page, view) == view
    assert page.url == address


def test_every_topic_has_the_same_numbers_in_the_page_the_command_and_the_files(grown, url, page, tmp_path):
    explore(page, url, grown.killed)
    listed = grown.topiary.read("topics", grown.killed)
    assert [sum(row["layer"] == layer for row in listed) for layer in (1, 2, 3)] == list(LAYERS)
    for layer in (1, 2, 3):
        page.get_by_role("tab", name=f"Layer {layer}").click()
        page.locator(f".ex-card[data-key^='L{layer}:']").first.wait_for()
        hidden = page.locator(".ex-light[aria-pressed='false']")
        if hidden.count():
            hidden.click()
            hidden.wait_for(state="detached")
        cards = page.locator(".ex-card").evaluate_all(CARDS)
        rows = [row for row in listed if row["layer"] == layer]
        assert [card[:2] for card in cards] == [[row["topic"]] * 2 for row in rows]
        assert [card[2] for card in cards] == [words_of_the_card(row) for row in rows]
        assert [row["rank"] for row in rows] == list(range(1, LAYERS[layer - 1] + 1))
        assert [row["share"] for row in rows] == sorted((row["share"] for row in rows), reverse=True)
    report = {row["topic"]: (row["rank"], row["share"], row["title"], " ".join(row["words"])) for row in listed}
    assert exported(grown, tmp_path) == report


def words_of_the_card(row: dict[str, Any]) -> list[str]:
    """The title, and after it the seven heaviest words that are not in it."""
    return [*row["title"].split(), *[word for word in row["words"] if word not in row["title"].split(", ")][:7]]


def exported(grown: Grown, folder: Any) -> dict[str, tuple[int, float, str, str]]:
    """Rank, share, title and words of every topic, as the graph files of all trees say, which must agree."""
    found: dict[str, tuple[int, float, str, str]] = {}
    for column in range(1, LAYERS[-1] + 1):
        for form in ("json", "graphml"):
            path = folder / f"tree-{column}.{form}"
            topic = f"L3:{column}"
            grown.topiary("tree", grown.killed, "--topic", topic, "--threshold", 0, "--light", "--output", path)
            graph = (
                nx.read_graphml(path)
                if form == "graphml"
                else nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")
            )
            for name, about in graph.nodes(data=True):
                assert name == about["topic"]
                report = (about["rank"], about["share"], about["title"], about["words"])
                assert found.setdefault(name, report) == report
    return found


def test_what_looks_like_markup_or_a_missing_value_is_shown_as_text(grown, url, page):
    rows = grown.topiary.read("topics", grown.killed, "--layer", 1)
    hostile = max(rows, key=lambda row: len(set(row["words"][:8]) & set(SUBJECTS["hostile"])))
    key = hostile["topic"]
    explore(page, url, grown.killed, f"&layer=1&topic={key.removeprefix('L1:')}&roots={key}&tab=layer")
    detail = page.locator(f".ex-detail[data-key='{key}']")
    detail.locator(".ex-three button").nth(2).wait_for()
    shown = detail.inner_text()
    assert [word for word in SUBJECTS["hostile"] if word not in shown] == []
    assert [title for title in TITLES if title in shown] != []
    assert detail.locator("script, img").count() == 0
    page.get_by_label("Search words, topic names and documents").fill("title")
    page.get_by_text(MARKUP.partition(">")[0]).first.wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator(".tp-node").first.get_attribute("data-id") == key


def test_five_open_tabs_through_a_whole_run_cost_the_worker_nothing(grown, url, new_page):
    pages = [new_page() for _ in range(5)]
    names = ("explore", "watch", "runs", "explore", "watch")
    for page, name in zip(pages, names, strict=True):
        page.goto(f"{url}?page={name}&run={grown.whole}")
    run = int(train(grown.topiary, 2, 900))
    for page, name in zip(pages, names, strict=True):
        page.goto(f"{url}?page={name}&run={run}")
    db = open_database(grown.topiary.store)
    row = wait_for(db, run, lambda row: row.state == "finished")
    db.close()
    assert row.attempt == 1
    assert row.minibatch == 900
    assert "locked" not in grown.topiary.logs().lower()
    assert "Traceback" not in grown.topiary.logs()
    pages[0].locator(".tp-node").first.wait_for(timeout=120_000)  # five pages at once, on a machine that may be busy
    pages[1].get_by_text(re.compile(r"(sweep|mini-batch|step) 900")).first.wait_for()
    pages[2].get_by_text("finished").first.wait_for()
