"""Twofold numbers against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from noisewise.study.models.exact import twofold as tf


def exact(numbers):
    return [Fraction(a) + Fraction(b) for a, b in zip(numbers.high.ravel(), numbers.low.ravel(), strict=True)]


def some(rng, size=200):
    high = rng.normal(size=size) * 10.0 ** rng.uniform(-40, 40, size)
    return tf.twofold(high, high * rng.uniform(-1e-16, 1e-16, size))


@pytest.mark.parametrize(
    ("ours", "true"),
    [
        (tf.add, lambda a, b: a + b),
        (tf.subtract, lambda a, b: a - b),
        (tf.multiply, lambda a, b: a * b),
        (tf.divide, lambda a, b: a / b),
    ],
)
def test_arithmetic_has_thirty_decimals(ours, true):
    rng = np.random.default_rng(0)
    one, other = some(rng), some(rng)
    for a, b, c in zip(exact(one), exact(other), exact(ours(one, other)), strict=True):
        assert abs(c - true(a, b)) <= Fraction(tf.UNIT) * abs(true(a, b))


def test_sums_and_products_of_floats_are_exact():
    rng = np.random.default_rng(1)
    one, other = some(rng).high, some(rng).high
    for a, b, c, d in zip(
        one, other, exact(tf.sum_of(one, other)), exact(tf.product_of(one, other)), strict=True
    ):
        assert c == Fraction(a) + Fraction(b)
        assert d == Fraction(a) * Fraction(b)


def test_roots_have_thirty_decimals():
    numbers = some(np.random.default_rng(2))
    numbers = tf.twofold(np.abs(numbers.high))
    root = tf.square_root(numbers)
    for a, b in zip(exact(numbers), exact(root), strict=True):
        assert abs(b * b - a) <= 4 * Fraction(tf.UNIT) * a
    assert tf.square_root(tf.twofold(np.zeros(1))).plain[0] == 0.0


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 100])
def test_totals_are_those_of_fractions(size):
    rng = np.random.default_rng(size)
    numbers = tf.twofold(rng.normal(size=(size, 2)) * 10.0 ** rng.uniform(-8, 8, (size, 2)))
    group = rng.integers(4, size=size)
    largest = Fraction(float(np.abs(numbers.high).sum()) + 1.0) * Fraction(tf.UNIT)
    for column in range(2):
        one = tf.Twofold(numbers.high[:, column], numbers.low[:, column])
        assert abs(exact(tf.total(one).at(None))[0] - sum(exact(one))) <= largest
        found = exact(tf.group_totals(one, group, 4))
        for code in range(4):
            members = exact(one.at(group == code))
            assert abs(found[code] - sum(members)) <= largest
