"""What the program itself is doing before there is a run to look at: one sentence for every page.

The only state of a server process that is not in the store: it is about the process, not about data.
"""

from threading import Lock

_lock = Lock()
_sentence = ""


def post(sentence: str) -> None:
    """Replace the sentence; an empty one takes it away."""
    global _sentence  # noqa: PLW0603 - the one sentence of this process
    with _lock:
        _sentence = sentence


def current() -> str:
    """The sentence to show, or an empty text."""
    with _lock:
        return _sentence
