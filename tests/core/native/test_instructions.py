"""The verbs for any processor choose what those for newer ones do, and so does NumPy."""

import json
import os
import subprocess
import sys

import pytest

from noisewise.core.native.verbs import extension

pytestmark = pytest.mark.skipif(extension is None, reason="the extension is not built")

PULLS = """
import json
import noisewise as nw
from noisewise.core.native.verbs import extension
instance = nw.instances.sphere(130, 7)
world = instance.environment(nw.schedules.log_uniform)
rules = "vaee", "vage", "oful", "linear_thompson", "lingape", "robust_vaee", "lingame", "bayes_gap"
policies = {name: nw.make_policy(name, instance.actions) for name in rules}
policies["medians"] = nw.robust_vaee(instance.actions, estimator="median-of-means", blocks=3)
sims = {
    name: nw.simulate(policy, world, horizon=90, replications=2, on=1)
    for name, policy in policies.items()
}
pulls = {name: sim.pulled.tolist() for name, sim in sims.items()}
print(json.dumps([extension.instructions if extension else "numpy", pulls]))
"""


def pulls(verbs):
    """What some rules measure in a process with these verbs."""
    environment = {name: value for name, value in os.environ.items() if name != "NOISEWISE_VERBS"}
    done = subprocess.run(
        [sys.executable, "-c", PULLS],
        env=environment | ({"NOISEWISE_VERBS": verbs} if verbs else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.long("processes")
def test_every_kind_of_verbs_chooses_the_same():
    _, usual = pulls(None)
    for verbs in ("baseline", "numpy"):
        kind, found = pulls(verbs)
        assert kind == verbs
        assert found == usual
