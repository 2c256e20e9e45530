"""What the classes page says while predictions are on their way: what it waits for, and how far that is."""

from app.analysis.predictions import Doing


def predicting(doing: Doing | None, *, mine: bool) -> str:
    """Write the page.

    Parameters
    ----------
    doing : Doing or None
        The prediction that is being computed now.
    mine : bool
        Whether it is the one this page waits for.
    """
    return (
        f'<div class="tp-page-in"><h1>Classes</h1><p class="tp-dim" role="status" aria-busy="true">'
        f"{_sentence(doing, mine=mine)}</p>{_meter(doing) if doing is not None and doing.total else ''}</div>"
    )


def _sentence(doing: Doing | None, *, mine: bool) -> str:
    """Without numbers, so that a screen reader says it once."""
    if doing is None:
        return "Getting the predictions of this snapshot …"
    if not mine:
        return f"One prediction at a time: waiting for that of run {doing.run} …"
    if not doing.total:
        return "Preparing the model. The first time on a machine its kernels are compiled, about 20 s …"
    said = "Predicting the class of every labelled test document, once for this snapshot."
    return f"{said} The first time since the server started, the kernels are loaded before it counts …"


def _meter(doing: Doing) -> str:
    done = f"{doing.done:,} of {doing.total:,} documents"
    return (
        f'<div class="tp-meter tp-running cl-wait" role="progressbar" aria-label="Documents predicted" '
        f'aria-valuemin="0" aria-valuemax="{doing.total}" aria-valuenow="{doing.done}" aria-valuetext="{done}">'
        f'<i style="width:{100 * doing.done / doing.total:.1f}%"></i></div>'
        f'<p class="tp-dim" aria-hidden="true">{done}</p>'
    )
