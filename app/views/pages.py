"""The table of pages: the top bar, the address, what is shown without a run and the guide read it; a page is a line."""

from pkgutil import resolve_name
from typing import Any, NamedTuple


class Page(NamedTuple):
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
        What it is for, in one sentence.
    built_by : str
        Where the function is that builds it for a session's context, ``module:function``; it stands above this room.
    of_run : bool
        Whether it shows a run, so that there is nothing to see without one.
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
    Page("runs", "Runs", "list", "Start, continue and compare runs", "app.pages.runs:build_runs_page", of_run=False),
    Page("watch", "Watch", "pulse", "See a run learn", "app.pages.watch:build_watch_page"),
    Page("explore", "Explore", "tree", "Look into the tree of topics", "app.pages.explore:build_explore_page"),
    Page("classes", "Classes", "target", "See which classes a run predicts", "app.pages.classes:build_classes_page",
         of_classes=True),
    Page("compare", "Compare", "compare", "See how two runs differ", "app.pages.compare:build_compare_page"),
    Page("documents", "Documents", "page", "Place documents in the tree", "app.pages.documents:build_documents_page"),
    Page("guide", "Guide", "book", "Read how everything works", "app.pages.guide:build_guide_page", of_run=False),
)
# fmt: on
NAMES = tuple(page.name for page in PAGES)
WITHOUT_A_RUN = tuple(page.name for page in PAGES if not page.of_run)
