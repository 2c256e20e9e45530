"""Who visits: an analyst, who may change the store, or a viewer, who only looks."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["analyst", "viewer"]


class NotAllowed(ValueError):  # noqa: N818 - what a visitor is told, and no fault of the program
    """A viewer asked for a change; the message is one sentence for the visitor."""


@dataclass(frozen=True)
class Visitor:
    """Who a session belongs to.

    Attributes
    ----------
    role : {"analyst", "viewer"}
    address : str
        Where the browser is, as the server sees it; empty where nobody knows.
    """

    role: Role = "analyst"
    address: str = ""

    @property
    def only_looks(self) -> bool:
        """Whether changes are refused."""
        return self.role != "analyst"

    def __str__(self) -> str:
        """As the log names the visitor."""
        return f"{self.role} in the browser at {self.address or 'an unknown address'}"
