"""``topiary infer`` and ``topiary interpolate``: what is given is placed, said and written as JSON."""

import io
import json
import re
import sys
from dataclasses import replace

import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, NAMES, plain_model, plant, replace_methods
from office_samples import docx

from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import find_shares
from topiary.app.cli import main
from topiary.app.ingest.new_documents import explain_unknown_words, find_rules, read_new_documents
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import shares as work
from topiary.store import runs, shares, snapshots
from topiary.store.database import open_database

__all__ = ["plain_model"]


@pytest.fixture
def store(tmp_path, plain_model):
    """Path of a store with one run that predicts labels."""
    path = str(tmp_path / "store.db")
    open_filled(path, plant, classes=True).close()
    return path


def typed(raw):
    """Standard input that holds these bytes."""
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")


def report(capsys, *words):
    """What a command with --json prints, read."""
    assert main.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_text_is_placed_by_its_words(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("A rose by the hedge,\nthe rose and the rocket; qwertz", encoding="utf-8")
    (fact,) = report(capsys, "infer", "1", str(tmp_path / "letter.txt"), "--store", store)["documents"]
    assert fact["title"] == "letter.txt"
    assert (fact["tokens"], fact["known"], fact["unknown"]) == (5, 4, ["qwertz"])
    assert fact["theta"][0] == [3.0, 1.0, 0.0, 0.0]
    assert fact["topics"][0][0]["topic"] == "L1:1"
    assert fact["topics"][0][0]["share"] == pytest.approx(0.75)
    assert [topic["topic"] for topic in fact["paths"][0]["topics"]] == ["L2:1", "L1:1"]
    assert fact["labels"][0]["label"] == "gardens"
    assert sum(label["probability"] for label in fact["labels"]) == pytest.approx(1.0)


def test_a_text_with_a_byte_order_mark_is_read_by_it(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("rose hedge qwertz", encoding="utf-16")
    (fact,) = report(capsys, "infer", "1", str(tmp_path / "letter.txt"), "--store", store)["documents"]
    assert (fact["tokens"], fact["known"], fact["unknown"]) == (3, 2, ["qwertz"])


def test_a_page_and_an_office_file_are_one_document_each(store, tmp_path, capsys):
    """And none of the rose of the script counts."""
    (tmp_path / "a.html").write_text("<p>rose rocket</p><script>rose</script>", encoding="utf-8")
    (tmp_path / "a.docx").write_bytes(docx([["rose rocket"]]))
    for name in ("a.html", "a.docx"):
        (fact,) = report(capsys, "infer", "1", str(tmp_path / name), "--store", store)["documents"]
        assert (fact["title"], fact["tokens"], fact["known"]) == (name, 2, 2)
    (tmp_path / "b.docx").write_text("no zip", encoding="utf-8")
    assert main.main(["infer", "1", str(tmp_path / "b.docx"), "--store", store]) == 2
    assert "b.docx: is damaged, or of another program; save it as .txt first" in capsys.readouterr().err


def test_a_placed_text_names_its_topics_by_their_titles(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("rose hedge", encoding="utf-8")
    (fact,) = report(capsys, "infer", "1", str(tmp_path / "letter.txt"), "--store", store)["documents"]
    assert main.main(["infer", "1", str(tmp_path / "letter.txt"), "--store", store]) == 0
    said = capsys.readouterr().out
    titles = {row["topic"]: row["title"] for row in report(capsys, "topics", "1", "--layer", "1", "--store", store)}
    topic = fact["topics"][0][0]
    assert topic["title"] == titles[topic["topic"]]
    words = re.escape(" ".join(topic["words"]))
    assert re.search(rf"%  {topic['title']}  +{words}\n", said)
    assert f"  >  {topic['topic']} {topic['title']}\n" in said


def test_every_path_of_a_text_together_is_the_whole_of_it(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("rose rocket goal doctor doctor", encoding="utf-8")
    words = ("infer", "last", str(tmp_path / "letter.txt"), "--paths", "99", "--nearest", "0", "--store", store)
    (fact,) = report(capsys, *words)["documents"]
    assert sum(path["share"] for path in fact["paths"]) == pytest.approx(1.0)
    assert "nearest" not in fact


def test_the_nearest_are_sought_among_all_documents_whose_shares_are_made_once(store, tmp_path, capsys, monkeypatch):
    (tmp_path / "letter.txt").write_text("rocket launch to the moon", encoding="utf-8")
    words = ("infer", "1", str(tmp_path / "letter.txt"), "--nearest", "999", "--store", store)
    made, store_shares = [], work.store_shares
    monkeypatch.setattr(work, "store_shares", lambda *given: made.append(1) or store_shares(*given))
    first = report(capsys, *words)["documents"][0]["nearest"]
    db = open_database(store)
    assert find_shares(db, runs.get_run(db, 1), snapshots.find_latest(db, 1).number).documents == DOCUMENTS
    db.close()
    assert sorted(each["document"] for each in first) == list(range(DOCUMENTS))
    assert {each["document"] % 4 for each in first[: DOCUMENTS // 4]} == {1}
    assert [each["distance"] for each in first] == sorted(each["distance"] for each in first)
    assert report(capsys, *words)["documents"][0]["nearest"] == first
    assert made == [1]
    none = ("infer", "1", str(tmp_path / "letter.txt"), "--nearest", "0", "--store", store)
    assert "nearest" not in report(capsys, *none)["documents"][0]


def test_the_nearest_documents_are_about_the_same_subject(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("rocket launch to the moon", encoding="utf-8")
    (fact,) = report(capsys, "infer", "1", str(tmp_path / "letter.txt"), "--nearest", "3", "--store", store)[
        "documents"
    ]
    assert [near["label"] for near in fact["nearest"]] == ["space"] * 3
    assert [near["document"] % 4 for near in fact["nearest"]] == [1, 1, 1]
    assert fact["nearest"][0]["distance"] == pytest.approx(0.0, abs=1e-3)


def test_standard_input_is_one_document(store, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", typed(b"goal\nand another goal"))
    (fact,) = report(capsys, "infer", "1", "-", "--store", store)["documents"]
    assert (fact["title"], fact["known"]) == ("standard input", 2)


def test_a_column_of_a_single_text_is_refused(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("rose hedge", encoding="utf-8")
    assert main.main(["infer", "1", str(tmp_path / "letter.txt"), "--text-column", "body", "--store", store]) == 2
    sentence = "is no table of texts and no JSON lines, which alone have columns to choose; leave --text-column out"
    assert sentence in capsys.readouterr().err


def test_standard_input_may_be_of_another_encoding(store, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", typed("goal café".encode("latin-1")))
    (fact,) = report(capsys, "infer", "1", "-", "--encoding", "latin-1", "--store", store)["documents"]
    assert (fact["known"], fact["unknown"]) == (1, ["café"])


def test_the_rows_of_a_table_are_documents_with_their_titles(store, tmp_path, capsys):
    (tmp_path / "mail.csv").write_text("title,text\nrose,a hedge\nnews,goal goal\n", encoding="utf-8")
    first, second = report(capsys, "infer", "1", str(tmp_path / "mail.csv"), "--store", store)["documents"]
    (tmp_path / "odd.csv").write_text("title~text\nrose~a hedge\nnews~goal goal\n", encoding="utf-8")
    odd = report(capsys, "infer", "1", str(tmp_path / "odd.csv"), "--separator", "~", "--store", store)["documents"]
    assert odd == [first, second]
    assert (first["title"], first["theta"][0]) == ("rose", [2.0, 0.0, 0.0, 0.0])
    assert second["theta"][0] == [0.0, 0.0, 2.0, 0.0]


def test_titles_cannot_steer_the_terminal_or_break_a_line(store, tmp_path, capsys):
    (tmp_path / "two.csv").write_text('title,text\n"a\x1b[2J\nb",rose\nc\x9bd,quasar\x07', encoding="utf-8")
    given = ["infer", "1", str(tmp_path / "two.csv"), "--title-column", "title", "--text-column", "text"]
    assert main.main([*given, "--store", store]) == 0
    out = capsys.readouterr().out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out)
    assert {"a[2J b", "cd"} <= set(out.splitlines())


def test_counts_over_another_vocabulary_are_matched_by_word(store, tmp_path, capsys):
    (tmp_path / "docword.mail.txt").write_text("1\n3\n3\n1 1 2\n1 2 1\n1 3 4\n", encoding="utf-8")
    (tmp_path / "vocab.mail.txt").write_text("zebra\nrose\ngoal\n", encoding="utf-8")
    words = ("infer", "1", str(tmp_path / "docword.mail.txt"), "--format", "uci", "--store", store)
    (fact,) = report(capsys, *words)["documents"]
    assert fact["theta"][0] == [1.0, 0.0, 4.0, 0.0]
    assert (fact["tokens"], fact["known"], fact["unknown"]) == (7, 5, ["zebra"])


@pytest.mark.parametrize(
    ("kind", "options", "counts"),
    [("real", {}, [255, 100, 20]), ("counts", {"levels": 15}, [15, 6, 1]), ("binary", {"binary": True}, [1])],
)
def test_a_picture_has_the_values_that_it_would_have_in_the_corpus(tmp_path, kind, options, counts):
    path = tmp_path / "some-images-idx3-ubyte"
    path.write_bytes(b"".join(n.to_bytes(4, "big") for n in (0x803, 1, 2, 2)) + bytes([255, 0, 100, 20]))
    rules = find_rules({"format": "idx", "options": options}, kind, ("r1c1", "r1c2", "r2c1", "r2c2"))
    (picture,) = read_new_documents(str(path), rules, ImportOptions())
    assert picture.word_counts.counts.tolist() == counts


@pytest.mark.parametrize(("text", "unknown"), [("", []), ("zzz qqq", ["zzz", "qqq"])])
def test_of_a_text_without_a_known_word_nothing_is_told_but_why(store, tmp_path, capsys, text, unknown):
    (tmp_path / "strange.txt").write_text(text, encoding="utf-8")
    words = ("infer", "1", str(tmp_path / "strange.txt"), "--store", store)
    (fact,) = report(capsys, *words)["documents"]
    tokens = len(unknown)
    assert fact == {"title": "strange.txt", "tokens": tokens, "known": 0, "unknown": unknown, "placed": False}
    assert main.main(list(words)) == 0
    said = capsys.readouterr().out
    assert explain_unknown_words(unknown) in said
    assert all(word in said for word in unknown)
    assert not re.search(r"path|near |label|%", said)


def test_a_table_tells_which_of_its_rows_could_be_placed(store, tmp_path, capsys):
    (tmp_path / "mail.csv").write_text("title,text\nrose,a hedge\nnews,zzz\n", encoding="utf-8")
    found = report(capsys, "infer", "1", str(tmp_path / "mail.csv"), "--store", store)["documents"]
    assert [fact["placed"] for fact in found] == [True, False]
    assert ("paths" in found[0], "paths" in found[1]) == (True, False)


def test_the_same_text_has_the_same_place_in_every_row_of_a_file(store):
    """What is drawn for it is keyed by its words."""
    db = open_database(store)
    inference = open_inference(db, runs.get_run(db, 1), find_snapshot(db, 1))
    db.close()
    numbers = []

    def infer(seed, state, batch, sweeps=None):
        numbers.extend(batch.documents.tolist())
        return inference.kernel.infer(seed, state, batch, sweeps)

    listening = replace(inference, kernel=replace_methods(inference.kernel, infer=infer))
    listening.place_texts(
        [inference.rules.count(text) for text in ("rose hedge", "goal", "hedge, rose", "rose hedge hedge")]
    )
    assert numbers[0] == numbers[2]
    assert len(set(numbers)) == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("rose hedge", "2 of 2 words are known to the corpus"),
        ("the rose", "1 of 1 word that counts is known to the corpus (1 stop word left out)"),
        ("the rose and zzz zzz", "1 of 3 words that count are known to the corpus (2 stop words left out)"),
        ("rose zzz", "1 of 2 words are known to the corpus; not known: zzz"),
        (" ".join(["rose", *(f"z{letter}" for letter in "abcdefghijk")]), "za zb zc zd ze zf zg zh zi zj …"),
    ],
)
def test_people_are_told_what_of_a_text_did_not_count(store, tmp_path, capsys, text, line):
    (tmp_path / "letter.txt").write_text(text, encoding="utf-8")
    assert main.main(["infer", "1", str(tmp_path / "letter.txt"), "--nearest", "0", "--store", store]) == 0
    assert line in capsys.readouterr().out


def test_people_get_sentences_and_ranks(store, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("the doctor and the clinic", encoding="utf-8")
    assert main.main(["infer", "1", str(tmp_path / "letter.txt"), "--nearest", "1", "--store", store]) == 0
    out = capsys.readouterr().out
    assert "\n  2 of 2 words that count are known to the corpus (3 stop words left out)\n" in out
    assert f"label  62.5%  {NAMES[3]}" in out
    assert "L2:2" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("infer", "1", "nowhere.csv"), "there is no such file"),
        (("infer", "1", "x" * 300 + ".txt"), "; check the path and your rights"),
        (("infer", "9", "nowhere.txt"), "run"),
        (("infer", "1", "nowhere.txt", "--minibatch", "0"), "no snapshot at or before mini-batch 0"),
        (("interpolate", "1", "0", "99"), "no 99"),
        (("interpolate", "1", "0", str(2**63 - 1)), "and no 9223372036854775807"),
        (("interpolate", "1", "0", "9" * 23), f"no document with '{'9' * 23}' in it"),
        (("interpolate", "1", "0", "zebra"), "no document with 'zebra' in it"),
        (("interpolate", "1", "0", "1", "--layer", "3"), "layers 1 to 2; got 3"),
        (("interpolate", "1", "0", "1", "--steps", "1"), "steps must be from 2"),
        (("interpolate", "1", "0", "1", "--words", "-1"), "--words: must be a whole number of at least 1; got '-1'"),
        (("infer", "1", "-", "--paths", "0"), "--paths: must be a whole number of at least 1; got '0'"),
        (("infer", "1", "-", "--nearest", "some"), "--nearest: must be a whole number of at least 0; got 'some'"),
        (("infer", "1", "-", "--format", "csv"), "standard input: is read as one text; leave --format out"),
        (("infer", "1", "-", "--header", "no"), "standard input: is no table, which alone may have a line of column"),
        (("infer", "1", __file__, "--format", "text", "--text-column", "a"), "columns to choose; leave --text-column"),
        (("infer", "1", "-"), "standard input: is not UTF-8 at byte 6; name its encoding with --encoding"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(store, capsys, monkeypatch, words, sentence):
    monkeypatch.setattr(sys, "stdin", typed(b"goal \xff"))
    try:
        status = main.main([*words, "--store", store])
    except SystemExit as end:
        status = end.code
    assert status == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


def test_a_run_without_a_snapshot_says_so(tmp_path, capsys, plain_model):
    db = open_database(str(tmp_path / "store.db"))
    row = plant(db)
    fresh = runs.create_run(
        db, corpus=row.corpus, model="dlda", inference="", layers=(4,), settings={}, options={}, seed=1
    )
    db.close()
    assert main.main(["infer", str(fresh.number), "-", "--store", str(tmp_path / "store.db")]) == 2
    assert "run 2 has no topics yet (queued)" in capsys.readouterr().err


def test_the_line_between_two_documents_changes_the_subject(store, capsys):
    found = report(capsys, "interpolate", "1", "0", "leaflet 2", "--steps", "5", "--layer", "1", "--store", store)
    assert [end["document"] for end in found["ends"]] == [0, 2]
    assert [step["weight"] for step in found["steps"]] == [0, 0.25, 0.5, 0.75, 1]
    assert found["steps"][0]["words"][:2] == ["garden", "rose"]
    assert found["steps"][-1]["words"][:2] == ["goal", "league"]
    assert found["steps"][0]["new"] == []
    assert {word for step in found["steps"] for word in step["new"]} >= {"goal", "league"}


def test_the_line_is_told_to_people_with_a_plus_before_what_comes_in(store, capsys):
    assert main.main(["interpolate", "1", "0", "2", "--store", store, "--layer", "1"]) == 0
    out = capsys.readouterr().out
    assert "+goal" in out
    assert "+garden" not in out


def test_place_stores_the_shares_of_all_documents_and_does_nothing_the_second_time(store, capsys, monkeypatch):
    for _ in range(2):
        assert main.main(["place", "1", "--store", store]) == 0
        assert capsys.readouterr().out == f"run 1, mini-batch 9: {DOCUMENTS} documents are placed in its topics\n"
        monkeypatch.setattr(
            "topiary.app.analysis.inference.open_inference", lambda *_: pytest.fail("they are placed already")
        )
    db = open_database(store, readonly=True)
    assert len(shares.read_layer(db, find_snapshot(db, 1).number, 2).rest) == DOCUMENTS
    db.close()
