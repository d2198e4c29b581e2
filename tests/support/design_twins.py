"""Textbook versions of what the design room does fast, and the sets they are compared on."""

import itertools

import mpmath
import numpy as np


def exact_g(vectors, design, digits=60):
    """Return the largest g in `digits`-digit arithmetic: for vectors of full column rank only."""
    with mpmath.workdps(digits):
        rows = mpmath.matrix(np.asarray(vectors, dtype=float).tolist())
        dim = rows.cols
        moment = mpmath.zeros(dim)
        for index, weight in zip(design.indices, design.weights, strict=True):
            row = [rows[int(index), k] for k in range(dim)]
            for i, j in itertools.product(range(dim), repeat=2):
                moment[i, j] += mpmath.mpf(float(weight)) * row[i] * row[j]
        inverse = moment**-1
        table = [[inverse[i, j] for j in range(dim)] for i in range(dim)]
        largest = mpmath.mpf(0)
        for n in range(rows.rows):
            row = [rows[n, k] for k in range(dim)]
            images = (mpmath.fdot(row, column) for column in table)
            largest = max(largest, mpmath.fdot(row, list(images)))
        return float(largest), float(largest / dim - 1)


def span_basis(vectors):
    """Return an orthonormal basis of the column space of the scaled vectors, one row per action."""
    vectors = np.asarray(vectors, dtype=float)
    scales = np.max(np.abs(vectors), axis=0)
    scaled = vectors / np.where(scales > 0, scales, 1.0)
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return left[:, values > 1e-13 * max(vectors.shape) * values[0]]


def textbook_g(vectors, design):
    """Return g of all actions by orthogonal factorisations, in the span."""
    basis = span_basis(vectors)
    factor = np.linalg.qr(basis[design.indices] * np.sqrt(design.weights)[:, None], mode="r")
    return np.sum(np.linalg.solve(factor.T, basis.T) ** 2, axis=0)


def textbook_gap(vectors, design):
    """Return max g / rank - 1 by orthogonal factorisations."""
    return float(textbook_g(vectors, design).max() / span_basis(vectors).shape[1] - 1)


def multiplicative(vectors, n_steps=20_000, gap=1e-5):
    """Return weights by the multiplicative algorithm: w <- w g / d until g <= (1 + gap) d."""
    dim = vectors.shape[1]
    weights = np.full(len(vectors), 1 / len(vectors))
    for _ in range(n_steps):
        inverse = np.linalg.inv(vectors.T @ (weights[:, None] * vectors))
        g_values = np.einsum("ij,jk,ik->i", vectors, inverse, vectors)
        if g_values.max() <= (1 + gap) * dim:
            break
        weights = weights * g_values / dim
    return weights


def monomials(points, dim):
    """Return the first `dim` monomials of the points, by degree."""
    columns, degree = [np.ones(len(points))], 1
    while len(columns) < dim:
        sets = itertools.combinations_with_replacement(range(points.shape[1]), degree)
        columns += [np.prod(points[:, list(which)], axis=1) for which in sets]
        degree += 1
    return np.column_stack(columns[:dim])


KINDS = ("gaussian", "sphere", "polynomial", "clustered", "heavy")


def instance(kind, n_actions, dim, seed=0):
    """Return one of the five kinds of action sets that the benchmark uses, too."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((n_actions, dim))
    if kind == "sphere":
        return normal / np.linalg.norm(normal, axis=1)[:, None]
    if kind == "polynomial":
        return monomials(rng.uniform(-1, 1, (n_actions, 5 if dim > 40 else 3)), dim)
    if kind == "heavy":
        return normal / np.sqrt(rng.chisquare(2.5, (n_actions, 1)) / 2.5)
    if kind == "clustered":
        centres = rng.standard_normal((3 * dim, dim))
        vectors = centres[rng.integers(0, 3 * dim, n_actions)] + 1e-3 * normal
        copies = n_actions // 10
        vectors[:copies] = vectors[n_actions - copies :]
        return vectors * np.logspace(-4, 4, dim)
    return normal


def degenerate_sets():
    """Return named sets on which float64 without care fails; True where the rank is full."""
    rng = np.random.default_rng(7)
    collinear = rng.standard_normal((200, 10))
    collinear[:, 9] = collinear[:, 8] + 1e-7 * rng.standard_normal(200)
    outlier = rng.standard_normal((300, 8))
    outlier[0] *= 1e6
    return {
        "monomials, condition 1e5": (np.linspace(0, 1, 50)[:, None] ** np.arange(8), True),
        "monomials, condition 1e8": (np.linspace(0, 1, 200)[:, None] ** np.arange(12), True),
        "monomials, condition 1e11": (np.linspace(0, 1, 200)[:, None] ** np.arange(16), True),
        "two columns equal up to 1e-7": (collinear, True),
        "one row a million times longer": (outlier, True),
        "rank 6 in 9 columns": (
            rng.standard_normal((500, 6)) @ rng.standard_normal((6, 9)),
            False,
        ),
        "12 distinct rows, 50 copies each": (np.repeat(rng.standard_normal((12, 6)), 50, 0), True),
        "as many rows as columns": (rng.standard_normal((30, 30)), True),
    }
