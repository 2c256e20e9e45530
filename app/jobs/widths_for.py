"""Widths of the layers proposed from the size of a corpus, where nobody says any."""

WIDTHS = (128, 64, 32, 16)  # of the layer next to the words; each layer above has half as many
DOCUMENTS, TOKENS = (
    15,
    8_000,
)  # that a topic is to have of its own: with fewer, some become leftovers of a few documents


def widths_for(documents: int, tokens: int) -> tuple[int, ...]:
    """Widths of three layers, from the layer next to the words upwards.

    Parameters
    ----------
    documents, tokens : int
        Of the part of the corpus that is trained on.
    """
    first = next((width for width in WIDTHS if documents >= DOCUMENTS * width and tokens >= TOKENS * width), WIDTHS[-1])
    return (first, first // 2, first // 4)


def proposal(widths: tuple[int, ...], documents: int) -> str:
    """Say it: ``32-16-8: proposed for 500 documents``."""
    return f"{'-'.join(map(str, widths))}: proposed for {documents:,} documents"
