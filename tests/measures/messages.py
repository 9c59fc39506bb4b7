"""Every refusal of the measures, in one file.

``messages.txt`` has a block for each: a measure and its arguments (names of `TABLES` in place of
data), and below the problems. To write it anew, call ``python -m tests.measures.messages``
and read the difference.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.risk.attacks import attacks
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap, cap_u
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.risk.determined import determined
from synthesizer.measures.risk.identity import identity, reproduced_uniques
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.risk.suda import suda
from synthesizer.measures.risk.tcap import tcap
from synthesizer.measures.scenario import Tolerance
from synthesizer.measures.utility.combining import combine
from synthesizer.measures.utility.compare_fit import compare_fit, compare_fit_by
from synthesizer.measures.utility.distributions import distributions, pair_tables
from synthesizer.measures.utility.fits import unsettled
from synthesizer.measures.utility.formulas import learn_model, parse_atom, parse_formula
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.tables import jensen_shannon, table_utility
from tests.tables import coded, persons

FILE = Path(__file__).with_name("messages.txt")
LEVEL_PREFIX = "wxyz"

_income = persons(200)["income"]
WHOLE = Table(
    [
        *persons(200).columns,
        coded("town", np.arange(200) % 3, [f"{LEVEL_PREFIX}{n}" for n in range(3)]),
        coded("one", np.zeros(200), ["a", "b"]),
        coded("job", np.arange(200) % 101, [f"j{n}" for n in range(101)]),
        Column(Variable(name="who", kind=Kind.ID), np.arange(200.0)),
        Column(
            Variable(name="twin", kind=Kind.NUMERIC, missing=_income.variable.missing),
            _income.data,
            _income.states,
        ),
    ]
)
TABLES = {
    "whole": WHOLE,
    "empty": WHOLE.take(slice(0, 0)),
    "two rows": WHOLE.take(slice(0, 2)),
    "nine rows": WHOLE.take(slice(0, 9)),
    "nine others": WHOLE.take(slice(9, 18)),
    "sex alone": WHOLE.select(["sex"]),
    "age of labels": WHOLE.with_column(coded("age", np.zeros(200), "x")),
    "an array": np.zeros((3, 2)),
}
BOTH = {"original": "whole", "synthetic": "whole"}
HALVES = {"fitted": "whole", "unseen": "whole", "synthetic": "whole"}
SCENARIO = {"keys": ["town", "sex"], "target": "marital"}
OF_RISK: dict[str, tuple[Any, dict[str, Any]]] = {
    **{each.__name__: (each, BOTH | SCENARIO) for each in (attribute, cap, cap_u, tcap)},
    **{
        each.__name__: (each, BOTH | {"keys": ["town", "sex"]})
        for each in (copied_uniques, identity, replicated_uniques)
    },
    "reproduced_uniques": (
        lambda original, synthetic, keys: reproduced_uniques(original, synthetic, keys=keys),
        BOTH | {"keys": ["town", "sex"]},
    ),
    "determined": (determined, {"table": "whole"} | SCENARIO),
    "suda": (suda, {"data": "whole", "keys": ["town", "sex"]}),
    "attacks": (partial(attacks, n_attacks=20), HALVES | SCENARIO),
    "nearer_share": (nearer_share, HALVES),
    "inference": (inference, BOTH | {"sensitive": "marital", "public": ["town", "sex"]}),
}
OF_UTILITY: dict[str, tuple[Any, dict[str, Any]]] = {
    **{
        each.__name__: (each, BOTH) for each in (distributions, jensen_shannon, pmse, table_utility)
    },
    "pair_tables": (pair_tables, BOTH),
    "compare_fit": (compare_fit, BOTH | {"formula": "age ~ sex"}),
    "compare_fit_by": (compare_fit_by, BOTH | {"formula": "age ~ marital", "by": "sex"}),
    "combine": (combine, {"estimates": [1.0, 2.0], "variances": [0.5, 0.5]}),
    "parse_formula": (parse_formula, {}),
    "parse_atom": (lambda text: parse_atom(text, "offset"), {}),
    "learn_model": (lambda formula, family: built(formula, family), {}),
    "unsettled": (
        lambda family, column, y: fail(
            unsettled(family, np.array(y, float), np.array([np.ones(len(y)), column]).T, "1a")
        ),
        {},
    ),
}


def built(formula: str, family: Any) -> None:
    fail(learn_model(parse_formula(formula), WHOLE, family).build(WHOLE).problems)


def fail(problems: Any) -> None:
    if problems:
        raise DataError(problems)


def named(value: Any) -> Any:
    """Return the tables that are named."""
    if isinstance(value, list):
        return [named(each) for each in value]
    return TABLES.get(value, value) if isinstance(value, str) else value


def lines_of(head: str) -> list[str]:
    """Return the problems of a call, one a line."""
    name, _, text = head.partition(": ")
    measure, usual = (OF_RISK | OF_UTILITY)[name]
    changes = yaml.safe_load(text)
    changes = changes if isinstance(changes, dict) else {"text": changes}
    arguments = {
        key: named(value) if key in ("original", "synthetic", *HALVES, "table", "data") else value
        for key, value in (usual | changes).items()
    }
    if "tolerance" in arguments:
        arguments["tolerance"] = Tolerance(**arguments["tolerance"])
    if "subsets" in arguments:
        arguments["subsets"] = {k: np.array(v) for k, v in arguments["subsets"].items()}
    try:
        measure(**arguments)
    except SynthesizerError as error:
        return [f"  {problem}" for problem in error.problems]
    return []


CASES = [block.splitlines() for block in FILE.read_text(encoding="utf-8").split("\n\n")]


def check(measures: dict[str, Any]) -> None:
    """Raise AssertionError unless calls have the problems of their blocks, without a value."""
    blocks = {head: lines for head, *lines in CASES if head.partition(":")[0] in measures}
    assert blocks
    assert {head: lines_of(head) for head in blocks} == blocks
    assert LEVEL_PREFIX not in str(blocks.values())


if __name__ == "__main__":
    blocks = ["\n".join([head, *lines_of(head)]) for head, *_ in CASES]
    FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
