"""Logins that are open, and the sessions that end with each of them."""

import secrets
from collections.abc import Callable

from app.live.visitor import Role

EVERYBODY = ""  # the login of all visitors where no password is asked for
MOST_LOGINS = 10_000  # open at a time; then the oldest without a session ends


class Logins:
    """Who is in: one entry for each time a password was given, whatever tabs the browser then opens with it.

    Parameters
    ----------
    everybody : {"analyst", "viewer"} or None
        The role of those who gave no password; None where one is asked for.
    """

    def __init__(self, everybody: Role | None = None) -> None:
        self._open: dict[str, Role] = {} if everybody is None else {EVERYBODY: everybody}
        self._logged_out: set[str] = set()  # until forgotten: their browsers are told so
        self._sessions: dict[str, list[Callable[[], None]]] = {}

    def begin(self, role: Role) -> str:
        """Open a login; gives the name that it has from now on."""
        if len(self._open) >= MOST_LOGINS:
            idle = next((name for name in self._open if name not in self._sessions), None)
            if idle is not None:
                self.forget(idle)
        name = secrets.token_hex(16)
        self._open[name] = role
        return name

    def role_of(self, name: str) -> Role | None:
        """The role that a login gives, None where it is not open."""
        return self._open.get(name)

    def sessions_of(self, name: str) -> int:
        """Return how many sessions a login has."""
        return len(self._sessions.get(name, ()))

    def all_sessions(self) -> int:
        """Return how many sessions all logins have."""
        return sum(map(len, self._sessions.values()))

    def logged_out(self, name: str) -> bool:
        """Whether a login was ended by its visitor."""
        return name in self._logged_out

    def attend(self, name: str, end: Callable[[], None]) -> Callable[[], None]:
        """Have ``end()`` called with the end of a login, at once if it is over; gives what takes that back."""
        if name not in self._open:
            end()
            return lambda: None
        self._sessions.setdefault(name, []).append(end)
        return lambda: self._leave(name, end)

    def log_out(self, name: str) -> None:
        """End a login and all its sessions, and remember that its visitor wanted it."""
        if name in self._open and name != EVERYBODY:
            self._logged_out.add(name)
            self._end(name)

    def forget(self, name: str) -> None:
        """End a login whose time is over, and all its sessions."""
        self._end(name)
        self._logged_out.discard(name)

    def _end(self, name: str) -> None:
        self._open.pop(name, None)
        for end in self._sessions.pop(name, []):
            end()

    def _leave(self, name: str, end: Callable[[], None]) -> None:
        sessions = self._sessions.get(name, [])
        if end in sessions:
            sessions.remove(end)
        if not sessions:
            self._sessions.pop(name, None)
