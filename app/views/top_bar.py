"""The pages of the app, and the top bar with links to them and the state of the run."""

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any, NamedTuple

from topiary.app.jobs.gallery_progress import GalleryProgress
from topiary.app.views.markup import draw_icon, draw_options, draw_state, list_run_entries, write_element
from topiary.app.views.run_facts import RunFacts, describe_lineage, estimate_seconds_left, format_span, measure_progress
from topiary.app.views.runs.corpus_form import draw_meter
from topiary.app.views.runs.run_list import FORK, NO_FORK, draw_verb_buttons, select_runs
from topiary.app.views.text import escape


class AppPage(NamedTuple):
    """One page of the app.

    Attributes
    ----------
    name : str
        Its name in addresses, as in ``?page=watch``.
    title : str
        Its label in the top bar.
    mark : str
        Its icon in the top bar.
    help : str
        Its purpose, in one phrase.
    built_by : str
        The function that builds the page for a session, as ``module:function``, since views do not import pages.
    of_run : bool
        Whether the page shows a run, so that it is empty without one.
    of_classes : bool
        Whether the page is offered only if the run predicts classes.
    in_bar : bool
        False for a page to which only other pages lead: the bar has it only while it is on screen.
    """

    name: str
    title: str
    mark: str
    help: str
    built_by: str
    of_run: bool = True
    of_classes: bool = False
    in_bar: bool = True

    def builder(self) -> Any:
        """Import the function that builds the page."""
        return resolve_name(f"topiary.app.pages.{self.built_by}")


# fmt: off
PAGES = (
    AppPage("runs", "Runs", "list", "Start, continue and compare runs", "runs:build_runs_page", of_run=False),
    AppPage("watch", "Watch", "pulse", "See a run learn", "watch:build_watch_page"),
    AppPage("explore", "Explore", "tree", "Look into the tree of topics", "explore:build_explore_page"),
    AppPage("classes", "Classes", "target", "See which classes a run predicts", "classes:build_classes_page",
         of_classes=True),
    AppPage("compare", "Compare", "compare", "See how two runs differ", "compare:build_compare_page"),
    AppPage("seeds", "Seeds", "again", "See what comes back in runs with other seeds",
            "seeds:build_seeds_page", in_bar=False),
    AppPage("trends", "Trends", "chart", "See topics over time and by group", "trends:build_trends_page"),
    AppPage("word", "Word", "letter", "See where a word is used", "words:build_word_page", in_bar=False),
    AppPage("documents", "Documents", "page", "Find the topics of a document",
            "documents:build_documents_page"),
    AppPage("guide", "Guide", "book", "Read how everything works", "guide:build_guide_page", of_run=False),
)
# fmt: on
NAMES = tuple(page.name for page in PAGES)
WITHOUT_A_RUN = tuple(page.name for page in PAGES if not page.of_run)


class VisitorPlace(NamedTuple):
    """The page and the run on a visitor's screen.

    Attributes
    ----------
    page : str
    run : row or None
        The selected run.
    state : str
        The state to show.
    pinned : str
        A sentence if an older snapshot is shown, else empty.
    predicts : bool
        Whether the model of the run predicts classes, which have a page of their own.
    bare : bool
        Whether the run has no snapshot yet, so that it cannot be continued.
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
    """Return the top bar as HTML.

    Parameters
    ----------
    place : VisitorPlace
    everyone : sequence of rows
        All runs; the choice of a run offers the first of them.
    state : (run number) -> str
        The state to show for a run.
    trouble : str
        A sentence if the store cannot be read, else empty.
    stay : str
        The role of the visitor, "viewer" or "analyst"; empty if the server has no passwords.
    """
    brand = write_element(
        "a",
        f"{_LOGO}<span>Topiary</span>",
        class_="tp-brand",
        href="?page=runs",
        data_do="go",
        data_page="runs",
        data_go=True,
        aria_label="Topiary",  # narrow windows hide the word
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


def draw_demo_progress(progress: GalleryProgress | None) -> str:
    """Return the strip below the top bar that says how far the demo is; empty if nothing of it is under way."""
    if progress is None:
        return ""
    meter = draw_meter(progress.share, "Progress of the demo")
    sentence = write_element("p", escape(progress.sentence), title=progress.sentence)
    return write_element("section", sentence + meter, class_="tp-demo", aria_label="Demo")


def _draw_session(role: str) -> str:
    """Return the log-out button, labelled with the visitor's role, and analysts' way to log out everywhere."""
    if not role:
        return ""
    hint = "You can look at everything and change nothing" if role == "viewer" else "You may change everything"
    button = write_element("button", f"Log out ({role})", type="submit", class_="tp-left tp-out", title=hint)
    hint = "End the logins of all browsers, of analysts and of viewers"
    more = write_element("a", "everywhere", href="logout", class_="tp-left tp-out", title=hint)
    return write_element("form", button + (more if role == "analyst" else ""), method="post", action="logout")


_RETRY_NOTE = ". It is read again by itself; if this stays, see whether the file or the database is still there."
_TREE_PAGES = ("explore", "compare")  # pages with a tree


def _draw_skip_links(place: VisitorPlace) -> str:
    """Return links that skip the bar, and the lists before a tree; they appear when the Tab key reaches them."""
    links = [("Skip to the page", ".main-content")]
    if place.page in _TREE_PAGES:
        links.insert(0, ("Skip to the tree", ".tp-node[tabindex='0']"))
    return "".join(write_element("a", word, class_="tp-skip", href="#", data_skip=selector) for word, selector in links)


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
        if page.name == place.page or (page.in_bar and (place.predicts or not page.of_classes))
    )
    return f'<nav class="tp-nav" aria-label="Pages">{"".join(links)}</nav>'


def _draw_run(place: VisitorPlace, runs: Sequence[RunFacts], state: Callable[[int], str]) -> str:
    run = place.run
    chooser = _draw_run_choice(place, runs, state)
    if run is None:
        return chooser
    seconds_left = estimate_seconds_left(run.minibatch, run.planned, run.seconds) if place.state == "running" else None
    time_left = f'<span class="tp-left">{format_span(seconds_left)} left</span>' if seconds_left is not None else ""
    pin = write_element(
        "button", escape(place.pinned), class_="tp-pin", data_do="live", title="Go back to the newest snapshot"
    )
    widths = f'<span class="tp-left tp-widths" title="Topics of every layer">{"-".join(map(str, run.layers))}</span>'
    return (
        f"{chooser}{draw_state(place.state, run.request)}{_draw_origin(run, runs)}"
        f"{widths}{time_left}{pin if place.pinned else ''}"
        f"{_draw_buttons(run, place.state, bare=place.bare)}"
    )


def _draw_run_choice(place: VisitorPlace, runs: Sequence[RunFacts], state: Callable[[int], str]) -> str:
    """Return the choice of a run, empty without runs; its last entry leads to the list if it does not offer all."""
    if not runs:
        return ""
    offered = select_runs(runs, state, place.run.number if place.run else 0)
    entries: list[tuple[object, str]] = [*list_run_entries(offered)]
    if place.run is None:
        entries.insert(0, ("", "Choose a run"))
    if len(offered) < len(runs) and place.page != "runs":
        entries.append(("all", f"All {len(runs):,} runs …"))
    options = draw_options(entries, place.run.number if place.run else "")
    return write_element("select", options, class_="tp-chooser", aria_label="Run", data_change="run")


def _draw_origin(run: RunFacts, runs: Sequence[RunFacts]) -> str:
    """Return the parent of a fork, as a link while that exists; empty for other runs."""
    gone = all(other.number != run.parent for other in runs)
    sentence = describe_lineage(run.parent, run.parent_minibatch, gone=gone)
    if not sentence:
        return ""
    content = f"{draw_icon('fork')}<span>from run </span>{run.parent}"
    if gone:
        return write_element("span", content, class_="tp-left tp-origin", title=sentence.capitalize())
    return write_element(
        "button",
        content,
        class_="tp-left tp-origin",
        data_do="run",
        data_value=run.parent,
        title=f"{sentence.capitalize()}: show that run",
        aria_label=f"{sentence}: show that run",
    )


def _draw_buttons(run: RunFacts, state: str, *, bare: bool) -> str:
    fork = write_element(
        "button",
        f"{draw_icon('fork')}<span>Continue</span>",
        class_="tp-plain tp-act tp-named",
        data_do="fork",
        data_run=run.number,
        title=NO_FORK if bare else FORK,
        disabled=bare,
        aria_label=f"Continue run {run.number} as ...",
    )
    return fork + draw_verb_buttons(run, state, "tp-plain tp-act")


def _draw_progress_line(place: VisitorPlace) -> str:
    run = place.run
    done = measure_progress(run.minibatch, run.planned) if run is not None else 0.0
    kind = "tp-moving" if place.state == "running" else ""
    return f'<div class="tp-line {kind}" aria-hidden="true"><i style="width:{100 * done:.2f}%"></i></div>'


def _draw_trouble(trouble: str) -> str:
    return (
        f'<div class="tp-trouble" role="alert">{draw_icon("alert")}{escape(trouble)}{_RETRY_NOTE}</div>'
        if trouble
        else ""
    )


_LOGO = (
    '<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><g fill="none" stroke="#8FD9B6" '
    'stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round">'
    '<path d="M16 29V8M16 22l-7-6M16 18l7-6M9 16V11M23 12V8"/></g>'
    '<g fill="#8FD9B6"><circle cx="16" cy="6" r="3.4"/><circle cx="9" cy="9.5" r="2.6"/>'
    '<circle cx="23" cy="6.5" r="2.6"/></g>'
    '<path d="M10.5 29h11" stroke="#E69F00" stroke-width="2.4" stroke-linecap="round"/></svg>'
)
