"""What was run."""

from synthesizer.report.glance import run_section
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, html, table
from tests.report.fixtures import EVIL, manifest, record


def test_facts_chain_configuration_versions():
    section = run_section(record())
    facts = dict(table(section, "The run").rows)
    assert facts["Data"] == "persons.csv"
    assert facts["Original records"] == "100"
    assert facts["Synthetic datasets (m)"] == "2"
    chain = table(section, "The chain").rows
    assert chain[0] == ["age", "numeric", "cart", "sample", "none"]
    assert chain[1][3] == "–"
    assert ["numpy", "2.4.6"] in table(section, "Versions").rows
    assert ["fit", 0.25] in table(section, "Time").rows
    assert gaps(section) == []


def test_the_seed_is_nowhere():
    text = html(run_section(record()))
    assert "987654321" not in text
    assert "manifest.json" in text


def test_configuration_is_escaped_yaml():
    own = manifest()
    own["config"]["variables"] = {EVIL: {"kind": "numeric", "odd": (1, None)}}
    own["config"].pop("seed")
    text = html(run_section(Record(own, {})))
    assert "limits:\n  mean_two_way: 2.0" in text
    assert EVIL not in text
    assert "seed:" not in text


def test_long_predictors_are_shortened_and_listed_in_full():
    own = manifest()
    names = [f"v{i}" for i in range(7)]
    own["chain"] = [
        {"variable": name, "kind": "numeric", "model": "cart", "predictors": names[:i]}
        for i, name in enumerate(names)
    ]
    section = run_section(Record(own, {}))
    assert table(section, "The chain").rows[6][-1] == "v0, v1, v2, v3 and 2 more"
    assert "Every variable has all variables above it as predictors." in html(section)
    own["chain"][6]["predictors"] = ["v1", "v5"]
    text = html(run_section(Record(own, {})))
    assert "All other variables have all variables above them" in text
    assert "v1, v5" in text


def test_gaps():
    assert gaps(run_section(Record({}, {}))) == ["the facts of the run"]
    bare = run_section(Record({"m": 1}, {}))
    assert gaps(bare) == ["the chain of models", "the configuration"]


def test_what_yaml_cannot_hold_becomes_text():
    own = {**manifest(), "config": {"odd": object, "list": [1]}, "seconds": {}, "packages": 3}
    assert "odd: &lt;class" in html(run_section(Record(own, {})))
