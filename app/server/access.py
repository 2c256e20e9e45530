"""Access to the server: passwords, login cookies, open logins, and a limit on wrong passwords.

Without a password the server listens on this machine only (unless ``--insecure`` is given), and every visitor is an
analyst.  With one, every request, websockets and uploads included, must carry a cookie signed by this server.
A session belongs to the login that opened it, and the role of that login is looked up before every change.
"""

import hashlib
import hmac
import ipaddress
import logging
import os
import secrets
import stat
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tornado.httputil import HTTPServerRequest
from tornado.web import create_signed_value, decode_signed_value

from topiary.app.live.actions import Role, Visitor
from topiary.app.server.hosts import ServeError, read_address

log = logging.getLogger("topiary.access")

FREE_ATTEMPTS = 5  # wrong passwords from one place before it has to wait
LONGEST_WAIT = 900.0  # seconds between two attempts at most
FORGOTTEN_AFTER = 3600.0  # seconds from the last wrong password until its place starts again from zero
MOST_PLACES = 10_000  # remembered at a time; the oldest are forgotten first
# Wrong passwords from all places in a minute; at the limit, places that never sent the right one have to wait.
MOST_FAILURES_A_MINUTE = 300


class Attempts:
    """Wrong passwords, counted by place: an IPv4 address, or the network of an IPv6 address.

    Parameters
    ----------
    clock : () -> float
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._places: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._recent: deque[float] = deque(maxlen=MOST_FAILURES_A_MINUTE)
        self._proven: OrderedDict[str, None] = OrderedDict()  # places from which the right password came

    def wait(self, address: str) -> float:
        """Return the seconds until an address may try another password; 0 = now."""
        now, place = self._clock(), _make_place_key(address)
        count, last = self._places.get(place, (0, 0.0))
        own_wait = last + _compute_pause(count) - now if count else 0.0
        too_many = (
            len(self._recent) == MOST_FAILURES_A_MINUTE and now - self._recent[0] < 60 and place not in self._proven
        )
        return max(0.0, own_wait, self._recent[0] + 60 - now if too_many else 0.0)

    def count_failure(self, address: str) -> None:
        """Count a wrong password from an address."""
        now, place = self._clock(), _make_place_key(address)
        count, last = self._places.pop(place, (0, now))
        self._places[place] = (count + 1 if now - last < FORGOTTEN_AFTER else 1, now)
        if len(self._places) > MOST_PLACES:
            self._places.popitem(last=False)
        self._recent.append(now)

    def clear_failures(self, address: str) -> None:
        """Forget the wrong passwords from a place after the right one, and count it as proven."""
        place = _make_place_key(address)
        self._places.pop(place, None)
        self._proven[place] = None
        self._proven.move_to_end(place)
        if len(self._proven) > MOST_PLACES:
            self._proven.popitem(last=False)


def _compute_pause(count: int) -> float:
    return 0.0 if count < FREE_ATTEMPTS else min(LONGEST_WAIT, 2.0 ** min(count - FREE_ATTEMPTS, 20))


def _make_place_key(address: str) -> str:
    """Return the place of an address: an IPv4 address itself, or the /64 network of one customer for IPv6."""
    known = read_address(address)
    if known is None:
        return address
    return str(ipaddress.ip_network((known, 64), strict=False)) if known.version == 6 else str(known)


SHARED_LOGIN = ""  # the login of all visitors of a server without a password
MOST_LOGINS = 10_000  # open at a time; beyond that, the oldest without a session is ended


class Logins:
    """The open logins: one for each time a password was given, shared by all tabs of the browser.

    Parameters
    ----------
    default_role : {"analyst", "viewer"} or None
        The role of visitors without a password; None if the server asks for one.
    """

    def __init__(self, default_role: Role | None = None) -> None:
        self._open: dict[str, Role] = {} if default_role is None else {SHARED_LOGIN: default_role}
        self._logged_out: set[str] = set()  # until they are forgotten, to explain to their visitors why
        self._sessions: dict[str, list[Callable[[], None]]] = {}

    def begin(self, role: Role) -> str:
        """Open a login and return its name."""
        if len(self._open) >= MOST_LOGINS:
            idle = next((name for name in self._open if name not in self._sessions), None)
            if idle is not None:
                self.forget(idle)
        name = secrets.token_hex(16)
        self._open[name] = role
        return name

    def role_of(self, name: str) -> Role | None:
        """Return the role of a login; None if it is not open."""
        return self._open.get(name)

    def count_sessions(self, name: str) -> int:
        """Return how many sessions a login has."""
        return len(self._sessions.get(name, ()))

    def count_all_sessions(self) -> int:
        """Return how many sessions all logins have."""
        return sum(map(len, self._sessions.values()))

    def is_logged_out(self, name: str) -> bool:
        """Return whether a login was ended by its visitor."""
        return name in self._logged_out

    def add_session(self, name: str, end: Callable[[], None]) -> Callable[[], None]:
        """Add a session, closed by ``end()`` when its login ends (now if it has); return a function to remove it."""
        if name not in self._open:
            end()
            return lambda: None
        self._sessions.setdefault(name, []).append(end)
        return lambda: self._leave(name, end)

    def log_out(self, name: str) -> None:
        """End a login and all its sessions, and record that its visitor logged out."""
        if name in self._open and name != SHARED_LOGIN:
            self._logged_out.add(name)
            self._end(name)

    def end_all(self, role: Role | None = None) -> None:
        """End all logins of a role, or of both, with their sessions."""
        for name in [name for name, held in self._open.items() if name != SHARED_LOGIN and role in (None, held)]:
            self._end(name)

    def forget(self, name: str) -> None:
        """End a login that has expired, and all its sessions."""
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


SHORTEST_PASSWORD = 8  # characters
LONGEST_PASSWORD = 1000
DAYS = 7.0  # until a login expires
ENVIRONMENT_VARIABLE = "TOPIARY_PASSWORD"
MOST_SESSIONS = 60  # open at a time by one login
MOST_IN_TOTAL = 500  # sessions open at a time by all visitors
_LOGGED_OUT = "You have logged out"
_ENDED = "Your login has ended"


@dataclass(frozen=True)
class Passwords:
    """The passwords of a server; "" stands for none.

    Attributes
    ----------
    analyst, viewer : str
        The password of analysts, and that of viewers, who can change nothing.
    """

    analyst: str = field(default="", repr=False)
    viewer: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.analyst)

    def role_of(self, typed: str) -> Role | None:
        """Return the role of a password, in constant time; None for a wrong one."""
        known: dict[Role, str] = {"analyst": self.analyst, "viewer": self.viewer}
        same = {role: _is_same_secret(typed, password) and bool(password) for role, password in known.items()}
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
        Environment variables; TOPIARY_PASSWORD is the password of analysts if no file is given.
    warn : (sentence) -> None
        Called if other users of the machine can read a file.

    Raises
    ------
    ServeError
        When a password cannot be read, is too short, or is the same for both.
    """
    first = _read_password(analyst, warn) if analyst is not None else environment.get(ENVIRONMENT_VARIABLE, "")
    second = _read_password(viewer, warn) if viewer is not None else ""
    for password, where in ((first, analyst or f"the environment variable {ENVIRONMENT_VARIABLE}"), (second, viewer)):
        if password and not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise ServeError(f"the password in {where} must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    if second and not first:
        raise ServeError(
            "viewers have a password but analysts have none; give theirs with --password-file FILE or in "
            f"the environment variable {ENVIRONMENT_VARIABLE}"
        )
    if first and first == second:
        raise ServeError("the passwords of analysts and viewers are the same; give viewers another one")
    return Passwords(first, second)


class PasswordFiles:
    """The files that passwords are read from; they may change while the server runs.

    Parameters
    ----------
    analyst, viewer, warn
        As for :func:`read_passwords`.
    """

    def __init__(self, analyst: str | None, viewer: str | None, warn: Callable[[str], None] = print) -> None:
        self._read = partial(read_passwords, analyst, viewer, warn=warn)
        self._paths = [Path(path).expanduser() for path in (analyst, viewer) if path is not None]
        self._seen = [_identify_content(path) for path in self._paths]

    def read(self) -> Passwords:
        """Return the passwords; raise ServeError if they are of no use."""
        return self._read()

    def read_changes(self) -> Passwords | None:
        """Return the passwords if a file has changed since the last call; None if not, or if they are of no use now."""
        seen = [_identify_content(path) for path in self._paths]
        if seen == self._seen:
            return None
        self._seen = seen
        try:
            return self._read()
        except ServeError as error:
            log.warning("%s; until then the password from before is accepted", error)
            return None


def _identify_content(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with the content of a file; None for pipes, which can be read once, and without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


def check_open_address(address: str, passwords: Passwords, *, insecure: bool) -> None:
    """Refuse an address that other machines can reach, if there is no password.

    Raises
    ------
    ServeError
        If there is neither a password nor ``insecure``.
    """
    if not (passwords or insecure or is_loopback(address)):
        raise ServeError(
            f"anyone who reaches {address} can change and delete everything; give a password with --password-file FILE "
            f"or in the environment variable {ENVIRONMENT_VARIABLE}, or allow it to everybody with --insecure"
        )


def is_loopback(address: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class Authentication:
    """The check of passwords and of the cookies that prove a login.

    Parameters
    ----------
    passwords : Passwords
        If there is none, every visitor is an analyst.
    read_changes : () -> Passwords or None
        Returns the passwords if they have changed since it was last called.

    Attributes
    ----------
    attempts : Attempts
        Wrong passwords so far.
    logins : Logins
        The open logins.
    """

    def __init__(
        self, passwords: Passwords = Passwords(), read_changes: Callable[[], Passwords | None] = lambda: None
    ) -> None:
        self._passwords = passwords
        self._read_changes = read_changes
        self._secret = secrets.token_hex(32)
        self.cookie = f"topiary_login_{secrets.token_hex(4)}"  # servers on other ports of a host share its cookies
        self.attempts = Attempts()
        self.logins = Logins(None if passwords else "analyst")

    @property
    def guarded(self) -> bool:
        """True if the server asks for a password."""
        return bool(self._passwords)

    @property
    def has_viewers(self) -> bool:
        """True if viewers have a password of their own."""
        return bool(self._passwords.viewer)

    def update_passwords(self) -> None:
        """Accept the new passwords if they have changed, and end the logins of those that are no longer accepted."""
        changed = self._read_changes()
        if changed is None:
            return
        pairs: dict[Role, tuple[str, str]] = {
            "analyst": (self._passwords.analyst, changed.analyst),
            "viewer": (self._passwords.viewer, changed.viewer),
        }
        self._passwords = changed
        for role, (old, new) in pairs.items():
            if old != new:
                log.warning("the password of %ss was changed; their logins have ended", role)
                self.logins.end_all(role)

    def log_in(self, typed: str) -> tuple[Role, str] | None:
        """Return the role of a password, and the value of the cookie that proves it; None for a wrong one."""
        self.update_passwords()
        role = self._passwords.role_of(typed)
        if role is None:
            return None
        return role, create_signed_value(self._secret, self.cookie, f"{role}:{self.logins.begin(role)}").decode()

    def log_out(self, cookie: str | None) -> None:
        """End the login that a cookie proves, and the sessions of all its tabs."""
        self.logins.log_out(self._read_login(cookie))

    def log_out_everywhere(self, cookie: str | None) -> None:
        """End the login that a cookie proves, and if it is that of an analyst, all others too."""
        is_analyst = self.role_of(cookie) == "analyst"
        self.log_out(cookie)
        if is_analyst:
            self.logins.end_all()

    def forget(self, cookie: str) -> None:
        """End the login of a cookie that has expired."""
        self.logins.forget(self._read_login(cookie, days=2 * DAYS))

    def role_of(self, cookie: str | None) -> Role | None:
        """Return the role that the value of a cookie proves, or None."""
        return self.logins.role_of(self._read_login(cookie))

    def explain_end(self, cookie: str | None) -> str:
        """Return why a cookie is no longer accepted, as the first half of a sentence."""
        return _LOGGED_OUT if self.logins.is_logged_out(self._read_login(cookie)) else _ENDED

    def explain_limit(self, login: str) -> str:
        """Return a sentence if a login may not open another session, else an empty text."""
        if self.guarded and self.logins.count_sessions(login) >= MOST_SESSIONS:
            return f"You have {MOST_SESSIONS} views open, and there can be no more; close some, then reload."
        if self.logins.count_all_sessions() >= MOST_IN_TOTAL:
            return f"This server has {MOST_IN_TOTAL} views open, and there can be no more; try again in a few minutes."
        return ""

    def role_in(self, request: HTTPServerRequest) -> Role | None:
        """Return the role that the cookie of a request proves, or None."""
        return self.role_of(self.find_cookie(request))

    def login_in(self, request: HTTPServerRequest) -> str:
        """Return the name of the login that a request proves, or an empty text."""
        return self._read_login(self.find_cookie(request))

    def find_cookie(self, request: HTTPServerRequest) -> str | None:
        """Return the value of the login cookie of a request; None if it has none."""
        found = request.cookies.get(self.cookie)
        return found.value if found else None

    def make_visitor(self, login: str, address: str) -> Visitor:
        """Return the visitor of a session; without an open login it is a viewer."""
        find_role = partial(self.logins.role_of, login)
        return Visitor(find_role() or "viewer", address, login, find_role)

    def find_visitor(self, cookie: str | None, address: str) -> Visitor:
        """Return the visitor whose browser sent a cookie."""
        return self.make_visitor(self._read_login(cookie), address)

    def _read_login(self, cookie: str | None, days: float | None = None) -> str:
        """Return the name of the login that a cookie proves, or an empty text; ``days`` is how old it may be."""
        if not self.guarded:
            return SHARED_LOGIN
        most = DAYS if days is None else days
        found = decode_signed_value(self._secret, self.cookie, cookie or "", max_age_days=most)
        return found.decode("utf-8", "replace").partition(":")[2] if found else ""


def _read_password(path: str, warn: Callable[[str], None]) -> str:
    file = Path(path).expanduser()
    try:
        with file.open(encoding="utf-8") as opened:
            password = opened.readline(LONGEST_PASSWORD + 2).strip()
            mode = os.fstat(opened.fileno()).st_mode
    except (OSError, UnicodeDecodeError, ValueError) as error:
        cause = getattr(error, "strerror", None) or "it is no text"
        raise ServeError(f"the password file {path} cannot be read: {cause}; its first line is the password") from error
    if not password:
        raise ServeError(f"the first line of the password file {path} is empty; write the password there")
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        warn(f"Note: other users of this machine may read the password file {path}; chmod 600 {path} ends that")
    return password


def _is_same_secret(typed: str, password: str) -> bool:
    """Return whether two texts are equal; their hashes are compared, so that the time taken reveals nothing."""
    one, other = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (typed, password))
    return hmac.compare_digest(one, other)
