# mypy: disable-error-code="no-untyped-call,import-untyped"
"""NamedTuples of numbers and arrays, as compiled code sees them: one address of a block of 8-byte words.

A number takes one word; an array its address and its lengths, always in C order; a tuple within a tuple
stands in its place. So `DenseModel` has the layout of the struct of that name in
`core/native/source/arrays.h`, and what a rule is handed costs one word, whatever is in it. Arrays that are
taken out are borrowed: nobody counts references to them, and whoever made the block keeps them alive.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import models, register_model
from numba.np import arrayobj
from numpy.typing import NDArray

from noisewise.core.native.verbs import extension

WORD = 8


class Block(NamedTuple):
    """A value as compiled code is handed it; the arrays in it must outlive the block."""

    kind: Any  # its type
    words: NDArray[np.int64]
    address: int  # of the words


class Struct(types.Type):
    """The type of a NamedTuple: its name, and the names and types of its fields."""

    def __init__(self, title: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.title, self.fields = title, fields
        self.places: dict[str, tuple[int, Any]] = {}
        self.size = 0
        for name, kind in fields:
            self.places[name] = self.size, kind
            self.size += words_of(kind)
        # The name makes it what it is; short, because it is part of the names of functions that take one.
        digest = hashlib.sha256(repr([(name, str(kind)) for name, kind in fields]).encode()).hexdigest()
        super().__init__(name=f"{title}{digest[:12]}")


def words_of(kind: Any) -> int:
    """How many words a value of this type takes."""
    if isinstance(kind, Struct):
        return kind.size
    if isinstance(kind, types.Array):
        return 1 + int(kind.ndim)
    return 0 if kind == types.none else 1


def type_of(value: Any) -> Any:
    """The type of a NamedTuple, an array or a number."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = tuple((name, type_of(field)) for name, field in zip(value._fields, value, strict=True))
        return Struct(type(value).__name__, fields)
    if isinstance(value, np.ndarray):
        if not (value.flags.c_contiguous and value.flags.aligned and value.dtype.isnative):
            raise ValueError(
                "compiled loops must be given arrays in C order; got one with "
                f"shape {value.shape} and strides {value.strides}: copy it by np.ascontiguousarray."
            )
        entry: Any = typeof(value).dtype
        return types.Array(entry, value.ndim, "C")
    for classes, kind in (
        ((bool, np.bool_), types.boolean),
        ((int, np.integer), types.int64),
        ((float, np.floating), types.float64),
        (type(None), types.none),
    ):
        if isinstance(value, classes):
            return kind
    raise TypeError(
        "compiled loops must be given NamedTuples of numbers and arrays alone, as parameters and state; "
        f"got {value!r} in one."
    )


#: The types that were met, by what makes them different: naming one takes longer than a thousand rounds.
_met: dict[tuple[Any, ...], Any] = {}


def packed(value: Any) -> Block:
    """The block of a NamedTuple or of a number."""
    try:
        marks, words, address = extension.packed_words(value)
    except (TypeError, ValueError):
        type_of(value)  # which says what is wrong, and where
        raise
    kind = _met.get(marks)
    if kind is None:
        kind = _met[marks] = type_of(value)
    return Block(kind, words, address)


register_model(Struct)(models.OpaqueModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Struct

    def generic_resolve(self, kind: Struct, name: str) -> Any:  # type: ignore[override]
        return kind.places[name][1] if name in kind.places else None


@lower_getattr_generic(Struct)  # type: ignore[untyped-decorator]
def field_of(context: Any, builder: Any, kind: Struct, block: Any, name: str) -> Any:
    """A field, read from the block."""
    place, field = kind.places[name]

    def load(at: int, machine_type: Any) -> Any:
        word = builder.bitcast(word_at(builder, block, at), machine_type.as_pointer())
        loaded = builder.load(word)
        # A block never changes, so what was read once need not be read again.
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if isinstance(field, Struct):
        return word_at(builder, block, place)
    if isinstance(field, types.Array):
        item = context.get_data_type(field.dtype)
        length = context.get_value_type(types.intp)
        shape = [load(place + 1 + i, length) for i in range(field.ndim)]
        return borrowed_array(context, builder, field, load(place, item.as_pointer()), shape)
    if field == types.none:
        return context.get_dummy_value()
    if field == types.boolean:
        return builder.trunc(load(place, ir.IntType(64)), ir.IntType(1))
    return load(place, context.get_value_type(field))


def word_at(builder: Any, block: Any, place: int) -> Any:
    """The address of a word in a block."""
    return builder.gep(block, [ir.Constant(ir.IntType(32), WORD * place)], inbounds=True)


def borrowed_array(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """An array in C order at an address, which somebody else keeps alive."""
    length = context.get_value_type(types.intp)
    step = ir.Constant(length, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    array = context.make_array(kind)(context, builder)
    itemsize = step
    strides: list[Any] = []
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def address_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Where a struct's block is; a NamedTuple that compiled code has made itself is packed on the stack."""
    if isinstance(kind, Struct):
        return value
    size = sum(words_of(field) for field in kind.types)
    block = cgutils.alloca_once(builder, ir.IntType(64), size=size)
    block = builder.bitcast(block, ir.IntType(8).as_pointer())
    place = 0

    def store(word: Any) -> None:
        nonlocal place
        builder.store(word, builder.bitcast(word_at(builder, block, place), word.type.as_pointer()))
        place += 1

    for i, field in enumerate(kind.types):
        entry = builder.extract_value(value, i)
        if not is_plain_array(field):
            raise NumbaTypeError(f"{kind} must hold arrays in C order alone; got {field}.")
        array = context.make_array(field)(context, builder, entry)
        store(array.data)
        for j in range(field.ndim):
            store(builder.extract_value(array.shape, j))
    return block


def is_plain_array(kind: Any) -> bool:
    """Whether it is an array in C order."""
    return isinstance(kind, types.Array) and kind.layout == "C"
