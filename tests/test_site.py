"""The documentation site: it builds without a warning and asks no network for anything."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import synthesizer

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; a broken link or anchor, or a fault of a docstring, is an error."""
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", folder / "trees"]
    command = [sys.executable, "-m", "sphinx", *words, ROOT / "docs", folder / "html"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.stderr == ""
    assert built.returncode == 0
    return folder / "html"


def requested(text):
    """Return what a browser would fetch from elsewhere to show a page or a sheet of style."""
    tags = re.findall(
        r"""<(?:link|script|img|iframe|source)\b[^>]*?(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""",
        text,
    )
    return tags + re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", text)


@pytest.mark.parametrize(
    "source",
    [
        '<script async src="https://cdn.example/x.js">',
        "<link rel=stylesheet href='//fonts.example/css'>",
        "@import url(https://fonts.example/css)",
    ],
)
def test_what_a_page_would_ask_for_is_found(source):
    assert len(requested(source)) >= 1


def test_the_site_requests_nothing_and_its_reference_is_made_from_the_code(site):
    pages = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(pages) > 20
    requests = {path.name: requested(path.read_text("utf-8")) for path in pages}
    assert {name: urls for name, urls in requests.items() if urls} == {}
    names = ("reference", "configuration", "python")
    texts = {name: (site / f"{name}.html").read_text("utf-8") for name in names}
    assert "--control" in texts["reference"]
    assert 'id="checks-attacks"' in texts["configuration"]
    entries = re.findall(r'<dt [^>]*id="synthesizer\.(\w+)"', texts["python"])
    assert sorted(entries) == sorted(dir(synthesizer))


@pytest.fixture
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from tests.extensions.verification.server.test_browser import AXE, axe_script

    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs or not axe_script():
        pytest.skip("Chromium or axe-core is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage",
                 "window-size=400,800"):  # fmt: skip
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options, webdriver.ChromeService(programs[1])) as driver:
        driver.set_script_timeout(60)
        driver.look = lambda: (
            driver.execute_script(axe_script()) or driver.execute_async_script(AXE, {})
        )
        yield driver


def test_pages_can_be_read_by_all_and_request_nothing(site, browser):
    for page in ("tutorial", "reference"):
        browser.get((site / f"{page}.html").as_uri())
        assert browser.get_log("browser") == []
        sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        requests = [one["params"].get("request", {}).get("url", "") for one in sent]
        assert [url for url in requests if url.startswith("http")] == []
        assert browser.look() == []
        browser.get_log("browser")  # axe-core reads sheets of style, which a file may not
