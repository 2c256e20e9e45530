"""The built-in corpus."""

import sys

import pytest

from topiary.app.ingest import docstrings
from topiary.app.ingest.docstrings import Package
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.memory import import_builtin
from topiary.store import corpora
from topiary.store.database import Database


@pytest.mark.nightly
def test_this_machine_gives_thousands_of_documents_with_their_packages(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(sys.modules)
    report: list[str] = []
    row = import_builtin(db, lambda message, _: report.append(message))
    assert row.name == "python-docs"
    assert 4_000 <= row.documents <= 7_000
    assert "standard library" in row.label_names
    assert "numpy" in row.label_names
    assert not {name.partition(".")[0] for name in set(sys.modules) - before} & {
        "tkinter",
        "turtle",
        "antigravity",
        "this",
    }
    words = set(corpora.read_vocabulary(db, row.number))
    assert not words & {"param", "parameters", "returns", "none", "self", "str"}
    assert {"matrix", "file", "thread", "database"} <= words
    document = corpora.read_documents(db, row.number, [5])[0]
    assert document.label == document.columns["module"].partition(".")[0] or document.label == "standard library"
    assert document.title.startswith(document.columns["module"])
    assert any("docstrings" in message for message in report)


def test_a_python_without_sources_says_so(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docstrings, "list_packages", list[Package])
    with pytest.raises(IngestError, match="without sources"):
        import_builtin(db)
