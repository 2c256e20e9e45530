"""An import in a process of its own: the corpus, its progress and notes, its errors, and no folder left."""

import io
import json
import time

import pytest

from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.jobs import import_process, notices
from app.jobs.import_process import Import, Standing
from app.jobs.uploads import Sent
from store import corpora
from store.database import open_database

PATIENCE = 60.0


@pytest.fixture
def db(tmp_path):
    """A store in a file."""
    database = open_database(tmp_path / "store.db")
    yield database
    database.close()


@pytest.fixture(autouse=True)
def forgotten():
    """What the site remembers of failed imports is no matter of the next test."""
    yield
    for adding in notices.imports():
        notices.forget_import(adding.number)


@pytest.fixture
def sent(tmp_path, monkeypatch):
    """A folder of two texts and a file that is no text."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    inside = tmp_path / "sent" / "documents"
    inside.mkdir(parents=True)
    for name, text in (("a.txt", "apple pear"), ("b.txt", "apple fig"), ("c.doc", "?")):
        (inside / name).write_text(text)
    return Sent(inside, tmp_path / "sent")


def end_of(begun):
    """Its last standing, and all words on the way."""
    until, standing, words = time.monotonic() + PATIENCE, Standing(), []
    while not standing.over and time.monotonic() < until:
        standing = begun.standing(standing)
        words.append(standing.words)
    return standing, words


def test_a_corpus_is_made_in_a_process_of_its_own_and_the_folder_goes(db, sent):
    report = []
    options = ImportOptions(name="fruit", min_df=1, max_df=1.0, test_share=0)
    begun = Import(db.url, sent, options, lambda: report.append(True))
    assert [(adding.name, adding.notice.sentence) for adding in notices.imports()] == [("fruit", "Starting")]
    notices.forget_import(begun.number)  # it goes on, so it stays
    assert len(notices.imports()) == 1
    standing, words = end_of(begun)
    assert notices.imports() == ()
    row = corpora.get_corpus(db, standing.corpus)
    assert (row.name, row.documents, row.words) == ("fruit", 2, 3)
    assert row.source == "documents"
    assert standing.notes == ("left out what is not read as text: 1 .doc; save such documents as .txt",)
    assert any(said.startswith("Storing documents") for said in words)
    assert not sent.folder.exists()
    assert report == [True]


def test_what_goes_wrong_is_one_sentence_that_names_the_file_as_it_was_sent(db, sent):
    options = ImportOptions(name="fruit", format="csv")
    standing, _ = end_of(Import(db.url, sent, options, lambda: None))
    assert standing.error.startswith("documents: ")
    (adding,) = notices.imports()  # for whoever comes to look, when the form that began it is gone
    assert (adding.name, adding.notice) == ("fruit", notices.Notice(standing.error, failed=True))
    notices.forget_import(adding.number)
    assert notices.imports() == ()
    assert "Traceback" not in standing.error
    assert (standing.corpus, corpora.list_corpora(db)) == (0, [])
    assert not sent.folder.exists()


def test_a_process_that_dies_is_told_with_the_place_of_its_log(db, sent, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    standing, _ = end_of(Import(db.url, sent, ImportOptions(), lambda: None))
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
    assert import_process.main() == 0
    assert [row.documents for row in corpora.list_corpora(db)] == [2]
    assert not sent.folder.exists()


def test_what_a_library_prints_is_no_news_of_the_import(db, sent, monkeypatch, capsys):
    def noisy(*_):
        print("deprecated")  # noqa: T201
        raise IngestError(sent.path, "is empty")

    order = {"path": str(sent.path), "folder": str(sent.folder), "options": ImportOptions().report()}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
    monkeypatch.chdir(sent.path.parent)
    monkeypatch.setattr(import_process, "import_path", noisy)
    monkeypatch.setattr(import_process, "open_database", lambda: db)
    import_process.main()
    said = capsys.readouterr()
    assert [json.loads(line)[1] for line in said.out.splitlines()] == [{"error": f"{sent.path}: is empty"}]
    assert "deprecated" in said.err


def test_documents_are_appended_to_the_corpus_that_is_named(db, sent):
    whole = ImportOptions(name="fruit", min_df=1, max_df=1.0, test_share=0)
    more = sent.folder.parent / "more" / "documents"
    more.mkdir(parents=True)
    (more / "d.txt").write_text("apple and a plum")
    made, _ = end_of(Import(db.url, sent, whole, lambda: None))
    standing, _ = end_of(Import(db.url, Sent(more, more.parent), ImportOptions(), lambda: None, made.corpus))
    assert standing.corpus == made.corpus
    assert standing.appended.startswith("1 document appended (1 to train on), 1 of 2 words (50.0 %) are outside")
    assert corpora.get_corpus(db, made.corpus).documents == 3
    assert not more.parent.exists()


def test_a_heap_of_tables_becomes_one_corpus(db, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    heap = tmp_path / "sent" / "documents"
    heap.mkdir(parents=True)
    for name in ("may", "june"):
        (heap / f"{name}.csv").write_text(f"text,label\napple pear {name},a\napple fig,b\n")
    options = ImportOptions(name="heap", min_df=1, max_df=1.0, test_share=0)
    standing, _ = end_of(Import(db.url, Sent(heap, heap.parent), options, lambda: None))
    assert standing.error == ""
    assert corpora.get_corpus(db, standing.corpus).documents == 4
