"""Words in their dictionary form."""

import sys

import pytest

from app.ingest.text import languages
from app.ingest.text.languages import is_lemmatiser_installed, list_lemma_languages, make_lemmatiser


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

    assert languages._CODES.get(code, code) in dictionary_factory.SUPPORTED_LANGUAGES
