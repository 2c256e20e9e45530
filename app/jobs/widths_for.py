"""Widths of the layers proposed from the size of a corpus, where nobody says any."""

WIDTHS = (128, 64, 32, 16)  # of the layer next to the words; each layer above has half as many
DOCUMENTS, TOKENS = 15, 8_000  # that a topic is to have of its own: with fewer, some are leftovers of a few documents


def widths_for(documents: int, tokens: int, n_layers: int = 3) -> tuple[int, ...]:
    """Widths of the layers, from the layer next to the words upwards.

    Parameters
    ----------
    documents, tokens : int
        Of the part of the corpus that is trained on.
    n_layers : int
        How many layers the model has where nobody says.
    """
    first = next((width for width in WIDTHS if documents >= DOCUMENTS * width and tokens >= TOKENS * width), WIDTHS[-1])
    return tuple(max(1, first >> layer) for layer in range(n_layers))


def proposal(widths: tuple[int, ...], documents: int) -> str:
    """Say it: ``32-16-8: proposed for 500 documents``."""
    return f"{'-'.join(map(str, widths))}: proposed for {documents:,} documents"
