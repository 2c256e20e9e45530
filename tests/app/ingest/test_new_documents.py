"""Documents that somebody brings along are cut into words as the corpus was."""

import json

import pytest
from language_samples import TEXTS

from app.ingest.new_documents import find_rules, read_new_documents, read_new_text
from app.ingest.options import ImportOptions

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
    counted = document.counted
    return {RULES.vocabulary[word]: n for word, n in zip(counted.words, counted.counts, strict=True)}


def test_a_text_is_read_as_the_corpus_was_and_shown_as_it_is_read():
    found = read_new_text(MAIL, RULES)
    assert words(found) == {"rose": 1, "hedge": 1, "new_york": 1}
    assert "quoted" not in found.text
    assert [found.text[begin:end] for begin, end, _ in found.counted.spans] == ["hedge", "roses", "New York"]
    assert words(read_new_text(TEXTS["zh"], RULES)) == {"图书馆": 1}


@pytest.mark.parametrize("name", ["mail.txt", "mail.jsonl"])
def test_a_file_is_read_as_the_corpus_was(tmp_path, name):
    path = tmp_path / name
    path.write_text(MAIL if name.endswith("txt") else json.dumps({"text": MAIL}) + "\n", encoding="utf-8")
    (found,) = read_new_documents(str(path), RULES, ImportOptions())
    assert words(found) == {"rose": 1, "hedge": 1, "new_york": 1}
    assert found.counted.unknown == ()


def test_a_page_is_read_without_its_tags():
    found = read_new_text("<html><script>plum()</script><p>Ros&eacute; <b>hedge</b>s</p></html>", RULES)
    assert words(found) == {"hedge": 1}
    assert found.counted.unknown == ("rosé",)


def test_a_corpus_from_before_is_read_as_it_was_made():
    before = find_rules({"format": "csv", "options": {"stop_words": "none"}}, "counts", ("the", "संस"))
    assert read_new_text("<p>the</p> the", before).counted.known == 2
    assert before.wording.record().keys() == {"html", "pattern"}
