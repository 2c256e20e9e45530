"""Seeds as people write them."""

import pytest

from app.jobs.seeds import MOST_SEEDS, read_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (3,)), ("1-3", (1, 2, 3)), ("1,2,7", (1, 2, 7)), (" 7, 1 - 3 ", (7, 1, 2, 3)), ("0-99", tuple(range(100)))],
)
def test_numbers_and_ranges_are_read_in_their_order(text, seeds):
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be seeds such as 1-5 or 1,3,7; got ''"),
        ("1;2", "must be seeds such as 1-5"),
        ("-1", "must be seeds such as 1-5"),
        ("٣", "must be seeds such as 1-5"),
        ("5-1", f"must be at most {MOST_SEEDS} seeds, the lower one first"),
        ("0-100", f"must be at most {MOST_SEEDS} seeds, the lower one first"),
        ("1-60,61-101", f"must be at most {MOST_SEEDS} seeds, each once"),
        ("1-3,2", "each once; got '1-3,2'"),
        ("9" * 5000, "9…'"),
    ],
)
def test_every_other_text_is_refused_in_a_short_sentence(text, said):
    with pytest.raises(ValueError, match="must be") as error:
        read_seeds(text)
    assert said in str(error.value)
    assert len(str(error.value)) < 130
