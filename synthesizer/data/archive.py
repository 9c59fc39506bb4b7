"""One file for nested plain values, which is checked on reading and never executed.

An archive is an uncompressed zip file, so that an auditor can look at it with common tools::

    manifest.json     format, version, kind and the number of arrays
    content.json      the values; {"$array": 3} stands for an array
    arrays/3.npy      numbers in NumPy's own format
    (zip comment)     SHA-256 of all bytes before it: the last 64 bytes of the file

The hash detects damage (a file cut short, a bad disk), not forgery: a forger can replace the hash,
too. Against forgery the reader accepts only strings, numbers, lists, dicts and arrays of numbers,
of the sizes that the file really has. Members are not compressed, so a small file cannot claim a
huge content. The lightest compression would make typical donors 2.5 times smaller and writing 3
times slower.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import SavedModelError
from synthesizer.data.files import create, parse_json

FORMAT = "synthesizer-archive"
VERSION = 6
MANIFEST = "manifest.json"
CONTENT = "content.json"
SEAL = 64
MAX_DEPTH = 100
DTYPES = frozenset({"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8"})
MAX_MEMBERS = 1_000_000
_NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<size>..)\{'descr': '(?P<dtype>[<|][a-z][0-9])', "
    rb"'fortran_order': False, 'shape': \((?P<shape>[0-9, ]*)\), \} *\n",
    re.DOTALL,
)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip members carry a date; a fixed one keeps files identical

Array = npt.NDArray[Any]


def write_archive(path: str | Path, content: Any, *, kind: str) -> None:
    """Write nested plain values into one new file that only its owner may read.

    The content is made of str, int, float, bool, None, list, dict with str keys, and ndarray of
    bool, int, uint, float32 or float64. The same content gives the same bytes. ``kind`` is a word
    for the content, such as ``"chain"``; `read_archive` needs the same word.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "model.synth"
    >>> write_archive(file, {"donors": np.arange(3)}, kind="example")
    >>> read_archive(file, kind="example")
    {'donors': array([0, 1, 2])}
    """
    arrays: list[Array] = []
    text = _dumped(_encoded(content, arrays, "content"))
    with create(Path(path)) as file:
        with zipfile.ZipFile(file, "w") as archive:
            about = {"format": FORMAT, "version": VERSION, "kind": kind, "arrays": len(arrays)}
            with _member(archive, MANIFEST) as member:
                member.write(_dumped(about))
            with _member(archive, CONTENT, len(text)) as member:
                member.write(text)
            for number, array in enumerate(arrays):
                with _member(archive, _array_name(number), array.nbytes) as member:
                    np.lib.format.write_array(member, array, (1, 0), allow_pickle=False)
            archive.comment = bytes(SEAL)
        _seal(file)


def _encoded(value: Any, arrays: list[Array], where: str, depth: int = 0) -> Any:
    """Return JSON values with references to arrays; append the arrays to a list."""
    if depth > MAX_DEPTH:
        raise SavedModelError(f"{where} is nested deeper than {MAX_DEPTH} levels; flatten it")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, np.ndarray):
        arrays.append(_checked(value, where))
        return {"$array": len(arrays) - 1}
    if isinstance(value, list):
        return [_encoded(v, arrays, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
    if isinstance(value, dict):
        return {
            _escaped(key, where): _encoded(v, arrays, f"{where}.{key}", depth + 1)
            for key, v in value.items()
        }
    raise SavedModelError(
        f"{where} is a {type(value).__name__}, which cannot be saved; "
        "use str, int, float, bool, None, list, dict or a numeric array"
    )


def _escaped(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise SavedModelError(f"{where} has a key that is a {type(key).__name__}; use str")
    return f"${key}" if key.startswith("$") else key


def _checked(array: Array, where: str) -> Array:
    """Return the array in C order and little-endian bytes."""
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if plain.dtype.str not in DTYPES:
        raise SavedModelError(
            f"{where} is an array of {array.dtype}, which cannot be saved; use bool, int or float"
        )
    return plain


def _dumped(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _member(archive: zipfile.ZipFile, name: str, size: int = 0) -> IO[bytes]:
    """Begin a member of about ``size`` bytes."""
    info = zipfile.ZipInfo(name, date_time=_EPOCH)
    info.create_system = 3  # the same bytes on every system
    info.external_attr = 0o600 << 16
    info.file_size = size
    return archive.open(info, "w")


def _seal(file: IO[bytes]) -> None:
    """Write the hash of all other bytes over the last ones, the zip comment."""
    end = file.seek(-SEAL, os.SEEK_END)
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest)


def _digest(file: IO[bytes], length: int) -> bytes:
    """Return the SHA-256 of the first ``length`` bytes in hexadecimal."""
    digest = hashlib.sha256()
    file.seek(0)
    while length and (block := file.read(min(length, 2**20))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest().encode("ascii")


def read_archive(path: str | Path, *, kind: str) -> Any:
    """Return the content of a file that `write_archive` wrote with the same ``kind``.

    Raises
    ------
    SavedModelError
        On every other file.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise SavedModelError(f"{path} is a directory, a device or a pipe; name a file")
    try:
        with open(path, "rb") as file:
            size = _check_seal(file)
            with zipfile.ZipFile(file) as archive:
                return _read(archive, size, kind)
    except SavedModelError as error:
        raise SavedModelError(f"{path} {problem}" for problem in error.problems) from error
    except FileNotFoundError as error:
        raise SavedModelError(f"{path} does not exist; check the path") from error
    except PermissionError as error:
        raise SavedModelError(f"{path}: you may not read it; ask its owner to load it") from error
    except _DAMAGE as error:
        raise SavedModelError(
            f"{path} is cut short, altered or not a saved model; restore a copy or fit again"
        ) from error


# What the standard library and NumPy raise on damaged bytes; `struct.error` comes as BadZipFile.
_DAMAGE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def _check_seal(file: IO[bytes]) -> int:
    """Return the size of a file; raise an error if any byte changed since it was written."""
    size = file.seek(0, os.SEEK_END)
    digest = _digest(file, max(size - SEAL, 0))
    if file.read(SEAL) != digest:
        raise zipfile.BadZipFile("another hash")
    return size


def _read(archive: zipfile.ZipFile, size: int, kind: str) -> Any:
    infos = _audited(archive, size)
    manifest = parse_json(_bytes(archive, infos[MANIFEST]))
    _check_manifest(manifest, kind)
    names = [_array_name(number) for number in range(min(manifest["arrays"], len(infos)))]
    if {MANIFEST, CONTENT, *names} != infos.keys() or len(names) != manifest["arrays"]:
        raise SavedModelError("lacks or adds parts; restore a copy or fit again")
    content = parse_json(_bytes(archive, infos[CONTENT]))
    arrays = [_array(_bytes(archive, infos[name])) for name in names]
    return _decoded(content, arrays, set())


def _audited(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; refuse an archive that `write_archive` cannot have written."""
    listed = archive.infolist()
    infos = {info.filename: info for info in listed}
    stored = all(
        info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        for info in listed
    )
    total = sum(info.file_size for info in listed)
    if not stored or len(infos) != len(listed) or total > size or len(listed) > MAX_MEMBERS:
        raise SavedModelError("is not a saved model; restore a copy or fit again")
    return infos


def _check_manifest(manifest: Any, kind: str) -> None:
    keys = {"format", "version", "kind", "arrays"}
    is_saved_model = (
        isinstance(manifest, dict) and manifest.keys() == keys and manifest["format"] == FORMAT
    )
    if not is_saved_model or type(manifest["arrays"]) is not int:
        raise SavedModelError("is not a saved model of this package; check the path")
    if manifest["version"] != VERSION or isinstance(manifest["version"], bool):
        raise SavedModelError(
            f"has version {manifest['version']!r} of the format, this release reads {VERSION}; "
            "load it with the release that wrote it or fit again"
        )
    if manifest["kind"] != kind:
        raise SavedModelError(f"contains a {manifest['kind']!r}, not a {kind!r}; check the path")


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """Return the bytes of a member, in memory that an array can use and change."""
    buffer = bytearray(info.file_size)
    with archive.open(info) as member:
        filled = 0
        view = memoryview(buffer)
        while step := member.readinto(view[filled : filled + 2**24]):  # type: ignore[attr-defined]
            filled += step
    if filled != len(buffer):
        raise SavedModelError("is cut short; restore a copy or fit again")
    return buffer


def _array(buffer: bytearray) -> Array:
    """Return the array of an npy file with exactly the header that `write_archive` writes."""
    header = _NPY_HEADER.match(buffer)
    if header is None or header.end() != 10 + int.from_bytes(header["size"], "little"):
        raise SavedModelError("has arrays of an unknown format; fit again")
    if header["dtype"].decode("ascii") not in DTYPES:
        raise SavedModelError("has arrays of an unknown type; fit again")
    dtype = np.dtype(header["dtype"].decode("ascii"))
    shape = tuple(int(length) for length in header["shape"].split(b",") if length.strip())
    if header.end() + math.prod(shape) * dtype.itemsize != len(buffer):
        raise SavedModelError("has arrays of a wrong size; fit again")
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.frombuffer(buffer, dtype, offset=header.end()).reshape(shape)


def _decoded(value: Any, arrays: list[Array], used: set[int]) -> Any:
    """Return the values that `_encoded` wrote; each array may be used once."""
    if isinstance(value, list):
        return [_decoded(item, arrays, used) for item in value]
    if isinstance(value, str):
        value.encode()  # an escape may stand for half a character: a ValueError, damage
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return _referred(value, arrays, used)
    if "$float" in value:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["$float"]]
    return {
        _unescaped(_decoded(key, arrays, used)): _decoded(item, arrays, used)
        for key, item in value.items()
    }


def _referred(value: dict[str, Any], arrays: list[Array], used: set[int]) -> Array:
    number = value["$array"]
    if type(number) is not int or number < 0 or number in used or len(value) > 1:
        raise SavedModelError("refers to its arrays in an unknown way; fit again")
    used.add(number)
    return arrays[number]


def _unescaped(key: str) -> str:
    if key.startswith("$") and not key.startswith("$$"):
        raise SavedModelError("has an unknown kind of value; fit again")
    return key[1:] if key.startswith("$") else key
