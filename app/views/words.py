"""Numbers, times and states as people read them."""

import math

STATES = {
    "queued": "waiting",
    "running": "training",
    "paused": "paused",
    "stopped": "stopped",
    "finished": "finished",
    "failed": "failed",
    "silent": "silent",
    "damaged": "damaged",
}


MODELS = {
    "sdatm": "sDATM",
    "lda-gibbs": "LDA (Gibbs)",
    "lda-cavi": "LDA (coordinate ascent)",
    "lda-svi": "LDA (stochastic variational)",
    "deep-exp-family": "Deep exponential family",
    "double-def": "Double DEF",
}
INFERENCES = {"tlasgr": "TLASGR-MCMC", "sgrld": "SGRLD", "sgnht": "SGNHT", "gibbs": "Gibbs"}


def model(name: str) -> str:
    """The name of a model as its paper writes it: ``DLDA``, ``sDATM``."""
    return MODELS.get(name, name.upper())


def inference(model: str, name: str) -> str:
    """How topics are moved, as papers write it; empty where the model has one way only, or chooses it itself."""
    return "" if name in ("", "auto", model) else INFERENCES.get(name, name.upper())


def number(value: float | None, digits: int = 0) -> str:
    """``1,234`` or ``912.4``; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.{digits}f}"


def perplexity(value: float | None) -> str:
    """One decimal below ten thousand."""
    return number(value, 1 if value is not None and value < 10_000 else 0)


def rate(value: float | None) -> str:
    """Tokens per second, short: ``412 k``, ``1.8 M``."""
    if value is None or not math.isfinite(value):
        return "–"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{float(f'{value / size:.3g}'):,g} {unit}"  # 999,950 is 1,000 k, not 1e+03 k
    return f"{value:,.0f}"


def size(n_bytes: int) -> str:
    """Bytes, short: ``412 MB``, ``1.5 GB``."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if n_bytes >= unit:
            return f"{float(f'{n_bytes / unit:.3g}'):,g} {name}"
    return f"{n_bytes / 1e3:,.0f} kB"


def span(seconds: float | None) -> str:
    """A stretch of time: ``8 s``, ``3 min``, ``2 h 05 min``, ``4 d 3 h``."""
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


def ago(seconds: float | None) -> str:
    """Age: ``just now``, ``12 s ago``."""
    if seconds is None or not math.isfinite(seconds):
        return "never"
    return "just now" if seconds < 2 else f"{span(seconds)} ago"


def state(name: str) -> str:
    """The word for a state."""
    return STATES.get(name, name)


def left(minibatch: int, planned: int, seconds: float) -> float | None:
    """Seconds of training left at the pace so far, None before the first mini-batch and after the last.

    What is judged after the last one takes its time.
    """
    if minibatch <= 0 or minibatch >= planned:
        return None
    return seconds / minibatch * (planned - minibatch)


def progress(minibatch: int, planned: int) -> float:
    """Share of the planned mini-batches done, 0 to 1."""
    return min(1.0, minibatch / planned) if planned > 0 else 0.0


def lineage(parent: int | None, minibatch: int | None, *, gone: bool = False) -> str:
    """Where a run comes from: ``forked from run 3 at mini-batch 2,000``; empty for one of its own."""
    if parent is None:
        return ""
    return f"forked from run {parent} at mini-batch {minibatch or 0:,}" + (" (deleted since)" if gone else "")
