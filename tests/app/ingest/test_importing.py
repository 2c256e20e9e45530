"""The real corpora come out with the sizes that their descriptions give."""

import gzip
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from databases import open_filled

from topiary.app.ingest import importing
from topiary.app.ingest.appending import Addition, append_path
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import draw_part, import_path, inspect_path, seed_parts
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.packing import find_part
from topiary.app.ingest.report import Report, describe_parts, load_report
from topiary.app.jobs.load_corpus import load_corpus
from topiary.engine import contract
from topiary.engine.contract import TEST, TRAIN, VALIDATION
from topiary.engine.parts import PartSizes, divide_share, draw_parts
from topiary.store import blocks, corpora, full_text
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import NotFound

pytestmark = pytest.mark.data


def imported(db: Database, path: Path, **options: Any) -> CorpusRow:
    """A corpus with the parts that its files have."""
    return import_path(db, path, ImportOptions(**{"validation_share": 0, **options}))


class Real(NamedTuple):
    """A store, and the function that imports a corpus of the shared folder into it."""

    db: Database
    find: Callable[[str], CorpusRow]


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Corpora of the shared folder in a store of this module, each imported when it is first asked for."""
    with closing(open_filled(tmp_path_factory.mktemp("real") / "corpora.db")) as db:

        @cache
        def find(name: str) -> CorpusRow:
            return imported(db, shared_data / name)

        yield Real(db, find)


def thin_out(path: Path, folder: Path, every: int) -> Path:
    """Write every so manieth line of a compressed file to another of its name."""
    with gzip.open(path, "rb") as whole, gzip.open(folder / path.name, "wb") as part:
        part.writelines(line for number, line in enumerate(whole) if number % every == 0)
    return folder / path.name


def test_the_corpus_of_the_paper_has_its_observed_and_scored_tokens(real: Real) -> None:
    db, row = real.db, real.find("20news_dlda/20news_data.mat")
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


def test_the_svmlight_files_are_the_same_documents_as_the_matlab_file(shared_data: Path, real: Real) -> None:
    db, matlab = real.db, real.find("20news_dlda/20news_data.mat")
    svmlight = imported(db, shared_data / "20news_dlda", format="svmlight")
    assert matlab.content_hash == svmlight.content_hash
    assert matlab.label_names == svmlight.label_names
    one, other = corpora.load_corpus(db, matlab.number), corpora.load_corpus(db, svmlight.number)
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.part, other.part)


@pytest.mark.parametrize(
    ("name", "documents", "words", "tokens", "cells"),
    [
        pytest.param(
            *("20news_counts_61188", 11_269 + 7_505, 61_188, 2_765_300 + 1_796_919, 1_467_345 + 967_874),
            marks=pytest.mark.nightly,
        ),
        ("20news_nvdm", 7_505, 2_000, 720_898, 477_078),
        ("reuters395_ldac", 395, 4_258, 84_010, 60_114),
        ("ap_ldac", 2_246, 10_473, 435_838, 302_031),
        ("uci_kos", 3_430, 6_906, 467_714, 353_160),
        pytest.param("wikipedia_hoffman", 10_000, 7_702, 4_521_407, 2_151_242, marks=pytest.mark.nightly),
    ],
)
def test_count_corpora_have_their_sizes(
    name: str, documents: int, words: int, tokens: int, cells: int, real: Real
) -> None:
    row = real.find(name)
    assert (row.documents, row.words, row.tokens, row.cells) == (documents, words, tokens, cells)


@pytest.mark.nightly
def test_the_split_and_labels_of_the_large_newsgroup_counts_are_those_of_the_files(
    shared_data: Path, real: Real
) -> None:
    db, row = real.db, real.find("20news_counts_61188")
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


def test_titles_of_wikipedia_and_reuters_stand_by_their_documents(real: Real) -> None:
    db, wikipedia = real.db, real.find("wikipedia_hoffman")
    assert [each.title for each in corpora.read_documents(db, wikipedia.number, [0, 1])] == ["Albedo", "Achilles"]
    reuters = real.find("reuters395_ldac")
    assert corpora.read_documents(db, reuters.number, [0])[0].title.startswith("UK: Prince Charles")
    assert "1992" in corpora.read_vocabulary(db, reuters.number)


@pytest.mark.nightly
def test_digits_are_images_of_28_by_28(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "mnist", binary=True)
    assert (row.documents, row.train_documents) == (70_000, 60_000)
    assert (row.words, row.image_shape, row.kind) == (784, (28, 28), "binary")
    assert row.label_names == tuple("0123456789")


@pytest.mark.nightly
def test_news_stories_in_folders_of_a_zip_have_their_classes(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "bbc" / "bbc-fulltext.zip", test_share=0)
    labels = corpora.load_corpus(db, row.number).labels
    assert row.label_names == ("business", "entertainment", "politics", "sport", "tech")
    assert np.bincount(labels).tolist() == [510, 386, 417, 511, 401]
    assert row.meta["notes"][0] == "sport/199.txt is not UTF-8 (line 5, byte 258): read as Latin-1"
    assert "the texts are in English; its stop words are left out (change it with --stop-words)" in row.meta["notes"]


def test_a_news_table_without_column_names_has_its_classes(shared_data: Path, tmp_path: Path, db: Database) -> None:
    (tmp_path / "classes.txt").write_bytes((shared_data / "ag_news" / "classes.txt").read_bytes())
    row = imported(db, thin_out(shared_data / "ag_news" / "test.csv.gz", tmp_path, 20), test_share=0)
    assert row.label_names == ("World", "Sports", "Business", "Sci/Tech")
    assert row.documents == 380
    assert corpora.read_documents(db, row.number, [0])[0].title == "Fears for T N pension after talks"


@pytest.mark.nightly
def test_reuters_has_its_split(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "reuters21578" / "reuters21578.jsonl.gz")
    assert (row.train_documents, row.documents) == (9_603, 9_603 + 3_299)
    assert any("8,676 documents are in neither" in note for note in row.meta["notes"])


def test_stories_of_reuters_keep_all_their_labels(shared_data: Path, tmp_path: Path, db: Database) -> None:
    row = imported(db, thin_out(shared_data / "reuters21578" / "reuters21578.jsonl.gz", tmp_path, 40))
    assert 0 < row.train_documents < row.documents
    assert any("documents are in neither" in note for note in row.meta["notes"])
    several = [each for each in corpora.read_documents(db, row.number, range(200)) if ", " in each.columns["label"]]
    assert several
    assert all(each.columns["label"].startswith(f"{each.label}, ") for each in several)
    assert "places" in several[0].columns


@pytest.mark.nightly
def test_film_reviews_have_their_classes_and_parts(shared_data: Path, db: Database) -> None:
    row = imported(db, shared_data / "imdb" / "imdb_10k.csv.gz")
    whole = corpora.load_corpus(db, row.number)
    assert (row.documents, row.train_documents) == (10_000, 5_000)
    assert np.bincount(whole.labels * 2 + whole.part).tolist() == [2_500] * 4


def test_film_reviews_keep_their_ratings(shared_data: Path, tmp_path: Path, db: Database) -> None:
    row = imported(db, thin_out(shared_data / "imdb" / "imdb_10k.csv.gz", tmp_path, 40))
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


def test_the_search_is_prepared_at_once_in_large_corpora_only(
    table: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_path(db, table, ImportOptions(name="small", min_df=1))
    assert full_text.list_unindexed(db) == [1]
    monkeypatch.setattr(importing, "QUICKLY_INDEXED", 0)
    import_path(db, table, ImportOptions(name="large", min_df=1))
    assert full_text.list_unindexed(db) == [1]


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


SUBJECTS_APPENDING = {"fruit": "apple pear fig plum", "cars": "wheel engine brake clutch", "sea": "sail boat"}


def rows(n: int, kinds: tuple[str, ...], begin: int = 0) -> str:
    lines = ["headline;body;kind"]
    for number in range(begin, begin + n):
        kind = kinds[number % len(kinds)]
        words = SUBJECTS_APPENDING[kind].split()
        lines.append(f"Note;the {words[number % len(words)]} and {words[(number + 1) % len(words)]};{kind}")
    return "\n".join(lines)


@pytest.fixture
def corpus(tmp_path: Path, db: Database) -> CorpusRow:
    path = tmp_path / "notes.csv"
    path.write_text(rows(40, ("fruit", "cars")))
    options = ImportOptions(text_column="body", title_column="headline", label_column="kind", max_df=1.0)
    return import_path(db, path, options)


def appended(db: Database, path: Path, text: str, **options: Any) -> Addition:
    path.write_text(text)
    return append_path(db, "notes", path, ImportOptions(**options))


def test_documents_of_known_words_and_classes_come_as_an_import_would_have_counted_them(
    tmp_path: Path, db: Database, corpus: CorpusRow
) -> None:
    found = appended(db, tmp_path / "more.csv", rows(20, ("fruit", "cars"), 40))
    assert (found.documents, found.train, found.outside, found.notes[1:]) == (20, 15, 0, ())
    together = tmp_path / "whole.csv"
    together.write_text(rows(60, ("fruit", "cars")))
    options = ImportOptions(text_column="body", title_column="headline", label_column="kind", max_df=1.0)
    whole = import_path(db, together, options)
    one, other = (corpora.load_corpus(db, number).counts for number in (whole.number, found.corpus.number))
    mine, theirs = (corpora.read_vocabulary(db, number) for number in (whole.number, corpus.number))
    assert mine == theirs
    assert [np.array_equal(a, b) for a, b in zip(one, other, strict=True)] == [True] * 3
    assert found.corpus.content_hash == whole.content_hash
    texts = corpora.read_documents(db, corpus.number, [45])
    assert (texts[0].title, texts[0].text, texts[0].label) == ("Note", "the engine and brake", "cars")


def test_words_and_classes_that_the_corpus_has_not_are_counted_and_said(
    tmp_path: Path, db: Database, corpus: CorpusRow
) -> None:
    found = appended(db, tmp_path / "more.csv", rows(6, ("fruit", "sea")))
    assert found.outside == 6
    assert set(found.strangers) == {"sail", "boat"}
    assert "6 of 18 words (33.3%) are outside its vocabulary" in str(found)
    assert any("3 documents have labels that the corpus does not know" in note for note in found.notes)
    assert found.corpus.words == corpus.words
    assert found.corpus.label_names == ("cars", "fruit")
    documents = corpora.read_documents(db, corpus.number, range(40, found.corpus.documents))
    assert {(each.label, each.columns.get("label")) for each in documents} == {("fruit", None), (None, "sea")}
    assert found.corpus.meta["additions"][0]["outside"] == 6


def test_a_split_in_the_file_is_kept_and_else_the_share_of_the_corpus_is_drawn(
    tmp_path: Path, db: Database, corpus: CorpusRow
) -> None:
    drawn = appended(db, tmp_path / "more.csv", rows(30, ("fruit", "cars")))
    assert (drawn.documents, drawn.train) == (30, 22), "each comes into the part of its duplicates"
    lines = [f"{line};{part}" for line, part in zip(rows(4, ("fruit", "cars")).split("\n"), ("split", *["test"] * 4),
                                                    strict=True)]  # fmt: skip
    told = appended(db, tmp_path / "told.csv", "\n".join(lines))
    assert (told.documents, told.train) == (4, 0)
    part = corpora.load_corpus(db, corpus.number).part
    assert part[-4:].tolist() == [1, 1, 1, 1]


def test_another_format_is_counted_by_the_same_rules(tmp_path: Path, db: Database, corpus: CorpusRow) -> None:
    lines = '{"text": "The APPLE, and a pear", "label": "fruit"}\n{"text": "engine boat"}\n'
    found = appended(db, tmp_path / "more.jsonl", lines)
    assert (found.documents, found.tokens, found.outside) == (2, 4, 1)
    arrays = corpora.load_corpus(db, corpus.number)
    words = corpora.read_vocabulary(db, corpus.number)
    last = arrays.counts.rows(40, 41)
    assert {words[word] for word in last.words.tolist()} == {"apple", "pear"}


def test_counts_are_appended_word_by_word(tmp_path: Path, db: Database) -> None:
    for name, words, cells in (("a", "fig\napple\n", "1 1 2\n2 2 3\n"), ("b", "pear\nfig\n", "1 1 4\n1 2 5\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "docword.txt").write_text(f"2\n2\n2\n{cells}")
        (folder / "vocab.txt").write_text(words)
    import_path(db, tmp_path / "a", ImportOptions(name="counts", test_share=0))
    found = append_path(db, "counts", tmp_path / "b")
    assert (found.documents, found.tokens, found.outside, found.strangers) == (1, 9, 4, ("pear",))
    assert any("1 document is without words" in note for note in found.notes)
    counts = corpora.load_corpus(db, found.corpus.number).counts
    assert (counts.starts.tolist(), counts.words.tolist(), counts.values.tolist()) == (
        [0, 1, 2, 3],
        [0, 1, 0],
        [2, 3, 5],
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("headline;body;kind\nx;boat sail;sea\n", "has no word of the vocabulary of corpus 'notes' in it"),
        ("headline;text;kind\nx;boat sail;sea\n", "has no column 'headline'|has no column 'body'"),
    ],
)
def test_what_cannot_be_appended_is_refused_and_the_corpus_stays(
    tmp_path: Path, db: Database, corpus: CorpusRow, text: str, said: str
) -> None:
    with pytest.raises(IngestError, match=said):
        appended(db, tmp_path / "more.csv", text)
    assert corpora.get_corpus(db, corpus.number) == corpus


def test_the_corpus_must_be_there(tmp_path: Path, db: Database) -> None:
    with pytest.raises(NotFound):
        append_path(db, "nowhere", tmp_path / "more.csv")


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


def imported_dividing(db: Database, path: Path, name: str = "", **options: float) -> CorpusRow:
    return import_path(db, path, ImportOptions(name=name or None, min_df=1, max_df=1.0, **options))


def parts_of(db: Database, row: CorpusRow) -> list[int]:
    return [int(each) for each in corpora.load_corpus(db, row.number).part]


def test_held_out_documents_are_halved_by_the_seed_alone(tmp_path: Path, db: Database) -> None:
    path = write_texts(tmp_path / "notes.csv", 200)
    row, again = imported_dividing(db, path), imported_dividing(db, path, "again")
    assert (row.train_documents, row.validation_documents, row.test_documents) == (180, 10, 10)
    assert parts_of(db, row) == parts_of(db, again)
    assert parts_of(db, row) != parts_of(db, imported_dividing(db, path, "other", seed=1))
    wide = imported_dividing(db, path, "wide", test_share=0.4)
    assert (wide.validation_documents, wide.test_documents) == (40, 40)
    bare = imported_dividing(db, path, "bare", validation_share=0)
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
    row, whole = imported_dividing(db, path), imported_dividing(db, path, "whole", validation_share=0)
    assert (row.train_documents, row.validation_documents, row.test_documents) == (142, 8, 50)
    assert (whole.train_documents, whole.validation_documents, whole.test_documents) == (150, 0, 50)
    assert [part == TEST for part in parts_of(db, row)] == [part == TEST for part in parts_of(db, whole)]
    wide = imported_dividing(db, path, "wide", validation_share=0.9)
    assert wide.validation_documents == 50, "no more than there are test documents"


def test_a_training_document_that_the_file_has_in_its_test_too_is_not_for_validation(
    tmp_path: Path, db: Database
) -> None:
    path = write_texts(tmp_path / "notes.csv", 60, repeated=40, split="t" * 60 + "e" * 40)
    row = imported_dividing(db, path, validation_share=0.3)
    part = parts_of(db, row)
    assert row.validation_documents == 18
    assert set(part[:40]) == {TRAIN}
    assert set(part[60:]) == {TEST}


@pytest.mark.parametrize("split", ["ttve", "tev"])
def test_a_validation_part_of_the_file_is_that_of_the_corpus(tmp_path: Path, db: Database, split: str) -> None:
    path = write_texts(tmp_path / "notes.csv", 60, split=split)
    expected = [{"t": TRAIN, "v": VALIDATION, "e": TEST}[split[place % len(split)]] for place in range(60)]
    row = imported_dividing(db, path)
    assert parts_of(db, row) == expected
    trained = [TRAIN if part == VALIDATION else part for part in expected]
    assert parts_of(db, imported_dividing(db, path, "whole", validation_share=0)) == trained


def test_the_report_says_the_three_parts_before_anything_is_stored(tmp_path: Path, db: Database) -> None:
    path = write_texts(tmp_path / "notes.csv", 200, split="ttte")
    options = ImportOptions(min_df=1, max_df=1.0)
    report, row = inspect_path(path, options), imported_dividing(db, path)
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
    row = imported_dividing(db, path)
    added = append_path(db, row.number, path)
    part = parts_of(db, added.corpus)
    assert part[200:] == part[:200]
    assert str(added).startswith("200 documents appended (180 training, 10 validation, 10 test)")
    others = append_path(db, row.number, write_texts(tmp_path / "more.csv", 100, seed=5))
    assert (others.train, others.validation) == (90, 5)


def test_what_is_appended_to_a_corpus_without_validation_documents_adds_none(tmp_path: Path, db: Database) -> None:
    row = imported_dividing(db, write_texts(tmp_path / "notes.csv", 100), validation_share=0)
    more = append_path(db, row.number, write_texts(tmp_path / "more.csv", 50, seed=4))
    assert (more.train, more.validation, more.corpus.test_documents) == (45, 0, 15)
    told = append_path(db, row.number, write_texts(tmp_path / "told.csv", 8, split="tv", seed=3))
    assert (told.train, told.validation, told.corpus.validation_documents) == (8, 0, 0)


def test_validation_documents_of_a_corpus_with_scored_tokens_are_split_by_seed(tmp_path: Path, db: Database) -> None:
    row = imported_dividing(db, write_texts(tmp_path / "notes.csv", 100))
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
