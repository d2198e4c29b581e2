"""Somebody who knows the truth and looks at every value, and wants a bound to be wrong at any look."""

import numpy as np


def ever_wrong(means, draw, half_widths, *, looks, batch, rng):
    """Whether the bound on how much the best option exceeds some other one is ever too small.

    The adversary measures whatever looks most misleading: the best option as long as its mean is not far
    below the truth, else the option that has been lucky most.

    Args:
        means: The true values; the first is the largest.
        draw: Readings of an option: ``draw(option, count)``.
        half_widths: From lists of readings to the half-widths of differences to an option.
        looks: How often it is looked.
        batch: Readings between two looks.
        rng: For choices that do not matter.
    """
    told = [list(draw(option, batch)) for option in range(means.size)]
    for _ in range(looks):
        estimates = np.array([np.mean(values) for values in told])
        errors = np.array([np.std(values) / np.sqrt(len(values)) + 1e-12 for values in told])
        surprise = (estimates - means) / errors * np.where(np.arange(means.size) == 0, -1.0, 1.0)
        looking = half_widths(told)
        for other in range(1, means.size):
            if means[0] - means[other] > estimates[0] - estimates[other] + looking(other)[0]:
                return True
        # What misleads already is left alone; the rest is drawn until it does.
        option = 0 if surprise[0] < 1.5 else 1 + int(np.argmin(surprise[1:] + 1e-9 * rng.random()))
        told[option] += list(draw(option, batch))
    return False
