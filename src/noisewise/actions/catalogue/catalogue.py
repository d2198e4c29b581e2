"""`Catalogue`: a list of actions too long to be looked at in every round, in files that workers may share."""

import functools
import hashlib
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions.catalogue.files import (
    check_alike,
    checked_places,
    cut_into_shards,
    end_of,
    files_meant,
    layout,
    mapped_file,
)
from noisewise.actions.catalogue.parquet import looked_at
from noisewise.actions.catalogue.passes import Indices, Survey, row_hash, survey, taken
from noisewise.actions.catalogue.shards import KINDS, Shard
from noisewise.core.spreading.workers import workers_on
from noisewise.core.support.blocks import Floats

Answered = TypeVar("Answered")

#: Directions whose share of the largest second moment is below this are rounding, not features.
RANK_TOLERANCE = 1e-12


class ShardTask(NamedTuple):
    """One question to one shard, as it travels to a worker."""

    ask: Callable[..., Any]
    shard: Shard
    arguments: tuple[Any, ...]


def answer(task: ShardTask) -> Any:
    """What a worker does with a question; files that change meanwhile are found out afterwards."""
    task.shard.check()
    found = task.ask(task.shard, *task.arguments)
    task.shard.check()
    return found


def answer_numbered(numbered: tuple[int, ShardTask]) -> Any:
    """The same with the number by which the answer is known."""
    return answer(numbered[1])


def _home(numbered: tuple[int, ShardTask]) -> Any:
    return numbered[1].shard.key


def _name(numbered: tuple[int, ShardTask]) -> str:
    return f"a question about {numbered[1].shard.name}"


class Catalogue:
    """A list of actions, each a row of numbers, that answers questions in passes over its shards.

    Rules that can (`vaee`, `widest`, `vagd` and others) take it in place of an `ActionSet`, and measure the
    same actions; `optimal_design` takes it, too. Rows stay where they are: in an array, in files that are
    mapped into memory, or in Parquet files, which are made into maps once. Make one with `from_array`,
    `from_memmap` or `from_parquet`.

    Example:
        >>> rows = Catalogue.from_array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
        >>> rows.n_actions, rows.dim, rows.max_norm
        (3, 2, 2.0)
    """

    shards: list[Shard]

    def __init__(self, shards: Sequence[Shard], *, on: Any = None) -> None:
        self._set_up(shards, on)
        surveys: list[Survey] = self.every(survey)
        self.shards = [
            replace(shard, sample=found.sample) for shard, found in zip(self.shards, surveys, strict=True)
        ]
        self._moment = np.sum([found.moment for found in surveys], axis=0)
        self.max_norm = max(found.longest for found in surveys)

    def _set_up(self, shards: Sequence[Shard], on: Any) -> None:
        self.shards = list(shards)
        self._workers = None if on is None else workers_on(on)
        self.n_actions = sum(shard.count for shard in self.shards)
        self.dim = self.shards[0].dim
        self.single = all(shard.kind == "float32" for shard in self.shards)
        self.labels: None = None
        self.passes = 0
        """How often all shards were asked something about all of their rows."""
        self.returned = 0
        """How many bytes of rows came back, in all."""

    @classmethod
    def from_array(cls, vectors: ArrayLike, *, columns: Sequence[int] | None = None, on: Any = None) -> Self:
        """Rows of an array, which is used as it is: do not change it afterwards.

        Args:
            vectors: ``(n_actions, dim)``; float32 and float64 are not copied. A memory map goes to workers as
                the name of its file.
            columns: The columns that count; default: all.
            on: Workers that read the rows: see `from_memmap`.
        """
        array = np.asanyarray(getattr(vectors, "vectors", vectors))
        if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiub":
            raise ValueError(
                f"`vectors` must be numbers, (n_actions, dim), at least one row and column; got an array of "
                f"shape {array.shape} and type {array.dtype}."
            )
        if isinstance(array, np.memmap) and array.flags.c_contiguous and array.dtype.name in KINDS:
            owner = mapped_file(array)
            if owner is not None:
                return cls(
                    cut_into_shards(
                        *owner, len(array), array.shape[1], array.dtype.name, checked_places(columns)
                    ),
                    on=on,
                )
        if on is not None:
            raise ValueError(
                "`vectors` must be in a file that all workers can read if `on` is given; got an array in "
                "memory: "
                "write it with np.save, and use Catalogue.from_memmap."
            )
        kind = array.dtype.name if array.dtype.name in KINDS else "float64"
        held = np.ascontiguousarray(array, dtype=kind).view(np.ndarray)
        return cls([Shard(0, len(held), held.shape[1], kind, places=checked_places(columns), held=held)])

    @classmethod
    def from_memmap(
        cls,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        dim: int | None = None,
        dtype: str = "float32",
        columns: Sequence[int] | None = None,
        on: Any = None,
    ) -> Self:
        """Rows of files that are mapped into memory, file after file.

        Args:
            paths: Files, or patterns such as ``"rows/*.npy"`` (files in the order of their names). ``.npy``
                files
                say what is in them; others are bare numbers, row after row.
            dim: Numbers in a row of a bare file.
            dtype: What the numbers of a bare file are: ``"float32"`` or ``"float64"``.
            columns: The columns that count; default: all.
            on: Who reads the rows: a Dask client, the address of a scheduler or its file, or an executor of
                `concurrent.futures`, whose workers find the files under the same names. Default: this
                process.
        """
        shards: list[Shard] = []
        for path in files_meant(paths):
            offset, rows, width, kind = layout(path, dim, dtype)
            shards += cut_into_shards(
                str(path), offset, rows, width, kind, checked_places(columns), first=end_of(shards)
            )
        check_alike(shards)
        return cls(shards, on=on)

    @classmethod
    def from_parquet(
        cls,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        columns: Sequence[str] | None = None,
        on: Any = None,
    ) -> Self:
        """Rows of Parquet files; each is made into a memory map once, where it is read.

        Args:
            paths: Files, or patterns such as ``"rows/*.parquet"`` (files in the order of their names).
            columns: The names of the columns that count, in this order; default: all columns of numbers.
            on: Who reads the rows: see `from_memmap`. Every worker makes maps of the files it reads in its
                own cache.
        """
        if isinstance(columns, str):
            raise TypeError(f"`columns` must be a list of names; got the text {columns!r}.")
        shards: list[Shard] = []
        names = None if columns is None else tuple(columns)
        for path in files_meant(paths):
            names, rows, kind = looked_at(path, names)
            if rows:
                shards.append(
                    Shard(end_of(shards), rows, len(names), kind, str(path.resolve()), 0, parquet=names)
                )
        check_alike(shards)
        return cls(shards, on=on)

    def every(self, ask: Callable[..., Answered], *arguments: Any) -> list[Answered]:
        """Ask all shards, in their order; a shard that cannot answer is an error, never left out."""
        return self.each(ask, [arguments] * len(self.shards))

    def each(self, ask: Callable[..., Answered], arguments: Sequence[tuple[Any, ...]]) -> list[Answered]:
        """The same with arguments of its own for every shard."""
        self.passes += 1
        return list(self._asked(ask, list(zip(self.shards, arguments, strict=True))))

    def asked_alone(self, ask: Callable[..., Answered], shard: Shard, *arguments: Any) -> Answered:
        """Ask one shard."""
        (found,) = self._asked(ask, [(shard, arguments)])
        return found  # type: ignore[no-any-return]

    def take(self, rows: ArrayLike) -> Floats:
        """Some rows in float64, in the order in which they are asked for."""
        wanted: Indices = np.asarray(rows, dtype=np.int64)
        shard_of = np.searchsorted([shard.first for shard in self.shards], wanted, side="right") - 1
        found = np.empty((len(wanted), self.dim))
        asked = np.unique(shard_of)
        places = [np.flatnonzero(shard_of == number) for number in asked]
        questions = [
            (self.shards[number], (wanted[some] - self.shards[number].first,))
            for number, some in zip(asked, places, strict=True)
        ]
        for some, got in zip(places, self._asked(taken, questions), strict=True):
            found[some] = got
            self.returned += got.nbytes
        return found

    def _asked(
        self, ask: Callable[..., Any], questions: list[tuple[Shard, tuple[Any, ...]]]
    ) -> Iterable[Any]:
        tasks = [ShardTask(ask, shard, arguments) for shard, arguments in questions]
        if self._workers is None:
            return [answer(task) for task in tasks]
        # A shard stays with a worker as long as that lives: what it keeps of the shard is there.
        numbered = list(enumerate(tasks))
        found: dict[int, Any] = {}
        for (number, _), answered in self._workers.spread(
            answer_numbered, numbered, home_of=_home, name_of=_name
        ):
            found[number] = answered
        return [found[number] for number, _ in numbered]

    @property
    def columns(self) -> Floats:
        """One column, for the vector that is spoken of: see `noisewise.core.model.vectors`."""
        return np.zeros((self.dim, 1))

    @functools.cached_property
    def rank(self) -> int:
        """How many directions the rows span."""
        scale = np.sqrt(np.maximum(np.diag(self._moment), np.finfo(float).tiny))
        eigenvalues = np.linalg.eigvalsh(self._moment / np.outer(scale, scale))
        return int((eigenvalues > RANK_TOLERANCE * max(1.0, eigenvalues[-1])).sum())

    def label(self, action: int) -> str:
        """The name of an action: its row number."""
        return str(self.index(action))

    def index(self, action: Any) -> int:
        """The row of an action, checked."""
        try:
            row = operator.index(action)
        except TypeError:
            row = -1
        if isinstance(action, bool) or not 0 <= row < self.n_actions:
            raise ValueError(f"`action` must be a row number from 0 to {self.n_actions - 1}; got {action!r}.")
        return int(row)

    def fingerprint(self) -> str:
        """A hash of the rows, one pass: two catalogues with the same one have the same rows."""
        mixed = sum(self.every(row_hash)) % 2**64
        return hashlib.sha256(f"catalogue {self.n_actions} {self.dim} {mixed}".encode()).hexdigest()

    def __len__(self) -> int:
        return self.n_actions

    def __repr__(self) -> str:
        parts = f" in {len(self.shards)} shards" if len(self.shards) > 1 else ""
        return f"Catalogue({self.n_actions} actions, {self.dim} features{parts})"
