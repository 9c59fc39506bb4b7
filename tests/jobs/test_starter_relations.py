"""Relations that `init` finds in all rows hold in all synthetic rows, and distort nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from synthesizer import Synthesizer, run
from synthesizer.cli.screen import show_starter
from synthesizer.config.reading import read_chain_config
from synthesizer.data.encoding import encode
from synthesizer.data.errors import ConfigError, RuleError
from synthesizer.data.expressions import Expression
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Table
from synthesizer.engine.chain import ChainSpec
from synthesizer.engine.drawing import draw_allowed
from synthesizer.engine.registry import Registry
from synthesizer.jobs.starter import StarterOptions, panel_config, write_starter
from synthesizer.measures.settings import ALL_OFF
from synthesizer.models.sample import Sample
from synthesizer.models.step import Forbid, Step
from synthesizer.plan.inputs import Input
from synthesizer.plan.plan import make_plan, prepare
from tests.tables import numeric

N = 600
REGISTRY = Registry.load()


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 500_000, N), unit="min")
    stay = rng.integers(1, 21, N)
    wages, pension, other = np.round(rng.gamma(1.5, 900, (3, N)))
    town = rng.integers(0, 40, N)
    last = rng.integers(0, 2_000, N) + rng.integers(0, 300, N) * rng.integers(0, 2, N)
    lost = rng.random(N) < 0.2
    return pd.DataFrame(
        {
            "admitted": start.strftime("%Y-%m-%d %H:%M"),
            "stay": stay,
            "discharged": (start + pd.to_timedelta(stay, unit="D")).strftime("%Y-%m-%d %H:%M"),
            "total": wages + pension + other,
            "wages": wages,
            "pension": pension,
            "other": other,
            "town_name": [f"Town {chr(65 + t % 20)}{t // 20}" for t in town],
            "town": 1_000 + 13 * town,
            "county": [f"county {t // 8}" for t in town],
            "first": last - rng.gamma(1, 200, N).astype(int),
            "last": np.where(lost, np.nan, last),
        }
    )


def test_relations_are_printed_written_and_kept(
    frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    starter = write_starter(tmp_path / "d.csv", tmp_path / "d.yaml", overwrite=False)
    assert {relation.sentence for relation in starter.relations} == {
        "discharged = admitted + stay",
        "total = wages + pension + other",
        "town_name follows from town",
        "county follows from town",
        "last >= first",
    }
    show_starter(starter)
    assert "last >= first" in capsys.readouterr().out
    checks = {"output": {"directory": tmp_path / "out"}, "m": 2, "checks": ALL_OFF}
    result = run(tmp_path / "d.yaml", overrides=checks | {"workers": 1})
    drawn = pd.concat([pd.read_csv(path) for path in result.datasets])
    gap = pd.to_datetime(drawn["discharged"]) - pd.to_datetime(drawn["admitted"])
    assert (gap == pd.to_timedelta(drawn["stay"], unit="D")).all()
    assert (drawn["total"] == drawn["wages"] + drawn["pension"] + drawn["other"]).all()
    for label in ("town_name", "county"):
        pairs = set(zip(drawn["town"], drawn[label], strict=True))
        assert pairs <= set(zip(frame["town"], frame[label], strict=True))
    assert not (drawn["last"] < drawn["first"]).any()
    for name in ("stay", "total", "first", "last"):
        assert ks_2samp(frame[name].dropna(), drawn[name].dropna()).statistic < 0.08
    distances = [(x["last"] - x["first"]).dropna() for x in (frame, drawn)]
    assert ks_2samp(*distances).statistic < 0.08


def test_rows_that_break_a_relation_are_counted(frame: pd.DataFrame, tmp_path: Path) -> None:
    data = frame[["town", "county"]].astype(str)
    data.loc[:2, "county"] = "county 9"
    data.to_csv(tmp_path / "d.csv", index=False)
    config = {
        "data": {"path": tmp_path / "d.csv"},
        "output": {"directory": tmp_path / "out"},
        "variables": {"town": {"kind": "categorical"}, "county": {"follows": "town"}},
    }
    plan = prepare(config)
    assert any("county.follows: 3 rows" in note for note in plan.notes)
    with pytest.raises(ConfigError, match="3 rows"):
        prepare(config | {"on_violation": "error"})


def panel(n_persons: int = 150, n_years: int = 5) -> pd.DataFrame:
    """Return persons in years: dummies, a formula between person and year, a constant label."""
    rng = np.random.default_rng(3)
    person, year = (x.ravel() for x in np.mgrid[:n_persons, 2000 : 2000 + n_years])
    entry, town = (
        rng.integers(1960, 1999, n_persons)[person],
        rng.integers(0, 12, n_persons)[person],
    )
    trade = np.where(rng.random(len(person)) < 0.2, rng.integers(0, 4, len(person)), person % 4)
    low = rng.normal(20, 4, len(person)).round(1)
    return pd.DataFrame(
        {
            "person": person,
            "year": year,
            "entry": entry,
            "town": [f"t{t}" for t in town],
            "county": [f"c{t // 4}" for t in town],
            "exper": year - entry,
            "expersq": (year - entry) ** 2,
            **{f"trade{i}": (trade == i) * 1 for i in range(4)},
            "low": low,
            "high": (low + rng.exponential(3, len(person))).round(1),
        }
    )


def test_relations_of_a_panel_hold_in_rows_and_persons() -> None:
    data = panel()
    chain = Synthesizer(seed=1, workers=1, panel={"person": "person", "time": "year"})
    (drawn,) = chain.fit(data).generate()
    assert (drawn["exper"] == drawn["year"] - drawn["entry"]).all()
    assert (drawn["expersq"] == drawn["exper"] ** 2).all()
    assert drawn.groupby("person")["entry"].nunique().max() == 1
    assert (drawn.filter(like="trade").astype(int).sum(axis=1) == 1).all()
    assert not (drawn["high"] < drawn["low"]).any()
    labels = set(zip(data["town"], data["county"], strict=True))
    assert set(zip(drawn["town"], drawn["county"], strict=True)) <= labels


def test_numbers_that_step_by_a_constant_do_so_in_synthetic_persons() -> None:
    """Experience and its square, with absent years; not where a rule sets it, or it is free."""
    data = panel()
    data["exper"] += np.random.default_rng(1).integers(0, 20, 150)[data["person"]]
    data["expersq"] = data["exper"] ** 2
    data = data.sample(frac=0.8, random_state=1).sort_values(["person", "year"])
    options: dict[str, Any] = {"rows": 150, "panel": {"person": "person", "time": "year"}}
    drawn = drawn_from(data, **options)
    years = drawn["year"] - drawn.groupby("person")["year"].transform("first")
    assert (drawn["exper"] - years == drawn.groupby("person")["exper"].transform("first")).all()
    assert (drawn["expersq"] == drawn["exper"] ** 2).all()
    assert abs(drawn["exper"].mean() - data["exper"].mean()) < 2
    free = drawn_from(data, **options, relations={"free": ["exper"]})
    assert free.groupby("person")["exper"].diff().dropna().ne(free["year"].diff()).any()


@pytest.mark.parametrize("form", ["long", "wide"])
def test_init_lists_the_relations_of_a_panel(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, options = panel(), panel_config(person="person", time="year")
    if form == "wide":
        wide = data.pivot_table(index="person", columns="year", values=["exper", "low", "high"])
        wide.columns = [f"{name}{year}" for name, year in wide.columns]
        data = wide.reset_index(drop=True)
        options = panel_config(wide=[f"{n}={n}2000..{n}2004" for n in ("exper", "low", "high")])
    data.to_csv(tmp_path / "d.csv", index=False)
    settings = StarterOptions(panel=options)
    show_starter(
        write_starter(tmp_path / "d.csv", tmp_path / "d.yaml", options=settings, overwrite=False)
    )
    printed, plan = capsys.readouterr().out, prepare(tmp_path / "d.yaml")
    listed = [line[2:] for line in printed.splitlines() if line.startswith("  ")]
    assert {*plan.relations} <= {*listed}
    assert (
        "expersq = exper ** 2" if form == "long" else "exper rises by 1 in each period"
    ) in listed
    assert all(f"\n#   {line}\n" in (tmp_path / "d.yaml").read_text() for line in listed[-3:])


def test_few_persons_are_no_evidence_of_a_relation(tmp_path: Path) -> None:
    panel(n_persons=20, n_years=60).to_csv(tmp_path / "d.csv", index=False)
    config = {
        "data": {"path": tmp_path / "d.csv"},
        "output": {"directory": tmp_path / "out"},
        "panel": {"person": "person", "time": "year"},
    }
    assert not prepare(config).relations
    panel(n_persons=150).to_csv(tmp_path / "d.csv", index=False)
    assert prepare(config).relations == (
        "high >= low",
        "exactly one of trade0, trade1, trade2, trade3 is 1",
    )
    free = prepare(config | {"relations": {"free": ["low", "trade1", "trade2"]}})
    assert free.relations == ("at most one of trade0, trade3 is 1",)


def test_a_relation_of_the_data_never_stops_a_run() -> None:
    """Where an order leaves no value the draw stays; a configured condition is an error."""
    ends = Table([numeric("low", np.full(8, 50.0)), numeric("high", np.arange(50.0, 58))])
    step = Step(variable="high", method="sample", model=Sample(), predictors=("low",))
    fitted = ChainSpec(steps=(Step(variable="low", method="sample", model=Sample()), step))
    chain = fitted.fit(ends, Seed(1))
    far = Table([numeric("low", np.full(5, 90.0))])
    condition = Expression.parse("high < low")
    for is_firm in (True, False):
        zero = Forbid(condition=condition, variable="high", is_firm=is_firm)
        (last,) = chain.strata[0].replicates[0][1:]
        with nullcontext() if not is_firm else pytest.raises(RuleError, match="5 synthetic rows"):
            drawn = draw_allowed(last, [], [zero], far, np.random.default_rng(1))
            assert len(drawn) == 5


def drawn_from(frame: pd.DataFrame, rows: int = 3_000, **options: Any) -> pd.DataFrame:
    chain = Synthesizer(seed=1, random_key="none", workers=1, **options)
    return chain.fit(frame).generate(rows=rows)[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_group_and_no_code_of_one_person_releases_its_number() -> None:
    rng = np.random.default_rng(0)
    x = np.minimum(rng.normal(50, 20, 300).round(1), 100)
    x[0] = 101.2
    grades = np.select([x > 100, x > 60, x > 40], [98765.43, 2222.5, 1111.25], 10.5)
    drawn = drawn_from(pd.DataFrame({"x": x, "grade": grades}))
    assert not (drawn["grade"] == 98765.43).any()
    code = rng.choice(list("abcd"), 300).astype(object)
    code[0] = "zz"
    price = pd.Series(code).map({"a": 10.5, "b": 20.25, "c": 30.75, "d": 40.125, "zz": 51234.5})
    assert drawn_from(pd.DataFrame({"code": code, "price": price}))["price"].max() == 40.125


def test_shares_of_five_parts_add_up_and_are_hardly_ever_negative() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame((100 * rng.dirichlet([1] * 5, 400)).round(1), columns=list("abcde"))
    frame["e"] = (100 - frame[list("abcd")].sum(axis=1)).round(1)
    drawn = drawn_from(frame)
    np.testing.assert_allclose(drawn.sum(axis=1), 100, atol=0.01)
    assert (drawn["e"] < 0).mean() < 0.005


def test_labels_that_change_in_a_panel_follow_their_code() -> None:
    rng = np.random.default_rng(0)
    person, year = (x.ravel() for x in np.mgrid[:200, 2010:2012])
    state = rng.choice(["emp", "un", "ret"], len(person))
    frame = pd.DataFrame({"p": person, "y": year, "state": state, "works": (state == "emp") * 1})
    drawn = drawn_from(frame, rows=200, panel={"person": "p", "time": "y"})
    assert ((drawn["works"].astype(str) == "1") == (drawn["state"] == "emp")).all()


@pytest.mark.parametrize("level", ["a\\", "it's", "a\nb"])
def test_levels_that_no_expression_can_contain_are_no_obstacle(level: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    work = rng.choice([level, "b", "c"], 300)
    frame = pd.DataFrame({"work": work, "x": np.where(work == "b", np.nan, rng.random(300))})
    frame["1"], frame["2"] = (np.where(work == kind, "Y", "N") for kind in (level, "b"))
    assert len(drawn_from(frame, rows=50)) == 50
    frame.to_csv(tmp_path / "d.csv", index=False)
    write_starter(tmp_path / "d.csv", tmp_path / "d.yaml", overwrite=False)
    assert prepare(tmp_path / "d.yaml").relations


def test_a_free_variable_is_no_source_of_a_relation() -> None:
    """Its formula is not turned round, no label follows from it, no blank depends on it."""
    rng = np.random.default_rng(0)
    work, x = rng.integers(0, 4, N), rng.integers(1, 60, N)
    frame = pd.DataFrame({"x": x, "xsq": x**2, "work": [f"w{k}" for k in work], "paid": work > 1})
    frame["hours"] = np.where(work > 1, rng.integers(1, 40, N), np.nan)
    config = {"random_key": "none", "relations": {"free": ["xsq", "work"]}}
    made = make_plan(read_chain_config(config), Input.of(encode(from_pandas(frame))), REGISTRY)
    assert not {"derived", "follows"} & {step.method for step in made.spec.steps}
    assert [*made.relations] == ["hours is blank where paid == 'false'"]


@pytest.mark.parametrize("n_dummies", [4, 5])
@pytest.mark.parametrize("first", [["d3", "d2", "d1", "d0"], ["d3", "d1"], []])
def test_dummies_are_kept_in_any_order_of_draws(n_dummies: int, first: list[str]) -> None:
    kind = np.random.default_rng(0).integers(0, 5, N)
    frame = pd.DataFrame({f"d{k}": (kind == k) * 1 for k in range(n_dummies)})
    drawn = drawn_from(frame, N, **({"visit_sequence": first} if first else {"keep": ["d2"]}))
    counts = set(drawn.astype(int).sum(axis=1)) if first else {1}
    assert counts == ({1} if n_dummies == 5 or not first else {0, 1})


IN_YEARS = {"person": "person", "time": "year"}


def kinds_over_time(stay: float, n_dummies: int) -> pd.DataFrame:
    """Return persons in years with dummies of five kinds, and pay that depends on the kind."""
    rng = np.random.default_rng(0)
    n_years, shares = 6, np.array([0.1, 0.35, 0.25, 0.1, 0.2])
    kind = rng.choice(5, size=(N, n_years), p=shares)
    for year in range(1, n_years):
        stays = rng.random(N) < stay
        kind[stays, year] = kind[stays, year - 1]
    persons, years = np.divmod(np.arange(N * n_years), n_years)
    dummies = {f"d{k}": (kind.ravel() == k) * 1 for k in range(n_dummies)}
    pay = kind.ravel() + rng.normal(0, 1, N * n_years)
    return pd.DataFrame({"person": persons, "year": years, **dummies, "pay": pay.round(2)})


def staying(frame: pd.DataFrame) -> float:
    """Return the share of later rows with the dummies of the row before."""
    dummies, person = frame.filter(regex="^d").astype(int).to_numpy(), frame["person"].to_numpy()
    later = person[1:] == person[:-1]
    return float((dummies[1:] == dummies[:-1]).all(axis=1)[later].mean())


@pytest.mark.parametrize("stay", [0.6, 1.0])
@pytest.mark.parametrize("n_dummies", [4, 5])
def test_dummies_of_a_panel_are_drawn_as_one_variable(
    stay: float, n_dummies: int, tmp_path: Path
) -> None:
    """A person who leaves one level may enter any other, not only that of the last dummy."""
    frame = kinds_over_time(stay, n_dummies)
    chain = Synthesizer(seed=1, random_key="none", workers=1, panel=IN_YEARS).fit(frame)
    drawn = chain.generate()[0]
    assert [*drawn] == [*frame]
    dummies = drawn.filter(regex="^d").astype(int)
    assert set(dummies.sum(axis=1)) == ({1} if n_dummies == 5 else {0, 1})
    assert np.abs(dummies.mean() - frame.filter(regex="^d").mean()).max() < 0.05
    assert staying(drawn) == pytest.approx(staying(frame), abs=0.02)
    means = [x["pay"].astype(float).groupby(x["d4" if n_dummies == 5 else "d3"].astype(int)).mean()
             for x in (frame, drawn)]  # fmt: skip
    assert np.abs(means[1] - means[0]).max() < 0.2
    chain.save(tmp_path / "model")
    loaded = Synthesizer.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.generate()[0], drawn)


SETTINGS: dict[str, dict[str, Any]] = {
    "order": {"visit_sequence": ["d3", "pay", "d1"]},
    "model": {"variables": {"d2": {"method": "sample"}}},
    "excluded": {"variables": {"pay": {"exclude": ["d2"]}}},
    "zeros": {"forbid": ["d4 == '1' and pay < -1"], "on_violation": "ignore"},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_dummies_of_a_panel_with_other_settings(name: str) -> None:
    drawn = drawn_from(kinds_over_time(0.6, 5), N, panel=IN_YEARS, **SETTINGS[name])
    assert set(drawn.filter(regex="^d").astype(int).sum(axis=1)) == {1}


def test_the_variable_of_a_set_is_in_no_file(tmp_path: Path) -> None:
    frame = kinds_over_time(0.6, 5)
    frame.to_csv(tmp_path / "d.csv", index=False)
    output = {"directory": tmp_path / "out"}
    settings = {"data": {"path": tmp_path / "d.csv"}, "panel": IN_YEARS, "output": output}
    result = run({**settings, "workers": 1, "checks": False})
    steps = {step.variable: step for step in result.manifest.chain}
    assert {*steps, "person"} == {*frame}
    assert {steps[f"d{k}"].model for k in range(5)} == {"lag_one"}
    assert {*steps["pay"].predictors} > {f"d{k}" for k in range(5)}
    assert {name for step in steps.values() for name in step.predictors if " to " in name} == set()


def test_a_relation_that_no_draw_can_keep_is_noted(tmp_path: Path) -> None:
    data = panel(n_persons=150)[["trade0", "trade1", "trade2"]]
    data.to_csv(tmp_path / "d.csv", index=False)
    config: dict[str, Any] = {"data": {"path": tmp_path / "d.csv"}}
    words = "at most one of trade0, trade1, trade2 is 1"
    assert words in prepare(config).relations
    fixed = {"trade2": {"method": "constant", "options": {"value": "0"}}}
    plan = prepare(config | {"variables": fixed})
    assert not plan.relations
    assert any(note.startswith(f"not kept, although all rows of the data keep it: {words}")
               for note in plan.notes)  # fmt: skip


def test_init_counts_the_rows_that_differ_and_a_free_variable_has_no_formula(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 900, (N, 2)), columns=["wages", "rent"])
    frame["total"] = frame.sum(axis=1) + (np.arange(N) < 3)
    frame.to_csv(tmp_path / "d.csv", index=False)
    show_starter(write_starter(tmp_path / "d.csv", tmp_path / "d.yaml", overwrite=False))
    printed = capsys.readouterr().out
    assert "These hold in all rows, but for those counted." in printed
    assert "  total = wages + rent (3 rows of the data not)\n" in printed
    text = (tmp_path / "d.yaml").read_text()
    (tmp_path / "d.yaml").write_text(text.replace("relations: auto", "relations: {free: [total]}"))
    with pytest.raises(ConfigError, match="to draw it, remove 'derived: ...'"):
        prepare(tmp_path / "d.yaml")


def test_an_unknown_free_variable_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"relations\.free: unknown variable 'typo'"):
        drawn_from(pd.DataFrame({"a": np.arange(60) % 7}), relations={"free": ["typo"]})
