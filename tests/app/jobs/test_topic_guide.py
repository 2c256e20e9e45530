"""Guides to topics: YAML as users write it, what is refused, and the edits that a run begins with."""

import pytest
from process_samples import SMALL, WORDS, order
from steering_samples import steer_dlda

from topiary.app.jobs import new_run, trainer
from topiary.app.jobs.edit_orders import plan_guide
from topiary.app.jobs.run_rules import NewRunError
from topiary.app.jobs.topic_guide import GuideTopic, TopicGuide, convert_guide, parse_guide, read_guide
from topiary.engine.steering.edit import EditRefused
from topiary.store import edits, notes
from topiary.store.edits import NewEdit

TEXT = """
topics:
  - name: Doping
    words: [word1, word2]
    parent: Sport
  - name: Aid
    words: [word11, word12, no]
ban: [yes, 2004]
"""
GUIDE = TopicGuide(
    (GuideTopic("Doping", ("word1", "word2"), "Sport"), GuideTopic("Aid", ("word11", "word12"))), ("word7",)
)


def test_a_guide_is_read_and_its_words_are_words():
    guide = parse_guide(TEXT)
    assert guide.topics == (GUIDE.topics[0], GuideTopic("Aid", ("word11", "word12", "no")))
    assert guide.ban == ("yes", "2004"), "neither a truth nor a number"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("topics: [", "line 1 of guide.yaml is no YAML"),
        ("", "guide.yaml has no topics or ban"),
        ("ban: []", "guide.yaml says nothing: give topics"),
        ("ban: year", "the ban of guide.yaml are no list of words, such as"),
        ("topic: []", "guide.yaml has a key 'topic', which means nothing; the keys are topics, ban"),
        ("topics: {a: b}", "the topics of guide.yaml are no list; begin each with a dash"),
        ("topics: [aid]", "topic 1 of guide.yaml has no name or words or parent"),
        (
            "topics: [{name: Aid, word: [a, b]}]",
            "topic 1 of guide.yaml has a key 'word', which means nothing; the keys are name",
        ),
        ("topics: [{words: [aid]}]", "topic 1 of guide.yaml has 1 word; give at least 2"),
        ("topics: [{words: [aid, [a]]}]", "the words of topic 1 of guide.yaml are no list of words"),
        ("topics: [{name: A, words: [a, b]}, {name: A, words: [c, d]}]", "two topics with the name 'A'"),
        ("a: &a [*a]", "line 1 of guide.yaml is no YAML"),
    ],
)
def test_a_text_that_is_no_guide_is_refused_in_a_sentence(text, sentence):
    with pytest.raises(EditRefused, match=sentence):
        parse_guide(text, "guide.yaml")


def test_a_file_that_is_no_guide_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    for name, sentence in (("none.yaml", "cannot be read"), ("bytes.yaml", "is no text in UTF-8")):
        with pytest.raises(EditRefused, match=sentence):
            read_guide(tmp_path / name)


def test_a_guide_becomes_edits_whose_parents_are_topics_of_layer_2():
    assert plan_guide(GUIDE, WORDS, (6, 3), 300, "Ada") == [
        NewEdit("ban", words=(7,), author="Ada", step=20),
        NewEdit("seed", words=(1, 2), name="Doping", author="Ada", step=20),
        NewEdit("seed", words=(11, 12), name="Aid", author="Ada", step=20),
        NewEdit("place", topics=(-2, 0), name="Sport", author="Ada", step=20),
    ]
    with pytest.raises(EditRefused, match="the guide names 1 parent, and the run has one layer"):
        plan_guide(GUIDE, WORDS, (6,), 300, "")
    with pytest.raises(EditRefused, match=r"has no 'wrd1' \(near it are word1"):
        plan_guide(convert_guide({"ban": ["wrd1"]}), WORDS, (6,), 300, "")


def test_a_run_follows_its_guide_with_every_seed(file, monkeypatch):
    steer_dlda(monkeypatch)
    runs = [
        new_run.create_run(file, "small", model="dlda", texts=SMALL, minibatches=30, guide=GUIDE, seed=n)
        for n in (1, 2)
    ]
    for run in runs:
        trainer.train_run(file, run.number)
        assert [(row.state, row.step) for row in edits.list_edits(file, run.number)] == [("applied", 7)] * 4
        assert set(notes.read_remarks(file, run.number).names.values()) <= {"Doping", "Aid", "Sport"}


def test_a_model_without_edits_takes_no_guide(file):
    for model, layers, guide, sentence in (
        ("lda-cavi", "6", GUIDE._replace(topics=GUIDE.topics[1:]), r"LDA \(coordinate ascent\) cannot be steered"),
        ("dlda", "6-3", GUIDE._replace(ban=("zebra",)), "the corpus has no 'zebra'"),
    ):
        with pytest.raises(NewRunError, match=sentence):
            new_run.create_run(file, "small", model=model, texts={"layers": layers}, guide=guide)
    with pytest.raises(
        NewRunError, match="topics are given to runs on this machine, and this one is to run on local:2"
    ):
        new_run.create_run(file, "small", model="dlda", texts=SMALL, on="local:2", guide=GUIDE)
    assert order(file).number == 1, "nothing was ordered"
