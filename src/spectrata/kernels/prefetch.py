"""A hint to the processor that a row of an array will be read soon, for compiled loops over neighbours.

Neighbours lie anywhere in memory, and a loop that reads them one after the other waits for each. Asked for a few
neighbours ahead, a row of 16 columns is there when the sum reaches it.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

AHEAD = 10  # neighbours; 8 to 16 were equally fast on a million nodes, 4 and 32 slower
LINE = 64  # bytes


@intrinsic
def prefetch(context: Any, array: Any, row: Any, column: Any) -> Any:
    """Ask for the memory of ``array[row, column]``, of an array of two dimensions; its value is not read."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        held, row, column = given
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, held)
        shape, strides = (cgutils.unpack_tuple(builder, part) for part in (array.shape, array.strides))
        place = cgutils.get_item_pointer2(context, builder, array.data, shape, strides, kind.layout, [row, column])
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        to_read, keep, data = (number(value) for value in (0, 3, 1))
        builder.call(hint, [builder.bitcast(place, byte), to_read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate
