"""How fast passwords may be tried: after a few wrong ones from one place, ever more slowly."""

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from app.server.proxies import read_address

FREE = 5  # wrong passwords from one place before it has to wait
LONGEST = 900.0  # seconds between two attempts at most
FORGOTTEN = 3600.0  # seconds after its last wrong password in which a place is remembered
PLACES = 10_000  # that are remembered
EVERYBODY = 300  # wrong passwords a minute from all places together; then those wait that never gave the right one


class Attempts:
    """Wrong passwords by the place they came from.

    Parameters
    ----------
    clock : () -> float
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._places: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._recent: deque[float] = deque(maxlen=EVERYBODY)
        self._proven: OrderedDict[str, None] = OrderedDict()  # places from which the right password came

    def wait(self, address: str) -> float:
        """Seconds until a password from an address is looked at again; 0 = now."""
        now, place = self._clock(), _place(address)
        count, last = self._places.get(place, (0, 0.0))
        own = last + _pause(count) - now if count else 0.0
        many = len(self._recent) == EVERYBODY and now - self._recent[0] < 60 and place not in self._proven
        return max(0.0, own, self._recent[0] + 60 - now if many else 0.0)

    def failed(self, address: str) -> None:
        """Count a wrong password."""
        now, place = self._clock(), _place(address)
        count, last = self._places.pop(place, (0, now))
        self._places[place] = (count + 1 if now - last < FORGOTTEN else 1, now)
        if len(self._places) > PLACES:
            self._places.popitem(last=False)
        self._recent.append(now)

    def passed(self, address: str) -> None:
        """Forget the wrong passwords of a place from which the right one came."""
        place = _place(address)
        self._places.pop(place, None)
        self._proven[place] = None
        self._proven.move_to_end(place)
        if len(self._proven) > PLACES:
            self._proven.popitem(last=False)


def _pause(count: int) -> float:
    return 0.0 if count < FREE else min(LONGEST, 2.0 ** min(count - FREE, 20))


def _place(address: str) -> str:
    """One address of IPv4; of IPv6 the network that one customer has."""
    known = read_address(address)
    if known is None:
        return address
    return str(ipaddress.ip_network((known, 64), strict=False)) if known.version == 6 else str(known)
