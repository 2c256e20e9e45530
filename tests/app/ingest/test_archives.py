"""Archives of tables and counts: unpacked and read, or refused before anything is written where it should not be."""

import gc
import gzip
import io
import tarfile
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from ingest_samples import SAMPLES, everything, zipped_as

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.registry import STDIN_NAME, name_input, spool_input
from topiary.app.ingest.source import TextSource
from topiary.engine.contract import TEST, TRAIN
from topiary.store import corpora
from topiary.store.database import Database

LOOSE = {"test_share": 0.0, "min_df": 1, "max_df": 1.0}
TABLES = ("csv", "json", "jsonl", "triples", "uci", "ldac", "npz", "mat", "xlsx", "topmost", "mail")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked during a test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def tarred_as(folder: Path, path: Path) -> Path:
    mode = {".tar": "w", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}[path.suffix]
    with tarfile.open(path, mode) as made:  # type: ignore[call-overload]
        made.add(folder, "all")
    return path


def of_members(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as made:
        for info in members:
            made.addfile(info, BytesIO(b"text\npear\n") if info.isreg() else None)
    return path


def of_size(name: str, size: int = 10, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, to
    return info


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tgz", ".tar.bz2", ".tar.xz"])
@pytest.mark.parametrize("name", TABLES)
def test_what_is_in_an_archive_is_read_as_it_is_beside_it(
    name: str, ending: str, tmp_path: Path, temporary: Path, db: Database
) -> None:
    sample = SAMPLES[name].make(tmp_path / "in")
    plain = import_path(db, sample, ImportOptions(name="plain", **LOOSE))  # type: ignore[arg-type]
    pack = zipped_as if ending == ".zip" else tarred_as
    packed_up = pack(tmp_path / "in", tmp_path / f"several.things{ending}")
    row = import_path(db, packed_up, ImportOptions(format=name, **LOOSE))  # type: ignore[arg-type]
    assert row.content_hash == plain.content_hash
    assert row.meta["format"] == name
    assert (row.source, row.name) == (str(packed_up), "several.things")
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_tar_of_texts_is_a_folder_of_texts_and_so_is_a_zip(tmp_path: Path, db: Database) -> None:
    SAMPLES["text"].make(tmp_path / "in")
    loose = {**LOOSE, "stop_words": "none"}
    rows = [
        import_path(db, each, ImportOptions(name=each.name, **loose))  # type: ignore[arg-type]
        for each in (tarred_as(tmp_path / "in", tmp_path / "a.tgz"), zipped_as(tmp_path / "in", tmp_path / "a.zip"))
    ]
    assert {row.meta["format"] for row in rows} == {"text"}
    labels = [corpora.load_corpus(db, row.number).labels.tolist() for row in rows]
    assert rows[0].label_names == rows[1].label_names == ("fruit", "metal")
    assert sorted(labels[0]) == sorted(labels[1])


def test_several_tables_of_the_same_columns_are_one_corpus_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("one.csv", "text,n\nred pear,1\n")
        made.writestr("two.csv", "text,n\ngreen apple,2\n")
        made.writestr("__MACOSX/._two.csv", b"\0\1")
    source = read_source(path)
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()] == ["red pear", "green apple"]
    assert source.understood["archive"] == "2 files"
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("zebra.csv", "n,text\n1,fig\n")
    again = read_source(path)
    assert isinstance(again, TextSource)
    with pytest.raises(IngestError, match=r"a\.zip/zebra\.csv, line 1: has the columns 'n, text', but the file before"):
        list(again.documents())


@pytest.mark.parametrize("name", ["../a.csv", "/a.csv", "in/../../a.csv", "..\\a.csv", "c:/a.csv"])
def test_a_member_that_leads_out_of_the_archive_is_refused(
    name: str, tmp_path: Path, temporary: Path, db: Database
) -> None:
    before = everything(db)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("b.csv", "text\npear\n")
        made.writestr(name, "text\npear\n")
    for path in (tmp_path / "a.zip", of_members(tmp_path / "a.tar", of_size("b.csv"), of_size(name))):
        with pytest.raises(IngestError, match="leads out of it"):
            import_path(db, path)
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "a.csv").exists()
    assert everything(db) == before


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_in_an_archive_are_refused_and_devices_are_no_files(kind: bytes, tmp_path: Path) -> None:
    path = of_members(tmp_path / "a.tar", of_size("a.csv", 0, kind, "/etc/passwd"))
    with pytest.raises(IngestError, match="has a link in it"):
        read_source(path)
    path = of_members(tmp_path / "b.tar", of_size("a.csv", 0, tarfile.CHRTYPE), of_size("b.csv", 0, tarfile.FIFOTYPE))
    with pytest.raises(IngestError, match="has no files in it"):
        read_source(path)


def test_an_archive_that_unpacks_to_far_more_than_it_should_is_refused(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "FREE", 1 << 16)
    monkeypatch.setattr(packing, "RATIO", 20)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.csv", "text\n" + "pear\n" * (1 << 16))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("text\n" + "pear\n" * (1 << 16))
    for path in (tmp_path / "a.zip", tarred_as(tmp_path / "in", tmp_path / "a.tgz")):
        with pytest.raises(IngestError, match="far more than a"):
            read_source(path)
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.txt", "pear\n" * (1 << 16))
    with pytest.raises(IngestError, match="far more than an archive"):
        read_source(tmp_path / "b.zip")
    monkeypatch.setattr(packing, "MOST_MEMBERS", 2)
    with pytest.raises(IngestError, match="far more than an archive"):
        read_source(of_members(tmp_path / "c.tar", *(of_size(f"{n}.csv") for n in range(3))))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, 600, 1500])
def test_a_damaged_archive_is_refused(size: int, tmp_path: Path, temporary: Path) -> None:
    whole = of_members(tmp_path / "whole.tar", of_size("a.csv"), of_size("b.csv")).read_bytes()
    (tmp_path / "a.tar").write_bytes(whole[:size])
    with pytest.raises(IngestError):
        read_source(tmp_path / "a.tar")
    (tmp_path / "b.tgz").write_bytes(b"no archive")
    with pytest.raises(IngestError, match="is not a sound gzip file"):
        read_source(tmp_path / "b.tgz")
    with pytest.raises(IngestError, match="twice"):
        read_source(of_members(tmp_path / "c.tar", of_size("a.csv"), of_size("a.csv")))
    (tmp_path / "d.zip").write_bytes(b"PK no archive")
    with pytest.raises(IngestError, match="not a sound zip file"):
        read_source(tmp_path / "d.zip", ImportOptions(format="csv"))
    assert list(temporary.iterdir()) == []


def test_a_sentence_about_a_member_calls_it_by_its_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("in/a.csv", "id,text\n1,pear\n" * 3 + "1,pear,fig\n")
    with pytest.raises(IngestError) as caught:
        read_source(tmp_path / "a.zip")
    assert str(caught.value).startswith(f"{tmp_path / 'a.zip'}/in/a.csv, line 7: has 3 columns")


def zip_of_windows(path: Path, members: dict[str, str]) -> Path:
    """A zip file as PowerShell 5 packs it, whose folders are divided by backslashes."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in members.items():
            info = zipfile.ZipInfo("x")
            info.filename, info.create_system = name, 0
            packed.writestr(info, text)
    return path


def test_backslashes_in_names_of_members_divide_folders(tmp_path: Path) -> None:
    texts = {
        f"all\\{part}\\{kind}\\{n}.txt": "red pear" for part in ("train", "test") for kind in "ab" for n in range(2)
    }
    source = read_source(zip_of_windows(tmp_path / "texts.zip", {"all\\": "", **texts}))
    assert isinstance(source, TextSource)
    found = [(document.label, document.part) for document in source.documents()]
    assert sorted(found) == [
        ("a", TRAIN),
        ("a", TRAIN),
        ("a", TEST),
        ("a", TEST),
        ("b", TRAIN),
        ("b", TRAIN),
        ("b", TEST),
        ("b", TEST),
    ]
    table = zip_of_windows(
        tmp_path / "table.zip", {"data\\": "", "data\\a.csv": "text,label\nred pear,a\ngreen fig,b\n"}
    )
    source = read_source(table)
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()] == ["red pear", "green fig"]


WHOLE = {"min_df": 1, "max_df": 1.0, "test_share": 0}
PACKED = gzip.compress(b"apple", mtime=0)  # no time: it is in the name of a test


@pytest.mark.parametrize(
    ("sent", "form", "read_as"),
    [
        (b"text,label\napple pear,x\napple fig,y\n", None, "csv"),
        (b'\xef\xbb\xbf{"text": "apple pear"}\n{"text": "apple fig"}\n', None, "jsonl"),
        (b"apple pear\napple fig\n", None, "lines"),
        (b"apple, pear\napple fig and more\n", None, "lines"),
        (b"apple pear\napple fig\n", "lines", "lines"),
        (gzip.compress(b"text,label\napple pear,x\napple fig,y\n", mtime=0), "csv", "csv"),
    ],
)
def test_what_comes_is_told_by_its_content(sent: bytes, form: str | None, read_as: str, db: Database) -> None:
    with spool_input(["-"], form, io.BytesIO(sent)) as paths:
        row = import_path(db, paths, ImportOptions(format=form, **WHOLE), display_name=name_input(["-"]))  # type: ignore[arg-type]
    assert (row.name, row.source, row.documents) == (STDIN_NAME, STDIN_NAME, 2)
    assert (row.meta["format"], row.meta["file"]) == (read_as, STDIN_NAME)
    assert not paths[0].exists()


@pytest.mark.parametrize(
    ("names", "form", "sent", "said"),
    [
        (["-"], None, b" \n", "standard input: is empty"),
        (["-", "a.csv"], None, b"", "standard input: cannot be read together with files; give either"),
        (["-"], None, PACKED, "standard input: is compressed; say what is in it with --format"),
        (["-"], "csv", b"text,label\napple\n", "standard input, line 2: has 1 column, but line 1 has 2"),
    ],
)
def test_what_is_wrong_names_standard_input(
    names: list[str], form: str | None, sent: bytes, said: str, db: Database
) -> None:
    with pytest.raises(IngestError) as refused, spool_input(names, form, io.BytesIO(sent)) as paths:
        import_path(db, paths, ImportOptions())
    assert str(refused.value).startswith(said)


def test_files_are_left_where_they_are(tmp_path: Path) -> None:
    with spool_input([str(tmp_path / "a.csv")]) as paths:
        assert paths == [tmp_path / "a.csv"]
    assert name_input(["a.csv"]) == ""
