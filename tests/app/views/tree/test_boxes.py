"""A word of a small picture is cut, rather than left out, where it could not be read."""

import pytest

from app.views.tree.boxes import cut_legible


@pytest.mark.parametrize(
    ("word", "cut"), [("key", "key"), ("apple", "apple"), ("encryption", "encr…"), ("a", "a"), ("", "")]
)
def test_a_word_is_cut_until_it_can_be_read_from_afar(word, cut):
    assert cut_legible(word, lambda line: 120 / max(len(line), 1)) == cut


def test_of_a_word_that_never_can_the_first_letters_stay():
    assert cut_legible("extraordinary", lambda _: 1.0) == "ext…"
