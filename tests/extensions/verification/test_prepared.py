"""The copy that jobs read: the same rows as the file, of a size that one person cannot change."""

import random
import stat

import numpy as np
import pandas as pd
import pytest
from replay_trials import GAP, QUESTIONS, SCHEMA, Exact, neighbour, people

from synthesizer.data.sources import from_pandas
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import (
    is_prepared,
    prepared_view,
    rows_of,
    view_of,
    write_prepared,
)
from synthesizer.extensions.verification.verify import sound_query

KEY = b"k" * 32


def copied(path, frame, schema):
    write_prepared(path, schema.encoded(from_pandas(frame.astype(str), min_rows=0)), schema, KEY)
    return path


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_is_that_of_the_file(name, files, schema, tmp_path):
    path = tmp_path / "copy.arrow"
    write_prepared(path, schema.encoded(schema.read(files[0])), schema, KEY)
    content = {key: value for key, value in {**GAP, **QUESTIONS[name]}.items() if value is not None}
    sound = sound_query(query_of(content), schema, files[1])
    prepared = sound.prepare()
    views = (
        view_of(files[0], schema, sound.query, KEY),
        prepared_view(path, schema, sound.query, KEY),
    )
    one, other = (sound.ask.release(sound.query, prepared, view, Exact()) for view in views)
    assert one == other
    assert np.array_equal(views[0].numbers, views[1].numbers)


def rows_by_person(path, schema):
    ask = {"measure": "interval", "coefficient": "age", "above": 0}
    query = query_of({"formula": "pay ~ age + sex + race + agency + C(year)", "ask": ask})
    view = prepared_view(path, schema, query, KEY)
    data = np.column_stack([column.data for column in view.table.columns])
    rows = {}
    for number, values in zip(view.numbers.tolist(), data, strict=True):
        rows.setdefault(number, []).append(values.tobytes())
    return {number: sorted(cells) for number, cells in rows.items()}


def test_a_person_changes_her_own_rows_and_no_other(tmp_path):
    schema, rng = strictly(PublicSchema, {**SCHEMA, "rows_per_person": 2}), random.Random(1)
    frame = people(30, seed=1)
    before = rows_by_person(copied(tmp_path / "one", frame, schema), schema)
    assert {len(rows) for rows in before.values()} == {2}
    for trial in range(60):
        other = neighbour(frame, rng).sample(frac=1, random_state=trial)
        after = rows_by_person(copied(tmp_path / "two", other, schema), schema)
        assert sum(before.get(n) != after.get(n) for n in before.keys() | after.keys()) <= 1


def test_the_size_hangs_on_the_number_of_rows_alone(tmp_path):
    schema = strictly(PublicSchema, SCHEMA)
    frame = people(20, seed=1).astype(object)
    large = pd.concat([frame[frame.person == "p3"]] * 500).assign(agency="x" * 1_000, pay="1e308")
    plain = copied(tmp_path / "one", frame, schema)
    hostile = copied(tmp_path / "two", pd.concat([frame[frame.person != "p3"], large]), schema)
    assert plain.stat().st_size == hostile.stat().st_size
    assert stat.S_IMODE(plain.stat().st_mode) == 0o600
    encoded = schema.encoded(from_pandas(large.astype(str), min_rows=0))
    assert rows_of(encoded, schema) == SCHEMA["rows_per_person"]


def test_an_empty_file_has_a_copy(tmp_path, schema):
    path = copied(tmp_path / "none", people(3, seed=1).iloc[:0], schema)
    assert rows_by_person(path, schema) == {}


def test_a_copy_is_known_by_its_key(tmp_path, schema):
    path = copied(tmp_path / "one", people(3, seed=1), schema)
    assert is_prepared(path, KEY)
    assert not is_prepared(path, b"j" * 32)
    assert not is_prepared(tmp_path / "two", KEY)
    path.write_bytes(path.read_bytes()[:100])
    assert not is_prepared(path, KEY)
