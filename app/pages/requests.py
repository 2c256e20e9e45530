"""Common parts of the requests of several pages."""

from typing import Generic, TypeVar

Key = TypeVar("Key")


class LatestRequest(Generic[Key]):
    """The latest request of one kind that is under way; a later one takes its place.

    What is asked for while it is under way is not asked for twice, but it may have read the store before the change
    that the second request is about: :attr:`repeated` says that the answer has to be followed by one more request.
    """

    def __init__(self) -> None:
        self._key: Key | None = None
        self._repeated = False

    @property
    def pending(self) -> Key | None:
        """The last request that is not answered yet."""
        return self._key

    @property
    def repeated(self) -> bool:
        """True where the last request was made again while it was under way."""
        return self._repeated

    def begin(self, key: Key) -> bool:
        """Record a request; return False where it is under way already."""
        self._repeated = key == self._key
        if self._repeated:
            return False
        self._key = key
        return True

    def end(self, key: Key) -> bool:
        """Record an answer or an error; return False where something else has been requested since."""
        if key != self._key:
            return False
        self._key = None
        return True

    def forget(self) -> None:
        """Ignore the answer of the request under way."""
        self._key = None
        self._repeated = False
