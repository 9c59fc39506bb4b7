"""Headless Chromium and axe-core, for tests of pages; both may be missing."""

import shutil
from importlib import metadata

import pytest

MISSING = "Chromium is not installed (Debian: apt-get install chromium chromium-driver)"
NO_AXE = "axe-core is not installed (pip install --no-deps axe-playwright-python)"
FLAGS = (
    "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars",
    "force-prefers-reduced-motion",
)  # fmt: skip


def axe_script():
    """Return the text of axe-core, from a package that is never imported; "" without it."""
    try:
        files = metadata.distribution("axe-playwright-python").files or ()
    except metadata.PackageNotFoundError:
        return ""
    return next(file.locate().read_text() for file in files if file.name == "axe.min.js")


def started_chromium():
    """Return a driver of Chromium; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        pytest.skip(MISSING)
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(programs[1]))
