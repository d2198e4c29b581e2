"""Commands and functions that seem to take a given time, however fast the machine is."""

import math
import re

import numpy as np
import pytest

from noisewise.timing.commands import Command

SLEEP = re.compile(r"sleep (\d*\.?\d+)")


@pytest.fixture
def simulated_times(monkeypatch):
    """Run commands, but let each take the seconds of its `sleep`, give or take 2 %, or else a millisecond."""
    rng, run = np.random.default_rng(0), Command._run

    def simulated(self, words, what):
        run(self, [SLEEP.sub("sleep 0", word) for word in words] if words[0] != "sleep" else ["true"], what)
        seconds = sum(map(float, SLEEP.findall(" ".join(words)))) or 1e-3
        return seconds * math.exp(0.02 * rng.standard_normal())

    monkeypatch.setattr(Command, "_run", simulated)
