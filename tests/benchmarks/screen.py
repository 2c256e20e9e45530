"""How quickly the app answers: first paint of a run, a new snapshot on screen, a tree of 60 topics, many visitors.

A real server process on a store with one run of 128-64-32 topics over 2,000 words, and a real Chromium without a
window.  Times are the page's own clock where it has one.  Each is also given as a multiple of what a page of Panel
with one text takes in the same run, which holds on any machine.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tornado.httpclient import AsyncHTTPClient

from tests.benchmarks.report import load, median, parser, say
from tests.benchmarks.synthetic import store_corpus
from topiary.app.jobs import process
from topiary.app.server.hosts import choose_port
from topiary.store import corpora, runs, snapshots
from topiary.store.database import Database, open_database
from topiary.store.points import Point
from topiary.store.run_rows import RunRow

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LAYERS, WORDS = (128, 64, 32), 2000
PAINT_TARGET, CONTENT_TARGET, SNAPSHOT_TARGET, TREE_TARGET = 0.35, 0.8, 0.5, 0.12
WAIT_TARGET = 3.0  # builds of one page that another request waits for, at most
BARE = "import panel, sys; panel.serve(lambda: panel.pane.Markdown('Topiary'), port=int(sys.argv[1]), show=False)"
BARE_SHOWN = "() => window.deep('p').some(each => each.textContent === 'Topiary')"
LOOK = 20  # milliseconds between two looks at a page; looking at every frame would slow down what it waits for
ROOTS, NODES = 9, 60  # a root has 2 children and 4 grandchildren: 63 topics
FIRST, LAST = 50, 1000  # mini-batches of the planted run

# Looks into every shadow root, because each component of the page has its own.
DEEP = """
window.deep = (selector, root = document) => {
    const found = [...root.querySelectorAll(selector)]
    const hosts = [...root.querySelectorAll("*")].filter(each => each.shadowRoot)
    for (const each of hosts) found.push(...window.deep(selector, each.shadowRoot))
    return found
}
"""
SHOWN = "() => window.deep('.tp-node').length > 0 && window.deep('.fm-place').some(each => each.textContent)"
# Until a browser has the scripts it shows the view as the server has drawn it, to nothing else than the eye.
SEEN = "() => document.querySelector('#tp-preview') !== null || window.deep('.tp-node').length > 0"
CURVE = "() => window.deep('canvas').length > 0 && document.readyState === 'complete'"
PAINTED = """() => new Promise(done => {
    setTimeout(() => done(NaN), 10000)
    new PerformanceObserver(list => list.getEntriesByName('first-contentful-paint').forEach(each =>
        done(each.startTime))).observe({type: 'paint', buffered: true})
})"""  # browsers report it some frames later
NEWEST = "minibatch => window.deep('.fm-place').some(each => each.textContent.includes(minibatch))"
AT_REST = "() => Bokeh.documents.length > 0 && Bokeh.documents.every(each => each.is_idle)"
# From the click to the frame with the topics in it; listening to the picture costs the page nothing meanwhile.
OPEN_ALL = """nodes => new Promise((done, failed) => {
    const world = window.deep('.tp-world')[0]
    const button = window.deep('[data-do=open-all]')[0]
    const began = performance.now()
    const watcher = new MutationObserver(() => {
        const shown = world.querySelectorAll('.tp-node').length
        if (shown < nodes) return
        watcher.disconnect()
        requestAnimationFrame(() => {
            const after = new MessageChannel()
            after.port1.onmessage = () => done([performance.now() - began, shown])
            after.port2.postMessage(0)
        })
    })
    watcher.observe(world, {childList: true, subtree: true})
    setTimeout(() => failed(new Error('no such tree after 30 s')), 30000)
    button.click()
})"""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the times beside their targets."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--visits", type=int, default=5)
    options.add_argument("--crowd", type=int, default=50, help="visitors who open Explore at once")
    options.add_argument("--chromium", help="the browser's program (default: TOPIARY_CHROMIUM, or the one on the path)")
    arguments = options.parse_args(argv)
    program = find_chromium(arguments.chromium)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        db = open_database(Path(folder) / "store.db")
        try:
            row = plant(db)
            with served(db.url, Path(folder)) as url, browser(program) as chromium:
                say(f"{load()}")
                with served_bare(Path(folder)) as bare_url:
                    bare = [median(times) for times in visit(chromium, bare_url, BARE_SHOWN, arguments.visits)]
                say(f"  a page of Panel with one text: painted after {bare[0]:.2f} s, there after {bare[1]:.2f} s")
                first_paint(chromium, url, row, arguments.visits, bare)
                large_tree(chromium, url, row, arguments.visits, bare[1])
                new_snapshot(chromium, url, db, row, arguments.visits, bare[1])
                page, other = f"{url}?page=explore&run={row.number}", f"{url}favicon.ico"
                with ThreadPoolExecutor(1) as thread:  # this one has a loop for the browser
                    thread.submit(asyncio.run, crowd(page, other, arguments.crowd)).result()
        finally:
            db.close()
    return 0


def find_chromium(named: str | None) -> str:
    """Return the browser's program; ends the process where there is none."""
    program = named or os.environ.get("TOPIARY_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise SystemExit("no Chromium: install it (Debian: apt-get install chromium) or name it with --chromium")
    return program


def first_paint(chromium: Any, url: str, row: RunRow, visits: int, bare: Sequence[float]) -> None:
    """Open the run in a browser that has seen nothing yet, on a server that others have asked for the same view."""
    _, seen = visit(chromium, f"{url}?page=explore&run={row.number}", SEEN, visits)
    notify("topics to be seen, explore", seen, PAINT_TARGET, bare[1])
    for page_name, ready in (("explore", SHOWN), ("watch", CURVE)):
        painted, complete = visit(chromium, f"{url}?page={page_name}&run={row.number}", ready, visits)
        notify(f"first paint, {page_name}", painted, PAINT_TARGET, bare[0])
        notify(f"content there, {page_name}", complete, CONTENT_TARGET, bare[1])


def visit(chromium: Any, url: str, ready: str, visits: int) -> tuple[list[float], list[float]]:
    """When a page is painted and when it is ready, in seconds; the first visit warms the server and does not count."""
    painted, complete = [], []
    for number in range(visits + 1):
        page = fresh(chromium)
        page.goto(url, wait_until="commit")
        page.wait_for_function(ready, polling=LOOK)
        at = page.evaluate("() => performance.now()")
        if number:
            painted.append(page.evaluate(PAINTED) / 1e3)
            complete.append(at / 1e3)
        page.context.close()
    return painted, complete


async def crowd(page: str, other: str, visitors: int) -> None:
    """Have many visitors open a page at once, and time another request again and again meanwhile."""
    client = AsyncHTTPClient(force_instance=True, max_clients=visitors + 1, defaults={"request_timeout": 300.0})

    async def time_request(address: str) -> float:
        began = time.perf_counter()
        await client.fetch(address)
        return time.perf_counter() - began

    build = median([await time_request(page) for _ in range(5)])
    opening = asyncio.gather(*(client.fetch(page) for _ in range(visitors)))
    waits = []
    while not opening.done():
        waits.append(await time_request(other) / build)
        await asyncio.sleep(0.02)
    await opening
    notify(f"wait among {visitors} visitors", waits, WAIT_TARGET, unit="builds")


def new_snapshot(chromium: Any, url: str, db: Database, row: RunRow, visits: int, bare: float) -> None:
    """Write snapshots while a page is open, until each is on screen."""
    page = fresh(chromium)
    page.goto(f"{url}?page=explore&run={row.number}")
    page.wait_for_function(SHOWN)
    seconds = []
    for minibatch in range(LAST + 1, LAST + 1 + visits):
        grow(db, row, minibatch)
        began = time.perf_counter()
        page.wait_for_function(NEWEST, arg=f" {minibatch:,}", polling=LOOK)
        seconds.append(time.perf_counter() - began)
    page.context.close()
    notify("new snapshot on screen", seconds, SNAPSHOT_TARGET, bare)


def large_tree(chromium: Any, url: str, row: RunRow, visits: int, bare: float) -> None:
    """Unfold a tree of 60 topics or more by a click, on a page that has come to rest."""
    seconds, shown = [], 0
    roots = ",".join(f"L{len(LAYERS)}:{number}" for number in range(1, ROOTS + 1))
    for _ in range(visits):
        page = fresh(chromium)
        page.goto(f"{url}?page=explore&run={row.number}&roots={roots}&closed={roots}")
        page.wait_for_function(SHOWN)
        page.wait_for_function(AT_REST)
        page.wait_for_timeout(800)
        took, shown = page.evaluate(OPEN_ALL, NODES)
        seconds.append(took / 1e3)
        page.context.close()
    notify(f"tree of {shown} topics", seconds, TREE_TARGET, bare)


def notify(name: str, values: Sequence[float], target: float, bare: float = 0.0, unit: str = "s") -> None:
    """Print a median, the worst, the target, and the multiple of the time of a bare page."""
    middle = median(values)
    multiple = f", {middle / bare:.2f} times a bare page" if bare else ""
    ratio = f"target {target} {unit}, ratio {middle / target:.2f}{multiple}"
    say(f"  {name:<26}{middle:7.2f} {unit} (worst {max(values):.2f})   {ratio}")


def fresh(chromium: Any) -> Any:
    """A page of a browser without memory."""
    page = chromium.new_context(viewport={"width": 1440, "height": 960}).new_page()
    page.add_init_script(DEEP)
    page.set_default_timeout(60_000)
    return page


@contextmanager
def browser(program: str) -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


def served(store: str, folder: Path) -> AbstractContextManager[str]:
    """``topiary serve`` as a process of its own; gives its address."""
    command = ["-m", "topiary.app.cli.main", "serve", "--store", store, "--port", "0"]
    return running(command, folder / "serve.log", process.build_environment(store))


def served_bare(folder: Path) -> AbstractContextManager[str]:
    """A page of Panel with one text, served by a process of its own; gives its address."""
    return running(["-c", BARE, str(choose_port("127.0.0.1", 0))], folder / "bare.log", dict(os.environ))


@contextmanager
def running(command: Sequence[str], log: Path, environment: dict[str, str]) -> Iterator[str]:
    """A server of Python as a process of its own; gives the address that it prints."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-u", *command], stdout=output, stderr=output, env=environment, cwd=log.parent
        )
        try:
            while "http://" not in (said := log.read_text(encoding="utf-8")):
                if server.poll() is not None:
                    raise SystemExit(f"the server did not start:\n{said}")
                time.sleep(0.05)
            yield said[said.index("http://") :].split()[0]
        finally:
            server.terminate()
            server.wait(timeout=30)


def plant(db: Database) -> RunRow:
    """A corpus and a run of this process, with a curve and some snapshots."""
    about = store_corpus(db, "synthetic", documents=400, words=WORDS, tokens=20_000)
    assert corpora.get_corpus(db, about.number).words == WORDS
    settings = {"layers": list(LAYERS), "inference": "tlasgr"}
    order = {
        "model": "dlda",
        "inference": "tlasgr",
        "layers": LAYERS,
        "settings": settings,
        "options": {"minibatches": 3500},
    }
    row = runs.create_run(db, corpus=about.number, seed=1, **order)
    row = runs.claim_run(db, row.number, process.identify_process())
    for minibatch in range(FIRST, LAST + 1, 50):
        grow(db, row, minibatch)
    return row


def grow(db: Database, row: RunRow, minibatch: int) -> None:
    """Write what a worker writes: points, heartbeat, snapshot."""
    at = (minibatch, 200 * minibatch, 0.05 * minibatch)
    values = [
        Point(*at, "point_perplexity", 0, 700 + 60_000 / (minibatch + 60)),
        Point(*at, "tokens_per_second", 0, 2e5),
    ]
    values += [
        Point(*at, f"step_size_{name}", layer, factor / layer / minibatch)
        for layer in range(1, len(LAYERS) + 2)
        for name, factor in (("mean", 1.0), ("low", 0.5), ("high", 2.0))
    ]
    runs.record_progress(
        db,
        row.number,
        row.attempt,
        minibatch=minibatch,
        seconds=at[2],
        tokens_per_second=2e5,
        point_perplexity=values[0].value,
        message="training",
        points=values,
    )
    snapshots.append_snapshot(db, row.number, row.attempt, minibatch, at[2], topics(minibatch))


def topics(seed: int) -> dict[str, Any]:
    """Sparse topics over the words; above them every topic has two children of its own."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Any] = {}
    for layer, (below, width) in enumerate(pairwise((WORDS, *LAYERS))):
        raw = rng.gamma(0.05, size=(below, width)) + 1e-9
        if layer:
            raw = 1e-3 * rng.random((below, width)) + np.kron(np.eye(width), np.ones((below // width, 1)))
        arrays[f"phi.{layer}"] = raw / raw.sum(axis=0)
        arrays[f"step.{layer}"] = np.full(width, 0.1)
        arrays[f"top_documents.{layer}"] = rng.integers(0, 400, (width, 20))
        arrays[f"top_weights.{layer}"] = -np.sort(-rng.random((width, 20)), axis=1)
    arrays["r"] = rng.gamma(1.0, size=LAYERS[-1])
    return arrays


if __name__ == "__main__":
    sys.exit(main())
