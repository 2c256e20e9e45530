"""What is opened: files as a browser sends them, and why a format was taken."""

from pathlib import Path

import pytest

from app.ingest.options import ImportOptions
from app.ingest.registry import list_uploaded, name_corpus, open_paths


@pytest.mark.parametrize(
    ("names", "one_by_one"),
    [
        (("may.csv", "june.csv"), True),
        (("may.csv", "june.tsv.gz"), True),
        (("train.csv", "test.csv"), False),
        (("may.csv",), False),
        (("may.txt", "june.txt"), False),
        (("may.csv", "readme.md"), False),
    ],
)
def test_a_heap_of_tables_is_taken_one_by_one(tmp_path: Path, names: tuple[str, ...], one_by_one: bool) -> None:
    for name in names:
        (tmp_path / name).write_text("text\napple\n")
    assert list_uploaded(tmp_path) == (sorted(tmp_path / name for name in names) if one_by_one else [tmp_path])
    assert list_uploaded(tmp_path / names[0]) == [tmp_path / names[0]]


def test_why_a_format_was_taken_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("apple\npear\n")
    assert (
        open_paths(path, ImportOptions()).why
        == "one document a line; the only format that fits its name and its beginning"
    )
    assert open_paths(path, ImportOptions(format="lines")).why == "named with --format"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("apple")
    assert (
        open_paths(tmp_path / "folder", ImportOptions()).why
        == "texts; the only format that fits the files in the folder"
    )


def test_a_corpus_is_called_after_the_first_file_unless_somebody_names_it(tmp_path: Path) -> None:
    paths = [tmp_path / "may.csv.gz", tmp_path / "june.csv.gz"]
    assert name_corpus(paths, ImportOptions()) == "may"
    assert name_corpus(paths, ImportOptions(name="summer")) == "summer"
