"""Imports go down only, and nothing in the package runs code from data or shares randomness."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "synthesizer"
FILES = sorted(ROOT.rglob("*.py"))

# Floors from the ground up: a room imports from lower floors only.
FLOORS = (
    ("data",),
    ("models", "measures"),
    ("engine", "report"),
    ("config",),
    ("plan",),
    ("jobs",),
    ("cli",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


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
            full_names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            full_names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for full in full_names:
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


def test_the_root_holds_the_rooms_and_nothing_else():
    entries = {path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert entries == {"__init__.py", "py.typed", *FLOOR}


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_imports_go_down_only(name):
    here = room(name)
    wrong = {
        target
        for target in imports(name)
        if room(target) != here and (not target or FLOOR[room(target)] >= FLOOR[here])
    }
    assert not wrong, f"{name} may not import {sorted(wrong)}"


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


def test_two_files_never_share_a_name():
    names = [path.name for path in FILES if path.name != "__init__.py"]
    assert not {name for name in names if names.count(name) > 1}


BANNED_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "cloudpickle"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
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
    makers = GENERATORS | ({"default_rng"} if "testing" in name else set())
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Attribute) and is_numpy_random(node.value):
            assert node.attr in makers, f"{name}:{node.lineno} uses np.random.{node.attr}"
