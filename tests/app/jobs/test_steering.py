"""Steering: edits wait, are made between two steps, survive a kill, and are undone by a fork."""

import numpy as np
import pytest
from process_samples import SMALL, WORDS, bury, kill_after, order, written
from steering_samples import steer_dlda

from topiary.app.analysis.journal import make_entries
from topiary.app.analysis.reader import StoreReader
from topiary.app.jobs import claim, control, edit_work, launcher, new_run, steering, trainer, training
from topiary.app.jobs.edit_orders import EditOrder, check_order, describe_edit, describe_result, number_words
from topiary.app.jobs.steering import apply_edits, queue_edits, undo_edit, withdraw_edit
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import EditRefused
from topiary.store import checkpoints, edits, notes, points, runs, snapshots
from topiary.store.edits import APPLIED, REFUSED, WAITING, WITHDRAWN, NewEdit
from topiary.store.errors import Conflict, NotFound

pytestmark = pytest.mark.usefixtures("seldom")
SEED = EditOrder("seed", words=("word3", "word4"), name="doping")
BAN = EditOrder("ban", words=("word7",))
PLANNED = [
    NewEdit("seed", words=(3, 4), name="doping", step=12),
    NewEdit("place", topics=(-1, 2), name="sport", step=12),
    NewEdit("remove", topics=(1,), step=20),
    NewEdit("keep", topics=(2,), words=(9,), step=25),
]


@pytest.fixture(autouse=True)
def steered(monkeypatch):
    """DLDA by mini-batches takes edits of a simple kind, and workers are not started."""
    steer_dlda(monkeypatch)
    monkeypatch.setattr(launcher, "start_worker", lambda *_: pytest.fail("no test here needs a worker"))
    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: [])


def journal(db, run):
    return [row._replace(created=None, run=0) for row in edits.list_edits(db, run)]


def plan_edits(db, planned=PLANNED):
    """A queued run with edits in its journal."""
    return order(db, edits=planned).number


def test_edits_are_made_after_their_steps_and_the_journal_says_what_they_did(file):
    run = plan_edits(file)
    trainer.train_run(file, run)
    seed, place, remove, keep = journal(file, run)
    assert [(row.state, row.step) for row in (seed, place, remove, keep)] == [
        *((APPLIED, 12), (APPLIED, 12), (REFUSED, 20)),
        (APPLIED, 25),
    ]
    assert (seed.topic, seed.changed, seed.tokens, seed.documents) == (5, (5,), 40, 90)
    assert remove.message == "L1:1 holds all tokens, so nothing can be removed; make another topic first"
    curve = points.read_curve(file, run, "point_perplexity")
    before, after = max(p for p in curve if p[0] <= 12), max(p for p in curve if p[0] <= 62)
    assert (seed.perplexity_before, seed.perplexity_after) == (before[1], after[1])
    assert notes.read_remarks(file, run).names == {(1, 5): "doping", (2, 2): "sport"}
    shown = {row.minibatch for row in snapshots.list_snapshots(file, run)}
    assert {12, 13, 25, 26} <= shown
    assert {32, 45} <= {step for step, _ in curve}


def test_a_parent_is_chosen_by_the_edit_that_places_topics(file, monkeypatch):
    monkeypatch.undo()
    planned = [
        NewEdit("seed", words=(3, 4), name="doping", step=5),
        NewEdit("remove", topics=(99,), step=5),
        NewEdit("place", topics=(-1, -2, 0), name="sport", step=5),
    ]
    run = order(file, inference="gibbs", minibatches=8, edits=planned).number
    trainer.train_run(file, run)
    seed, _, place = edits.list_edits(file, run)
    assert (place.state, place.changed) == (APPLIED, (seed.topic,))
    assert notes.read_remarks(file, run).names[2, place.topic] == "sport"
    assert describe_edit(planned_row := place._replace(topic=None), WORDS) == (
        "place that of edit 1, that of edit 2 under the topic of layer 2 that has most to do with it 'sport'"
    )
    entries = make_entries([seed, place], WORDS)
    assert (entries[1].topics[-1], entries[1].topic) == (f"L2:{place.topic}",) * 2
    assert make_entries([seed, planned_row], WORDS)[1].topics[-1] == "chosen"
    (other,) = control.train_seeds(file, run, 1)
    assert edits.list_edits(file, other.number)[-1].topics[-1] == 0, "each seed chooses its own"


def test_an_edit_changes_the_topics_of_the_next_snapshot(file):
    plain, edited = order(file).number, plan_edits(file, PLANNED[:1])
    for run in (plain, edited):
        trainer.train_run(file, run)
    (same, changed) = ([snapshots.find_snapshot(file, run, step) for run in (plain, edited)] for step in (10, 20))
    equal, others = ([snapshots.load_snapshot(file, row.number)["phi.0"] for row in pair] for pair in (same, changed))
    assert np.array_equal(*equal)
    assert others[1][[3, 4], 4].sum() > 0.2


def test_examples_are_placed_after_the_snapshots_for_which_somebody_waits(file, monkeypatch):
    placed, place = {}, training.Training.place

    def note(self, position, plan, **how):
        after = place(self, position, plan, **how)
        pairs = zip(position.places, after.places, strict=True)
        placed[position.minibatch] = any(a.shape != b.shape or (a != b).any() for a, b in pairs)
        return after

    monkeypatch.setattr(training.Training, "place", note)
    trainer.train_run(file, plan_edits(file, [NewEdit("keep", topics=(2,), words=(9,), step=27)]))
    assert (placed[27], placed[28], placed[47]) == (False, False, True)


@pytest.mark.parametrize("moments", [(20, 40), pytest.param((32, 60), marks=pytest.mark.nightly)])
def test_a_run_killed_between_edits_and_resumed_has_equal_bits(file, monkeypatch, moments):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    whole = plan_edits(file)
    trainer.train_run(file, whole)
    for writes in moments:
        broken = plan_edits(file)
        assert kill_after(file, broken, writes)
        runs.requeue_run(file, bury(file, broken))
        trainer.train_run(file, broken)
        assert written(file, broken) == written(file, whole)
        assert journal(file, broken) == journal(file, whole)


def test_a_journal_that_is_played_again_has_equal_bits(file):
    first = plan_edits(file)
    trainer.train_run(file, first)
    played = [edits.repeat_edit(row, row.step) for row in edits.list_edits(file, first)]
    again = order(file, edits=played).number
    trainer.train_run(file, again)
    assert written(file, again) == written(file, first)


def test_an_edit_added_while_a_run_trains_is_made_after_the_present_step(file, monkeypatch):
    monkeypatch.setattr(edit_work, "LOOK_SECONDS", 0.0)
    run, step = order(file).number, training.Training.step

    def step_and_click(self, position):
        if position.minibatch == 29:
            queue_edits(file, run, [SEED, BAN], "Ada")
            withdraw_edit(file, run, 2)
        return step(self, position)

    monkeypatch.setattr(training.Training, "step", step_and_click)
    trainer.train_run(file, run)
    made, withdrawn = journal(file, run)
    assert (made.state, made.step, made.author, made.strength) == (APPLIED, 30, "Ada", "medium")
    assert (withdrawn.state, withdrawn.message) == (WITHDRAWN, "withdrawn before it was made")
    assert "1: new topic 'doping' of layer 1 from word3, word4; made L1:5; 1 topic changed" in str(
        [event.text for event in launcher.logs.list_events(file, run)]
    )


def test_a_run_that_ends_at_its_plateau_goes_on_for_fifty_steps_after_an_edit(file, monkeypatch):
    monkeypatch.setattr(trainer, "find_plateau", lambda _: 1)
    ends = []
    for planned in ([], [NewEdit("ban", words=(7,))]):
        run = order(file, minibatches=120, until="good", edits=planned).number
        trainer.train_run(file, run)
        ends.append(runs.get_run(file, run).minibatch)
    assert ends[0] < 51 <= ends[1] < 120


def test_a_finished_run_goes_on_with_the_edits_that_wait(trained):
    with pytest.raises(Conflict, match="no edit of run 1 waits"):
        apply_edits(trained, 1)
    queue_edits(trained, 1, [SEED, BAN], "Ada")
    more = apply_edits(trained, 1, 30)
    assert (more.parent, more.planned) == (1, 30)
    assert [(row.state, row.message) for row in edits.list_edits(trained, 1)] == [
        (WITHDRAWN, f"made in run {more.number}")
    ] * 2
    trainer.train_run(trained, more.number)
    seed, ban = edits.list_edits(trained, more.number)
    assert (seed.edit, seed.state, seed.step, ban.edit, ban.state) == (1, APPLIED, 1, 2, APPLIED)
    assert seed.perplexity_before is not None


def test_edited_topics_keep_number_name_and_notes_through_retraining_forks_and_seeds(file):
    run = plan_edits(file)
    trainer.train_run(file, run)
    notes.add_topic_note(file, run, 1, 5, notes.NewNote("seen in the appendix"))
    queue_edits(file, run, [BAN])
    more = apply_edits(file, run, 4)
    trainer.train_run(file, more.number)
    undone = undo_edit(file, run, 4)
    for made in (more.number, undone.number):
        assert notes.read_remarks(file, made).names == {(1, 5): "doping", (2, 2): "sport"}
        assert [(each.layer, each.topic, each.text) for each in notes.read_remarks(file, made).notes] == [
            (1, 5, "seen in the appendix")
        ]
        shown = StoreReader(file).hierarchy_at(runs.get_run(file, made))
        assert shown.title(Node(1, 4)) == "doping"
        assert shown.edited[Node(1, 4)] == "seed word3, word4; place"
    (other,) = control.train_seeds(file, run, 1)
    trainer.train_run(file, other.number)
    assert [(row.edit, row.kind, row.state, row.step) for row in edits.list_edits(file, other.number)] == [
        (1, "seed", APPLIED, 12), (2, "place", APPLIED, 12)  # the others name topics of this seed alone
    ]  # fmt: skip
    assert notes.read_remarks(file, other.number).names == {(1, 5): "doping", (2, 2): "sport"}


def test_a_paused_run_is_resumed_for_its_edits(file):
    run = order(file).number
    queue_edits(file, run, [BAN])
    control.pause_run(file, run)
    assert apply_edits(file, run).state == "queued"


def test_an_applied_edit_is_undone_by_a_fork_that_makes_those_before_it_again(file):
    run = plan_edits(file)
    trainer.train_run(file, run)
    undone = undo_edit(file, run, 4)
    begin = undone.parent_minibatch
    assert begin == 25, "the topics before an edit are kept"
    assert [(row.edit, row.step) for row in edits.list_edits(file, undone.number)] == [(1, -13), (2, -13)]
    with file.write() as connection:  # as if they had been thinned out
        table = snapshots.snapshots
        connection.execute(table.delete().where(table.c.run == run, table.c.minibatch.between(11, 60)))
    again = undo_edit(file, run, 4)
    rows = edits.list_edits(file, again.number)
    assert again.parent_minibatch == 10
    assert [(row.edit, row.state, row.step) for row in rows] == [(1, WAITING, 2), (2, WAITING, 2)]
    assert again.planned == max(steering.MORE, 50)
    trainer.train_run(file, again.number)
    assert [row.state for row in edits.list_edits(file, again.number)] == [APPLIED, APPLIED]
    with pytest.raises(Conflict, match=f"edit 1 was made before run {undone.number} began; undo it in run {run}"):
        undo_edit(file, undone.number, 1)
    with pytest.raises(Conflict, match="edit 3 of run 1 was refused, so there is nothing to undo"):
        undo_edit(file, run, 3)
    with pytest.raises(NotFound, match="has no edit 9"):
        undo_edit(file, run, 9)


def test_an_edit_that_waits_is_undone_by_withdrawing_it(file):
    run = order(file).number
    queue_edits(file, run, [BAN])
    assert undo_edit(file, run, 1).number == run
    assert edits.list_edits(file, run)[0].state == WITHDRAWN


def test_a_checkpoint_without_edits_has_the_arrays_of_before(trained):
    assert "edited" not in checkpoints.load_checkpoint(trained, 1).arrays


def test_edits_of_a_run_that_sweeps_survive_a_kill(file, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    planned = [
        NewEdit("seed", words=(3, 4), name="doping", step=5),
        NewEdit("place", topics=(-1, 2), step=5),
        NewEdit("ban", words=(30,), step=9),
        NewEdit("merge", topics=(2, 3), step=14),
        NewEdit("pin", topics=(1,), step=20),
    ]
    whole, broken = (order(file, inference="gibbs", minibatches=30, edits=planned).number for _ in range(2))
    trainer.train_run(file, whole)
    assert [(row.state, row.step) for row in edits.list_edits(file, whole)] == [
        (APPLIED, each.step) for each in planned
    ]
    assert edits.list_edits(file, whole)[0].topic == 7
    assert runs.get_run(file, whole).layers == (7, 3)
    for writes in (20, 30):
        assert kill_after(file, broken, writes)
        runs.requeue_run(file, bury(file, broken))
    trainer.train_run(file, broken)
    assert written(file, broken) == written(file, whole)
    assert journal(file, broken) == journal(file, whole)


NUMBERS = number_words(WORDS)
L1, L2 = (lambda number: Node(1, number - 1)), (lambda number: Node(2, number - 1))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (EditOrder("paint"), "there is no edit 'paint'; there are seed, keep, "),
        (
            EditOrder("seed", words=("word1",)),
            "make a new topic from words is written like 'seed tsunami aid'; got 0 topics",
        ),
        (EditOrder("seed", words=("word1", "Word1")), "needs 2 different words"),
        (
            EditOrder("pin", (L1(1),), ("word1",)),
            "keep a topic as it is is written like 'pin L1:3'; got 1 topic and 1 word",
        ),
        (EditOrder("ban", words=("wrd11",)), r"the corpus has no 'wrd11' \(near it are word11, "),
        (EditOrder("ban", words=("zebra", "x")), r"has no 'zebra' \(nor a word near it\) and no 'x'"),
        (EditOrder("merge", (L1(1), L2(1))), "two different topics of one layer are merged, as in 'merge L1:3 L1:8'"),
        (EditOrder("keep", (L2(1),), ("word1",)), "the edit keep is about a topic of layer 1; choose one "),
        (EditOrder("place", (L1(1), L1(2))), "a topic of layer 1 is placed below one of layer 2"),
        (
            EditOrder("ban", words=("word1",), strength="brutal"),
            "the strength of an edit is weak, medium, strong; got 'brutal'",
        ),
    ],
)
def test_an_edit_that_cannot_be_is_refused_in_a_sentence(asked, sentence):
    with pytest.raises(EditRefused, match=sentence):
        check_order(asked, NUMBERS)


def test_words_are_found_by_small_letters_too():
    assert check_order(EditOrder("keep", (L1(3),), ("Word2", "word2", "word5")), NUMBERS) == NewEdit(
        "keep", 1, (3,), (2, 5)
    )


def test_a_model_that_cannot_be_steered_says_which_can(file, monkeypatch):
    run = new_run.create_run(file, "small", model="lda-cavi", texts={"layers": "4"}).number
    with pytest.raises(
        EditRefused, match=r"LDA \(coordinate ascent\) cannot be steered as this run trains it; .*DLDA.* can"
    ):
        queue_edits(file, run, [BAN])
    other = order(file).number
    monkeypatch.setattr("topiary.engine.models.dlda.kernel.WITHOUT_TOKENS", frozenset({"seed", "pin"}))
    with pytest.raises(EditRefused, match="DLDA as this run trains it knows no edit 'ban'; it knows seed, pin"):
        queue_edits(file, other, [SEED, BAN])
    assert edits.list_edits(file, other) == []
    spread = new_run.create_run(file, "small", model="dlda", texts=SMALL, on="local:2").number
    with pytest.raises(EditRefused, match=r"swept by local:2, and edits are made by the processor here"):
        queue_edits(file, spread, [SEED])


def test_phrases_say_what_an_edit_asks_for_and_what_became_of_it(file):
    run = plan_edits(file)
    seed, place, remove, keep = edits.list_edits(file, run)
    assert describe_edit(seed, WORDS) == "new topic 'doping' of layer 1 from word3, word4"
    assert describe_edit(place, WORDS) == "place that of edit 1 under L2:2 'sport'"
    assert (describe_edit(remove, WORDS), describe_edit(keep, WORDS)) == ("remove L1:1", "keep word9 in L1:2")
    assert describe_result(seed) == "waits"
    done = seed._replace(
        state=APPLIED, topic=5, changed=(2, 5), tokens=1410, perplexity_before=964, perplexity_after=966
    )
    assert describe_result(done) == "made L1:5; 2 topics changed, 1,410 tokens moved; perplexity 964.0 to 966.0"
    assert describe_result(seed._replace(state=REFUSED, message="too few")) == "refused: too few"
    found = done._replace(message="the words belong there already")
    assert describe_result(found).startswith(f"L1:{done.topic} has these words already and keeps them; ")
