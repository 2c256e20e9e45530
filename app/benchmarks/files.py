"""The file that a benchmark keeps its rows in: written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TableError(ValueError):
    """A table cannot go on from this file; the message is one sentence for the user."""


def check_place(path: Path | None) -> None:
    """Refuse a file in which nothing can be kept; asked before hours of measuring, not after them.

    Raises
    ------
    TableError
        When it is a folder, or stands where nobody may write.
    """
    if path is None:
        return
    with _sentence(path):
        if path.is_dir():
            raise TableError(f"{path} is a folder; name a file in it with --json")
        _name_temporary(path).write_bytes(b"")
        _name_temporary(path).unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with _sentence(path):
        _name_temporary(path).write_bytes(content)
        _name_temporary(path).replace(path)


def _name_temporary(path: Path) -> Path:
    return path.with_name(path.name + ".new")


@contextmanager
def _sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cause = f"({error.strerror or error}); name a file in a folder that is there with --json"
        raise TableError(f"{path} cannot be written {cause}") from error
