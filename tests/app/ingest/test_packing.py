"""Compressed files: read by every ending, refused when damaged, cut or made to fill the disk."""

import bz2
import gzip
import itertools
import lzma
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from ingest_samples import SAMPLES, everything

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions
from topiary.store.database import Database

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.ZstdCompressor().compress,
}  # fmt: skip
KIND = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
BESIDE = ("vocab", "labels", "t10k", "titles", "dict")
FOLDERS = ("text", "captions", "idx", "mtx", "svmlight", "topmost", "octis", "wiki", "wordcounts")
SINGLE = [name for name in SAMPLES if name not in FOLDERS]


def packed_copy(path: Path, ending: str) -> Path:
    """The file in another compression, in its place."""
    with packing.open_file(path) as stream:
        raw = stream.read()
    path.unlink()
    copy = path.with_name(packing.strip_packing(path.name) + ending)
    copy.write_bytes(PACKERS[ending](raw))
    return copy


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize(("name", "ending"), list(zip(SINGLE, itertools.cycle(PACKERS))))
def test_every_reader_of_files_reads_them_compressed(name: str, ending: str, tmp_path: Path, db: Database) -> None:
    options = {"test_share": 0.0, "min_df": 1, "max_df": 1.0}
    path = SAMPLES[name].make(tmp_path)
    plain = import_path(db, path, ImportOptions(name="plain", **options))  # type: ignore[arg-type]
    path = packed_copy(path, ending)
    row = import_path(db, path, ImportOptions(**options))  # type: ignore[arg-type]
    assert row.content_hash == plain.content_hash
    assert row.meta["format"] == name
    assert row.name == path.name.partition(".")[0] or name in ("uci",)


@pytest.mark.parametrize("ending", PACKERS)
def test_a_cut_or_damaged_file_is_refused(ending: str, tmp_path: Path) -> None:
    raw = PACKERS[ending](b"".join(f"line {n * n}\n".encode() for n in range(9_000)))
    path = tmp_path / f"a.txt{ending}"
    for size in (len(raw) - 3, len(raw) // 2, 9):
        path.write_bytes(raw[:size])
        with pytest.raises(IngestError, match=f"the {KIND[ending]} file is cut short"):
            list(packing.read_lines(path))
    path.write_bytes(raw[: len(raw) // 2] + b"\xff" * 40 + raw[len(raw) // 2 + 40 :])
    with pytest.raises(IngestError, match=KIND[ending]):
        list(packing.read_lines(path))
    path.write_bytes(b"no compressed file")
    with pytest.raises(IngestError, match=f"no.? sound {KIND[ending]} file|is not a sound {KIND[ending]} file"):
        list(packing.read_lines(path))


@pytest.mark.parametrize("ending", PACKERS)
def test_several_streams_in_one_file_are_one_text(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(PACKERS[ending](b"one\n") + PACKERS[ending](b"two\n"))
    assert list(packing.read_lines(path)) == [(1, "one"), (2, "two")]
    assert packing.read_start(path) == b"one\ntwo\n"


@pytest.mark.parametrize("ending", PACKERS)
def test_a_file_that_unpacks_to_far_more_than_it_should_is_refused(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "FREE", 1 << 16)
    monkeypatch.setattr(packing, "RATIO", 20)
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(PACKERS[ending](b"pear\n" * (1 << 18)))
    with pytest.raises(IngestError, match="unpacks to more than 0 MB, far more than a file of its size should"):
        list(packing.read_lines(path))
    path.write_bytes(PACKERS[ending](b"pear\n" * (1 << 13)))
    assert len(list(packing.read_lines(path))) == 1 << 13


def test_zstd_without_its_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    path = tmp_path / "a.csv.zst"
    path.write_bytes(PACKERS[".zst"](b"text\npear\n"))
    with pytest.raises(IngestError, match=r"pip install 'topiary-explorer\[zst\]'"):
        list(packing.read_lines(path))


def test_what_an_archive_says_of_its_members_is_not_believed() -> None:
    with zipfile.ZipFile(out := BytesIO(), "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.txt", b"\0" * (1 << 22))
    with zipfile.ZipFile(out) as archive, pytest.raises(packing.TooLarge):
        packing.read_member(archive, archive.infolist()[0], 1 << 20)


def test_a_line_longer_than_any_document_is_refused_and_nothing_is_stored(
    tmp_path: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "LARGEST_TEXT", 1_000)
    monkeypatch.setattr(packing, "CHUNK", 500)
    before = everything(db)
    (tmp_path / "a.vocab").write_text("pear\n")
    for name, text in (
        ("a.txt", "short\n" + "pear " * 300),
        ("a.csv", "id,text\n1," + "pear " * 300 + "\n"),
        ("a.jsonl", '{"text": "' + "pear " * 300 + '"}'),
        ("a.ldac", "1 0:1\n" + "1 " * 900),
    ):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(IngestError, match="is longer than 0 MB, the most of one line"):
            import_path(db, path, ImportOptions(min_df=1))
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "a.txt").write_text("pear " * 300)
    with pytest.raises(IngestError, match="is larger than 0 MB, the most of one document"):
        import_path(db, folder, ImportOptions(min_df=1))
    assert everything(db) == before
