"""The pages of the app, and the top bar with links to them and the state of the run."""

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any, NamedTuple

from topiary.app.jobs.gallery import GalleryProgress
from topiary.app.views.html import render
from topiary.app.views.markup import list_run_entries
from topiary.app.views.runs.run_list import FORK, NO_FORK, list_verbs, select_runs
from topiary.app.views.text import describe_lineage, estimate_seconds_left, format_span, measure_progress
from topiary.store.run_rows import RunRow


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
        The class of the page and its attribute with all that is drawn, as ``module:Class.attribute``, since views do
        not import pages.
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

    def builder(self) -> Callable[[Any], Any]:
        """Import the class of the page, and return what builds it in a session."""
        name, _, root = self.built_by.partition(".")
        kind = resolve_name(f"topiary.app.pages.{name}")
        return lambda context: getattr(kind(context), root)


# fmt: off
PAGES = (
    AppPage("runs", "Runs", "list", "Start, continue and compare runs", "runs:RunsPage.page", of_run=False),
    AppPage("watch", "Watch", "pulse", "See a run learn", "watch:WatchPage.page"),
    AppPage("explore", "Explore", "tree", "Look into the tree of topics", "explore:ExplorePage.page"),
    AppPage("steer", "Steer", "pencil", "Tell the topics what you know", "steer:SteerPage.page", in_bar=False),
    AppPage("classes", "Classes", "target", "See which classes a run predicts", "classes:ClassesPage.board",
         of_classes=True),
    AppPage("compare", "Compare", "compare", "See how two runs differ", "compare:ComparePage.page"),
    AppPage("seeds", "Seeds", "again", "See what comes back in runs with other seeds",
            "seeds:SeedsPage.board", in_bar=False),
    AppPage("trends", "Trends", "chart", "See topics over time and by group", "trends:TrendsPage.board"),
    AppPage("word", "Word", "letter", "See where a word is used", "words:WordPage.board", in_bar=False),
    AppPage("documents", "Documents", "page", "Find the topics of a document",
            "documents:DocumentsPage.page"),
    AppPage("guide", "Guide", "book", "Read how everything works", "guide:GuidePage.page", of_run=False),
)
# fmt: on
NAMES = tuple(page.name for page in PAGES)
WITHOUT_A_RUN = tuple(page.name for page in PAGES if not page.of_run)


class VisitorPlace(NamedTuple):
    """The page and the run on a visitor's screen.

    Attributes
    ----------
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
    run: RunRow | None
    state: str
    pinned: str = ""
    predicts: bool = False
    bare: bool = False


def draw_top_bar(
    place: VisitorPlace,
    everyone: Sequence[RunRow],
    state: Callable[[int], str] = lambda _: "",
    trouble: str = "",
    stay: str = "",
) -> str:
    """Return the top bar as HTML.

    Parameters
    ----------
    everyone : sequence of rows
        All runs; the choice of a run offers the first of them.
    state : (run number) -> str
        The state to show for a run.
    trouble : str
        A sentence if the store cannot be read, else empty.
    stay : str
        The role of the visitor, "viewer" or "analyst"; empty if the server has no passwords.
    """
    run, done, left, origin, gone = place.run, 0.0, "", "", False
    if run is not None:
        done = measure_progress(run.minibatch, run.planned)
        seconds_left = estimate_seconds_left(run.minibatch, run.planned, run.seconds)
        left = "" if seconds_left is None or place.state != "running" else format_span(seconds_left)
        gone = all(other.number != run.parent for other in everyone)
        origin = describe_lineage(run.parent, run.parent_minibatch, gone=gone)
    skips = [("Skip to the tree", ".tp-node[tabindex='0']")] if place.page in _TREE_PAGES else []
    pages = [
        page for page in PAGES if page.name == place.page or (page.in_bar and (place.predicts or not page.of_classes))
    ]
    return render(
        "top_bar.bar", place, [*skips, ("Skip to the page", ".main-content")], pages,
        runs=_list_offered(place, everyone, state), chosen=run.number if run else "", origin=origin, gone=gone,
        left=left, done=done, verb_entries=list_verbs(place.state), fork_tip=NO_FORK if place.bare else FORK,
        role=stay, trouble=trouble,
    )  # fmt: skip


def draw_demo_progress(progress: GalleryProgress | None) -> str:
    """Return the strip below the top bar that says how far the demo is; empty if nothing of it is under way."""
    return "" if progress is None else render("top_bar.demo", progress)


_TREE_PAGES = ("explore", "compare")  # pages with a tree


def _list_offered(place: VisitorPlace, runs: Sequence[RunRow], state: Callable[[int], str]) -> list[tuple[object, str]]:
    """Return the entries of the choice of a run, none without runs; the last leads to the list if some are missing."""
    if not runs:
        return []
    offered = select_runs(runs, state, place.run.number if place.run else 0)
    entries: list[tuple[object, str]] = [*list_run_entries(offered)]
    if place.run is None:
        entries.insert(0, ("", "Choose a run"))
    if len(offered) < len(runs) and place.page != "runs":
        entries.append(("all", f"All {len(runs):,} runs …"))
    return entries
