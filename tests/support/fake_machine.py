"""A machine whose clock is moved by what it runs: timings without waiting."""

import math

import numpy as np

from noisewise.timing.race import Race, Timed


class FakeMachine:
    """Runs take what they should, times noise; the clock goes on by that."""

    def __init__(self, seed, scatter=0.02, drift=0.0, outliers=0.0, far=0.5, cold=0.0):
        self.rng = np.random.default_rng(seed)
        self.scatter, self.drift, self.outliers, self.far, self.cold = scatter, drift, outliers, far, cold
        self.now = self.level = 0.0
        self.runs = []  # names in the order of running

    def timed(self, name, seconds):
        """A contender that takes so long."""

        def take():
            self.level += self.drift * self.rng.standard_normal()
            log = self.level + self.scatter * self.rng.standard_normal()
            if self.rng.random() < self.outliers:
                log += abs(self.far * self.rng.standard_normal())
            if name not in self.runs:
                log += self.cold
            self.runs.append(name)
            took = seconds * math.exp(log)
            self.now += took
            return took

        return Timed(name, take)

    def race(self, times, **question):
        """A race of options that take so long, by name."""
        timed = [self.timed(name, seconds) for name, seconds in times.items()]
        question = {"eps": "2%", "seed": 0, "progress": False, "clock": lambda: self.now} | question
        return Race(timed, **question).run()
