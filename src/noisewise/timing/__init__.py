"""Timings: which of these functions or commands is fastest, measured in rounds until that is certain."""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.timing.commands import CommandFailedError as CommandFailedError
    from noisewise.timing.commands import bench as bench
    from noisewise.timing.functions import best_of as best_of
    from noisewise.timing.timings import Timings as Timings

__all__ = ["CommandFailedError", "Timings", "bench", "best_of"]

#: Where each of them lives.
_HOMES = {
    "CommandFailedError": "commands",
    "Timings": "timings",
    "bench": "commands",
    "best_of": "functions",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
