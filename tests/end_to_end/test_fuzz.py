"""Any configuration and any small table: a result, or problems in words, and never a traceback."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthesizer.data.sources import read_path
from tests.end_to_end.commands import call

FUZZ = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

NAMES = ["a", "b", "c", "n"]
TABLE = "a,b,c,n\n" + "".join(
    f"{i % 3},{'xyz'[i % 3]},{i * 0.5},{i % 7 or ''}\n" for i in range(40)
)

names = st.sampled_from([*NAMES, "d", "", "A", "1", 1, True, None])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 50),
    st.sampled_from([10**30, -(10**30), 0.5, float("inf"), float("nan")]),
    st.text(max_size=5),
    names,
)
models = st.sampled_from(
    ["cart", "sample", "norm", "logreg", "pmm", "keep", "", "derived", "crat", "~ a", "~ a + 1",
     "constant", "forest", "polyreg", "polr", "lognorm", "normrank", "bag"]
)  # fmt: skip
texts = st.sampled_from(
    ["a > 1", "b == 'x'", "c < n", "missing(n)", "a", "1 +", "d > 2", "b > 1", "a in [1, 2]",
     "c / 0 > 1", "not a", "'x'", "a == 1 and b == 'x'", "log(c) > 0", "`a` == 0"]
)  # fmt: skip
anything = st.recursive(
    st.one_of(scalars, texts, models),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
variable = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(
            ["categorical", "ordered", "boolean", "numeric", "date", "id", "numerical"]
        ),
        "missing": st.lists(st.sampled_from(["", "0", "x", "-8"]), max_size=2),
        "levels": st.lists(st.sampled_from(["0", "1", "2", "x", "y", "z"]), max_size=4),
        "decimals": st.integers(-1, 16),
        "date_format": st.sampled_from(["%Y", "%d.%m.%Y", "%"]),
        "method": models,
        "derived": texts,
        "missing_method": models,
        "predictors": st.lists(names, max_size=2),
        "options": st.dictionaries(st.sampled_from(["min_leaf", "k", "x"]), scalars, max_size=1),
    },
)
configurations = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.one_of(st.integers(0, 5), scalars),
        "m": st.one_of(
            st.integers(1, 2), scalars.filter(lambda m: not isinstance(m, int) or m < 9)
        ),
        "rows": st.one_of(st.integers(1, 9), scalars.filter(lambda n: n != 10**30)),
        "proper": scalars,
        "strata": st.one_of(st.lists(names, max_size=2), anything),
        "keep": st.one_of(st.lists(names, max_size=2), anything),
        "drop": st.one_of(st.lists(names, max_size=2), anything),
        "default_method": st.one_of(models, anything),
        "method": st.one_of(st.dictionaries(names, models, max_size=2), anything),
        "visit_sequence": st.one_of(st.permutations(NAMES), anything),
        "predictor_matrix": st.dictionaries(names, st.lists(names, max_size=2), max_size=2),
        "models": anything,
        "variables": st.one_of(st.dictionaries(names, variable, max_size=2), anything),
        "rules": st.one_of(
            st.lists(
                st.fixed_dictionaries(
                    {"if": texts, "then": st.dictionaries(names, scalars, max_size=2)}
                ),
                max_size=2,
            ),
            anything,
        ),
        "forbid": st.one_of(st.lists(texts, max_size=2), anything),
        "on_violation": st.sampled_from(["error", "warn", "ignore", "x"]),
        "checks": st.one_of(
            st.booleans(),
            st.fixed_dictionaries({}, optional={"keys": st.lists(names), "target": names}),
            anything,
        ),
        "limits": anything,
        "any": anything,
    },
)


def tried(folder: Path, content: dict[str, Any], *commands: str) -> int:
    """Run the commands; `call` raises whatever is no exit code."""
    path = folder / "run.yaml"
    path.write_text(json.dumps(content, default=str))
    code = 0
    for command in commands:
        result = call(command, path)
        assert "Traceback" not in result.output
        assert result.exit_code in (0, 1, 2, 3), result.output
        assert result.exit_code != 2 or "error" in result.output
        code = result.exit_code
    return code


@FUZZ
@given(configurations)
def test_configurations(content: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data.csv").write_text(TABLE)
        fixed = {"data": {"path": "data.csv"}, "output": {"directory": "out"}, "workers": 1}
        code = tried(folder, content | fixed, "validate", "run")
        assert (folder / "out").exists() == (code in (0, 3))
        if code in (0, 3):
            made = pd.read_csv(next((folder / "out").glob("synthetic_*")))
            drop = content.get("drop") or []
            assert set(made.columns) == {n for n in NAMES if n not in map(str, _list(drop))}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


cells = st.one_of(
    st.sampled_from(["", "NA", "-8", "0", "1", "01", "1e400", "inf", "-inf", "nan", "1,5", "1.50"]),
    st.sampled_from(["true", "F", "2020-01-01", "31.12.1999", "1999-02-30", '"', "a\nb", " x "]),
    st.integers(-5, 5).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.dates().map(str),
    st.text(st.characters(codec="utf-8"), max_size=4),
)
columns = st.one_of(
    st.lists(cells, min_size=1, max_size=4).map(lambda few: few * 8),
    st.lists(cells, min_size=24, max_size=24),
    st.lists(st.integers(-9, 99).map(str), min_size=24, max_size=24),
    st.lists(st.dates().map(str), min_size=24, max_size=24),
)
headers = st.one_of(st.sampled_from(["a", "id", "x y", "1", "Ä", "a.b"]), st.text(max_size=4))
tables = st.tuples(
    st.dictionaries(headers, columns, min_size=1, max_size=4),
    st.integers(0, 24),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from([",", ";"]),
)


@FUZZ
@given(tables)
def test_tables(table: tuple[dict[str, list[str]], int, Any, str]) -> None:
    content, n, quoting, delimiter = table
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, delimiter=delimiter, lineterminator="\n")
    writer.writerow(content)
    writer.writerows(list(zip(*(column[:8] * 3 for column in content.values()), strict=False))[:n])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data.csv").write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
        config = {"data": {"path": "data.csv"}, "output": {"directory": "out"}, "workers": 1}
        if tried(folder, config, "validate", "run") == 0:
            original = read_path(folder / "data.csv")
            made = read_path(folder / "out" / "synthetic_1.csv")
            assert made.names == original.names
            assert made.n_rows == original.n_rows
        for command in ("codebook", "init"):
            words = ["-o", folder / "starter.yaml"] if command == "init" else []
            assert call(command, folder / "data.csv", *words).exit_code in (0, 2)
