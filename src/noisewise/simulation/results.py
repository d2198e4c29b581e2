"""What a simulation returns: arrays over replications and checkpoints."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model import Floats


@dataclass(frozen=True, eq=False)
class Simulation:
    """R replications of one rule, looked at after ``checkpoints`` rounds (C of them)."""

    policy: str
    options: dict[str, Any]
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]  # (C,)
    pulled: NDArray[np.int32]  # (R, T): the actions measured
    advised: NDArray[np.int32]  # (R, C): the actions recommended
    simple_regret: Floats  # (R, C)
    cumulative_regret: Floats  # (R, C)
    total_precision: Floats  # (R, C)
    radius: Floats  # (R, C)
    distance: Floats  # (R, C): ‖θ̂ - θ‖ in the norm of V
    bound: Floats  # (R, C): certified regret bound
    stopped: NDArray[np.int64]  # (R,): rounds used

    @property
    def replications(self) -> int:
        """How many replications there are."""
        return len(self.pulled)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the certificate held at every checkpoint, ``(R,)``."""
        return np.asarray((self.distance <= self.radius).all(axis=1))

    def __repr__(self) -> str:
        final = self.simple_regret[:, -1]
        error = final.std(ddof=1) / np.sqrt(len(final)) if len(final) > 1 else float("nan")
        return (
            f"Simulation({self.policy}: {self.replications} replications of {self.horizon} rounds, "
            f"simple regret {final.mean():.4g} ± {error:.2g})"
        )


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``finished`` holds the replications that were complete, if any."""

    def __init__(self, finished: Simulation | None) -> None:
        done = 0 if finished is None else finished.replications
        super().__init__(f"interrupted after {done} complete replications")
        self.finished = finished


def select(simulation: Simulation, replications: NDArray[np.intp]) -> Simulation:
    """Some replications of a simulation."""
    parts = {field.name: getattr(simulation, field.name) for field in fields(simulation)}
    for name, part in parts.items():
        if isinstance(part, np.ndarray) and name != "checkpoints":
            parts[name] = part[replications]
    return Simulation(**parts)
