"""Builds Arrow tables from column buffers.

pyarrow's own conversions are avoided: they import pandas if it is installed, and that import takes longer than most
runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab.lazy import np, npt, pa


def table(
    columns: "Mapping[str, npt.NDArray[Any] | Sequence[str]]", metadata: dict[str, str] | None = None
) -> "pa.Table":
    """Returns an Arrow table of text and NumPy columns; it shares the memory of contiguous columns except Booleans."""
    arrays = [_text(values) if isinstance(values, Sequence) else _numbers(values) for values in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns)).replace_schema_metadata(metadata)


def _numbers(values: "npt.NDArray[Any]") -> "pa.Array":
    # Arrow packs booleans into bits, eight per byte.
    held = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(held)])


def _text(values: Sequence[str]) -> "pa.Array":
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])
