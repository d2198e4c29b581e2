"""Several families of bounds on the same differences, each with its share of the error probability."""

from collections.abc import Callable, Sequence

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.evidence.pairs import PairedItems
from noisewise.study.evidence.symmetric import SymmetricRounds
from noisewise.study.log.measurements import KINDS
from noisewise.study.log.specification import SYMMETRIC
from noisewise.study.log.state import State
from noisewise.study.models.boundary import PAIRED
from noisewise.study.models.fit import Fit, fit_independent
from noisewise.study.models.study_model import BoundaryCase
from noisewise.study.models.sums import pool
from noisewise.study.telling.error_bars import ITEMS


class Narrowest(HalfWidths):
    """The smallest half-width of all families: each holds with its own share, so all hold at once."""

    def __init__(self, families: Sequence[HalfWidths]) -> None:
        self.families = tuple(families)

    @property
    def evidence(self) -> tuple[str, ...]:
        """That of all families, each once."""
        return tuple(dict.fromkeys(name for family in self.families for name in family.evidence))

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return np.asarray(np.min([family.half_widths(option) for family in self.families], axis=0))

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return np.asarray(np.min([family.lead_widths(rival) for family in self.families], axis=0))


class Moved(HalfWidths):
    """Half-widths around the estimates of one fit, counted from those of another."""

    def __init__(self, family: HalfWidths, own: Fit, shown: Fit) -> None:
        self._family, self._own, self._shown = family, own, shown

    @property
    def evidence(self) -> tuple[str, ...]:
        """That of the family."""
        return self._family.evidence

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return self._family.half_widths(option) + self._between(option)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self._family.lead_widths(rival) - self._between(rival)

    def _between(self, option: int) -> Floats:
        """By how much differences to this option are estimated larger by the one than by the other, (n,)."""
        apart = self._own.differences(option) - self._shown.differences(option)
        return np.where(np.isfinite(apart), apart, 0.0)


def bounds_with_items(
    state: State, case: BoundaryCase, n: int, without: Callable[[BoundaryCase], HalfWidths]
) -> HalfWidths:
    """The narrowest of what paired items say and of what everything else says.

    Answers to an item that other options answered before are no fresh measurements of one option: they enter
    the pairs alone, never the evidence about single options, which multiplies.

    Args:
        state: The study.
        case: What bounds are made from.
        n: The number of options.
        without: The bounds from measurements that are not of items.
    """
    if not state.begins_with_items:
        return without(case)
    sign, of_items = state.specification.sign, case.columns.kind == KINDS.index(ITEMS)
    shares = case.shares
    families: list[HalfWidths] = []
    if state.items:
        live, some = state.items.n_measurements, case.columns.number[of_items]
        # Only in a look at earlier times are there fewer.
        prefixes = None if some.size in (0, live) else state.items.prefixes(some.tolist())
        families.append(_pairs(state, case, n, prefixes))
    if not of_items.all() or not families:
        columns, sigma = case.columns.select(~of_items), case.sigma[~of_items]
        sums = pool(columns, sigma, sign)
        fit = fit_independent(n, sums) if sums.n_measurements else case.fit
        rest = 1.0 - PAIRED
        other = case._replace(
            fit=fit, sums=sums, columns=columns, sigma=sigma, delta=rest * case.delta,
            shares=shares._replace(delta=rest * shares.delta),
        )  # fmt: skip
        families.append(Moved(without(other), fit, case.fit))
    return families[0] if len(families) == 1 else Narrowest(families)


def _pairs(state: State, case: BoundaryCase, n: int, prefixes: dict[int, int] | None) -> HalfWidths:
    """What paired items say."""
    question, shares = state.specification, case.shares
    doubt = shares._replace(delta=PAIRED * shares.delta).doubt
    if question.noise == SYMMETRIC:
        return SymmetricRounds(
            state.items, n, question.sign, differences=case.fit.differences, resolution=case.resolution,
            doubt=doubt, prefixes=prefixes, gross=question.value_scale.log, changed=shares.changed,
        )  # fmt: skip
    return PairedItems(
        state.items, n, question.sign, differences=case.fit.differences, resolution=case.resolution,
        doubt=doubt, prefixes=prefixes,
    )  # fmt: skip
