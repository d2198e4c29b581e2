"""Studies that asked what to measure, kept by version and by what their world draws."""

from typing import NamedTuple

from benchmarks.asking_play import PLAYED
from benchmarks.asking_worlds import Drawn, World

FIRST_SEED = 1000


class Cell(NamedTuple):
    """One world, asked in one way, under one version."""

    world: World
    way: str
    version: str

    @property
    def first_seed(self) -> int:
        """Where the seeds begin."""
        return FIRST_SEED

    @property
    def at_once(self) -> int:
        """Seeds that one process plays."""
        return 10

    @property
    def title(self) -> str:
        """The name of the world."""
        return self.world.name

    def work(self) -> tuple[str, ...]:
        """What plays it."""
        return "benchmarks.asking_play", self.world.name, self.way

    def content(self) -> bytes:
        """Anything that the world draws."""
        return repr((self.way, PLAYED)).encode() + Drawn(self.world, FIRST_SEED).content()
