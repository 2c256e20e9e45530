"""How quickly a browser shows filters, and the map, of many documents and 224 topics.

The store of `tests.benchmarks.lens_speed`, ``topiary serve`` as a process of its own, and Chromium without a window
and without a graphics card.  Times are the page's own clock, from the click to the frame that shows the answer.  With
``--busy``, as many processes as named compute all the time, as a run that trains does.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.lens_speed import FILTERS
from tests.benchmarks.lens_store import open_store
from tests.benchmarks.report import load, median, parser, say
from tests.benchmarks.screen import AT_REST, browser, find_chromium, fresh, served

CHANGE, DRAWN, FRAME, LASSO = 300, 3000, 50, 500  # milliseconds, as the targets
PATIENCE = 600_000  # milliseconds; the map is made when its page is opened for the first time

BUSY = """
window.isBusy = () => window.deep('.tr-busy, [aria-busy=true]').length > 0 ||
    window.deep('.dc-count').some(each => each.textContent.includes('Searching'))
"""
# Sends a condition by the form of filters; resolves with the milliseconds to the frame that shows it.
FILTER = """([column, value]) => new Promise((done, failed) => {
    const form = window.deep('.fl-form')[0]
    form.elements.column.value = column
    form.elements.value.value = value
    const wanted = `${column}=${value}`, began = performance.now()
    const look = () => {
        const chips = window.deep('.fl-chip').map(chip => chip.textContent)
        if (chips.includes(wanted) && !window.isBusy()) done(performance.now() - began)
        else if (performance.now() - began > 60000) failed(new Error(`not shown after a minute: ${wanted}`))
        else requestAnimationFrame(look)
    }
    form.requestSubmit()
    requestAnimationFrame(look)
})"""
UNFILTER = "() => window.deep('.fl-chip').forEach(chip => chip.click())"
PLAIN = "() => window.deep('.fl-form').length > 0 && window.deep('.fl-chip').length === 0 && !window.isBusy()"
MAP_MADE = """() => {
    const state = window.deep('.dm-state')[0]?.textContent ?? ''
    return window.deep('.dm-filters').length > 0 && !state.includes('rough')
}"""
MAP_SHOWN = "documents => window.deep('.dm-stage')[0]?.dataset.shown === String(documents)"
# Milliseconds between frames while the map moves.
MOVE = """frames => new Promise(done => {
    const canvas = window.deep('.dm-points')[0], times = []
    canvas.focus()
    const step = now => {
        times.push(now)
        if (times.length > frames) { done(times.slice(1).map((time, at) => time - times[at])); return }
        const key = times.length % 20 < 10 ? 'ArrowLeft' : 'ArrowRight'
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))
        requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
})"""
# Milliseconds from the release of the button until the documents inside the line are listed.
LISTED = """() => new Promise((done, failed) => {
    const old = window.deep('.dm-card h2')[0]?.textContent
    let began = NaN
    window.addEventListener('pointerup', () => { began = performance.now() }, {capture: true, once: true})
    const begun = performance.now()
    const look = () => {
        const head = window.deep('.dm-card h2')[0]?.textContent
        const listed = window.deep('.dm-table tr[data-point]').length > 0 && head !== old && !head.includes('…')
        if (listed) done(performance.now() - began)
        else if (performance.now() - begun > 60000) failed(new Error('nothing was listed after a minute'))
        else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
})"""


def main(argv: Sequence[str] | None = None) -> int:
    """Print medians beside their targets."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("folder", type=Path, help="where the store is kept")
    options.add_argument("--documents", type=int, default=500_000)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--busy", type=int, default=0, help="processes that compute meanwhile")
    options.add_argument("--chromium", help="the browser's program (default: TOPIARY_CHROMIUM, or the one on the path)")
    arguments = options.parse_args(argv)
    program = find_chromium(arguments.chromium)
    db = open_store(arguments.folder, arguments.documents)
    url = db.url
    db.close()
    with ExitStack() as stack:
        address = stack.enter_context(served(url, arguments.folder))
        chromium = stack.enter_context(browser(program))
        say(f"{arguments.documents:,} documents, 224 topics; {load()}")
        make_map(chromium, address)
        stack.enter_context(keep_busy(arguments.busy))
        for page in ("trends", "documents"):
            measure_filters(chromium, address, page, arguments)
        measure_map(chromium, address, arguments)
        say(load())
    return 0


@contextmanager
def keep_busy(processes: int) -> Iterator[None]:
    """Let other processes compute, as workers do."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def measure_filters(chromium: Any, address: str, name: str, arguments: argparse.Namespace) -> None:
    """Add filters on a page, each time another one, and remove them again."""
    page = fresh(chromium)
    page.add_init_script(BUSY)
    page.goto(f"{address}?page={name}&run=1", wait_until="commit")
    for kind in ("a category", "a range of dates"):
        times = []
        for number in range(arguments.rounds + 1):
            page.wait_for_function(PLAIN)
            page.wait_for_function(AT_REST)
            (condition,) = FILTERS[kind](number)
            times.append(page.evaluate(FILTER, condition.split("=", 1)))
            page.evaluate(UNFILTER)
        report_times(f"{name}: {kind}", times[1:], CHANGE)
    page.context.close()


def make_map(chromium: Any, address: str) -> None:
    """Have the map made by opening its page, if it is not in the store."""
    page = fresh(chromium)
    page.goto(f"{address}?page=documents&run=1&tab=map", wait_until="commit")
    page.wait_for_function(MAP_MADE, timeout=PATIENCE)
    page.context.close()


def open_map(chromium: Any, address: str, documents: int) -> tuple[Any, float]:
    """Open the map in a browser that has seen nothing; return the page, and milliseconds until all points are drawn."""
    page = fresh(chromium)
    page.goto(f"{address}?page=documents&run=1&tab=map", wait_until="commit")
    page.wait_for_function(MAP_SHOWN, arg=documents, polling="raf")
    return page, page.evaluate("() => performance.now()")


def measure_map(chromium: Any, address: str, arguments: argparse.Namespace) -> None:
    """Open the map, move it, and draw lines around documents."""
    drawn, moved, listed = [], [], []
    for number in range(arguments.rounds + 1):
        page, took = open_map(chromium, address, arguments.documents)
        drawn.append(took)
        page.wait_for_function(AT_REST)
        moved.append(median(page.evaluate(MOVE, 40)))
        page.wait_for_function(MAP_SHOWN, arg=arguments.documents)
        listed.append(draw_line(page, number))
        page.context.close()
    report_times("map, all points drawn", drawn[1:], DRAWN)
    report_times("map, a frame while it moves", moved[1:], FRAME)
    report_times("map, from a line to its documents", listed[1:], LASSO)


def draw_line(page: Any, number: int) -> float:
    """Draw a line around a part of the map; return milliseconds from its end until its documents are listed."""
    box = page.locator(".dm-points").bounding_box()
    across, down = box["width"] * (0.3 + 0.04 * number), box["height"] / 3
    left, top = box["x"] + box["width"] / 5, box["y"] + down
    page.evaluate(f"() => {{ window.listed = ({LISTED})() }}")
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((0.5, 0), (1, 0), (1, 0.5), (1, 1), (0.5, 1), (0, 1)):
        page.mouse.move(left + x * across, top + y * down)
        page.wait_for_timeout(50)  # else the browser joins the movements of several frames
    page.mouse.up()
    page.keyboard.up("Shift")
    return float(page.evaluate("() => window.listed"))


def report_times(name: str, milliseconds: Sequence[float], target: float) -> None:
    """Print a median, the worst, and the target."""
    middle = median(milliseconds)
    say(f"  {name:<36}{middle:8.0f} ms (worst {max(milliseconds):.0f})   target {target}, ratio {middle / target:.2f}")


if __name__ == "__main__":
    sys.exit(main())
