"""The worlds of the arena: an instance under a schedule, with or without announcement or noise of its own."""

from dataclasses import dataclass, field
from typing import Any

from noisewise.core.checks import nearest
from noisewise.simulation import Environment, action_noise, instances, schedules


@dataclass(frozen=True)
class Cell:
    """One world, as names and plain options, so that a file can remember it and a process be sent it."""

    instance: str
    schedule: str
    instance_options: dict[str, Any] = field(default_factory=dict)
    schedule_options: dict[str, Any] = field(default_factory=dict)
    announced: bool = False
    action_noise: str | None = None
    label: str = ""
    """The instance's name for people; default: its name with its size."""

    @property
    def name(self) -> str:
        """What people call it: the instance, the schedule, and what is special about the noise."""
        special = f", {self.action_noise}" if self.action_noise else ""
        return f"{self.label or self.instance} / {self.schedule}{special}{', announced' * self.announced}"

    def environment(self, horizon: int) -> Environment:
        """The world for runs of ``horizon`` rounds."""
        options = dict(self.instance_options)
        if self.instance == "case-study":
            options.setdefault("horizon", horizon)
        instance = instances.named(self.instance, **options)
        noise = None if self.action_noise is None else action_noise.named(self.action_noise)
        return instance.environment(self._schedule(instance), announced=self.announced, action_sigma=noise)

    def _schedule(self, instance: instances.Instance) -> Any:
        if self.schedule == "its own":
            return instance.schedule
        options = dict(self.schedule_options)
        if self.schedule == "flat":
            options.setdefault("dim", instance.actions.dim)
        return schedules.named(self.schedule, **options)


#: Five problems whose gaps shrink with the total precision, so that no horizon makes them easy.
_INSTANCES: list[tuple[str, str, dict[str, Any]]] = [
    ("sphere 60 x 6", "sphere", {"n_actions": 60, "dim": 6, "reach": 48.0}),
    ("sphere 200 x 3", "sphere", {"n_actions": 200, "dim": 3, "reach": 24.0}),
    ("hypercube 5", "hypercube", {"dim": 5, "scale": 0.8}),
    ("soare 6", "soare", {"dim": 6, "angle": 0.1, "reach": 30.0}),
    ("clustered 60 x 6", "clustered", {"n_actions": 60, "dim": 6, "reach": 180.0}),
]
#: The paper's four schedules, and two that are rough.
_SCHEDULES = ("flat", "fast-decaying", "moderate-spikes", "front-loaded", "log-uniform", "rare-quiet")
_ELSEWHERE: list[tuple[str, str, dict[str, Any]]] = [
    ("polytope 4", "polytope", {"dim": 4, "reach": 32.0}),
    ("leaderboard", "leaderboard", {}),
]

GRID = [
    Cell(instance, schedule, options, label=label)
    for label, instance, options in _INSTANCES
    for schedule in _SCHEDULES
]
SPECIAL = [
    Cell("case-study", "its own", label="case study"),
    *(
        Cell(instance, schedule, options, label=label)
        for label, instance, options in _ELSEWHERE
        for schedule in ("flat", "log-uniform", "rare-quiet")
    ),
    *(
        Cell(instance, "flat", options, action_noise=noise, label=label)
        for label, instance, options in _INSTANCES + _ELSEWHERE
        for noise in ("spread-out", "quiet-when-useless")
    ),
    *(
        Cell(instance, schedule, options, announced=True, label=label)
        for label, instance, options in _INSTANCES
        for schedule in ("log-uniform", "rare-quiet")
    ),
]
#: The sets of cells by name: ``grid`` is the 30 cells that rules are judged by.
CELLS: dict[str, list[Cell]] = {
    "grid": GRID,
    "special": SPECIAL,
    "all": GRID + SPECIAL,
    **{label.replace(" ", "-"): [c for c in GRID if c.label == label] for label, _, _ in _INSTANCES},
}


def cells_named(names: list[str]) -> list[Cell]:
    """The cells of the named sets, each once; a name may also be that of a single cell."""
    by_name = {cell.name: [cell] for cell in CELLS["all"]} | CELLS
    found: dict[str, Cell] = {}
    for name in names:
        if name not in by_name:
            sets = ", ".join(CELLS)
            raise ValueError(
                f"`cells` must be among {sets}, or a cell's name; got {name!r}.{nearest(name, list(by_name))}"
            )
        found |= {cell.name: cell for cell in by_name[name]}
    if not found:
        raise ValueError("`cells` must name at least one set of cells; got none.")
    return list(found.values())
