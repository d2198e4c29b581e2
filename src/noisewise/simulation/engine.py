"""Which engine runs a simulation: Python with the model's verbs, or machine code made of all of it by Numba.

Both do the same, up to rounding. Machine code is faster by far in small worlds, but has to be made or at
least read first. So plain rounds are timed, and the engine that will be done sooner is chosen, once: never in
the middle of a simulation.
"""

import math
import sys
from typing import Any, Protocol

from noisewise.simulation.compilation import check_compiler, is_cached
from noisewise.simulation.run import Pace, Run
from noisewise.simulation.sharing.replications import Replications

PLAIN, COMPILED = "plain", "compiled"

# Seconds, as measured on an ordinary machine: some are twice as fast, some take twice as long.
#: To import Numba.
IMPORT = 0.5
#: To read machine code that was made before.
READ = 0.4
#: To find out whether there is some, with Numba loaded.
LOOK = 0.5
#: To make it; rules differ, from 1 to 8.
MAKE = 4.0
#: Of a compiled round, for every number that it has to read at least.
PER_NUMBER = 4e-10
#: A simulation of at most this length is plain.
SHORT = 0.2
#: Until a helper process is of use.
START_HELPER = 0.6

#: Plain rounds are timed this often before machine code is made: what else a machine does only adds to them.
TRIES = 3

#: What has been run compiled in this process.
_ready: set[tuple[Any, ...]] = set()


def is_available() -> bool:
    """Whether machine code can be made here: there is Numba, and what its code calls."""
    try:
        check_compiler()
    except ImportError:
        return False
    return True


class Sharers(Protocol):
    """Those who share the replications of a simulation."""

    replications: Replications
    threads: int

    def workers(self) -> int:
        """How many can share plain rounds."""


def choose_engine(team: Sharers, compile: bool | None) -> str:
    """The engine that was asked for, or that will be done sooner."""
    if compile:
        check_compiler()
    return _sooner(team) if compile is None else COMPILED if compile else PLAIN


def choose_loop(team: Sharers, compile: bool | None) -> Any:
    """The compiled loop of a simulation, if that is what was asked for or will be done sooner, else None."""
    todo = team.replications
    engine = choose_engine(team, compile)
    loop = None
    if engine == COMPILED:
        try:
            loop = todo.run.loop(compiled=True)
        except ImportError as error:  # it may not get on with the NumPy that is installed
            if compile:
                raise ModuleNotFoundError(
                    f"`compile` must be False or left out here: Numba cannot be imported: {error}"
                ) from error
            engine = PLAIN
    todo.run_by(engine)
    return loop


def _sooner(team: Sharers) -> str:
    """The engine that will be done sooner, as far as the first rounds of the first replication show."""
    todo, run = team.replications, team.replications.run
    if not (run.compiles and is_available()):
        return PLAIN
    seconds = math.inf
    for _ in range(TRIES):
        pace = todo.pace()
        seconds = min(seconds, pace.seconds)
        if _is_plain_sooner(team, pace._replace(seconds=seconds)):
            todo.keep_timed()
            return PLAIN
    return COMPILED


def _is_plain_sooner(team: Sharers, pace: Pace) -> bool:
    run, rounds = team.replications.run, team.replications.count * pace.rounds
    plain, compiled = rounds * pace.seconds, rounds * run.size * PER_NUMBER / team.threads
    # What takes no time is done the same way always, whatever ran before in this process.
    if plain <= SHORT:
        return True
    if run.code in _ready:
        return plain <= compiled
    load = 0.0 if "numba" in sys.modules else IMPORT
    # In this order: where plain rounds are done in a second, nobody looks for anything.
    if plain <= load + LOOK + READ + compiled:
        return True
    plain = min(plain, START_HELPER + plain / team.workers())
    return plain <= load + (READ if is_cached(*run.code) else MAKE) + compiled


def is_ready(run: Run) -> None:
    """Its machine code is in memory from now on."""
    _ready.add(run.code)
