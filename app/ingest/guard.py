"""What goes wrong below a reader, in one sentence: no memory, no right to a file, a disk that fails."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from app.ingest.errors import IngestError
from app.ingest.source import Source, TextSource

T = TypeVar("T")

NO_MEMORY = "needs more memory than this machine has free; import a part of it, or close other programs"


@contextmanager
def refusing(where: Path | str) -> Iterator[None]:
    """Turn what any reader may meet into its refusal.

    Raises
    ------
    IngestError
        In place of what the machine raised.
    """
    try:
        yield
    except MemoryError:
        raise IngestError(where, NO_MEMORY) from None
    except RecursionError:
        raise IngestError(where, "is nested too deeply to be documents; is it damaged?") from None
    except OSError as error:
        name = error.filename if isinstance(error.filename, (str, Path)) else where
        raise IngestError(name, f"cannot be read ({error.strerror or error}); check the path and your rights") from None


def guarded(
    source: Source, where: Path | str, besides: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Source:
    """The source, whose documents are read within `refusing` and ``besides``."""
    if isinstance(source, TextSource):
        return replace(source, documents=partial(_each, source.documents, where, besides))
    return replace(source, blocks=partial(_each, source.blocks, where, besides))


def _each(
    read: Callable[[], Iterator[T]], where: Path | str, besides: Callable[[], AbstractContextManager[None]]
) -> Iterator[T]:
    with refusing(where), besides():
        items = read()
    while True:
        with refusing(where), besides():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def check_links(folder: Path) -> None:
    """Refuse a folder with links that lead out of it: whoever made it would choose which files of yours are read.

    What is hidden is not read, nor looked at here.

    Raises
    ------
    IngestError
        Naming the first of them.
    """
    root = os.path.realpath(folder)
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *names):
            path = os.path.join(here, name)  # noqa: PTH118 - a folder may have a million files, and Path is slow
            if os.path.islink(path) and not _is_inside(os.path.realpath(path), root):  # noqa: PTH114
                cause = "is a link that leads out of the folder; put what it leads to in its place, or remove the link"
                raise IngestError(path, cause)


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
