"""The real corpora come out with the sizes that their descriptions give."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topiary.app.ingest.importing import append_path, draw_part, import_path, inspect_path, seed_parts
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.report import Report, load_report
from topiary.engine import contract
from topiary.engine.contract import TRAIN
from topiary.engine.parts import PartSizes, divide_share, draw_parts
from topiary.store import blocks, corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

pytestmark = pytest.mark.data


def imported(db: Database, path: Path, **options: Any) -> CorpusRow:
    """A corpus with the parts that its files have."""
    return import_path(db, path, ImportOptions(**{"validation_share": 0, **options}))


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
    assert (blocks.TRAIN, blocks.TEST, blocks.VALIDATION) == (contract.TRAIN, contract.TEST, contract.VALIDATION)
    assert blocks.StoredCounts._fields == contract.Counts._fields


def test_documents_that_are_left_out_have_no_influence_on_the_draw() -> None:
    keep_mask = np.ones(100, bool)
    sizes = partial(divide_share, share=0.2, validation=True)
    whole = draw_part(keep_mask, np.arange(100), sizes, 3, [])
    assert np.array_equal(whole, draw_parts(seed_parts(3), np.arange(100), PartSizes(10, 10)))
    more = np.zeros(250, bool)
    more[np.random.default_rng(0).choice(250, 100, replace=False)] = True
    part = draw_part(more, np.arange(250), sizes, 3, [])
    assert np.array_equal(part[more], whole)
    assert np.all(part[~more] == TRAIN)


@pytest.mark.parametrize("empty", [0, 60])
def test_empty_answers_are_left_out_before_test_documents_are_drawn(tmp_path: Path, db: Database, empty: int) -> None:
    answers = [f"apple{' pear' * (n % 8)}{' fig' * (n // 8)}" for n in range(40)]
    rows = [*answers[:20], *['""'] * empty, *answers[20:]]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["text", *rows]))
    row = import_path(db, path, ImportOptions(test_share=0.25, min_df=1, max_df=1.0))
    assert (row.documents, row.train_documents) == (40, 30)
    assert ("60 documents are without words and left out" in row.meta["notes"]) == bool(empty)
    part = corpora.load_corpus(db, row.number).part
    assert np.array_equal(part, draw_parts(seed_parts(0), np.arange(40), PartSizes(5, 5)))
    added = append_path(db, row.number, path)
    assert (added.documents, added.train) == (40, 30)


SUBJECTS = {"fruit": "apple pear fig plum", "cars": "wheel engine brake clutch"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty rows of two subjects: one empty text, ten that came before, a word of one row."""
    rows = ["id;date;headline;body;category"]
    for n in range(60):
        category = ("fruit", "cars")[n % 2]
        words = SUBJECTS[category].split()
        body = f"the {words[n % 4]} and {words[(n + 1) % 4]} are everywhere {chr(97 + n % 10) * 3}"
        body = "" if n == 7 else f"{body} once" if n == 4 else f"{body} row{'abcdefghij'[n // 10]}"
        rows.append(f"{n};2020-01-{n % 28 + 1:02d};Of {words[n % 4]} number {chr(97 + n % 26)};{body};{category}")
    rows += [";".join([str(60 + n), "2021-02-03", *rows[1 + n].split(";")[2:]]) for n in range(10, 20)]
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def inspected(path: Any, **options: Any) -> Report:
    return inspect_path(path, ImportOptions(**options))


def test_a_table_is_said_to_have_columns_documents_words_and_a_script(table: Path) -> None:
    found = inspected(table)
    assert (found.path, found.format) == ("notes.csv", "csv")
    assert found.understood["separator"] == "semicolon"
    roles = {column.name: column.role for column in found.columns}
    assert roles == {"id": "id", "date": "date", "headline": "title", "body": "text", "category": "label"}
    assert found.columns[4].samples == ("fruit", "cars")
    assert [len(column.samples) for column in found.columns] == [3, 3, 3, 3, 2]
    assert (found.read, found.documents, found.train, found.empty, found.duplicates) == (70, 70, 63, 1, 10)
    assert found.classes == 2
    assert dict(found.labels) == {"fruit": 35, "cars": 35}
    assert [each.name for each in found.scripts] == ["Latin"]


def test_every_cut_says_what_it_takes_and_together_they_explain_the_vocabulary(table: Path, db: Database) -> None:
    found = inspected(table, max_words=12)
    cuts = {cut.option: cut for cut in found.cuts}
    assert set(cuts["stop_words"].examples) == {"the", "and", "are", "of", "once", "everywhere"}
    assert cuts["stop_words"].words == 6
    assert cuts["max_df"].examples == ("number",)
    assert cuts["max_words"].words > 0
    assert found.words - sum(cut.words for cut in found.cuts) == found.words_kept == 12
    row = import_path(db, table, ImportOptions(max_words=12))
    assert (row.words, row.tokens) == (found.words_kept, found.tokens_kept)


@pytest.mark.parametrize("options", [{}, {"max_words": 12, "test_share": 0.3}, {"leave_out_common": True}])
def test_an_import_keeps_the_record_that_was_said_before(table: Path, db: Database, options: dict[str, Any]) -> None:
    before = inspected(table, **options)
    row = import_path(db, table, ImportOptions(**options))
    assert load_report(row.meta) == before
    assert (row.documents, row.train_documents) == (before.documents, before.train)


@pytest.mark.parametrize("cut", [{}, {"min_df": 2, "stop_words": "english"}])
def test_counts_are_said_too_and_cut_only_where_that_is_asked(
    tmp_path: Path, db: Database, cut: dict[str, Any]
) -> None:
    (tmp_path / "docword.notes.txt").write_text("5\n4\n6\n1 1 2\n1 2 3\n2 1 2\n2 2 3\n3 3 1\n4 4 9\n")
    (tmp_path / "vocab.notes.txt").write_text("apple\npear\nfig\nthe\n")
    found = inspected(tmp_path, name="notes", **cut)
    assert (found.read, found.empty, found.duplicates, found.tokens, found.words) == (5, 1, 1, 20, 4)
    assert found.columns == ()
    assert [(each.option, each.examples) for each in found.cuts if each.words] == (
        [("stop_words", ("the",)), ("min_df", ("fig",))] if cut else []
    )
    row = import_path(db, tmp_path, ImportOptions(name="notes", **cut))
    assert load_report(row.meta) == found
    assert (row.words, row.tokens, row.documents) == (found.words_kept, found.tokens_kept, found.documents)


def test_a_report_goes_through_json(table: Path) -> None:
    found = inspected(table)
    assert Report.from_json(found.to_json()) == found


def test_nothing_is_written_beside_what_is_inspected(table: Path) -> None:
    before = sorted(table.parent.iterdir())
    inspected(table)
    assert sorted(table.parent.iterdir()) == before


def test_several_files_are_one_report(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(table.read_text(encoding="utf-8"), encoding="utf-8")
    found = inspected([table, other])
    assert (found.path, found.read) == ("notes.csv and 1 more", 140)
    assert found.duplicates == 79


def test_a_column_of_ids_does_not_fill_the_record(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("text,label\n" + "\n".join(f"apple pear fig,number {n}" for n in range(120)))
    found = inspected(path, max_df=1.0, label_column="label")
    assert (found.classes, len(found.labels)) == (120, 50)
