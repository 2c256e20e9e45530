"""The real corpora come out with the sizes that their descriptions give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.ingest.importing import import_path
from app.ingest.options import ImportOptions
from engine import contract
from store import blocks, corpora
from store.corpus_rows import CorpusRow
from store.database import Database

pytestmark = pytest.mark.data


def imported(db: Database, path: Path, **options: Any) -> CorpusRow:
    return import_path(db, path, ImportOptions(**options))


def test_the_corpus_of_the_paper_has_its_observed_and_scored_tokens(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "20news_dlda" / "20news_data.mat")
    whole = corpora.load_corpus(db, row.number)
    train = whole.part == 0
    tokens = np.add.reduceat(np.append(whole.counts.values, 0), whole.counts.starts[:-1])
    tokens = tokens * (np.diff(whole.counts.starts) > 0)
    assert (row.documents, row.train_documents, row.words) == (11_284 + 7_502, 11_284, 2_000)
    assert int(np.diff(whole.counts.starts)[train].sum()) == 470_587
    assert (int(tokens[train].sum()), int(tokens[~train].sum())) == (584_661, 295_806 + 79_550)
    assert row.has_scored
    assert int(whole.scored.values.sum()) == 79_550
    assert int((np.diff(whole.scored.starts)[~train] == 0).sum()) == 30
    assert whole.scored.starts[11_284] == 0
    assert int(whole.counts.values.max()) == 7
    assert len(row.label_names) == 20
    assert corpora.read_vocabulary(db, row.number)[0] == "ax"


def test_the_svmlight_files_are_the_same_documents_as_the_matlab_file(shared_data: Path, db: Database) -> None:
    matlab = imported(db, shared_data / "20news_dlda" / "20news_data.mat")
    svmlight = imported(db, shared_data / "20news_dlda", format="svmlight")
    assert matlab.content_hash == svmlight.content_hash
    assert matlab.label_names == svmlight.label_names
    one, other = corpora.load_corpus(db, matlab.number), corpora.load_corpus(db, svmlight.number)
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.part, other.part)


@pytest.mark.parametrize(
    ("name", "documents", "words", "tokens", "cells"),
    [
        ("20news_counts_61188", 11_269 + 7_505, 61_188, 2_765_300 + 1_796_919, 1_467_345 + 967_874),
        ("20news_nvdm", 7_505, 2_000, 720_898, 477_078),
        ("reuters395_ldac", 395, 4_258, 84_010, 60_114),
        ("ap_ldac", 2_246, 10_473, 435_838, 302_031),
        ("uci_kos", 3_430, 6_906, 467_714, 353_160),
        ("wikipedia_hoffman", 10_000, 7_702, 4_521_407, 2_151_242),
    ],
)
def test_count_corpora_have_their_sizes(
    name: str, documents: int, words: int, tokens: int, cells: int, shared_data: Path, db: Database
) -> None:
    row = imported(db, shared_data / name)
    assert (row.documents, row.words, row.tokens, row.cells) == (documents, words, tokens, cells)


def test_the_split_and_labels_of_the_large_newsgroup_counts_are_those_of_the_files(
    shared_data: Path, db: Database
) -> None:
    row = imported(db, shared_data / "20news_counts_61188")
    assert row.train_documents == 11_269
    assert row.label_names[0] == "alt.atheism"
    folder = shared_data / "20news_counts_61188"
    request = [int(line) - 1 for name in ("train", "test") for line in (folder / f"{name}.label").read_text().split()]
    assert corpora.load_corpus(db, row.number).labels.tolist() == request
    stop = folder / "stop-word-list.txt"
    pruned = imported(db, folder, name="pruned", stop_words=str(stop), min_df=1)
    assert not set(stop.read_text().split()) & set(corpora.read_vocabulary(db, pruned.number))


def test_the_deep_exponential_family_file_takes_its_vocabulary_from_elsewhere(shared_data: Path, db: Database) -> None:
    words = shared_data / "wikipedia_hoffman" / "vocab.wiki10k.txt"
    row = imported(db, shared_data / "wikipedia_def", vocabulary=str(words))
    assert (row.documents, row.words, row.tokens) == (1_000, 7_702, 659_313)
    assert "None" in corpora.read_vocabulary(db, row.number)


def test_titles_of_wikipedia_and_reuters_stand_by_their_documents(shared_data: Path, db: Database) -> None:
    wikipedia = imported(db, shared_data / "wikipedia_hoffman")
    assert [each.title for each in corpora.read_documents(db, wikipedia.number, [0, 1])] == ["Albedo", "Achilles"]
    reuters = imported(db, shared_data / "reuters395_ldac")
    assert corpora.read_documents(db, reuters.number, [0])[0].title.startswith("UK: Prince Charles")
    assert "1992" in corpora.read_vocabulary(db, reuters.number)


def test_digits_are_images_of_28_by_28(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "mnist", binary=True)
    assert (row.documents, row.train_documents) == (70_000, 60_000)
    assert (row.words, row.image_shape, row.kind) == (784, (28, 28), "binary")
    assert row.label_names == tuple("0123456789")


def test_news_stories_in_folders_of_a_zip_have_their_classes(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "bbc" / "bbc-fulltext.zip", test_share=0)
    labels = corpora.load_corpus(db, row.number).labels
    assert row.label_names == ("business", "entertainment", "politics", "sport", "tech")
    assert np.bincount(labels).tolist() == [510, 386, 417, 511, 401]
    assert row.meta["notes"][0] == "sport/199.txt is not UTF-8 (line 5, byte 258): read as Latin-1"
    assert "the texts are in English; its stop words are left out (change it with --stop-words)" in row.meta["notes"]


def test_a_news_table_without_column_names_has_its_classes(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "ag_news" / "test.csv.gz", test_share=0)
    assert row.label_names == ("World", "Sports", "Business", "Sci/Tech")
    assert np.bincount(corpora.load_corpus(db, row.number).labels).tolist() == [1_900] * 4
    assert corpora.read_documents(db, row.number, [0])[0].title == "Fears for T N pension after talks"


def test_reuters_has_its_split_and_keeps_all_labels(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "reuters21578" / "reuters21578.jsonl.gz")
    assert (row.train_documents, row.documents) == (9_603, 9_603 + 3_299)
    assert any("8,676 documents are in neither" in note for note in row.meta["notes"])
    several = [each for each in corpora.read_documents(db, row.number, range(200)) if ", " in each.columns["label"]]
    assert several
    assert all(each.columns["label"].startswith(f"{each.label}, ") for each in several)
    assert "places" in several[0].columns


def test_film_reviews_keep_their_ratings(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "imdb" / "imdb_10k.csv.gz")
    whole = corpora.load_corpus(db, row.number)
    assert (row.documents, row.train_documents) == (10_000, 5_000)
    assert np.bincount(whole.labels * 2 + whole.part).tolist() == [2_500] * 4
    assert corpora.read_documents(db, row.number, [0])[0].columns["rating"] in "1234789 10"
    assert "br" not in corpora.read_vocabulary(db, row.number)


def test_engine_and_store_mean_the_same_by_parts_and_counts() -> None:
    assert (blocks.TRAIN, blocks.TEST) == (contract.TRAIN, contract.TEST)
    assert blocks.StoredCounts._fields == contract.Counts._fields
