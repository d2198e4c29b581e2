"""A policy as one file of plain arrays, and states as nests of arrays: copied, written, read back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet, OracleSet, set_from
from noisewise.core.support.files import save_arrays
from noisewise.policies.shell.archive import DamagedFileError, read_arrays

#: Raised whenever the layout of the file or of any state changes.
FORMAT = 3
#: How deeply options may be nested: those of a design are lists in an option.
DEEPEST = 20
#: Options that are numbers of things to make room for, and how many of anything may be asked for in any case.
ROOMY, SMALL = ("cubes", "directions", "blocks"), 100_000
#: Arrays that never change and need no copy.
SHARED = "columns"
#: What is no part of a state: shared arrays, and room to work in, which holds anything.
NOT_KEPT = (SHARED, "room")


class Saved(NamedTuple):
    """What a file contains."""

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def copy_state(state: Any) -> Any:
    """An independent copy of a state; the actions' vectors are shared."""
    if isinstance(state, np.ndarray):
        return state.copy()
    fields = state._asdict()
    return type(state)(
        **{name: part if name == SHARED else copy_state(part) for name, part in fields.items()}
    )


def flatten_state(state: Any, prefix: str = "state") -> dict[str, NDArray[Any]]:
    """The arrays of a state by their dotted names, but for those that say nothing about it."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    flat: dict[str, NDArray[Any]] = {}
    for name, part in state._asdict().items():
        if name not in NOT_KEPT:
            flat |= flatten_state(part, f"{prefix}.{name}")
    return flat


def write_saved(
    path: Path,
    header: dict[str, Any],
    actions: ActionSet | OracleSet,
    state: Any,
    sigmas: NDArray[np.float64],
    told: NDArray[np.int64] | None = None,
) -> None:
    """Write the file whole or not at all."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"`path` must be in a folder that exists; got {str(path)!r}.")
    arrays = flatten_state(state) | {"sigmas": sigmas}
    if told is not None:
        arrays["told"] = told
    if isinstance(actions, OracleSet):
        header = header | {"set": actions.describe()}
    elif isinstance(actions, ActionSet):
        if not actions.is_memory_map:
            arrays["vectors"] = actions.vectors
        if actions.labels is not None:
            arrays["labels"] = np.array(actions.labels)
    arrays["header"] = np.array(json.dumps({"format": FORMAT, **header}))
    save_arrays(path, arrays)


def read_saved(path: Path) -> Saved:
    """Read the file and refuse what is not a policy of this version."""
    if not path.exists():
        raise FileNotFoundError(f"`path` must be a saved policy; there is no file {str(path)!r}.")
    with refusing_damage(path):
        if not path.is_file():
            raise DamagedFileError("it is no file")
        arrays = read_arrays(path)
        header = json.loads(str(arrays.pop("header")))
        version = header["format"]
        if version == FORMAT:
            _check_header(header)
            _check_history(arrays)
            _check_room(header, arrays, path.stat().st_size)
    if version != FORMAT:
        raise ValueError(
            f"`path` must be a policy of format {FORMAT}; {str(path)!r} has format {str(version)[:20]}: "
            "load it with the version of noisewise that wrote it, or tell its measurements again."
        )
    return Saved(path, header, arrays)


@contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Whatever goes wrong with what a file holds is said in one sentence.

    A `ValueError` that begins with an option's name says so already.
    """
    try:
        yield
    except DamagedFileError as damage:
        raise ValueError(
            f"`path` must be a file written by policy.save; {str(path)!r} is not, or is damaged: {damage}."
        ) from None
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("`"):
            raise
        raise ValueError(
            f"`path` must be a file written by policy.save; {str(path)!r} is not, or is damaged "
            f"({type(error).__name__} when it was read)."
        ) from None


def _check_header(header: Any) -> None:
    """The types of what a policy is made from."""
    options, horizon = header["options"], header["horizon"]
    right = (
        isinstance(header["rule"], str) and isinstance(options, dict) and isinstance(header["actions"], str)
    )
    right &= horizon is None or (isinstance(horizon, int) and not isinstance(horizon, bool))
    right &= isinstance(header.get("set", {}), dict)
    if not right:
        raise DamagedFileError("its header does not say which rule, options and actions it is about")
    if _depth(header) > DEEPEST:
        raise DamagedFileError("its options are nested too deeply")


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inside), default=0) if isinstance(value, dict | list) else 0


def _check_history(arrays: dict[str, NDArray[Any]]) -> None:
    """Sigmas above 0, and as many actions as sigmas, or none where actions are vectors."""
    sigmas, told = arrays["sigmas"], arrays.get("told", np.empty(0, np.int64))
    right = sigmas.ndim == 1 and sigmas.dtype == np.float64 and told.ndim == 1
    right = right and bool((np.isfinite(sigmas) & (sigmas > 0.0)).all())
    if not (right and (told.size == 0 or (told.dtype == np.int64 and told.size == sigmas.size))):
        raise DamagedFileError("its measurements are no pairs of an action and a sigma above 0")


def _check_room(header: dict[str, Any], arrays: dict[str, NDArray[Any]], size: int) -> None:
    """Refuse numbers that would make a large state which is not in the file: it has a number for each."""
    options = header["options"]
    needed = [options.get(name) for name in ROOMY]
    if options.get("estimator") == "huber":
        needed.append(header["horizon"])
    dim = header.get("set", {}).get("dim")
    if isinstance(dim, int):
        needed.append(dim * dim)
    if options.get("learners") == "per-answer" and "vectors" in arrays:
        needed.append(len(arrays["vectors"]) ** 2)
    if any(isinstance(number, int) and number > max(SMALL, size // 8) for number in needed):
        raise DamagedFileError("it asks for far more memory than the state that it holds")


def actions_of(saved: Saved, actions: ActionSet | OracleSet | None) -> ActionSet | OracleSet:
    """The action set of a saved policy, given or stored, checked to be the same."""
    if actions is None and "set" in saved.header:
        actions = set_from(saved.header["set"])
    if actions is None:
        if "vectors" not in saved.arrays:
            raise ValueError(
                "`actions` must be given: this policy was saved on a memory map, which is not stored with it."
            )
        labels = saved.arrays.get("labels")
        if labels is not None and labels.dtype.kind != "U":
            raise DamagedFileError("its labels are no text")
        actions = ActionSet(saved.arrays["vectors"], None if labels is None else labels.tolist())
    if actions.fingerprint() != saved.header["actions"]:
        raise ValueError(
            f"`actions` must be the set this policy was saved with; got {actions!r} with other vectors."
        )
    return actions


def told_actions(saved: Saved, n_actions: int) -> NDArray[np.int64]:
    """The actions told so far, in order; none where they are vectors."""
    told = saved.arrays["told"]
    if told.size and not (told.min() >= 0 and told.max() < n_actions):
        raise DamagedFileError("its measurements are of actions that there are not")
    return told


def restore_state(empty: Any, saved: Saved) -> Any:
    """A fresh state filled with the stored arrays."""
    for name, array in flatten_state(empty).items():
        stored = saved.arrays.get(name)
        if stored is None or stored.shape != array.shape or stored.dtype != array.dtype:
            raise ValueError(
                f"`path` must hold the whole state of the policy; {name!r} is missing or damaged "
                f"in {str(saved.path)!r}."
            )
        array[...] = stored
    return empty
