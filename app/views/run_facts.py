"""Facts about a run, and its numbers, times and states in words."""

import math

from topiary.app.jobs.estimates import Estimate


def format_estimate(estimate: Estimate | None) -> str:
    """Return the value of an estimate as text; a dash if there is none."""
    return "–" if estimate is None else estimate.figure


def name_estimate(estimate: Estimate | None) -> str:
    """Return the name of an estimate; empty if there is none."""
    return "" if estimate is None else estimate.name


def format_number(value: float | None, digits: int = 0) -> str:
    """Return ``1,234`` or ``912.4``; a dash if there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.{digits}f}"


def format_perplexity(value: float | None) -> str:
    """Return a perplexity with one decimal below ten thousand."""
    return format_number(value, 1 if value is not None and value < 10_000 else 0)


def format_rate(value: float | None) -> str:
    """Return tokens per second in short form: ``412 k``, ``1.8 M``."""
    if value is None or not math.isfinite(value):
        return "–"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{float(f'{value / size:.3g}'):,g} {unit}"  # 999,950 is 1,000 k, not 1e+03 k
    return f"{value:,.0f}"


def format_size(n_bytes: int) -> str:
    """Return a number of bytes in short form: ``412 MB``, ``1.5 GB``."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if n_bytes >= unit:
            return f"{float(f'{n_bytes / unit:.3g}'):,g} {name}"
    return f"{n_bytes / 1e3:,.0f} kB"


def format_span(seconds: float | None) -> str:
    """Return a duration: ``8 s``, ``3 min``, ``2 h 05 min``, ``4 d 3 h``."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def format_age(seconds: float | None) -> str:
    """Return an age: ``just now``, ``12 s ago``."""
    if seconds is None or not math.isfinite(seconds):
        return "never"
    return "just now" if seconds < 2 else f"{format_span(seconds)} ago"


def estimate_seconds_left(minibatch: int, planned: int, seconds: float) -> float | None:
    """Return the seconds of training left at the pace so far; None before the first mini-batch and after the last.

    Evaluations after the last mini-batch take more time.
    """
    if minibatch <= 0 or minibatch >= planned:
        return None
    return seconds / minibatch * (planned - minibatch)


def measure_progress(minibatch: int, planned: int) -> float:
    """Return the share of the planned mini-batches done, 0 to 1."""
    return min(1.0, minibatch / planned) if planned > 0 else 0.0


def describe_lineage(parent: int | None, minibatch: int | None, *, gone: bool = False) -> str:
    """Return where a run comes from: ``continues run 3 from step 2,000``; empty if it is no fork."""
    if parent is None:
        return ""
    return f"continues run {parent} from step {minibatch or 0:,}" + (" (deleted since)" if gone else "")
