"""Loops as machine code: loaded only where something is compiled, and with it Numba."""

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import types

from noisewise.actions.oracle_set import Oracle
from noisewise.core.compiler.kernels import compiler_option, register_kernels
from noisewise.core.compiler.pointers import signature_of
from noisewise.core.compiler.structs import Struct, packed
from noisewise.policies.shell.on_sets import SetState
from noisewise.policies.shell.recommendation import Advice
from noisewise.policies.shell.rule import Rule
from noisewise.simulation import behind
from noisewise.simulation.loop import Script, Truth, make_rounds
from noisewise.simulation.record import Record
from noisewise.simulation.set_loop import SetTruth, make_set_rounds
from noisewise.simulation.stopping import Stop

#: One thread compiles at a time: Numba asks for it.
_lock = threading.Lock()


class MachineCode:
    """A function that is compiled for each combination of types that it is called with."""

    def __init__(self, function: Callable[..., Any], directory: Path | None) -> None:
        self.function, self.directory = function, directory
        self._known: dict[Any, Any] = {}

    def compiled(self, kinds: tuple[Any, ...], make_signature: Callable[..., Any]) -> Any:
        """The machine code for arguments of these types."""
        found = self._known.get(kinds)
        if found is None:
            with _lock:
                found = self._known.get(kinds)
                if found is None:
                    found = self._known[kinds] = self._compile(make_signature(*kinds))
        return found

    def _compile(self, signature: Any) -> Any:
        register_kernels()
        config: Any = numba.core.config
        # Numba takes the folder from its configuration when the function is made: lend it ours.
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(self.directory or previous)
        options: Any = compiler_option("WholeCompiler") | {"cache": self.directory is not None}
        try:
            return numba.cfunc(signature, error_model="numpy", **options)(self.function)
        finally:
            config.CACHE_DIR = previous


class MachineLoop(MachineCode):
    """A function of NamedTuples and whole numbers that returns a whole number."""

    def __call__(self, *given: Any) -> int:
        """Call it; other threads may run meanwhile."""
        pairs = [packed(value) for value in given]
        kinds = tuple(kind for kind, _ in pairs)
        passed = [block.ctypes.data if isinstance(kind, Struct) else block[0] for kind, block in pairs]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *map(_passed_as, kinds))
        return int(prototype(self.compiled(kinds, types.int64).address)(*passed))


def _passed_as(kind: Any) -> Any:
    """What C calls it."""
    if isinstance(kind, Struct):
        return ctypes.c_void_p
    return ctypes.c_bool if kind == types.boolean else ctypes.c_int64


class CompiledLoop:
    """The one loop for all rules, and one rule behind an address; compiled when first called."""

    def __init__(self, rule: Rule, own: Path | None, shared: MachineLoop) -> None:
        self.rule, self.shared = rule, shared
        self.glue = MachineCode(behind.make_glue(rule), own)

    def __call__(
        self, params: Any, state: Any, truth: Truth, record: Record, advice: Advice, stop: Stop, start: int
    ) -> tuple[int, bool]:
        """From a round until the end, a stop, or until the rule wants to plan."""
        params_kind, params_block = packed(params)
        state_kind, state_block = packed(state)
        seen = behind.Params(
            setting=params.setting,
            code=self.glue.compiled((params_kind, state_kind), signature_of).address,
            params=params_block.ctypes.data,
            state=state_block.ctypes.data,
            plans=self.rule.wants_plan is not None,
            no_draws=np.empty(0),
            mask=np.empty(truth.means.size, np.bool_),
        )
        script = Script(
            truth=truth,
            means=truth.means,
            action_sigma=truth.action_sigma,
            sigma=truth.sigma,
            noise=truth.noise,
            draws=truth.draws,
            best=float(truth.means.max()),
            allowed=np.ones(truth.means.size, np.bool_),
        )
        done = self.shared(seen, behind.State(state.model), script, record, advice, stop, start)
        return done, bool(record.progress.stopped[0])


class CompiledSetLoop:
    """The loop of one rule on sets of one kind; compiled when first called."""

    def __init__(self, rule: Rule, oracle: Oracle, directory: Path | None) -> None:
        self.code = MachineLoop(make_set_rounds(rule, oracle), directory)

    def __call__(
        self,
        params: Any,
        shape: Any,
        last: bool,
        state: SetState,
        truth: SetTruth,
        record: Record,
        stop: Stop,
    ) -> tuple[int, bool]:
        """From the first round to the end or a stop."""
        done = self.code(params, shape, last, state, truth, record, stop)
        return done, bool(record.progress.stopped[0])


def shared_loop(directory: Path | None) -> MachineLoop:
    """The replication loop, with any rule."""
    return MachineLoop(make_rounds(behind), directory)
