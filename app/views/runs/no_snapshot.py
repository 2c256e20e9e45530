"""Why there are no topics of a run to be shown yet, and what to do about it: one sentence, the same on every page."""

_OVER = {
    "paused": "is paused before its first snapshot; resume it in the bar above",
    "stopped": "was stopped before its first snapshot; resume it in the bar above",
    "silent": "has fallen silent before its first snapshot; Watch offers to resume it",
    "failed": "failed before its first snapshot; Watch says why, and what may mend it",
    "damaged": "is damaged and has no snapshot; Watch says why, and what may mend it",
    "finished": "finished without a snapshot; start another run on the Runs page",
    "queued": "is waiting for its turn; its first topics appear here a few seconds after it starts",
}


def no_snapshot(run: int, state: str, message: str = "") -> str:
    """Say it of a run without a snapshot.

    Parameters
    ----------
    run : int
    state : str
        The state to show.
    message : str
        What its worker said last, where it trains.
    """
    if state in _OVER:
        return f"Run {run} {_OVER[state]}."
    doing = f" ({message.rstrip('.')})" if message else ""
    return f"Run {run} is on its way{doing}; the first topics appear here with the first snapshot."
