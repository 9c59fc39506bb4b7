"""The archive returns its content, or an error."""

import contextlib
import functools
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from synthesizer.data import archive
from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.errors import OutputError, SavedModelError

CONTENT = {
    "name": "Größe", "options": {"min_leaf": 5, "complexity": 1e-8, "proper": False, "depth": None},
    "$array": [1, {"$float": "x", "$$": 2}],
    "odd": [float("nan"), float("inf"), float("-inf"), -0.0, 2**70],
    "donors": np.arange(12, dtype=np.int32).reshape(3, 4), "empty": np.empty((0, 3)),
    "scalar": np.array(2.5, dtype=np.float32), "strided": np.arange(9.0).reshape(3, 3).T[:, ::2],
}  # fmt: skip


def same(a, b):
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.synth"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    file = tmp_path_factory.mktemp("archive") / "model.synth"
    write_archive(file, CONTENT, kind="chain")
    return file.read_bytes()


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | hnp.arrays(
        st.sampled_from([np.bool_, np.int8, np.int64, np.uint16, np.float32, np.float64]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["$array", "$float"]), inner)
    ),
    max_leaves=12,
)


@given(plain)
@settings(max_examples=40, deadline=None)
def test_any_plain_content_comes_back(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("any") / "a"
    write_archive(file, content, kind="k")
    assert same(read_archive(file, kind="k"), content)


def test_same_content_gives_same_bytes_with_the_hash_of_all_that_precedes(path, written):
    write_archive(path, CONTENT, kind="chain")
    assert path.read_bytes() == written == sealed(written)
    again = read_archive(path, kind="chain")
    assert same(again, CONTENT)
    again["donors"][0, 0] = 9  # compiled code wants arrays it could write to


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"a": [1, (2, 3)]}, r"content\.a\[1\].*tuple"),
        ({"a": np.float32(1)}, r"content\.a.*float32"),
        ({1: 2}, "key.*int"),
        (np.array(["x"]), "<U1"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "datetime64"),
        (np.zeros(2, dtype=[("a", "i4")]), "cannot be saved"),
        (functools.reduce(lambda inner, _: [inner], range(200), []), "nested"),
    ],
)
def test_other_content_is_refused_before_anything_is_written(path, content, words):
    with pytest.raises(SavedModelError, match=words):
        write_archive(path, content, kind="k")
    assert list(path.parent.iterdir()) == []
    with pytest.raises(OutputError, match="absent"):
        write_archive(path.parent / "absent" / "model", 1, kind="k")
    with pytest.raises(SavedModelError, match="absent"):
        read_archive(path.parent / "absent", kind="k")


def read_bytes(path, data):
    path.write_bytes(data)
    return read_archive(path, kind="chain")


def test_a_file_cut_short_or_altered_is_refused(path, written):
    for position in (0, len(written) // 2, len(written) - 1):
        data = bytearray(written)
        data[position] ^= 1 << position % 8
        for damaged in (bytes(data), written[:position]):
            with pytest.raises(SavedModelError, match=r"model\.synth.*cut short, altered or no"):
                read_bytes(path, damaged)


def sealed(data):
    """Make the hash right, as a forger would."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damage_behind_a_right_hash_is_refused_or_harmless(tmp_path_factory, written, data):
    """The parsers raise nothing else, and never hand out numbers that the zip format disproves."""
    damaged = bytearray(written)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(damaged) - 65))
        damaged[position] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.getbasetemp() / "damaged"
    with contextlib.suppress(SavedModelError):
        assert same(read_bytes(file, sealed(bytes(damaged))), CONTENT)


# Forgery: archives whose hash is right


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def forged(parts, *, compression=zipfile.ZIP_STORED, extra=None, **manifest):
    facts = {"format": archive.FORMAT, "version": archive.VERSION, "kind": "chain"}
    whole = facts | {"arrays": len(parts) - 1}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        file.writestr("manifest.json", json.dumps(whole | manifest))
        for name, data in (parts | (extra or {})).items():
            file.writestr(name, data)
        file.comment = bytes(64)
    return sealed(buffer.getvalue())


def with_array(array_file, content=b'{"$array":0}'):
    return {"content.json": content, "arrays/0.npy": array_file}


GOOD = npy(np.arange(3))
HUGE = GOOD.replace(b"(3,), }       ", b"(3000000000,),")
PICKLED = npy(np.array([{"a": 1}], dtype=object), allow_pickle=True)

FORGERIES = {
    "huge declared shape": forged(with_array(HUGE)),
    "pickled objects": forged(with_array(PICKLED)),
    "trailing bytes": forged(with_array(GOOD + b"x")),
    "reference to no array": forged({"content.json": b'{"$array":0}'}),
    "negative reference": forged(with_array(GOOD, b'{"$array":-1}')),
    "reference by true": forged(with_array(GOOD, b'{"$array":false}')),
    "reference twice": forged(with_array(GOOD, b'[{"$array":0},{"$array":0}]')),
    "unknown tag": forged({"content.json": b'{"$object":"os.system"}'}),
    "half a character": forged({"content.json": b'["\\ud800"]'}),
    "unknown float": forged({"content.json": b'{"$float":"1"}'}),
    "deep nesting": forged({"content.json": b"[" * 100_000 + b"]" * 100_000}),
    "compressed": forged(with_array(GOOD), compression=zipfile.ZIP_DEFLATED),
    "extra member": forged({"content.json": b"1"}, extra={"x.py": b"1"}),
    "no content": forged({}),
    "future version": forged({"content.json": b"1"}, version=archive.VERSION + 1),
    "another kind": forged({"content.json": b"1"}, kind="other"),
    "number of arrays missing": forged({"content.json": b"1"}, arrays=None),
    "huge number of arrays": forged({"content.json": b"1"}, arrays=10**12),
    "hash of a file that is no zip": sealed(b"[]" + bytes(64)),
    "unknown note": forged({"content.json": b"1"}, more=1),
    "no zip": b"pickled by hand",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgery_is_refused_with_a_remedy(path, name):
    with pytest.raises(SavedModelError, match=r"model\.synth .*;.*(fit again|check the path)"):
        read_bytes(path, FORGERIES[name])
    # a control: what is forged is all that is wrong
    assert read_bytes(path, forged(with_array(GOOD))).tolist() == [0, 1, 2]
    assert (HUGE != GOOD, len(HUGE)) == (True, len(GOOD))
