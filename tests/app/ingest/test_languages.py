"""Languages are recognised from a sample, and not where there is nothing to recognise."""

import random

import pytest
import stopwordsiso
from language_samples import TEXTS

from app.ingest.text import languages
from app.ingest.text.languages import Sample, find_language_code, name_language, recognise_languages


@pytest.mark.parametrize("code", TEXTS)
def test_a_language_is_recognised(code):
    found = recognise_languages([TEXTS[code]])
    assert found.main == (code,)
    assert found.enough or code not in languages._BY_SCRIPT.values()


def test_several_languages_come_with_their_shares_the_largest_first():
    found = recognise_languages([TEXTS["de"], TEXTS["de"], TEXTS["fr"], TEXTS["el"][:40]])
    assert found.main == ("de", "fr")
    assert found.languages["de"] == pytest.approx(2 / 3, abs=0.05)
    assert "Greek" in found.scripts
    assert sum(found.scripts.values()) == pytest.approx(1)


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
    assert {name_language(code) for code in languages._BY_SCRIPT.values()} >= {"Greek", "Lao", "Burmese"}
