"""Survey weights from configuration to dataset: order, totals, proportions, problems at once."""

import json

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_config
from synthesizer.data.errors import OptionError
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model
from synthesizer.extensions.survey.weights_options import WeightsOptions
from synthesizer.jobs.generate import generate
from synthesizer.jobs.run import fit_file, run
from synthesizer.measures.settings import ALL_OFF
from synthesizer.measures.survey_design import ReplicateWeights
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.plan.plan import prepare
from tests.end_to_end.commands import call
from tests.plan import sources
from tests.report.codebook.books import executed


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A file of persons with a weight and its normalised version, and a table of totals."""
    frame = sources.survey().drop(columns="person")
    frame["norm"] = np.round(frame.wgt / frame.wgt.mean(), 4)
    folder = tmp_path_factory.mktemp("survey")
    frame.to_csv(folder / "survey.csv", index=False)
    total = int(frame.wgt.sum())
    (folder / "sex.csv").write_text(f"sex,total\nf,{total // 2}\nm,{total - total // 2}\n")
    return folder, frame


def config(folder, **options):
    return read_config(
        {
            "data": {"path": "survey.csv"},
            "checks": False,
            "seed": 1,
            "output": {"directory": "out", "overwrite": True, "report": False, "codebook": True},
            **options,
        },
        base=folder,
    )


TOTALS = {"variable": "wgt", "totals": {"region": "from_data", "sex": "sex.csv"}}


def assert_totals(table, frame):
    by_region = table.groupby("region").wgt.sum()
    assert by_region.to_dict() == frame.groupby("region").wgt.sum().to_dict()
    total = int(frame.wgt.sum())
    assert table.groupby("sex").wgt.sum().tolist() == [total // 2, total - total // 2]
    factor = 1 / frame.wgt.mean()
    assert table.norm.to_numpy() == pytest.approx(table.wgt * factor, abs=0.5001e-4)


def test_every_dataset_has_the_totals_and_proportional_weights(survey):
    folder, frame = survey
    result = run(config(folder, m=2, weights=TOTALS, rows=500))
    for path in result.datasets:
        assert_totals(pd.read_csv(path), frame)
    chain = [step.variable for step in result.manifest.chain]
    assert chain[-2:] == ["wgt", "norm"]
    assert result.manifest.design.weight == "wgt"
    totals = result.manifest.extensions["weights"]["totals"]
    assert totals["region"] == frame.groupby("region").wgt.sum().to_dict()
    codebook = json.loads(next(p for p in result.codebook if p.suffix == ".json").read_text())
    assert "survey weight" in json.dumps(codebook)
    plain = run(config(folder, weights="wgt"))
    table = pd.read_csv(plain.datasets[0])
    assert table.groupby("region").wgt.sum().to_dict() != totals["region"]


def test_saved_models_keep_the_totals(survey, tmp_path):
    folder, frame = survey
    settings = folder / "saved.yaml"
    settings.write_text(
        "version: 2\ndata: {path: survey.csv}\nweights: {variable: wgt, totals: {region: "
        "from_data, sex: sex.csv}}\n"
    )
    fit_file(settings, tmp_path / "model.synth")
    model = load_model(tmp_path / "model.synth", Registry.load())
    for path in generate(model, tmp_path / "out", seed=7):
        assert_totals(pd.read_csv(path), frame)


def test_the_configured_position_stays_and_a_column_like_a_weight_is_noted(survey):
    folder, _ = survey
    order = prepare(
        config(folder, weights="wgt", visit_sequence=["wgt", "region"]), Registry.load()
    ).spec.order
    assert order[0] == "wgt"
    notes = prepare(config(folder), Registry.load()).notes
    assert any("wgt looks like a survey weight: write weights: wgt" in note for note in notes)


def test_the_weight_of_the_configuration_is_that_of_the_checks(survey):
    folder, _ = survey
    for checks, weight in (({}, "wgt"), ({"weight": None}, None), ({"weight": "norm"}, "norm")):
        plan = prepare(config(folder, weights="wgt", checks=checks), Registry.load())
        assert plan.checks.weight == weight
    fits = ["income ~ sex", {"formula": "income ~ region", "weights": False}]
    fitted = config(folder, weights="wgt", checks={**ALL_OFF, "fits": fits})
    titles = [fit.title for fit in run(fitted).checks.utility.fits]
    assert titles == ["income ~ sex", "income ~ sex (weights wgt)", "income ~ region"]


def clustered(folder):
    """Write a survey of 30 districts in three strata, and return it."""
    rng = np.random.default_rng(8)
    unit = np.repeat(np.arange(30), 10)
    frame = pd.DataFrame(
        {
            "stratum": unit // 10 + 1,
            "district": unit + 100,
            "pay": np.round(rng.normal(20, 4, 300) + rng.normal(0, 3, 30)[unit], 2),
            "sex": rng.choice(["f", "m"], 300),
            "w": rng.integers(20, 90, 300),
        }
    )
    frame.to_csv(folder / "survey.csv", index=False)
    return frame


DESIGN = {"variable": "w", "draw": "design", "strata": "stratum", "psu": "district"}


FIT = dict(ALL_OFF) | {"fits": ["pay ~ sex"]}


def test_datasets_are_redrawn_from_the_design(tmp_path):
    frame = clustered(tmp_path)
    result = run(config(tmp_path, weights=DESIGN, m=3, rows=200))
    for path in result.datasets:
        table = pd.read_csv(path)
        assert table.w.sum() == frame.w.sum()
        assert table.w.max() - table.w.min() <= 1
        assert set(table.district) <= set(frame.district)  # codes, no numbers
    entry = result.manifest.design
    assert (entry.redrawn, entry.strata, entry.psu) == (True, "stratum", "district")
    book = json.loads(next(p for p in result.codebook if p.suffix == ".json").read_text())
    assert "T = (1 + 1/m) B - U (1 + k/n)" in json.dumps(book)
    totals = {"sex": "from_data"}
    raked = run(config(tmp_path, weights=DESIGN | {"totals": totals}, m=2))
    for path in raked.datasets:
        by_sex = pd.read_csv(path).groupby("sex").w.sum()
        assert by_sex.to_dict() == frame.groupby("sex").w.sum().to_dict()


def test_replicate_weights_are_dropped_and_noted(tmp_path):
    frame = clustered(tmp_path)
    for number in (1, 2, 3):
        frame[f"w{number}"] = frame.w * np.random.default_rng(number).integers(0, 3, len(frame))
    frame.to_csv(tmp_path / "survey.csv", index=False)
    replicates = {"columns": "w[1-9]*", "method": "jk1"}
    weights = {"variable": "w", "replicates": replicates}
    result = run(config(tmp_path, weights=weights, checks=FIT))
    assert list(pd.read_csv(result.datasets[0])) == ["stratum", "district", "pay", "sex", "w"]
    assert any("sampled together" in note for note in result.manifest.notes)
    again = compare_fit(
        frame, frame, "pay ~ sex", weights="w", replicates=ReplicateWeights(**replicates)
    )
    fit = result.checks.utility.fits[1]
    interval = (fit.coefficients[1].original_low, fit.coefficients[1].original_high)
    slope = again.coefficients[1]
    assert interval == pytest.approx((slope.original_low, slope.original_high))
    assert "have no replicate weights" in fit.notes[0]


def test_a_file_with_a_design_gets_replicate_weights_of_its_own(tmp_path):
    """Named as the original's, analysed as they are, with the errors of the design."""
    frame, rng = clustered(tmp_path), np.random.default_rng(3)
    names = [f"w{number}" for number in range(1, 401)]
    replicates = frame.w.to_numpy()[:, None] * rng.integers(0, 3, (len(frame), 400))
    frame = pd.concat([frame, pd.DataFrame(replicates, columns=names)], axis=1)
    frame.to_csv(tmp_path / "survey.csv", index=False)
    how = {"columns": "w[1-9]*", "method": "fay", "rho": 0.5}
    weights = DESIGN | {"draw": "last", "replicates": how}
    result = run(config(tmp_path, weights=weights, checks=FIT))
    table = pd.read_csv(result.datasets[0])
    assert list(table) == [*(name for name in frame if name not in names), *names]
    assert not np.isin(table[names], frame[names]).all()
    assert (table[names].mean(axis=1) / table.w).mean() == pytest.approx(1, abs=0.02)
    fit = result.checks.utility.fits[1]
    assert not any("replicate weights" in note for note in fit.notes)
    settings = {"weights": "w", "strata": "stratum", "psu": "district"}
    linearised = compare_fit(frame, table, "pay ~ sex", **settings)
    assert fit.combined.std_error == pytest.approx(linearised.combined.std_error, rel=0.15)
    assert result.manifest.extensions["weights"]["replicates"]["scales"][0] == pytest.approx(
        4 / 400
    )
    settings = tmp_path / "saved.yaml"
    settings.write_text(json.dumps({"data": {"path": "survey.csv"}, "weights": weights, "seed": 1}))
    fit_file(settings, tmp_path / "model.synth")
    again = generate(load_model(tmp_path / "model.synth", Registry.load()), tmp_path / "again")
    assert list(pd.read_csv(again[0])) == list(table)
    codebook = json.loads(next(p for p in result.codebook if p.suffix == ".json").read_text())
    assert "400 replicate weights w1 to w400, which were made for this file" in json.dumps(codebook)


def test_weighted_fits_have_the_errors_of_the_design(tmp_path, monkeypatch):
    """The program in the codebook has the weighted mean, its variance and the rule, too."""
    frame = clustered(tmp_path)
    result = run(config(tmp_path, weights=DESIGN | {"draw": "last"}, checks=FIT, m=2))
    plain, weighted = result.checks.utility.fits
    assert (plain.rule, weighted.rule) == ("simple", "design")
    book = json.loads(next(p for p in result.codebook if p.suffix == ".json").read_text())
    assert book["analysis"]["formula"] == "T = U + B/m"
    code = book["analysis"]["code"].replace("n = ...", "n = 300")
    estimates = executed(code, result.datasets[0].parent, monkeypatch)
    tables = [pd.read_csv(path) for path in result.datasets]
    means = [np.average(table.pay, weights=table.w) for table in tables]
    assert estimates.estimate[0] == pytest.approx(np.mean(means))
    variances = []
    for table, mean in zip(tables, means, strict=True):
        table["z"] = table.w * (table.pay - mean) / table.w.sum()
        sums = table.groupby(["stratum", "district"]).z.sum()
        of = [sums[h].to_numpy() for h in sorted(set(table.stratum))]
        variances.append(sum(len(z) / (len(z) - 1) * ((z - z.mean()) ** 2).sum() for z in of))
    assert estimates.total[0] == pytest.approx(np.mean(variances) + np.var(means, ddof=1) / 2)
    assert (plain.strata, weighted.strata, weighted.psu) == (None, "stratum", "district")
    assert weighted.combined.df[0] == 30 - 3 - 1
    table = [pd.read_csv(path) for path in result.datasets]
    design = {"weights": "w", "strata": "stratum", "psu": "district"}
    again = compare_fit(frame, table, "pay ~ sex", **design)
    assert again.combined.std_error == pytest.approx(weighted.combined.std_error)


@pytest.mark.parametrize(("total", "decimals", "is_noted"), [(1, 0, True), (9, 0, False)])
def test_weights_that_rounding_would_make_zero_are_noted(survey, total, decimals, is_noted):
    folder, frame = survey
    shares = {sex: float((frame["sex"] == sex).sum() * total) for sex in frame["sex"].unique()}
    weights = {"variable": "wgt", "totals": {"sex": shares}}
    for digits, expected in ((decimals, is_noted), (decimals + 2, False)):
        options = {"variables": {"wgt": {"decimals": digits}}}
        notes = prepare(config(folder, weights=weights, **options), Registry.load()).notes
        coarse = [note for note in notes if "rounded weights are coarse" in note]
        assert bool(coarse) == expected
        assert all("variables.wgt.decimals: 2" in note for note in coarse)


def test_files_of_others_are_measured_by_a_weight_and_a_design(tmp_path):
    """By configuration its design, as far as it is there."""
    frame = clustered(tmp_path)
    other = clustered(tmp_path).sample(300, replace=True, random_state=1)
    other.to_csv(tmp_path / "other.csv", index=False)
    files = (tmp_path / "survey.csv", tmp_path / "other.csv")
    for only in ("utility", "risk"):
        wrong = call("check", *files, "--only", only, "--set", "weight=v").output
        assert "'v' is not in the original" in wrong
    weights = DESIGN | {"draw": "last", "replicates": {"columns": "v*", "method": "brr"}}
    settings = tmp_path / "run.yaml"
    settings.write_text(json.dumps({"data": {"path": "survey.csv"}, "weights": weights}))
    options = ["--only", "utility", "--config", settings, "--set", "fits=[pay ~ sex]", "--json"]
    record = json.loads(call("check", *files, *options).output)
    weighted = record["results"]["utility"]["fits"][1]
    assert (weighted["psu"], weighted["replicates"]) == ("district", None)
    frame.drop(columns="district").to_csv(files[1], index=False)
    notes = [
        note
        for note in json.loads(call("check", *files, *options).output)["notes"]
        if "is not in every file" in note
    ]
    assert {note.partition(":")[0] for note in notes} == {"checks.psu", "checks.replicates"}


def test_levels_that_the_weight_tells_apart_are_not_computed_from_it(tmp_path):
    """Raking would change them: the towns have the smaller weights."""
    rng = np.random.default_rng(4)
    town = rng.random(400) < 0.6
    frame = pd.DataFrame(
        {
            "place": np.where(town, "town", "land"),
            "pay": rng.integers(900, 4000, 400),
            "wgt": np.where(town, rng.integers(10, 20, 400), rng.integers(40, 60, 400)),
        }
    )
    frame.to_csv(tmp_path / "survey.csv", index=False)
    weights = {"variable": "wgt", "totals": {"place": {"town": 9000, "land": 3000}}}
    result = run(config(tmp_path, weights=weights))
    table = pd.read_csv(result.datasets[0])
    assert table.groupby("place").wgt.sum().to_dict() == {"town": 9000, "land": 3000}
    assert (table.place == "town").mean() == pytest.approx(0.6, abs=0.1)


def test_constant_weights_and_those_that_change_in_persons_are_noted(tmp_path):
    panel = {"panel": {"person": "person", "time": "year"}, "weights": "w"}
    for weights, words in (
        (3, "is constant"),
        ([3, 4, 5] * 60, "changes over the rows of a person"),
    ):
        sources.careers().assign(w=weights).to_csv(tmp_path / "survey.csv", index=False)
        notes = prepare(config(tmp_path, **panel), Registry.load()).notes
        assert any(f"'w' {words}" in note for note in notes)


def test_true_is_no_total():
    with pytest.raises(OptionError, match=r"totals\.sex\.1"):
        WeightsOptions(variable="wgt", totals={"sex": {"1": True, "2": 3}})
