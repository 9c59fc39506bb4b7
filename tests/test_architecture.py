"""Imports go down only, and nothing in the package runs code from data or shares randomness."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "synthesizer"
FILES = sorted(ROOT.rglob("*.py"))

# What each room may import besides itself and `errors`; the order is the stair, ground floor first.
# A single file is a room under its own name.
ROOMS = {
    "errors": set(),
    "attempts": set(),
    "figures": set(),
    "randomness": set(),
    "yaml_text": set(),
    "progress": set(),
    "output": set(),
    "samples": {"data"},
    "data": {"samples"},  # data.sources opens a built-in sample by name, inside a function
    "models": {"data"},
    "careers": {"data", "models.cart"},
    "panel": {"data"},
    "redrawing": {"data"},
    "support": {"data"},
    "histories": {
        "careers",
        "data",
        "models._design",
        "models._linear",
        "models.base",
        "models.cart",
        "models.sample",
        "panel",
        "redrawing",
        "steps",
    },
    "risk": {"attempts", "careers.reports", "data", "figures", "progress"},
    "utility": {"attempts", "data", "figures", "panel", "progress"},
    "genetic": {"data", "randomness"},
    "model_options": {"models.base", "yaml_text"},
    "testing_data": {"data", "models.base", "panel"},
    "testing_tools": {"data", "models.base", "registry", "saved"},
    "testing_panel": {
        "data",
        "histories.base",
        "models.base",
        "panel",
        "testing_data",
        "testing_tools",
    },
    "testing": {"data", "models.base", "testing_data", "testing_panel", "testing_tools"},
    "default_models": {"data"},
    "registry": {"models.base", "model_options", "default_models"},
    "rules": {"data"},
    "steps": {"data", "histories.base", "models.base", "panel", "rules"},
    "strata": {"data"},
    "drawing": {
        "data",
        "histories.base",
        "panel",
        "randomness",
        "redrawing",
        "rules",
        "steps",
        "strata",
    },
    "chain": {
        "data",
        "randomness",
        "models.base",
        "rules",
        "steps",
        "strata",
        "drawing",
        "histories.base",
        "panel",
        "support",
    },
    "report": {"figures"},
    "release": {"data", "manifests", "output", "report", "utility"},
    "runs": {
        "check_results",
        "config",
        "config_aliases",
        "config_reading",
        "figures",
        "inputs",
        "job",
        "job_manifest",
        "manifests",
        "model_options",
        "output",
        "plan",
        "preparation",
        "progress",
        "randomness",
        "registry",
        "report",
        "report_files",
        "result_files",
        "yaml_text",
    },
}
# The floors above the engine: a module imports from its own floor and from lower ones.
UPPER = (
    (
        "config",
        "config_aliases",
        "config_checks",
        "config_genetic",
        "config_panel",
        "config_parts",
        "config_reading",
        "config_utility",
        "config_words",
    ),
    ("arranging", "panel_checks", "panel_fits", "plan_names", "inputs"),
    (
        "plan",
        "plan_context",
        "plan_fits",
        "plan_genetic",
        "plan_methods",
        "plan_order",
        "plan_panel",
        "plan_paths",
        "plan_places",
        "plan_rules",
        "plan_scenario",
        "plan_steps",
    ),
    ("check_results",),
    ("half_checks",),
    (
        "preparation",
        "evolving",
        "genetic_rules",
        "refining",
        "assessment",
        "assessment_inputs",
        "assessment_notes",
        "evaluation",
        "checks",
        "saved",
        "plan_table",
        "codebook",
        "config_schema",
    ),
    (
        "assess_files",
        "compared_files",
        "evaluate_files",
        "evolution_files",
        "generation",
        "job",
        "job_manifest",
        "manifests",
        "panel_files",
        "result_files",
        "report_files",
        "refine_files",
        "risk_request",
        "starter",
        "starter_panel",
        "utility_request",
    ),
    ("library", "screen", "screen_checks", "screen_genetic"),
    ("screen_plan", "screen_runs", "screen_utility", "screen_refine"),
    ("cli_parts",),
    ("cli_checks", "cli_refine", "cli_synthesis"),
    ("cli",),
)
ENGINE = (
    "rules", "steps", "strata", "drawing", "chain", "saved", "job", "checks", "preparation",
    *UPPER[2],
)  # fmt: skip
LOW = ("data", "models", "risk", "utility", "samples", "randomness", "errors")


def name_of(path):
    """``synthesizer/data/table.py`` is ``data.table``; a package is named by its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports(name, *, at_once=False):
    """Yield what a module imports of the package; ``at_once`` leaves out what functions import."""
    for node in TREES[name].body if at_once else ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for full in found:
            head, _, rest = full.partition(".")
            if head == "synthesizer":
                yield owner(rest)


def owner(path):
    """Return the longest module name that ``path`` starts with: the rest is an attribute."""
    while path and path not in MODULES:
        path = path.rpartition(".")[0]
    return path


def room(name):
    return name.partition(".")[0]


def allowed(target, may):
    return any(target == entry or target.startswith(f"{entry}.") for entry in may)


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) in ROOMS])
def test_imports_go_down_only(name):
    may = ROOMS[room(name)] | {room(name), "errors"}
    wrong = {target for target in imports(name) if not allowed(target, may)}
    assert not wrong, f"{name} may not import {sorted(wrong)}"


def floor(name):
    return next((i for i, names in enumerate(UPPER) if name in names), -1)


@pytest.mark.parametrize("name", [name for name in MODULES if floor(name) >= 0])
def test_upper_floors_import_downwards(name):
    wrong = {t for t in imports(name) if floor(t) > floor(name)}
    assert not wrong, f"{name} may not import {sorted(wrong)}"


def test_every_module_has_a_floor():
    without = {n for n in MODULES if n and room(n) not in ROOMS and floor(n) < 0}
    assert not without, f"add {sorted(without)} to ROOMS or UPPER"


def test_no_module_imports_itself_in_a_circle():
    done = set()

    def visit(name, path):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for target in sorted(set(imports(name, at_once=True)) - {name}):
                visit(target, [*path, name])
            done.add(name)

    for name in MODULES:
        if name:  # the package itself only gathers names
            visit(name, [])


@pytest.mark.parametrize("name", [n for n in MODULES if n.startswith("models.")])
def test_no_model_knows_another(name):
    """Models share the contract and private helpers, never a public model file."""
    own = {"models", "models.base", name}
    others = {t for t in imports(name) if t.startswith("models")} - own
    public = {target for target in others if not target.removeprefix("models.").startswith("_")}
    assert not public


@pytest.mark.parametrize("name", [n for n in MODULES if room(n) in ENGINE])
def test_engine_knows_no_model_by_name(name):
    """The engine asks abilities; names of models belong to the registry and the configuration."""
    models = {n.removeprefix("models.") for n in MODULES if n.startswith("models.")} - {"base"}
    models = {model for model in models if not model.startswith("_")}
    found = {
        node.value
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Constant) and node.value in models
    }
    assert not found & (models - {"sample", "keep", "derived"}), f"{name} names {sorted(found)}"
    assert not {t for t in imports(name) if t.startswith("models.")} - {"models.base"}


def test_nothing_but_the_command_line_imports_it():
    for name in MODULES:
        assert "cli" not in set(imports(name)) - ({"cli"} if name == "cli" else set()), name


@pytest.mark.parametrize("name", [n for n in MODULES if room(n) in LOW])
def test_low_rooms_know_neither_configuration_nor_run(name):
    high = {"config", "cli", "job", "run", "checks", "plan", "chain", "registry", "report"}
    assert not {room(target) for target in imports(name)} & high


BANNED_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "cloudpickle"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
TESTING = ("testing", "testing_data", "testing_panel")
GENERATORS = {"Generator", "SeedSequence", "PCG64DXSM", "BitGenerator"}


@pytest.mark.parametrize("name", MODULES)
def test_nothing_runs_code_from_data(name):
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in BANNED_CALLS, f"{name}:{node.lineno} calls {node.func.id}"
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & BANNED_MODULES
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in BANNED_MODULES
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False


def is_numpy_random(node):
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "random"
        and isinstance(node.value, ast.Name)
        and node.value.id in ("np", "numpy")
    )


@pytest.mark.parametrize("name", MODULES)
def test_randomness_comes_from_generators_that_are_handed_in(name):
    """No global random state; only `randomness` makes generators (and the contract test)."""
    makers = GENERATORS | ({"default_rng"} if room(name) in TESTING else set())
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Attribute) and is_numpy_random(node.value):
            assert node.attr in makers, f"{name}:{node.lineno} uses np.random.{node.attr}"
        if isinstance(node, ast.ImportFrom):
            assert node.module not in ("numpy.random", "random"), name
        if isinstance(node, ast.Import):
            assert "random" not in {alias.name for alias in node.names}, name


@pytest.mark.parametrize("name", MODULES)
def test_importing_does_nothing(name):
    """A module holds definitions, constants and imports, no statement that acts.

    A class may be completed right after its definition: it belongs to the module.
    """
    own = {node.name for node in TREES[name].body if isinstance(node, ast.ClassDef)}
    harmless = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)
    harmless += (ast.AnnAssign, ast.If, ast.Try)
    for node in TREES[name].body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        own_class = isinstance(node, ast.Expr) and ast.unparse(node).partition(".")[0] in own
        assert text or own_class or isinstance(node, harmless), f"{name}:{node.lineno}"
