"""A corpus of the documents of a run: those of a topic, those that meet conditions, and how it is called."""

import pytest
from databases import open_filled
from trend_samples import DOCUMENTS, plant_trends

from topiary.app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from topiary.app.analysis.refinements import refine_run
from topiary.app.cli.main import main
from topiary.app.ingest.refining import ORIGIN, RefineError
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


@pytest.fixture
def stored(db):
    from topiary.store import runs

    row = runs.get_run(db, 1)
    return row, read_hierarchy(db, row, find_snapshot_at(db, row, None))


def test_the_documents_of_a_topic_become_a_corpus_that_knows_where_it_comes_from(db, stored):
    row, hierarchy = stored
    made = refine_run(db, row, hierarchy, topic=Node(3, 0), share=0.5, where=["source=herald"])
    titles = [each.title for each in corpora.read_documents(db, made.number, range(made.documents))]
    assert titles == [f"document {n}" for n in range(160, DOCUMENTS, 2)]  # 0.2 + n / 800 + 0.1 is at least one half
    origin = made.meta[ORIGIN]
    assert (origin["run"], origin["topic"], origin["name"]) == (1, "L3:1", "dated")
    assert origin["where"] == ["source=herald", "L3:1=50%.."]
    assert made.name == f"dated · {hierarchy.title(Node(3, 0))}"
    again = refine_run(db, row, hierarchy, topic=Node(3, 0), share=0.5)
    assert again.name == f"{made.name} 2"


def test_what_selects_nothing_is_refused_in_a_sentence(db, stored):
    row, hierarchy = stored
    with pytest.raises(RefineError, match="give a topic, a condition or a search"):
        refine_run(db, row, hierarchy)
    with pytest.raises(RefineError, match="run 1 has no topic L9:1"):
        refine_run(db, row, hierarchy, topic=Node(9, 0))
    with pytest.raises(RefineError, match="0 of the 0 documents selected are for training"):
        refine_run(db, row, hierarchy, where=["day=1999"])


def test_the_command_says_what_was_made_and_what_to_do_next(db, capsys):
    assert main(["refine", "1", "--where", "day=2004-02..2004-03", "--store", db.url]) == 0
    out = capsys.readouterr().out
    assert "corpus 2, dated · day=2004-02..2004-03: 60 documents" in out
    assert "topiary train 2" in out
    assert main(["refine", "1", "--topic", "x", "--store", db.url]) == 2
