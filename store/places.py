"""The place of a store, and its identity: it may be deleted or replaced while it is open."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from store.errors import ReplacedStore, StoreError
from store.tables import schema_version


def find_default_path() -> Path:
    """Return the store's file in the user's data directory, where each system keeps such files."""
    home = Path.home()
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Topiary"
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support" / "Topiary"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "topiary"
    return folder / "store.db"


def is_file(address: str) -> bool:
    """Return whether an address is that of a file, and not of a server."""
    return "://" not in address or address.startswith("sqlite")


def find_path(address: str) -> Path:
    """Return the file that an address means, as a whole path."""
    if "://" not in address:
        return _resolve_path(address)
    name = parse_address(address).database
    if not name or name == ":memory:":
        raise StoreError(f"{address} is a store in memory, which no other process can see; give a file instead")
    return _resolve_path(name)


def _resolve_path(name: str) -> Path:
    try:
        return Path(name).expanduser().resolve()
    except RuntimeError as error:  # no such user, or links that lead to each other
        raise StoreError(f"the store {name} cannot be found ({error}); write its whole path") from error


def parse_address(address: str) -> URL:
    """Read the address of a server."""
    try:
        return make_url(address)
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"the address of the store cannot be read; write postgresql://user@host/name ({error})"
        ) from error


def make_folder(path: Path) -> None:
    """Make the folder of a new store, for its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"the folder {path.parent} for the store cannot be made: {error.strerror}") from error


def make_file(path: Path) -> None:
    """Make a new store's file, for its owner only; SQLite gives its further files the same rights.

    An existing file keeps its rights, because its owner may have opened it to a group; see `restrict_rights`.
    """
    with suppress(FileExistsError):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise
        except OSError as error:
            cause = f"({error.strerror or error}); check the path and your rights"
            raise StoreError(f"the store {path} cannot be opened {cause}") from error


def restrict_rights(path: Path) -> None:
    """Remove the rights of others once, when the tables change: older versions of Topiary did not restrict them."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(OSError):  # not there, or not this user's
            path.with_name(name).chmod(0o600)


LOOK_SECONDS = 2.0


class StoreIdentity:
    """Identity of a store when it was opened.

    Parameters
    ----------
    place : str
        Name of the store for people.
    path : Path, optional
        File of the store, where it is one.
    """

    def __init__(self, place: str, path: Path | None = None) -> None:
        self.drawn: str | None = None
        self._place = place
        self._path = path
        self._file: tuple[int, int] | None = None
        self._looked = 0.0

    def remember(self, connection: Connection) -> None:
        """Record the identity; every other store is refused from now on."""
        self.drawn = connection.execute(select(schema_version.c.identity)).scalar()
        self._looked = time.monotonic()
        if self._path is not None:
            self._file = _identify_file(self._path)

    def check_file(self) -> None:
        """Refuse to go on when the file is gone or was replaced.

        Raises
        ------
        ReplacedStore
            Says what happened and what to do.
        """
        if self._path is None or self._file is None:
            return
        now = _identify_file(self._path)
        if now is None:
            raise ReplacedStore(
                f"the store {self._place} was deleted or moved away while it was open; put it back, or end this program"
            )
        if now != self._file:
            raise self._make_error()

    def check_identity(self, connection: Connection) -> None:
        """Read every few seconds whether the tables are still those of this store.

        Raises
        ------
        ReplacedStore
            If they are those of another store, or there are none.
        """
        if self.drawn is None or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            found = connection.execute(select(schema_version.c.identity)).scalars().all()
        except (OperationalError, ProgrammingError) as error:
            if "schema_version" not in str(error.orig):
                raise
            self._looked = 0.0
            raise ReplacedStore(
                f"the tables of the store {self._place} were deleted while it was open; restore them, or end this "
                "program"
            ) from error
        if found != [self.drawn]:
            self._looked = 0.0
            raise self._make_error()

    def _make_error(self) -> ReplacedStore:
        return ReplacedStore(
            f"another store has taken the place of {self._place} since it was opened; end this program and start it "
            "again to use that one"
        )


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return device and number of the file at a path; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
