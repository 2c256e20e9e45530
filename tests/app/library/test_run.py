"""The library on a small corpus: what a notebook can do with a store, its corpora and runs."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from process_samples import NOBODY, train_here

import topiary
from topiary.app.jobs import launcher
from topiary.store import corpora

GUIDE = Path(__file__).parents[3] / "assets" / "guide" / "library.md"
WORDS = {
    "garden": ["rose", "hedge", "lawn", "soil", "seed", "flower", "tree", "grow"],
    "space": ["rocket", "moon", "orbit", "launch", "planet", "star", "crew", "engine"],
}
LABELS = [name for name in WORDS for _ in range(60)]
START_WORKER = launcher.start_worker
SMALL = {"simplex": "clamp", "burn_in": 20, "collect": 10, "layers": (4, 2), "minibatches": 60}


def made_texts():
    draw = random.Random(1)
    return [" ".join(draw.choices(WORDS[label], k=20)) for label in LABELS]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store whose runs are trained in this process, but for those of tests that say otherwise."""
    folder = tmp_path_factory.mktemp("library")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
            patch.setenv(name, str(folder))
        patch.setenv("TOPIARY_WORKERS", "4")
        patch.setattr(launcher, "start_worker", train_here)
        with topiary.open(folder / "store.db") as opened:
            yield opened


@pytest.fixture(scope="module")
def corpus(store):
    labels = pd.Series(LABELS, dtype=object)
    labels[3] = None
    return store.import_corpus(pd.Series(made_texts()), name="two subjects", labels=labels)


@pytest.fixture(scope="module")
def run(store, corpus):
    return store.train(corpus, **SMALL, seed=1, name="first", wait=True)


@pytest.fixture(scope="module")
def labelled(run):
    """A fork that has learnt from labels."""
    return run.fork("sdatm", minibatches=150, label_start=20, wait=True)


def test_texts_in_memory_become_a_corpus_with_labels(store, corpus):
    assert (corpus.documents, corpus.words, corpus.labels) == (120, 16, ("garden", "space"))
    assert (corpus.training_documents, corpus.kind) == (108, "counts")
    assert all("stop words" in note for note in corpus.notes)  # which were left out, and why
    report = corpus.texts()
    assert report.loc[5, ["title", "text", "label"]].tolist() == ["document 6", made_texts()[5], "garden"]
    assert pd.isna(report.loc[3, "label"])
    assert set(report["part"]) == {"training", "validation", "test"}
    assert (
        corpus.search("rose hedge", n=3).index.tolist()
        == [number for number, text in enumerate(report["text"]) if "rose" in text and "hedge" in text][:3]
    )
    assert len(corpus.search("ose")) == 0  # the index, made now, knows words by their beginnings
    assert corpus.counts().shape == (120, 16)
    assert corpus.counts().sum() == 20 * 120
    assert sorted(corpus.vocabulary) == sorted(word for words in WORDS.values() for word in words)


def test_corpora_are_found_by_name_and_number_and_listed(store, corpus):
    assert store.corpora["two subjects"].number == store.corpora[corpus.number].number == corpus.number
    assert "two subjects" in store.corpora
    assert "other" not in store.corpora
    assert store.corpora.get("other") is None
    assert "two subjects" in list(store.corpora)
    assert len(store.corpora) == len(store.corpora.table)
    with pytest.raises(topiary.NotFound, match="there is no corpus 'other'; the store has two subjects"):
        store.corpora["other"]


def test_a_file_becomes_a_corpus_and_can_be_deleted(store, tmp_path):
    path = tmp_path / "mail.csv"
    rows = [f"{text},{label}" for text, label in zip(made_texts(), LABELS, strict=True)]
    path.write_text("\n".join(["text,label", *rows]), "utf-8")
    report = []
    made = store.import_corpus(str(path), label_column="label", progress=lambda words, share: report.append(words))
    assert (made.name, made.documents, made.labels) == ("mail", 120, ("garden", "space"))
    assert report[0] == "Reading mail.csv"
    made.delete()
    assert "mail" not in store.corpora


def test_a_corpus_keeps_a_record_and_takes_more_documents(store, tmp_path):
    for name, begin in (("first", 0), ("second", 40), ("third", 80)):
        rows = [f"{text},{label}" for text, label in zip(made_texts(), LABELS, strict=True)][begin : begin + 40]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]), "utf-8")
    made = store.import_corpus([tmp_path / "first.csv", tmp_path / "second.csv"], label_column="label")
    assert (made.name, made.documents) == ("first", 80)
    assert [column["role"] for column in made.record["columns"]] == ["text", "label"]
    added = made.append(tmp_path / "third.csv")
    assert (added.documents, added.outside) == (40, 0)
    assert (made.documents, store.corpora["first"].documents) == (120, 120)
    with pytest.raises(topiary.OptionError, match="append has no option 'min_df'; the options are format, text_column"):
        made.append(tmp_path / "third.csv", min_df=3)
    made.delete()


@pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector
@pytest.mark.nightly
def test_other_processes_make_the_same_corpus_and_append_the_same(store, corpus, tmp_path):
    pytest.importorskip("distributed")
    made = store.import_corpus(made_texts(), on="local:1", name="elsewhere")
    alone = store.import_corpus(made_texts(), name="here")
    assert made.vocabulary == alone.vocabulary
    there, here = (corpora.get_corpus(store._opened.db, each.number) for each in (made, alone))
    assert (there.content_hash, there.train_documents) == (here.content_hash, here.train_documents)
    path = tmp_path / "more.csv"
    path.write_text(
        "\n".join(["text~label", *(f"'{text}'~{label}" for text, label in zip(made_texts(), LABELS, strict=True))])
    )
    for each, on in ((made, "local:1"), (alone, "")):
        assert each.append(path, on=on, separator="~", quote="'").documents == 120
    there, here = (corpora.get_corpus(store._opened.db, each.number) for each in (made, alone))
    assert (there.content_hash, there.documents) == (here.content_hash, 240)
    made.delete()
    alone.delete()


@pytest.mark.parametrize(
    ("source", "given", "kind", "sentence"),
    [
        (["a", 3], {}, topiary.IngestError, "document 2 is no text but 3; give strings"),
        (["a b"], {"labels": ["x", "y"]}, topiary.IngestError, "1 texts and 2 labels; give one for each"),
        (["a b"], {"colour": 1}, topiary.OptionError, "no option 'colour' of an import; the options are .*min_df"),
        (["a b"], {"text_column": "t"}, topiary.IngestError, "texts: is no table"),
        ("nowhere.csv", {}, topiary.IngestError, "nowhere.csv: there is no such file or folder"),
        (["a b"], {"on": "nowhere"}, topiary.PlaceError, "--on takes local:N"),
        ("nowhere.csv", {"labels": []}, topiary.OptionError, "labels and titles belong to texts"),
        (["a b"], {"name": "two subjects"}, topiary.Conflict, "two subjects"),
        ([], {}, topiary.IngestError, "texts"),
    ],
)
def test_what_can_be_no_corpus_is_refused_in_one_sentence(store, corpus, source, given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        store.import_corpus(source, **given)


def test_a_run_tells_how_it_is(store, run):
    assert (run.state, run.name, run.corpus) == ("finished", "first", "two subjects")
    assert run.settings["layers"] == [4, 2]
    assert run.info["minibatch"] == 60
    assert set(run.points.columns) == {"minibatch", "documents", "seconds", "name", "layer", "value"}
    assert "point_perplexity" in set(run.points["name"])
    assert run.snapshots["minibatch"].iloc[-1] == 60
    assert run.events["kind"].tolist()[-1] == "finished"
    assert store.runs[run.number] == run == store.runs[run.number]
    assert store.runs.table.set_index("run").loc[run.number, "state"] == "finished"
    assert run.number in list(store.runs)
    assert store.runs["last"].number == max(store.runs)
    assert len(store.runs) == len(set(store.runs))
    with pytest.raises(topiary.NotFound, match="999"):
        store.runs[999]


def test_topics_are_listed_by_rank_with_weight_share_title_and_words(run):
    first = run.topics(1, words=3)
    assert list(first.columns) == ["layer", "rank", "weight", "share", "npmi", "light", "title", "name", "words"]
    assert (first["rank"].tolist(), first["share"].sum()) == ([1, 2, 3, 4], pytest.approx(1.0))
    assert first["weight"].is_monotonic_decreasing
    assert all(len(words) == 3 for words in first["words"])
    assert len(run.topics()) == 6
    weights = run.weights(1)
    assert weights.shape == (16, 4)
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-5)
    topic = first.index[0]
    assert weights[topic].nlargest(3).index.tolist() == first.loc[topic, "words"]
    assert not run.topics(1, minibatch=1)["weight"].equals(first["weight"])
    with pytest.raises(LookupError, match="has no layer 3"):
        run.topics(3)


def test_the_quality_of_every_layer_is_a_table(run, corpus):
    found = run.quality()
    assert found.index.tolist() == [1, 2]
    assert found["topics"].tolist() == [4, 2]
    assert found["training_documents"].tolist() == [108, 108]
    assert found["test_documents"].tolist() == [6, 6]
    assert found["labelled_documents"].tolist() == [6, 6]  # those of the test
    assert found["npmi"].between(-1, 1).all()
    assert found["label_purity"].between(0.5, 1).all()
    assert found["affinity_child"].isna().tolist()[0]
    assert found.loc[2, "affinity_weighted"] > 0.3
    assert run.quality(labels=False)["label_nmi"].isna().all()
    assert len(corpus.labels) == 2


def test_topics_have_the_npmi_that_the_measures_are_means_of(run):
    found, listed = run.quality(labels=False), run.topics(quality=True)
    means = listed.groupby("layer")["npmi"].mean()
    np.testing.assert_allclose(means, found["npmi_all"], rtol=1e-6)
    live = listed[~listed["light"]]
    np.testing.assert_allclose(live.groupby("layer")["npmi"].min(), found["worst_tenth"], rtol=1e-6)


def test_a_tree_is_a_graph_of_what_roots_reach(run):
    every = run.tree(threshold=0.0)
    assert {data["layer"] for _, data in every.nodes(data=True)} == {1, 2}
    assert every.number_of_edges() == 8
    top = run.topics(2).index[0]
    for roots in (top, [top]):
        assert set(run.tree(roots, threshold=0.0)) == {top, *every.successors(top)}
    leaf = run.topics(1).index[0]
    assert set(run.tree(leaf, threshold=0.0, direction="up")) == {leaf, *every.predecessors(leaf)}
    assert every.nodes[leaf]["title"] == run.topics(1).loc[leaf, "title"]
    with pytest.raises(LookupError, match="has no topic 'L9:1'"):
        run.tree("L9:1")
    for roots in (1, [1]):  # could be a rank
        with pytest.raises(LookupError, match="with this number there are L2:1 "):
            run.tree(roots)


def test_new_texts_are_placed_in_the_topics(run, tmp_path):
    found = run.infer(["a rose, a hedge and a lawn", "the crew of the rocket", "qwertz"])
    assert [found.theta(layer).shape for layer in (1, 2)] == [(3, 4), (3, 2)]
    assert found.shares(1).iloc[0].sum() == pytest.approx(1.0)
    assert found.shares(1).loc[2].isna().all()
    assert found.documents["known"].tolist() == [3, 2, 0]
    assert found.documents.loc[2, "unknown"] == ["qwertz"]
    top = run.topics(1).loc[found.theta(1).loc[0].idxmax()]
    assert set(top["words"][:3]) <= set(WORDS["garden"])
    paths = found.paths(2)
    assert paths["document"].tolist() == [0, 0, 1, 1]
    assert [len(path) for path in paths["path"]] == [2, 2, 2, 2]
    assert found.nearest(2)["label"].tolist() == ["garden", "garden", "space", "space"]
    everywhere = found.nearest(999, progress=True)
    assert everywhere.groupby("document")["neighbour"].nunique().tolist() == [120, 120]
    assert (found.classes, len(found)) == (None, 3)
    (tmp_path / "letter.txt").write_text("rose hedge", "utf-8")
    assert run.infer(tmp_path / "letter.txt").documents["title"].tolist() == ["letter.txt"]
    assert len(run.infer("rose hedge", minibatch=1)) == 1
    with pytest.raises(topiary.OptionError, match="header is no option of texts"):
        run.infer("rose", header="no")
    with pytest.raises(TypeError, match="document 0 is no text but 7"):
        run.infer([7])
    with pytest.raises(TypeError, match=r"a DataFrame is no list of texts: .* df\['text'\]"):
        run.infer(pd.DataFrame({"text": ["rose"]}))


def test_texts_of_a_column_keep_its_index(run):
    texts = pd.Series(["the crew of the rocket", "qwertz", "a rose and a hedge"], index=["c", "q", "g"])
    found = run.infer(texts)
    for frame in (found.documents, found.shares(2), found.theta(1), found.theta(2)):
        assert (frame.index.tolist(), frame.index.name) == (["c", "q", "g"], "document")
    assert found.paths(1)["document"].tolist() == ["c", "g"]
    assert found.nearest(1)["document"].tolist() == ["c", "g"]
    named = run.infer(texts.set_axis(pd.MultiIndex.from_product([["x"], [5, 6, 7]], names=["file", "page"])))
    assert named.theta(1).index.names == ["file", "page"]
    assert named.paths(1)["document"].tolist() == [("x", 5), ("x", 7)]
    pd.testing.assert_frame_equal(named.theta(1).reset_index(drop=True), found.theta(1).reset_index(drop=True))


def test_what_lies_between_two_documents_is_a_table(run):
    line = run.interpolate(0, 119, steps=3, words=4)
    assert line["weight"].tolist() == [0.0, 0.5, 1.0]
    assert set(line["words"].iloc[0]) <= set(WORDS["garden"])
    assert set(line["words"].iloc[2]) <= set(WORDS["space"])
    with pytest.raises(ValueError, match="steps must be from 2 to 100; got 1"):
        run.interpolate(0, 1, steps=1)


def test_a_run_with_labels_says_how_well_it_predicts(labelled, run):
    found = labelled.classify()
    assert found.documents == int(found.confusion.to_numpy().sum()) == len(found.predictions)
    assert found.error == pytest.approx((found.predictions["class"] != found.predictions["predicted"]).mean())
    assert found.classes.index.tolist() == ["garden", "space"]
    assert found.majority_error is not None
    assert list(found.misled.columns) == ["document", "class", "predicted", "probability", "share", "path"]
    chances = labelled.infer("rose hedge lawn").classes
    assert chances.loc[0, "garden"] > 0.5
    with pytest.raises(topiary.ReadError, match="predicts no classes"):
        run.classify()


def test_a_fork_goes_on_from_a_snapshot_with_other_settings(run, labelled):
    assert (labelled.info["model"], labelled.info["parent"]) == ("sdatm", run.number)
    assert labelled.settings["label_start"] == 20
    assert labelled.settings["layers"] == [4, 2]


def test_two_runs_are_compared_and_a_match_can_be_decided(run, corpus, store, tmp_path):
    other = store.train(corpus, **SMALL, seed=2, wait=True)
    found = run.compare(other)
    assert [layer["topics_a"] for layer in found.summary["layers"]] == [4, 2]
    assert set(found.topics.columns) >= {"layer", "a", "title_a", "b", "title_b", "score", "entered", "left"}
    assert len(run.compare(other.number, threshold=0.0).edges) >= max(8, len(found.edges))
    pairs = found.topics.query("layer == 2").set_index("a")["b"]
    swapped = dict(zip(pairs.index, reversed(pairs.tolist()), strict=True))
    one = next(iter(swapped))
    decided = found.decide(one, swapped[one])
    now = decided.topics.set_index("a").loc[one]
    assert (now["b"], bool(now["by_hand"])) == (swapped[one], True)
    assert decided.undo(one, swapped[one]).topics.set_index("a").loc[one, "b"] == pairs[one]
    assert found.export(tmp_path / "both.svg").read_text("utf-8").startswith("<svg")
    assert "A: run" in repr(found)
    assert run.compare(run, other_minibatch=1).summary["a"]["minibatch"] == 1
    with pytest.raises(ValueError, match="topics of one layer"):
        found.decide("L1:1", "L2:1")
    other.delete()
    assert other.number not in store.runs
    assert repr(other) == f"<Run {other.number}: deleted>"


def test_trees_and_topics_are_written_as_files(run, tmp_path):
    assert run.export(tmp_path / "tree.svg", roots=["L2:1", "L2:2"]).read_text("utf-8").startswith("<svg")
    assert "graphml" in run.export(tmp_path / "tree.graphml", threshold=0.0).read_text("utf-8")
    assert len(run.export(tmp_path / "topics.csv", layer=1).read_text("utf-8").splitlines()) == 5
    assert run.export(tmp_path / "topics.json", what="topics").is_file()
    with pytest.raises(ValueError, match="must end in one of"):
        run.export(tmp_path / "tree.doc")
    with pytest.raises(LookupError, match="no topic speaks for a class here"):
        run.export(tmp_path / "tree.svg", label="space")


def test_names_of_a_run_and_of_its_topics_can_be_given(run):
    topic = run.topics(2).index[0]
    run.rename_topic(topic, "gardens")
    assert run.topics(2).loc[topic, ["title", "name"]].tolist() == ["gardens", "gardens"]
    run.rename_topic(topic, "")
    run.rename("second")
    assert run.name == "second"
    run.rename("first")


def test_names_of_topics_are_proposed(run):
    found = run.propose_names()
    assert (found.index.name, found.columns.tolist()) == ("topic", ["title", "name", "part", "times"])
    with pytest.raises(LookupError, match="has no layer 9"):
        run.propose_names(9)


def test_a_run_is_paused_resumed_stopped_and_deleted(store, corpus, monkeypatch):
    monkeypatch.setattr(launcher, "start_worker", START_WORKER)
    run = store.train(corpus, layers="4-2", minibatches=200_000, seed=3)
    assert run.state in ("queued", "running")
    with pytest.raises(TimeoutError, match="after 0 seconds; it goes on"):
        run.wait(timeout=0)
    run.pause()
    assert run.wait().state == "paused"
    run.resume()
    looked = []
    run.stop()
    assert run.wait(progress=looked.append).state == "stopped"
    assert looked[-1] is run
    run.delete()
    assert run.number not in store.runs


def test_a_run_whose_worker_failed_raises_when_it_is_waited_for(store, corpus, monkeypatch):
    from topiary.store import runs
    from topiary.store.database import open_database

    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    run = store.train(corpus, **SMALL)
    db = open_database(store.url)
    row = runs.claim_run(db, run.number, {})
    runs.finish_run(db, run.number, row.attempt, "failed", "the disk is full")
    db.close()
    with pytest.raises(topiary.RunFailed, match=rf"run {run.number} failed: the disk is full"):
        run.wait()
    run.delete()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": "colour"}, "colour"),
        ({"layers": (0,)}, "layers must be at least 1"),
        ({"eta": "much"}, "eta cannot be read from 'much'"),
        ({"hue": 1}, "there is no setting 'hue'"),
        ({"minibatches": 0}, "minibatches must be a whole number of at least 1"),
        ({"averaged_burn_in": 3}, "averaged_burn_in without averaged would change nothing; set averaged=true too"),
    ],
)
def test_a_run_that_cannot_be_is_refused_in_one_sentence(store, corpus, given, sentence):
    with pytest.raises(topiary.NewRunError, match=sentence):
        store.train(corpus, **{"minibatches": 60} | given)


def test_a_group_is_a_run_for_every_seed_and_combination_of_settings(store, corpus, monkeypatch):
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    grid = {"eta": np.array([0.01, 0.05]), "layers": [(4, 2), (3,)]}
    made = store.train_group(corpus, seeds=range(1, 3), grid=grid, minibatches=3, averaged=True, averaged_burn_in=1)
    assert [run.name for run in made[:3]] == [
        "two subjects dlda, eta 0.01, layers 4-2, seed 1",
        "two subjects dlda, eta 0.01, layers 4-2, seed 2",
        "two subjects dlda, eta 0.01, layers 3, seed 1",
    ]
    assert [run.settings["layers"] for run in made] == 2 * [[4, 2], [4, 2], [3], [3]]
    one = store.train_group(corpus, seed=7, grid={"eta": [0.01]}, minibatches=3)
    assert [run.info["seed"] for run in one] == [7]
    with pytest.raises(topiary.NewRunError, match="averaged_burn_in without averaged"):
        store.train_group(corpus, seeds=[1], averaged_burn_in=1)
    for run in made + one:
        run.delete()


def test_a_run_begins_with_a_guide_goes_on_with_edits_and_undoes_them(store, corpus, monkeypatch):
    guide = {"topics": [{"name": "Beds", "words": ["rose", "hedge"], "parent": "Outside"}], "ban": ["crew"]}
    made = store.train(corpus, layers=(4, 2), inference="gibbs", minibatches=40, topics=guide, wait=True)
    assert made.edits["what"].tolist() == [
        "ban crew", "new topic 'Beds' of layer 1 from rose, hedge", "place L1:5 under L2:1 'Outside'",
    ]  # fmt: skip
    assert made.edits["state"].tolist() == ["applied"] * 3
    assert made.edits.loc[2, ["topic", "step"]].tolist() == ["L1:5", 10]
    names = made.topics()["name"]
    assert (names["L1:5"], names["L2:1"]) == ("Beds", "Outside")
    assert made.edit("out", topics="L1:5", words="rose") == 4
    more = made.apply_edits(5).wait()
    assert more.edits["step"].tolist() == [-30, -30, -30, 1]
    assert more.edits.loc[4, "state"] == "applied"
    assert more.weights(1).loc["rose", "L1:5"] == 0
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    back = more.undo_edit(4)
    assert back.edits.index.tolist() == [1, 2, 3]
    back.stop()
    with pytest.raises(topiary.EditRefused, match=r"the corpus has no 'roze' \(near it are rose\)"):
        made.edit("ban", words=["roze"])
    with pytest.raises(topiary.EditRefused, match="topics has a key 'topic', which means nothing"):
        store.train(corpus, topics={"topic": []})
    for run in (back.wait(), more, made):
        run.delete()


def test_settings_of_numpy_are_taken(store, corpus, monkeypatch):
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    run = store.train(corpus, layers=np.array([3, 2]), minibatches=np.int64(9), seed=np.int64(2), eta=np.float64(0.5))
    assert (run.settings["layers"], run.settings["eta"], run.state) == ([3, 2], [0.5], "queued")
    run.delete()


def test_everything_shows_itself_shortly_in_a_notebook(store, corpus, run, labelled):
    shown = [store, store.runs, store.corpora, corpus, run, run.infer("rose"), run.compare(run), labelled.classify()]
    for each in shown:
        html = each._repr_html_()
        assert html.startswith("<")
        assert len(html) < 6000
        assert repr(each)
    assert "two subjects" in run._repr_html_()


def test_the_example_of_the_guide_runs(tmp_path):
    example, *_ = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    folders = dict.fromkeys(("XDG_DATA_HOME", "LOCALAPPDATA"), str(tmp_path))
    found = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env=os.environ | folders | {"TOPIARY_WORKERS": "4"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert "L1:1" in found.stdout


def test_every_method_of_a_store_and_a_run_is_told_of_in_the_guide():
    report = GUIDE.read_text(encoding="utf-8")
    for kind in (topiary.Store, topiary.Run, topiary.Corpus):
        public = [name for name in dir(kind) if not name.startswith("_")]
        assert [name for name in public if not re.search(rf"[`.]{name}\b", report)] == []
