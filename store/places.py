"""The place of a store, and its identity, which shows whether it was deleted or replaced while it is open."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from topiary.store.errors import ReplacedStore, StoreError
from topiary.store.tables import store_version

NEXT_NAME = "store-2.db"


def find_default_path(*, new: bool = False) -> Path:
    """Return the default file of the store, in the user's data directory of the operating system.

    It is `NEXT_NAME` where that exists, or if ``new``: next to a store from before version 0.1.0, which stays as it is.
    """
    home = Path.home()
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Topiary"
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support" / "Topiary"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "topiary"
    following = folder / NEXT_NAME
    return following if new or following.exists() else folder / "store.db"


def is_file(address: str) -> bool:
    """Return whether an address is a file, not a server."""
    return "://" not in address or address.startswith("sqlite")


def find_path(address: str) -> Path:
    """Return the absolute path of the file that an address names."""
    if "://" not in address:
        return _resolve_path(address)
    name = parse_address(address).database
    if not name or name == ":memory:":
        raise StoreError(f"{address} is a store in memory, which no other process can see; give a file instead")
    return _resolve_path(name)


def _resolve_path(name: str) -> Path:
    """Return the absolute path of a file name."""
    try:
        return Path(name).expanduser().resolve()
    except RuntimeError as error:  # no such user, or links that form a loop
        raise StoreError(f"the store {name} cannot be found ({error}); write its whole path") from error


def parse_address(address: str) -> URL:
    """Return an address as a URL."""
    try:
        return make_url(address)
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"the address of the store cannot be read; write postgresql://user@host/name ({error})"
        ) from error


def make_folder(path: Path) -> None:
    """Make the folder of a new store, accessible to its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"the folder {path.parent} for the store cannot be made: {error.strerror}") from error


def make_file(path: Path) -> None:
    """Make the file of a new store, accessible to its owner only; SQLite gives its other files the same rights.

    An existing file keeps its rights, because its owner may have shared it with a group.
    """
    with suppress(FileExistsError):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise
        except OSError as error:
            cause = f"({error.strerror or error}); check the path and your rights"
            raise StoreError(f"the store {path} cannot be opened {cause}") from error


LOOK_SECONDS = 2.0  # between two reads of the identity


class StoreIdentity:
    """The identity of a store when it was opened, compared with its present one.

    Parameters
    ----------
    place : str
        Name of the store for users.
    path : Path, optional
        File of an SQLite store.
    """

    def __init__(self, place: str, path: Path | None = None) -> None:
        self.drawn: str | None = None
        self._place = place
        self._path = path
        self._file: tuple[int, int] | None = None
        self._looked = 0.0

    def remember(self, connection: Connection) -> None:
        """Record the identity; any other is refused from now on."""
        self.drawn = connection.execute(select(store_version.c.identity)).scalar()
        self._looked = time.monotonic()
        if self._path is not None:
            self._file = _identify_file(self._path)

    def check_file(self) -> None:
        """Check that the file is still there and was not replaced.

        Raises
        ------
        ReplacedStore
            If it is not; the message says what happened and what to do.
        """
        if self._path is None or self._file is None:
            return
        present = _identify_file(self._path)
        if present is None:
            raise ReplacedStore(
                f"the store {self._place} was deleted or moved away while it was open; put it back, or end this program"
            )
        if present != self._file:
            raise self._make_error()

    def check_identity(self, connection: Connection) -> None:
        """Check, at most every few seconds, that the tables are still those of this store.

        Raises
        ------
        ReplacedStore
            If they are those of another store, or there are none.
        """
        if self.drawn is None or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            identities = connection.execute(select(store_version.c.identity)).scalars().all()
        except (OperationalError, ProgrammingError) as error:
            if "store_version" not in str(error.orig):
                raise
            self._looked = 0.0
            raise ReplacedStore(
                f"the tables of the store {self._place} were deleted while it was open; restore them, or end this "
                "program"
            ) from error
        if identities != [self.drawn]:
            self._looked = 0.0
            raise self._make_error()

    def _make_error(self) -> ReplacedStore:
        """Return the error about a store that was replaced."""
        return ReplacedStore(
            f"another store has taken the place of {self._place} since it was opened; end this program and start it "
            "again to use that one"
        )


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers of a file; None if there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
