"""Archives and standard input as files: .zip and .tar are unpacked into a temporary folder, input is copied."""

import shutil
import sys
import tarfile
import tempfile
import weakref
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

from app.ingest import packing
from app.ingest.errors import IngestError
from app.ingest.readers import text_kinds
from app.ingest.readers.documents import KINDS
from app.ingest.readers.xml_parsing import find_root

MOST_MEMBERS = 1_000_000
_TARS = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
_LONG_TARS = {".tgz": ".tar.gz", ".tbz2": ".tar.bz2", ".txz": ".tar.xz", ".tzst": ".tar.zst"}
_LONGEST_NAME = 255
_BLOCK = tarfile.BLOCKSIZE


class _Member(NamedTuple):
    """A file of an archive: its name there, how large it says it is, and its bytes."""

    name: str
    size: int
    pieces: Iterable[bytes]


class Unpacked:
    """A folder of what an archive holds; it goes with this object.

    Attributes
    ----------
    path : Path
        The folder, or the only file in it.
    names : tuple of str
        The files, as the archive calls them.
    """

    def __init__(self, archive: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="topiary-archive-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._archive, self._folder = archive, folder
        with ExitStack() as undo:
            undo.callback(self._remove)
            self.names = tuple(_extract_files(archive, folder))
            if not self.names:
                raise IngestError(archive, "has no files in it; give an archive with tables, counts or texts")
            undo.pop_all()
        self.path = folder
        while self.path.is_dir() and len(inside := list(self.path.iterdir())) == 1:
            self.path = inside[0]  # a folder that holds everything says nothing

    def name_members(self, text: str) -> str:
        """Return a sentence in which files of the folder are named as members of the archive."""
        return text.replace(str(self._folder), str(self._archive))


class _Watched:
    """A stream that knows how it ended: a tar archive ends with a block of zeros, and one that is cut does not."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._end = stream, b""

    def read(self, size: int) -> bytes:
        found = self._stream.read(size)
        self._end = (self._end + found)[-_BLOCK:]
        return found

    def finish(self, path: Path) -> None:
        while self.read(1 << 20):
            pass
        if self._end != bytes(_BLOCK):
            raise IngestError(path, "is a tar archive that is cut short; copy or download it again")


def is_tar(path: Path) -> bool:
    """Return whether a file is a tar archive, compressed or not, by its name."""
    name = path.name.lower()
    return name.endswith(_TARS) or packing.strip_packing(name).endswith(".tar")


def holds_more_than_texts(path: Path) -> bool:
    """Return whether a .zip has files that are no documents of their own, and may be tables, records or counts."""
    if path.suffix.lower() != ".zip":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = [packing.get_member_path(info) for info in archive.infolist() if not packing.is_folder(info)]
    except (*packing.UNPACKING, NotImplementedError, UnicodeDecodeError):
        return False
    visible = [PurePosixPath(packing.strip_packing(name.name)) for name in names if not _is_hidden(name)]
    if any(name.suffix for name in visible) and any(name.suffix.lower() not in KINDS for name in visible):
        return True
    return text_kinds.find_kind_in_zip(path) is not None


def _is_hidden(name: PurePosixPath) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.parts)


def _extract_files(archive: Path, folder: Path) -> Iterator[str]:
    """Write the files of an archive into a folder; names of those written."""
    left = packing.limit_unpacked(archive.stat().st_size)
    members = _read_tar(archive) if is_tar(archive) else _read_zip(archive)
    n_files = 0
    for member in members:
        name = _find_target(member.name, archive)
        if name is None:
            continue
        n_files += 1
        left -= member.size
        if left < 0 or n_files > MOST_MEMBERS:
            raise _refuse_size(archive)
        target = folder / name
        if target.exists():
            raise IngestError(archive, f"has {str(name)[:80]!r} twice; pack the files again")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            out.writelines(member.pieces)
        yield str(name)


def _find_target(name: str, archive: Path) -> PurePosixPath | None:
    """Return the path that a member is written to; None for a hidden one.

    Raises
    ------
    IngestError
        When it would go out of the folder.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or any(":" in part for part in path.parts[:1]):
        raise IngestError(archive, f"has a member {name[:80]!r} that leads out of it; it is not to be trusted")
    if "\0" in name or any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
        raise IngestError(archive, f"has a member {name[:80]!r} that no file can be called; pack the files again")
    return None if not path.parts or _is_hidden(path) else path


def _refuse_size(archive: Path) -> IngestError:
    cause = "unpacks to far more than an archive of its size should; unpack it yourself if you trust it"
    return IngestError(archive, cause)


def _read_zip(path: Path) -> Iterator[_Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not packing.is_folder(info):
                    yield _Member(info.filename, info.file_size, packing.read_pieces(archive, info, info.file_size))
    except packing.TooLarge:
        raise _refuse_size(path) from None
    except (*packing.UNPACKING, NotImplementedError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _read_tar(path: Path) -> Iterator[_Member]:
    ending = _LONG_TARS.get(path.suffix.lower())
    try:
        with packing.open_unpacked(path, ending) as raw:
            stream = _Watched(raw)
            with tarfile.open(fileobj=cast("BinaryIO", stream), mode="r|") as archive:
                yield from _read_tar_members(archive, path)
            stream.finish(path)
    except (tarfile.TarError, ValueError) as error:
        raise IngestError(path, f"is not a sound tar archive ({error}); copy or download it again") from None


def _read_tar_members(archive: tarfile.TarFile, path: Path) -> Iterator[_Member]:
    for info in archive:
        if info.issym() or info.islnk():
            cause = f"has a link in it, {info.name[:80]!r}, in place of a file; pack the files themselves"
            raise IngestError(path, cause)
        if info.isfile() and (stream := archive.extractfile(info)) is not None:
            yield _Member(info.name, info.size, iter(partial(stream.read, 1 << 20), b""))


STDIN_NAME = "standard input"  # of the file, and of a corpus without a name
_PACKED = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))
_ENDINGS = {"csv": ".csv", "jsonl": ".jsonl", "lines": ".txt", "text": ".zip", "svmlight": ".svmlight"}
_KINDS = {"bibtex": ".bib", "ris": ".ris", "endnote": ".enw", "wos": ".ciw", "medline": ".nbib"}
_START = 1 << 16


def name_input(names: Sequence[str]) -> str:
    """Return what the input is called where its names are not those of files; empty otherwise."""
    return STDIN_NAME if list(names) == ["-"] else ""


@contextmanager
def spool_input(names: Sequence[str], form: str | None = None, stream: BinaryIO | None = None) -> Iterator[list[Path]]:
    """Give the paths of some names; ``-`` is standard input, copied to a file as long as the block lasts.

    Parameters
    ----------
    names : sequence of str
    form : str or None
        Name of the format, where it is given.
    stream : binary file, optional
        In place of standard input.

    Raises
    ------
    IngestError
        When standard input is given with other files, or its content is of no format that is recognised;
        what is wrong inside the block names standard input, and not the copy.
    """
    if "-" not in names:
        yield [Path(name) for name in names]
        return
    if len(names) > 1:
        raise IngestError(STDIN_NAME, "cannot be read together with files; give either")
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        try:
            yield [_copy_input(stream or sys.stdin.buffer, Path(folder), form)]
        except IngestError as error:
            raise IngestError(STDIN_NAME, error.cause.replace(f"{folder}/", ""), error.line) from None


def _copy_input(stream: BinaryIO, folder: Path, form: str | None) -> Path:
    start = stream.read(_START)
    if not start.strip():
        raise IngestError(STDIN_NAME, "is empty")
    path = folder / f"{STDIN_NAME}{_guess_ending(start, form)}"
    with path.open("wb") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
    return path


def _guess_ending(start: bytes, form: str | None) -> str:
    """Return the ending that a file with this beginning would have."""
    packed = next((ending for mark, ending in _PACKED if start.startswith(mark)), "")
    if form == "text" and not start.startswith(b"PK\x03\x04"):
        return ".txt" + packed
    if form is not None:
        return _ENDINGS.get(form, f".{form}") + packed
    if packed:
        raise IngestError(STDIN_NAME, "is compressed; say what is in it with --format")
    if start.startswith(b"PK\x03\x04"):
        return ".zip"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"{"):
        return ".jsonl"
    if kind := text_kinds.find_kind_of_text(text.decode("latin-1")):
        return _KINDS.get(kind, ".txt")
    if find_root(start) not in ("", "html"):
        return ".xml"
    return ".csv" if _is_table(start) else ".txt"


def _is_table(start: bytes) -> bool:
    """Return whether the first two lines have the same separators, and some."""
    first, _, rest = start.partition(b"\n")
    second = rest.partition(b"\n")[0]
    return any(first.count(mark) == second.count(mark) > 0 for mark in (b",", b";", b"\t", b"|"))
