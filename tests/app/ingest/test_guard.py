"""What the machine refuses is one sentence, and no file is read that nobody asked for."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingest_samples import SAMPLES, everything, write

from app.cli.main import main
from app.ingest import registry
from app.ingest.errors import IngestError
from app.ingest.importing import import_path, read_source
from app.ingest.options import ImportOptions
from app.ingest.readers import matlab
from app.ingest.source import CountSource, Rows, TextDocument, TextSource
from store.database import Database

POSIX = pytest.mark.skipif(os.name == "nt", reason="there are no such files on Windows")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "needs more memory than this machine has free"),
        (PermissionError(13, "Permission denied", "a/b.csv"), "a/b.csv: cannot be read .Permission denied.; check"),
        (OSError(28, "No space left on device"), "file: cannot be read .No space left on device."),
        (RecursionError(), "nested too deeply"),
    ],
)
def test_what_the_machine_raises_while_documents_are_read_is_a_refusal(error: BaseException, says: str) -> None:
    def documents() -> Iterator[TextDocument]:
        yield TextDocument("pear", "one")
        raise error

    def blocks() -> Iterator[Rows]:
        raise error
        yield

    source = registry.guard_source(TextSource(where="file", documents=documents), "file")
    assert isinstance(source, TextSource)
    found = source.documents()
    assert next(found).text == "pear"
    with pytest.raises(IngestError, match=says):
        next(found)
    counts = registry.guard_source(CountSource(where="file", vocabulary=("a",), blocks=blocks, n_documents=1), "file")
    assert isinstance(counts, CountSource)
    with pytest.raises(IngestError, match=says):
        next(counts.blocks())


@pytest.mark.parametrize("error", [MemoryError(), PermissionError(13, "Permission denied")])
@pytest.mark.parametrize("name", ["csv", "text", "uci", "npz", "parquet", "mail"])
def test_the_command_says_it_in_a_sentence_and_ends_with_status_2(
    name: str,
    error: BaseException,
    tmp_path: Path,
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = SAMPLES[name].make(tmp_path / "sample")
    before = everything(db)
    readers = registry.list_readers()

    def fail(*_: Any) -> None:
        raise error

    failing = tuple(replace(reader, read=fail) if reader.name == name else reader for reader in readers)
    monkeypatch.setattr(registry, "list_readers", lambda: failing)
    assert main(["import", str(path), "--store", db.url]) == 2
    said = capsys.readouterr().err.strip()
    assert "\n" not in said.partition("topiary import: ")[2]
    assert "Traceback" not in said
    assert everything(db) == before


def test_memory_that_is_short_elsewhere_is_said_by_the_command(
    tmp_path: Path, db: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("app.ingest.vectorise.count_texts", fail)
    before = everything(db)
    path = write(tmp_path / "a.csv", "text\npear\nfig\n")
    assert main(["import", str(path), "--store", db.url]) == 2
    assert "topiary import: needs more memory than this machine has free" in capsys.readouterr().err
    assert everything(db) == before


@POSIX
def test_a_link_out_of_a_folder_is_refused_and_one_within_is_read(tmp_path: Path, db: Database) -> None:
    outside = write(tmp_path / "secret.txt", "password")
    folder = SAMPLES["text"].make(tmp_path / "texts")
    (folder / "fruit" / "again.txt").symlink_to(folder / "fruit" / "0.txt")
    read_source(folder)
    before = everything(db)
    (folder / "fruit" / "x.txt").symlink_to(outside)
    with pytest.raises(IngestError, match=r"fruit/x\.txt: is a link that leads out of the folder"):
        import_path(db, folder)
    (folder / "fruit" / "x.txt").unlink()
    (folder / "more").symlink_to(tmp_path)
    with pytest.raises(IngestError, match="more: is a link that leads out"):
        import_path(db, folder)
    (folder / "more").unlink()
    (folder / "vocab.txt").symlink_to("/etc/passwd")
    with pytest.raises(IngestError, match="is a link"):
        import_path(db, folder)
    assert everything(db) == before


@POSIX
@pytest.mark.timeout(60)
def test_pipes_and_devices_are_refused_and_never_opened(tmp_path: Path, db: Database) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(IngestError, match=r"a\.csv: is a pipe, and is read more than once"):
        import_path(db, tmp_path / "a.csv")
    with pytest.raises(IngestError, match="is a device"):
        import_path(db, Path("/dev/zero"), ImportOptions(format="csv", name="zero"))
    path = SAMPLES["uci"].make(tmp_path / "counts")
    with pytest.raises(IngestError, match="is a device"):
        import_path(db, path, ImportOptions(vocabulary="/dev/zero"))
    (tmp_path / "a.csv").unlink()
    os.mkfifo(tmp_path / "counts" / "b.csv")
    read_source(tmp_path / "counts", ImportOptions(format="uci"))


@POSIX
@pytest.mark.parametrize("name", ["a\nb.csv", "a\x1b[2Jb.csv", "a\x07.csv", "\udcff.csv"])
def test_names_with_control_characters_stay_on_one_line(
    name: str, tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / name, "id,text\n1,pear,2\n" * 3)
    assert main(["import", str(path), "--store", db.url, "--name", "fine"]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("topiary import: ")
    assert "\x1b" not in said
    assert "columns" in said
    folder = tmp_path / "folder"
    write(folder / "fruit\n\x1b[31m" / name.replace(".csv", ".txt"), "apple pear")
    write(folder / "b" / "b.txt", "apple pear")
    assert main(["import", str(folder), "--store", db.url, "--min-df", "1", "--max-df", "1"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_that_no_file_has_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"check the path|no such file"):
        registry.choose_reader(tmp_path / name, ImportOptions())


MTX = "%%MatrixMarket matrix coordinate integer general\n"
COUNTS = 3 * 2**31


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("uci", {"docword.a.txt": f"1\n1\n1\n1 1 {COUNTS}\n", "vocab.a.txt": "pear\n"}),
        ("ldac", {"a.ldac": f"1 0:{COUNTS}\n", "vocab.txt": "pear\n"}),
        (
            "mtx",
            {"a.mtx": f"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 {COUNTS}\n", "vocab.txt": "p\n"},
        ),
        ("svmlight", {"a.svm": f"1 1:{COUNTS}\n", "vocab.txt": "pear\n"}),
        ("def", {"a.dat": f"1 1\n0 1\n0 {COUNTS}\n", "vocab.txt": "pear\n"}),
        ("triples", {"a.csv": f"user,item,count\na,b,{COUNTS}\n"}),
    ],
)
def test_counts_beyond_what_is_stored_are_refused(
    name: str, files: dict[str, str], tmp_path: Path, db: Database
) -> None:
    before = everything(db)
    paths = [write(tmp_path / file, text) for file, text in files.items()]
    with pytest.raises(IngestError, match=r"is more than 10,000,000|add up to more"):
        import_path(db, paths[0], ImportOptions(format=name))
    assert everything(db) == before


def test_a_file_that_crashes_its_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.mat", b"MATLAB")
    for status, says in ((-11, "damaged so badly"), (4, "of memory"), (1, "damaged so badly")):
        monkeypatch.setattr(matlab, "launch_child", lambda *_, status=status: (status, ""))
        with pytest.raises(IngestError, match=says):
            matlab.read_apart(path)


@POSIX
def test_a_process_apart_has_bounded_memory_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLES["mat"].make(tmp_path)
    assert matlab.read_arrays(path).keys() == matlab.read_apart(path).keys()
    monkeypatch.setattr(matlab, "PATIENCE", 0.05)
    with pytest.raises(IngestError, match="could not be read within 0 seconds"):
        matlab.read_apart(path)
