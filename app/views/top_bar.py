"""The pages of the app, and the top bar with links to them and the state of the run."""

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any, NamedTuple

from app.views.markup import draw_icon, draw_options, draw_state, list_run_entries, write_element
from app.views.run_facts import RunFacts, describe_lineage, estimate_seconds_left, format_span, measure_progress
from app.views.runs.run_list import FORK, NO_FORK, draw_verb_buttons, select_runs
from app.views.text import escape


class AppPage(NamedTuple):
    """One page of the app.

    Attributes
    ----------
    name : str
        As in addresses: ``?page=watch``.
    title : str
        Its word in the top bar.
    mark : str
        Its icon in the top bar.
    help : str
        Its purpose, in one sentence.
    built_by : str
        The function that builds it for a session's context, ``module:function``; views do not import it.
    of_run : bool
        Whether it shows a run, so that it is empty without one.
    of_classes : bool
        Whether it is offered only where the run predicts classes.
    """

    name: str
    title: str
    mark: str
    help: str
    built_by: str
    of_run: bool = True
    of_classes: bool = False

    def builder(self) -> Any:
        """Import the function that builds the page."""
        return resolve_name(self.built_by)


# fmt: off
PAGES = (
    AppPage("runs", "Runs", "list", "Start, continue and compare runs", "app.pages.runs:build_runs_page", of_run=False),
    AppPage("watch", "Watch", "pulse", "See a run learn", "app.pages.watch:build_watch_page"),
    AppPage("explore", "Explore", "tree", "Look into the tree of topics", "app.pages.explore:build_explore_page"),
    AppPage("classes", "Classes", "target", "See which classes a run predicts", "app.pages.classes:build_classes_page",
         of_classes=True),
    AppPage("compare", "Compare", "compare", "See how two runs differ", "app.pages.compare:build_compare_page"),
    AppPage("documents", "Documents", "page", "Place documents in the tree",
            "app.pages.documents:build_documents_page"),
    AppPage("guide", "Guide", "book", "Read how everything works", "app.pages.guide:build_guide_page", of_run=False),
)
# fmt: on
NAMES = tuple(page.name for page in PAGES)
WITHOUT_A_RUN = tuple(page.name for page in PAGES if not page.of_run)


class VisitorPlace(NamedTuple):
    """The page and run that a visitor looks at.

    Attributes
    ----------
    page : str
    run : row or None
        The run looked at.
    state : str
        The state to show.
    pinned : str
        A sentence when an older snapshot is shown, else empty.
    predicts : bool
        Whether the run's model predicts classes, which have their own page.
    bare : bool
        Whether the run has no snapshot yet, so there is nothing to continue.
    """

    page: str
    run: RunFacts | None
    state: str
    pinned: str = ""
    predicts: bool = False
    bare: bool = False


def draw_top_bar(
    place: VisitorPlace,
    everyone: Sequence[RunFacts],
    state: Callable[[int], str] = lambda _: "",
    trouble: str = "",
    stay: str = "",
) -> str:
    """Return the bar as HTML.

    Parameters
    ----------
    place : VisitorPlace
    everyone : sequence of rows
        All runs; the list offers the first of them.
    state : (run number) -> str
        The state to show of each.
    trouble : str
        A sentence when the store cannot be read, else empty.
    stay : str
        The role of the visitor, "viewer" or "analyst"; empty if the server has no passwords.
    """
    brand = write_element(
        "a",
        f"{_MARK}<span>Topiary</span>",
        class_="tp-brand",
        href="?page=runs",
        data_do="go",
        data_page="runs",
        data_go=True,
    )
    share = write_element(
        "button",
        draw_icon("link"),
        class_="tp-plain",
        data_copy=True,
        title="Copy a link to this view",
        aria_label="Copy link",
    )
    return (
        f'<div class="tp-bar">{_draw_skip_links(place)}{brand}{_draw_page_links(place)}'
        f'<div class="tp-bar-run">{_draw_run(place, everyone, state)}</div>{_draw_session(stay)}{share}</div>'
        f"{_draw_progress_line(place)}{_draw_trouble(trouble)}"
    )


def _draw_session(role: str) -> str:
    """Return the role of the visitor on this server, and the link to log out."""
    if not role:
        return ""
    hint = "You can look at everything and change nothing" if role == "viewer" else "You may change everything"
    button = write_element("button", f"Log out ({role})", type="submit", class_="tp-left tp-out", title=hint)
    return write_element("form", button, method="post", action="logout")


_AGAIN = ". It is read again by itself; if this stays, see whether the file or the database is still there."
_TREES = ("explore", "compare")  # pages with a tree


def _draw_skip_links(place: VisitorPlace) -> str:
    """Return links past the bar and past the lists before a tree, shown when the Tab key reaches them."""
    ways = [("Skip to the page", ".main-content")]
    if place.page in _TREES:
        ways.insert(0, ("Skip to the tree", ".tp-node[tabindex='0']"))
    return "".join(write_element("a", word, class_="tp-skip", href="#", data_skip=selector) for word, selector in ways)


def _draw_page_links(place: VisitorPlace) -> str:
    links = (
        write_element(
            "a",
            f"{draw_icon(page.mark)}<span>{page.title}</span>",
            href=f"?page={page.name}",
            data_do="go",
            data_page=page.name,
            data_go=True,
            title=page.help,
            aria_current="page" if page.name == place.page else None,
        )
        for page in PAGES
        if place.predicts or not page.of_classes or page.name == place.page
    )
    return f'<nav class="tp-nav" aria-label="Pages">{"".join(links)}</nav>'


def _draw_run(place: VisitorPlace, everyone: Sequence[RunFacts], state: Callable[[int], str]) -> str:
    run = place.run
    chooser = _draw_run_choice(place, everyone, state)
    if run is None:
        return chooser
    ahead = estimate_seconds_left(run.minibatch, run.planned, run.seconds) if place.state == "running" else None
    rest = f'<span class="tp-left">{format_span(ahead)} left</span>' if ahead is not None else ""
    pin = write_element(
        "button", escape(place.pinned), class_="tp-pin", data_do="live", title="Go back to the newest snapshot"
    )
    widths = f'<span class="tp-left tp-widths" title="Topics of every layer">{"-".join(map(str, run.layers))}</span>'
    return (
        f"{chooser}{draw_state(place.state, run.request)}{_draw_origin(run, everyone)}"
        f"{widths}{rest}{pin if place.pinned else ''}"
        f"{_draw_buttons(run, place.state, bare=place.bare)}"
    )


def _draw_run_choice(place: VisitorPlace, everyone: Sequence[RunFacts], state: Callable[[int], str]) -> str:
    """Return the choice of a run, if there are runs; if not all are in it, its last entry leads to their list."""
    if not everyone:
        return ""
    offered = select_runs(everyone, state, place.run.number if place.run else 0)
    entries: list[tuple[object, str]] = [*list_run_entries(offered)]
    if place.run is None:
        entries.insert(0, ("", "Choose a run"))
    if len(offered) < len(everyone) and place.page != "runs":
        entries.append(("all", f"All {len(everyone):,} runs …"))
    options = draw_options(entries, place.run.number if place.run else "")
    return write_element("select", options, class_="tp-chooser", aria_label="Run", data_change="run")


def _draw_origin(run: RunFacts, everyone: Sequence[RunFacts]) -> str:
    """Return where a fork comes from, in short; the parent is a link while it exists."""
    gone = all(other.number != run.parent for other in everyone)
    sentence = describe_lineage(run.parent, run.parent_minibatch, gone=gone)
    if not sentence:
        return ""
    short = f"{draw_icon('fork')}<span>from run </span>{run.parent}"
    if gone:
        return write_element("span", short, class_="tp-left tp-origin", title=sentence.capitalize())
    return write_element(
        "button",
        short,
        class_="tp-left tp-origin",
        data_do="run",
        data_value=run.parent,
        title=f"{sentence.capitalize()}: show that run",
        aria_label=f"{sentence}: show that run",
    )


def _draw_buttons(run: RunFacts, state: str, *, bare: bool) -> str:
    fork = write_element(
        "button",
        draw_icon("fork"),
        class_="tp-plain tp-act",
        data_do="fork",
        data_run=run.number,
        title=NO_FORK if bare else FORK,
        disabled=bare,
        aria_label=f"continue run {run.number} as ...",
    )
    return fork + draw_verb_buttons(run, state, "tp-plain tp-act")


def _draw_progress_line(place: VisitorPlace) -> str:
    run = place.run
    done = measure_progress(run.minibatch, run.planned) if run is not None else 0.0
    kind = "tp-moving" if place.state == "running" else ""
    return f'<div class="tp-line {kind}" aria-hidden="true"><i style="width:{100 * done:.2f}%"></i></div>'


def _draw_trouble(trouble: str) -> str:
    return (
        f'<div class="tp-trouble" role="alert">{draw_icon("alert")}{escape(trouble)}{_AGAIN}</div>' if trouble else ""
    )


_MARK = (
    '<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><g fill="none" stroke="#8FD9B6" '
    'stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round">'
    '<path d="M16 29V8M16 22l-7-6M16 18l7-6M9 16V11M23 12V8"/></g>'
    '<g fill="#8FD9B6"><circle cx="16" cy="6" r="3.4"/><circle cx="9" cy="9.5" r="2.6"/>'
    '<circle cx="23" cy="6.5" r="2.6"/></g>'
    '<path d="M10.5 29h11" stroke="#E69F00" stroke-width="2.4" stroke-linecap="round"/></svg>'
)
