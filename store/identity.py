"""Whether an open store is still the one that was opened, or was deleted or replaced meanwhile.

SQLite goes on reading and writing a file that nobody can find any more, and a path or a server's schema may lead to
another store tomorrow.  So the file is looked at before every transaction, which takes microseconds, and the identity
that every store has drawn for itself is read again every few seconds.
"""

import time
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.exc import OperationalError, ProgrammingError

from store.errors import ReplacedStore
from store.tables import schema_version

LOOK_SECONDS = 2.0


class Identity:
    """Who a store was when it was opened.

    Parameters
    ----------
    place : str
        Its name for people.
    path : Path, optional
        Its file, where it is one.
    """

    def __init__(self, place: str, path: Path | None = None) -> None:
        self.drawn: str | None = None
        self._place = place
        self._path = path
        self._file: tuple[int, int] | None = None
        self._looked = 0.0

    def remember(self, connection: Connection) -> None:
        """From now on, refuse every other store."""
        self.drawn = connection.execute(select(schema_version.c.identity)).scalar()
        self._looked = time.monotonic()
        if self._path is not None:
            self._file = _file(self._path)

    def check_file(self) -> None:
        """Refuse to go on where the file is gone, or is another one.

        Raises
        ------
        ReplacedStore
            With what happened, and what to do.
        """
        if self._path is None or self._file is None:
            return
        now = _file(self._path)
        if now is None:
            raise ReplacedStore(
                f"the store {self._place} was deleted or moved away while it was open; put it back, or end this program"
            )
        if now != self._file:
            raise self._another()

    def check_identity(self, connection: Connection) -> None:
        """Read every few seconds whether the tables are still those of this store.

        Raises
        ------
        ReplacedStore
            When they are those of another store, or there are none.
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
            raise self._another()

    def _another(self) -> ReplacedStore:
        return ReplacedStore(
            f"another store has taken the place of {self._place} since it was opened; end this program and start it "
            "again to use that one"
        )


def _file(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
