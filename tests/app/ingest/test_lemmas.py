"""Words in their dictionary form."""

import sys

import pytest

from app.ingest import languages, lemmas
from app.ingest.lemmas import installed, known, lemmatiser


def test_a_word_has_its_dictionary_form_in_lower_case():
    assert [lemmatiser(("en",))(word) for word in ("mice", "went", "roses", "topiary", "xyzzy")] == [
        "mouse", "go", "rose", "topiary", "xyzzy",
    ]  # fmt: skip


def test_languages_are_tried_in_their_order():
    both = lemmatiser(("en", "de"))
    assert (both("mice"), both("häuser")) == ("mouse", "haus")


def test_german_nouns_are_no_verbs():
    words = ["briefe", "schiff", "filme", "gesehen", "spielte", "arbeiten"]
    assert [lemmatiser(("de",))(word) for word in words] == ["brief", "schiff", "film", "sehen", "spielen", "arbeit"]
    assert [lemmatiser(("en", "de"))(word) for word in ("women", "briefe")] == ["woman", "brief"]


def test_only_some_languages_have_dictionary_forms():
    assert known(("th", "de", "zh", "no")) == ("de", "no")
    assert set(languages.NAMES) - lemmas.LANGUAGES >= {"zh", "ja", "th"}


def test_the_library_may_be_missing(monkeypatch):
    assert installed()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    lemmatiser.cache_clear()
    with pytest.raises(ImportError):
        lemmatiser(("en",))
    monkeypatch.setattr(lemmas, "find_spec", lambda name: None)
    assert not installed()


@pytest.mark.parametrize("code", sorted(lemmas.LANGUAGES))
def test_simplemma_has_the_language(code):
    from simplemma.strategies.dictionaries import dictionary_factory

    assert lemmas._CODES.get(code, code) in dictionary_factory.SUPPORTED_LANGUAGES
