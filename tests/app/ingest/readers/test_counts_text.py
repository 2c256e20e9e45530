"""MALLET's lines: blanks or tabs, as its own importer takes them."""

import json
from pathlib import Path

import numpy as np
import pytest
from format_samples import COUNTS, extracted, octis, topmost
from ingest_samples import write

from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import CountSource, TextSource
from topiary.engine.contract import TEST, TRAIN
from topiary.store import corpora
from topiary.store.database import Database


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


def test_topmost_has_counts_texts_labels_and_its_split(tmp_path: Path, db: Database) -> None:
    row = import_path(db, topmost(tmp_path / "data"), ImportOptions())
    whole = corpora.load_corpus(db, row.number)
    assert row.meta["format"] == "topmost"
    assert whole.part.tolist() == [TRAIN] * 3 + [TEST]
    assert whole.counts.values.tolist() == COUNTS[COUNTS > 0].tolist()
    assert row.label_names == ("0", "1")
    found = corpora.read_documents(db, row.number, range(4))
    assert [each.text for each in found] == ["text 0 of train", "text 1 of train", "text 2 of train", "text 0 of test"]


def test_topmost_without_counts_is_counted_by_its_vocabulary_and_what_is_left_out_is_told(tmp_path: Path) -> None:
    write(tmp_path / "vocab.txt", "tea\nmilk\n")
    write(tmp_path / "train_texts.txt", "tea milk tea\nmilk sugar\n\n")
    source = read_source(tmp_path)
    assert isinstance(source, CountSource)
    (rows,) = source.blocks()
    assert (rows.counts.words.tolist(), rows.counts.values.tolist()) == ([0, 1, 1], [2, 1, 1])
    assert np.diff(rows.counts.starts).tolist() == [2, 1, 0]
    assert source.part is None
    assert source.notes == ["1 words of train_texts.txt are not in the vocabulary and left out"]


def test_octis_has_its_parts_labels_and_vocabulary(tmp_path: Path, db: Database) -> None:
    row = import_path(db, octis(tmp_path / "data"), ImportOptions())
    whole = corpora.load_corpus(db, row.number)
    assert row.meta["format"] == "octis"
    assert corpora.read_vocabulary(db, row.number) == ("apple", "pear", "red", "green")
    assert whole.part.tolist() == [TRAIN, TEST, TRAIN, TRAIN]
    assert row.label_names == ("a", "b")
    assert row.meta["notes"] == ["4 words of corpus.tsv are not in the vocabulary and left out"]


def test_octis_without_parts_leaves_the_split_to_the_seed(tmp_path: Path) -> None:
    write(tmp_path / "corpus.tsv", "tea milk\ntea\n")
    write(tmp_path / "vocabulary.txt", "tea\nmilk\n")
    source = read_source(tmp_path)
    assert isinstance(source, CountSource)
    assert source.part is None
    assert source.label_names == ()


OBJECT = {"id": "7", "url": "https://example.org/7", "title": "Pear", "text": "Pear\n\nA fruit."}


def test_articles_have_their_titles_once_and_their_address(tmp_path: Path) -> None:
    source = read_source(extracted(tmp_path / "text"))
    assert isinstance(source, TextSource)
    found = list(source.documents())
    assert (found[1].title, found[1].text) == ("A & green", "apple green")
    assert dict(found[1].columns) == {"id": "1", "url": "https://example.org/1"}
    assert len(found) == 4
    assert source.understood["files"] == "2"


@pytest.mark.parametrize("name", ["wiki_00", "wiki_00.gz", "AA/wiki_00"])
def test_a_json_object_a_line_is_read_too_and_one_file_alone(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "in" / name, json.dumps(OBJECT) + "\n")
    source = read_source(path if "/" not in name else tmp_path / "in")
    assert isinstance(source, TextSource)
    assert [(each.title, each.text) for each in source.documents()] == [("Pear", "A fruit.")]
