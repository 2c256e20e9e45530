"""How words are found: kept with a corpus, and the same for its texts and for those that come later."""

import json
import math
import random
import sys
import unicodedata

import pytest
from language_samples import TEXTS

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.new_documents import clean_with_places
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.cleaning import clean_text, make_word_pattern
from topiary.app.ingest.text.words import MOST_PHRASES, Pairs, Wording, find_sentences, join_phrases, load_wording

USUAL = Wording(pattern=make_word_pattern())


def tokens(text, **options):
    return Wording(pattern=make_word_pattern(), **options).tokens(clean_text(text))


@pytest.mark.parametrize(
    "words",
    [
        "naïve café Ærø straße",
        "ёлка Київ",
        "Ελλάδα ϊδιος",
        "संसार हिन्दी क्षत्रिय मैं",
        "বাংলা ভাষা",
        "தமிழ் மொழி",
        "한국어 서울",
        "عربي مدرسة",
        "שלום ספרייה",
        "ქართული",
        "أُمّ".replace("\u064f", "").replace("\u0651", ""),
        "می\u200cخواهم نمی\u200cدانم",
        "ខ្មែរ",
        "မြန်မာ",
    ],
)
def test_words_of_every_alphabet_stay_whole_however_they_are_written(words):
    expected = [unicodedata.normalize("NFC", word.lower()) for word in words.split()]
    for form in ("NFC", "NFD"):
        assert USUAL.tokens(clean_text(unicodedata.normalize(form, words))) == expected


def test_ligatures_are_letters_and_endings_of_ordinals_no_words():
    assert tokens("o\ufb03ce \ufb01rst \ufb02ag co\ufb00ee ba\ufb04e \ufb05eam \ufb06eam \u017fome") == (
        tokens("office first flag coffee baffle steam steam some")
    )
    assert tokens("The 19th, 1<sup>st</sup>, 22nd, 3rd and 4 th; 1er, 2ème, 20ste") == tokens("The, and;")
    assert tokens("mp3 70km 2pac covid19 1920s St. Mary's Road, rd 7th") == tokens(
        "mp km pac covid St. Mary's Road, rd"
    )


def test_a_text_that_comes_later_is_counted_with_the_places_of_its_ligatures_and_ordinals():
    lower, places = clean_with_places("On the 19th o\ufb03ce")
    assert lower == clean_text("On the 19th o\ufb03ce")
    assert [places[place] for place in (lower.index("f"), lower.index("c"))] == [13, 14]


def test_a_word_is_one_word_with_and_without_optional_points():
    assert set(tokens("كتاب كِتَاب كتـــاب كِتــاب")) == {"كتاب"}
    assert set(tokens("שלום שָׁלוֹם")) == {"שלום"}
    assert set(tokens("computer com\u00adputer")) == {"computer"}
    assert set(tokens("istanbul İstanbul")) == {"istanbul"}


def test_single_letters_numbers_and_emoji_are_no_words_and_part_none():
    assert tokens("a é 12 x2y ❤️ rose👩‍🚀hedge snake_case 日") == ["rose", "hedge", "snake", "case"]


def test_stop_words_are_left_out_in_the_pieces_in_which_they_are_found():
    assert tokens("Das alte Haus", stop_words=("de",)) == ["alte", "haus"]
    assert tokens("Das alte Haus", stop_words=("de", "en"), stop_list=("alte",)) == ["haus"]
    assert tokens("don't you go", stop_words=("en",)) == []
    assert "なければ" not in tokens("行かなければならない", segmented=("ja",), stop_words=("ja",))


def test_english_is_cut_as_scikit_learn_cuts_it():
    from sklearn.feature_extraction.text import CountVectorizer

    text = clean_text(TEXTS["en"] + " naïve A1 don't e-mail")
    vectoriser = CountVectorizer(token_pattern=r"[^\W\d_]{2,}", stop_words=sorted(Wording(
        pattern=make_word_pattern(), stop_words=("en",)).stops))  # fmt: skip
    assert tokens(text, stop_words=("en",)) == vectoriser.build_analyzer()(text)


def test_dictionary_forms_stand_for_words_and_for_stop_words():
    assert tokens("Mice went home with the roses", lemmas=("en",), stop_words=("en",)) == ["mouse", "home", "rose"]


def test_phrases_are_neighbours_without_stop_word_or_punctuation_between_them():
    found = tokens(
        "New York is new. York and new of York, new roses", phrases=("new_york", "new_rose"), stop_words=("en",)
    )
    assert found == ["new_york", "new", "york", "new", "york", "new", "roses"]
    both = tokens("New roses", phrases=("new_rose",), lemmas=("en",))
    assert both == ["new_rose"]


@pytest.mark.parametrize("options", [{}, {"phrases": ("alte_bibliothek", "große_saal")}, {"segmented": ("zh",)}])
@pytest.mark.parametrize("code", ["de", "zh", "hi"])
def test_words_stand_where_they_are_said_to_stand(code, options):
    wording = Wording(pattern=make_word_pattern(), stop_words=("de",), **options)
    text = wording.space_text(clean_text(TEXTS[code]))
    found = list(wording.words(text))
    assert [word for word, _, _, stopped in found if not stopped] == wording.tokens(clean_text(TEXTS[code]))
    assert all("_" in word or text[begin:end] == word for word, begin, end, _ in found)
    assert all("_" not in word or text[begin:end].replace(" ", "_") == word for word, begin, end, _ in found)


def test_pages_are_read_without_tags_scripts_and_styles():
    page = "<html><script>var plum = 1</script><p>Caf&eacute;<p>rose</html>"
    plain = "A rose.<br />A <b>hedge</b>."
    assert USUAL.prepare_text(page).split() == ["Café", "rose"]
    assert USUAL.prepare_text(plain) is plain
    assert Wording(pattern="x", html="yes").prepare_text(plain).split() == ["A", "rose.", "A", "hedge."]
    assert Wording(pattern="x", html="no").prepare_text(page) is page


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("<div>rose</div>", True),
        ("\n <!DOCTYPE html><title>x</title></html>", True),
        ("rose <p>a</p><p>b</p><p>c</p>", True),
        ("<rose> is no tag </rose>", False),
        ("<p> begins nothing that ends", False),
        ("How to write a list: <ul><li>a</li><li>b</li></ul>, which " + "is told at great length. " * 40, False),
    ],
)
def test_a_text_is_visibly_html_or_not(text, page):
    assert USUAL.is_page(text) is page


def test_mail_loses_its_headers_where_that_is_asked_for():
    mail = "From: a@b.c\nTo: c@d.e\n\nrose"
    assert USUAL.prepare_text(mail) is mail
    assert Wording(pattern="x", strip_mail=True).prepare_text(mail).strip() == "rose"


def test_what_is_not_as_usual_is_kept_and_comes_back():
    assert USUAL.record() == {}
    assert load_wording({}) == USUAL
    other = Wording(
        html="no",
        strip_mail=True,
        segmented=("zh",),
        pattern=r"\S+",
        lemmas=("en",),
        stop_words=("en", "zh"),
        stop_list=("rose",),
        phrases=("new_york",),
    )
    assert load_wording(json.loads(json.dumps(other.record()))) == other


def test_a_corpus_that_needs_a_library_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "simplemma", None)
    monkeypatch.setitem(sys.modules, "rjieba", None)
    languages.make_lemmatiser.cache_clear()
    languages._load_segmenter.cache_clear()
    with pytest.raises(IngestError, match="pip install simplemma"):
        tokens("roses", lemmas=("en",))
    with pytest.raises(IngestError, match="pip install rjieba"):
        tokens("图书馆", segmented=("zh",))


def pairs_of(*runs, most=1_000):
    found = Pairs(most)
    for run in runs:
        found.add([run.split()])
    return found


def test_words_that_only_come_together_are_a_phrase_and_those_that_meet_by_chance_are_not():
    draw = random.Random(1)
    others = [f"w{number}" for number in range(20)]
    found = Pairs()
    for _ in range(300):
        run = draw.choices(others, k=10)
        run[4:6] = ["new", "york"]
        found.add([run])
    assert found.phrases(0.5, 10) == ("new_york",)
    assert len(found.phrases(-1.0, 2)) > 300


def test_the_measure_is_the_normalised_mutual_information():
    found = pairs_of("a b", "a b", "a c", "d e")
    expected = math.log((2 / 8) / ((3 / 8) * (2 / 8))) / -math.log(2 / 8)
    assert found.phrases(expected - 1e-12, 2) == ("a_b",)
    assert found.phrases(expected + 1e-12, 2) == ()


def test_a_phrase_occurs_often_enough_and_is_of_two_words():
    found = pairs_of(*["left right"] * 3, *["very very"] * 9)
    assert found.phrases(0.1, 3) == ("left_right",)
    assert found.phrases(0.1, 4) == ()


def test_the_most_frequent_phrases_come_first_and_are_not_too_many():
    found = pairs_of(*["b c"] * 3, *["d e"] * 3, *["f g"] * 5)
    assert found.phrases(0.1, 2) == ("f_g", "b_c", "d_e")
    many = pairs_of(*(f"x{number} y{number} x{number} y{number}" for number in range(MOST_PHRASES + 50)), most=100_000)
    assert len(many.phrases(0.1, 2)) == MOST_PHRASES


def test_pairs_are_forgotten_where_there_are_too_many_the_rarest_first():
    found = pairs_of(*["new york"] * 30, *(f"x{number} y{number}" for number in range(500)), most=100)
    assert len(found.pairs) <= 100
    assert found.phrases(0.1, 10) == ("new_york",)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("in new york city", ["in", "new_york", "city"]),
        ("new new york", ["new", "new_york"]),
        ("york city", ["york_city"]),
        ("", []),
    ],
)
def test_phrases_are_joined_from_the_left(words, expected):
    found = list(join_phrases(words.split(), frozenset({"new_york", "york_city"})))
    assert [word for word, _ in found] == expected
    assert sum(size for _, size in found) == len(words.split())


def test_no_phrase_goes_beyond_punctuation_but_beyond_the_end_of_a_line():
    text = "in new\nyork. city (north) 东京，大阪\n\nlast"
    assert [text[begin:end].strip() for begin, end in find_sentences(text)] == [
        "in new\nyork", "city", "north", "东京", "大阪", "last",
    ]  # fmt: skip
