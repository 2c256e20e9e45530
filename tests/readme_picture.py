"""Draw the picture of README.md: the page Explore of a demo whose four runs have ended.

    python -m tests.readme_picture

prepares a demo in a folder of its own, which takes minutes, and replaces ``assets/topiary.png``; ``--store URL`` shows
a demo that is there.  The picture says in a field of its own what is seen on it: how many layers and tiles it
has, and how many curves the page Watch shows.  A nightly test counts them again on a new demo.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from topiary.app.jobs import gallery
from topiary.store import runs
from topiary.store.database import open_database
from topiary.store.errors import StoreError

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "samples"))  # of which the server of the browser tests is made
PICTURE = ROOT / "assets" / "topiary.png"
FIELD = "topiary-demo"  # of the picture, with what is seen on it as JSON
SIZE = (1440, 900)  # of the window, in pixels
PATIENCE = 1200.0  # seconds in which the four runs end on a machine with other work
KNOWN = "localStorage.setItem('topiary_callouts', '99')"  # the callouts have been seen
COUNT_TILES = """() => {
  const seek = root => [...root.querySelectorAll("*")].flatMap(
    each => [...(each.matches(".ex-tree .tp-tile, .tp-stage .tp-tile") ? [each.dataset.id] : []),
             ...(each.shadowRoot ? seek(each.shadowRoot) : [])])
  const ids = seek(document)
  return {layers: new Set(ids.map(id => id.split(":")[0])).size, tiles: ids.length}
}"""
COUNT_CURVES = """() => [...Bokeh.documents[0].all_models]
  .filter(model => model.type === "ColumnDataSource" && (model.data.get?.("value") ?? model.data.value)?.length > 1)
  .length"""


def read_facts(picture: Path = PICTURE) -> dict[str, int]:
    """Return what is seen on the picture: the numbers of layers, tiles and curves."""
    with Image.open(picture) as image:
        if FIELD not in image.info:
            raise ValueError(f"{picture.name} does not say what is seen on it; python -m tests.readme_picture draws it")
        return dict(json.loads(image.info[FIELD]))


@contextmanager
def prepare_demo(folder: Path) -> Iterator[str]:
    """Serve a new demo in a folder; yield the URL of its store once its four runs have ended."""
    store = f"sqlite:///{folder / 'store.db'}"
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | dict.fromkeys(("XDG_DATA_HOME", "LOCALAPPDATA"), str(folder))
    command = [sys.executable, "-m", "topiary.app.cli.main", "demo", "--store", store, "--port", "0", "--no-browser"]
    demo = subprocess.Popen(command, env=variables, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        wait_for_gallery(store, demo)
        yield store
    finally:
        demo.terminate()
        demo.wait()


def wait_for_gallery(store: str, demo: "subprocess.Popen[Any]") -> None:
    """Wait until the four runs of the demo have ended, and fail if they do not."""
    latest, states = time.monotonic() + PATIENCE, list[str]()
    while time.monotonic() < latest and demo.poll() is None:
        time.sleep(1.0)
        with suppress(StoreError):  # it is being made
            db = open_database(store, readonly=True)
            states = [row.state for row in runs.list_runs(db)]
            db.close()
        if len(states) == len(gallery.GALLERY) and all(state == "finished" for state in states):
            return
    raise RuntimeError("the runs of the demo did not end")


def look_at_demo(url: str, browser: Any) -> tuple[dict[str, int], bytes]:
    """Return what is seen of a demo that a server shows, and the picture of its page Explore as a PNG file."""
    width, height = SIZE
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
    context.add_init_script(KNOWN)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE / 4)  # a machine may have other work
    page.goto(f"{url}?page=explore")
    page.locator(".tp-tile").first.click(position={"x": 12, "y": 8})  # the largest topic
    page.locator(".ex-detail").wait_for()
    page.mouse.move(4, 300)  # away from tiles, which fade the others
    page.wait_for_timeout(4000)  # documents are read, and tiles have come to rest
    facts = dict(page.evaluate(COUNT_TILES))
    picture = page.screenshot()
    page.goto(page.url.replace("page=explore", "page=watch"))  # of the same run
    page.locator("canvas").first.wait_for()
    page.wait_for_timeout(4000)
    facts["curves"] = page.evaluate(COUNT_CURVES)
    context.close()
    return facts, picture


def save_picture(facts: dict[str, int], picture: bytes) -> None:
    """Write the picture of README.md with what is seen on it."""
    told = PngInfo()
    told.add_text(FIELD, json.dumps(facts))
    with Image.open(BytesIO(picture)) as image:
        image.convert("RGB").save(PICTURE, optimize=True, pnginfo=told)


def draw_picture(store: str, folder: Path) -> dict[str, int]:
    """Show a store in a browser, write the picture, and return what is seen on it."""
    from playwright.sync_api import sync_playwright

    from tests.e2e.conftest import SWITCHES, Server

    server = Server(store, folder)
    try:
        with sync_playwright() as driver:
            program = os.environ.get("TOPIARY_CHROMIUM", "/usr/bin/chromium")
            browser = driver.chromium.launch(executable_path=program, args=list(SWITCHES))
            facts, picture = look_at_demo(server.url, browser)
            browser.close()
    finally:
        server.stop()
    save_picture(facts, picture)
    return facts


def main() -> int:
    """Draw the picture of a new demo, or of one that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", metavar="URL", help="a store with a demo whose runs have ended")
    store = parser.parse_args().store
    with tempfile.TemporaryDirectory() as place:
        if store:
            facts = draw_picture(store, Path(place))
        else:
            with prepare_demo(Path(place)) as made:
                facts = draw_picture(made, Path(place))
    sys.stdout.write(json.dumps(facts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
