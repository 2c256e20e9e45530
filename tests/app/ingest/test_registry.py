"""What every reader promises, whatever its format."""

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from ingest_samples import BROKEN, SAMPLES, Broken, everything, write

from app import ingest
from app.ingest import registry
from app.ingest.errors import IngestError
from app.ingest.importing import import_path, read
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource, TextSource
from engine.contract import TEST, TRAIN
from store import corpora
from store.database import Database
from store.errors import Conflict, StoreError

NAMES = [reader.NAME for reader in registry.readers()]
KEEP_ALL = {"min_df": 1, "max_df": 1.0}
TEXTS = (
    "bibtex", "csv", "feed", "json", "jsonl", "lines", "mail", "mallet", "medline", "parquet", "ris", "text",
    "whatsapp", "wiki", "wos", "xlsx", "xml",
)  # fmt: skip


def test_every_reader_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(re.fullmatch(r"[a-z]+", name) for name in NAMES)
    assert all(len(reader.DESCRIPTION) > 20 for reader in registry.readers())


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
    obeyed = set(registry.choose(path, ImportOptions()).ACCEPTS)
    if "token_pattern" in obeyed:  # who finds words in texts finds them in every way
        obeyed |= set(IDLE) & set(registry._OF_TEXTS)
    assert obeyed < set(IDLE)
    for option in sorted(set(IDLE) - obeyed):
        options = ImportOptions(**{option: IDLE[option]})  # type: ignore[arg-type]
        with pytest.raises(IngestError, match=f"; leave --{option.replace('_', '-')} out$"):
            import_path(db, path, options)
        with pytest.raises(IngestError, match=f"; leave --{option.replace('_', '-')} out$"):
            read(path, options)
    assert corpora.list_corpora(db) == []


def test_every_option_that_some_readers_do_not_obey_is_obeyed_by_another() -> None:
    obeyed = {option for reader in registry.readers() for option in reader.ACCEPTS}
    assert obeyed == set(IDLE) - set(registry._OF_TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_file_is_recognised_by_its_reader_alone_and_gives_its_documents(
    name: str, tmp_path: Path, db: Database
) -> None:
    sample = SAMPLES[name]
    path = sample.make(tmp_path / "sample")
    assert name == registry.choose(path, ImportOptions()).NAME
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


@pytest.mark.parametrize("name", NAMES)
def test_the_same_file_twice_gives_the_same_corpus(name: str, tmp_path: Path, db: Database) -> None:
    path = SAMPLES[name].make(tmp_path / "sample")
    first, second = (import_path(db, path, ImportOptions(name=title, **KEEP_ALL)) for title in ("one", "two"))
    assert first.content_hash == second.content_hash
    assert (corpora.load_corpus(db, first.number).part == corpora.load_corpus(db, second.number).part).all()


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: f"{each.format}: {each.says}")
def test_a_broken_file_is_refused_in_one_sentence_and_leaves_the_store_as_it_was(
    broken: Broken, tmp_path: Path, db: Database
) -> None:
    path = broken.make(tmp_path / "input")
    import_path(db, SAMPLES["uci"].make(tmp_path / "before"))
    before = everything(db)
    with pytest.raises(IngestError) as caught:
        import_path(db, path, ImportOptions(format=broken.format, name="broken"))
    assert everything(db) == before
    sentence = str(caught.value)
    assert caught.value.line == broken.line
    assert (f", line {broken.line}: " in sentence) == (broken.line is not None)
    assert str(tmp_path / "input") in sentence
    assert broken.says in sentence
    assert "\n" not in sentence
    assert not sentence.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_recognising_never_complains(name: str, tmp_path: Path) -> None:
    reader = next(reader for reader in registry.readers() if name == reader.NAME)
    for number, raw in enumerate((b"", b"\x1f\x8b", b"\0" * 10, b"1 2 3", "½".encode("latin-1"))):
        for ending in (".txt", ".csv", ".gz", ".dat", ".zip", ""):
            path = tmp_path / f"{number}{ending}"
            path.write_bytes(raw)
            assert reader.recognises(path) in (True, False)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert reader.recognises(empty) is False


@pytest.mark.parametrize("module", [module.name for module in pkgutil.iter_modules(ingest.__path__, "app.ingest.")])
def test_the_examples_in_docstrings_are_true(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.parametrize("forced", NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_forced_on_another_format_refuses_it_in_one_sentence_or_reads_it(
    forced: str, name: str, tmp_path: Path
) -> None:
    path = SAMPLES[name].make(tmp_path / "sample")
    for each in [path, *(path.iterdir() if path.is_dir() else ())]:
        try:
            source = read(each, ImportOptions(format=forced))
            for _ in source.documents() if isinstance(source, TextSource) else source.blocks():
                pass
        except IngestError as error:
            assert "\n" not in str(error)  # noqa: PT017 - some are refused, some are not


def test_an_unknown_format_or_path_or_a_folder_of_two_formats_is_refused(tmp_path: Path, db: Database) -> None:
    path = SAMPLES["uci"].make(tmp_path / "sample")
    with pytest.raises(IngestError, match="the formats are bibtex, csv, def"):
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
    assert name == registry.choose(path, ImportOptions()).NAME


@pytest.mark.parametrize(
    ("content", "header"),
    [(PLAYS, "auto"), ("a,b,c\nann,pear,2\nbob,fig,1\n", "auto"), ("ann,pear,2\nbob,fig,1\n", "auto"),
     ("1,2,3\nann,pear,2\nbob,fig,1\n", "yes"), ("ann,pear,2\nbob,fig,1\n", "no")],
)  # fmt: skip
def test_a_table_of_counts_is_read_with_any_names_or_none_where_it_is_said_to_be_one(
    content: str, header: Any, tmp_path: Path
) -> None:
    source = read(write(tmp_path / "a.csv", content), ImportOptions(format="triples", header=header))
    assert isinstance(source, CountSource)
    assert source.vocabulary == ("pear", "fig")
    (block,) = source.blocks()
    assert block.titles == ["ann", "bob"]
    assert block.counts.values.tolist() == [2, 1]


def test_tables_of_counts_of_training_and_test_rows_are_one_corpus_with_rows_of_one_of_them(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", PLAYS)
    test = write(tmp_path / "test.csv", "user,item,count\ncem,fig,3\n")
    source = read(tmp_path)
    assert isinstance(source, CountSource)
    assert source.part is not None
    assert source.part.tolist() == [TRAIN, TRAIN, TEST]
    write(test, PLAYS)
    with pytest.raises(IngestError, match=r"test\.csv, line 2: the row 'ann' is in the training file too"):
        read(tmp_path)


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
    understood = read(SAMPLES[name].make(tmp_path)).understood
    assert set(understood) == UNDERSTOOD[name]
    assert all(understood.values())
