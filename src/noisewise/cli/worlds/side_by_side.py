"""Several rules simulated side by side, in processes, or one after the other where that is not worth it."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

#: Rounds in all, from which on new processes are worth their start.
WORTH_PROCESSES = 300_000


def run_all(
    bars: Any, racers: dict[str, Any], env: Any, jobs: int | None, how: dict[str, Any], on: str | None = None
) -> tuple[list[Any], bool]:
    """The simulations that were completed, in the order of the racers, and whether they were interrupted."""
    if on is not None:
        from noisewise.core.spreading.workers import workers_on

        if jobs is not None:
            raise ValueError("`jobs` must be left out with `on`: the workers are as many as they are.")
        with workers_on(on) as workers:
            return _in_turn(bars, racers, env, how | {"on": workers})
    from noisewise.core.support.checks import check_count
    from noisewise.simulation.sharing.team import processors

    jobs = processors() if jobs is None else check_count("jobs", jobs)
    rounds = len(racers) * how["horizon"] * how["replications"]
    pieces: list[Any] = []
    # Where there are more processors than rules, replications are shared instead.
    if 1 < jobs <= len(racers) and rounds >= WORTH_PROCESSES:
        pieces = _pieces(racers, env, how | {"threads": 1})
    if pieces:
        return _in_processes(bars, pieces, jobs)
    return _in_turn(bars, racers, env, how | {"threads": jobs})


def _in_turn(bars: Any, racers: dict[str, Any], env: Any, how: dict[str, Any]) -> tuple[list[Any], bool]:
    import noisewise as nw

    results: list[Any] = []
    for label, policy in racers.items():
        bar = bars.add_task(label, total=how["replications"], note="")
        try:
            simulation = nw.simulate(policy, env, **how, progress=_advance(bars, bar))
        except nw.SimulationInterrupted:
            # What is finished stays; half a rule would not compare.
            return results, True
        results.append(replace(simulation, policy=label))
    return results, False


def _advance(bars: Any, bar: Any) -> Callable[[int, int], None]:
    return lambda done, _: bars.update(bar, completed=done)


def _in_processes(bars: Any, pieces: list[Any], jobs: int) -> tuple[list[Any], bool]:
    from noisewise.simulation.sharing.processes import spread

    done: dict[str, Any] = {}
    interrupted = False
    bar = bars.add_task("rules", total=len(pieces), note="")
    try:
        for (label, _, _), simulation in spread(simulate_piece, pieces, jobs, lambda piece: piece[0]):
            done[label] = simulation
            bars.update(bar, completed=len(done), note=label)
    except KeyboardInterrupt:
        interrupted = True
    return [done[label] for label, _, _ in pieces if label in done], interrupted


def _pieces(racers: dict[str, Any], env: Any, how: dict[str, Any]) -> list[Any]:
    """What other processes are sent; nothing if something has to stay in this one."""
    from noisewise.simulation.sharing.parcel import packed

    parcels = {label: packed((policy, env)) for label, policy in racers.items()}
    if None in parcels.values():
        return []
    return [(label, parcel, how) for label, parcel in parcels.items()]


def simulate_piece(piece: tuple[str, bytes, dict[str, Any]]) -> Any:
    """One of them, in another process."""
    import noisewise as nw

    label, parcel, how = piece
    policy, env = pickle.loads(parcel)
    return replace(nw.simulate(policy, env, **how), policy=label)
