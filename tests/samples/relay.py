"""A server of PostgreSQL that can be taken away: a relay in front of the real one."""

import contextlib
import socket
import threading

from sqlalchemy import make_url


class Relay:
    """Hands connections on to a server until it is cut; a context.

    Attributes
    ----------
    url : str
        The database by way of the relay.
    """

    def __init__(self, url: str) -> None:
        real = make_url(url)
        self._server = (real.host or "127.0.0.1", real.port or 5432)
        self._ears = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        here = real.set(host="127.0.0.1", port=self._ears.getsockname()[1])
        self.url = here.render_as_string(hide_password=False)
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def cut(self) -> None:
        """End every connection, and take no more."""
        for each in (self._ears, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._ears.accept()
                there = socket.create_connection(self._server)
                self._open += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=_hand_on, args=(one, other), daemon=True).start()


def _hand_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
