"""Several files of one format are one corpus."""

from pathlib import Path

import numpy as np
import pytest

from app.ingest.errors import IngestError
from app.ingest.importing import import_path
from app.ingest.options import ImportOptions
from store import corpora
from store.database import Database

WHOLE = ImportOptions(min_df=1, max_df=1.0, test_share=0)


def test_tables_follow_each_other(tmp_path: Path, db: Database) -> None:
    paths = []
    for place, kind in enumerate(("sea", "town")):
        path = tmp_path / f"{kind}.csv"
        path.write_text("text,label\n" + "\n".join(f"apple pear {kind} word{'abc'[n]},{kind}" for n in range(3)))
        paths.append(path)
        assert place == len(paths) - 1
    row = import_path(db, paths, WHOLE)
    assert (row.name, row.documents, row.label_names) == ("sea", 6, ("sea", "town"))
    assert row.meta["file"] == "sea.csv and 1 more"
    assert [each.label for each in corpora.read_documents(db, row.number, range(6))] == ["sea"] * 3 + ["town"] * 3
    assert len(row.meta["notes"]) == 1  # both files say the same


def test_tables_with_other_columns_are_refused(tmp_path: Path, db: Database) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("text,label\napple pear,x\napple fig,y\n")
    other.write_text("body,label\napple pear,x\napple fig,y\n")
    with pytest.raises(IngestError, match=r"b.csv: has label 'label', text 'body', where .*a.csv has .*text 'text'"):
        import_path(db, [one, other], WHOLE)
    assert corpora.list_corpora(db) == []


def test_files_of_two_formats_are_refused(tmp_path: Path, db: Database) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b.jsonl"
    one.write_text("text\napple pear\n")
    other.write_text('{"text": "apple pear"}\n')
    with pytest.raises(IngestError, match=r"is jsonl, and a\.csv is csv; give files of one format"):
        import_path(db, [one, other], WHOLE)


def test_counts_over_two_vocabularies_are_counts_over_both(tmp_path: Path, db: Database) -> None:
    for name, words, cells in (("a", "fig\napple\n", "1 1 2\n1 2 3\n"), ("b", "pear\nfig\n", "1 1 4\n1 2 5\n")):
        (tmp_path / f"docword.{name}.txt").write_text(f"1\n2\n2\n{cells}")
        (tmp_path / f"vocab.{name}.txt").write_text(words)
    row = import_path(db, [tmp_path / "docword.a.txt", tmp_path / "docword.b.txt"], ImportOptions(test_share=0))
    assert corpora.read_vocabulary(db, row.number) == ("fig", "apple", "pear")
    counts = corpora.load_corpus(db, row.number).counts
    table = np.zeros((2, 3), int)
    table[np.repeat([0, 1], np.diff(counts.starts)), counts.words] = counts.values
    assert table.tolist() == [[2, 3, 0], [5, 0, 4]]
    assert [np.all(np.diff(counts.rows(n, n + 1).words) > 0) for n in range(2)] == [True, True]
