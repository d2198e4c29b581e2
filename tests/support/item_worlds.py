"""Answers of options to items of different difficulty, told to studies."""

import numpy as np

import noisewise as nw


def answers_of(rng, n, size, sd=2.0):
    """Right and wrong answers, (n, size)."""
    strength = rng.uniform(0.5, 2.0, n)
    chance = 1.0 / (1.0 + np.exp(-(strength[:, None] + sd * rng.standard_normal(size))))
    return (rng.random((n, size)) < chance).astype(int)


def told(study, option, values):
    """Tell an option its next items; those that the study does not know yet are called q0, q1, …"""
    row = study._log.state.index[option]
    start, known = study._log.state.items.of(row).prefix, study._log.state.items.names
    names = [known[k] if k < len(known) else f"q{k}" for k in range(start, start + len(values))]
    return study.tell(option=option, items=dict(zip(names, values, strict=True)))


def study_of(answers, goal="max", pool=None, **more):
    """A study with these answers, one list for each option."""
    names = "ABCDEFGHIJ"[: len(answers)]
    study = nw.create_study(
        options=list(names), eps=0.05, goal=goal, measure=nw.Items(pool), **{"seed": 0} | more
    )
    for name, values in zip(names, answers, strict=True):
        if len(values):
            told(study, name, values)
    return study
