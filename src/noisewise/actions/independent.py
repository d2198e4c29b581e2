"""A finite list of options that share nothing: one unknown each, no vectors."""

from collections.abc import Sequence
from typing import Any

from noisewise.actions.finite import ActionSet
from noisewise.core.independent import NO_VECTORS, Separate, separate


class IndependentOptions(ActionSet):
    """Options without features, for rules on the independent model.

    Args:
        n_actions: How many there are.
        labels: Names for people, one per option.
        columns: Which of them a border touches; default: none.
        rank: How many directions matter; default: one per option.
        max_norm: The largest prior standard deviation of an option, in units of 1/√ridge.
    """

    def __init__(
        self,
        n_actions: int,
        labels: Sequence[str] | None = None,
        columns: Separate | None = None,
        *,
        rank: int | None = None,
        max_norm: float = 1.0,
    ) -> None:
        self.n_actions, self.dim = n_actions, n_actions
        self.rank = n_actions if rank is None else rank
        self.labels = None if labels is None else list(labels)
        self.is_memory_map = False
        self.max_norm = max_norm
        self._separate = separate(n_actions) if columns is None else columns

    @property
    def columns(self) -> Any:
        """What stands for the vectors: see `noisewise.core.independent`."""
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
