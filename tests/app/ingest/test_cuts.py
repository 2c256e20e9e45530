"""What each cut of a vocabulary takes away."""

import numpy as np

from app.ingest import vectorise
from app.ingest.report.observing import Limits, Vocabulary, count_met, make_cuts

WORDS = ("rare", "usual", "common", "other", "everywhere")
DOCUMENTS, TOTALS = np.array([1, 4, 9, 5, 5]), np.array([1, 12, 30, 11, 20])


def vocabulary(**more: object) -> Vocabulary:
    return Vocabulary(WORDS, DOCUMENTS, TOTALS, 10, **more)  # type: ignore[arg-type]


def test_cuts_are_told_in_order_each_of_what_those_before_it_left() -> None:
    found = make_cuts(
        vocabulary(stopped={"the": 7, "a": 7, "of": 9}, common=np.array([4])), Limits("english", 2, 0.7, 1, True)
    )
    assert [(cut.option, cut.setting, cut.words, cut.tokens, cut.examples) for cut in found] == [
        ("stop_words", "english", 3, 23, ("of", "a", "the")),
        ("leave_out_common", "true", 1, 20, ("everywhere",)),
        ("min_df", "2", 1, 1, ("rare",)),
        ("max_df", "0.7", 1, 30, ("common",)),
        ("max_words", "1", 1, 11, ("other",)),
    ]


def test_what_no_cut_takes_is_what_is_kept() -> None:
    for limits in (
        Limits("none", 2, 0.7, None),
        Limits("none", 1, 1.0, 2),
        Limits("none", 4, 0.5, 1),
        Limits("none", 1, 0.9, 9),
    ):
        found = make_cuts(vocabulary(), limits)
        kept = vectorise.choose_words(DOCUMENTS, TOTALS, 10, limits.min_df, limits.max_df, limits.max_words)
        words, tokens = count_met(vocabulary())
        assert words - sum(cut.words for cut in found) == len(kept)
        assert tokens - sum(cut.tokens for cut in found) == TOTALS[kept].sum()


def test_examples_are_ten_at_most() -> None:
    many = Vocabulary([f"w{n}" for n in range(50)], np.ones(50), np.arange(50), 10)
    (fallen,) = (cut for cut in make_cuts(many, Limits("none", 2, 1.0, None)) if cut.words)
    assert fallen.words == 50
    assert fallen.examples == tuple(f"w{n}" for n in range(49, 39, -1))
