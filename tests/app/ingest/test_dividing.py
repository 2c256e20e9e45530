"""Documents are divided once: half of those held out for validation, duplicates in one part, files keep their test."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from topiary.app.ingest.importing import append_path, import_path, inspect_path
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.packing import find_part
from topiary.app.ingest.report import describe_parts
from topiary.app.jobs.load_corpus import load_corpus
from topiary.engine.contract import TEST, TRAIN, VALIDATION
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

WORDS = ["apple", "pear", "fig", "plum", "kiwi", "lime", "nut", "oat", "rye", "yam"]


def write_texts(path: Path, n: int, *, repeated: int = 0, split: str = "", seed: int = 0) -> Path:
    """A table of so many different texts; the first ``repeated`` come again at the end.

    ``split`` has a letter for each part in turn: t(rain), v(alidation), e for the test.
    """
    rng = np.random.default_rng(seed)
    texts = [f"{' '.join(rng.choice(WORDS, 12))}" for _ in range(n)]
    texts += texts[:repeated]
    names = {"t": "train", "v": "dev", "e": "test"}
    parts = [names[split[place % len(split)]] if split else "" for place in range(len(texts))]
    head = "split,text" if split else "text"
    lines = [f"{part},{text}" if split else text for part, text in zip(parts, texts, strict=True)]
    path.write_text("\n".join([head, *lines]))
    return path


def imported(db: Database, path: Path, name: str = "", **options: float) -> CorpusRow:
    return import_path(db, path, ImportOptions(name=name or None, min_df=1, max_df=1.0, **options))


def parts_of(db: Database, row: CorpusRow) -> list[int]:
    return [int(each) for each in corpora.load_corpus(db, row.number).part]


def test_held_out_documents_are_halved_by_the_seed_alone(tmp_path: Path, db: Database) -> None:
    path = write_texts(tmp_path / "notes.csv", 200)
    row, again = imported(db, path), imported(db, path, "again")
    assert (row.train_documents, row.validation_documents, row.test_documents) == (180, 10, 10)
    assert parts_of(db, row) == parts_of(db, again)
    assert parts_of(db, row) != parts_of(db, imported(db, path, "other", seed=1))
    wide = imported(db, path, "wide", test_share=0.4)
    assert (wide.validation_documents, wide.test_documents) == (40, 40)
    bare = imported(db, path, "bare", validation_share=0)
    assert (bare.train_documents, bare.validation_documents, bare.test_documents) == (180, 0, 20)
    held_out = np.array(parts_of(db, row)) != TRAIN
    assert np.array_equal(np.array(parts_of(db, bare)) == TEST, held_out), "the same documents are held out"


@pytest.mark.parametrize("binary", [False, True])
def test_documents_with_the_same_counts_are_in_one_part(tmp_path: Path, db: Database, binary: bool) -> None:
    path = write_texts(tmp_path / "notes.csv", 120, repeated=60)
    row = import_path(db, path, ImportOptions(min_df=1, max_df=1.0, test_share=0.3, binary=binary))
    found = defaultdict(set)
    arrays = corpora.load_corpus(db, row.number)
    for document, part in enumerate(arrays.part.tolist()):
        words, values = (each[slice(*arrays.counts.starts[document : document + 2])] for each in arrays.counts[1:])
        found[words.tobytes() + values.tobytes()].add(part)
    assert len(found) < row.documents
    assert {len(parts) for parts in found.values()} == {1}
    assert {VALIDATION, TEST} <= set(arrays.part.tolist())


def test_the_test_part_of_a_file_stays_and_validation_is_drawn_from_its_training_documents(
    tmp_path: Path, db: Database
) -> None:
    path = write_texts(tmp_path / "notes.csv", 200, split="ttte")
    row, whole = imported(db, path), imported(db, path, "whole", validation_share=0)
    assert (row.train_documents, row.validation_documents, row.test_documents) == (142, 8, 50)
    assert (whole.train_documents, whole.validation_documents, whole.test_documents) == (150, 0, 50)
    assert [part == TEST for part in parts_of(db, row)] == [part == TEST for part in parts_of(db, whole)]
    wide = imported(db, path, "wide", validation_share=0.9)
    assert wide.validation_documents == 50, "no more than there are test documents"


def test_a_training_document_that_the_file_has_in_its_test_too_is_not_for_validation(
    tmp_path: Path, db: Database
) -> None:
    path = write_texts(tmp_path / "notes.csv", 60, repeated=40, split="t" * 60 + "e" * 40)
    row = imported(db, path, validation_share=0.3)
    part = parts_of(db, row)
    assert row.validation_documents == 18
    assert set(part[:40]) == {TRAIN}
    assert set(part[60:]) == {TEST}


@pytest.mark.parametrize("split", ["ttve", "tev"])
def test_a_validation_part_of_the_file_is_that_of_the_corpus(tmp_path: Path, db: Database, split: str) -> None:
    path = write_texts(tmp_path / "notes.csv", 60, split=split)
    expected = [{"t": TRAIN, "v": VALIDATION, "e": TEST}[split[place % len(split)]] for place in range(60)]
    row = imported(db, path)
    assert parts_of(db, row) == expected
    trained = [TRAIN if part == VALIDATION else part for part in expected]
    assert parts_of(db, imported(db, path, "whole", validation_share=0)) == trained


def test_the_report_says_the_three_parts_before_anything_is_stored(tmp_path: Path, db: Database) -> None:
    path = write_texts(tmp_path / "notes.csv", 200, split="ttte")
    options = ImportOptions(min_df=1, max_df=1.0)
    report, row = inspect_path(path, options), imported(db, path)
    assert (report.train, report.validation) == (row.train_documents, row.validation_documents)
    assert describe_parts(200, report.train, report.validation) == "142 training, 8 validation, 50 test"
    assert describe_parts(1_200, 1_000, 0) == "1,000 training, 200 test"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("train.csv", TRAIN), ("news-test.csv", TEST), ("dev.jsonl", VALIDATION), ("valid_1.csv", VALIDATION)),
        *(("validation.txt", VALIDATION), ("val.csv", VALIDATION), ("value.csv", None), ("a.csv", None)),
    ],
)
def test_names_of_files_say_which_part_they_are(name: str, part: int | None) -> None:
    assert find_part(Path(name)) == part


def test_a_folder_with_a_file_for_each_part_is_divided_as_they_say(tmp_path: Path, db: Database) -> None:
    for seed, (name, n) in enumerate((("train", 30), ("valid", 5), ("test", 7))):
        rows = np.random.default_rng(seed).integers(1, 4, (n, 6))
        lines = [f"0 {' '.join(f'{word}:{count}' for word, count in enumerate(row, 1))}" for row in rows]
        (tmp_path / f"{name}.svmlight").write_text("\n".join(lines) + "\n")
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS[:6]) + "\n")
    row = import_path(db, tmp_path, ImportOptions(name="three"))
    assert (row.train_documents, row.validation_documents, row.test_documents) == (30, 5, 7)
    assert corpora.read_documents(db, row.number, [41])[0].title == "validation 5"


def test_documents_that_are_appended_come_into_the_part_of_their_duplicates(tmp_path: Path, db: Database) -> None:
    path = write_texts(tmp_path / "notes.csv", 200)
    row = imported(db, path)
    added = append_path(db, row.number, path)
    part = parts_of(db, added.corpus)
    assert part[200:] == part[:200]
    assert str(added).startswith("200 documents appended (180 training, 10 validation, 10 test)")
    others = append_path(db, row.number, write_texts(tmp_path / "more.csv", 100, seed=5))
    assert (others.train, others.validation) == (90, 5)


def test_what_is_appended_to_a_corpus_without_validation_documents_adds_none(tmp_path: Path, db: Database) -> None:
    row = imported(db, write_texts(tmp_path / "notes.csv", 100), validation_share=0)
    more = append_path(db, row.number, write_texts(tmp_path / "more.csv", 50, seed=4))
    assert (more.train, more.validation, more.corpus.test_documents) == (45, 0, 15)
    told = append_path(db, row.number, write_texts(tmp_path / "told.csv", 8, split="tv", seed=3))
    assert (told.train, told.validation, told.corpus.validation_documents) == (8, 0, 0)


def test_validation_documents_of_a_corpus_with_scored_tokens_are_split_by_seed(tmp_path: Path, db: Database) -> None:
    row = imported(db, write_texts(tmp_path / "notes.csv", 100))
    corpus = load_corpus(db, row)
    test = corpus.documents(TEST)
    lengths = np.where(corpus.part == TEST, 1, 0)
    first = corpus.counts.starts[:-1][lengths > 0]
    own = corpus.counts._replace(
        starts=np.concatenate([[0], np.cumsum(lengths)]),
        words=corpus.counts.words[first],
        values=np.ones(len(test), np.int32),
    )
    scored = type(corpus)(**vars(corpus) | {"scored": own})
    assert scored.split_tokens(test)[1].counts.sum() == len(test)
    validation = corpus.documents(VALIDATION)
    for mine, theirs in zip(scored.split_tokens(validation), corpus.split_tokens(validation), strict=True):
        assert np.array_equal(mine.counts, theirs.counts)
        assert len(mine.words) > 0
