# mypy: disable-error-code="no-untyped-call,import-untyped"
"""How compiled code calls the verbs: as functions of the extension module, by their names.

Machine code that is kept on disk knows a verb by its symbol, and finds it again in any process that has told
LLVM where it is.
"""

from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin
from numba.np import arrayobj

from noisewise.core.compiler.kernels import Call
from noisewise.core.compiler.structs import Struct, address_of, field_of, is_plain_array
from noisewise.core.native.verbs import extension

#: Before the names of all verbs, so that they are nobody else's.
PREFIX = "noisewise_"
#: Simulations hold the actions' vectors in float64, all values of a feature together.
BY_FEATURE = 0

ARRAYS = {"floats": types.float64, "ints": types.int64, "mask": types.boolean}
NUMBERS = {"int": types.int64, "float": types.float64}
WORD, ADDRESS = ir.IntType(64), ir.IntType(8).as_pointer()
MACHINE_TYPES = {"int": WORD, "float": ir.DoubleType(), "len": WORD, "layout": WORD}


def know_symbols() -> None:
    """Tell LLVM where the verbs are."""
    for name, address in extension.addresses().items():
        llvmlite.binding.add_symbol(PREFIX + name, address)


def register_call(call: Call) -> None:
    """Let compiled code call a verb."""
    template = type(f"Call_{call.verb}", (_Typed,), {"key": call.function, "call": call})
    infer_global(call.function, types.Function(template))
    lower_builtin(call.function, types.VarArg(types.Any))(_lowered(call))


def _arguments(call: Call) -> Iterator[tuple[str, str]]:
    """What the verb is given, in turn: of which kind, and from where."""
    for word in call.arguments.split():
        kind, _, source = word.partition(":")
        yield kind, source


def _parameters(call: Call) -> list[str]:
    """The names of what the function is given in Python, in the order in which the verb first needs them."""
    sources = (source for kind, source in _arguments(call) if kind not in {"len", "new", "room", "layout"})
    return list(dict.fromkeys(source.partition(".")[0] for source in sources))


def _result(call: Call) -> Any:
    for kind, source in _arguments(call):
        if kind == "new":
            return types.Array(types.float64, 1 + source.count("*"), "C")
    return NUMBERS.get(call.returns, types.none)


class _Typed(AbstractTemplate):
    call: Call

    def generic(self, given: Any, by_name: Any) -> Any:
        call = self.call
        names = _parameters(call)
        if by_name or len(given) != len(names):
            raise NumbaTypeError(f"`{call.verb}` must be called with {', '.join(names)}, in this order.")
        kinds = dict(zip(names, given, strict=True))
        for kind, source in _arguments(call):
            if kind in ARRAYS and not (is_plain_array(kinds[source]) and kinds[source].dtype == ARRAYS[kind]):
                raise NumbaTypeError(
                    f"`{source}` of `{call.verb}` must be an array of {ARRAYS[kind]} in C order; "
                    f"got {kinds[source]}."
                )
        return signature(_result(call), *given)


def _lowered(call: Call) -> Callable[..., Any]:
    """The instructions of one call."""
    names = _parameters(call)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        caller = _Caller(context, builder, dict(zip(names, zip(sig.args, values, strict=True), strict=True)))
        passed = [caller.passed(kind, source) for kind, source in _arguments(call)]
        returned = ir.VoidType() if not call.returns else MACHINE_TYPES[call.returns]
        prototype = ir.FunctionType(returned, [value.type for value in passed])
        function = cgutils.get_or_insert_function(builder.module, prototype, PREFIX + call.verb)
        function.attributes.add("nounwind")
        result = builder.call(function, passed)
        for kind, array in caller.rooms:
            context.nrt.decref(builder, kind, array)
        if caller.new is not None:
            return impl_ret_new_ref(context, builder, sig.return_type, caller.new)
        return result if call.returns else context.get_dummy_value()

    return lower


class _Caller:
    """What one call is given, and the arrays that it makes."""

    def __init__(self, context: Any, builder: Any, given: dict[str, tuple[Any, Any]]) -> None:
        self.context, self.builder, self.given = context, builder, given
        self.rooms: list[tuple[Any, Any]] = []
        self.new: Any = None

    def passed(self, kind: str, source: str) -> Any:
        """One argument as the verb takes it."""
        if kind == "layout":
            return ir.Constant(WORD, BY_FEATURE)
        if kind == "struct":
            return address_of(self.context, self.builder, *self.given[source])
        if kind == "len":
            return self._length(source)
        if kind in NUMBERS:
            own, value = self.given[source]
            return self.context.cast(self.builder, value, own, NUMBERS[kind])
        if kind in ("new", "room"):
            return self._address(*self._made(kind, source))
        return self._address(*self._found(source))

    def _found(self, source: str) -> tuple[Any, Any]:
        """The array that was given, or that stands in a field of what was given."""
        name, _, field = source.partition(".")
        kind, value = self.given[name]
        if not field:
            return kind, value
        if isinstance(kind, Struct):
            return kind.places[field][1], field_of(self.context, self.builder, kind, value, field)
        place = kind.fields.index(field)
        return kind.types[place], self.builder.extract_value(value, place)

    def _length(self, source: str) -> Any:
        kind, value = self._found(source)
        array = self.context.make_array(kind)(self.context, self.builder, value)
        return self.builder.extract_value(array.shape, 0)

    def _address(self, kind: Any, value: Any) -> Any:
        array = self.context.make_array(kind)(self.context, self.builder, value)
        return self.builder.bitcast(array.data, ADDRESS)

    def _made(self, kind: str, source: str) -> tuple[Any, Any]:
        """A fresh array, as long as others are."""
        lengths = [self._length(name) for name in source.split("*")]
        made = types.Array(types.float64, len(lengths), "C")
        array = arrayobj._empty_nd_impl(self.context, self.builder, made, lengths)._getvalue()
        if kind == "new":
            self.new = array
        else:
            self.rooms.append((made, array))
        return made, array
