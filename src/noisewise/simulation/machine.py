"""Loops as machine code: loaded only where something is compiled, and with it Numba."""

import ctypes
import sys
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
from noisewise.core.compiler.structs import Struct, pack, type_of
from noisewise.policies.shell.on_sets import SetState
from noisewise.policies.shell.recommendation import Advice
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.behind import Params, State, make_glue
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

    def address(self, signature: Any) -> int:
        """Where the machine code for a signature is."""
        with _lock:
            if signature not in self._known:
                self._known[signature] = self._compiled(signature)
            return int(self._known[signature].address)

    def __call__(self, *given: Any) -> int:
        """Call it with NamedTuples and whole numbers; it returns a whole number, and others may run meanwhile."""
        kinds = [type_of(value) for value in given]
        blocks = [pack(value) for value in given]
        passed = [
            block.ctypes.data if isinstance(kind, Struct) else int(block[0])
            for kind, block in zip(kinds, blocks, strict=True)
        ]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *(_passed_as(kind) for kind in kinds))
        return int(prototype(self.address(types.int64(*kinds)))(*passed))

    def _compiled(self, signature: Any) -> Any:
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


def _passed_as(kind: Any) -> Any:
    if isinstance(kind, Struct):
        return ctypes.c_void_p
    return ctypes.c_bool if kind == types.boolean else ctypes.c_int64


class CompiledLoop:
    """The one loop for all rules, and one rule behind an address; compiled when first called."""

    def __init__(self, rule: Rule, own: Path | None, shared: MachineCode) -> None:
        self.rule, self.shared = rule, shared
        self.glue = MachineCode(make_glue(rule), own)

    def __call__(
        self, params: Any, state: Any, truth: Truth, record: Record, advice: Advice, stop: Stop, start: int
    ) -> tuple[int, bool]:
        """From a round until the end, a stop, or until the rule wants to plan."""
        blocks = pack(params), pack(state)
        seen = Params(
            setting=params.setting,
            code=self.glue.address(signature_of(type_of(params), type_of(state))),
            params=blocks[0].ctypes.data,
            state=blocks[1].ctypes.data,
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
        done = self.shared(seen, State(state.model), script, record, advice, stop, start)
        return done, bool(record.progress.stopped[0])


class CompiledSetLoop:
    """The loop of one rule on sets of one kind; compiled when first called."""

    def __init__(self, rule: Rule, oracle: Oracle, directory: Path | None) -> None:
        self.code = MachineCode(make_set_rounds(rule, oracle), directory)

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


def shared_loop(directory: Path | None) -> MachineCode:
    """The replication loop, with any rule."""
    return MachineCode(make_rounds(sys.modules[make_glue.__module__]), directory)
