"""The documents page without a browser: what is given is placed, the link holds the view, the text stays here."""

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import class_samples
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, NASTY, SUBJECTS, arrays, plain_model, plant
from office_samples import pdf
from page_sessions import PageSession

from topiary.app.analysis import inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import complete_shares
from topiary.app.live.feed import Tick
from topiary.app.pages.documents import COMPILING, LOADING, DocumentsPage
from topiary.app.pages.session import from_query, to_query
from topiary.app.views.explore.detail import cut_excerpt
from topiary.app.views.text import escape
from topiary.store import corpora, notes, runs, snapshots
from topiary.store.database import Database, open_database

__all__ = ["plain_model"]


class Session(PageSession):
    """A documents page whose work elsewhere is done at :meth:`work`."""

    def __init__(self, db: Database, **fields: Any) -> None:
        super().__init__(db, "documents", **({"tab": "topics"} | fields))
        self.page = DocumentsPage(self.context)

    def handle(self, do: str, **more: Any) -> "Session":
        self.page.handle({"do": do, **more})
        return self

    def choose(self, name: str, raw: bytes) -> "Session":
        return self.handle("file", value=base64.b64encode(raw).decode(), file=name, size=len(raw))

    def give(self, text: str) -> "Session":
        return self.handle("place", form={"text": text})

    @property
    def answer(self) -> str:
        return self.page._answer.html

    def marked(self) -> set[str]:
        return set(re.findall(r"<mark[^>]*>([^<]*)", self.answer))


@pytest.fixture
def db(tmp_path: Any, plain_model: None) -> Iterator[Database]:
    db = open_filled(tmp_path / "store.db", plant, classes=True)
    yield db
    db.close()


@pytest.fixture
def session(db: Database) -> Iterator[Session]:
    session = Session(db).work()
    yield session
    session.feed.stop()


def test_a_pasted_text_is_placed_and_its_strongest_path_is_marked(session: Session) -> None:
    session.give("A rose by the hedge; and a rocket. Qwertz!").work()
    assert "<b>3 of 4</b> words that count are known to the corpus (3 stop words left out)" in session.answer
    assert "not known: <i>qwertz" in session.answer
    assert session.marked() == {"rose", "hedge"}
    assert "gardens" in session.answer


def test_the_answer_comes_before_the_nearest_documents(session: Session) -> None:
    session.give("rocket launch moon").work(2)
    assert session.marked() == {"rocket", "launch", "moon"}
    assert "Finding the topics of documents to compare with" in session.answer
    session.work()
    assert f"among {DOCUMENTS} of the corpus" in session.answer
    assert 'data-do="document" data-number="1"' in session.answer


def test_kernels_that_must_be_compiled_are_told_of(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference.compile_kernels, "list_missing", lambda request: ["rest"])
    monkeypatch.setattr(inference.compile_kernels, "start_compilers", lambda request, store: [])
    session.give("rose").work(1)
    assert COMPILING in session.answer
    session.work()
    assert session.marked() == {"rose"}
    assert session.in_turn == 1, "visitors who wait for the same kernels keep no thread from the others"
    monkeypatch.setattr(inference.compile_kernels, "list_missing", lambda request: [])
    session.give("hedge").work()
    assert (session.marked(), session.in_turn) == ({"hedge"}, 1)


def test_kernels_that_must_be_loaded_are_told_of_once(session: Session) -> None:
    session.give("rose").work(1)
    assert LOADING in session.answer
    session.work()
    session.give("hedge").work(1)
    assert "Finding its topics …" in session.answer


def test_the_text_is_never_part_of_the_link(session: Session) -> None:
    session.give("rose hedge lawn").work()
    assert "rose" not in to_query(session.view)
    session.handle("typed", value="rocket half typed")
    assert "rocket" not in to_query(session.view)


def test_the_text_survives_going_to_a_document_and_to_another_page(session: Session) -> None:
    session.handle("typed", value="rose hedge lawn").give("rose hedge lawn").work()
    session.handle("document", number="2").work()
    assert "leaflet 2" in session.answer
    session.view.page = "watch"
    session.view.param.update(page="documents", documents=())
    session.work()
    assert session.marked() == {"rose", "hedge", "lawn"}
    assert "rose hedge lawn" in session.page._form.html


def test_choosing_a_topic_marks_its_words_and_is_part_of_the_link(session: Session) -> None:
    session.give("rose hedge rocket").work()
    session.handle("trail", ids="L1:2")
    assert session.marked() == {"rocket"}
    assert "trail=L1:2" in to_query(session.view)
    session.handle("trail", ids="")
    assert session.marked() == {"rose", "hedge"}


def test_the_link_of_a_document_shows_it_again_as_it_was(session: Session, db: Database) -> None:
    session.handle("document", number="6").work()
    session.handle("trail", ids="L2:1,L1:1")
    again = Session(db, **from_query(to_query(session.view))).work()
    assert again.answer == session.answer
    assert "sport" in again.answer


def test_a_document_of_the_corpus_is_not_its_own_neighbour(session: Session) -> None:
    session.handle("document", number="6").work()
    assert 'data-number="6"' not in session.answer
    assert re.findall(r'data-do="document" data-number="(\d+)"', session.answer)


def test_the_nearest_of_all_documents_follow_from_stored_shares_by_the_layer_chosen(
    session: Session, db: Database
) -> None:
    complete_shares(db, runs.get_run(db, 1), find_snapshot(db, 1))
    session.handle("document", number="6").work()
    assert f"among all {DOCUMENTS} of the corpus" in session.answer
    assert re.findall(r'<a href="\?page=documents&amp;run=1[^"]*&amp;documents=(\d+)" data-go', session.answer)
    session.handle("near", value="2").work()
    assert "topics of layer 2: 0 is the same mixture" in session.answer
    assert "near=2" in to_query(session.view)
    session.handle("near", value="0").handle("near", value="x")
    assert session.view.near == 2


def test_a_search_lists_documents_of_the_corpus(session: Session) -> None:
    session.handle("find", value="leaflet 11")
    assert "Searching" in session.page._form.html
    session.work()
    assert 'data-number="11"' in session.page._form.html
    session.handle("find", value="zebra").work()
    assert "No document has “zebra”" in session.page._form.html


def test_any_document_is_one_of_the_corpus(session: Session) -> None:
    session.handle("any").work()
    assert 0 <= session.view.documents[0] < DOCUMENTS
    assert "leaflet" in session.answer


def test_a_file_is_placed_under_its_name_and_a_large_or_binary_one_is_refused(session: Session) -> None:
    session.choose("letter.txt", b"goal and season").work()
    assert "letter.txt" in session.answer
    session.handle("file", value="", file="large.txt", size=9_000_000)
    assert "large.txt is larger than 8 MB" in session.report[0]
    session.choose("picture.png", b"\xff\0\xfe").work()
    assert "picture.png is not a text file" in session.answer


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [("blank.txt", b" \n", "There is no text in blank.txt"), ("a.png", b"\xff\0", "a.png is not a text file")],
)
def test_a_file_that_cannot_be_shown_takes_the_place_of_the_document_before(
    session: Session, name: str, raw: bytes, sentence: str
) -> None:
    for begin in (lambda: session.give("rose"), lambda: session.handle("document", number="6")):
        begin().work()
        session.choose(name, raw).work()
        assert sentence in session.answer
        assert sentence in session.report[-1]
        assert "dc-answer" not in session.answer
        for follow in session.ticks:
            follow(Tick(rows=frozenset({1})))
        assert sentence in session.answer
    assert session.give("goal").work().marked() == {"goal"}


def test_of_a_text_without_a_known_word_nothing_is_shown_but_why(session: Session) -> None:
    session.give("zzz qqq").work()
    assert "none of its words (zzz, qqq), so there is no result for it" in session.answer
    assert not re.search("<mark|Predicted class|Paths|Nearest|Finding", session.answer)
    session.give("42!").work()
    assert "There is nothing in it that the corpus counts" in session.answer


def test_an_office_file_a_page_and_an_old_text_are_placed_by_their_words(session: Session) -> None:
    session.choose("report.pdf", pdf(["rose and hedge"])).work()
    assert session.marked() == {"rose", "hedge"}
    session.choose("page.html", b"<style>rose</style><p>goal").work()
    assert session.marked() == {"goal"}
    session.choose("old.txt", "caf\xe9 season".encode("latin-1")).work()
    assert session.marked() == {"season"}
    session.choose("cut.pdf", b"%PDF-1.4 cut").work()
    assert "cut.pdf is no sound PDF; save it as plain text first" in session.answer


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_file_with_a_byte_order_mark_is_read_by_it(session: Session, encoding: str) -> None:
    session.choose("letter.txt", "The rose, tea and caf\xe9".encode(encoding)).work()
    assert session.marked() == {"rose"}
    assert "caf\xe9" in session.answer


def test_a_long_text_is_read_to_its_end(session: Session) -> None:
    session.give("rose hedge " * 40_000 + "rocket").work()
    assert "<b>80,001 of 80,001</b> words are known" in session.answer


def test_a_document_that_does_not_exist_is_answered_with_a_sentence(db: Database) -> None:
    session = Session(db, documents=(999,)).work()
    assert "no 999" in session.answer
    between = Session(db, documents=(1, 999), tab="between").work()
    assert "no 999" in between.page._between._steps.html


MESSAGES = [
    {"do": "document", "number": "-1"},
    {"do": "document", "number": "x"},
    {"do": "trail", "ids": "<b>,L9"},
    {"do": "explore", "id": "L0:0"},
    {"do": "place", "form": {"text": "  "}},
    {"do": "place", "form": "x"},
    {"do": "line", "number": ""},
    {"do": "file", "value": 1, "file": 2},
    {"do": "no such request"},
]


def test_messages_that_make_no_sense_change_nothing(session: Session) -> None:
    session.give("rose").work()
    before, shown = to_query(session.view), session.answer
    for message in MESSAGES:
        session.page.handle(message)
        session.work()
        assert (to_query(session.view), session.answer) == (before, shown), message


def test_newer_topics_are_offered_and_the_answer_stays_until_they_are_taken(tmp_path: Any, plain_model: None) -> None:
    db = open_database(str(tmp_path / "live.db"))
    row = plant(db, finished=False)
    session = Session(db).work().give("rose").work()
    before = session.answer
    snapshots.append_snapshot(db, 1, row.attempt, 20, 1.0, arrays())
    session.feed.look_now()
    for follow in session.ticks:
        follow(Tick(snapshots=frozenset({1})))
    assert session.answer == before
    assert "Newer topics, of mini-batch 20" in session.page._head.html
    session.handle("again").work()
    assert "mini-batch 20" in session.page._head.html
    assert "Newer topics" not in session.page._head.html
    session.feed.stop()
    db.close()


def test_another_run_does_not_show_the_answer_of_the_first(session: Session, db: Database) -> None:
    session.give("rose").work()
    other = runs.create_run(db, corpus=1, model="dlda", inference="", layers=(4,), settings={}, options={}, seed=1)
    session.feed.look_now()
    session.view.run = other.number
    session.work()
    assert "has no topics yet" in session.answer
    session.view.run = 1
    assert session.work().marked() == {"rose"}


def test_a_topic_opens_in_the_explorer(session: Session) -> None:
    session.give("rose").work()
    session.handle("explore", id="L2:1")
    assert (session.view.page, session.view.layer, session.view.topic) == ("explore", 2, 1)


def test_the_line_between_two_documents_has_its_steps_and_layer_in_the_link(session: Session, db: Database) -> None:
    session.handle("document", number="0").work()
    session.handle("line", number="2").work()
    between = session.page._between
    assert (session.view.tab, session.view.documents) == ("between", (0, 2))
    assert between._steps.html.count("% of the way") == 9
    assert '<option value="0" selected>as usual: layer 2</option>' in between._form.html
    percents = re.findall(r"<small[^>]*>(\d+)%</small>", between._steps.html)
    assert percents == ["0", "13", "25", "38", "50", "63", "75", "88", "100"]
    opening = re.findall(r'<div class="dc-end">.*?<p>(.*?)</p>', between._form.html)
    texts = [document.text for document in corpora.read_documents(db, 1, (0, 2))]
    assert opening == [escape(cut_excerpt(text, 160)) for text in texts]
    assert all(opening)
    between.handle({"do": "steps", "value": "5"})
    between.handle({"do": "mixed", "value": "1"})
    assert between._steps.html.count("% of the way") == 5
    assert between._steps.html.index("garden") < between._steps.html.index("+ goal")
    again = Session(db, **from_query(to_query(session.view))).work()
    assert again.page._between._steps.html == between._steps.html


def test_the_ends_of_a_line_are_chosen_turned_round_and_left_to_chance(session: Session) -> None:
    session.handle("tab", value="between").work()
    between = session.page._between
    between.handle({"do": "end", "number": "3", "side": "0"})
    between.handle({"do": "end", "number": "5", "side": "1"})
    assert session.view.documents == (3, 5)
    between.handle({"do": "end", "number": "7", "side": "0"})
    between.handle({"do": "turn"})
    assert session.view.documents == (5, 7)
    for _ in range(9):
        between.handle({"do": "any-two"})
        session.work()
        one, other = session.view.documents
        assert one % 4 != other % 4  # their class
    assert NASTY not in session.page._between._form.html


def test_the_page_begins_with_some_documents_of_the_corpus_of_its_run(session: Session) -> None:
    ask = session.work().page._form
    offered = re.findall(r'<li data-key="d(\d+)">', ask.html)
    assert len(set(offered)) == 3
    session.handle("document", number=offered[1]).work()
    assert session.view.documents == (int(offered[1]),)
    assert "<li" not in ask.html


def test_documents_that_are_images_are_chosen_from_the_corpus_only(tmp_path: Any, plain_model: None) -> None:
    db = open_filled(tmp_path / "images.db", plant, image_shape=(5, 5))
    session = Session(db, documents=(3,)).work()
    assert "<textarea" not in session.page._form.html
    assert "as its topics reconstruct it" in session.answer
    assert session.answer.count("data:image/png") > 3
    session.handle("line", number="1").work()
    assert session.page._between._steps.html.count("data:image/png") == 9
    session.feed.stop()
    db.close()


def test_topics_keep_their_numbers_where_others_were_pruned(tmp_path: Any, plain_model: None) -> None:
    db = open_filled(tmp_path / "pruned.db", plant, pruned=True)
    session = Session(db, documents=(0,)).work()
    session.handle("document", number="1").work()
    assert 'data-ids="L1:3" aria-pressed="false"' in session.answer
    session.handle("trail", ids="L1:3")
    assert session.marked() & set(SUBJECTS[1].split())
    session.handle("trail", ids="L1:6")
    assert session.marked() == set()
    session.feed.stop()
    db.close()


def test_placing_uses_the_snapshot_of_the_link(db: Database) -> None:
    chosen = SimpleNamespace(number=snapshots.find_latest(db, 1).number)  # type: ignore[union-attr]
    assert "lawn" in Session(db, snapshot=chosen.number, documents=(0,)).work().answer
    assert "no snapshot 77" in Session(db, snapshot=77, documents=(0,)).work().answer


def test_a_topic_renamed_meanwhile_is_called_by_its_new_name(session: Session) -> None:
    session.give("A rose by the hedge").work()
    assert "gardens" in session.answer
    for topic in (1, 2, 3, 4):
        notes.set_label(session.context.db, 1, 1, topic, f"herbs {topic}")
    session.feed.relabel(1)
    for callback in session.ticks:
        callback(Tick(labels=frozenset({1})))
    assert "herbs" in session.answer


def test_a_search_that_was_overtaken_ends(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def search(*request: Any) -> tuple[int, list[Any]]:
        asked.append(request[-1]())
        return 0, []

    monkeypatch.setattr(corpora, "search_documents", search)
    session.handle("find", value="ro")
    session.handle("find", value="rose").work()
    assert asked == [False, True]


@pytest.mark.parametrize("tab", ["topics", "between"])
@pytest.mark.parametrize("late", [False, True], ids=["found", "on its way"])
def test_what_a_search_found_is_of_the_corpus_of_the_run_looked_at(
    session: Session, monkeypatch: pytest.MonkeyPatch, tab: str, *, late: bool
) -> None:
    other = class_samples.plant(session.context.db, name="pamphlets")
    session.feed.look_now()
    monkeypatch.setattr(
        corpora,
        "search_documents",
        lambda db, corpus, *_: (1, corpora.read_documents(db, corpus, [7 if corpus == 1 else 9])),
    )
    session.view.tab = tab
    handle, board = session.page.handle, session.page._form
    if tab == "between":
        handle, board = session.page._between.handle, session.page._between._form
    handle({"do": "find", "value": "rose"})
    if not late:
        session.work()
        assert re.findall(r'<li data-key="d(\d+)">', board.html) == ["7"]
    session.view.run = other.number
    session.work()
    assert re.findall(r'<li data-key="d(\d+)">', board.html) == ["9"]


class Reading(Session):
    """A documents page that begins with the table."""

    def __init__(self, db: Database, **fields: Any) -> None:
        super().__init__(db, **({"tab": ""} | fields))

    def tell(self, do: str, **more: Any) -> "Reading":
        self.page._table.handle({"do": do, **more})
        return self

    @property
    def table(self) -> str:
        return self.page._table.board.html

    @property
    def bar(self) -> str:
        return self.page._table.bar.html

    def listed(self) -> list[int]:
        return [int(number) for number in re.findall(r'<tr role="row" data-key="d(\d+)"', self.table)]


@pytest.fixture
def reading(db: Database) -> Iterator[Reading]:
    session = Reading(db).work()
    yield session
    session.feed.stop()


def test_the_page_begins_with_a_table_of_the_corpus_and_the_strongest_topics(reading: Reading) -> None:
    assert reading.listed() == list(range(DOCUMENTS))
    assert f"1–{DOCUMENTS} of {DOCUMENTS} documents" in reading.table
    strongest = re.findall(r'class="dc-chip" data-do="subject" data-value="(L1:\d)"', reading.table)
    assert strongest == [f"L1:{n % 4 + 1}" for n in range(DOCUMENTS)]


def test_the_table_is_paged_and_its_page_is_in_the_link(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "topiary.app.pages.documents_reading",
        "topiary.app.pages.documents_table",
        "topiary.app.views.documents.document_table",
    ):
        monkeypatch.setattr(f"{module}.PAGE_ROWS", 10)
    session = Reading(db).work()
    read: list[list[int]] = []
    monkeypatch.setattr(
        corpora, "read_documents", lambda *args, real=corpora.read_documents: read.append(list(args[2])) or real(*args)
    )
    session.tell("page", number="1").work()
    assert session.listed() == list(range(10, 20))
    assert read == [list(range(10, 20))], "only the documents of a page are read"
    assert "table_page=2" in to_query(session.view)
    assert Reading(db, **from_query(to_query(session.view))).work().listed() == list(range(10, 20))
    assert Reading(db, table_page=99).work().listed() == [20, 21, 22, 23]


def test_filters_are_in_the_link_and_begin_at_the_first_page(reading: Reading, db: Database) -> None:
    reading.view.table_page = 3
    reading.tell("find", value="goal").tell("label", value="3").work()
    found = reading.listed()
    assert found
    assert all(n % 4 == 2 for n in found)
    assert "labelled sport" in reading.table
    query = to_query(reading.view)
    assert "query=goal" in query
    assert "label=3" in query
    assert "table_page" not in query
    assert Reading(db, **from_query(query)).work().listed() == found
    reading.tell("subject", value="L1:3").work()
    assert "that use “" in reading.table
    reading.tell("clear").work()
    assert reading.listed() == list(range(DOCUMENTS))


def test_badly_explained_documents_are_listed_once_shares_are_stored(reading: Reading, db: Database) -> None:
    assert "Badly explained" not in reading.table
    reading.tell("badly").work()
    assert "has no shares of documents under" in reading.table
    assert "topiary place 1 computes" in reading.table
    reading.tell("clear").work()
    assert reading.listed() == list(range(DOCUMENTS))
    complete_shares(db, runs.get_run(db, 1), find_snapshot(db, 1))
    reading.tell("badly").work()
    assert len(reading.listed()) == 1  # 2 % of 24 documents, rounded up
    assert "whose words the topics expect least" in reading.table
    assert re.search(r'title="Mean log rate [^"]*">−\d', reading.table)
    query = to_query(reading.view)
    assert "explained=badly" in query
    assert Reading(db, **from_query(query)).work().listed() == reading.listed()
    reading.tell("badly").work()
    assert reading.listed() == list(range(DOCUMENTS))


def test_columns_filter_the_table_and_a_search_shows_its_matches_in_context(reading: Reading, db: Database) -> None:
    corpus = corpora.list_corpora(db)[0]
    label = corpus.label_names[2]
    reading.tell("filter", form={"column": "label", "value": label.upper()}).work()
    assert reading.view.where == (f"label={label.upper()}",)
    found = reading.listed()
    assert found
    assert all(n % 4 == 2 for n in found)
    assert f"with label={label.upper()}" in reading.table
    reading.tell("find", value='"goal"').work()
    assert set(reading.listed()) <= set(found)
    assert "<mark>goal</mark>" in reading.table
    reading.tell("find", value="/goal(/").work()
    assert "is wrong" in reading.table
    reading.tell("find", value="").tell("unfilter", value=f"label={label.upper()}").work()
    assert reading.listed() == list(range(DOCUMENTS))


def test_a_document_is_read_with_its_neighbours_among_those_selected(reading: Reading) -> None:
    reading.tell("label", value="3").work()
    reading.tell("read", number="6").work(1)
    assert "2 of 6 documents that the filters select" in reading.bar
    reading.work()
    assert reading.marked()
    reading.tell("step", number=re.findall(r'data-number="(\d+)"[^>]*>Next', reading.bar)[0]).work()
    assert reading.view.documents == (10,)
    assert "3 of 6" in reading.bar
    reading.tell("back").work()
    assert reading.view.documents == ()
    assert re.search(r'aria-current="true"><td[^>]*>10<', reading.table)


def test_the_words_of_the_topic_that_the_table_lists_are_marked(reading: Reading) -> None:
    reading.tell("subject", value="L1:2").tell("read", number="1").work()
    assert reading.marked() <= set(SUBJECTS[1].split())
    assert reading.marked()
    reading.handle("trail", ids="L1:1")
    assert reading.marked() == set()


def test_the_text_is_there_before_its_topics(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topiary.app.pages.documents.place_document", lambda *_: pytest.fail("not yet"))
    session = Reading(db, documents=(2,)).work(2)
    (document,) = corpora.read_documents(db, 1, [2])
    assert escape(document.text) in session.answer
    assert "dc-answer" in session.answer


def test_the_table_and_the_texts_of_a_run_without_topics_are_shown(db: Database) -> None:
    other = runs.create_run(db, corpus=1, model="dlda", inference="", layers=(4,), settings={}, options={}, seed=1)
    session = Reading(db, run=other.number).work()
    assert session.listed() == list(range(DOCUMENTS))
    assert "Strongest topic" not in session.table
    session.tell("read", number="3").work()
    assert "has no topics yet" in session.answer
    assert "dc-text" in session.answer
    session.feed.stop()


def test_a_number_that_no_document_has_is_answered_with_the_range(reading: Reading) -> None:
    for number in ("24", "x", "", "²"):
        reading.tell("read", form={"number": number})
    assert reading.report == ["Enter the number of a document, from 0 to 23."] * 4
    assert reading.view.documents == ()
    reading.tell("read", form={"number": " 23 "}).work()
    assert reading.view.documents == (23,)


TO_THE_TABLE = [
    {"do": "label", "value": "-1"},
    {"do": "subject", "value": "<b>"},
    {"do": "page", "number": "²"},
    {"do": "step", "number": ""},
    {"do": "find", "value": 3},
    {"do": "read"},
]


def test_messages_to_the_table_that_make_no_sense_change_nothing(reading: Reading) -> None:
    before = to_query(reading.view), reading.table
    for message in TO_THE_TABLE:
        reading.page._table.handle(message)
        reading.work()
        assert (to_query(reading.view), reading.table) == before, message


def test_a_corpus_that_came_as_counts_says_that_its_texts_are_not_kept(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = corpora.read_documents
    monkeypatch.setattr(corpora, "read_documents", lambda *args: [replace(each, text="") for each in real(*args)])
    session = Reading(reading.context.db).work()
    assert "its texts are not kept" in session.table
    session.feed.stop()
