"""How ``inference=auto`` divides a run: mini-batches first, then sweeps of every training document.

Mini-batches show topics within seconds and spread the upper layers; sweeps of the whole corpus reach a lower
perplexity.  Measured on seven corpora (the guide's page of measurements), one pass of mini-batches followed by sweeps
is at least as good as either alone, and a longer first phase wins nothing.  Corpora too large for sweeps that take
seconds, and samplers that cannot sweep everything fast, stay with mini-batches.
"""

from engine.contract import Facts

MOST_SWEPT = 30_000_000  # tokens: a sweep takes about two seconds on two cores, the state about 100 MB
MOST_FIRST = 60  # mini-batches before the sweeps: more improve nothing that sweeps do not improve faster


def minibatches_first(facts: Facts, batch_size: int, *, sweeps_pay: bool = True) -> int | None:
    """Say after how many mini-batches a run of ``auto`` goes on with sweeps; None where it never does.

    Parameters
    ----------
    facts : Facts
        Of the corpus.
    batch_size : int
        Documents of a mini-batch.
    sweeps_pay : bool
        Whether the model has the fast sampler, and its widths are given.

    Returns
    -------
    int or None
        One pass over the training documents, at most ``MOST_FIRST``.
    """
    if not sweeps_pay or facts.n_tokens > MOST_SWEPT:
        return None
    return min(max(1, facts.n_documents // batch_size), MOST_FIRST)
