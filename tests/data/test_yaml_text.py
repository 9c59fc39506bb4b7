import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesizer.data.errors import ConfigError
from synthesizer.data.yaml_text import parse_yaml


def test_labels_stay_text():
    text = "codes: [NO, yes, Off, 007, 2020-01-01, 1:30, 0x1F, 1_000, -8, 0.5, 1e3, true, null]"
    assert parse_yaml(text, origin="x")["codes"] == [
        "NO", "yes", "Off", "007", "2020-01-01", "1:30", "0x1F", "1_000", -8, 0.5, 1000.0, True,
        None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "'a' occurs twice"), ("a: &x [1]\nb: *x", "aliases"),
        ("a: &x [*x]", "aliases"), ("", "has no keys"), ("a: [1, 2", "not valid YAML"),
        ("a: !!python/object/apply:os.system ['true']", "line 1: tags (!os.system)"),
        ("a: !!timestamp 2020-99-99\nb: !!binary x", "line 2: tags (!binary)"),
        ("? [1, 2]\n: 3", "must be plain text"), ("[" * 700, "nested too deeply"),
        ("a: !!int x", "cannot be read"), ("a: \x01", "not valid YAML"),
    ],
)  # fmt: skip
def test_bad_text_is_refused(text, words):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, origin="run.yaml")
    assert words in str(caught.value)
    assert "run.yaml" in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        parse_yaml("a: 1\na: 2\nb: {c: 1, c: 2}", origin="x")
    assert len(caught.value.problems) == 2


@given(st.text(alphabet="ab:-[]{}&*!?|>'\"#%@,\n \t01", max_size=60))
def test_any_text_gives_a_mapping_or_a_config_error(text):
    try:
        assert isinstance(parse_yaml(text, origin="x"), dict)
    except ConfigError as error:
        assert error.problems
