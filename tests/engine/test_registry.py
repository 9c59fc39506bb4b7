"""Names, options and errors of the registry."""

import importlib
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

from synthesizer.data.errors import ConfigError, ModelError
from synthesizer.data.options import Share
from synthesizer.data.table import Kind
from synthesizer.engine.registry import (
    DEFAULT_SETS,
    METHOD_ALIASES,
    ROLES,
    Entry,
    Registry,
)
from synthesizer.models.base import ConditionalModel
from synthesizer.models.sample import FittedSample, Sample

PARAMETRIC = {"logistic", "multinomial", "ordinal", "normal", "lognormal", "normrank", "pmm"}
BUILT_IN = PARAMETRIC | {"sample", "cart", "forest", "bagging", "derived", "constant", "keep"}


@dataclass(frozen=True, kw_only=True)
class Example(ConditionalModel):
    """Take every type of option.

    More text, which no listing shows.

    Parameters
    ----------
    share : float
        Between 0 and 1,
        both included.
    size, depth : int
        At least 1.

    Examples
    --------
    None.
    """

    fitted_type = FittedSample
    option_aliases: ClassVar = {"minbucket": "size", "minb": "size"}
    share: Share
    size: int = 5
    depth: int | None = None
    smoothing: Literal["none", "density"] = "none"
    names: tuple[str, ...] = ()
    base: ConditionalModel | None = None

    def fit(self, predictors, target, *, rng):
        return FittedSample(target)


@pytest.fixture
def registry():
    made = Registry()
    made.register("example", Example)
    made.register("sample", Sample)
    return made


def test_models_of_installed_packages_come_through_the_entry_points():
    loaded = Registry.load()
    assert set(loaded.names) >= BUILT_IN
    assert loaded.entry("sample").package == "microdata-synthesizer"
    assert loaded.entry("sample").model_class is Sample
    for entry in loaded.entries():
        assert issubclass(entry.model_class, ConditionalModel)
        assert entry.version


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("no_such_module:Model", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("synthesizer.models.sample:Absent", "AttributeError"),
        ("synthesizer.models.sample:FittedSample", "is not a subclass of ConditionalModel"),
    ],
)
def test_a_broken_package_is_named_and_breaks_no_other(target, reason, registry):
    broken = Entry(name="broken", target=target, package="theirs")
    assert broken.version == ""
    registry._add(broken)
    with pytest.raises(ModelError) as caught:
        registry.get("broken")
    for word in ("'broken'", repr(target), "'theirs'", reason):
        assert word in str(caught.value)
    assert registry.build("sample") == Sample()


def test_loading_the_registry_imports_no_model():
    code = (
        "import sys; from synthesizer.engine.registry import Registry; Registry.load().names;"
        "print([m for m in sys.modules if m.startswith(('sklearn', 'synthesizer.models.'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['synthesizer.models.base']"


def test_options_are_typed(registry):
    given = {"share": 1, "minbucket": 7, "names": ["a", "b"], "smoothing": "density"}
    model = registry.build("example", given)
    assert model == Example(share=1.0, size=7, names=("a", "b"), smoothing="density")
    assert isinstance(model.share, float)
    assert isinstance(model.names, tuple)


@pytest.mark.parametrize("text", [".inf", float("inf")])
def test_infinity_is_a_number_where_one_is_expected(text):
    registry = Registry.load()
    assert registry.build("career", {"theta": text}).theta == float("inf")
    assert registry.build("career", {"theta": "auto"}).theta == "auto"
    for wrong in ({"min_leaf": str(text)}, {"theta": "-.inf"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            registry.build("career", wrong)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, ["'share'"]),
        ({"share": "1e-4"}, ["share ('1e-4')", "0.0001"]),
        ({"share": 0, "smoothing": "some"}, ["'some'", "'none' or 'density'"]),
        ({"share": 0, "sise": 5}, ["'sise'", "'size'"]),
        ({"share": 0, "size": 5, "minb": 5}, ["'size'", "'minbucket' or 'minb'"]),
        ({"share": 0, "base": "sampel"}, ["option 'base'", "'sampel'", "'sample'"]),
        (
            {"share": 3, "size": "x", "sighs": 1, "names": 4},
            ["'sighs'", "share (3)", "size ('x')", "names (4)"],
        ),
    ],
)
def test_wrong_options_are_named_all_at_once(registry, options, named):
    with pytest.raises(ConfigError) as caught:
        registry.build("example", options)
    problems = caught.value.problems
    assert len(problems) == (len(named) if len(options) == 4 else 1)
    assert all(problem.startswith("model 'example': ") for problem in problems)
    assert all(word in str(caught.value) for word in named)


@pytest.mark.parametrize("base", ["sample", Sample(), {"model": "example", "share": 0.25}])
def test_a_model_that_wraps_another_gets_it_built(registry, base):
    model = registry.build("example", {"share": 0, "base": base})
    assert model.base in (Sample(), Example(share=0.25))


def test_models_without_a_name_and_names_without_one_model_are_refused(registry):
    class Nameless(Sample):
        """A model without a name."""

    with pytest.raises(ConfigError, match="option 'base': model Nameless"):
        registry.build("example", {"share": 0, "base": Nameless()})
    with pytest.raises(ModelError, match="Nameless"):
        registry.name_of(Nameless())
    with pytest.raises(ModelError, match="'synthesizer' and .* 'mine'"):
        registry.register("sample", Sample, package="mine")
    for wrong in (int, ConditionalModel):
        with pytest.raises(ModelError, match="'wrong'"):
            registry.register("wrong", wrong)
    with pytest.raises(ConfigError, match="under plugins"):
        registry.get("hotdeck")


def test_aliases_and_roles_lead_to_models_that_exist(registry):
    loaded = Registry.load()
    for models in DEFAULT_SETS.values():
        assert set(models) == set(Kind) - {Kind.ID}
        assert set(models.values()) <= set(loaded.names)
    for alias, name in METHOD_ALIASES.items():
        assert alias not in loaded.names
        assert loaded.canonical(alias) == name
    assert set(ROLES.values()) <= set(loaded.names)
    registry.register("rf", Sample)
    assert registry.canonical("rf") == "rf"  # a registered name wins


def test_options_may_have_the_names_of_rpart_and_synthpop():
    registry = Registry.load()
    cart = registry.build("cart", {"minbucket": 7, "maxdepth": 3, "cp": 0.01})
    assert cart == registry.build("cart", {"min_leaf": 7, "max_depth": 3, "complexity": 0.01})
    assert registry.build("rf", {"ntree": 4}) == registry.build("forest", {"n_trees": 4})
    assert registry.build("pmm", {"donors": 4}) == registry.build("pmm", {"neighbours": 4})


def test_options_of_a_model_reach_it_where_another_wraps_it_by_default():
    made = Registry.load().build("grouped", {"by": ["a"]}, usual={"cart": {"min_leaf": 9}})
    assert (made.base.min_leaf, made.by) == (9, ("a",))


def test_schema_describes_every_option(registry):
    schema = registry.options_schema("example")
    assert (schema["required"], schema["additionalProperties"]) == (["share"], False)
    assert schema["properties"]["share"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "Between 0 and 1, both included.",
    }
    size, other = (schema["properties"][name] for name in ("size", "minbucket"))
    assert size == {"type": "integer", "description": "At least 1.", "default": 5}
    assert other["description"] == "Another name of size."
    assert "default" not in other


PLUGIN = """
from dataclasses import dataclass
from synthesizer.models.sample import Sample

@dataclass(frozen=True, kw_only=True)
class Marginal(Sample):
    "Draw from the margin."

MODELS = {models}
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a module that offers ``models``, and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(models, name="plugin_of_a_test", text=PLUGIN):
        (tmp_path / f"{name}.py").write_text(text.replace("{models}", models))
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return name

    yield write
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_a_plugin_adds_its_models_to_a_copy(plugin, registry):
    name = plugin("{'marginal': Marginal}")
    again = registry.with_plugins([name, name])
    assert again.plugins == (name,)
    assert set(again.names) == {*registry.names, "marginal"}
    assert again.entry("marginal").summary == "Draw from the margin."
    assert again.name_of(again.build("marginal")) == "marginal"
    assert "marginal" not in registry.names
    assert again.with_plugins([name]).names == again.names


@pytest.mark.parametrize(
    ("models", "named"),
    [
        ("{'sample': Marginal}", "'sample' exists already, in package 'synthesizer'"),
        ("[Marginal]", "registers no model"),
        ("{'marginal': 3}", "'marginal'"),
        ("{'~ age': Marginal}", "'~ age'"),
        ("{'parametric': Marginal}", "'parametric'"),
        (r"exit('no\n licence')", "SystemExit: no licence; "),
    ],
)
def test_faulty_plugins_are_named_all_at_once(plugin, registry, models, named):
    names = [plugin(models), "absent_plugin", "", ".relative"]
    with pytest.raises(ConfigError) as caught:
        registry.with_plugins(names)
    problems = caught.value.problems
    for name, problem in zip(names, problems, strict=True):
        assert problem.startswith(f"plug-in '{name}': ")
    assert named in problems[0]
    assert "ModuleNotFoundError" in problems[1]
    assert "PYTHONPATH" in problems[1]


def test_two_plugins_with_one_name_clash(plugin, registry):
    names = [plugin("{'marginal': Marginal}", name) for name in ("plugin_one", "plugin_two")]
    with pytest.raises(ConfigError, match="'plugin_two'.*in package 'plugin_one'"):
        registry.with_plugins(names)
