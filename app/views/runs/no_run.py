"""What every page that shows a run says where there is none."""

from app.views.icons import icon


def no_run() -> str:
    """The page in a store without a run, with the way to the first one."""
    return (
        '<div class="tp-page-in"><section class="tp-empty"><div><h2>There is no run yet</h2>'
        '<p class="tp-lead">This page shows the topics of a run: start one on the Runs page.</p>'
        f'<p><button class="tp-button tp-strong" data-do="runs">{icon("list")}Go to the Runs page</button></p>'
        "</div></section></div>"
    )


def run_not_here(run: int) -> str:
    """The sentence of a page whose run is not known, in a store that has others or is about to have one.

    Parameters
    ----------
    run : int
        Its number, 0 where none is chosen.
    """
    return f"Looking for run {run} …" if run else "Choose a run in the bar above, or start one on the Runs page."
