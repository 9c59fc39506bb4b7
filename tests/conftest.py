"""Settings of all tests."""

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

# Tests and the processes that they start share few cores: threads of BLAS would wait for each
# other, which takes four times the processor time. Numpy reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from synthesizer.data.randomness import Seed, fresh_seed, new_key
from synthesizer.jobs import release_ledger
from synthesizer.plan import seeds

# In CI the same examples every time: a red run is about the change, not about luck.
settings.register_profile("ci", derandomize=True, deadline=None)
# Elsewhere other examples; nowhere a deadline: a busy machine is no fault of the program.
settings.register_profile("here", deadline=None)
# Of a mutant (scripts/mutants.py) only counts whether it fails, not what fails most simply.
settings.register_profile(
    "mutants",
    settings.get_profile("ci"),
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "here")
)


# What a command prints is as wide as a pipe, whatever terminal the tests are started from.
for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is collected out of the collection of garbage, which would walk it again and again.

    Nothing of it is garbage, and it is most of what a process of tests and its forks hold.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


WITHOUT = os.environ.get("WITHOUT")
"""An extension that `scripts/test.sh --without NAME` has removed."""
collect_ignore = [f"extensions/{WITHOUT}"] if WITHOUT else []

THOROUGH = (
    "end_to_end/test_backends.py",
    "end_to_end/test_kill.py",
    "end_to_end/test_r_client.py",
    "faults/",
    "extensions/large_files/test_clusters.py",
    "report/test_pages_in_browser.py",
    "scripts/",
    "test_site.py",
    "extensions/verification/server/test_browser.py",
    "extensions/verification/server/test_fuzz_server.py",
    "extensions/verification/server/test_http_channels.py",
    "extensions/verification/server/test_store_trials.py",
)
"""Tests that need a browser, R or minutes: files and folders that run with --all alone, as those
of PostgreSQL do."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --all."""
    parser.addoption("--all", action="store_true", help="also tests of " + ", ".join(THOROUGH))


def is_thorough(item: pytest.Item) -> bool:
    """Whether a test runs with --all alone."""
    return "[postgresql" in item.name or any(f"/tests/{one}" in str(item.path) for one in THOROUGH)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs with --all alone, unless a word names it, and run backends first: the
    more a process holds, the slower it forks.
    """
    named = [Path(word.partition("::")[0]).resolve() for word in config.option.file_or_dir]
    if not config.option.all:
        omitted = {i for i in items if is_thorough(i) and i.path.resolve() not in named}
        config.hook.pytest_deselected(items=[*omitted])
        items[:] = [item for item in items if item not in omitted]
    items.sort(key=lambda item: item.path.name != "test_backends.py")


@pytest.fixture(scope="session", autouse=True)
def same_key() -> Iterator[None]:
    """Give every run one key and seed, so that a red test is about the change and not luck.

    Tests of what a run draws by itself ask for `drawn_key`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds, "fresh_seed", lambda: 1)
        patch.setattr(seeds, "new_key", lambda: "5a" * 32)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_ledger_beside_shared_files() -> Iterator[None]:
    """Keep ledgers of releases beside temporary sources only: other tests share the others."""
    ledger_of, temporary = release_ledger.ledger_of, Path(tempfile.gettempdir()).resolve()

    def beside(source: Path | None) -> Path | None:
        path = ledger_of(source)
        return path if path is not None and path.is_relative_to(temporary) else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_ledger, "ledger_of", beside)
        yield


@pytest.fixture
def drawn_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each run draw seed and key from the operating system, as outside of tests."""
    monkeypatch.setattr(seeds, "fresh_seed", fresh_seed)
    monkeypatch.setattr(seeds, "new_key", new_key)


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | int, ...]]:
    """The paths of all generators that seeds are asked for."""
    recorded: list[tuple[str | int, ...]] = []
    real = Seed.generator

    def spy(seed: Seed, *path: str | int) -> np.random.Generator:
        recorded.append(path)
        return real(seed, *path)

    monkeypatch.setattr(Seed, "generator", spy)
    return recorded
