"""A real Chromium on a real server: what every browser test stands on.

Servers are threads of the tests' process, which has imported everything once; where a test is about the command, about
signals or about who may come in, ``start_process`` starts ``topiary serve`` itself.  Each page fails its test on any
request that leaves the machine and on any error of a script.
"""

import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import garden
import pytest
from databases import open_filled
from raw_sessions import running

from topiary.store.database import Database, open_database

HOW = (
    "no Chromium: install it (Debian: apt-get install chromium; macOS: brew install chromium) "
    "or set TOPIARY_CHROMIUM to the browser's program"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
PATIENCE = 60_000  # milliseconds; machines are shared, and two tests run at a time
ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here drives a browser."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def chromium_program() -> str:
    """Where the browser is; skips, or fails under TOPIARY_REQUIRE_ALL=1, with a sentence how to get it."""
    named = os.environ.get("TOPIARY_CHROMIUM")
    found = [named] if named else [*filter(None, map(shutil.which, NAMES)), *filter(os.path.exists, PLACES)]
    if not found:
        if os.environ.get("TOPIARY_REQUIRE_ALL") == "1":
            pytest.fail(HOW)
        pytest.skip(HOW)
    return str(found[0])


@pytest.fixture(scope="session")
def chromium(chromium_program: str) -> Iterator[Any]:
    """The browser of the session."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_program, args=list(SWITCHES))
        yield browser
        browser.close()


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """Address of an empty store."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def planted(store_url: str, tmp_path: Path) -> str:
    """Address of a store with one corpus and one finished run, number 1."""
    open_filled(tmp_path / "store.db", garden.plant).close()
    return store_url


@pytest.fixture
def choose() -> Callable[[Any, str, str], None]:
    """What opens a menu of a page, such as "View", and chooses the entry whose text begins so."""

    def choose_entry(page: Any, menu: str, entry: str) -> None:
        page.get_by_role("button", name=menu, exact=True).click()
        page.locator(f"#{menu.lower()}-menu").get_by_role("button", name=entry).first.click()

    return choose_entry


class _Listener(logging.Handler):
    """Keep what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


LISTENER = _Listener()  # to all servers of this process, while a test here runs


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Listen to what is logged during a test."""
    LISTENER.lines.clear()
    logging.getLogger().addHandler(LISTENER)
    yield
    logging.getLogger().removeHandler(LISTENER)


def find_complaints(lines: list[str]) -> list[str]:
    """What a server logged that it could not do; a socket closed by a leaving browser is none."""
    return [line for line in lines if "could not" in line or "failed" in line or "locked" in line]


class InnerServer:
    """A server in a thread of this process, as ``topiary serve`` makes it.

    It takes the port of one that has ended, whose scripts the browser knows.
    """

    _left: ClassVar[list[int]] = []  # ports of servers that have ended

    def __init__(self, store: str, interval: float = 0.0, **passwords: str) -> None:
        from topiary.app.server import hosts, serve
        from topiary.app.server.access import Authentication, Passwords
        from topiary.app.server.hosts import Hosts

        open_database(store).close()  # makes it
        reach, port = serve.ServerReach(Hosts("127.0.0.1")), self._left.pop() if self._left else 0
        if port and not hosts._is_free("127.0.0.1", port):
            port = 0
        with ExitStack() as stack:
            site = stack.enter_context(serve.open_site(store, Authentication(Passwords(**passwords))))
            bound = stack.enter_context(running(lambda: serve._bind_server(site, "127.0.0.1", port, reach)))
            site.feed._interval = interval or site.feed._interval
            site.feed.start()
            assert site.feed.ready.wait(timeout=60)
            self._stack = stack.pop_all()
        self.url = f"{bound.home}/"
        self.port = bound.server.port

    @property
    def complaints(self) -> list[str]:
        """What servers logged during this test that they could not do."""
        return find_complaints(LISTENER.lines)

    def stop(self) -> None:
        """End it."""
        self._stack.close()
        self._left.append(self.port)


class Server:
    """``topiary serve`` as its own process."""

    def __init__(self, store: str, folder: Path, port: int = 0, *options: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        environment |= dict.fromkeys(("XDG_DATA_HOME", "LOCALAPPDATA"), str(folder / "data"))
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if sys.platform == "win32" else {}
        self.log: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "topiary", "serve", "--store", store, "--port", str(port), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env=environment,
            cwd=folder,
            **apart,
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout
        self.url = self._address()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rstrip("/").rpartition(":")[2])

    @property
    def complaints(self) -> list[str]:
        """What the server logged that it could not do."""
        return find_complaints(self.log)

    def stop(self) -> int:
        """Ask it to end as Ctrl-C or the system does; returns its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGTERM)
        status = self._process.wait(timeout=30)
        self._reader.join(timeout=5)
        self._output.close()
        return status

    def kill(self) -> None:
        """End it without asking."""
        self._process.kill()
        self.stop()

    def _address(self) -> str:
        for line in self._output:
            self.log.append(line)
            if "http://" in line:
                return line[line.index("http://") :].split()[0]
        self._process.wait(timeout=30)
        self._output.close()
        raise AssertionError("the server did not start:\n" + "".join(self.log))

    def _read(self) -> None:
        self.log.extend(self._output)


@pytest.fixture
def start_server() -> Iterator[Callable[[str], InnerServer]]:
    """Start a server on a store; every one is stopped at the end of the test."""
    with ExitStack() as stack:

        def start(store: str) -> InnerServer:
            server = InnerServer(store)
            stack.callback(server.stop)
            return server

        yield start


@pytest.fixture
def start_process(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start ``topiary serve`` on a store; every one is stopped at the end of the test."""
    with ExitStack() as stack:

        def start(store: str, port: int = 0, *options: str) -> Server:
            server = Server(store, tmp_path, port, *options)
            stack.callback(server.stop)
            return server

        yield start


@pytest.fixture
def server(start_server: Callable[[str], InnerServer], planted: str) -> InnerServer:
    """A server on the planted store."""
    return start_server(planted)


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[str], InnerServer]]:
    """Start a server on a store that does not change; it is stopped at the end of the session."""
    with ExitStack() as stack:

        def start(store: str) -> InnerServer:
            server = InnerServer(store, interval=5.0)  # seconds between two looks into the store
            stack.callback(server.stop)
            return server

        yield start


@pytest.fixture(scope="session")
def share_server(
    serve: Callable[[str], InnerServer], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., InnerServer]:
    """Start a server on a store that a function fills; it is stopped at the end of the session."""

    def share(fill: Callable[[Database], object]) -> InnerServer:
        path = tmp_path_factory.mktemp("shared") / "store.db"
        open_filled(path, fill).close()
        return serve(f"sqlite:///{path}")

    return share


@pytest.fixture(scope="session")
def shared_server(share_server: Callable[..., InnerServer]) -> InnerServer:
    """A server on the planted store, for tests that change nothing in it."""
    return share_server(garden.plant)


class Guard:
    """Everything that a page did and should not have."""

    def __init__(self) -> None:
        self.strangers: list[str] = []
        self.errors: list[str] = []
        self.failures: list[str] = []
        self.local = LOCAL

    def watch(self, page: Any) -> Any:
        """Listen to a page and to what it loads."""
        page.on("request", lambda request: self._asked(request.url))
        page.on("websocket", lambda socket: self._asked(socket.url))
        page.on("requestfailed", lambda request: self.failures.append(f"{request.url[:80]}: {request.failure}"))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._said(message.text))
        return page

    def check(self) -> None:
        """Fail on the first that should not have been."""
        assert self.strangers == [], "requests left this machine"
        assert self.errors == [], f"a script of the page failed; these requests failed: {self.failures}"

    def _asked(self, url: str) -> None:
        if not url.startswith(self.local):
            self.strangers.append(url)

    def _said(self, text: str) -> None:
        """A browser says in its console what a page wanted and its Content-Security-Policy forbids."""
        if "Content Security Policy" in text or "Content-Security-Policy" in text:
            self.errors.append(text)


@pytest.fixture
def guard() -> Iterator[Guard]:
    """Checked when the test is over."""
    found = Guard()
    yield found
    found.check()


@pytest.fixture(scope="session")
def usual_context(chromium: Any) -> Any:
    """The context of the first page of every test.

    A page of it stays open: with it the process stays that has read and compiled the scripts, which halves the time
    in which a page opens.
    """
    context = chromium.new_context()
    context.new_page()
    return context


@pytest.fixture
def new_page(chromium: Any, usual_context: Any, guard: Guard) -> Iterator[Callable[..., Any]]:
    """Open guarded pages, each as in a browser of its own: ``new_page(side="dark", width=420)``."""
    with ExitStack() as stack:
        stack.callback(forget, usual_context)
        unused = [usual_context]

        def make(side: str = "light", width: int = 1440, height: int = 960) -> Any:
            if not unused:
                unused.append(chromium.new_context())
                stack.callback(unused[0].close)
            page = guard.watch(unused.pop().new_page())
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(
                color_scheme=side, reduced_motion="reduce"
            )  # what moves in time is looked at by `moving`
            page.set_default_timeout(PATIENCE)
            return page

        yield make


def forget(context: Any) -> None:
    """Close all pages of a context but the first, and forget what they have kept; what servers sent stays."""
    for page in context.pages[1:]:
        with suppress(Exception):  # a page that shows an error of the browser keeps nothing
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        page.close()
    context.clear_cookies()
    context.clear_permissions()


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """One guarded page, light, of a desk's width."""
    return new_page()


@pytest.fixture
def moving(page: Any) -> Any:
    """The same for a visitor who likes trees to move to their places, as most do."""
    page.emulate_media(reduced_motion="no-preference")
    return page


QUIET = """([quiet, most]) => new Promise(done => {
  const size = root => [...root.querySelectorAll("*")].reduce(
    (sum, each) => sum + 1 + each.attributes.length + (each.shadowRoot ? size(each.shadowRoot) : 0), 0)
  const began = performance.now()
  let last = -1, since = began
  const look = () => {
    const now = performance.now(), found = size(document)
    if (found !== last) { last = found; since = now }
    if (now - since > quiet || now - began > most) { done() } else { setTimeout(look, 200) }
  }
  look()
})"""


@pytest.fixture(scope="session")
def wait_until_quiet() -> Callable[[Any], None]:
    """Wait until a page has had as many elements for most of a second: curves and trees are drawn; at most 5 s."""
    return lambda page: page.evaluate(QUIET, [800, 5000])


DRAWN = """stages => new Promise(done => {
  const count = () => stages.map(stage => stage.dataset.drawn).join()
  const look = before => { const now = count(); now === before ? done() : setTimeout(look, 300, now) }
  setTimeout(look, 300, count())
})"""


@pytest.fixture(scope="session")
def wait_until_laid_out() -> Callable[[Any], None]:
    """Wait until the trees of a page have told their sizes and are not drawn anew for it (any more)."""

    def wait(page: Any) -> None:
        page.locator(".tp-stage[data-told]").first.wait_for()
        page.locator(".tp-stage:not([data-told])").first.wait_for(state="detached")
        page.locator(".tp-stage").evaluate_all(DRAWN)

    return wait


STILL = """async world => {
  await new Promise(requestAnimationFrame)
  for (let some; (some = world.getAnimations({subtree: true})).length > 0;) {
    await Promise.allSettled(some.map(each => each.finished))
  }
  await new Promise(requestAnimationFrame)
}"""


@pytest.fixture(scope="session")
def wait_until_still() -> Callable[[Any], None]:
    """Wait until no tree of a page moves any more."""

    def wait(page: Any) -> None:
        for world in page.locator(".tp-world:visible").all():
            world.evaluate(STILL)

    return wait
