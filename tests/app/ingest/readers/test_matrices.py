"""Counts: what comes out of the formats, number by number."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_samples import PIXELS, idx, ldac, matlab, matrix_market, svmlight, uci, write
from scipy import sparse as scipy_sparse

from topiary.app.ingest import importing, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.tables import joining
from topiary.engine.contract import Counts
from topiary.store import corpora
from topiary.store.database import Database

NONE = ImportOptions(test_share=0)
steady = settings(derandomize=True, database=None)  # the same examples on every machine


def dense(db: Database, number: int, *, scored: bool = False) -> np.ndarray[Any, Any]:
    """The counts, documents x words."""
    whole = corpora.load_corpus(db, number)
    starts, words, values = whole.scored if scored else whole.counts
    shape = (len(whole.part), len(corpora.read_vocabulary(db, number)))
    return scipy_sparse.csr_matrix((values, words, starts), shape=shape).toarray()


def test_uci_counts_from_one_and_keeps_odd_words_as_they_are(tmp_path: Path, db: Database) -> None:
    row = import_path(db, uci(tmp_path), NONE)
    assert corpora.read_vocabulary(db, row.number) == ("None", "nan", "1992")
    assert dense(db, row.number).tolist() == [[2, 0, 1], [0, 4, 0], [1, 1, 0]]
    titles = [document.title for document in corpora.read_documents(db, row.number, range(3))]
    assert titles == ["document 1", "document 2", "document 4"]  # the third has no words


def test_uci_documents_keep_together_over_chunks(tmp_path: Path, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.4, (40, 9))
    counts[[0, 17, 39]] = 0
    cells = [f"{d + 1} {w + 1} {counts[d, w]}\n" for d, w in zip(*np.nonzero(counts), strict=True)]
    write(tmp_path / "vocab.r.txt", "".join(f"w{n}\n" for n in range(9)))
    path = write(tmp_path / "docword.r.txt.gz", f"40\n9\n{len(cells)}\n" + "".join(cells))
    monkeypatch.setattr(packing, "CHUNK", 23)
    row = import_path(db, path, NONE)
    assert dense(db, row.number).tolist() == counts[counts.any(axis=1)].tolist()


def test_ldac_counts_from_zero(tmp_path: Path, db: Database) -> None:
    row = import_path(db, ldac(tmp_path), NONE)
    assert dense(db, row.number).tolist() == [[2, 0, 1], [0, 4, 0], [1, 1, 0]]


def test_ldac_titles_lose_the_number_of_their_document(tmp_path: Path, db: Database) -> None:
    ldac(tmp_path)
    write(tmp_path / "tiny.titles", "0 First\n1 Second\n2 Third\n3 Fourth\n")
    row = import_path(db, tmp_path / "tiny.dat.gz", NONE)
    assert [document.title for document in corpora.read_documents(db, row.number, [0, 2])] == ["First", "Fourth"]


def test_a_word_twice_in_a_document_is_added_up_and_zeros_go(tmp_path: Path, db: Database) -> None:
    write(tmp_path / "vocab.txt", "a\nb\n")
    row = import_path(db, write(tmp_path / "a.ldac", "3 1:1 0:2 1:4\n2 0:0 1:1\n"), NONE)
    assert dense(db, row.number).tolist() == [[2, 5], [0, 1]]


def test_a_folder_of_matrices_joins_train_and_test_with_labels(tmp_path: Path, db: Database) -> None:
    row = import_path(db, matrix_market(tmp_path / "pair"))
    assert row.name == "pair"
    assert row.label_names == ("fruit", "metal")
    whole = corpora.load_corpus(db, row.number)
    assert whole.part.tolist() == [0, 0, 0, 1, 1]
    assert whole.labels.tolist() == [0, 1, 1, 1, 0]
    assert dense(db, row.number).tolist() == [[2, 0, 1], [0, 4, 0], [0, 1, 0], [5, 0, 0], [0, 1, 0]]


def test_an_empty_line_of_labels_is_no_class(tmp_path: Path, db: Database) -> None:
    write(tmp_path / "vocab.txt", "a\nb\n")
    write(tmp_path / "a.label", "sport\n\nart\n\n")
    text = "%%MatrixMarket matrix coordinate integer general\n4 2 4\n1 1 1\n2 1 1\n3 2 1\n4 2 1\n"
    row = import_path(db, write(tmp_path / "a.mtx", text), NONE)
    assert row.label_names == ("art", "sport")
    assert corpora.load_corpus(db, row.number).labels.tolist() == [1, -1, 0, -1]


def test_a_matrix_of_words_by_documents_is_turned_round(tmp_path: Path, db: Database) -> None:
    write(tmp_path / "vocab.txt", "a\nb\nc\n")
    text = "%%MatrixMarket matrix coordinate integer general\n3 2 3\n1 2 5\n3 1 7\n2 2 1\n"
    row = import_path(db, write(tmp_path / "a.mtx", text), NONE)
    assert dense(db, row.number).tolist() == [[0, 0, 7], [5, 1, 0]]


def test_a_matrix_of_fractions_is_real_and_one_of_whole_reals_is_counts(tmp_path: Path, db: Database) -> None:
    write(tmp_path / "vocab.txt", "a\nb\n")
    head = "%%MatrixMarket matrix coordinate real general\n1 2 2\n"
    real = import_path(db, write(tmp_path / "a.mtx", f"{head}1 1 0.5\n1 2 1e-1\n"), NONE)
    counts = import_path(db, write(tmp_path / "b.mtx", f"{head}1 1 2.0\n1 2 1e1\n"), NONE)
    assert (real.kind, counts.kind) == ("real", "counts")
    assert dense(db, real.number) == pytest.approx(np.array([[0.5, 0.1]]))
    assert dense(db, counts.number).tolist() == [[2, 10]]


def test_svmlight_takes_any_order_of_words_and_a_vocabulary_with_counts(tmp_path: Path, db: Database) -> None:
    row = import_path(db, svmlight(tmp_path))
    assert corpora.read_vocabulary(db, row.number) == ("None", "nan", "1992")
    assert dense(db, row.number).tolist() == [[2, 0, 1], [0, 4, 0], [1, 1, 0], [0, 1, 0]]
    assert corpora.load_corpus(db, row.number).labels.tolist() == [0, 1, 0, 1]
    assert corpora.load_corpus(db, row.number).part.tolist() == [0, 0, 0, 1]


def test_svmlight_with_a_word_zero_counts_from_zero_and_comments_are_passed_over(tmp_path: Path, db: Database) -> None:
    write(tmp_path / "vocab.txt", "a\nb\n")
    path = write(tmp_path / "a.svmlight", "# made by hand\n+1 qid:3 0:2 1:1 # first\n-1 1:3\n")
    row = import_path(db, path, NONE)
    assert dense(db, row.number).tolist() == [[2, 1], [0, 3]]
    assert row.label_names == ("-1", "1")


def test_matlab_observed_and_scored_parts_add_up_to_the_test_documents(tmp_path: Path, db: Database) -> None:
    row = import_path(db, matlab(tmp_path))
    assert row.has_scored
    assert dense(db, row.number).tolist() == [[2, 0], [0, 4], [1, 0], [4, 1], [0, 2]]
    assert dense(db, row.number, scored=True).tolist() == [[0, 0], [0, 0], [0, 0], [1, 1], [0, 0]]
    assert corpora.load_corpus(db, row.number).labels.tolist() == [0, 1, 0, 1, 1]


@pytest.mark.usefixtures("read_here")
def test_matlab_without_test_documents_is_split_by_seed(tmp_path: Path, db: Database) -> None:
    row = import_path(db, matlab(tmp_path, wordsTest=None, wordsHeldout=None, labelsTest=None))
    assert not row.has_scored
    assert (row.documents, row.train_documents) == (3, 2)


def test_images_are_real_grey_values_or_half_bright_pixels(tmp_path: Path, db: Database) -> None:
    path = idx(tmp_path)
    grey = import_path(db, path)
    bright = import_path(db, path, ImportOptions(name="bright", binary=True))
    assert (grey.kind, bright.kind) == ("real", "binary")
    assert grey.image_shape == (2, 3)
    everything = np.concatenate([PIXELS, PIXELS[:1]]).reshape(4, 6)
    assert dense(db, grey.number).tolist() == everything.tolist()
    assert dense(db, bright.number).tolist() == (everything >= 128).astype(int).tolist()
    assert corpora.load_corpus(db, grey.number).part.tolist() == [0, 0, 0, 1]
    assert grey.label_names == ("3", "7")
    assert [document.title for document in corpora.read_documents(db, grey.number, [0, 3])] == ["train 1", "test 1"]


def test_images_are_counts_of_levels_for_models_of_counts(tmp_path: Path, db: Database) -> None:
    row = import_path(db, idx(tmp_path), ImportOptions(name="levels", levels=15))
    everything = np.concatenate([PIXELS, PIXELS[:1]]).reshape(4, 6)
    assert row.kind == "counts"
    assert dense(db, row.number).tolist() == np.rint(everything * (15 / 255)).astype(int).tolist()
    with pytest.raises(OptionError, match="exclude each other"):
        ImportOptions(binary=True, levels=15)
    with pytest.raises(OptionError, match="from 1 to 255"):
        ImportOptions(levels=256)


def test_one_image_file_finds_its_labels_and_is_split_by_seed(tmp_path: Path, db: Database) -> None:
    row = import_path(db, idx(tmp_path) / "train-images-idx3-ubyte.gz")
    assert (row.documents, row.train_documents) == (3, 2)
    assert row.label_names == ("3", "7")


@pytest.mark.usefixtures("read_here")
def test_counts_are_pruned_only_when_asked_for(tmp_path: Path, db: Database) -> None:
    path = matlab(tmp_path)
    whole = import_path(db, path, ImportOptions(name="whole"))
    cut = import_path(db, path, ImportOptions(name="cut", max_words=1))
    stop = import_path(db, path, ImportOptions(name="stop", stop_words=str(write(tmp_path / "s.txt", "none\n"))))
    assert [row.words for row in (whole, cut, stop)] == [2, 1, 1]
    assert corpora.read_vocabulary(db, cut.number) == ("None",)
    assert dense(db, cut.number).tolist() == [[2], [1], [4], [0]]
    assert dense(db, cut.number, scored=True).tolist() == [[0], [0], [1], [0]]
    assert corpora.read_vocabulary(db, stop.number) == ("nan",)


def test_counts_are_freed_of_words_that_are_everywhere_where_that_is_asked_for(tmp_path: Path, db: Database) -> None:
    lines = [f"2 0:1 {1 + j % 4}:3" if j % 2 else f"1 {1 + j % 4}:3" for j in range(40)]
    path = write(tmp_path / "a.ldac", "\n".join(lines) + "\n")
    words = write(tmp_path / "words.txt", "\n".join(["host", "rose", "moon", "goal", "drug"]) + "\n")
    options = {"vocabulary": str(words), "test_share": 0}
    usual = import_path(db, path, ImportOptions(name="usual", **options))
    row = import_path(db, path, ImportOptions(name="fewer", leave_out_common=True, **options))
    assert (usual.words, corpora.read_vocabulary(db, row.number)) == (5, ("rose", "moon", "goal", "drug"))
    assert (usual.tokens, row.tokens) == (140, 120)
    assert "1 word that is everywhere left out: host" in row.meta["notes"]


def test_pixels_have_no_words_that_are_everywhere(tmp_path: Path, db: Database) -> None:
    with pytest.raises(IngestError, match="leave --leave-out-common out"):
        import_path(db, idx(tmp_path) / "train-images-idx3-ubyte.gz", ImportOptions(leave_out_common=True))


def test_a_vocabulary_can_be_named(tmp_path: Path, db: Database) -> None:
    words = write(tmp_path / "elsewhere" / "list.txt", "x\ny\n")
    path = write(tmp_path / "a.ldac", "1 1:1\n")
    row = import_path(db, path, ImportOptions(vocabulary=str(words), test_share=0))
    assert corpora.read_vocabulary(db, row.number) == ("x", "y")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("fruit 1\nmetal 2\n", {"1": "fruit", "2": "metal"}),
        ("1 fruit salad\n2 metal\n", {"1": "fruit salad", "2": "metal"}),
        ("fruit\nmetal\n\n", {"1": "fruit", "2": "metal"}),
    ],
)
def test_class_names_may_stand_before_or_after_their_number_or_alone(
    text: str, names: dict[str, str], tmp_path: Path
) -> None:
    write(tmp_path / "labels.txt", text)
    assert joining.read_class_names(tmp_path / "counts.mtx") == names


def test_labels_from_zero_take_names_without_numbers_from_zero() -> None:
    names = {"1": "fruit", "2": "metal", "3": "wood"}
    assert joining.encode_labels(["0", "2", "1"], names)[1] == ("fruit", "metal", "wood")
    assert joining.encode_labels(["0", "3", "1"], names)[1] == ("fruit", "wood", "0")


def test_labels_that_no_database_keeps_are_made_storable() -> None:
    assert joining.encode_labels(["a\0", "\ud800"], {})[1] == ("a", "?")


def test_labels_are_ordered_as_numbers() -> None:
    labels, names = joining.encode_labels(["10", "9", None, "spam", "10"], {})
    assert names == ("9", "10", "spam")
    assert labels.tolist() == [1, 0, -1, 2, 1]


cells = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2**31 - 1)), max_size=6)


@steady
@given(
    documents=st.lists(cells, min_size=1, max_size=8),
    gap=st.sampled_from([" ", "  ", "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_fast_and_slow_reading_of_pairs_agree(documents: list[list[tuple[int, int]]], gap: str, end: str) -> None:
    lines = [gap.join([str(len(each)), *(f"{word}:{count}" for word, count in each)]) for each in documents]
    chunk = (end.join(lines) + end).encode()
    fast = matrices.parse_pairs(chunk, Path("x"), 1)
    slow = matrices.parse_pairs(b"# comment\n" + chunk, Path("x"), 1)
    for one, other in zip(fast, slow, strict=True):
        assert one.tolist() == other.tolist()
    assert fast.lengths.tolist() == [len(each) for each in documents]
    assert list(zip(fast.indices, fast.values, strict=True)) == [cell for each in documents for cell in each]


@steady
@given(
    rows=st.lists(st.tuples(*[st.integers(-5, 10**9)] * 3), min_size=1, max_size=9),
    bad=st.sampled_from(["", "1 2", "1 2 3 4", "a b c"]),
)
def test_fast_and_slow_reading_of_tables_agree(rows: list[tuple[int, int, int]], bad: str) -> None:
    chunk = "".join("{} {} {}\n".format(*row) for row in rows).encode()
    assert matrices.parse_table(chunk, 3, Path("x"), 1).tolist() == [list(row) for row in rows]
    assert matrices.parse_table(chunk.replace(b" ", b" \t"), 3, Path("x"), 1).tolist() == [list(row) for row in rows]
    if bad:
        with pytest.raises(IngestError) as caught:
            matrices.parse_table(chunk + bad.encode() + b"\n", 3, Path("x"), 7)
        assert caught.value.line == 7 + len(rows)


def test_a_short_and_a_long_line_do_not_make_up_for_each_other() -> None:
    with pytest.raises(IngestError, match="line 1: has 2 numbers where 3 should be"):
        matrices.parse_table(b"1 2\n3 4 5 6\n", 3, Path("x"), 1)


@steady
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=5), min_size=1, max_size=5))
def test_tidy_rows_have_each_word_once_in_order_and_the_same_sums(documents: list[list[tuple[int, int]]]) -> None:
    lengths = np.array([len(each) for each in documents])
    flat = [cell for each in documents for cell in each]
    words, values = (np.array([cell[place] for cell in flat], np.int64) for place in (0, 1))
    tidied = matrices.tidy_counts(Counts.of(lengths, words, values), 6, "here")
    expected = np.zeros((len(documents), 6), int)
    for document, each in enumerate(documents):
        for word, value in each:
            expected[document, word] += value
    assert scipy_sparse.csr_matrix(tidied[::-1], shape=expected.shape).toarray().tolist() == expected.tolist()
    for begin, end in zip(tidied[0][:-1], tidied[0][1:], strict=True):
        assert (np.diff(tidied[1][begin:end]) > 0).all()
    assert (tidied[2] > 0).all()


@steady
@given(st.binary(max_size=80), st.integers(1, 9))
def test_chunks_are_whole_lines_that_add_up_and_count_on(raw: bytes, size: int) -> None:
    import io as stdlib_io

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "CHUNK", size)
        found = list(packing.read_chunks(stdlib_io.BytesIO(raw), Path("a")))
    ended = raw if raw.endswith(b"\n") or not raw else raw + b"\n"
    assert b"".join(chunk for _, chunk in found) == ended
    line = 1
    for number, chunk in found:
        assert number == line
        assert chunk.endswith(b"\n")
        line += chunk.count(b"\n")


HUGE = 2**31 - 1


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.svmlight", f"1 1:2\n1 1:1 2:{HUGE}\n", 2),
        ("a.ldac", f"1 0:2\n2 0:1 1:{HUGE}\n", 2),
        ("docword.a.txt", f"2\n2\n3\n1 1 2\n2 1 1\n2 2 {HUGE}\n", 6),
        ("a.mtx", f"%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 2\n2 1 1\n2 2 {HUGE}\n", 5),
    ],
)
def test_a_count_that_cannot_be_meant_is_refused_with_its_line(tmp_path, db, name, text, line):
    write(tmp_path / "vocab.txt", "apple\npear\n")
    with pytest.raises(IngestError, match=rf"line {line}: the value 2,147,483,647 is more than 10,000,000, the most"):
        import_path(db, write(tmp_path / name, text))
    assert corpora.list_corpora(db) == []


def test_a_document_of_more_words_than_can_be_meant_is_refused(tmp_path, db):
    write(tmp_path / "vocab.txt", "apple\npear\n")
    path = write(tmp_path / "a.svmlight", "1 1:2\n1 1:9999999 2:9999999\n")
    with pytest.raises(IngestError, match=r"has a document of 19,999,998 words, 'document 2'; at most 10,000,000"):
        import_path(db, path)
    assert corpora.list_corpora(db) == []


def test_a_corpus_of_more_words_than_can_be_meant_is_refused(tmp_path, db, monkeypatch):
    monkeypatch.setattr(importing, "MOST_CORPUS_TOKENS", 1000)
    write(tmp_path / "vocab.txt", "apple\npear\n")
    path = write(tmp_path / "a.svmlight", "1 1:600\n1 1:600\n")
    with pytest.raises(IngestError, match="has more than 1,000 words; import a part of it"):
        import_path(db, path)
    assert corpora.list_corpora(db) == []


def test_a_gensim_dictionary_is_the_vocabulary_of_the_counts_beside_it(tmp_path, db):
    write(tmp_path / "a.dict.txt", "3\n1\tapple\t2\n0\tpear\t1\n2\tzinc\t1\n")
    row = import_path(db, write(tmp_path / "a.svmlight", "0 1:2 2:1\n0 3:4\n"), ImportOptions(test_share=0))
    assert corpora.read_vocabulary(db, row.number) == ("pear", "apple", "zinc")


def test_a_gensim_dictionary_with_gaps_is_refused(tmp_path, db):
    write(tmp_path / "a.dict.txt", "3\n1\tapple\t2\n5\tpear\t1\n")
    with pytest.raises(IngestError, match=r"not numbered from 0 to 1; call its compactify\(\)"):
        import_path(db, write(tmp_path / "a.svmlight", "0 1:2 2:1\n"))


def test_a_line_of_svmlight_without_a_label_has_none(tmp_path, db):
    write(tmp_path / "vocab.txt", "apple\npear\n")
    path = write(tmp_path / "a.svmlight", "1 1:2\n1:1 2:3\n0 7 2:1\n".replace("0 7 ", "0 ") + "1:5\n")
    row = import_path(db, path, ImportOptions(test_share=0))
    labels = [document.label for document in corpora.read_documents(db, row.number, range(4))]
    assert labels == ["1", None, "0", None]
