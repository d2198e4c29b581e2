"""Measurements under way, taken as if they had come out as expected."""

import functools
import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import (
    DIFFERENCE,
    OPTION,
    Coming,
    Manner,
    block_going_on,
    expected_manner,
    expected_noise,
)
from noisewise.study.asking.what_if import More, WhatIf, condensed, with_more
from noisewise.study.evidence.half_widths import SeparateOptions, expected_above
from noisewise.study.intake.answers import blocks_named
from noisewise.study.log.measurements import NO_BLOCK, NOBODY, Columns
from noisewise.study.log.state import Job
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.variance_components import Sizes

#: Begins the names of blocks that have none yet: no block of a study begins so.
UNNAMED = "\0"


class UnderWay(NamedTuple):
    """A measurement that is being made."""

    option: int
    minus: int  # NOBODY unless a difference
    block: str
    sigma: float  # with extra scatter, as the certificate will have it
    announced: float | None  # the error bar that was said
    manner: Manner = Manner()  # how it will be told


class Imagination:
    """The study as it will be when everything under way has come out as expected.

    Values that come out as expected change no estimate, so it does not matter in which order they come.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    @functools.cached_property
    def _columns(self) -> Columns:
        return condensed(self._analysis)

    def with_all(self, under_way: list[UnderWay]) -> Analysis:
        """The study with all of these; as it is while standard errors are not known, and nothing follows."""
        analysis = self._analysis
        if not under_way or (analysis.columns.value.size and analysis.sigmas.waiting):
            return analysis
        sigma = np.array([one.sigma for one in under_way])
        # Extra scatter is in all error bars already.
        sizes = Sizes(deviation=analysis.sizes.certified[0], waiting=analysis.sizes.waiting)
        columns = with_more(self._columns, self._more(under_way, sigma))
        return WhatIf(analysis.state, columns, sizes, imagined=True)

    def told(self, under_way: list[UnderWay]) -> Analysis:
        """The study as it will be when all of these have been told, with estimates as they will be shown."""
        analysis = self._analysis
        if not under_way:
            return analysis
        more = self._more(under_way, np.array([_error_bar(one, analysis) for one in under_way]))
        return WhatIf(analysis.state, with_more(analysis.columns, more), analysis.sizes)

    def _more(self, under_way: list[UnderWay], sigma: Floats) -> More:
        return More(
            plus=np.array([one.option for one in under_way]),
            minus=np.array([one.minus for one in under_way]),
            value=self._expected(under_way),
            sigma=sigma,
            blocks=[one.block for one in under_way],
            manners=[one.manner for one in under_way],
        )

    def _expected(self, under_way: list[UnderWay]) -> Floats:
        """As a person would read them.

        Where nothing links an option with its coming block, or with the option that it is compared with,
        nobody knows what to expect. What is linked is then taken to lie around the same middle, so that
        nothing depends on the level that a block happens to have.
        """
        analysis = self._analysis
        if not analysis.columns.value.size:
            return np.zeros(len(under_way))
        waiting = bool(analysis.sigmas.waiting)  # then no error bars are certified
        fit = analysis.estimates if waiting else analysis.certified
        sums = analysis.sums if waiting else analysis.certified_sums
        _, place = np.unique(fit.group, return_inverse=True)
        middle = np.bincount(place, fit.means) / np.bincount(place)
        above = fit.means - middle[place]
        above[fit.group < 0] = 0.0
        # What is added in a block: its offset, and the middle of those that it is linked with.
        level = np.flatnonzero(sums.minus < 0)
        zero = np.zeros(len(sums.blocks))
        zero[sums.block[level]] = fit.offsets[sums.block[level]] + middle[place[sums.plus[level]]]
        added = dict(zip(sums.blocks, zero.tolist(), strict=True))
        expected = [
            above[one.option] - above[one.minus]
            if one.minus != NOBODY
            else above[one.option] + added.get(one.block, 0.0) + sums.centre
            for one in under_way
        ]
        return analysis.specification.sign * (np.array(expected) + self._above(under_way))

    def _above(self, under_way: list[UnderWay]) -> Floats:
        """What is expected beyond the estimates, where options share nothing."""
        analysis, above = self._analysis, np.zeros(len(under_way))
        if analysis.sigmas.waiting or not isinstance(analysis.boundary, SeparateOptions):
            return above
        found: dict[Manner, Floats] = {}
        measured = analysis.certified.group >= 0  # of the others nothing is expected but the middle
        for at, one in enumerate(under_way):
            if one.minus == NOBODY and one.block == NO_BLOCK and measured[one.option]:
                if one.manner not in found:
                    coming = Coming(np.ones(analysis.n), analysis.state.allowed(), manner=one.manner)
                    more = coming.evidence(analysis.specification.resolution)
                    found[one.manner] = expected_above(analysis.boundary, more)
                above[at] = found[one.manner][one.option]
        return above


def _error_bar(one: UnderWay, analysis: Analysis) -> float:
    """What will be told: without extra scatter."""
    if one.announced is not None:
        return one.announced
    scatter = analysis.sizes.certified[1]
    return math.sqrt(max(one.sigma**2 - scatter**2, 1e-12 * one.sigma**2))


def all_under_way(analysis: Analysis, jobs: list[Job]) -> list[UnderWay]:
    """What these suggestions stand for."""
    state = analysis.state
    found, going_on = [], block_going_on(analysis)
    noise: dict[tuple[str, float | None], Floats] = {}
    manners: dict[float | None, Manner] = {}
    for job in jobs:
        option, minus = state.index[job.option], NOBODY if job.minus is None else state.index[job.minus]
        probe = OPTION if minus == NOBODY else DIFFERENCE
        if (probe, job.sigma) not in noise:
            noise[probe, job.sigma] = expected_noise(analysis, job.sigma, probe)
        sigma = noise[probe, job.sigma][option]
        if minus == NOBODY and job.sigma not in manners:
            manners[job.sigma] = expected_manner(analysis, job.sigma)
        manner = manners[job.sigma] if minus == NOBODY else Manner()
        found.append(
            UnderWay(option, minus, _block_of(job, analysis, going_on), float(sigma), job.sigma, manner)
        )
    return found


def _block_of(job: Job, analysis: Analysis, going_on: str) -> str:
    """The block that was said, that answers to the same new block named, or that goes on."""
    if job.block is not None:
        return job.block
    if job.together is None:
        return going_on
    named = blocks_named(analysis.state, job.together)
    return min(named) if named else UNNAMED + job.together
