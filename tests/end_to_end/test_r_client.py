"""The R package of ``clients/r``: its own tests, and its page, where R is installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "r"
NEEDED = ("jsonlite", "testthat")
OPTIONAL = ("bit64", "haven")


def r(code, **environment):
    """Run R code in a session without profiles; return what it printed."""
    done = subprocess.run(
        ["Rscript", "--no-init-file", "-e", code],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def packages():
    """Return the packages that R has."""
    return r("cat(.packages(all.available = TRUE))").split()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the environment in which the package is installed, or skip."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed: its package is not tested")
    if missing := [name for name in NEEDED if name not in packages()]:
        pytest.skip(f"R has no {', '.join(missing)}: its package is not tested")
    library = tmp_path_factory.mktemp("library")
    done = subprocess.run(
        ["R", "CMD", "INSTALL", "--no-docs", "--no-test-load", "-l", library, PACKAGE],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    command = Path(sys.executable).with_name("synthesizer")
    assert command.exists()
    return {"R_LIBS": str(library), "SYNTHESIZER_COMMAND": str(command)}


def test_the_tests_of_the_package(installed):
    output = r(
        f"testthat::test_dir({str(PACKAGE / 'tests' / 'testthat')!r}, package = 'synthesizer', "
        "load_package = 'installed', reporter = 'check')",
        **installed,
    )
    skipped = int(re.search(r"SKIP (\d+)", output)[1])
    assert skipped == 0 or not set(OPTIONAL) <= set(packages()), output


def test_every_call_on_the_page_names_arguments_that_exist(installed):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```r\n(.*?)```", page, re.S))
    names = "synthesize|risk|utility|report|compare|fit_synthetic|read_synthetic|frontier|refine"
    spans = re.findall(r"`{1,2}((?:[^`]|`if`)+)`{1,2}", re.sub(r"```.*?```", "", page, flags=re.S))
    cells = [span for span in spans if re.match(rf"({names})\(", span)]
    assert len(cells) > 8
    check = (
        "library(synthesizer)\n"
        "walk <- function(call) if (is.call(call)) {\n"
        "  name <- if (is.name(call[[1]])) as.character(call[[1]])\n"
        "  if (isTRUE(name %in% getNamespaceExports('synthesizer'))) {\n"
        "    f <- getExportedValue('synthesizer', name)\n"
        "    if (!name %in% c('compare', 'verdict')) match.call(f, call)\n"
        "    cat(name, '')\n"
        "  }\n"
        "  for (i in seq_along(call)) if (is.call(call[[i]])) walk(call[[i]])\n"
        "}\n"
        "for (call in parse(text = readLines(file('stdin')), keep.source = FALSE)) walk(call)\n"
    )
    done = subprocess.run(
        ["Rscript", "--no-init-file", "-e", check],
        input="\n".join([code, *cells, ""]), capture_output=True, text=True, check=False,
        env=os.environ | installed,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"synthesize", "risk", "report", "fit_synthetic"} <= set(done.stdout.split())
