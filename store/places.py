"""Where a store is: addresses of files and servers, and files that only their owner may read."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from store.errors import StoreError


def default_path() -> Path:
    """The store's file in the user's data directory, where each system keeps such files."""
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


def path_of(address: str) -> Path:
    """Return the file that an address means, as a whole path."""
    if "://" not in address:
        return _whole(address)
    name = parse(address).database
    if not name or name == ":memory:":
        raise StoreError(f"{address} is a store in memory, which no other process can see; give a file instead")
    return _whole(name)


def _whole(name: str) -> Path:
    try:
        return Path(name).expanduser().resolve()
    except RuntimeError as error:  # no such user, or links that lead to each other
        raise StoreError(f"the store {name} cannot be found ({error}); write its whole path") from error


def parse(address: str) -> URL:
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
    """Make a new store's file, for its owner only; SQLite gives the files beside it the same rights.

    One that is there keeps the rights it has, for its owner may have opened it to a group; see `close_to_others`.
    """
    with suppress(FileExistsError):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise
        except OSError as error:
            cause = f"({error.strerror or error}); check the path and your rights"
            raise StoreError(f"the store {path} cannot be opened {cause}") from error


def close_to_others(path: Path) -> None:
    """Take away the rights of others once, when the tables change: older versions of Topiary left them as they came."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(OSError):  # not there, or not this user's
            path.with_name(name).chmod(0o600)
