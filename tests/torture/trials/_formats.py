"""Damage that knows the format, and bombs: small files that announce or unfold into far more than there is."""

from __future__ import annotations

import gzip
import io
import random
import struct
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

BOMB = 2**31  # bytes that a bomb unfolds into
BLOCK = 2**24
SIZES = (0, 1, 3, 255, 2**16, 2**31 - 1, 2**32 - 1)
HEADERS = (
    "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 1000000, 1000000), }",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (-1, 8, 8), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<U1000000000', 'fortran_order': False, 'shape': (13,), }",
    "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': 'nonsense', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '|u1', 'shape': (3,), }",
    "(" * 5000,
    "{'descr': '|u1', 'fortran_order': 1L, 'shape': 'x' ",
    "__import__('os').abort()",
    "\0\0\0",
)
STARTS = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    b"P6 9 9 255\n",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"II*\0\x08\0\0\0",
    b"MM\0*\0\0\0\x08",
    b"GIF89a",
    b"BM",
    b"\xff\xd8\xff\xe1",
    b"SIMPLE  =                    T" + b" " * 2000,
    b"8BPS\0\1",
)


def idx(array: npt.NDArray[Any]) -> bytes:
    """Dimensions and data of an IDX file, without its first four bytes."""
    return struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def damaged_idx(data: bytes, rng: random.Random) -> bytes:
    """A right header before other data, or the other way round."""
    dimensions = rng.randrange(5)
    shape = [rng.choice(SIZES) for _ in range(dimensions)]
    header = struct.pack(f">4B{dimensions}I", 0, 0, rng.choice((8, 8, 8, 9, 13, 0)), dimensions, *shape)
    match rng.randrange(4):
        case 0:
            return header + data[16:]
        case 1:
            return header + bytes(min(10_000, int(np.prod(shape, dtype=np.float64))))
        case 2:
            return data[:8] + rng.randbytes(len(data) - 8)  # labels of any value
    return data[:3] + bytes([rng.randrange(256)]) + data[4:]


def damaged_gzip(data: bytes, rng: random.Random) -> bytes:
    """The same inside gzip; two members, a tail of rubbish; or a bomb behind a right header."""
    plain = gzip.decompress(data)
    match rng.randrange(5):
        case 0:
            return gzip.compress(plain[:8], mtime=0) + _member() * (BOMB // BLOCK)
        case 1:
            half = len(plain) // 2
            return gzip.compress(plain[:half]) + gzip.compress(plain[half:])
        case 2:
            return data + rng.randbytes(9)
    return gzip.compress(damaged_idx(plain, rng), 1, mtime=0)


@cache
def _member() -> bytes:
    return gzip.compress(bytes(BLOCK), 1, mtime=0)


def damaged_npz(data: bytes, rng: random.Random) -> bytes:
    """An archive in which one array is another, or one entry is no array, or a bomb."""
    with np.load(io.BytesIO(data)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = rng.choice(list(arrays))
    match rng.randrange(8):
        case 0:
            return _bomb(arrays, name)
        case 1 | 2:
            return _zip(arrays, {name: _entry(rng.choice(HEADERS).encode() + b"\n", rng.randbytes(50))})
        case 3:
            flipped = bytearray(_saved(arrays[name]))
            for _ in range(rng.randint(1, 9)):
                flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
            return _zip(arrays, {name: bytes(flipped)})  # with the right checksum
        case 4:
            return _zip(arrays, {name: _saved(arrays.pop(name)), "extra": rng.randbytes(20), "../x": b"", "a\\b": b"x"})
        case 5:
            return _hostile_zip(data, rng)
    changed = _other(arrays[name], rng)
    return _zip(arrays, {name: _saved(changed)})


def _other(array: npt.NDArray[Any], rng: random.Random) -> npt.NDArray[Any]:
    """The array with another type, shape or content."""
    choices: Sequence[Any] = (
        lambda: array.astype("S9"),
        lambda: array.astype("U9"),
        lambda: np.zeros(array.shape),
        lambda: array[..., None],
        lambda: array[:0],
        lambda: array[()][0],
        lambda: np.array(5),
        lambda: np.array("x"),
        lambda: array[:-1],
        lambda: np.full(array.shape, np.nan),
        lambda: np.zeros(array.shape, complex),
        lambda: array != array,
        lambda: np.zeros(array.shape, "M8[s]"),
        lambda: np.zeros(array.shape, [("a", "i4"), ("b", "U3")]),
        lambda: np.array([None, {}], dtype=object),
        lambda: np.full(array.shape, 2**62),
        lambda: -np.ones(array.shape),
        lambda: np.zeros((*array.shape, 0)),
        lambda: np.full(array.shape, "\ud800"),
        lambda: array.reshape(-1),
        lambda: np.frombuffer(rng.randbytes(array.nbytes), array.dtype).reshape(array.shape),
        lambda: array.T.copy(),
        lambda: np.full(array.shape, 1e308),
        lambda: array.astype(">f2"),
        lambda: array.repeat(50, 0),
        lambda: -array,
        lambda: np.full(array.shape, "9" * 40),
        lambda: np.zeros((len(array), 0, 0), np.uint8),
        lambda: array.astype(">i4"),
    )
    try:
        changed: npt.NDArray[Any] = np.asarray(rng.choice(choices)())
    except (TypeError, ValueError):  # words that are no numbers
        return np.zeros(3)
    return changed


def _saved(array: npt.NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def _entry(header: bytes, data: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _zip(arrays: dict[str, npt.NDArray[Any]], changed: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in [*arrays, *(set(changed) - set(arrays))]:
            archive.writestr(f"{name}.npy", changed[name] if name in changed else _saved(arrays[name]))
    return stream.getvalue()


def _hostile_zip(data: bytes, rng: random.Random) -> bytes:
    """Flags, methods and sizes of the central directory changed: encrypted, unknown, larger than the file."""
    changed, at = bytearray(data), data.find(b"PK\x01\x02")
    offset = at + rng.choice((6, 8, 8, 10, 10, 16, 20, 24, 42)) + rng.randrange(2)
    changed[offset] = rng.randrange(256)
    return bytes(changed)


def _bomb(arrays: dict[str, npt.NDArray[Any]], name: str) -> bytes:
    """One array of zeros, 2 GiB of them in 2 MB: the deflate stream of a block, again and again."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({BOMB // 2**16}, 256, 256), }}".encode()
    entry = _entry(header + b" " * (117 - len(header)) + b"\n", b"")
    packed = _packed(entry)
    size, file = len(entry) + BOMB, f"{name}.npy".encode()
    rest = _zip({other: array for other, array in arrays.items() if other != name}, {})
    end = rest.rfind(b"PK\x05\x06")
    count, length, start = (
        struct.unpack("<8xHH", rest[end : end + 12])[1],
        *struct.unpack("<LL", rest[end + 12 : end + 20]),
    )
    common = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 0, 0, len(packed), size, len(file), 0)  # the checksum is no use
    local = b"PK\x03\x04" + common + file + packed
    central = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHLL", 0, 0, 0, 0, start) + file
    closing = struct.pack(
        "<4sHHHHLLH", b"PK\x05\x06", 0, 0, count + 1, count + 1, length + len(central), start + len(local), 0
    )
    return rest[:start] + local + rest[start : start + length] + central + closing


@cache
def _packed(start: bytes) -> bytes:
    flate = zlib.compressobj(1, zlib.DEFLATED, -15)
    first = flate.compress(start) + flate.flush(zlib.Z_FULL_FLUSH)
    block = flate.compress(bytes(BLOCK)) + flate.flush(zlib.Z_FULL_FLUSH)
    return first + block * (BOMB // BLOCK) + flate.flush(zlib.Z_FINISH)


def damaged_image(data: bytes, rng: random.Random) -> bytes:
    """An image of another kind, of no size, of far too much, or with rubbish in its chunks."""
    match rng.randrange(7):
        case 0:
            return png(
                rng.choice((0, 1, 20_000, 30_000, 2**31 - 1, 2**32 - 1)), rng.choice((0, 1, 13_000, 30_000)), b""
            )
        case 1:
            return png(12_000, 13_000, zlib.compress(bytes(2**20), 1))
        case 2:
            return png(46_000, 46_000, _zeros(46_000 * 46_001))
        case 3:
            return _image(
                rng.choice(("1", "L", "LA", "P", "RGB", "RGBA", "I;16", "I", "F", "CMYK", "YCbCr", "HSV")), rng
            )
        case 4:
            chunk = rng.choice((b"eXIf", b"tRNS", b"PLTE", b"iCCP", b"zTXt", b"fcTL"))
            return png(8, 8, zlib.compress(bytes(8 * 9)), [(chunk, rng.randbytes(rng.choice((0, 1, 3, 20, 768))))])
        case 5:
            return rng.choice(STARTS) + rng.randbytes(rng.choice((0, 20, 200)))
    flipped = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        flipped[rng.randrange(min(len(flipped), 60))] = rng.randrange(256)  # in the header
    return bytes(flipped)


def png(width: int, height: int, pixels: bytes, more: Sequence[tuple[bytes, bytes]] = ()) -> bytes:
    """A grey PNG of any size with compressed ``pixels`` and ``more`` chunks, all with the right checksum."""
    header = struct.pack(">LLBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), *more, (b"IDAT", pixels), (b"IEND", b"")]
    written = [struct.pack(">L", len(d)) + kind + d + struct.pack(">L", zlib.crc32(kind + d)) for kind, d in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


@cache
def _zeros(count: int) -> bytes:
    """``count`` zeros and more, as zlib packs them."""
    flate = zlib.compressobj(1)
    first = flate.compress(bytes(BLOCK)) + flate.flush(zlib.Z_FULL_FLUSH)
    block = flate.compress(bytes(BLOCK)) + flate.flush(zlib.Z_FULL_FLUSH)
    return first + block * (count // BLOCK)


def _image(mode: str, rng: random.Random) -> bytes:
    image = Image.frombytes("L", (9, 7), rng.randbytes(63))
    image = image.convert("I").convert(mode) if mode == "I;16" else image.convert("RGB").convert(mode)
    stream = io.BytesIO()
    kind = rng.choice(("PNG", "JPEG", "BMP", "GIF", "TIFF"))
    try:
        image.save(stream, kind)
    except (OSError, ValueError):  # not every format has every mode
        image.convert("L").save(stream, kind)
    return stream.getvalue()


__all__ = ["damaged_gzip", "damaged_idx", "damaged_image", "damaged_npz", "idx", "png"]
