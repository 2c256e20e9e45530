"""What the requests of several pages have in common."""

from typing import Generic, TypeVar

Key = TypeVar("Key")


class LatestRequest(Generic[Key]):
    """Which request of one kind is under way; a later one takes its place.

    What is asked for while it is under way is not asked for twice, but it may have read the store before the change
    that the second request is about: :attr:`repeated` says that the answer has to be followed by one more request.
    """

    def __init__(self) -> None:
        self._key: Key | None = None
        self._repeated = False

    @property
    def pending(self) -> Key | None:
        """What was asked for last and is not answered yet."""
        return self._key

    @property
    def repeated(self) -> bool:
        """Whether the last request was asked for again while it was under way."""
        return self._repeated

    def begin(self, key: Key) -> bool:
        """Note that something is asked for; False where it is under way already."""
        self._repeated = key == self._key
        if self._repeated:
            return False
        self._key = key
        return True

    def end(self, key: Key) -> bool:
        """Note that an answer or an error came; False where something else was asked for since."""
        if key != self._key:
            return False
        self._key = None
        return True

    def forget(self) -> None:
        """Take no interest in whatever is under way."""
        self._key = None
        self._repeated = False
