"""How the pages answer at 500,000 documents while a run of 224 topics trains beside them, in a real browser.

A corpus of 500,000 short documents with their texts is made in a new store, and a run of 128-64-32 topics trains on it
with all processors.  Chromium clicks, changes pages, searches, and opens Watch of a run with 280,000 points; then
twenty sessions click at once.  Times are the page's own clock, from the click to the frame that shows the change.
"""

import argparse
import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import synthetic
from tests.benchmarks.report import load, parser, say
from tests.benchmarks.screen import CURVE, LAYERS, NAMES, browser, fresh, notify, served, topics
from topiary.app.jobs import process
from topiary.store import corpora, corpus_writer, full_text, points, runs, snapshots
from topiary.store.database import Database, open_database
from topiary.store.points import Point

DOCUMENTS, TOKENS, WORDS, POINTS, SESSIONS = 500_000, 60, 2000, 280_000, 20
CLICK, PAGE = 0.2, 1.0  # targets, in seconds
EVERY = 7  # curves of the planted run
QUERIES = 12

# From the click, or the last letter, to the first frame that has what was asked for.
CHANGED = """([what, index, ready, wanted]) => new Promise((done, failed) => {
    const target = window.deep(what)[index]
    if (!target) return failed(new Error(`the page has no ${what}`))
    const key = wanted ?? target.dataset.id
    const there = eval(ready)
    const began = performance.now()
    const look = () => {
        const took = (performance.now() - began) / 1e3
        if (there(key)) return done(took)
        if (took > 30) return failed(new Error(`no change 30 s after ${what}`))
        requestAnimationFrame(look)
    }
    if (target.type === "search") {
        target.value = key
        target.dispatchEvent(new Event("input", {bubbles: true, composed: true}))
    } else target.click()
    requestAnimationFrame(look)
})"""
CARDS = ".ex-card button.ex-topic"
LISTED = "() => window.deep('.ex-card button.ex-topic').length > 2"
DETAIL = "key => window.deep('.ex-detail')[0]?.dataset.key === key"
LAYER = "layer => window.deep('.ex-cards')[0]?.ariaLabel.startsWith(`Topics of layer ${layer},`)"
DRAWN = "() => window.deep('canvas').length > 0"
EXPLORED = "() => window.deep('.tp-node').length > 0"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the times beside their targets."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--documents", type=int, default=DOCUMENTS)
    options.add_argument("--points", type=int, default=POINTS)
    options.add_argument("--sessions", type=int, default=SESSIONS)
    options.add_argument("--clicks", type=int, default=20)
    options.add_argument("--layers", default="-".join(map(str, LAYERS)), help="topics of the run that trains")
    options.add_argument("--store", help="keep the store here, or use the one that is here (default: a new one)")
    options.add_argument("--chromium", help="the browser's program (default: TOPIARY_CHROMIUM, or the one on the path)")
    arguments = options.parse_args(argv)
    program = (
        arguments.chromium or os.environ.get("TOPIARY_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    )
    if program is None:
        raise SystemExit("no Chromium: install it (Debian: apt-get install chromium) or name it with --chromium")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        db = stack.enter_context(contextlib.closing(open_database(arguments.store or folder / "store.db")))
        if not corpora.list_corpora(db):
            plant(db, arguments)
        with trained(db, folder, arguments.layers) as run, served(db.url, folder) as url, browser(program) as chromium:
            say(load())
            searches(db)
            clicks(chromium, url, run, arguments.clicks)
            watch(chromium, url, arguments.clicks)
            together(chromium, url, run, arguments.sessions)
            say(load())
    return 0


def plant(db: Database, arguments: argparse.Namespace) -> None:
    """The corpus with its full-text index, and a finished run with a long curve: run 1."""
    vocabulary = np.array(names(WORDS), dtype=object)
    with corpus_writer.write_corpus(db, "large", vocabulary.tolist(), source="synthetic") as writer:
        for block in synthetic.stored_blocks(arguments.documents, WORDS, TOKENS):
            words, starts = np.repeat(vocabulary[block.counts.words], block.counts.values), block.counts.starts
            edges = np.concatenate([[0], np.cumsum(block.counts.values)])[starts]
            texts = [" ".join(words[begin:end]) for begin, end in itertools.pairwise(edges)]
            titles = [f"document {block.first + place}" for place in range(len(texts))]
            writer.add(replace(block, texts=texts, titles=titles))
    full_text.build_index(db, writer.row.number)
    settings = {"layers": list(LAYERS), "inference": "gibbs"}
    plan = {"minibatches": arguments.points // EVERY}
    about = {"model": "dlda", "inference": "gibbs", "layers": LAYERS, "settings": settings, "options": plan}
    row = runs.claim_run(
        db, runs.create_run(db, corpus=writer.row.number, seed=1, **about).number, process.identify_process()
    )
    for first in range(1, plan["minibatches"] + 1, 5000):
        some = list(curve(range(first, min(first + 5000, plan["minibatches"] + 1))))
        db.transact(partial(points.insert_points, run=row.number, rows=some))
    snapshots.append_snapshot(db, row.number, row.attempt, plan["minibatches"], 1e4, topics(1))
    runs.finish_run(db, row.number, row.attempt, "finished")


def names(n: int) -> list[str]:
    """Words of two to four syllables, all different."""
    rng = np.random.default_rng(3)
    syllables = np.array([first + second for first in "bdfgklmnprstvz" for second in "aeiou"])
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(rng.choice(syllables, rng.integers(2, 5)))] = None
    return list(found)


def curve(minibatches: Sequence[int]) -> Iterator[Point]:
    """Points of seven curves."""
    for t in minibatches:
        yield Point(t, 200 * t, 0.05 * t, "point_perplexity", 0, 700 + 60_000 / (t + 60))
        for layer, (name, factor) in itertools.product((1, 2), (("mean", 1.0), ("low", 0.5), ("high", 2.0))):
            yield Point(t, 200 * t, 0.05 * t, f"step_size_{name}", layer, factor / layer / t)


@contextmanager
def trained(db: Database, folder: Path, layers: str) -> Iterator[int]:
    """A run that trains meanwhile; gives its number once it has a snapshot."""
    order = [
        "train",
        "large",
        "--layers",
        "-".join(map(str, LAYERS)),
        "--inference",
        "gibbs",
        "--minibatches",
        "100000",
    ]
    command = [sys.executable, "-m", "topiary.app.cli.main", *order, "--store", db.url]
    environment = process.build_environment(db.url)
    said = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True).stdout
    number = int(re.findall(r"\d+", said)[0])
    try:
        while snapshots.find_latest(db, number) is None:
            if (row := runs.get_run(db, number)).state not in ("queued", "running"):
                raise SystemExit(f"the run ended: {row.message}")
            time.sleep(1.0)
        yield number
    finally:
        _stop(db, number)


def _stop(db: Database, number: int) -> None:
    runs.send_request(db, number, "stop")
    while runs.get_run(db, number).state in ("queued", "running"):
        time.sleep(0.5)


def searches(db: Database) -> None:
    """Documents by whole words, by the beginnings of words, and by two words."""
    long = [word for word in corpora.read_vocabulary(db, 1) if len(word) >= 6][:QUERIES]
    asked = {
        "whole word": long,
        "first 4 letters": [word[:4] for word in long],
        "first 2 letters": [word[:2] for word in long],
        "two words": [f"{one} {other}" for one, other in itertools.pairwise(long)],
        "title": [f"document {number}" for number in range(4000, 4000 + QUERIES)],
    }
    for name, texts in asked.items():
        seconds = []
        for text in texts:
            began = time.perf_counter()
            corpora.search_documents(db, 1, text, 0, 8)
            seconds.append(time.perf_counter() - began)
        notify(f"search, {name}", seconds, CLICK)


def clicks(chromium: Any, url: str, run: int, n: int) -> None:
    """Topics, layers, pages and documents, on a page that is open while the run trains."""
    page = opened(chromium, f"{url}?page=explore&run={run}&tab=list", LISTED)
    cards = page.evaluate(f"() => window.deep('{CARDS}').length")
    notify("click on a topic", [change(page, CARDS, i % cards, DETAIL) for i in range(n)], CLICK)
    layers = [1, *(2 + i % 2 for i in range(n - 1))]
    taken = [change(page, f"[data-do=layer][data-layer='{layer}']", 0, LAYER, str(layer)) for layer in layers[1:]]
    notify("click on a layer", taken, CLICK)
    to_watch, back = [], []
    for _ in range(n):
        to_watch.append(change(page, "a[href*='page=watch']", 0, DRAWN))
        back.append(change(page, "a[href*='page=explore']", 0, EXPLORED))
    notify("change to Watch", to_watch, PAGE)
    notify("change to Explore", back, PAGE)
    page.context.close()


def watch(chromium: Any, url: str, n: int) -> None:
    """Watch of run 1, with its long curve: from another page, and by its address."""
    page = opened(chromium, f"{url}?page=explore&run=1&tab=list", LISTED)
    taken = []
    for _ in range(n):
        taken.append(change(page, "a[href*='page=watch']", 0, DRAWN))
        change(page, "a[href*='page=explore']", 0, EXPLORED)
    notify("change to the long Watch", taken, PAGE)
    page.context.close()
    there = []
    for _ in range(5):
        page = opened(chromium, f"{url}?page=watch&run=1", CURVE)
        there.append(page.evaluate("() => performance.now()") / 1e3)
        page.context.close()
    notify("the long Watch, opened", there, PAGE)


def together(chromium: Any, url: str, run: int, n: int) -> None:
    """So many sessions on the same run, each of which clicks in turn with the others open."""
    pages = [opened(chromium, f"{url}?page=explore&run={run}&tab=list", LISTED) for _ in range(n)]
    taken = [change(page, CARDS, turn, DETAIL) for turn in range(3) for page in pages]
    notify(f"click, {n} sessions open", taken, CLICK)
    for page in pages:
        page.context.close()


def opened(chromium: Any, address: str, ready: str) -> Any:
    """A page of its own session, once it shows what it is for."""
    page = fresh(chromium)
    page.goto(address, wait_until="commit")
    page.wait_for_function(ready, polling="raf")
    return page


def change(page: Any, what: str, index: int, there: str, wanted: str | None = None) -> float:
    """Seconds from a click until the page shows it."""
    took: float = page.evaluate(CHANGED, [what, index, there, wanted])
    return took


if __name__ == "__main__":
    sys.exit(main())
