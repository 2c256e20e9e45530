"""What every reader promises, whatever its format."""

import doctest
import gc
import gzip
import importlib
import io
import itertools
import os
import pkgutil
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from databases import open_filled
from ingest_samples import BROKEN, SAMPLES, Broken, everything, write, zipped_as

from topiary.app import ingest
from topiary.app.cli.main import main
from topiary.app.ingest import packing, registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import counts_arrays
from topiary.app.ingest.registry import STDIN_NAME, list_uploaded, name_corpus, name_input, open_paths, spool_input
from topiary.app.ingest.source import CountSource, Rows, TextDocument, TextSource
from topiary.engine.contract import TEST, TRAIN
from topiary.store import corpora
from topiary.store.database import Database
from topiary.store.errors import Conflict, StoreError

NAMES = [reader.name for reader in registry.list_readers()]
KEEP_ALL = {"min_df": 1, "max_df": 1.0}
TEXTS = (
    "bibtex", "captions", "csv", "feed", "iramuteq", "json", "jsonl", "lines", "mail", "mallet", "medline", "parquet",
    "ris", "text", "whatsapp", "wiki", "wos", "xlsx", "xml",
)  # fmt: skip


def test_every_reader_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(re.fullmatch(r"[a-z]+", name) for name in NAMES)
    assert all(len(reader.description) > 20 for reader in registry.list_readers())


def test_every_reader_is_tested_by_a_whole_file_and_two_broken_ones() -> None:
    assert set(SAMPLES) == set(NAMES)
    broken = [each.format for each in BROKEN]
    assert all(broken.count(name) >= 2 for name in NAMES)


IDLE: dict[str, object] = {
    "text_column": "body", "title_column": "a", "label_column": "b", "split_column": "c", "header": "no",
    "token_pattern": "[a-z]+", "vocabulary": "words.txt", "levels": 15, "separator": "~", "quote": "none",
    "skip_lines": 1, "records": "items", "hyphens": "keep",
    "html": "yes", "strip_mail": True, "lemmas": True, "phrases": True, "metadata": "none", "name_fields": "none",
    "split": "none",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_its_reader_does_not_obey_is_refused_and_nothing_is_stored(
    name: str, tmp_path: Path, db: Database
) -> None:
    path = SAMPLES[name].make(tmp_path / "sample")
    obeyed = set(registry.choose_reader(path, ImportOptions()).accepts)
    if "token_pattern" in obeyed:  # who finds words in texts finds them in every way
        obeyed |= set(IDLE) & set(registry._OF_TEXTS)
    assert obeyed < set(IDLE)
    for option in sorted(set(IDLE) - obeyed):
        options = ImportOptions(**{option: IDLE[option]})  # type: ignore[arg-type]
        with pytest.raises(IngestError, match=f"; leave --{option.replace('_', '-')} out$"):
            import_path(db, path, options)
        with pytest.raises(IngestError, match=f"; leave --{option.replace('_', '-')} out$"):
            read_source(path, options)
    assert corpora.list_corpora(db) == []


def test_every_option_that_some_readers_do_not_obey_is_obeyed_by_another() -> None:
    obeyed = {option for reader in registry.list_readers() for option in reader.accepts}
    assert obeyed == set(IDLE) - set(registry._OF_TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_file_is_recognised_by_its_reader_alone_and_gives_its_documents(
    name: str, tmp_path: Path, db: Database
) -> None:
    sample = SAMPLES[name]
    path = sample.make(tmp_path / "sample")
    assert name == registry.choose_reader(path, ImportOptions()).name
    row = import_path(db, path, ImportOptions(test_share=0, **(KEEP_ALL if name in TEXTS else {})))
    whole = corpora.load_corpus(db, row.number)
    assert row.words == sample.words == len(corpora.read_vocabulary(db, row.number))
    assert row.tokens == sample.tokens
    # documents without a word are left out of the training part, so counts may only differ by those
    assert row.documents == sample.documents - (name in ("uci", "ldac"))
    assert len(whole.counts.starts) == row.documents + 1
    assert row.meta["format"] == name
    texts = corpora.read_documents(db, row.number, range(row.documents))
    assert [document.number for document in texts] == list(range(row.documents))
    assert all(document.title for document in texts)


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("name", NAMES)
def test_the_same_file_twice_gives_the_same_corpus(name: str, tmp_path: Path, db: Database) -> None:
    path = SAMPLES[name].make(tmp_path / "sample")
    first, second = (import_path(db, path, ImportOptions(name=title, **KEEP_ALL)) for title in ("one", "two"))
    assert first.content_hash == second.content_hash
    assert (corpora.load_corpus(db, first.number).part == corpora.load_corpus(db, second.number).part).all()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A store with a corpus, which no broken file changes."""
    folder = tmp_path_factory.mktemp("kept")
    with closing(open_filled(folder / "corpora.db")) as db:
        import_path(db, SAMPLES["uci"].make(folder))
        yield db


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: f"{each.format}: {each.says}")
def test_a_broken_file_is_refused_in_one_sentence_and_leaves_the_store_as_it_was(
    broken: Broken, tmp_path: Path, kept: Database
) -> None:
    path = broken.make(tmp_path / "input")
    before = everything(kept)
    with pytest.raises(IngestError) as caught:
        import_path(kept, path, ImportOptions(format=broken.format, name="broken"))
    assert everything(kept) == before
    sentence = str(caught.value)
    assert caught.value.line == broken.line
    assert (f", line {broken.line}: " in sentence) == (broken.line is not None)
    assert str(tmp_path / "input") in sentence
    assert broken.says in sentence
    assert "\n" not in sentence
    assert not sentence.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_recognising_never_complains(name: str, tmp_path: Path) -> None:
    reader = next(reader for reader in registry.list_readers() if name == reader.name)
    for number, raw in enumerate((b"", b"\x1f\x8b", b"\0" * 10, b"1 2 3", "½".encode("latin-1"))):
        for ending in (".txt", ".csv", ".gz", ".dat", ".zip", ""):
            path = tmp_path / f"{number}{ending}"
            path.write_bytes(raw)
            assert reader.recognise(path) in (True, False)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert reader.recognise(empty) is False


@pytest.mark.parametrize(
    "module", [module.name for module in pkgutil.walk_packages(ingest.__path__, "topiary.app.ingest.")]
)
def test_the_examples_in_docstrings_are_true(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_forced_on_another_format_refuses_it_in_one_sentence_or_reads_it(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name].make(tmp_path / "sample")
    for each in [path, *(path.iterdir() if path.is_dir() else ())]:
        for forced in NAMES:
            try:
                source = read_source(each, ImportOptions(format=forced))
                for _ in source.documents() if isinstance(source, TextSource) else source.blocks():
                    pass
            except IngestError as error:
                assert "\n" not in str(error), forced  # noqa: PT017 - some are refused, some are not


def test_an_unknown_format_or_path_or_a_folder_of_two_formats_is_refused(tmp_path: Path, db: Database) -> None:
    path = SAMPLES["uci"].make(tmp_path / "sample")
    with pytest.raises(IngestError, match="the formats are bibtex, captions, csv, def"):
        import_path(db, path, ImportOptions(format="word"))
    with pytest.raises(IngestError, match="no such file"):
        import_path(db, tmp_path / "nowhere.csv")
    with pytest.raises(IngestError, match="cannot be opened"):
        import_path(db, tmp_path / ("x" * 300 + ".csv"))
    SAMPLES["csv"].make(tmp_path / "sample")
    with pytest.raises(IngestError, match="csv or uci; say which"):
        import_path(db, path.parent)
    strange = tmp_path / "strange.bin"
    strange.write_bytes(b"\1\2\3")
    with pytest.raises(IngestError, match="--format"):
        import_path(db, strange)


@pytest.mark.skipif(os.name == "nt", reason="links need leave on Windows")
def test_links_that_lead_to_each_other_are_no_file(tmp_path: Path, db: Database) -> None:
    (tmp_path / "one.csv").symlink_to(tmp_path / "two.csv")
    (tmp_path / "two.csv").symlink_to(tmp_path / "one.csv")
    with pytest.raises(IngestError, match="no such file"):
        import_path(db, tmp_path / "one.csv")


def test_a_taken_name_is_refused_before_anything_is_read(tmp_path: Path, db: Database) -> None:
    path = SAMPLES["uci"].make(tmp_path / "sample")
    import_path(db, path, ImportOptions(name="mine"))
    with pytest.raises(Conflict, match="already a corpus called 'mine'"):
        import_path(db, tmp_path / "nowhere.csv", ImportOptions(name="mine"))


@pytest.mark.parametrize(("name", "says"), [(" ", "needs a name"), ("a\tb", "one line without control characters")])
def test_a_name_that_no_corpus_can_have_is_refused_before_anything_is_read(
    tmp_path: Path, db: Database, name: str, says: str
) -> None:
    with pytest.raises(StoreError, match=says):
        import_path(db, tmp_path / "nowhere.csv", ImportOptions(name=name))


def test_progress_tells_what_is_being_done_and_how_much_of_it(tmp_path: Path, db: Database) -> None:
    report: list[tuple[str, float | None]] = []
    import_path(db, SAMPLES["uci"].make(tmp_path / "sample"), ImportOptions(), lambda *each: report.append(each))
    assert report[0] == ("Reading docword.tiny.txt.gz", None)
    assert any(message == "Storing documents: 3" and share == 1.0 for message, share in report)
    assert report[-1][0].startswith("Note: 1 document is without words")


PLAYS = "user,item,count\nann,pear,2\nbob,fig,1\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PLAYS, "triples"),
        ("Document;Word;N\n1;pear;2\n", "triples"),
        ("ITEM,COUNT,CUSTOMER ID\npear,2,9\n", "triples"),
        ("title,text,count\na,pear and fig,2\n", "csv"),
        ("user,item,count\nann,pear,often\nbob,fig,rarely\n", "csv"),
        ("user,item,count,label\nann,pear,2,a\n", "csv"),
        ("ann,pear,2\nbob,fig,1\n", "csv"),
    ],
)
def test_a_table_is_one_of_counts_by_its_three_names_and_its_numbers(content: str, name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", content)
    assert name == registry.choose_reader(path, ImportOptions()).name


@pytest.mark.parametrize(
    ("content", "header"),
    [(PLAYS, "auto"), ("a,b,c\nann,pear,2\nbob,fig,1\n", "auto"), ("ann,pear,2\nbob,fig,1\n", "auto"),
     ("1,2,3\nann,pear,2\nbob,fig,1\n", "yes"), ("ann,pear,2\nbob,fig,1\n", "no")],
)  # fmt: skip
def test_a_table_of_counts_is_read_with_any_names_or_none_where_it_is_said_to_be_one(
    content: str, header: Any, tmp_path: Path
) -> None:
    source = read_source(write(tmp_path / "a.csv", content), ImportOptions(format="triples", header=header))
    assert isinstance(source, CountSource)
    assert source.vocabulary == ("pear", "fig")
    (block,) = source.blocks()
    assert block.titles == ["ann", "bob"]
    assert block.counts.values.tolist() == [2, 1]


def test_tables_of_counts_of_training_and_test_rows_are_one_corpus_with_rows_of_one_of_them(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", PLAYS)
    test = write(tmp_path / "test.csv", "user,item,count\ncem,fig,3\n")
    source = read_source(tmp_path)
    assert isinstance(source, CountSource)
    assert source.part is not None
    assert source.part.tolist() == [TRAIN, TRAIN, TEST]
    write(test, PLAYS)
    with pytest.raises(IngestError, match=r"test\.csv, line 2: the row 'ann' is in the training file too"):
        read_source(tmp_path)


UNDERSTOOD = {
    "csv": {"encoding", "separator", "quote", "header", "compression"}, "json": {"encoding"}, "jsonl": {"encoding"},
    "lines": {"encoding"}, "mallet": {"encoding", "separator"}, "wiki": {"encoding", "files"},
    "xlsx": {"sheet", "header"}, "triples": {"encoding", "separator", "quote", "header", "compression"},
    "dtm": {"guess", "encoding", "separator", "quote", "header", "words", "titles"},
    "uci": {"vocabulary", "compression"}, "ldac": {"vocabulary", "compression"}, "mtx": {"vocabulary"},
    "svmlight": {"vocabulary"}, "def": {"vocabulary"}, "npz": {"vocabulary"},
}  # fmt: skip


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_a_source_says_how_it_was_read(name: str, tmp_path: Path) -> None:
    understood = read_source(SAMPLES[name].make(tmp_path)).understood
    assert set(understood) == UNDERSTOOD[name]
    assert all(understood.values())


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
    with pytest.raises(IngestError, match=says):
        list(source.documents())
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
    monkeypatch.setattr("topiary.app.ingest.readers.texts.read_texts", fail)  # of texts that tables describe, too
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

    monkeypatch.setattr("topiary.app.ingest.vectorise.count_texts", fail)
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
        monkeypatch.setattr(counts_arrays, "launch_child", lambda *_, status=status: (status, ""))
        with pytest.raises(IngestError, match=says):
            counts_arrays.read_apart(path)


@POSIX
def test_a_process_apart_has_bounded_memory_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLES["mat"].make(tmp_path)
    assert counts_arrays.read_arrays(path).keys() == counts_arrays.read_apart(path).keys()
    (tmp_path / "cut.mat").write_bytes(path.read_bytes()[:200])
    for read in (counts_arrays.read_arrays, counts_arrays.read_apart):
        with pytest.raises(IngestError, match=r"cut\.mat: cannot be read \(could not read bytes\)"):
            read(tmp_path / "cut.mat")
    monkeypatch.setattr(counts_arrays, "PATIENCE", 0.05)
    with pytest.raises(IngestError, match="could not be read within 0 seconds"):
        counts_arrays.read_apart(path)


@pytest.mark.parametrize(
    ("names", "one_by_one"),
    [
        (("may.csv", "june.csv"), True),
        (("may.csv", "june.tsv.gz"), True),
        (("train.csv", "test.csv"), False),
        (("may.csv",), False),
        (("may.txt", "june.txt"), False),
        (("may.csv", "readme.md"), False),
    ],
)
def test_a_heap_of_tables_is_taken_one_by_one(tmp_path: Path, names: tuple[str, ...], one_by_one: bool) -> None:
    for name in names:
        (tmp_path / name).write_text("text\napple\n")
    assert list_uploaded(tmp_path) == (sorted(tmp_path / name for name in names) if one_by_one else [tmp_path])
    assert list_uploaded(tmp_path / names[0]) == [tmp_path / names[0]]


def test_why_a_format_was_taken_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("apple\npear\n")
    assert (
        open_paths(path, ImportOptions()).why
        == "one document a line; the only format that fits its name and its beginning"
    )
    assert open_paths(path, ImportOptions(format="lines")).why == "named with --format"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("apple")
    assert (
        open_paths(tmp_path / "folder", ImportOptions()).why
        == "texts; the only format that fits the files in the folder"
    )


def test_a_corpus_is_called_after_the_first_file_unless_somebody_names_it(tmp_path: Path) -> None:
    paths = [tmp_path / "may.csv.gz", tmp_path / "june.csv.gz"]
    assert name_corpus(paths, ImportOptions()) == "may"
    assert name_corpus(paths, ImportOptions(name="summer")) == "summer"


WHOLE = ImportOptions(min_df=1, max_df=1.0, test_share=0)


def test_tables_follow_each_other(tmp_path: Path, db: Database) -> None:
    paths = []
    for place, kind in enumerate(("sea", "town")):
        path = tmp_path / f"{kind}.csv"
        path.write_text("text,label\n" + "\n".join(f"apple pear {kind} word{'abc'[n]},{kind}" for n in range(3)))
        paths.append(path)
        assert place == len(paths) - 1
    row = import_path(db, paths, WHOLE)
    assert (row.name, row.documents, row.label_names) == ("sea", 6, ("sea", "town"))
    assert row.meta["file"] == "sea.csv and 1 more"
    assert [each.label for each in corpora.read_documents(db, row.number, range(6))] == ["sea"] * 3 + ["town"] * 3
    assert len(row.meta["notes"]) == 1  # both files say the same


def test_tables_with_other_columns_are_refused(tmp_path: Path, db: Database) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("text,label\napple pear,x\napple fig,y\n")
    other.write_text("body,label\napple pear,x\napple fig,y\n")
    with pytest.raises(IngestError, match=r"b.csv: has label 'label', text 'body', where .*a.csv has .*text 'text'"):
        import_path(db, [one, other], WHOLE)
    assert corpora.list_corpora(db) == []


def test_files_of_two_formats_are_refused(tmp_path: Path, db: Database) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b.jsonl"
    one.write_text("text\napple pear\n")
    other.write_text('{"text": "apple pear"}\n')
    with pytest.raises(IngestError, match=r"is jsonl, and a\.csv is csv; give files of one format"):
        import_path(db, [one, other], WHOLE)


def test_counts_over_two_vocabularies_are_counts_over_both(tmp_path: Path, db: Database) -> None:
    for name, words, cells in (("a", "fig\napple\n", "1 1 2\n1 2 3\n"), ("b", "pear\nfig\n", "1 1 4\n1 2 5\n")):
        (tmp_path / f"docword.{name}.txt").write_text(f"1\n2\n2\n{cells}")
        (tmp_path / f"vocab.{name}.txt").write_text(words)
    row = import_path(db, [tmp_path / "docword.a.txt", tmp_path / "docword.b.txt"], ImportOptions(test_share=0))
    assert corpora.read_vocabulary(db, row.number) == ("fig", "apple", "pear")
    counts = corpora.load_corpus(db, row.number).counts
    table = np.zeros((2, 3), int)
    table[np.repeat([0, 1], np.diff(counts.starts)), counts.words] = counts.values
    assert table.tolist() == [[2, 3, 0], [5, 0, 4]]
    assert [np.all(np.diff(counts.rows(n, n + 1).words) > 0) for n in range(2)] == [True, True]


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


ARCHIVES = (".zip", ".tar", ".tgz", ".tar.bz2", ".tar.xz")


def of_members(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as made:
        for info in members:
            made.addfile(info, BytesIO(b"text\npear\n") if info.isreg() else None)
    return path


def of_size(name: str, size: int = 10, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, to
    return info


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize(("name", "ending"), list(zip(TABLES, itertools.cycle(ARCHIVES))))
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


WHOLE_ARCHIVES = {"min_df": 1, "max_df": 1.0, "test_share": 0}
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
        row = import_path(db, paths, ImportOptions(format=form, **WHOLE_ARCHIVES), display_name=name_input(["-"]))  # type: ignore[arg-type]
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
