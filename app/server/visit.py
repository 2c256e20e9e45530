"""One session: the frame around the pages, the address bar, and the connection to the feed.

A run or a snapshot that does not exist (any more) is replaced by another one, or by a sentence.
"""

import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from html import escape
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlencode

import bokeh
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import CustomJS
from panel.util.parameters import edit_readonly
from panel.viewable import Viewable
from tornado.ioloop import IOLoop

from topiary.app.analysis.name_server import NameServer
from topiary.app.jobs.gallery import choose_run, is_of_gallery, measure_gallery
from topiary.app.live.actions import Actions, Visitor
from topiary.app.live.feed import TROUBLE, Feed, Tick, find_usual_run
from topiary.app.machine import find_asset, make_asset_url
from topiary.app.names import COMING
from topiary.app.pages import session
from topiary.app.pages.components import Board, Callouts, Component, Message, ask_before_changes
from topiary.app.pages.explore_reading import reset_tab
from topiary.app.pages.runs import NoRunPage, make_fork_tab
from topiary.app.pages.session import ANOTHER_RUN
from topiary.app.server.access import Authentication
from topiary.app.server.sessions import PREVIEW, Preview, close_connections, draw_preview, forget_document
from topiary.app.views import theme, top_bar
from topiary.app.views.markup import name_run
from topiary.app.views.top_bar import NAMES, PAGES, WITHOUT_A_RUN
from topiary.engine.settings import SettingError
from topiary.store import runs
from topiary.store.database import Database
from topiary.store.errors import NotFound

_NO_RUN = ""  # key of the page that replaces every page about a run while there is none
_MISSING_RUN = "missing run"  # key of the page that replaces every page about a run that is not in the store
BUILDERS: dict[str, Callable[[session.Context], Viewable]] = {
    **{page.name: page.builder() for page in PAGES},
    **dict.fromkeys((_NO_RUN, _MISSING_RUN), lambda context: NoRunPage(context).board),
}
PAUSE = 5.0  # seconds between an error and the next attempt
QUIET = 60.0  # seconds in which a repeated attempt does not show the same error again
AFTER_CLOSING = 5.0  # seconds that Panel needs to clean up a closed session
AFTER_ANSWER = 0.3  # seconds in which a browser fetches the scripts, which then keep it busy
EXPECTED = (*TROUBLE, SettingError, LookupError, ValueError)  # errors whose message is written for the visitor

log = logging.getLogger("topiary.shell")


class Fallback(NamedTuple):
    """Fields of the view to change, and a sentence that says why; both are empty if nothing is missing."""

    fields: dict[str, Any]
    sentence: str = ""


def lacks_runs(feed: Feed, run: int, page: str) -> bool:
    """Return whether a page has no run to show, because the view names none and the store has none."""
    return page not in WITHOUT_A_RUN and not run and not feed.runs()


def awaits_topics(feed: Feed, run: int, page: str) -> bool:
    """Return whether the page of topics has nothing to show yet, because the run is about to have its first ones."""
    return page == "explore" and bool(run) and feed.latest(run) is None and feed.state(run) in COMING


def choose_first_view(feed: Feed) -> dict[str, Any]:
    """Return the fields of the view for an address that says nothing: Explore if the usual run has ended with topics.

    While that run trains, and in a store without topics, the fields are empty, so that the default page, Watch, opens.
    """
    run = find_usual_run(feed, "explore")
    has_ended = feed.state(run) in ("finished", "stopped") and feed.latest(run) is not None
    return {"page": "explore"} if has_ended else {}


def replace_run(feed: Feed, run: int, page: str) -> Fallback:
    """Return what to show instead if a page names no run, or if one that needs none names a run that is not there.

    A page about a missing run stays, and says so, unless the store has no runs at all.
    """
    says_so = run and page not in WITHOUT_A_RUN and feed.runs()
    if feed.run(run) is not None or says_so or (run and not is_missing(feed, run)):
        return Fallback({})
    default_run = find_usual_run(feed, page)
    fields = (ANOTHER_RUN if run else {}) | {"run": default_run}
    if not default_run and page not in WITHOUT_A_RUN:
        fields |= {"page": "runs"}
    return Fallback(fields, f"There is no run {run} in this store." if run else "")


def replace_snapshot(feed: Feed, run: int, snapshot: int) -> Fallback:
    """Return what to show instead if the run has no such snapshot; this waits for the store."""
    if not snapshot or any(row.number == snapshot for row in feed.snapshots(run)):
        return Fallback({})
    return Fallback({"snapshot": 0}, f"Run {run} has no such snapshot (any more); this is its newest one.")


def is_missing(feed: Feed, run: int) -> bool:
    """Return whether the store has no such run; ask it directly if the feed, which may lag behind, has none."""
    if not run or feed.run(run) is not None:
        return False
    try:
        runs.get_run(feed.db, run)
    except NotFound:
        return True
    except TROUBLE:
        return False
    return False


@dataclass(frozen=True)
class Site:
    """The objects that all sessions of a server share."""

    db: Database
    feed: Feed
    actions: Actions
    first_view: dict[str, Any]
    authentication: Authentication = field(default_factory=Authentication)
    names: NameServer | None = None


class AddressBar(Component):
    """A component of no size that writes the view's query into the address bar and reports Back and Forward."""

    query = param.String(default="")
    heading = param.String(default="Topiary")

    _bundle = find_asset("js/router.js")
    _acts = False

    def __init__(self, on_message: Callable[[Message], None], **params: Any) -> None:
        super().__init__(on_message, **params, width=0, height=0, margin=0)

    def write_again(self) -> None:
        """Write the query into the address bar even if it has not changed, because Back may have changed the bar."""
        self._send_msg({})


class _NeverBusy(param.Parameterized):
    """An object whose parameter ``busy`` never changes."""

    busy = param.Boolean(default=False)


class _OnceCall:
    """A function that does its work at the first call only."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work

    def __call__(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            work()


class SessionShell:
    """The session of one visitor; the server shows its ``page``.

    Parameters
    ----------
    query : str
        The query of the URL that the visitor opened.
    cookies : mapping
        What the visitor's browser remembers: the theme, and the size of the window of a picture.
    visitor : Visitor
        The visitor; for a viewer, changes are refused and their buttons are disabled.
    """

    def __init__(self, site: Site, query: str, cookies: Mapping[str, str], visitor: Visitor = Visitor()) -> None:  # noqa: B008
        dark = cookies.get("topiary_theme") == "dark"
        self._site = site
        self._actions = site.actions.on_behalf_of(visitor)
        self._visitor = visitor
        self._document: Any = pn.state.curdoc
        ask_before_changes(self._document, partial(getattr, visitor, "only_looks"))
        self._loop = IOLoop.current()
        self._drawn = False
        self._requested_runs: set[int] = set()  # runs for which it was requested whether they predict classes
        self._waiting_calls: list[Callable[[], None]] = []
        self._open = True
        self._listeners: list[Callable[[Tick], None]] = []
        self._closers: list[Callable[[], None]] = []
        self._report = ("", 0.0)  # the last error shown, and its time
        self._built: dict[str, Viewable] = {}
        first_view = session.from_query(query) or site.first_view or choose_first_view(site.feed)
        self.view = session.View(**self._complete_view(first_view))
        self._guided_run = self.view.run  # the run on screen while no visitor has chosen one; -1 afterwards
        if session.from_query(query).get("run") not in (None, choose_run(site.feed.runs(), self.view.page)):
            self._guided_run = -1
        self.context = session.Context(
            view=self.view,
            feed=site.feed,
            db=site.db,
            actions=self._actions,
            on_tick=self._listeners.append,
            on_close=self._closers.append,
            later=partial(self._run_in_background, site.feed.submit),
            in_turn=partial(self._run_in_background, site.feed.submit_in_turn),
            aside=partial(self._run_in_background, site.feed.submit_aside),
            soon=self.soon,
            notify=self.notify,
            dark=dark,
            window=read_size(cookies.get("topiary_window", "")),
            names=site.names,
        )
        self._bar = Board(on_message=self._on_bar)
        self._router = AddressBar(self._on_address, query=session.to_query(self.view))
        self._waits = False  # whether the page on screen waits for the first topics
        self._strip = Board()  # how far the demo is
        self._callouts = Callouts()
        self._holder = pn.Column(sizing_mode="stretch_width", margin=0)
        self.page = self._build_page(dark=dark)
        self._draw_bar()
        self._show()
        self.view.param.watch(self._on_view, list(session.FIELDS))
        self._end = site.feed.subscribe(self._ring, self._on_tick)
        self._check_snapshot()
        pn.state.onload(self._begin)

    def draw_preview(self) -> Preview | None:
        """Return the page as far as it is drawn; None if a browser can only show it once it has its components."""
        view = self.view
        html = draw_preview(self._holder[0]) if self._holder[0] is self._built.get("explore") else ""
        hierarchy = self._site.feed.get_cached_hierarchy(view.run, view.snapshot)
        return Preview(html, view.run, view.snapshot, hierarchy) if html else None

    def end(self) -> None:
        """End the session; called when the visitor's login ends."""
        if self._open:
            self._open = False
            self._end()
            for call in self._closers:
                call()
        close_connections(self._document)

    def close(self) -> None:
        """End the session and release its document; called when the browser has disconnected."""
        self.end()
        self._loop.call_later(AFTER_CLOSING, forget_document, self._document)

    # ------------------------------------------------ services for pages

    def _run_in_background(
        self,
        submit: Callable[[Callable[[], Any]], "Future[Any]"],
        work: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[], None] | None = None,
    ) -> None:
        """Run ``work()`` by ``submit``, then ``then(result)`` here; show an error, and run ``failed()`` after it."""
        submit(work).add_done_callback(partial(self._deliver, then, failed))

    def soon(self, work: Callable[[], None]) -> None:
        """Run ``work()`` in this session while the browser loads scripts, so that the document includes its results.

        From the moment when the browser fetches the document until it has drawn it, models must not change; if the
        browser fetches it sooner, ``work()`` runs after drawing.
        """
        once = _OnceCall(work)
        pn.state.onload(once)
        if not self._drawn:
            self._loop.call_later(AFTER_ANSWER, self._document.add_next_tick_callback, partial(self._run_unseen, once))

    def _run_unseen(self, work: Callable[[], None]) -> None:
        bokeh_session = getattr(self._document.session_context, "session", None)
        if self._open and bokeh_session is not None and bokeh_session.connection_count == 0:
            work()

    def notify(self, message: str, kind: str = "info") -> None:
        """Show a message for a few seconds (a warning or an error longer)."""
        area = pn.state.notifications
        if area is not None:
            area.send(escape(message, quote=False), duration=9000 if kind in ("error", "warning") else 4000, type=kind)

    def _ring(self, call: Callable[[], None]) -> None:
        """Run ``call()`` in this session; may be called from any thread.

        It goes through the server's loop, because a callback added to the document from another thread is lost while
        Panel holds back the events of that document.
        """
        self._loop.add_callback(self._next, call)

    def _next(self, call: Callable[[], None]) -> None:
        """Run a call in this session soon, or after the browser has drawn the page."""
        if not self._drawn:
            self._waiting_calls.append(call)
        elif self._open:
            self._document.add_next_tick_callback(call)

    def _begin(self) -> None:
        """Run the calls that have waited for the browser to draw the page.

        Between the moment when a browser fetches the document and the moment when it has drawn it, changes of models
        stay on the server, and would never reach the browser.
        """
        self._drawn = True
        calls, self._waiting_calls = self._waiting_calls, []
        for call in calls:
            self._next(call)
        self._draw_bar()

    def _deliver(self, then: Callable[[Any], None], failed: Callable[[], None] | None, future: "Future[Any]") -> None:
        self._ring(partial(self._finish, then, failed, future))

    def _finish(self, then: Callable[[Any], None], failed: Callable[[], None] | None, future: "Future[Any]") -> None:
        """Pass on the result of background work, or show its error and schedule another attempt."""
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            then(future.result())
            return
        if failed is not None:
            self._loop.call_later(PAUSE, self._next, failed)
        if not isinstance(error, EXPECTED):
            raise error
        last_message, last_time = self._report
        if failed is None or str(error) != last_message or monotonic() - last_time > QUIET:
            self._report = (str(error), monotonic())
            self.notify(str(error), "error")

    # ------------------------------------------------------------ building

    def _complete_view(self, query: Mapping[str, Any]) -> dict[str, Any]:
        """Return all fields of the view for a query; replace a run that does not exist, and show why."""
        fields = {**session.DEFAULTS, **query}
        replacement = replace_run(self._site.feed, fields["run"], fields["page"])
        self._explain(replacement)
        return fields | replacement.fields

    def _explain(self, replacement: Fallback) -> None:
        if replacement.sentence:
            self._next(partial(self.notify, replacement.sentence, "warning"))

    def _build_page(self, *, dark: bool) -> Any:
        page = pmui.Page(  # type: ignore[attr-defined]
            title="",
            meta_title="Topiary",
            favicon=find_asset("icons/topiary.svg"),
            header=[self._bar, self._router, self._callouts],
            main=[self._strip, self._holder],
            theme_config=theme.make_theme_config(),
            dark_theme=dark,
            sx={"& .main": {"backgroundColor": "var(--tp-ground)"}, "& .MuiLinearProgress-root": {"display": "none"}},
        )
        with edit_readonly(page):
            # ``busy`` follows the state of the whole server, which would keep the page in memory forever, and each of
            # its changes reads all models of the page.  Nothing displays it, so let it follow an object of its own.
            page.busy = _NeverBusy().param.busy
        page.jscallback(dark_theme=find_asset("js/theme.js").read_text(encoding="utf-8"))
        self._document.js_on_event(
            "connection_lost", CustomJS(code=find_asset("js/lost.js").read_text(encoding="utf-8"))
        )
        return page

    # ------------------------------------------------------------- events

    def _on_view(self, *events: param.parameterized.Event) -> None:
        self._router.query = session.to_query(self.view)
        self._draw_bar()
        self._show()
        if self.view.page in WITHOUT_A_RUN and (
            fields := replace_run(self._site.feed, self.view.run, self.view.page).fields
        ):
            self.view.param.update(**fields)
            return
        if any(event.name in ("run", "snapshot") for event in events):
            self._check_snapshot()
        for event in events:
            if event.name == "run" and event.new != self._guided_run:  # chosen by a visitor, or the first of the store
                self._guided_run = -1 if event.old else event.new

    def _choose_run_of(self, page: str) -> dict[str, Any]:
        """Return the fields of the view for the run of the demo that a page is for, while no visitor chose a run."""
        rows, run = self._site.feed.runs(), self.view.run
        if self._guided_run != run or not is_of_gallery(rows, run):
            return {}
        self._guided_run = choose_run(rows, page) or run
        return {} if self._guided_run == run else {**session.ANOTHER_RUN, "run": self._guided_run}

    def _on_tick(self, tick: Tick) -> None:
        self._leave_missing_run(tick)
        if self._waits:
            self._show()  # the first topics may be there
        self._draw_bar()
        for listener in self._listeners:
            listener(tick)

    def _on_address(self, message: Message) -> None:
        if isinstance(message.get("query"), str):
            self.view.param.update(**self._complete_view(session.from_query(message["query"])))
            self._router.write_again()

    def _leave_missing_run(self, tick: Tick) -> None:
        """Say that the run on screen was deleted; show the first run of a store that was empty, or that it is empty."""
        run = self.view.run
        if run in tick.rows or bool(run) != bool(self._site.feed.runs()):
            replacement = replace_run(self._site.feed, run, self.view.page)
            if self.view.page not in WITHOUT_A_RUN:
                self._explain(replacement)
            self.view.param.update(**replacement.fields)
            self._show()

    def _check_snapshot(self) -> None:
        """Show the newest snapshot if the view names one that does not exist."""
        run, snapshot = self.view.run, self.view.snapshot
        if not snapshot or is_missing(self._site.feed, run):
            return
        if self._site.feed.get_cached_hierarchy(run, snapshot) is None:
            self.context.later(
                partial(replace_snapshot, self._site.feed, run, snapshot),
                partial(self._leave_missing_snapshot, (run, snapshot)),
            )

    def _leave_missing_snapshot(self, missing: tuple[int, int], replacement: Fallback) -> None:
        if missing == (self.view.run, self.view.snapshot):
            self._explain(replacement)
            self.view.param.update(**replacement.fields)

    def _on_bar(self, message: Message) -> None:
        match message:
            case {"do": "go", "page": str(page)} if page in NAMES:
                self.view.param.update(page=page, tab="", **self._choose_run_of(page))
            case {"do": "run", "value": str(text)} if text.isdecimal():
                tab = reset_tab(self.view.tab) if self.view.page == "explore" else self.view.tab
                self.view.param.update(run=int(text), tab=tab, **session.ANOTHER_RUN)
            case {"do": "run", "value": "all"}:
                self.view.param.update(page="runs", tab="")
            case {"do": "fork"}:
                self.view.param.update(page="runs", tab=make_fork_tab(self.view.run, self.view.snapshot))
            case {"do": "live"}:
                self.view.snapshot = 0
            case {"do": "copied"}:
                self.notify("The link to this view is in the clipboard.", "success")
            case {"do": "not-copied"}:
                self.notify("The browser did not allow copying; copy the address instead.", "warning")
            case {"do": "pause" | "resume" | "stop" | "move" as verb}:
                action = getattr(self._actions, verb)
                self.context.later(partial(action, self.view.run), lambda _: None)

    def _draw_bar(self) -> None:
        """Draw the top bar and the title of the window."""
        feed, view = self._site.feed, self.view
        run = feed.run(view.run)
        state = feed.state(view.run)
        has_no_snapshot = feed.latest(view.run) is None
        place = top_bar.VisitorPlace(
            view.page, run, state, self._describe_pin(), self._offers_classes(), has_no_snapshot
        )
        trouble = feed.trouble or feed.left_out or feed.damage(view.run)
        self._bar.html = top_bar.draw_top_bar(place, feed.runs(), feed.state, trouble, self._name_role())
        self._router.heading = f"{name_run(run)} · Topiary" if run else "Topiary"
        self._draw_demo()

    def _draw_demo(self) -> None:
        """Draw how far the demo is, which the page of an empty store says itself, and offer its callouts."""
        feed, view = self._site.feed, self.view
        rows = feed.runs()
        says_so = (not view.tab if view.page == "runs" else lacks_runs(feed, view.run, view.page)) and not rows
        progress = None if says_so else measure_gallery(rows, feed.state, feed.notice)
        self._strip.html = top_bar.draw_demo_progress(progress)
        self._callouts.active = is_of_gallery(rows, view.run)

    def _name_role(self) -> str:
        """Return the role to show, "viewer" or "analyst"; empty if the server has no password."""
        return self._visitor.role if self._site.authentication.guarded else ""

    def _offers_classes(self) -> bool:
        """Return whether the run on screen, or that of the demo to which the page of classes would lead, predicts."""
        rows, run = self._site.feed.runs(), self.view.run
        is_guided = self._guided_run == run and is_of_gallery(rows, run)
        return self._predicts(run) or (is_guided and self._predicts(choose_run(rows, "classes")))

    def _predicts(self, run: int) -> bool:
        """Return whether a run is known to predict classes; look it up in the background once the page is drawn."""
        classes = self._site.feed.classes
        predicts = classes.is_known_to_predict(run)
        if predicts is None and self._drawn and run not in self._requested_runs and not self._lacks(run):
            self._requested_runs.add(run)
            self.context.later(partial(classes.predicts, run), lambda _: self._draw_bar())
        return bool(predicts)

    def _lacks(self, run: int) -> bool:
        """Return whether no run is chosen, or one that is not in the store."""
        return not run or is_missing(self._site.feed, run)

    def _describe_pin(self) -> str:
        latest = self._site.feed.latest(self.view.run)
        if not self.view.snapshot or latest is None or latest.number == self.view.snapshot:
            return ""
        hierarchy = self._site.feed.get_cached_hierarchy(self.view.run, self.view.snapshot)
        position = f"at {hierarchy.minibatch:,}" if hierarchy else "at an older snapshot"
        return f"Pinned {position} · latest is {latest.minibatch:,}"

    def _show(self) -> None:
        """Show the page that the view names; build it at its first visit."""
        feed, run, name = self._site.feed, self.view.run, self.view.page
        self._waits = awaits_topics(feed, run, name)
        if self._waits or lacks_runs(feed, run, name):
            name = _NO_RUN
        elif name not in WITHOUT_A_RUN and is_missing(feed, run):
            name = _MISSING_RUN
        if name not in self._built:
            self._built[name] = BUILDERS[name](self.context)
        if list(self._holder) != [self._built[name]]:
            self._holder[:] = [self._built[name]]


def make_page_start() -> theme.PageStart:
    """Return the beginning of all pages."""
    return theme.PageStart(_list_scripts(), _list_modules(), _list_sheets())


def _list_scripts() -> tuple[str, ...]:
    """Return the URLs of BokehJS and of Panel's extension of it."""
    return (f"static/js/bokeh.min.js?v={bokeh.__version__}", f"static/extensions/panel/panel.min.js?v={pn.__version__}")


def _list_modules() -> tuple[str, ...]:
    """Return the URLs of the browser code that every page needs: Material's components and our own."""
    material = str(pmui.Page._render_esm(True, server=True))  # type: ignore[attr-defined]  # noqa: SLF001, FBT003
    return (material, *(make_asset_url(find_asset(f"js/{name}.js")) for name in ("board", "router", "callouts")))


def _list_sheets() -> tuple[str, ...]:
    """Return the URLs of Panel's style sheets that layouts would otherwise load while they are drawn."""
    names = ("css/loading.css", "css/listpanel.css", "bundled/theme/material.css")
    return tuple(f"static/extensions/panel/{name}?v={pn.__version__}" for name in names)


def read_size(text: str) -> dict[str, int]:
    """Return width and height in a text such as ``1010x652``; nothing of any other."""
    sides = re.fullmatch(r"([0-9]{2,5})x([0-9]{2,5})", text)
    return {"width": int(sides[1]), "height": int(sides[2])} if sides else {}


def open_session(site: Site) -> Viewable:
    """Begin a session for the current request; return its page."""
    query = urlencode(pn.state.session_args, doseq=True)
    context = getattr(pn.state.curdoc, "session_context", None)
    login = str(context.token_payload.get("login", "")) if context is not None else ""
    visitor = site.authentication.make_visitor(login, str(getattr(getattr(context, "request", None), "remote_ip", "")))
    shell = SessionShell(site, query, pn.state.cookies, visitor)
    remove_session = site.authentication.logins.add_session(login, shell.end)

    def on_destroyed(_: object) -> None:
        remove_session()
        shell.close()

    pn.state.on_session_destroyed(on_destroyed)
    if pn.state.curdoc is not None:
        pn.state.curdoc.template_variables[PREVIEW] = shell.draw_preview()
    return shell.page
