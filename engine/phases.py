"""How ``inference=auto`` divides a run: mini-batches, sweeps of every training document, or one after the other."""

from engine.contract import Facts

MOST_SWEPT = 30_000_000  # tokens: a sweep takes about two seconds on two cores, its state about 100 MB


def sweeps_after(facts: Facts) -> int | None:
    """Say after how many mini-batches a run of ``auto`` goes on with sweeps; None where it never does.

    From topics that begin as clusters of documents (:mod:`engine.first_topics`) sweeps begin at once: mini-batches
    before them made topics worse on both corpora measured (the guide's page of measurements).  Corpora too large for
    sweeps that take seconds stay with mini-batches.

    Parameters
    ----------
    facts : Facts
        Of the corpus.
    """
    return None if facts.n_tokens > MOST_SWEPT else 0
