"""The demo is prepared once, and goes on where it was left."""

import io
import json
from threading import Event

import pytest
from process_samples import NOBODY

from topiary.app.ingest import docstrings, memory
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import compile_kernels, control, demo, launcher, process, progress
from topiary.app.jobs.progress import Notice
from topiary.app.live.actions import Actions
from topiary.app.live.feed import Feed
from topiary.store import corpora, runs
from topiary.store.database import open_database


@pytest.fixture
def db(tmp_path, monkeypatch):
    """A store beside a small stand-in for the built-in corpus; nothing is compiled or trained."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for j in range(12):
        (folder / f"{j}.txt").write_text(f"apple bread cheese {'dates' * (j % 3)}", encoding="utf-8")
    options = ImportOptions(name=docstrings.DOCS_NAME, min_df=1, max_df=1.0)
    monkeypatch.setattr(memory, "import_builtin", lambda db, notify: import_path(db, folder, options, notify))
    monkeypatch.setattr(compile_kernels, "start_compilers", lambda request, store: [])
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    monkeypatch.setattr(process, "start_worker_ahead", lambda kernels, url: None)
    database = open_database(str(tmp_path / "store.db"))
    yield database
    database.close()


def test_the_first_time_it_makes_a_corpus_and_a_run_and_tells_so(db):
    report = io.StringIO()
    number = demo.prepare_demo(db, demo.Notifier(report))
    row = runs.get_run(db, number)
    assert (row.corpus_name, row.name, row.layers, row.state) == (docstrings.DOCS_NAME, "demo", (16, 8), "queued")
    words = [json.loads(line)[0] for line in report.getvalue().splitlines()]
    assert words[-1].startswith("Starting the first run, of three layers; about ")
    assert any(word.startswith("Storing documents") for word in words)
    shares = [json.loads(line)[1] for line in report.getvalue().splitlines()]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


def test_the_second_time_it_shows_the_same_run_again(db):
    notify = demo.Notifier(io.StringIO())
    assert demo.prepare_demo(db, notify) == demo.prepare_demo(db, notify)
    assert len(runs.list_runs(db)) == len(corpora.list_corpora(db)) == 1


@pytest.mark.parametrize("missing", [["step"], []])
def test_documents_are_read_at_once_and_kernels_compiled_once_the_server_answers(db, monkeypatch, missing):
    events, served = [], Event()
    read = memory.import_builtin

    def import_and_serve(db, notify):
        row = read(db, notify)
        events.append("read")
        served.set()
        return row

    def start(request, store):
        events.append("compile")
        return []

    monkeypatch.setattr(memory, "import_builtin", import_and_serve)
    monkeypatch.setattr(compile_kernels, "list_missing", lambda request: missing)
    monkeypatch.setattr(compile_kernels, "start_compilers", start)
    monkeypatch.setattr(process, "start_worker_ahead", lambda kernels, url: events.append(f"load {kernels['model']}"))
    for _ in range(2):
        demo.prepare_demo(db, demo.Notifier(io.StringIO()), lambda: served.wait(10))
    assert events == (["read", "compile", "compile"] if missing else ["load dlda", "read"])


def test_a_demo_that_was_paused_goes_on(db):
    notify = demo.Notifier(io.StringIO())
    number = demo.prepare_demo(db, notify)
    control.pause_run(db, number)
    assert demo.prepare_demo(db, notify) == number
    assert runs.get_run(db, number).state == "queued"


def test_it_says_whether_its_run_trains_or_has_finished(db, monkeypatch, capsys):
    monkeypatch.setenv("TOPIARY_STORE", db.url)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    said = []
    for state in ("queued", "finished"):
        monkeypatch.setattr(demo, "find_state", lambda row, state=state: state)
        assert demo.prepare_stored_demo([demo.QUICK]) == 0
        said.append(json.loads(capsys.readouterr().out.splitlines()[-1])[0])
    assert said == ["Run 1 is training", "Run 1 is finished"]


def test_a_notice_is_there_until_it_is_taken_away():
    progress.post_notice("reading", 0.5)
    assert progress.read_notice() == Notice("reading", 0.5)
    progress.post_notice("")
    assert progress.read_notice() == Notice()


class Child:
    """A preparing process that says these lines and ends with this status, when it is let."""

    def __init__(self, status, *lines):
        self._status, self.stdout = status, [json.dumps(line) for line in lines]
        self.over = False

    def poll(self):
        return self._status if self.over else None

    def wait(self):
        return self._status

    terminate = wait


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        (0, Notice()),
        (2, Notice("The demo cannot be prepared: no room", None, failed=True)),
        (1, Notice("The demo could not be prepared; the terminal of the server says why", None, failed=True)),
    ],
)
def test_a_demo_that_fails_leaves_a_sentence_for_the_pages(status, kept):
    demo._follow_process(Child(status, ("Reading", 0.25), ("The demo cannot be prepared: no room", None)))
    assert progress.read_notice() == kept
    progress.post_notice("")


def test_the_button_of_an_empty_store_prepares_the_demo_once(db, monkeypatch):
    begun = []

    def begin(url, **_):
        begun.append(Child(0))
        return begun[-1]

    monkeypatch.setattr(demo, "begin_demo", begin)
    feed = Feed(open_database(db.url, readonly=True))
    actions = Actions(db.url, feed)
    actions.demo()
    actions.demo()
    assert len(begun) == 1
    begun[0].over = True
    actions.demo()
    assert len(begun) == 2
    actions.close()
    feed.stop()
    feed.db.close()
