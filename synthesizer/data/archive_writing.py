"""The writing half of `synthesizer.data.archive`, which describes the format."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from synthesizer.errors import SavedModelError

__all__ = ["array_name", "digest_of", "write_archive"]

FORMAT = "synthesizer-archive"
VERSION = 1
MANIFEST = "manifest.json"
CONTENT = "content.json"
SEAL = 64
MAX_DEPTH = 100
DTYPES = frozenset({"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8"})
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip members carry a date; a fixed one keeps files identical

Array = npt.NDArray[Any]


def write_archive(path: str | Path, content: Any, *, kind: str) -> None:
    """Write nested plain values into one file that only its owner may read.

    The file has mode 0600 from its first byte. It is written beside its place and moved there at
    the end: a failure leaves no half file, an existing file is replaced. The same content gives
    the same bytes.

    Parameters
    ----------
    path : str or Path
        The file; its directory must exist.
    content : object
        Made of str, int, float, bool, None, list, dict with str keys, and ndarray of bool,
        int, uint, float32 or float64.
    kind : str
        What the content is, such as ``"chain"``; `read_archive` wants the same word.

    Raises
    ------
    SavedModelError
        If the content holds anything else (the message says where), or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "model.synth"
    >>> write_archive(file, {"donors": np.arange(3)}, kind="example")
    >>> from synthesizer.data.archive import read_archive
    >>> read_archive(file, kind="example")
    {'donors': array([0, 1, 2])}
    """
    path = Path(path)
    arrays: list[Array] = []
    text = _dumped(_encoded(content, arrays, "content"))
    try:
        with _replacing(path) as file:
            with zipfile.ZipFile(file, "w") as archive:
                manifest = {
                    "format": FORMAT,
                    "version": VERSION,
                    "kind": kind,
                    "arrays": len(arrays),
                }
                _add(archive, MANIFEST, [_dumped(manifest)])
                _add(archive, CONTENT, [text])
                for number, array in enumerate(arrays):
                    _add(archive, array_name(number), [_npy_header(array), _raw(array)])
                archive.comment = bytes(SEAL)
            _seal(file)
    except OSError as error:
        raise SavedModelError(f"{path} cannot be written: {error.strerror}") from error


def _encoded(value: Any, arrays: list[Array], where: str, depth: int = 0) -> Any:
    """Return JSON values in which references stand for arrays, which are appended to a list."""
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


def _npy_header(array: Array) -> bytes:
    header = io.BytesIO()
    description = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(header, description)
    return header.getvalue()


def _raw(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def array_name(number: int) -> str:
    """Return the name of the member that holds an array."""
    return f"arrays/{number}.npy"


def _add(archive: zipfile.ZipFile, name: str, parts: list[Any]) -> None:
    """Store one member."""
    info = zipfile.ZipInfo(name, date_time=_EPOCH)
    info.create_system = 3  # the same bytes on every system
    info.external_attr = 0o600 << 16
    info.file_size = sum(len(part) for part in parts)
    with archive.open(info, "w") as member:
        for part in parts:
            member.write(part)


def _seal(file: IO[bytes]) -> None:
    """Write the hash of all other bytes over the last ones, which the zip comment holds free."""
    end = file.seek(-SEAL, os.SEEK_END)
    digest = digest_of(file, end)
    file.seek(end)
    file.write(digest)


def digest_of(file: IO[bytes], length: int) -> bytes:
    """Return the SHA-256 of the first ``length`` bytes in hexadecimal."""
    digest = hashlib.sha256()
    file.seek(0)
    while length and (block := file.read(min(length, 2**20))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest().encode("ascii")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a private temporary sibling, which becomes ``path`` if all goes well."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "x+b", opener=_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _private(path: str, flags: int) -> int:
    """Create with mode 0600; the umask could only take away more, which ``chmod`` gives back."""
    descriptor = os.open(path, flags, 0o600)
    os.chmod(path, 0o600)
    return descriptor


def _sync_directory(directory: Path) -> None:
    """Make the new name survive a power cut, where the system lets a directory be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
