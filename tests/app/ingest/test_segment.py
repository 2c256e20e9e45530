"""Words of texts without spaces are set apart, whole, and only where they need be."""

import sys

import pytest
from language_samples import TEXTS

from app.ingest.text import languages
from app.ingest.text.languages import WITHOUT_SPACES, NoSegmenterError, list_missing, runs_together, space_words

WORDS = {
    "zh": ("图书馆", "大海", "阅读"),
    "ja": ("図書館", "手紙", "最初"),
    "th": ("ถนน", "ทะเล", "จดหมาย"),
    "lo": ("ທະເລ", "ຖະໜົນ"),
    "km": ("បណ្ណាល័យ", "សមុទ្រ"),
    "my": ("ပင်လယ်",),
}


@pytest.mark.parametrize("code", WITHOUT_SPACES)
def test_words_are_set_apart_and_no_letter_is_lost(code):
    text = TEXTS[code]
    assert runs_together(code, [text])
    found = space_words(text, (code,))
    assert set(WORDS[code]) <= set(found.split())
    assert found.replace(" ", "") == text.replace(" ", "")
    assert not runs_together(code, [found])


def test_japanese_and_chinese_in_one_corpus_are_each_cut_by_their_own_dictionary():
    both = ("zh", "ja")
    assert space_words(TEXTS["zh"], both) == space_words(TEXTS["zh"], ("zh",))
    assert space_words(TEXTS["ja"], both) == space_words(TEXTS["ja"], ("ja",))


def test_short_runs_of_characters_in_japanese_say_nothing_of_chinese():
    assert runs_together("zh", [TEXTS["ja"]] * 9 + [TEXTS["zh"]])
    assert not runs_together("ja", [TEXTS["zh"]])


def test_other_scripts_and_corpora_stay_as_they_are():
    assert space_words("plain text, naïve", ("zh", "th")) == "plain text, naïve"
    assert space_words("图书馆", ()) == "图书馆"
    assert space_words("topiary的图书馆!", ("zh",)).split() == ["topiary", "的", "图书馆", "!"]


@pytest.mark.parametrize("code", ["zh", "th"])
def test_without_the_library_it_is_said_to_be_missing(code, monkeypatch):
    monkeypatch.setitem(sys.modules, "rjieba", None)
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    languages._load_cutter.cache_clear()
    with pytest.raises(NoSegmenterError):
        space_words(TEXTS[code], (code,))
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    assert list_missing((code,)) == [code]
