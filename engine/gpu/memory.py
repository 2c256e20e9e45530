"""Lanes and memory of a graphics processor, and its failures in words; nothing here loads a compiler."""

import numpy as np

NAME = "gpu"  # the place of a run whose documents are swept by a graphics processor
FEW = 20_000  # documents, below which all lanes of a warp work on each, as there are too few to fill the device
NARROW = 128  # topics of the widest layer, up to which 8 lanes work on a document
MOST_LANES = 32  # of a document: a warp
USABLE = 0.9  # share of the memory of a device; the rest is for its driver and programs
GO_ON = "resume the run when nothing else uses it, or on the processor by topiary resume RUN --on here"
GONE = ("NO_DEVICE", "DEVICE_UNAVAILABLE", "ECC_UNCORRECTABLE", "NOT_INITIALIZED", "DEINITIALIZED", "SYSTEM_NOT_READY")


class DeviceError(RuntimeError):
    """A device failed; the message is one sentence for users."""


def choose_lanes(widths: tuple[int, ...], n_documents: int) -> int:
    """Return how many lanes work on a document; results depend on it."""
    return 8 if n_documents >= FEW and max(widths) <= NARROW else MOST_LANES


def count_bytes(widths: tuple[int, ...], n_words: int, n_documents: int, n_tokens: int) -> int:
    """Return the memory that sweeps of a corpus take on a device, in bytes."""
    step = 2 * choose_lanes(widths, n_documents)
    padded = [-(-width // step) * step for width in widths]
    token = 2 * 2 + (2 if n_words <= np.iinfo(np.uint16).max + 1 else 4)  # its topic before and after, and its word
    activations = sum(2 * 4 * pad + 4 * width for pad, width in zip(padded[1:], widths[1:], strict=True))
    document = 8 + 8 + 4 + activations + 4 * 4 * len(widths)
    word = 2 * 4 * padded[0] + (4 + 2 * 8 + 4 * 4) * widths[0]  # counts; topics and their means before and after a move
    return n_tokens * token + n_documents * document + n_words * word


def fits(widths: tuple[int, ...], n_words: int, n_documents: int, n_tokens: int, memory: int) -> bool:
    """Return whether the sweeps of a corpus fit in the ``memory`` of a device, with room for its driver."""
    return count_bytes(widths, n_words, n_documents, n_tokens) <= USABLE * memory


def explain_failure(text: str) -> str:
    """Return one sentence for users about an error of the driver."""
    if "OUT_OF_MEMORY" in text:
        return f"the memory of the graphics processor is full; {GO_ON}, or train with fewer topics"
    if any(name in text for name in GONE):
        return f"the graphics processor is lost ({text}); {GO_ON}"
    return f"the graphics processor failed ({text}); {GO_ON}"
