"""What a simulation returns: arrays over replications and checkpoints, and frames made from them."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_probability
from noisewise.core.distributions import student_quantile

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Simulation:
    """R replications of one rule, looked at after ``checkpoints`` rounds (C of them)."""

    policy: str
    options: dict[str, Any]
    world: dict[str, Any]
    stop: dict[str, Any]
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]  # (C,)
    pulled: NDArray[Any]  # (R, T): the rows measured, -1 after a stop; of vectors (R, T, dim), NaN after it
    advised: NDArray[Any]  # (R, C): the rows recommended; of vectors (R, C, dim)
    simple_regret: Floats  # (R, C)
    cumulative_regret: Floats  # (R, C)
    total_precision: Floats  # (R, C)
    radius: Floats  # (R, C)
    distance: Floats  # (R, C): ‖θ̂ - θ‖ in the norm of V
    bound: Floats  # (R, C): certified regret bound
    stopped: NDArray[np.int64]  # (R,): rounds used
    fired: NDArray[np.bool_]  # (R,): whether the stopping rule ended it, not the horizon
    theta_norm: Floats  # (R,): ‖θ‖

    @property
    def replications(self) -> int:
        """How many replications there are."""
        return len(self.pulled)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether no regret was above its certified bound at any checkpoint, ``(R,)``.

        Where `beyond_norm_bound` is true the certificate promised nothing, and this means little.
        """
        return np.asarray((self.simple_regret <= self.bound + 1e-12).all(axis=1))

    @property
    def beyond_norm_bound(self) -> NDArray[np.bool_]:
        """Whether ‖θ‖ exceeds the rule's ``norm_bound``, against what its certificate assumes, ``(R,)``."""
        return np.asarray(self.theta_norm > self.options.get("norm_bound", math.inf) * (1.0 + 1e-9))

    @property
    def caveat(self) -> str:
        """What coverage and bounds rest on and is not so, in one sentence; empty if there is nothing."""
        count = int(np.count_nonzero(self.beyond_norm_bound))
        if not count:
            return ""
        return (
            f"theta exceeds norm_bound={self.options['norm_bound']:g} of {self.policy} in {count} of "
            f"{self.replications} replications (its norm is up to {self.theta_norm.max():.4g}), where bounds "
            "and coverage promise nothing"
        )

    def frame(self) -> "pl.DataFrame":
        """One row per replication and checkpoint, as a polars frame.

        ``measured`` lists the actions measured since the checkpoint before; that of the last checkpoint
        also those measured after it.
        """
        import polars as pl

        shape = self.simple_regret.shape
        inner = self.checkpoints[:-1].tolist()
        spans = list(zip([0, *inner], [*inner, self.horizon], strict=True))
        stretches = [pulls[first:last] for pulls in self.pulled for first, last in spans]
        columns: dict[str, Any] = {
            "policy": pl.repeat(self.policy, self.simple_regret.size, eager=True),
            "replication": np.repeat(np.arange(shape[0]), shape[1]),
            "round": np.tile(self.checkpoints, shape[0]),
        }
        columns |= {name: getattr(self, name).ravel() for name in PER_CHECKPOINT}
        if self.advised.ndim == 3:
            columns["advised"] = pl.Series(list(self.advised.reshape(-1, self.advised.shape[2])))
        columns["stopped"] = np.repeat(self.stopped, shape[1])
        columns["fired"] = np.repeat(self.fired, shape[1])
        columns["theta_norm"] = np.repeat(self.theta_norm, shape[1])
        # Cast: polars makes equally long stretches an Array, whatever dtype it is given.
        # Vectors follow each other in one list.
        entry = pl.Int32 if self.pulled.ndim == 2 else pl.Float64
        columns["measured"] = pl.Series([stretch.ravel() for stretch in stretches]).cast(pl.List(entry))
        return pl.DataFrame(columns)

    def summary(self, confidence: float = 0.95) -> "pl.DataFrame":
        """The mean simple regret after each checkpoint with its confidence interval."""
        import polars as pl

        low, high = mean_interval(self.simple_regret, confidence)
        return pl.DataFrame(
            {
                "policy": pl.repeat(self.policy, self.checkpoints.size, eager=True),
                "rounds": self.checkpoints,
                "precision": self.total_precision.mean(axis=0),
                "mean": self.simple_regret.mean(axis=0),
                "low": low,
                "high": high,
                "cumulative": self.cumulative_regret.mean(axis=0),
                "bound": self.bound.mean(axis=0),
            }
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a Parquet file; `noisewise.simulation.load_simulations` reads it."""
        from noisewise.simulation.files import save_simulations

        save_simulations([self], path)

    def __repr__(self) -> str:
        final = self.simple_regret[:, -1]
        error = final.std(ddof=1) / np.sqrt(len(final)) if len(final) > 1 else math.nan
        return (
            f"Simulation({self.policy}: {self.replications} replications of {self.horizon} rounds, "
            f"simple regret {final.mean():.4g} ± {error:.2g}{'; ' * bool(self.caveat)}{self.caveat})"
        )


#: The arrays of shape (R, C).
PER_CHECKPOINT = (
    "advised",
    "simple_regret",
    "cumulative_regret",
    "total_precision",
    "radius",
    "distance",
    "bound",
)
#: All arrays with a row for each replication.
PER_REPLICATION = (*PER_CHECKPOINT, "pulled", "stopped", "fired", "theta_norm")


def mean_interval(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """A confidence interval for the mean over the first axis (Student's t; one value has none)."""
    check_probability("confidence", confidence)
    n = len(values)
    mean = values.mean(axis=0)
    if n == 1:
        return mean, mean
    half = student_quantile(n - 1, 0.5 + confidence / 2.0) * values.std(axis=0, ddof=1) / math.sqrt(n)
    return mean - half, mean + half


def compare(
    simulations: "list[Simulation]", *, against: str | None = None, confidence: float = 0.95
) -> "pl.DataFrame":
    """Paired differences in final simple regret to one of the policies, on common random numbers.

    Where a policy takes part several times, its name is followed by the options that differ.

    Args:
        simulations: Simulations of one world, with the same seed, horizon and number of replications.
        against: Name of the policy to compare with; default: the first.
        confidence: Confidence level of the intervals.
    """
    import polars as pl

    names = distinct_names(simulations)
    base, base_name = _pick(simulations, names, against)
    rows = []
    for simulation, name in zip(simulations, names, strict=True):
        for shared in ("world", "seed", "horizon", "replications"):
            if getattr(simulation, shared) != getattr(base, shared):
                raise ValueError(
                    f"`simulations` must share their {shared}, or their noise is not common; "
                    f"got {getattr(base, shared)!r} and {getattr(simulation, shared)!r}."
                )
        last, base_last = int(simulation.checkpoints[-1]), int(base.checkpoints[-1])
        if last != base_last:
            raise ValueError(
                f"`simulations` must share their last checkpoint, where they are compared; "
                f"got {base_last} and {last}."
            )
        mine, theirs = simulation.simple_regret[:, -1], base.simple_regret[:, -1]
        low, high = mean_interval(mine - theirs, confidence)
        rows.append(
            {
                "policy": name,
                "against": base_name,
                "mean": float(mine.mean()),
                "difference": float((mine - theirs).mean()),
                "low": float(low),
                "high": float(high),
                "better": float((mine < theirs).mean()),
                "worse": float((mine > theirs).mean()),
            }
        )
    return pl.DataFrame(rows)


def distinct_names(simulations: "Sequence[Simulation]") -> list[str]:
    """The names of the policies, with the options in which several uses of one name differ."""
    uses: defaultdict[str, list[Simulation]] = defaultdict(list)
    for one in simulations:
        uses[one.policy].append(one)
    found = []
    for one in simulations:
        names = dict.fromkeys(name for use in uses[one.policy] for name in use.options)
        told = [
            f"{name}={_short(one.options.get(name))}"
            for name in names
            if any(use.options.get(name) != one.options.get(name) for use in uses[one.policy])
        ]
        found.append(f"{one.policy} ({', '.join(told)})" if told else one.policy)
    return found


def _short(value: Any) -> str:
    return text if len(text := str(value)) <= 20 else "…"


def _pick(simulations: "list[Simulation]", names: list[str], wanted: str | None) -> tuple[Simulation, str]:
    if not simulations:
        raise ValueError("`simulations` must hold at least one simulation; got none.")
    for simulation, name in zip(simulations, names, strict=True):
        if wanted in (None, name, simulation.policy):
            return simulation, name
    raise ValueError(f"`against` must be one of {', '.join(names)}; got {wanted!r}.")


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
