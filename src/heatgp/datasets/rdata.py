"""Numeric arrays from R's .rda files: the XDR form of R's serialisation, plain or compressed.

The package rdata reads all of R's types, but needs pandas and xarray; the two files that we read have 700 bytes each.
Reference: R Internals, section "Serialization Formats".
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from typing import Any

import numpy as np

from ..errors import InvalidInput, Unsupported

COMPRESSIONS = ((b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ", lzma.decompress))
SYMBOL, PAIRS, CHARACTERS, LOGICAL, INTEGER, REAL, STRINGS, LIST = 1, 2, 9, 10, 13, 14, 16, 19
NULL, REFERENCE = 254, 255
NUMBERS = {LOGICAL: ">i4", INTEGER: ">i4", REAL: ">f8"}


def read_rda(content: bytes) -> dict[str, Any]:
    """The objects of an .rda file by name: numbers as NumPy arrays, strings and lists as lists."""
    for magic, decompress in COMPRESSIONS:
        if content.startswith(magic):
            content = decompress(content)
    if content[:7] not in (b"RDX2\nX\n", b"RDX3\nX\n"):
        raise InvalidInput(
            f"The file starts with {content[:7]!r}; an .rda file in XDR form starts with b'RDX2\\nX\\n'."
        )
    reader = Reader(content, 7)
    version = reader.integers(3)[0]
    if version == 3:
        reader.take(reader.integers(1)[0])  # the native encoding
    try:
        return reader.item()
    except struct.error:
        raise InvalidInput(
            f"The file ends after {len(content)} bytes, before its last object. Fetch it again."
        ) from None


def unsupported(kind: int) -> Unsupported:
    return Unsupported(
        f"The file holds an R object of type {kind}; only numbers, strings and lists of them are read. "
        "Save it from R as a plain array."
    )


class Reader:
    """A cursor over the bytes, and the symbols seen so far, to which the file refers back by number."""

    def __init__(self, content: bytes, start: int) -> None:
        self.content, self.position = content, start
        self.symbols: list[str] = []

    def take(self, size: int) -> bytes:
        start, self.position = self.position, self.position + size
        if self.position > len(self.content):
            raise struct.error
        return self.content[start : self.position]

    def integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f">{count}i", self.take(4 * count))

    def item(self) -> Any:
        (flags,) = self.integers(1)
        kind = flags & 0xFF
        if kind == NULL:
            return None
        if kind == PAIRS:
            return self.pairs(flags)
        if kind == SYMBOL:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == REFERENCE:
            return self.symbols[(flags >> 8 or self.integers(1)[0]) - 1]
        if kind == CHARACTERS:
            (length,) = self.integers(1)
            return None if length == -1 else self.take(length).decode("utf-8" if flags >> 12 & 8 else "latin-1")
        if kind in NUMBERS or kind in (STRINGS, LIST):
            return self.vector(kind, has_attributes=bool(flags & 0x200))
        raise unsupported(kind)

    def pairs(self, flags: int) -> dict[str, Any]:
        """A linked list of tagged values; the next cell follows the value."""
        values: dict[str, Any] = {}
        while flags & 0xFF == PAIRS:
            if flags & 0x200:
                self.item()  # attributes of the cell
            tag = self.item() if flags & 0x400 else str(len(values))
            values[tag] = self.item()
            (flags,) = self.integers(1)
        if flags & 0xFF != NULL:
            raise unsupported(flags & 0xFF)
        return values

    def vector(self, kind: int, has_attributes: bool) -> Any:
        (length,) = self.integers(1)
        if length < 0:
            raise Unsupported("The file holds a vector of 2^31 elements or more. Save it from R in pieces.")
        if kind in NUMBERS:
            dtype = np.dtype(NUMBERS[kind])
            values: Any = np.frombuffer(self.take(length * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        else:
            values = [self.item() for _ in range(length)]
        attributes = self.item() if has_attributes else {}
        if kind in NUMBERS and "dim" in attributes:
            values = values.reshape(attributes["dim"], order="F")
        return values
