"""Topics of the columns of a table in lists and files, beside those of the rows."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from column_samples import hierarchy_of, table
from topic_hierarchies import make_hierarchy, vocabulary

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.cli import main, show
from topiary.app.export import topics
from topiary.run_topics import RunTopics


@pytest.fixture
def hierarchy() -> Hierarchy:
    return hierarchy_of(table())


def read(path: Path) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), quoting=csv.QUOTE_NONNUMERIC))


def test_topics_of_columns_are_listed_by_layer_most_popular_first(hierarchy: Hierarchy) -> None:
    first, second = topics.list_column_topics(hierarchy, words=8)
    assert [(row["layer"], row["rank"], row["topic"], row["share"]) for row in (first, second)] == [
        (2, 1, "C2:2", 0.75), (2, 2, "C2:1", 0.25),
    ]  # fmt: skip
    assert set(second["words"]) == set(vocabulary(16)[:8])
    assert topics.list_column_topics(hierarchy, 1) == topics.list_column_topics(make_hierarchy()) == []


def test_files_have_both_sides_of_a_table_and_of_documents_no_side(hierarchy: Hierarchy, tmp_path: Path) -> None:
    rows = read(topics.write_topics(hierarchy, None, tmp_path / "both.csv"))
    assert [row["side"] for row in rows] == ["rows"] * 6 + ["columns"] * 2
    assert [row["words"] for row in rows[-2:]] == [
        " ".join(row["words"]) for row in topics.list_column_topics(hierarchy)
    ]
    assert [(row["layer"], row["topic"], row["npmi"]) for row in rows[-2:]] == [(2.0, "C2:2", ""), (2.0, "C2:1", "")]
    assert json.loads(
        topics.write_topics(hierarchy, 2, tmp_path / "both.json").read_text()
    ) == topics.list_row_and_column_topics(hierarchy, 2)
    assert [row["layer"] for row in read(topics.write_topics(hierarchy, 1, tmp_path / "one.csv"))] == [1.0] * 4
    assert "side" not in read(topics.write_topics(make_hierarchy(), None, tmp_path / "documents.csv"))[0]


def test_the_command_lists_them_below_those_of_the_rows(
    hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(show, "open_existing", lambda _url: None)
    monkeypatch.setattr(show, "find_run", lambda *_: None)
    monkeypatch.setattr(show, "_read_hierarchy", lambda *_: hierarchy)
    assert main.main(["topics", "7"]) == 0
    said = capsys.readouterr().out
    below = said[said.index("topics of the columns:") :].splitlines()
    assert len(below) == 3
    assert below[1].split()[:3] == ["C2:2", "1", "75.0%"] or below[1].split()[:4] == ["C2:2", "1", "75.0", "%"]
    assert main.main(["topics", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == topics.list_row_and_column_topics(hierarchy)


def test_the_library_has_them_as_a_table(hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunTopics.__new__(RunTopics)
    monkeypatch.setattr(RunTopics, "hierarchy", lambda _self, _minibatch=None: hierarchy)
    found = run.column_topics(words=3)
    assert list(found.columns) == ["layer", "rank", "share", "title", "words"]
    assert found.index.tolist() == ["C2:2", "C2:1"]
    assert [len(words) for words in found["words"]] == [3, 3]
    assert len(run.column_topics(3)) == 0
