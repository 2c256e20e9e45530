"""Languages are recognised from a sample, and not where there is nothing to recognise."""

import random
import re
import sys
import unicodedata

import pytest
import stopwordsiso
from language_samples import TEXTS
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from topiary.app.ingest.text import languages
from topiary.app.ingest.text.languages import (
    RANGES,
    WITHOUT_SPACES,
    NoSegmenterError,
    Sample,
    count_scripts,
    find_language_code,
    is_lemmatiser_installed,
    list_lemma_languages,
    list_marks,
    list_missing,
    make_lemmatiser,
    name_language,
    recognise_languages,
    runs_together,
    space_words,
)


@pytest.mark.parametrize("code", TEXTS)
def test_a_language_is_recognised(code):
    found = recognise_languages([TEXTS[code]])
    assert found.main == (code,)
    assert found.enough or code not in languages._LANGUAGE_OF_SCRIPT.values()


def test_several_languages_come_with_their_shares_the_largest_first():
    found = recognise_languages([TEXTS["de"], TEXTS["de"], TEXTS["fr"], TEXTS["el"][:40]])
    assert found.main == ("de", "fr")
    assert found.languages["de"] == pytest.approx(2 / 3, abs=0.05)
    assert "Greek" in found.scripts
    assert sum(found.scripts.values()) == pytest.approx(1)


def test_english_is_recognised_by_its_stop_words_without_loading_an_identifier(monkeypatch):
    monkeypatch.setattr(languages, "_load_identifier", lambda script: pytest.fail("it takes most of a second"))
    results = "Leeds Bath Sale Gloucester Wasps Newcastle Saracens Harlequins Leicester Worcester in the cup of wales"
    found = recognise_languages([*[TEXTS["en"]] * 10, results + " Irish Northampton Bristol Exeter Orrell Rotherham"])
    assert found.languages == {"en": 1.0}
    names = "button menu label listbox canvas scrollbar spinbox checkbutton radiobutton separator treeview notebook "
    few = recognise_languages([*[TEXTS["en"]] * 40, names * 2])  # two dozen of some 3,000 words
    assert few.languages == {"en": 1.0}
    monkeypatch.undo()
    assert set(recognise_languages([*[TEXTS["en"]] * 40, TEXTS["de"]]).languages) == {"en", "de"}
    assert recognise_languages([TEXTS["en"], TEXTS["nl"], TEXTS["nl"]]).main == ("nl", "en")


def test_words_without_function_words_are_in_no_language():
    draw = random.Random(1)
    words = ["plum", "pear", "rose", "hedge", "lawn", "soil", "seed", "flower", "rocket", "moon", "orbit", "launch"]
    found = recognise_languages([" ".join(draw.choices(words, k=50)) for _ in range(20)])
    assert (found.main, found.enough) == ((), True)
    assert recognise_languages(["plum pear"]).enough is False
    assert recognise_languages([]).main == ()


def test_a_language_without_a_list_is_not_taken_for_its_neighbour():
    serbian = "Стара библиотека на крају улице саградили су људи који никада нису видели море. Читали су оно што су "
    serbian += "морнари о њему написали, и стављали су сва та писма у велику дворану, где их је свако могао наћи."
    assert recognise_languages([serbian]).main == ()


def test_chinese_characters_are_japanese_where_kana_stand_between_them():
    assert recognise_languages([TEXTS["zh"], TEXTS["ja"]]).languages.keys() == {"zh", "ja"}
    assert recognise_languages(["東京大学図書館の本"]).main == ("ja",)


def test_a_script_tells_its_language_in_texts_that_are_mostly_in_another():
    found = recognise_languages([f"{TEXTS['en']} {TEXTS[code][:60]}" for code in ("zh", "ja", "th")])
    assert found.main == ("en",)
    assert found.letters.keys() == {"zh", "ja", "th"}


def test_a_sample_is_spread_over_all_documents():
    sample = Sample()
    for number in range(5_000):
        sample.add(lambda number=number: str(number))
    numbers = [int(text) for text in sample.texts]
    assert 256 <= len(numbers) <= 512
    assert (numbers[0], len(set(map(int.__sub__, numbers[1:], numbers)))) == (0, 1)
    assert numbers[-1] > 4_900


def test_every_list_of_stop_words_has_a_name_of_its_language():
    assert set(languages.NAMES) == stopwordsiso.langs()
    assert (
        find_language_code(" German "),
        find_language_code("de"),
        find_language_code("Klingon"),
        find_language_code(""),
    ) == ("de", "de", None, None)
    assert {name_language(code) for code in languages._LANGUAGE_OF_SCRIPT.values()} >= {"Greek", "Lao", "Burmese"}


def test_english_stop_words_are_those_of_scikit_learn_and_pieces_of_contractions():
    listed = languages.list_stop_words("en")
    assert listed == ENGLISH_STOP_WORDS | set(languages._CONTRACTED.split())


NAMED_OTHERWISE = {"Burmese": {"MYANMAR"}, "Han": {"CJK", "IDEOGRAPHIC"}, "Kana": {"HIRAGANA", "KATAKANA", "HALFWIDTH"}}
BORROWED = {"MODIFIER", "FULLWIDTH", "KATAKANA-HIRAGANA", "COPTIC"}  # Coptic letters stand among the Greek ones
PHONETIC = {"GREEK", "CYRILLIC"}  # small letters of these in the alphabet of phonetics, which is Latin


@pytest.mark.parametrize("script", RANGES)
def test_the_ranges_of_a_script_hold_its_letters_and_no_others(script):
    inside = re.compile(f"[{RANGES[script]}]")
    names = {
        unicodedata.name(letter).split()[0]
        for letter in map(chr, range(0x40, 0x20000))
        if letter.isalpha() and unicodedata.name(letter, "") and inside.match(letter)
    }
    expected = NAMED_OTHERWISE.get(script, {script.upper()})
    assert names >= {next(iter(sorted(expected)))}
    assert names <= expected | BORROWED | (PHONETIC if script == "Latin" else set())


def test_letters_are_told_by_script_and_nothing_else_is_a_letter():
    assert count_scripts("αβ γ, 12 ❤️ xyz日本") == {"Greek": 3, "Latin": 3, "Han": 2}
    assert count_scripts("12 ❤️ …") == {}


def test_marks_are_those_of_unicode():
    every = re.compile(f"[{list_marks()}]")
    assert all(every.match(mark) for mark in "\u0301\u0592\u064e\u093f\u0e31\u1039")
    assert not any(every.match(other) for other in "aé_ 1कאء日-]^")


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
    languages._load_segmenter.cache_clear()
    with pytest.raises(NoSegmenterError):
        space_words(TEXTS[code], (code,))
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    assert list_missing((code,)) == [code]


def test_a_word_has_its_dictionary_form_in_lower_case():
    assert [make_lemmatiser(("en",))(word) for word in ("mice", "went", "roses", "topiary", "xyzzy")] == [
        "mouse", "go", "rose", "topiary", "xyzzy",
    ]  # fmt: skip


def test_languages_are_tried_in_their_order():
    both = make_lemmatiser(("en", "de"))
    assert (both("mice"), both("häuser")) == ("mouse", "haus")


def test_german_nouns_are_no_verbs():
    words = ["briefe", "schiff", "filme", "gesehen", "spielte", "arbeiten"]
    assert [make_lemmatiser(("de",))(word) for word in words] == [
        "brief",
        "schiff",
        "film",
        "sehen",
        "spielen",
        "arbeit",
    ]
    assert [make_lemmatiser(("en", "de"))(word) for word in ("women", "briefe")] == ["woman", "brief"]


def test_only_some_languages_have_dictionary_forms():
    assert list_lemma_languages(("th", "de", "zh", "no")) == ("de", "no")
    assert set(languages.NAMES) - languages.LEMMA_LANGUAGES >= {"zh", "ja", "th"}


def test_the_library_may_be_missing(monkeypatch):
    assert is_lemmatiser_installed()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    make_lemmatiser.cache_clear()
    with pytest.raises(ImportError):
        make_lemmatiser(("en",))
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    assert not is_lemmatiser_installed()


@pytest.mark.parametrize("code", sorted(languages.LEMMA_LANGUAGES))
def test_simplemma_has_the_language(code):
    from simplemma.strategies.dictionaries import dictionary_factory

    assert languages._SIMPLEMMA_CODES.get(code, code) in dictionary_factory.SUPPORTED_LANGUAGES
