"""More documents into a corpus: its words and classes stay, and what they do not know is said."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import Addition, append_path, import_path
from topiary.app.ingest.options import ImportOptions
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import NotFound

SUBJECTS = {"fruit": "apple pear fig plum", "cars": "wheel engine brake clutch", "sea": "sail boat"}


def rows(n: int, kinds: tuple[str, ...], begin: int = 0) -> str:
    lines = ["headline;body;kind"]
    for number in range(begin, begin + n):
        kind = kinds[number % len(kinds)]
        words = SUBJECTS[kind].split()
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
    assert "6 of 18 words (33.3 %) are outside its vocabulary" in str(found)
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
