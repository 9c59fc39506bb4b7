"""Imports go down only, and nothing in the package runs code from data or shares randomness."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import house
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
    ("extensions",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
EXTENSIONS = {
    path.name for path in (ROOT / "extensions").iterdir() if (path / "__init__.py").exists()
}


def name_of(path):
    """``synthesizer/data/table.py`` is ``data.table``; a package is named by its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports(name):
    """Yield what a module imports of the package, also inside functions and for types alone."""
    for node in ast.walk(TREES[name]):
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
    """Return the room of a module; an extension is one by itself."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "extensions" else parts[0]


def floor(name):
    return FLOOR[name.partition(".")[0]]


def test_the_root_holds_the_rooms_and_nothing_else():
    entries = {path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert entries == {"__init__.py", "__main__.py", "py.typed", *FLOOR}


def test_imports_go_down_only():
    wrong = {
        f"{name} imports {target or 'the package'}"
        for name in filter(None, MODULES.keys() - {"__main__"})
        for target in imports(name)
        if room(target) != room(name) and not (target and floor(target) < floor(name))
    }
    assert not wrong


def test_nothing_is_loaded_from_a_floor_above():
    loaded = {
        (name, node.args[0].value)
        for name, node in nodes()
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module"
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value.startswith("synthesizer.")
    }
    above = {
        f"{name}: {target}"
        for name, target in loaded
        if floor(owner(target.removeprefix("synthesizer."))) > floor(name)
    }
    assert not above


def test_no_module_imports_itself_in_a_circle():
    done = set()

    def visit(name, path):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for target in sorted({*imports(name)} - {name, ""}):
                visit(target, [*path, name])
            done.add(name)

    for name in MODULES:
        if name:  # the package itself only gathers names
            visit(name, [])


def test_two_files_never_share_a_name():
    names = [path.name for path in FILES if path.name != "__init__.py"]
    assert not {name for name in names if names.count(name) > 1}


CEILINGS = {
    "data": 10918,
    "models": 9923,
    "measures": 14474,
    "engine": 2654,
    "report": 6606,
    "config": 1010,
    "plan": 3950,
    "jobs": 3073,
    "cli": 1712,
    "extensions": 0,
    "extensions.comparison": 941,
    "extensions.descriptions": 1163,
    "extensions.genetic": 2321,
    "extensions.households": 1241,
    "extensions.labelled": 877,
    "extensions.large_files": 667,
    "extensions.private": 1321,
    "extensions.releases": 842,
    "extensions.survey": 1501,
    "extensions.verification": 7434,
}
"""Most lines of code of each room, without docstrings, comments and blanks. They only fall: what a
room adds it takes out elsewhere. The verdict was granted 800 lines and took 600; relations, numbers
near others, tails and margins were granted 1,200; compiled trees and draws 300; imputation 549;
private 3,000, of which it has taken 1,323."""


def test_no_room_has_more_lines_of_code_than_its_ceiling():
    lines = Counter()
    for source in house.sources(ROOT):
        if source.path.parent != ROOT:
            lines[room(name_of(source.path))] += house.code_lines(source)
    over = {name: (n, CEILINGS[name]) for name, n in lines.items() if n > CEILINGS[name]}
    assert set(lines) == set(CEILINGS)
    assert not over


MOST_FILES = 356
"""Most Python files of the package. It only falls, but for what a new extension divides, and for
the choice of candidates, which survey weights share with conditions. One is
`__main__`, for ``python -m synthesizer``."""


def test_the_package_has_no_more_files_than_its_ceiling():
    assert len(FILES) <= MOST_FILES


MOST_SCRIPT_LINES = 12628
"""Most lines of `scripts/`, with docstrings and blanks. It only falls; 8,000 is the aim."""


def test_the_scripts_have_no_more_lines_than_their_ceiling():
    folder = ROOT.parent / "scripts"
    lines = sum(len(source.text.splitlines()) for source in house.sources(folder))
    assert lines <= MOST_SCRIPT_LINES


BANNED_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "cloudpickle"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
GENERATORS = {"Generator", "SeedSequence", "PCG64DXSM", "BitGenerator"}


def test_nothing_runs_code_from_data():
    wrong = {f"{name}:{node.lineno}" for name, node in nodes() if runs_code(node)}
    assert not wrong


def nodes():
    """Yield every statement and expression of the package with the name of its module."""
    return ((name, node) for name, tree in TREES.items() for node in ast.walk(tree))


def runs_code(node):
    match node:
        case ast.Call(func=ast.Name(id=called)):
            return called in BANNED_CALLS
        case ast.Import(names=names):
            return bool({alias.name.partition(".")[0] for alias in names} & BANNED_MODULES)
        case ast.ImportFrom(module=module):
            return (module or "").partition(".")[0] in BANNED_MODULES
        case ast.keyword(arg="allow_pickle", value=value):
            return not (isinstance(value, ast.Constant) and value.value is False)
    return False


def test_randomness_comes_from_generators_that_are_handed_in():
    """No global random state; only `randomness` makes generators (and the contract test)."""
    wrong = set()
    for name, node in nodes():
        match node:
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"), attr=used
            ) if used not in GENERATORS and not (used == "default_rng" and "testing" in name):
                wrong.add(f"{name}:{node.lineno} uses np.random.{used}")
    assert not wrong


WRITING = {
    "chmod", "copy2", "copyfile", "copytree", "fdopen", "hardlink_to", "link", "makedirs",
    "mkdir", "mkdtemp", "mkstemp", "move", "NamedTemporaryFile", "remove", "removedirs", "rename",
    "renames", "replace", "rmdir", "rmtree", "save", "savetxt", "savez", "symlink", "symlink_to",
    "TemporaryDirectory", "to_csv", "to_excel", "to_feather", "to_parquet", "to_pickle", "tofile",
    "touch", "truncate", "unlink", "write_bytes", "write_feather", "write_table", "write_text",
}  # fmt: skip
OF_OTHERS_TOO = {"replace", "rename", "remove"}
"""Texts, records, frames and lists have these as well: they count where ``os`` owns them."""
HANDED_A_FILE = {
    "data.writing: write_table",
    "data.archive: open",
    "engine.testing: tempfile",
    "engine.testing: TemporaryDirectory",
    "extensions.large_files.dataset_parts: write_table",
    "extensions.releases.writing_onto: write_table",
    "extensions.verification.database: sqlite3",
    "extensions.verification.questions: write_table",
    "extensions.verification.server.runner: open",
    "extensions.verification.server.server_datasets: unlink",
    "extensions.verification.server.serve: write_table",
    "extensions.verification.server.serve: sqlite3",
}
"""Parquet and zip members go into an open file of the layer; the contract test clears its own. A
ledger gets its name by the layer; afterwards SQLite changes it in place, each charge whole or not
at all, for several processes at once, as a file that is replaced as a whole could not be. A
process of the server opens /dev/null; its database is copied by SQLite into a file of the layer.
Copies of confidential files whose version is gone are deleted."""


def writes(node):
    """Return how a piece of code changes files, None if it does not."""
    match node:
        case ast.Import(names=names):
            return next(
                (a.name for a in names if a.name in {"shutil", "sqlite3", "tempfile"}), None
            )
        case ast.ImportFrom(module=("shutil" | "tempfile" | "os") as module):
            return module
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=called)) if (
            called in WRITING | {"open", "write"}
        ):
            return called
        case ast.Call(func=ast.Attribute(attr=called)) if called in WRITING - OF_OTHERS_TOO:
            return called
        case ast.Call(func=ast.Name(id="open") | ast.Attribute(attr="open"), args=words) if any(
            isinstance(word, ast.Constant)
            and isinstance(word.value, str)
            and set(word.value) <= set("rwaxbt+")
            and set(word.value) & set("wax+")
            for word in [*words, *(keyword.value for keyword in node.keywords)]
        ):
            return "open"
    return None


def test_only_the_file_layer_writes():
    wrong = {
        f"{name}: {how}" for name, node in nodes() if name != "data.files" and (how := writes(node))
    }
    assert wrong == HANDED_A_FILE


@pytest.mark.parametrize(
    "first_use",
    ["import synthesizer; synthesizer.Synthesizer(seed=1)", "import synthesizer.jobs.starter"],
)
def test_the_first_use_loads_no_large_library_that_it_does_not_need(first_use):
    large = "'sklearn', 'statsmodels', 'scipy.special', 'scipy.sparse', 'scipy.linalg', 'jinja2'"
    code = f"import sys; {first_use}; print([m for m in ({large}) if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
