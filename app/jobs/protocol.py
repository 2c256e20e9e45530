"""How the topics of a moment are judged: the same test documents and sweeps at every point of a run's curve.

A run keeps its protocol in its row (:class:`app.jobs.plan.RunOptions`), so whoever shows a point perplexity can say
beside it what it is of.
"""

from dataclasses import dataclass
from typing import Any

from engine.contract import Sweeps
from engine.hierarchy.evaluate import POINT, SHORT

EVALUATED_TOKENS = 50_000  # of the test documents behind a point perplexity, all together
LEAST_SCORED = 16
OBSERVED = 0.8
PAPER_WORDS = f"test perplexity ({POINT.burn_in + POINT.collect} sweeps, all test documents)"


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What a point perplexity is of.

    Attributes
    ----------
    documents : int
        Test documents that are judged, the first ones of an order that the corpus fixes.
    burn_in, collect, thin : int
        Sweeps of their local chains: unused, kept, and every how many of those.
    observed : float or None
        Part of the tokens of each document that the model reads; None where the corpus says which tokens are held out.
    """

    documents: int
    burn_in: int = SHORT.burn_in
    collect: int = SHORT.collect
    thin: int = SHORT.thin
    observed: float | None = OBSERVED

    @property
    def sweeps(self) -> Sweeps:
        """How long the local chains run."""
        return Sweeps(self.burn_in, self.collect, self.thin)

    def __str__(self) -> str:
        """Say it: ``20 + 20 sweeps, 312 test documents, 80 % of each observed``."""
        sweeps = f"{self.burn_in} + {self.collect} sweeps"
        held = "the words held out by the corpus" if self.observed is None else f"{self.observed:.0%} of each observed"
        return f"{sweeps}, {self.documents:,} test documents, {held.replace('%', ' %')}"


def protocol_words(run: Any) -> str:
    """Say what the point perplexity of a run is of."""
    protocol = run.options.get("protocol")
    if protocol is not None:
        return str(Protocol(**protocol))
    damaged = getattr(run, "unusable", False)
    return f"how it was judged is not known{', as its row in the store is damaged' if damaged else ''}"


def protocol_of(tokens_per_document: float, test_documents: int, *, has_scored: bool = False) -> Protocol:
    """The protocol of every new run on a corpus: test documents of about ``EVALUATED_TOKENS`` tokens.

    Parameters
    ----------
    tokens_per_document : float
        Mean over the corpus.
    test_documents : int
    has_scored : bool
        Whether the corpus says which tokens are held out.
    """
    documents = min(test_documents, max(LEAST_SCORED, int(EVALUATED_TOKENS / tokens_per_document)))
    return Protocol(documents=documents, observed=None if has_scored else OBSERVED)
