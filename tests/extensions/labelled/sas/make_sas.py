"""Write the files of this folder by the C library in pyreadstat 1.3.7, which Python cannot ask.

Usage: python make_sas.py. Made-up data: sex and town of 40 persons, and the labels of both.
"""

import ctypes
import gzip
from pathlib import Path

from pyreadstat import _readstat_writer

STRING, DOUBLE = 0, 5
POINTER = ctypes.c_void_p
WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, POINTER, ctypes.c_size_t, POINTER)
LIBRARY = ctypes.CDLL(_readstat_writer.__file__)
for made in ("writer_init", "add_label_set", "add_variable"):
    getattr(LIBRARY, f"readstat_{made}").restype = POINTER


class Writer:
    """Collects the bytes of a file."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.callback = WRITE(self._put)
        self.pointer = POINTER(LIBRARY.readstat_writer_init())
        LIBRARY.readstat_set_data_writer(self.pointer, self.callback)

    def _put(self, data: int, size: int, _: object) -> int:
        self.data += ctypes.string_at(data, size)
        return size

    def call(self, name: str, *words: object) -> POINTER:
        """Call a function of the library with this writer."""
        return POINTER(getattr(LIBRARY, f"readstat_{name}")(self.pointer, *words))

    def save(self, name: str) -> None:
        """End the file and write it, packed."""
        self.call("end_writing")
        path = Path(__file__).parent / f"{name}.gz"
        path.write_bytes(gzip.compress(self.data, mtime=0))


def write_files() -> None:
    """Write the catalogue and the file."""
    formats = Writer()
    labels = formats.call("add_label_set", DOUBLE, b"SEXF")
    for value, label in ((1.0, b"person"), (2.0, b"person"), (3.0, b"nobody")):
        LIBRARY.readstat_label_double_value(labels, ctypes.c_double(value), label)
    labels = formats.call("add_label_set", STRING, b"$TOWN")
    for text, label in ((b"A", b"Aachen"), (b"B", b"Bern")):
        LIBRARY.readstat_label_string_value(labels, text, label)
    formats.call("begin_writing_sas7bcat", None)
    formats.save("formats.sas7bcat")

    persons = Writer()
    columns = []
    for column, kind, width, form in (
        (b"sex", DOUBLE, 8, b"SEXF8."),
        (b"town", STRING, 4, b"$TOWN"),
        (b"age", DOUBLE, 8, b"BEST12."),
    ):
        columns.append(persons.call("add_variable", column, kind, ctypes.c_size_t(width)))
        LIBRARY.readstat_variable_set_format(columns[-1], form)
    persons.call("begin_writing_sas7bdat", None, ctypes.c_long(40))
    for row in range(40):
        persons.call("begin_row")
        persons.call("insert_double_value", columns[0], ctypes.c_double(1 + row % 2))
        persons.call("insert_string_value", columns[1], b"AB"[row % 2 :][:1])
        persons.call("insert_double_value", columns[2], ctypes.c_double(20 + row))
        persons.call("end_row")
    persons.save("persons.sas7bdat")


if __name__ == "__main__":
    write_files()
