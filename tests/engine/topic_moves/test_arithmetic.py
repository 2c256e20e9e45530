"""Functions that become vector code agree with those of ``math`` as closely as they say."""

import numpy as np
import pytest

from engine.topic_moves import arithmetic

RNG = np.random.default_rng(4)


def values(function, arguments):
    return np.array([function(x) for x in arguments], dtype=np.float64)


@pytest.mark.parametrize("least", [1e-300, 1e-9, 0.5, 1.0 - 1e-9])
def test_the_logarithm_is_right_to_1e_10(least):
    x = np.exp(RNG.uniform(np.log(least), 0.0, 300))
    np.testing.assert_allclose(values(arithmetic.logarithm, x), np.log(x), rtol=1e-9, atol=1e-10)


def test_the_logarithm_of_a_number_next_to_1_keeps_its_digits():
    x = 1.0 - np.geomspace(1e-15, 1e-3, 50)
    np.testing.assert_allclose(values(arithmetic.logarithm, x), np.log(x), rtol=1e-9)
    assert arithmetic.logarithm(1.0) == 0.0


def test_the_logarithm_of_0_is_far_down_and_no_nan():
    assert arithmetic.logarithm(0.0) < -700.0


@pytest.mark.parametrize("least", [2.0**-32, 0.5, 0.999])
def test_the_single_logarithm_is_right_to_single_precision(least):
    x = np.exp(RNG.uniform(np.log(least), 0.0, 300)).astype(np.float32)
    expected = np.log(x.astype(np.float64))
    np.testing.assert_allclose(values(arithmetic.single_logarithm, x), expected, rtol=3e-7, atol=1e-9)


def test_the_single_exponential_is_right_to_single_precision():
    x = RNG.random(300).astype(np.float32)
    np.testing.assert_allclose(values(arithmetic.single_exp_minus, x), np.exp(-x.astype(np.float64)), rtol=5e-7)
    far = np.linspace(1.0, 3.2, 30).astype(np.float32)
    np.testing.assert_allclose(values(arithmetic.single_exp_minus, far), np.exp(-far.astype(np.float64)), rtol=1e-3)


def test_the_single_sine_is_right_to_single_precision():
    y = RNG.uniform(-0.5, 0.5, 300).astype(np.float32)
    expected = np.sin(np.pi * y.astype(np.float64))
    np.testing.assert_allclose(values(arithmetic.single_sine, y), expected, atol=3e-7)


@pytest.mark.parametrize("exponent", [1.0, 1.7, 33.3, 5_000.5])
def test_a_power_is_right_to_1e_8_and_never_below_the_smallest_normal_number(exponent):
    x = np.append(np.exp(-RNG.exponential(size=300) / exponent), [2.0**-32, 1.0])
    got = values(lambda each: arithmetic.power(each, exponent), x)
    np.testing.assert_allclose(got, np.maximum(x**exponent, np.exp(-708.0)), rtol=1e-8)
