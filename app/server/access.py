"""Who may come in: passwords, the cookie that remembers a login, and the pace at which passwords may be tried.

Without a password the server answers on this machine only, and everybody there is an analyst.  With one, a rule before
all others turns away every request, websockets and uploads among them, that brings no cookie signed by this server.
A session belongs to the login that began it, and the role of that login is looked up before every change.
"""

import hashlib
import hmac
import ipaddress
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tornado.httputil import HTTPServerRequest
from tornado.web import create_signed_value, decode_signed_value

from app.live.visitor import Role, Visitor
from app.server.attempts import Attempts
from app.server.logins import EVERYBODY, Logins
from app.server.ports import ServeError

LEAST_LETTERS = 8
MOST_LETTERS = 1000
DAYS = 7.0  # after which a login ends
VARIABLE = "TOPIARY_PASSWORD"
MOST_SESSIONS = 60  # open views of one login
MOST_OF_ALL = 500  # open views of all visitors
_LOGGED_OUT = "You have logged out"
_ENDED = "Your login has ended"


@dataclass(frozen=True)
class Passwords:
    """The passwords of a server; empty where there is none.

    Attributes
    ----------
    analyst, viewer : str
        What analysts, and what those who only look, come in with.
    """

    analyst: str = field(default="", repr=False)
    viewer: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.analyst)

    def role_of(self, typed: str) -> Role | None:
        """Whose password was typed, in the same time for every text; None where it is nobody's."""
        known: dict[Role, str] = {"analyst": self.analyst, "viewer": self.viewer}
        same = {role: _same(typed, password) and bool(password) for role, password in known.items()}
        return next((role for role, is_same in same.items() if is_same), None)


def read_passwords(
    analyst: str | None,
    viewer: str | None,
    environment: Mapping[str, str] = os.environ,
    warn: Callable[[str], None] = print,
) -> Passwords:
    """Read the passwords that a server was started with.

    Parameters
    ----------
    analyst, viewer : str or None
        Paths of the files whose first line is a password.
    environment : mapping
        Where TOPIARY_PASSWORD is looked for when there is no file.
    warn : (sentence) -> None
        Called when others can read a file.

    Raises
    ------
    ServeError
        When a password cannot be read, is too short, or is the same for both.
    """
    first = _read(analyst, warn) if analyst is not None else environment.get(VARIABLE, "")
    second = _read(viewer, warn) if viewer is not None else ""
    for password, where in ((first, analyst or f"the environment variable {VARIABLE}"), (second, viewer)):
        if password and not LEAST_LETTERS <= len(password) <= MOST_LETTERS:
            raise ServeError(f"the password in {where} must have {LEAST_LETTERS} to {MOST_LETTERS} characters")
    if second and not first:
        raise ServeError(
            "viewers have a password but analysts have none; give theirs with --password-file FILE or in "
            f"the environment variable {VARIABLE}"
        )
    if first and first == second:
        raise ServeError("the passwords of analysts and viewers are the same; give viewers another one")
    return Passwords(first, second)


def check_open_address(address: str, passwords: Passwords, *, insecure: bool) -> None:
    """Refuse to listen beyond this machine without a password.

    Raises
    ------
    ServeError
        Unless there is a password or ``insecure`` was asked for.
    """
    if not (passwords or insecure or is_loopback(address)):
        raise ServeError(
            f"whoever reaches {address} could change and delete everything; give a password with --password-file FILE "
            f"or in the environment variable {VARIABLE}, or allow it to everybody with --insecure"
        )


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class Authentication:
    """Lets visitors in and remembers them.

    Parameters
    ----------
    passwords : Passwords
        Without one everybody is an analyst.

    Attributes
    ----------
    attempts : Attempts
        Wrong passwords so far.
    """

    def __init__(self, passwords: Passwords = Passwords()) -> None:
        self._passwords = passwords
        self._secret = secrets.token_hex(32)
        self.cookie = f"topiary_login_{secrets.token_hex(4)}"  # servers on other ports of a host share its cookies
        self.attempts = Attempts()
        self._logins = Logins(None if passwords else "analyst")

    @property
    def guarded(self) -> bool:
        """Whether a password is asked for."""
        return bool(self._passwords)

    @property
    def has_viewers(self) -> bool:
        """Whether there is a password of viewers."""
        return bool(self._passwords.viewer)

    def log_in(self, typed: str) -> tuple[Role, str] | None:
        """The role that a password gives, and the value of the cookie that proves it; None for a wrong one."""
        role = self._passwords.role_of(typed)
        if role is None:
            return None
        return role, create_signed_value(self._secret, self.cookie, f"{role}:{self._logins.begin(role)}").decode()

    def log_out(self, cookie: str | None) -> None:
        """End the login that a cookie proves, with the sessions of all tabs that came in with it."""
        self._logins.log_out(self._login(cookie))

    def forget(self, cookie: str) -> None:
        """End a login whose days are over."""
        self._logins.forget(self._login(cookie, days=2 * DAYS))

    def attend(self, login: str, end: Callable[[], None]) -> Callable[[], None]:
        """Call ``end()`` when the login of a session ends; return a function that cancels this."""
        return self._logins.attend(login, end)

    def role_of(self, cookie: str | None) -> Role | None:
        """Return the role that a cookie of the name :attr:`cookie` proves, or None."""
        return self._logins.role_of(self._login(cookie))

    def role_of_login(self, login: str) -> Role | None:
        """Return the role that a login gives at this moment; None when it has ended."""
        return self._logins.role_of(login)

    def why_out(self, cookie: str | None) -> str:
        """Why whoever brings a cookie is not in, as the first half of a sentence."""
        return _LOGGED_OUT if self._logins.logged_out(self._login(cookie)) else _ENDED

    def why_full(self, login: str) -> str:
        """Return a sentence when a login may not open another session, else an empty text."""
        if self.guarded and self._logins.sessions_of(login) >= MOST_SESSIONS:
            return f"You have {MOST_SESSIONS} views open, and there can be no more; close some, then reload."
        if self._logins.all_sessions() >= MOST_OF_ALL:
            return f"This server has {MOST_OF_ALL} views open, and there can be no more; try again in a few minutes."
        return ""

    def role_in(self, request: HTTPServerRequest) -> Role | None:
        """The role of a request."""
        return self.role_of(self.brought(request))

    def login_in(self, request: HTTPServerRequest) -> str:
        """Return the name of the login that a request proves, or an empty text."""
        return self._login(self.brought(request))

    def brought(self, request: HTTPServerRequest) -> str | None:
        """The cookie of a request, None where there is none."""
        found = request.cookies.get(self.cookie)
        return found.value if found else None

    def visitor(self, login: str, address: str) -> Visitor:
        """Return the visitor of a session; without an open login it is a viewer."""
        find_role = partial(self.role_of_login, login)
        return Visitor(find_role() or "viewer", address, login, find_role)

    def who_brings(self, cookie: str | None, address: str) -> Visitor:
        """Return the visitor whose browser sent a cookie."""
        return self.visitor(self._login(cookie), address)

    def _login(self, cookie: str | None, days: float | None = None) -> str:
        """The name of the login that a cookie proves, empty where it proves none."""
        if not self.guarded:
            return EVERYBODY
        most = DAYS if days is None else days
        found = decode_signed_value(self._secret, self.cookie, cookie or "", max_age_days=most)
        return found.decode("utf-8", "replace").partition(":")[2] if found else ""


def _read(path: str, warn: Callable[[str], None]) -> str:
    file = Path(path).expanduser()
    try:
        with file.open(encoding="utf-8") as opened:
            password = opened.readline(MOST_LETTERS + 2).strip()
            mode = os.fstat(opened.fileno()).st_mode
    except (OSError, UnicodeDecodeError, ValueError) as error:
        cause = getattr(error, "strerror", None) or "it is no text"
        raise ServeError(f"the password file {path} cannot be read: {cause}; its first line is the password") from error
    if not password:
        raise ServeError(f"the first line of the password file {path} is empty; write the password there")
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        warn(f"Note: other users of this machine may read the password file {path}; chmod 600 {path} ends that")
    return password


def _same(typed: str, password: str) -> bool:
    """Whether two texts are the same; hashes have one length, so the time taken tells nothing."""
    one, other = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (typed, password))
    return hmac.compare_digest(one, other)
