"""An import in a process of its own: the corpus, its progress and notes, its errors, and no folder left."""

import io
import json
import time

import pytest
from databases import open_filled

from topiary.app.ingest import importing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import ingest_process, progress
from topiary.app.jobs.ingest_process import ImportStatus, InspectionStatus, RunningImport, RunningInspection
from topiary.app.jobs.uploads import SentFiles
from topiary.store import corpora, full_text

PATIENCE = 60.0


@pytest.fixture
def db(tmp_path):
    """A store in a file."""
    database = open_filled(tmp_path / "store.db")
    yield database
    database.close()


@pytest.fixture(autouse=True)
def forgotten():
    """What the site remembers of failed imports is no matter of the next test."""
    yield
    for adding in progress.list_imports():
        progress.forget_import(adding.number)


@pytest.fixture
def sent(tmp_path, monkeypatch):
    """A folder of two texts and a file that is no text."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    inside = tmp_path / "sent" / "documents"
    inside.mkdir(parents=True)
    for name, text in (("a.txt", "apple pear"), ("b.txt", "apple fig"), ("c.doc", "?")):
        (inside / name).write_text(text)
    return SentFiles(inside, tmp_path / "sent")


def end_of(begun):
    """Its last standing, and all words on the way."""
    until, standing, words = time.monotonic() + PATIENCE, ImportStatus(), []
    while not standing.over and time.monotonic() < until:
        standing = begun.read_status(standing)
        words.append(standing.words)
    return standing, words


def test_a_corpus_is_made_in_a_process_of_its_own_and_the_folder_goes(db, sent):
    report = []
    options = ImportOptions(name="fruit", min_df=1, max_df=1.0, test_share=0)
    begun = RunningImport(db.url, sent, options, lambda: report.append(True))
    assert [(adding.name, adding.notice.sentence) for adding in progress.list_imports()] == [("fruit", "Starting")]
    progress.forget_import(begun.number)  # it goes on, so it stays
    assert len(progress.list_imports()) == 1
    standing, words = end_of(begun)
    assert progress.list_imports() == ()
    row = corpora.get_corpus(db, standing.corpus)
    assert (row.name, row.documents, row.words) == ("fruit", 2, 3)
    assert row.source == "documents"
    advice = "each .doc is an old Word document: open it and save it as .docx"
    assert standing.notes == (f"left out what is not read as text: 1 .doc; {advice}",)
    assert any(said.startswith("Storing documents") for said in words)
    assert not sent.folder.exists()
    assert report == [True]
    until = time.monotonic() + PATIENCE
    while full_text.list_unindexed(db) and time.monotonic() < until:  # the process goes on after its last line
        time.sleep(0.05)
    assert full_text.list_unindexed(db) == []


def test_what_goes_wrong_is_one_sentence_that_names_the_file_as_it_was_sent(db, sent):
    options = ImportOptions(name="fruit", format="csv")
    standing, _ = end_of(RunningImport(db.url, sent, options, lambda: None))
    assert standing.error.startswith("documents: ")
    (adding,) = progress.list_imports()  # for whoever comes to look, when the form that began it is gone
    assert (adding.name, adding.notice) == ("fruit", progress.Notice(standing.error, failed=True))
    progress.forget_import(adding.number)
    assert progress.list_imports() == ()
    assert "Traceback" not in standing.error
    assert (standing.corpus, corpora.list_corpora(db)) == (0, [])
    assert not sent.folder.exists()


def test_a_process_that_dies_is_told_with_the_place_of_its_log(db, sent, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    standing, _ = end_of(RunningImport(db.url, sent, ImportOptions(), lambda: None))
    assert standing.error.startswith("The import ended unexpectedly and stored nothing; ")
    assert standing.error.endswith("imports.log says why")
    assert not sent.folder.exists()


def test_an_import_goes_on_when_nobody_listens_any_more(db, sent, monkeypatch):
    class Gone(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    options = ImportOptions(min_df=1, max_df=1.0, test_share=0).report()
    order = {"path": str(sent.path), "folder": str(sent.folder), "options": options}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
    monkeypatch.setattr("sys.stdout", Gone())
    monkeypatch.setenv("TOPIARY_STORE", db.url)
    monkeypatch.chdir(sent.path.parent)
    assert ingest_process.main(["import"]) == 0
    assert [row.documents for row in corpora.list_corpora(db)] == [2]
    assert not sent.folder.exists()


def test_what_a_library_prints_is_no_news_of_the_import(db, sent, monkeypatch, capsys):
    def noisy(*_):
        print("deprecated")  # noqa: T201
        raise IngestError(sent.path, "is empty")

    order = {"path": str(sent.path), "folder": str(sent.folder), "options": ImportOptions().report()}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
    monkeypatch.chdir(sent.path.parent)
    monkeypatch.setattr(importing, "import_path", noisy)
    monkeypatch.setattr(ingest_process, "open_database", lambda: db)
    ingest_process.main(["import"])
    said = capsys.readouterr()
    assert [json.loads(line)[1] for line in said.out.splitlines()] == [{"error": f"{sent.path}: is empty"}]
    assert "deprecated" in said.err


def test_documents_are_appended_to_the_corpus_that_is_named(db, sent):
    whole = ImportOptions(name="fruit", min_df=1, max_df=1.0, test_share=0)
    more = sent.folder.parent / "more" / "documents"
    more.mkdir(parents=True)
    (more / "d.txt").write_text("apple and a plum")
    made, _ = end_of(RunningImport(db.url, sent, whole, lambda: None))
    standing, _ = end_of(
        RunningImport(db.url, SentFiles(more, more.parent), ImportOptions(), lambda: None, made.corpus)
    )
    assert standing.corpus == made.corpus
    assert standing.appended.startswith("1 document appended (1 training, 0 test), 1 of 2 words (50.0%) are outside")
    assert corpora.get_corpus(db, made.corpus).documents == 3
    assert not more.parent.exists()


@pytest.mark.nightly
def test_a_heap_of_tables_becomes_one_corpus(db, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    heap = tmp_path / "sent" / "documents"
    heap.mkdir(parents=True)
    for name in ("may", "june"):
        (heap / f"{name}.csv").write_text(f"text,label\napple pear {name},a\napple fig,b\n")
    options = ImportOptions(name="heap", min_df=1, max_df=1.0, test_share=0)
    standing, _ = end_of(RunningImport(db.url, SentFiles(heap, heap.parent), options, lambda: None))
    assert standing.error == ""
    assert corpora.get_corpus(db, standing.corpus).documents == 4


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of two columns."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "notes.csv"
    path.write_text("title,text\n" + "\n".join(f"Note {n},apple pear fig{'abc'[n % 3]}" for n in range(30)))
    return path


def end_of_inspection(inspection):
    until, look = time.monotonic() + PATIENCE, InspectionStatus()
    while not look.over and time.monotonic() < until:
        look = inspection.read_status(look)
    return look


def test_the_report_is_that_of_this_process_and_the_file_stays(table):
    options = ImportOptions(min_df=1, max_df=1.0)
    look = end_of_inspection(RunningInspection(table, options))
    assert look.report == inspect_path(table, options)
    assert table.exists()


def test_what_cannot_be_read_is_one_sentence_that_names_the_file_as_it_was_sent(table):
    look = end_of_inspection(RunningInspection(table, ImportOptions(text_column="body")))
    assert look.report is None
    assert look.error == "notes.csv: has no column 'body'; its columns are title, text"


def test_one_that_nobody_waits_for_ends_without_a_report(table):
    inspection = RunningInspection(table, ImportOptions())
    inspection.cancel()
    look = end_of_inspection(inspection)
    assert look.report is None
    assert look.error.startswith("It could not be looked at; ")
