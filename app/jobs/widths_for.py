"""Widths of the layers proposed from the size of a corpus, where nobody says any."""

STEPS = (
    (2_000, (128, 64, 32)),
    (800, (64, 32, 16)),
    (250, (32, 16, 8)),
    (0, (16, 8, 4)),
)  # from so many training documents on
USUAL_TOKENS = 40  # a document of fewer says less: messages of ten words count for a quarter each


def widths_for(documents: int, tokens: int) -> tuple[int, ...]:
    """Widths from the layer next to the words upwards: a topic is to have some fifteen documents of its own.

    Parameters
    ----------
    documents, tokens : int
        Of the part of the corpus that is trained on.
    """
    worth = min(documents, tokens // USUAL_TOKENS)
    return next(widths for least, widths in STEPS if worth >= least)


def proposal(widths: tuple[int, ...], documents: int) -> str:
    """Say it: ``32-16-8: proposed for 500 documents``."""
    return f"{'-'.join(map(str, widths))}: proposed for {documents:,} documents"
