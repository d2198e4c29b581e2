"""Simulations in Parquet files, with everything needed to repeat them."""

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.core.files import written_whole
from noisewise.core.version import __version__
from noisewise.simulation.results import PER_CHECKPOINT, Simulation

#: Raised whenever the layout changes.
FORMAT = 2
KEY = "noisewise"


def save_simulations(simulations: Sequence[Simulation], path: str | PathLike[str]) -> None:
    """Write simulations to one Parquet file, whole or not at all.

    The file depends on nothing but the simulations: the same seed gives the same bytes.
    """
    import polars as pl

    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"`path` must be in a folder that exists; got {str(target)!r}.")
    if not simulations:
        raise ValueError("`simulations` must hold at least one simulation; got none.")
    runs = [
        {
            "policy": simulation.policy,
            "options": simulation.options,
            "world": simulation.world,
            "stop": simulation.stop,
            "horizon": simulation.horizon,
            "seed": simulation.seed,
            "replications": simulation.replications,
        }
        for simulation in simulations
    ]
    versions = {"noisewise": __version__, "numpy": np.__version__}
    try:
        header = json.dumps({"format": FORMAT, "versions": versions, "runs": runs}, sort_keys=True)
    except TypeError as error:
        raise TypeError(
            f"The options of policy and world must be plain numbers and strings to be saved: {error}."
        ) from None
    frame = pl.concat(
        simulation.frame().with_columns(run=pl.lit(number, dtype=pl.Int32))
        for number, simulation in enumerate(simulations)
    )
    with written_whole(target) as draft:
        frame.write_parquet(draft, metadata={KEY: header}, statistics=False)


def load_simulations(path: str | PathLike[str]) -> list[Simulation]:
    """Read the simulations of a Parquet file that `save_simulations` wrote."""
    import polars as pl

    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"`path` must be a Parquet file; there is no file {str(path)!r}.")
    try:
        header = json.loads(pl.read_parquet_metadata(source)[KEY])
        frame = pl.read_parquet(source)
    except (pl.exceptions.PolarsError, KeyError, OSError, ValueError):
        raise ValueError(
            f"`path` must be a file written by noisewise; {str(path)!r} is not, or is damaged."
        ) from None
    if header["format"] != FORMAT:
        raise ValueError(
            f"`path` must hold simulations of format {FORMAT}; {str(path)!r} has {header['format']}."
        )
    return [
        _simulation(run, frame.filter(pl.col("run") == number)) for number, run in enumerate(header["runs"])
    ]


def _simulation(run: dict[str, Any], frame: Any) -> Simulation:
    checkpoints = frame["round"].unique().sort().to_numpy()
    shape = run["replications"], checkpoints.size
    scalars = [name for name in PER_CHECKPOINT if frame[name].dtype.is_numeric()]
    arrays = {name: frame[name].to_numpy().reshape(shape) for name in scalars}
    # On a set of vectors the advice is a column of vectors, and what was measured one long list.
    vectors = "advised" not in scalars
    if vectors:
        arrays["advised"] = frame["advised"].explode().to_numpy().reshape(*shape, -1)
    entries = (arrays["advised"].shape[2],) if vectors else ()
    pulled = frame["measured"].explode().to_numpy().reshape(shape[0], run["horizon"], *entries)
    once = {name: frame[name].to_numpy().reshape(shape)[:, 0] for name in ("stopped", "fired", "theta_norm")}
    return Simulation(
        **{name: run[name] for name in ("policy", "options", "world", "stop", "horizon", "seed")},
        checkpoints=checkpoints,
        pulled=pulled,
        **arrays,
        **once,
    )
