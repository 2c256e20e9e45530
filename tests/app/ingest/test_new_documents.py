"""Documents that somebody brings along are cut into words as the corpus was."""

import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_samples import TEXTS

from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.new_documents import MARKED, clean_with_places, find_rules, read_new_documents, read_new_text
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.text import cleaning as words_of
from topiary.store import corpora
from topiary.store.database import open_database

MAIL = "From: ann@b.c\nSubject: hedge\nDate: Monday\n\n> a quoted plum\nThe roses of New York.\n--\nPlum & Co."
RULES = find_rules(
    {
        "format": "csv",
        "wording": {
            "strip_mail": True, "stop_words": ["en"], "lemmas": ["en"], "phrases": ["new_york"], "segmented": ["zh"],
        },
    },
    "counts",
    ("rose", "hedge", "new_york", "plum", "图书馆"),
)  # fmt: skip


def words(document):
    counted = document.word_counts
    return {RULES.vocabulary[word]: n for word, n in zip(counted.words, counted.counts, strict=True)}


def test_a_text_is_read_as_the_corpus_was_and_shown_as_it_is_read():
    found = read_new_text(MAIL, RULES)
    assert words(found) == {"rose": 1, "hedge": 1, "new_york": 1}
    assert "quoted" not in found.text
    assert [found.text[begin:end] for begin, end, _ in found.word_counts.spans] == ["hedge", "roses", "New York"]
    assert words(read_new_text(TEXTS["zh"], RULES)) == {"图书馆": 1}


@pytest.mark.parametrize("name", ["mail.txt", "mail.jsonl"])
def test_a_file_is_read_as_the_corpus_was(tmp_path, name):
    path = tmp_path / name
    path.write_text(MAIL if name.endswith("txt") else json.dumps({"text": MAIL}) + "\n", encoding="utf-8")
    (found,) = read_new_documents(str(path), RULES, ImportOptions())
    assert words(found) == {"rose": 1, "hedge": 1, "new_york": 1}
    assert found.word_counts.unknown == ()


def test_a_page_is_read_without_its_tags():
    found = read_new_text("<html><script>plum()</script><p>Ros&eacute; <b>hedge</b>s</p></html>", RULES)
    assert words(found) == {"hedge": 1}
    assert found.word_counts.unknown == ("rosé",)


def test_a_corpus_from_before_is_read_as_it_was_made():
    before = find_rules({"format": "csv", "options": {"stop_words": "none"}}, "counts", ("the", "संस"))
    assert read_new_text("<p>the</p> the", before).word_counts.known == 2
    assert before.wording.record().keys() == {"html", "pattern"}


UNCLEAN_TEXTS = (
    "The rose-garden needs the <b>HEDGE</b> shears; don't prune a rose in winter. See https://roses.example/x",
    "A rose, a hedge &amp; a rose: Pruning the garden",
    "Winter frost kills the rose; the hedge stays. İstanbul garden",
    "frost frost winter garden shears 1992",
)


@pytest.fixture
def folder(tmp_path):
    for place, text in enumerate(UNCLEAN_TEXTS):
        (tmp_path / f"{place}.txt").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stop_words": "none", "min_df": 1},
        {"token_pattern": r"\b\w\w+\b", "min_df": 1},
        {"token_pattern": r"\b(\w+)e\b", "min_df": 1},
        {"binary": True, "min_df": 1},
    ],
)
def test_the_texts_of_a_corpus_are_counted_again_as_the_import_counted_them(folder, tmp_path, options):
    db = open_database(str(tmp_path / "store.db"))
    row = import_path(db, folder, ImportOptions(max_df=1.0, **options))
    rules = find_rules(row.meta, row.kind, corpora.read_vocabulary(db, row.number))
    stored = corpora.load_corpus(db, row.number).counts
    assert rules.own
    for document in corpora.read_documents(db, row.number, range(row.documents)):
        cells = slice(*stored.starts[document.number : document.number + 2])
        again = rules.count(document.text)
        assert dict(zip(again.words.tolist(), again.counts.tolist(), strict=True)) == dict(
            zip(stored.words[cells].tolist(), stored.values[cells].tolist(), strict=True)
        )
    db.close()


def test_what_a_reader_cleaned_is_counted_like_the_text_itself(folder):
    rules = find_rules({"format": "text"}, "counts", ("rose", "hedge", "frost"))
    source = read_source(folder)
    for document in source.documents():
        one, other = rules.count(document.text), rules.count_clean(source.counted(document))
        np.testing.assert_array_equal(one.counts, other.counts)
        assert one[2:6] == other[2:6]


@given(
    st.text(st.sampled_from("aZİẞΣσ &;<>/.:wht ps1éﬁſ\u0301\u0327\u064f\u00ad각ᄀ\u1161ـक\u093c"), max_size=60)
    | st.text(max_size=40)
)
def test_the_clean_text_is_that_of_the_import_and_every_letter_knows_where_it_came_from(text):
    found, places = clean_with_places(text)
    assert found == words_of.clean_text(text)
    assert len(places) == len(found)
    assert list(places) == sorted(places)
    whole = [
        unicodedata.normalize("NFD", letter.lower()) + words_of.simplify_letters(letter.lower()) for letter in text
    ]
    assert all(letter == " " or unicodedata.normalize("NFD", letter)[0] in "".join(whole[place:]) or letter in "ςσ"
               for letter, place in zip(found, places, strict=True))  # fmt: skip


def test_the_words_of_a_text_are_found_where_they_stand():
    text = "<p>İİ The ROSE</p> and https://rose.example a rose"
    rules = find_rules({}, "counts", ("rose", "hedge"))
    found = rules.count(text)
    assert [text[span.begin : span.end] for span in found.spans] == ["ROSE", "rose"]
    assert found.words.tolist() == [0]
    assert found.counts.tolist() == [2]


def test_a_long_text_is_counted_to_its_end_and_marked_at_its_beginning():
    text = "great movie " * 50_000
    found = find_rules({}, "counts", ("great", "movie", "plot")).count(f"{text}plot")
    assert (found.tokens, found.known, found.unknown) == (100_001, 100_001, ())
    assert found.counts.tolist() == [50_000, 50_000, 1]
    assert len(found.spans) == MARKED // 6


def test_known_unknown_and_stop_words_are_told_apart():
    found = find_rules({}, "counts", ("rose", "the")).count("The rose and the tulip, the tulip and a lily")
    assert (found.tokens, found.known, found.stopped) == (7, 4, 2)
    assert found.unknown == ("tulip", "lily")


def test_a_corpus_that_came_as_counts_is_read_by_the_usual_rules_whatever_its_case():
    rules = find_rules({"format": "uci", "options": {"token_pattern": "x"}}, "counts", ("Rose", "hedge"))
    assert not rules.own
    assert rules.count("ROSE Hedge").words.tolist() == [0, 1]


def test_a_stop_list_that_is_gone_leaves_no_stop_words_and_no_error():
    rules = find_rules({"format": "text", "options": {"stop_words": "/nowhere/stops.txt"}}, "counts", ("rose",))
    assert rules.count("the rose").stopped == 0


def test_a_text_without_a_known_word_has_no_counts():
    found = find_rules({}, "real", ("rose",)).count("")
    assert (len(found.words), found.tokens, found.counts.dtype) == (0, 0, np.float32)
