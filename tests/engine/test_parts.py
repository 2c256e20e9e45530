"""Documents are divided by seed, in halves, and duplicates stay together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiary.engine.contract import TEST, TRAIN, VALIDATION, Counts
from topiary.engine.parts import PartSizes, divide_share, draw_parts, draw_validation, hash_contents, return_duplicates


def counts(*documents: dict[int, float], kind: type = np.int32) -> Counts:
    """Documents as words with their counts, in the order given."""
    lengths = np.array([len(each) for each in documents], np.int64)
    words = np.array([word for each in documents for word in each], np.int32)
    return Counts.of(lengths, words, np.array([value for each in documents for value in each.values()], kind))


@pytest.mark.parametrize(
    ("n", "share", "expected"),
    [(100, 0.1, (5, 5)), (50, 0.1, (3, 2)), (5, 0.1, (1, 0)), (2, 0.9, (1, 0)), (7, 0.0, (0, 0)), (1, 0.5, (0, 0))],
)
def test_held_out_documents_are_halved_and_the_test_has_the_odd_one(n, share, expected):
    assert divide_share(n, share, validation=True) == expected
    assert divide_share(n, share, validation=False) == (sum(expected), 0)
    assert divide_share(n, 0.001, validation=True, least=0) == (0, 0)


def test_documents_with_the_same_counts_have_the_same_number_and_others_another_one():
    found = hash_contents(counts({1: 2, 5: 1}, {5: 1, 1: 2}, {1: 1, 5: 2}, {1: 2}, {}, {1: 2, 5: 1, 0: 1}, {}))
    assert found[0] == found[1]
    assert (found[4], found[6]) == (0, 0)
    assert len(set(found.tolist())) == 5
    same = hash_contents(counts({1: 2, 5: 1}, {1: 1, 5: 2}, {1: 3}), binary=True)
    assert same[0] == same[1] != same[2]
    real = hash_contents(counts({1: 0.5}, {1: 0.5}, {1: 0.25}, kind=np.float32))
    assert real[0] == real[1] != real[2]


def test_a_number_depends_on_the_document_and_not_on_those_around_it():
    alone = [hash_contents(counts(each))[0] for each in ({3: 1}, {0: 7, 9: 2}, {2: 1})]
    assert hash_contents(counts({3: 1}, {0: 7, 9: 2}, {2: 1})).tolist() == alone


def test_no_two_of_many_different_documents_have_the_same_number():
    words = np.stack([np.arange(40_000) // 200, 200 + np.arange(40_000) % 200], axis=1)
    every = Counts.of(np.full(40_000, 2), words.ravel().astype(np.int32), np.ones(80_000, np.int32))
    assert len(np.unique(hash_contents(every))) == 40_000


@given(
    contents=st.lists(st.integers(0, 12), min_size=2, max_size=60), share=st.floats(0.05, 0.9), seed=st.integers(0, 5)
)
def test_duplicates_come_into_one_part_and_the_draw_depends_on_the_seed_alone(contents, share, seed):
    numbers = np.array(contents)
    sizes = divide_share(len(numbers), share, validation=True)
    part = draw_parts(np.random.default_rng(seed), numbers, sizes)
    assert np.array_equal(part, draw_parts(np.random.default_rng(seed), numbers, sizes))
    assert all(len(set(part[numbers == each].tolist())) == 1 for each in set(contents))
    assert (part == TRAIN).any()
    assert np.count_nonzero(part == VALIDATION) <= sizes.validation
    assert (part == TEST).any() == (len(set(contents)) > 1)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_without_duplicates_the_parts_have_the_sizes_asked_for(seed):
    part = draw_parts(np.random.default_rng(seed), np.arange(200), PartSizes(12, 9))
    assert np.bincount(part).tolist() == [179, 12, 9]
    whole = draw_parts(np.random.default_rng(seed), np.arange(200), PartSizes(21, 0))
    assert np.array_equal(whole == TEST, part != TRAIN), "the held-out documents are the same, divided or not"
    assert not np.array_equal(part, draw_parts(np.random.default_rng(seed + 1), np.arange(200), PartSizes(12, 9)))


def test_validation_of_a_division_comes_from_training_without_duplicates_of_test_documents():
    contents = np.concatenate([np.arange(100), np.arange(90, 110)])  # ten training documents are in the test, too
    given_part = np.array([TRAIN] * 100 + [TEST] * 20, np.int8)
    part = draw_validation(np.random.default_rng(3), given_part, contents, 0.1)
    assert np.array_equal(part == TEST, given_part == TEST)
    assert np.count_nonzero(part == VALIDATION) == 10
    assert not (part[90:100] == VALIDATION).any()
    assert np.array_equal(part, draw_validation(np.random.default_rng(3), given_part, contents, 0.1))
    assert not np.array_equal(part, draw_validation(np.random.default_rng(4), given_part, contents, 0.1))
    wide = draw_validation(np.random.default_rng(3), given_part, contents, 0.5)
    assert np.count_nonzero(wide == VALIDATION) == 20, "no more than the test"


def test_duplicates_within_training_are_validated_together():
    contents = np.repeat(np.arange(60), 2)
    part = draw_validation(np.random.default_rng(0), np.array([TRAIN] * 100 + [TEST] * 20, np.int8), contents, 0.1)
    assert np.count_nonzero(part == VALIDATION) == 10
    assert np.array_equal(part[::2], part[1::2])


def test_passages_of_a_document_are_validated_together_except_those_that_training_has_too():
    documents = np.repeat(np.arange(40), 5)
    contents = np.arange(200)
    contents[::5] = -1  # every document begins with the same words
    part = draw_validation(
        np.random.default_rng(1), np.where(documents < 30, TRAIN, TEST).astype(np.int8), contents, 0.2, documents
    )
    assert not (part[::5] == VALIDATION).any()
    rest = part.reshape(40, 5)[:, 1:]
    assert (rest == rest[:, :1]).all()
    assert np.count_nonzero(part == VALIDATION) > 10


def test_documents_with_a_duplicate_in_another_part_go_back_to_training():
    part = np.array([TRAIN, VALIDATION, TEST, VALIDATION, TEST, TEST], np.int8)
    contents = np.array([1, 1, 2, 2, 3, 3])
    assert return_duplicates(part, contents).tolist() == [TRAIN, TRAIN, TRAIN, TRAIN, TEST, TEST]
    assert return_duplicates(part, contents, (VALIDATION,)).tolist() == [TRAIN, TRAIN, TEST, TRAIN, TEST, TEST]
