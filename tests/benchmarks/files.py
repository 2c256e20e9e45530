"""Files of tables: checked before hours of measuring, and replaced completely or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TableError(ValueError):
    """Raised when a table cannot be written to a file; the message is one sentence for the user."""


def check_file(path: Path | None) -> None:
    """Raise an error if a file cannot be written, before hours of measuring instead of after them.

    Raises
    ------
    TableError
        When the path is a folder, or the file cannot be written.
    """
    if path is None:
        return
    with _translate_os_errors(path):
        if path.is_dir():
            raise TableError(f"{path} is a folder; name a file in it with --json")
        _name_temporary(path).write_bytes(b"")
        _name_temporary(path).unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with _translate_os_errors(path):
        _name_temporary(path).write_bytes(content)
        _name_temporary(path).replace(path)


def _name_temporary(path: Path) -> Path:
    """Return the path of the temporary file that replaces a file when it is complete."""
    return path.with_name(path.name + ".new")


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    """Turn operating system errors into a `TableError`."""
    try:
        yield
    except OSError as error:
        cause = f"({error.strerror or error}); name a file in a folder that is there with --json"
        raise TableError(f"{path} cannot be written {cause}") from error
