"""Finite lists of actions: vectors, or options that share nothing and have none."""

import functools
import hashlib
import operator
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.core.blocks import row_blocks
from noisewise.core.checks import nearest
from noisewise.core.independent import NO_VECTORS, Separate

#: Directions whose share of the largest second moment is below this are rounding, not features.
RANK_TOLERANCE = 1e-12


class ActionSet:
    """A fixed list of actions, each described by a feature vector.

    Args:
        vectors: ``(n_actions, dim)`` numbers. A float64 array in C order or a memory map (float64 or
            float32) is used as it is, without a copy: do not change it afterwards.
        labels: Names for people, one per action, all different. Default: the row numbers.

    Example:
        >>> actions = ActionSet([[1.0, 0.0], [0.0, 1.0]], labels=["steel", "brass"])
        >>> actions.n_actions, actions.dim, actions.label(1)
        (2, 2, 'brass')
    """

    def __new__(cls, vectors: Any = None, labels: Any = None) -> Self:
        """A `LargeList` where the vectors need not fit into memory; Python then calls its `__init__`."""
        from noisewise.actions.large_list import LargeList, is_large

        return object.__new__(LargeList if cls is ActionSet and is_large(vectors) else cls)  # type: ignore[return-value]

    def __init__(self, vectors: ArrayLike, labels: Sequence[str] | None = None) -> None:
        self.vectors = _as_rows(vectors)
        self.is_memory_map = isinstance(vectors, np.memmap)
        self.n_actions, self.dim = self.vectors.shape
        self._moment, self.max_norm = _survey(self.vectors)
        self.labels = None if labels is None else _as_labels(labels, self.n_actions)

    @property
    def columns(self) -> NDArray[np.floating]:
        """The vectors as columns, ``(dim, n_actions)``: a view."""
        return self.vectors.T

    @property
    def moment(self) -> NDArray[np.float64]:
        """The second moment of the vectors, ``Σ a aᵀ``, (dim, dim)."""
        return self._moment

    @functools.cached_property
    def rank(self) -> int:
        """How many directions the vectors span."""
        scale = np.sqrt(np.maximum(np.diag(self._moment), np.finfo(float).tiny))
        eigenvalues = np.linalg.eigvalsh(self._moment / np.outer(scale, scale))
        return int((eigenvalues > RANK_TOLERANCE * max(1.0, eigenvalues[-1])).sum())

    @functools.cached_property
    def n_distinct(self) -> int:
        """How many different vectors there are."""
        return len(np.unique(_row_hashes(self.vectors)))

    @property
    def notes(self) -> list[str]:
        """What the user of these vectors should know, in sentences."""
        notes = []
        if self.rank < self.dim:
            notes.append(
                f"The {self.dim} features span only {self.rank} dimensions: some are combinations of "
                "others. Everything works within that span; single coefficients of theta mean nothing."
            )
        if copies := self.n_actions - self.n_distinct:
            notes.append(
                f"{copies} actions repeat the vector of another: "
                "they share its estimate, and the first of them is chosen."
            )
        if zeros := sum(int((~self.vectors[rows].any(axis=1)).sum()) for rows in self._blocks()):
            notes.append(
                f"{zeros} actions have the zero vector: their value is 0 and measuring them is idle."
            )
        return notes

    def label(self, action: int) -> str:
        """The name of an action."""
        row = self.index(action)
        return str(row) if self.labels is None else self.labels[row]

    def index(self, action: Any) -> int:
        """The row of an action given by its row number or its label."""
        if isinstance(action, str):
            return self._index_of_label(action)
        try:
            row = operator.index(action)
        except TypeError:
            row = -1
        if isinstance(action, bool) or not 0 <= row < self.n_actions:
            raise ValueError(
                f"`action` must be a row number from 0 to {self.n_actions - 1}"
                f"{' or a label' if self.labels else ''}; got {action!r}."
            )
        return int(row)

    def fingerprint(self) -> str:
        """A hash of the vectors: two sets with the same one are the same set."""
        digest = hashlib.sha256(f"{self.vectors.shape} {self.vectors.dtype}".encode())
        for rows in self._blocks():
            digest.update(np.ascontiguousarray(self.vectors[rows]).tobytes())
        return digest.hexdigest()

    def _blocks(self) -> Any:
        return row_blocks(self.n_actions)

    @functools.cached_property
    def _rows_by_label(self) -> dict[str, int]:
        return {label: row for row, label in enumerate(self.labels or ())}

    def _index_of_label(self, label: str) -> int:
        if self.labels is None:
            raise ValueError(f"`action` must be a row number, this set has no labels; got {label!r}.")
        if label not in self._rows_by_label:
            hint = nearest(label, self.labels)
            raise ValueError(f"`action` must be a row number or a label; got {label!r}.{hint}")
        return self._rows_by_label[label]

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        span = "" if self.rank == self.dim else f", rank {self.rank}"
        return f"ActionSet({self.n_actions} actions, {self.dim} features{span})"


def _as_rows(vectors: ArrayLike) -> NDArray[np.floating]:
    """The vectors as a read-only two-dimensional array of floats, copied only if it must be."""
    rows: NDArray[Any]
    if isinstance(vectors, np.memmap) and vectors.dtype == np.float32:
        rows = np.asarray(vectors)
    else:
        try:
            given = np.asarray(vectors)
            if given.dtype.kind not in "fiub":
                raise TypeError
            rows = np.asarray(given, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ValueError(
                "`vectors` must be a table of numbers, one row per action, all rows equally long; "
                f"got {type(vectors).__name__}."
            ) from None
    if rows.ndim != 2:
        raise ValueError(f"`vectors` must have two dimensions, (n_actions, dim); got shape {rows.shape}.")
    if 0 in rows.shape:
        raise ValueError(f"`vectors` must hold at least one action and one feature; got shape {rows.shape}.")
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def _survey(vectors: NDArray[np.floating], first: int = 0) -> tuple[NDArray[np.float64], float]:
    """One pass: refuse what is not finite, and gather Σ a aᵀ and the largest norm."""
    moment = np.zeros((vectors.shape[1], vectors.shape[1]))
    longest = 0.0
    for rows in row_blocks(len(vectors)):
        block = vectors[rows].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
        # A squared norm is finite if every entry is: only otherwise is it worth looking for the culprit.
        if not np.isfinite(squares).all():
            _refuse(block, first + rows.start)
        longest = max(longest, float(squares.max()))
        moment += block.T @ block
    return moment, float(np.sqrt(longest))


def _refuse(block: NDArray[np.float64], first_row: int) -> None:
    bad = np.argwhere(~np.isfinite(block))
    if not len(bad):
        raise ValueError("`vectors` must have norms below 1e150: rescale the features; got a longer one.")
    row, column = bad[0]
    raise ValueError(
        f"`vectors` must be finite numbers; got {float(block[row, column])} "
        f"in row {first_row + row}, column {column}."
    )


def _as_labels(labels: Sequence[str], n_actions: int) -> list[str]:
    names = [str(label) for label in labels]
    if len(names) != n_actions:
        raise ValueError(f"`labels` must name each of the {n_actions} actions once; got {len(names)} labels.")
    if len(set(names)) < n_actions:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"`labels` must all be different; got {twice!r} twice.")
    return names


def _row_hashes(vectors: NDArray[np.floating]) -> NDArray[np.uint64]:
    """One 64-bit hash per row; -0.0 and 0.0 are the same number."""
    multipliers = np.random.default_rng(0).integers(0, 2**63, size=vectors.shape[1], dtype=np.uint64)
    multipliers |= np.uint64(1)
    hashes = np.empty(len(vectors), dtype=np.uint64)
    for rows in row_blocks(len(vectors)):
        bits = (vectors[rows].astype(np.float64) + 0.0).view(np.uint64)
        # Mantissas of round numbers end in zeros: fold the high bits down before multiplying.
        bits ^= bits >> np.uint64(31)
        hashes[rows] = (bits * multipliers).sum(axis=1, dtype=np.uint64)
    return hashes


class IndependentOptions(ActionSet):
    """Options without features, for rules on the independent model.

    Args:
        n_actions: How many there are.
        labels: Names for people, one per option.
    """

    def __init__(self, n_actions: int, labels: Sequence[str] | None = None) -> None:
        self.n_actions = self.dim = self.rank = n_actions
        self.labels = None if labels is None else list(labels)
        self.is_memory_map = False
        self.max_norm = 1.0
        self._separate = Separate(n_actions)

    @property
    def columns(self) -> Any:
        """A placeholder for the vectors: see `noisewise.core.independent`."""
        return self._separate

    def __getattr__(self, name: str) -> Any:
        if name == "vectors":
            raise ValueError(NO_VECTORS)
        raise AttributeError(f"IndependentOptions has no attribute {name!r}")

    @property
    def notes(self) -> list[str]:
        """None: there are no vectors to warn about."""
        return []

    def __len__(self) -> int:
        return int(self.n_actions)

    def __repr__(self) -> str:
        return f"IndependentOptions({self.n_actions} options)"
