"""A policy as one file of plain arrays, and states as nests of arrays: copied, written, read back."""

import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet, OracleSet, set_from
from noisewise.core.files import written_whole

#: Raised whenever the layout of the file or of any state changes.
FORMAT = 3
#: Arrays that never change and need no copy.
SHARED = "columns"


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
    """The arrays of a state by their dotted names."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    flat: dict[str, NDArray[Any]] = {}
    for name, part in state._asdict().items():
        if name != SHARED:
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
    else:
        if not actions.is_memory_map:
            arrays["vectors"] = actions.vectors
        if actions.labels is not None:
            arrays["labels"] = np.array(actions.labels)
    arrays["header"] = np.array(json.dumps({"format": FORMAT, **header}))
    with written_whole(path) as draft, draft.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_saved(path: Path) -> Saved:
    """Read the file and refuse what is not a policy of this version."""
    if not path.exists():
        raise FileNotFoundError(f"`path` must be a saved policy; there is no file {str(path)!r}.")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        version = header["format"]
    except (ValueError, KeyError, TypeError, OSError, EOFError, AttributeError, zipfile.BadZipFile):
        raise ValueError(
            f"`path` must be a file written by policy.save; {str(path)!r} is not, or is damaged."
        ) from None
    if version != FORMAT:
        raise ValueError(
            f"`path` must be a policy of format {FORMAT}; {str(path)!r} has format {version}: "
            "load it with the version of noisewise that wrote it, or tell its measurements again."
        )
    return Saved(path, header, arrays)


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
        actions = ActionSet(saved.arrays["vectors"], None if labels is None else labels.tolist())
    if actions.fingerprint() != saved.header["actions"]:
        raise ValueError(
            f"`actions` must be the set this policy was saved with; got {actions!r} with other vectors."
        )
    return actions


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
