"""Visitors: analysts, who may change the store, and viewers, who may only look."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["analyst", "viewer"]
SHOWN = 6  # letters of a login's name that logs show


class NotAllowed(ValueError):  # noqa: N818 - a sentence for the visitor, no fault of the program
    """The error that a viewer requested a change; the message is one sentence for the visitor."""


@dataclass(frozen=True)
class Visitor:
    """The visitor that a session belongs to.

    Attributes
    ----------
    role : {"analyst", "viewer"}
        The role at the beginning of the session, which the page shows.
    address : str
        The browser's address, as the server sees it; empty where it is not known.
    login : str
        The name of the login; empty where no password was asked for.
    find_role : () -> role or None
        Looks up the current role; None when the login has ended.  Without it the role does not change.
    """

    role: Role = "analyst"
    address: str = ""
    login: str = ""
    find_role: Callable[[], Role | None] | None = field(default=None, repr=False, compare=False)

    @property
    def role_now(self) -> Role | None:
        """The current role; None when the login has ended."""
        return self.role if self.find_role is None else self.find_role()

    @property
    def only_looks(self) -> bool:
        """True if changes are refused."""
        return self.role_now != "analyst"

    def __str__(self) -> str:
        """Return the visitor's name in the log."""
        login = f" (login {self.login[:SHOWN]})" if self.login else ""
        return f"{self.role} in the browser at {self.address or 'an unknown address'}{login}"
