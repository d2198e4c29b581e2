"""BoTorch with known error bars: a Gaussian process over the options, and noisy expected improvement."""

import warnings

import numpy as np
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.rivals.player import Clock, Played, Tally
from benchmarks.rivals.worlds import Drawn

#: Measurements that are chosen by one fit.
BATCH = 5


def play(drawn: Drawn) -> Played:
    """Every option once (half of them where features tell of the others), then batches; named by its mean."""
    torch.set_num_threads(1)
    torch.manual_seed(drawn.seed)
    warnings.simplefilter("ignore")
    world, played = drawn.world, Played(drawn.seed)
    clock, tally = Clock(played), Tally(world)
    # Features lie between -1 and 1: its priors of length scales are made for the unit cube.
    places = torch.tensor(
        (drawn.x + 1.0) / 2.0 if world.features else np.arange(world.options)[:, None], dtype=torch.float64
    )
    coming = list(range(world.options // 2 if world.features else world.options))
    while played.decisions < world.budgets[-1]:
        if not coming:
            with clock:
                coming = _next(_fitted(places, tally, world.features > 0), places, tally)
        option = coming.pop(0)
        tally.add(option, drawn.measure(option))
        played.decisions += 1
        if played.decisions in world.budgets:
            model = _fitted(places, tally, world.features > 0)
            with torch.no_grad():
                means = model.posterior(places).mean.squeeze(-1)
            played.losses.append(drawn.loss(int(means.argmax())))
    return played


def _fitted(places: torch.Tensor, tally: Tally, features: bool) -> SingleTaskGP:
    """On the mean of each option measured so far, with its variance."""
    seen = torch.tensor(np.flatnonzero(tally.count))
    means = torch.tensor(tally.means[seen.numpy()])[:, None]
    variances = torch.tensor(np.maximum(tally.errors[seen.numpy()], 1e-4) ** 2)[:, None]
    # In units of the spread of the means, as its documentation wants it.
    scale = means.std().clamp_min(1e-6)
    given = ((means - means.mean()) / scale, variances / scale**2)
    model = (
        SingleTaskGP(places[seen], *given)
        if features
        else MixedSingleTaskGP(places[seen], given[0], [0], given[1])
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _next(model: SingleTaskGP, places: torch.Tensor, tally: Tally) -> list[int]:
    seen = torch.tensor(np.flatnonzero(tally.count))
    gain = qLogNoisyExpectedImprovement(model, X_baseline=places[seen], prune_baseline=True)
    chosen, _ = optimize_acqf_discrete(gain, q=BATCH, choices=places, unique=False)
    return [int((places - point).abs().sum(-1).argmin()) for point in chosen]
