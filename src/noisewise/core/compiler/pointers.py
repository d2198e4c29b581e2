# mypy: disable-error-code="no-untyped-call,import-untyped"
"""Calling a function whose address is known at run time only, and arrays handed over as addresses."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from noisewise.core.compiler.structs import borrowed_array

FLOATS, MASK = types.Array(types.float64, 1, "C"), types.Array(types.boolean, 1, "C")
#: What the function behind an address is given: what to do, two blocks, a mask and numbers with their
#: lengths, a whole number and two others. It returns a number.
NUMBER, WHOLE, ADDRESS = types.float64, types.int64, types.voidptr


def signature_of(params: Any, state: Any) -> Any:
    """The same as Numba's signature, given the types of the two blocks."""
    return NUMBER(WHOLE, params, state, ADDRESS, WHOLE, ADDRESS, WHOLE, WHOLE, NUMBER, NUMBER)


def _call_for(result: Any) -> Any:
    @intrinsic
    def call(
        typing: Any,
        code: Any,
        what: Any,
        params: Any,
        state: Any,
        mask: Any,
        floats: Any,
        action: Any,
        one: Any,
        other: Any,
    ) -> Any:
        """Call the function at the address ``code``; the blocks are given by their addresses too."""

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            code, what, params, state, mask, floats, action, one, other = values
            address = ir.IntType(8).as_pointer()
            passed = [what, builder.inttoptr(params, address), builder.inttoptr(state, address)]
            for kind, value in ((MASK, mask), (FLOATS, floats)):
                array = context.make_array(kind)(context, builder, value)
                passed += [builder.bitcast(array.data, address), builder.extract_value(array.shape, 0)]
            passed += [action, one, other]
            prototype = ir.FunctionType(ir.DoubleType(), [value.type for value in passed])
            number = builder.call(builder.inttoptr(code, prototype.as_pointer()), passed)
            return number if result == NUMBER else builder.fptosi(number, ir.IntType(64))

        return result(WHOLE, WHOLE, WHOLE, WHOLE, MASK, FLOATS, WHOLE, NUMBER, NUMBER), lower

    return call


#: The same function, for what it returns as it is, and for a whole number.
call_for_number, call_for_action = _call_for(NUMBER), _call_for(WHOLE)


def _array_at(kind: Any) -> Any:
    @intrinsic
    def array_at(typing: Any, address: Any, length: Any) -> Any:
        """The array of so many entries at an address."""

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            data = builder.bitcast(values[0], context.get_data_type(kind.dtype).as_pointer())
            return borrowed_array(context, builder, kind, data, [values[1]])

        return kind(ADDRESS, WHOLE), lower

    return array_at


mask_at, floats_at = _array_at(MASK), _array_at(FLOATS)
