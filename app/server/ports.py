"""The port of the server; quick to import, so that a taken port is reported before anything else starts."""

import socket
import sys

USUAL_PORT = 5006
TRIED_PORTS = 20  # from USUAL_PORT on, if no port is given
LAST_PORT = 65_535


class ServeError(Exception):
    """An error: the server cannot start; its message is one sentence for the user."""


def choose_port(address: str, port: int | None) -> int:
    """Return the port to listen on: ``port`` itself, any free port for 0, the first free one from 5006 for None.

    Raises
    ------
    ServeError
        When the port is taken, or there is no such port or address.
    """
    if port is not None and not 0 <= port <= LAST_PORT:
        raise ServeError(f"a port is a number from 0 to {LAST_PORT}; got {port}")
    free = _find_free(address)
    if port == 0:
        return free
    if port is not None:
        if not _is_free(address, port):
            raise ServeError(
                f"port {port} of {address} is taken; choose another with --port, or --port 0 for any free one"
            )
        return port
    for candidate in range(USUAL_PORT, USUAL_PORT + TRIED_PORTS):
        if _is_free(address, candidate):
            return candidate
    raise ServeError(
        f"ports {USUAL_PORT} to {USUAL_PORT + TRIED_PORTS - 1} of {address} are all taken; choose one with --port"
    )


def _find_free(address: str) -> int:
    with _open_probe(address) as probe:
        try:
            probe.bind((address, 0))
        except (OSError, UnicodeError):
            raise ServeError(
                f"this machine cannot listen at the address {address!r}; choose another with --address, or leave it out"
            ) from None
        return int(probe.getsockname()[1])


def _is_free(address: str, port: int) -> bool:
    with _open_probe(address) as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _open_probe(address: str) -> socket.socket:
    probe = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":  # on Windows this option would let two servers share a port
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return probe
