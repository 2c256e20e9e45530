"""Pruned topics in a browser: shown when asked for, reached by keys, chosen, and found again by the link."""

import garden
import numpy as np
import pytest

from store import events, runs, snapshots
from store.database import open_database


@pytest.fixture
def url(store_url, start_server):
    """Address of a server with a run that has pruned topic 3 of layer 2."""
    db = open_database(store_url)
    row = garden.begin(db, garden.corpus(db).number)
    snapshots.append_snapshot(db, row.number, row.attempt, 100, 5.0, garden.arrays(1))
    report, change = "layer 2 from 4 to 3 topics, without L2:3", events.StructureChange(2, (3,), 4, 3)
    events.append_event(db, row.number, row.attempt, 200, "pruned", report, change)
    after, keep = garden.arrays(1), [0, 1, 3]
    kept = {"phi.1": after["phi.1"][:, keep], "phi.2": after["phi.2"][keep] / after["phi.2"][keep].sum(axis=0)}
    names = {"names.0": np.arange(8), "names.1": np.array(keep), "names.2": np.arange(2)}
    docs = {name: after[name][keep] for name in ("step.1", "top_documents.1", "top_weights.1")}
    snapshots.append_snapshot(db, row.number, row.attempt, 210, 10.0, after | kept | names | docs)
    runs.finish_run(db, row.number, row.attempt, "finished")
    db.close()
    return start_server(store_url).url


def test_a_pruned_topic_is_shown_when_asked_for_reached_by_keys_chosen_and_found_again(url, page):
    page.goto(f"{url}?page=explore&run=1&threshold=0.5")
    page.locator(".tp-node").first.wait_for()
    topics = page.locator(".tp-node").count()
    assert page.locator(".tp-pruned").count() == 0
    page.get_by_role("button", name="1 pruned topic").click()
    pruned_box = page.get_by_role("treeitem", name="Pruned topic L2:3 of layer 2, no longer in the tree")
    pruned_box.wait_for()
    assert page.locator(".tp-node").count() == topics + 1
    page.wait_for_url("**pruned=shown**")

    walked = page.locator(".tp-node[aria-level='2']").evaluate_all(
        "all => { all.sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x);"
        " const at = all.findIndex(each => each.classList.contains('tp-pruned')); all[at - 1].focus(); return at }"
    )
    assert walked > 0
    page.keyboard.press("ArrowRight")
    assert pruned_box.evaluate("each => each.getRootNode().activeElement === each")
    page.keyboard.press("Enter")
    page.locator(".ex-gone", has_text="Pruned at mini-batch 200").wait_for()
    page.get_by_role("heading", name="Its words are now in").wait_for()
    page.wait_for_function("each => each.getAttribute('aria-selected') === 'true'", arg=pruned_box.element_handle())
    page.wait_for_url("**layer=2&topic=3**")

    pruned_box.hover()
    kin = (pruned_box.get_attribute("data-kin") or "").split()
    assert kin
    lit = page.locator(".tp-node.tp-lit").evaluate_all("all => all.map(each => each.dataset.id)")
    assert sorted(lit) == sorted([*kin, "L2:3"])
    assert page.locator(".tp-wake.tp-lit").count() == len(kin)

    page.reload()
    pruned_box.wait_for()
    page.locator(".ex-gone", has_text="Pruned at mini-batch 200").wait_for()
    page.get_by_role("button", name="1 pruned topic").click()
    page.locator(".tp-pruned").wait_for(state="detached")
    assert page.locator(".tp-node").count() == topics
