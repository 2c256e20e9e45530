"""Evidence from the library: topics and shares of a word, similar documents, and those that are explained badly."""

import json
import re
import sys
import warnings

import garden
import numpy as np
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, plain_model, plant
from seed_samples import add_seed, plant_arrays
from trend_samples import plant_trends

import topiary
from topiary.app.analysis.seeds import diagnose_chains
from topiary.app.cli.main import main
from topiary.store.database import open_database
from topiary.store.points import Point
from topiary.store.tables import points

__all__ = ["plain_model"]


@pytest.fixture
def run(tmp_path, plain_model):
    db = open_filled(tmp_path / "store.db", plant)
    db.close()
    with topiary.open(tmp_path / "store.db") as opened:
        yield opened.runs[1]


def test_the_parts_of_a_word_sum_to_one_in_every_layer(run):
    table = run.word("rose")
    assert table.groupby("layer")["part"].sum().tolist() == pytest.approx(
        [1.0, 1.0], abs=0.03
    )  # without parts below 1 %
    assert table.loc["L1:1", "part"] > 0.9
    with pytest.raises(LookupError, match="'no such word' is not in the vocabulary"):
        run.word("no such word")


def test_similar_documents_are_about_the_same_subject_the_nearest_first(run):
    table = run.similar(6, 5)
    assert {number % 4 for number in table.index} == {2}
    assert 6 not in table.index
    assert table["distance"].is_monotonic_increasing
    assert len(run.similar(6, 100, layer=2)) == DOCUMENTS - 1
    for wrong in ({"document": DOCUMENTS}, {"document": 0, "layer": 3}):
        with pytest.raises(LookupError):
            run.similar(**wrong)


def test_badly_explained_documents_are_the_two_percent_with_the_lowest_fit(run):
    table = run.badly_explained()
    assert len(table) == int(np.ceil(0.02 * DOCUMENTS))
    assert table["fit"].iloc[0] < 0
    assert table.columns.tolist() == ["fit", "title", "label"]


def test_shares_of_a_word_are_by_period_or_group(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends)
    db.close()
    with topiary.open(tmp_path / "store.db") as opened:
        run = opened.runs[1]
        months = run.word_shares("garden", unit="month")
        assert months.index[0] == "2004-01-01"
        assert (months["share"].dropna() == 1.0).all()
        groups = run.word_shares("rose", "source", where=["day=2004-01"])
        assert groups["documents"].tolist() == [16, 15]
        assert (groups["share"] == 0.0).all()


@pytest.fixture
def store(tmp_path, plain_model):
    """Open a store with a run of 24 documents, six about each of four topics; topics 2 and 5 were pruned."""
    path = tmp_path / "store.db"
    open_filled(path, plant, pruned=True).close()
    with topiary.open(path) as opened:
        yield opened


@pytest.fixture
def bridged(store):
    return store.runs[1]


@pytest.fixture
def dated(tmp_path):
    """A run of 400 documents with unequal shares of the first two topics of every layer."""
    path = tmp_path / "dated.db"
    open_filled(path, plant_trends).close()
    with topiary.open(path) as opened:
        yield opened.runs[1]


def load(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed: pip install 'topiary-explorer[bridges]'")


def test_pyldavis_computes_the_same_from_the_tables_of_the_run(dated):
    pyldavis = load("pyLDAvis")
    layer = 3
    weights, shares = dated.weights(layer), dated.shares(layer).toarray().astype(float)
    order = list(range(weights.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pyldavis.prepare(
            weights.to_numpy().T[order],
            (shares / shares.sum(axis=1, keepdims=True))[:, order],
            np.full(len(shares), 50),
            list(weights.index),
            np.ones(len(weights)),
            n_jobs=1,
            sort_topics=False,
        ).to_dict()
    ours = dated.to_pyldavis(layer).to_dict()
    assert ours["topic.order"] == [place + 1 for place in order]
    assert (ours["R"], ours["lambda.step"], ours["plot.opts"]) == (theirs["R"], 0.01, theirs["plot.opts"])
    assert ours["mdsDat"]["Freq"] == pytest.approx(theirs["mdsDat"]["Freq"])
    assert np.abs(ours["mdsDat"]["x"]) == pytest.approx(np.abs(theirs["mdsDat"]["x"]))  # an axis has no sign
    for name, key in (("tinfo", ("Category", "Term")), ("token.table", ("Term", "Topic"))):
        rows, expected = sort_rows(ours[name], key), sort_rows(theirs[name], key)
        assert [each[0] for each in rows] == [each[0] for each in expected]
        for (_, values), (_, others) in zip(rows, expected, strict=True):
            assert values == pytest.approx(others, abs=2e-4)


def sort_rows(table, key):
    names = sorted(set(table) - set(key))
    rows = zip(
        zip(*(table[name] for name in key), strict=True),
        zip(*(table[name] for name in names), strict=True),
        strict=True,
    )
    return sorted(rows, key=lambda row: row[0])


def test_the_exported_json_is_what_pyldavis_saves_and_shows(dated, tmp_path, capsys):
    pyldavis = load("pyLDAvis")
    store, path = str(tmp_path / "dated.db"), tmp_path / "layer.json"
    assert main(["export", "1", "pyldavis", "--layer", "1", "--output", str(path), "--store", store]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    prepared = dated.to_pyldavis(1)
    assert json.loads(path.read_text()) == json.loads(prepared.to_json())
    page = pyldavis.prepared_data_to_html(prepared)
    assert json.dumps(garden.WORDS[0]) in page
    best = prepared.sorted_terms(topic=1, _lambda=1)["Term"].tolist()[:5]
    first = dated.weights(1)["L1:1"]
    assert best == first.sort_values(ascending=False).index[:5].tolist()
    assert main(["export", "1", "pyldavis", "--output", "layer.csv", "--store", store]) == 2
    assert "its name must end in one of .json" in capsys.readouterr().err
    page_path = tmp_path / "layer.html"
    assert main(["export", "1", "pyldavis", "--layer", "1", "--output", str(page_path), "--store", store]) == 0
    page = page_path.read_text()
    assert json.dumps(garden.WORDS[0]) in page
    assert "new LDAvis(" in page
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=", page)  # it needs no other file
    assert not re.search(r"https?://[^\"' ]+\.(?:js|css)\b", page.partition("</style>")[0])
    assert main(["export", "1", "pyldavis", "--layer", "9", "--output", str(path), "--store", store]) == 2


def test_topics_that_no_document_has_do_not_spoil_the_data_of_pyldavis(dated):
    load("pyLDAvis")
    data = dated.to_pyldavis(1).to_dict()  # six of eight topics have no tokens
    assert sum(share > 0 for share in data["mdsDat"]["Freq"]) == 2
    assert sum(data["mdsDat"]["Freq"]) == pytest.approx(100)
    assert np.isfinite([*data["tinfo"]["logprob"], *data["tinfo"]["loglift"], *data["token.table"]["Freq"]]).all()


def test_arviz_reads_the_curves_of_several_runs_as_chains(tmp_path):
    path = tmp_path / "store.db"
    db = open_database(path)
    rows = [add_seed(db, seed, plant_arrays()) for seed in (1, 2)]
    add_seed(db, 3, plant_arrays(), settings={"eta": 1.0})
    draws = np.random.default_rng(1).normal(size=(2, 40))
    for row, values in zip(rows, draws, strict=True):
        plant_points(db, row.number, values)
    db.close()
    with topiary.open(path) as opened:
        load("arviz_base")
        run = opened.runs[1]
        with pytest.raises(ValueError, match="run 3 is no other chain of run 1"):
            run.to_arviz(3)
        with pytest.raises(ValueError, match="run 3 has no points yet"):
            opened.runs[3].to_arviz()
        tree = run.to_arviz(opened.runs[2])
        alone = run.to_arviz()
    posterior, stats = tree["posterior"], tree["sample_stats"]
    assert posterior["r_sum"].dims == ("chain", "draw")
    assert posterior["active_topics"].dims == ("chain", "draw", "layer")
    assert posterior["chain"].values.tolist() == [1, 2]
    assert posterior["draw"].values.tolist() == list(range(1, 41))
    assert posterior["r_sum"].values.tolist() == draws.tolist()
    assert posterior["active_topics"].sel(layer=2, draw=7, chain=1).item() == 14
    assert int(stats["point_perplexity"].notnull().sum()) == 2 * 4  # measured at every tenth mini-batch
    assert stats["point_perplexity"].sel(draw=20, chain=2).item() == draws[1][19]
    assert tree["posterior"].attrs["inference_library"] == "topiary"
    assert alone["posterior"]["r_sum"].shape == (1, 40)
    from arviz_stats import rhat

    assert float(rhat(tree, var_names="r_sum")["r_sum"]) == pytest.approx(diagnose_chains(draws)[0])


def plant_points(db, run, values):
    rows = []
    for step, value in enumerate(values.tolist(), start=1):
        at = (step, step, float(step))
        rows += [Point(*at, "r_sum", 0, value), *(Point(*at, "active_topics", layer, step * layer) for layer in (1, 2))]
        rows += [Point(*at, "point_perplexity", 0, value)] if step % 10 == 0 else []
    with db.write() as connection:
        connection.execute(points.insert(), [{"run": run} | row._asdict() for row in rows])


def test_documents_have_the_columns_of_bertopic(bridged):
    info = bridged.document_info(1)
    assert info["Topic"].tolist() == [number % 4 for number in range(DOCUMENTS)]
    assert info["Name"][1] == "1_orbit_rocket_launch_moon"
    assert info["CustomName"][1] == f"L1:3 {bridged.topics(1).loc['L1:3', 'title']}"
    assert info["Top_n_words"][1].split(" - ") == info["Representation"][1]
    assert info["Probability"].to_numpy() == pytest.approx(np.ones(DOCUMENTS), abs=2e-5)
    assert info.groupby("Topic")["Representative_document"].sum().tolist() == [3] * 4
    for _, row in info[info["Representative_document"]].iterrows():
        assert row["Document"] in row["Representative_Docs"]
    assert sorted(bridged.document_info(2)["Topic"].unique()) == [0, 1]


def test_bertopic_itself_describes_the_same_documents_alike(bridged):
    bertopic = load("bertopic")
    info = bridged.document_info(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bertopic.backend import BaseEmbedder
        from bertopic.cluster import BaseCluster
        from bertopic.dimensionality import BaseDimensionalityReduction

        model = bertopic.BERTopic(
            embedding_model=BaseEmbedder(), umap_model=BaseDimensionalityReduction(), hdbscan_model=BaseCluster()
        )
        model.fit(info["Document"].tolist(), embeddings=np.eye(DOCUMENTS), y=info["Topic"].tolist())
        model.set_topic_labels(info.groupby("Topic")["CustomName"].first().tolist())
        theirs = model.get_document_info(info["Document"].tolist())
        sizes = model.get_topic_freq().set_index("Topic")["Count"]
    assert [name for name in info.columns if name != "Probability"] == [
        name for name in theirs.columns if name != "Probability"
    ]
    assert sizes.sort_index().tolist() == info["Topic"].value_counts().sort_index().tolist()
    pairs = set(zip(info["Topic"], theirs["Topic"], strict=True))
    assert len(pairs) == 4  # it numbers topics by size, but groups the documents alike
    assert theirs["CustomName"].nunique() == 4


def test_a_missing_library_is_named_with_the_way_to_get_it(bridged, monkeypatch):
    for module, method in (("pyLDAvis", bridged.to_pyldavis), ("arviz_base", bridged.to_arviz)):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=r"pip install 'topiary-explorer\[bridges\]'"):
            method()
