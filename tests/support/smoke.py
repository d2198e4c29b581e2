"""A little of everything, with the package that is installed: ``python -P smoke.py FOLDER``.

The package must come from below the folder. The last line says which verbs it has. It needs nothing else.
"""

import sys

import numpy as np

import noisewise as nw
from noisewise.core.native.verbs import engine_words


def main() -> None:
    """A policy, a simulation, a study."""
    if not str(nw.__file__).startswith(sys.argv[1]):
        raise RuntimeError(f"noisewise must come from {sys.argv[1]}; it is {nw.__file__}.")
    policy = nw.vage(np.random.default_rng(0).standard_normal((20, 3)))
    for _ in range(10):
        policy.tell(policy.ask(), 1.0, 0.5)
    instance = nw.instances.soare(3)
    world = instance.environment(nw.schedules.rare_quiet)
    nw.simulate(nw.vaee(instance.actions), world, horizon=20, replications=2)
    study = nw.create_study(options=["red", "green"], eps=1.0)
    (job,) = study.ask()
    study.tell(option=job.option, value=1.0, se=0.1)
    sys.stdout.write(f"{study.certificate()}\n{engine_words()}\n")


if __name__ == "__main__":
    main()
