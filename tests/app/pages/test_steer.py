"""The page Steer without a browser: edits wait until they are applied, and the journal says what became of them."""

import re
from dataclasses import replace

import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import plant_trends

from topiary.app.jobs.edit_orders import check_order, number_words
from topiary.app.pages.steer import SteerPage
from topiary.store import corpora, edits, runs
from topiary.store.edits import NewEdit


class Actions:
    """What a visitor has asked for."""

    def __init__(self, db):
        self.db = db
        self.asked = []
        self.numbers = number_words(corpora.read_vocabulary(db, 1))

    def steer(self, run, orders):
        self.asked.append((run, [(each.kind, each.words, each.strength) for each in orders]))
        edits.add_edits(self.db, run, [check_order(each, self.numbers) for each in orders])
        return runs.get_run(self.db, run)

    def undo_edit(self, run, number):
        self.asked.append((run, number))
        return replace(runs.get_run(self.db, run), number=7)


class Session(PageSession):
    """The page on a small store."""

    def __init__(self, db, **fields):
        super().__init__(db, "steer", **fields)
        self.actions = Actions(db)
        self.context = replace(self.context, actions=self.actions)
        self.page = SteerPage(self.context)
        self.work()

    def say(self, do, **more):
        self.page.handle({"do": do, **more})
        return self.work()

    @property
    def html(self):
        return self.page._board.html

    def list_waiting(self):
        found = re.search(r'<ul aria-label="Edits to apply">(.*?)</ul>', self.html)
        return [] if found is None else re.findall(r"<li><span>([^<]*)<", found[1])


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


def test_edits_wait_until_they_are_applied_together(db):
    session = Session(db, layer=1, topic=1)
    word = re.search(r'data-kind="out" data-id="L1:1" data-word="([^"]+)"', session.html)[1]
    session.say("steer", kind="out", id="L1:1", word=word)
    session.say("steer", kind="merge", id="L1:1", form={"other": "L1:2"})
    session.say("steer", kind="pin", id="L1:1")
    session.say("undraft", number=2)
    session.say("strength", value="strong")
    assert [each.split()[0] for each in session.list_waiting()] == ["Keep", "Merge"]
    assert "not here …" in session.html
    assert "Apply 2 edits and train 50 more" in session.html  # the run has ended
    assert edits.list_edits(db, 1) == []
    session.say("apply-edits")
    assert session.actions.asked == [(1, [("out", (word,), "strong"), ("merge", (), "strong")])]
    assert session.list_waiting() == []
    assert len(re.findall(r'data-key="edit-', session.html)) == 2


def test_what_cannot_be_is_refused_in_a_sentence_and_does_not_wait(db):
    session = Session(db, layer=1, topic=1)
    session.say("steer", kind="seed", word="gardn, qqq")
    session.say("steer", kind="seed", word="garden")
    session.say("steer", kind="merge", id="L1:1", form={"other": "L1:1"})
    session.say("steer", kind="nonsense", id="L1:1")
    assert [sentence.split(";")[0][:22] for sentence in session.report] == [
        "The corpus has no 'gar", "An edit to make a new ", "Two different topics o",
    ]  # fmt: skip
    assert session.list_waiting() == []


def test_the_journal_can_be_undone_and_shows_what_was_typed_as_text(db):
    edits.add_edits(db, 1, [NewEdit("seed", words=(0, 1), name="<b>x", author="Ann")])
    session = Session(db)
    assert "&lt;b&gt;x" in session.html
    assert "<b>x" not in session.html
    session.say("undo-edit", number="1")
    assert session.actions.asked == [(1, 1)]
    assert session.view.run == 7
