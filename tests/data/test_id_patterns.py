"""Identifiers keep their form, and none of the data's is written."""

import json
import re
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synthesizer.data.encoding import encode
from synthesizer.data.guessing import Declaration
from synthesizer.data.id_patterns import IdPattern, find_pattern
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Kind
from synthesizer.data.writing import to_frame

RNG = np.random.default_rng(11)


def _numbers(digits: int, n: int = 300) -> list[str]:
    return [f"{k:0{digits}}" for k in RNG.choice(10**digits, n, replace=False).tolist()]


IDS = {
    "iban": ([f"DE0000{t}" for t in _numbers(15)], r"DE0000\d{15}"),
    "telephone": ([f"+49 30 {t}" for t in _numbers(7)], r"\+49 30 \d{7}"),
    "zeros": (_numbers(7), r"\d{7}"),
    "code": ([f"P{t}" for t in _numbers(5)], r"P\d{5}"),
    "ssn": ([f"{t[:3]}-{t[3:5]}-{t[5:]}" for t in _numbers(9)], r"\d{3}-\d\d-\d{4}"),
    "mixed iban": ([f"{'DEATFR'[k % 3 * 2:][:2]}{t}" for k, t in enumerate(_numbers(15))],
                   r"[A-Z]{2}\d{15}"),
    "uuid": ([str(uuid.UUID(bytes=RNG.bytes(16), version=4)) for _ in range(300)],
             r"[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}"),
    "ip": ([f"10.0.{a}.{b}" for a, b in RNG.integers(0, 256, (400, 2)).tolist()],
           r"10\.0(\.(25[0-5]|2[0-4]\d|1?\d?\d)){2}"),
    "visits": ([f"S{k % 9 + 95}-{k}" for k in range(300)], r"S\d+-\d+"),
    "long": ([f"Person {k}" for k in range(100, 400)], r"Person \d+"),
    "e-mail": ([f"{t}.x@y{k % 7}.org" for k, t in enumerate(_numbers(6))],
               r"person\d+@example\.org"),
    "plate": ([f"{chr(65 + k % 26)}{chr(65 + k // 26)} {t}" for k, t in enumerate(_numbers(4))],
              r"[A-Z]{2} \d{4}"),
    "iban in groups": ([f"DE00 {t[:4]} {t[4:8]} {t[8:]}" for t in _numbers(12)],
                       r"DE00 \d{4} \d{4} \d{4}"),
}  # fmt: skip


@pytest.mark.parametrize("name", IDS)
def test_identifiers_keep_their_form_and_none_is_the_data_s(name):
    texts, form = IDS[name]
    texts = list(dict.fromkeys(texts))
    pattern = find_pattern(pa.array(texts))
    written = pattern.texts(np.arange(1.0, len(texts) + 1)).to_pylist()
    assert [text for text in written if not re.fullmatch(form, text)] == []
    many = pattern.texts(np.arange(1.0, 40 * len(texts))).to_pylist()
    assert len(set(many)) == len(many)
    assert not set(many) & set(texts)
    assert many[: len(texts)] == written
    stored = json.dumps(pattern.storage)
    assert IdPattern.of_storage(json.loads(stored)) == pattern
    assert not any(text in stored for text in texts)


def test_a_crowded_pattern_frees_its_digits_first_and_gets_further_ones():
    texts = [f"10.0.{k // 200}.{k % 200}" for k in range(8000)]
    pattern = find_pattern(pa.array(texts))
    assert pattern.parts == ("d", "d", "=.", "d", "=.", "n256", "=.", "n256")
    assert not set(pattern.texts(np.arange(1.0, 8001)).to_pylist()) & set(texts)
    texts = [f"A{k:03}" for k in range(0, 1000, 2)]
    pattern = find_pattern(pa.array([*texts, "A12345678"]))
    written = pattern.texts(np.arange(1.0, 5000)).to_pylist()
    assert len(set(written)) == 4999
    assert min(map(len, written)) > len("A12345678")


def test_a_character_of_few_persons_does_not_stay_and_others_are_numbered():
    texts = [*(f"X{t}" for t in _numbers(6)), *(f"Q{t}" for t in _numbers(6, 4))]
    assert find_pattern(pa.array(texts)).parts[0] == "=X"
    for others in (["A1", "A2", "A3", "A4"], [str(k) for k in range(1, 80)], ["Anna", "Bo", "Cy"]):
        assert find_pattern(pa.array(others)) is None


def test_identifiers_of_a_frame_are_written_by_person():
    texts, form = IDS["iban in groups"]
    frame = pd.DataFrame({"person": [t for t in texts for _ in range(2)] + [None]})
    raw = from_pandas(frame)
    table = encode(raw, {"person": Declaration(kind=Kind.ID)})
    back = to_frame(table, raw.layout)["person"]
    assert back.iloc[:-1].str.fullmatch(form).all()
    assert back.isna().tolist() == frame["person"].isna().tolist()
    assert back.iloc[:-1:2].nunique() == 300
    assert (back.iloc[:-1:2].to_numpy() == back.iloc[1:-1:2].to_numpy()).all()
