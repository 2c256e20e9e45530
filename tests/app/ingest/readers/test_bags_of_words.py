"""MALLET's lines: blanks or tabs, as its own importer takes them."""

from pathlib import Path

from ingest_samples import write

from topiary.app.ingest.importing import read_source
from topiary.app.ingest.source import TextSource
from topiary.engine.contract import TEST, TRAIN


def lines(path: Path) -> list[tuple[str, str | None, str, int | None]]:
    source = read_source(path)
    assert isinstance(source, TextSource)
    return [(each.title, each.label, each.text, each.part) for each in source.documents()]


def test_name_and_label_end_at_a_blank_and_the_text_is_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mallet", "one en red, green pear\n\ntwo\tde\tblaue  Feige\nthree,fr, figue\n")
    assert lines(path) == [
        ("one", "en", "red, green pear", None), ("two", "de", "blaue  Feige", None), ("three,fr,", "figue", "", None),
    ]  # fmt: skip


def test_with_tabs_all_through_names_may_have_blanks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mallet", "a name\ten\tred pear\nb name\tde\tFeige\n")
    assert [line[:3] for line in lines(path)] == [("a name", "en", "red pear"), ("b name", "de", "Feige")]


def test_a_training_and_a_test_file_are_one_corpus(tmp_path: Path) -> None:
    write(tmp_path / "train.mallet", "a x pear\n")
    write(tmp_path / "test.mallet", "b x fig\n")
    assert [(line[0], line[3]) for line in lines(tmp_path)] == [("a", TRAIN), ("b", TEST)]
