"""Archives and standard input as files: .zip and .tar are unpacked into a temporary folder, input is copied to one."""

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

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.readers import text_kinds
from topiary.app.ingest.readers.documents import KINDS
from topiary.app.ingest.readers.xml_parsing import find_root

MOST_MEMBERS = 1_000_000
_TARS = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
_LONG_TARS = {".tgz": ".tar.gz", ".tbz2": ".tar.bz2", ".txz": ".tar.xz", ".tzst": ".tar.zst"}
_LONGEST_NAME = 255  # bytes
_BLOCK = tarfile.BLOCKSIZE


class _Member(NamedTuple):
    """A file of an archive: its name in the archive, its declared size in bytes, and its content in pieces."""

    name: str
    size: int
    pieces: Iterable[bytes]


class Unpacked:
    """The content of an archive in a temporary folder, which is deleted together with this object.

    Attributes
    ----------
    path : Path
        The folder, or the only file in it.
    names : tuple of str
        The names of the files in the archive.
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
            self.path = inside[0]  # skip a folder that contains everything else

    def name_members(self, text: str) -> str:
        """Replace the folder's path by the archive's in a sentence that names files."""
        return text.replace(str(self._folder), str(self._archive))


class _CheckedTarStream:
    """A stream of a tar archive that remembers its last block, which is zero unless the archive was cut short."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._end = stream, b""

    def read(self, size: int) -> bytes:
        piece = self._stream.read(size)
        self._end = (self._end + piece)[-_BLOCK:]
        return piece

    def finish(self, path: Path) -> None:
        while self.read(1 << 20):
            pass
        if self._end != bytes(_BLOCK):
            raise IngestError(path, "is a tar archive that is cut short; copy or download it again")


def is_tar(path: Path) -> bool:
    """Return whether the name of a file is that of a tar archive, compressed or not."""
    name = path.name.lower()
    return name.endswith(_TARS) or packing.strip_packing(name).endswith(".tar")


def holds_more_than_texts(path: Path) -> bool:
    """Return whether a .zip contains files other than single documents: tables, records or counts."""
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
    """Write the files of an archive into a folder, and yield their names."""
    remaining = packing.limit_unpacked(archive.stat().st_size)
    members = _read_tar(archive) if is_tar(archive) else _read_zip(archive)
    n_files = 0
    for member in members:
        name = _find_target(member.name, archive)
        if name is None:
            continue
        n_files += 1
        remaining -= member.size
        if remaining < 0 or n_files > MOST_MEMBERS:
            raise _make_size_error(archive)
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
        When the path leads out of the folder, or is not a valid name.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or any(":" in part for part in path.parts[:1]):
        raise IngestError(archive, f"has a member {name[:80]!r} that leads out of it; it is not to be trusted")
    if "\0" in name or any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
        raise IngestError(archive, f"has a member {name[:80]!r} that no file can be called; pack the files again")
    return None if not path.parts or _is_hidden(path) else path


def _make_size_error(archive: Path) -> IngestError:
    """Return the error for an archive that unpacks to too much."""
    cause = "unpacks to far more than an archive of its size should; unpack it yourself if you trust it"
    return IngestError(archive, cause)


def _read_zip(path: Path) -> Iterator[_Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not packing.is_folder(info):
                    yield _Member(info.filename, info.file_size, packing.read_pieces(archive, info, info.file_size))
    except packing.TooLarge:
        raise _make_size_error(path) from None
    except (*packing.UNPACKING, NotImplementedError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _read_tar(path: Path) -> Iterator[_Member]:
    suffix = _LONG_TARS.get(path.suffix.lower())
    try:
        with packing.open_unpacked(path, suffix) as raw:
            stream = _CheckedTarStream(raw)
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


STDIN_NAME = "standard input"  # name of the copied file, and of a corpus without a name
# First bytes of compressed files; suffixes by format, and by kind of bibliography.
_COMPRESSED_STARTS = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))
_FORMAT_SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl", "lines": ".txt", "text": ".zip", "svmlight": ".svmlight"}
_KIND_SUFFIXES = {"bibtex": ".bib", "ris": ".ris", "endnote": ".enw", "wos": ".ciw", "medline": ".nbib"}
_START = 1 << 16  # bytes from which the format is recognised


def name_input(names: Sequence[str]) -> str:
    """Return the name of the input if it is standard input, else an empty text."""
    return STDIN_NAME if list(names) == ["-"] else ""


@contextmanager
def spool_input(names: Sequence[str], form: str | None = None, stream: BinaryIO | None = None) -> Iterator[list[Path]]:
    """Yield the paths of files; ``-`` is standard input, which is copied to a file that exists during the block.

    Parameters
    ----------
    names : sequence of str
    form : str or None
        Name of the format; None = recognise it.
    stream : binary file, optional
        Read instead of standard input.

    Raises
    ------
    IngestError
        When standard input is given with other files, or its format is not recognised.  Errors raised inside the block
        name standard input instead of the copy.
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
    """Copy a stream to a file in a folder, and return its path; the suffix tells the format."""
    start = stream.read(_START)
    if not start.strip():
        raise IngestError(STDIN_NAME, "is empty")
    path = folder / f"{STDIN_NAME}{_guess_suffix(start, form)}"
    with path.open("wb") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
    return path


def _guess_suffix(start: bytes, form: str | None) -> str:
    """Return the suffix of a file that starts with these bytes."""
    packed = next((ending for mark, ending in _COMPRESSED_STARTS if start.startswith(mark)), "")
    if form == "text" and not start.startswith(b"PK\x03\x04"):
        return ".txt" + packed
    if form is not None:
        return _FORMAT_SUFFIXES.get(form, f".{form}") + packed
    if packed:
        raise IngestError(STDIN_NAME, "is compressed; say what is in it with --format")
    if start.startswith(b"PK\x03\x04"):
        return ".zip"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"{"):
        return ".jsonl"
    if kind := text_kinds.find_kind_of_text(text.decode("latin-1")):
        return _KIND_SUFFIXES.get(kind, ".txt")
    if find_root(start) not in ("", "html"):
        return ".xml"
    return ".csv" if _is_table(start) else ".txt"


def _is_table(start: bytes) -> bool:
    """Return whether the first two lines have the same number of some separator, at least one."""
    first, _, rest = start.partition(b"\n")
    second = rest.partition(b"\n")[0]
    return any(first.count(mark) == second.count(mark) > 0 for mark in (b",", b";", b"\t", b"|"))
