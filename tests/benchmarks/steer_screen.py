"""How long it takes from the click on Apply until the changed words are on screen, while a run trains.

A worker of its own sweeps a corpus (by default BBC with 64, 32 and 16 topics), and a real Chromium without a window
shows the page Steer.  Each edit keeps the first word of another topic out of it; it is on screen when the word has no
bar any more.  Times are the page's own clock.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.benchmarks.report import load, median, parser, say, shared_data
from tests.benchmarks.screen import browser, find_chromium, fresh, notify, served
from topiary.store import corpora, runs
from topiary.store.database import open_database

TARGET = 3.0
LAYERS = (64, 32, 16)
STEPS = 100_000  # more than the edits need; the run is stopped after them
# From the click to the frame in which the word's bar is gone and its mark no longer says that it waits.
APPLY = """word => new Promise((done, failed) => {
    const began = performance.now()
    const gone = () => window.deep('.st-words li').some(row =>
        row.querySelector('.st-word').textContent === word &&
        row.querySelector('.st-pill')?.textContent === 'not here' &&
        parseFloat(row.querySelector('i').style.getPropertyValue('--part')) === 0)
    const look = () => gone() ? done((performance.now() - began) / 1000)
        : performance.now() - began > 60000 ? failed(new Error('not on screen after a minute'))
        : requestAnimationFrame(look)
    window.deep('[data-do=apply-edits]')[0].click()
    look()
})"""
READY = "() => window.deep('.st-words li').length > 0 && window.deep('.st-acts button').length > 0"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the seconds of every edit, and their median beside the target."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--data", type=Path, default=shared_data() / "bbc" / "bbc-fulltext.zip")
    options.add_argument("--edits", type=int, default=10)
    options.add_argument("--sweeps", type=int, default=60, help="sweeps before the first edit")
    options.add_argument("--layers", default="-".join(map(str, LAYERS)))
    options.add_argument("--chromium", help="the browser's program (default: TOPIARY_CHROMIUM, or the one on the path)")
    arguments = options.parse_args(argv)
    import topiary

    program = find_chromium(arguments.chromium)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = str(Path(folder) / "store.db")
        with topiary.open(place) as store:
            corpus = store.import_corpus(arguments.data)
            run = store.train(corpus, layers=arguments.layers, inference="gibbs", minibatches=STEPS)
            try:
                with served(place, Path(folder)) as url, browser(program) as chromium:
                    say(f"{load()}")
                    with closing(open_database(place)) as db:
                        while runs.get_run(db, run.number).minibatch < arguments.sweeps:
                            time.sleep(1)
                        row = corpora.get_run_corpus(db, runs.get_run(db, run.number))
                    say(f"  {row.tokens:,} tokens, layers {arguments.layers}, from sweep {arguments.sweeps}")
                    page = fresh(chromium)
                    times = [apply(page, url, run.number, topic) for topic in range(1, arguments.edits + 1)]
                    notify("click to changed words", times, TARGET)
                    say(f"  {', '.join(f'{each:.2f}' for each in times)} s; median {median(times):.2f} s")
                    say(f"{load()}")
            finally:
                run.stop()
    return 0


def apply(page: Any, url: str, run: int, topic: int) -> float:
    """Keep the first word out of a topic, and return the seconds until it has no bar any more."""
    page.goto(f"{url}?page=steer&run={run}&layer=1&topic={topic}")
    page.wait_for_function(READY)
    row = page.locator(".st-words li").first
    word = row.locator(".st-word").inner_text()
    row.hover()
    row.get_by_role("button", name="Not here").click()
    page.get_by_role("button", name="Apply 1 edit").wait_for()
    return float(page.evaluate(APPLY, word))


if __name__ == "__main__":
    sys.exit(main())
