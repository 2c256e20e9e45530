"""Visitors: analysts, who may change the store, and viewers, who may only read it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["analyst", "viewer"]
SHOWN_LETTERS = 6  # of a login's name in logs


class NotAllowed(ValueError):  # noqa: N818 - a sentence for the visitor, no fault of the program
    """An error: a viewer requested a change; its message is one sentence for the visitor."""


@dataclass(frozen=True)
class Visitor:
    """The visitor who opened a session.

    Attributes
    ----------
    role : {"analyst", "viewer"}
        The role at the beginning of the session, which the page shows.
    address : str
        The browser's address as the server sees it; empty if unknown.
    login : str
        The name of the login; empty if the server has no password.
    find_role : () -> role or None
        Looks up the current role, None once the login has ended.  If not given, the role never changes.
    """

    role: Role = "analyst"
    address: str = ""
    login: str = ""
    find_role: Callable[[], Role | None] | None = field(default=None, repr=False, compare=False)

    @property
    def role_now(self) -> Role | None:
        """The current role; None once the login has ended."""
        return self.role if self.find_role is None else self.find_role()

    @property
    def only_looks(self) -> bool:
        """True if changes are refused."""
        return self.role_now != "analyst"

    def __str__(self) -> str:
        """Return the visitor's name for logs."""
        login = f" (login {self.login[:SHOWN_LETTERS]})" if self.login else ""
        return f"{self.role} in the browser at {self.address or 'an unknown address'}{login}"
