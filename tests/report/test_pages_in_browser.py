"""Every kind of page in headless Chromium, on a desktop and a phone, in light and in dark.

No error in the console, no request, nothing that axe-core minds, no word that is cut, nothing wider
than the screen. With ``SCREENSHOTS=DIRECTORY`` in the environment pictures are kept there.
"""

import base64
import os
from pathlib import Path

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.report.build import build_report
from synthesizer.report.record import Record
from tests.chromium import NO_AXE, axe_script, started_chromium
from tests.report import risk_examples
from tests.report.codebook.books import page_of
from tests.report.test_careers_section import panel, sequences
from tests.report.test_careers_section import record as panel_record
from tests.report.test_words_of_pages import CODEBOOKS
from tests.report.utility_examples import NAMES, manifest, run

LOOKS = [(1280, False), (390, False), (1280, True), (390, True)]
"""Width of the screen, and whether it is dark."""
RULES = """
const done = arguments[arguments.length - 1];
axe.run({resultTypes: ["violations"], rules: {"color-contrast": {enabled: false}}}).then(
  (found) => done(found.violations.map(
    (v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")))),
  (error) => done([String(error)]));
"""
"""Every rule of axe-core but the one on contrast, which takes a minute for thousands of cells."""
CONTRAST = """
const done = arguments[arguments.length - 1], faults = [], kept = new Map(), drawn = new Map();
const clear = "rgba(0, 0, 0, 0)", look = (e) => getComputedStyle(e);
const behind = (e) => {
  while (e.parentElement && look(e).backgroundColor === clear) e = e.parentElement;
  return look(e).backgroundColor;
};
const light = (colour) => {
  const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
  const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
for (const e of document.querySelectorAll("body *")) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility())
    continue;
  const box = e.matches(".cell") ? look(e.previousElementSibling).fill : behind(e);
  if (e.matches("svg text")) drawn.set(look(e).fill + " on " + box, e);
  const own = look(e);
  const kind = [own.color, box, own.fontSize, own.fontWeight, own.opacity, e.tagName].join();
  if (!e.closest("svg") && !kept.has(kind)) kept.set(kind, e);
}
for (const [pair, e] of drawn) {
  const [low, high] = pair.split(" on ").map(light).sort((a, b) => a - b);
  if ((high + 0.05) / (low + 0.05) < 4.5) faults.push("contrast: " + pair + ": " + e.textContent);
}
const needed = new Set([document.body]);
for (let e of kept.values()) for (; !needed.has(e); e = e.parentElement) needed.add(e);
for (const e of document.querySelectorAll("body *")) if (!needed.has(e)) e.remove();
axe.run({resultTypes: ["violations"], runOnly: ["color-contrast"]}).then(
  (found) => done([...faults, ...found.violations.flatMap(
    (v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.html))]),
  (error) => done([String(error)]));
"""
"""The contrast of one element of each kind: tag, colour of letters and of what is behind, size.

All others are taken out of the page first. Words of pictures, which axe-core leaves out, are held
against the cell or the page behind them.
"""
CUT = """
const faults = [];
for (const frame of document.querySelectorAll("svg")) {
  const edge = frame.getBoundingClientRect(), boxes = [];
  for (const words of frame.querySelectorAll("text:not(.cell)")) {
    const box = words.getBoundingClientRect(), label = (words.lastChild || words).textContent;
    if (!box.width || !label.trim() || !words.checkVisibility()) continue;
    if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 1
        || box.bottom > edge.bottom + 1) faults.push("picture: " + label);
    boxes.push([box, label]);
  }
  boxes.sort(([a], [b]) => a.top - b.top);
  boxes.forEach(([a, label], i) => {
    for (let j = i + 1; j < boxes.length && boxes[j][0].top < a.bottom - 4; j++) {
      const [b, other] = boxes[j];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2)
        faults.push("overlap: " + label + " and " + other);
    }
  });
}
for (const box of document.querySelectorAll("body *")) {
  const look = getComputedStyle(box);
  const hides = ["hidden", "clip"].includes(look.overflowX) && look.clipPath === "none";
  if (hides && box.clientWidth && box.scrollWidth > box.clientWidth + 1)
    faults.push("text: " + box.textContent.slice(0, 40));
}
return faults;
"""


def of_files():
    """Return the record of a file that somebody else made, with labels."""
    record = run(risk=risk_examples.risk())
    return Record(manifest(chain=(), config={"version": 2, "variables": LABELS}), record.results)


def comparisons(where):
    """Return a comparison, and a frontier of which no run keeps its limit."""
    comparison_page = pytest.importorskip(
        "synthesizer.extensions.comparison.comparison_page"
    ).comparison_page
    from tests.extensions.comparison.test_comparison_page import changed, runs

    points = {"min_leaf=5": (0.4, 1.0), "min_leaf=50": (0.3, 1.5), "min_leaf=100": (0.42, 1.6)}
    limits = {"cap": 0.35, "mean_two_way": 1.2}
    yield "comparison", comparison_page(runs(where / "a", points))
    front = runs(where / "b", points, limits=limits)
    for number in range(3):
        front = changed(front, number, exceeded=("limits.cap: CAP is 0.4, above 0.35",))
    yield "frontier", comparison_page(front, failed={"min_leaf=1": ["no leaf"]})


LINES = {"original_lines": ((0, 0, 0), (1, 0, 0)), "synthetic_lines": ((0, 0, 2),)}
LABELS = {name: {"label": f"What was asked about {name[:8]}"} for name in NAMES}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return every kind of page as a file."""
    where = tmp_path_factory.mktemp("pages")
    texts = {
        "run": build_report(run(risk=risk_examples.risk())),
        "nothing": build_report(run(risk=RiskResult(), tables=None, distributions=(), pairs=())),
        "panel": build_report(panel_record(panel(sequences=sequences(**LINES)))),
        "files": build_report(of_files()),
        "codebook": page_of(CODEBOOKS["a table with words, rules and strata"](where)),
        **dict(comparisons(where)),
    }
    for name, text in texts.items():
        (where / f"{name}.html").write_text(text, encoding="utf-8")
    return where, tuple(texts)


@pytest.fixture(scope="module")
def chromium():
    driver = started_chromium()
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


def look_at(driver, page, *, width=1280, dark=False):
    """Load a page, whose parts are folded."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(page.as_uri())
    keep(driver, f"{page.stem}-{width}-{'dark' if dark else 'light'}")


def open_all(driver):
    driver.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")


def keep(driver, name):
    if folder := os.environ.get("SCREENSHOTS"):
        size = driver.execute_script(
            "const d = document.documentElement; return [d.clientWidth, d.scrollHeight]"
        )
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 4000), "scale": 1}
        shot = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def faults(driver, *, rules=False, contrast=False):
    """Return what is wrong with what is seen of a page; the look at contrasts takes it apart."""
    wide = "const d = document.documentElement; return d.scrollWidth - d.clientWidth"
    requests = "return performance.getEntriesByType('resource').map((e) => 'request: ' + e.name)"
    flaws = [*driver.execute_script(CUT), *driver.execute_script(requests)]
    flaws += ["wider than the screen"] * (driver.execute_script(wide) > 1)
    if (rules or contrast) and (script := axe_script()):
        driver.execute_script(script)
        flaws += driver.execute_async_script(RULES) if rules else []
        flaws += driver.execute_async_script(CONTRAST) if contrast else []
    logged = driver.get_log("browser")
    return flaws + [line["message"] for line in logged if line["level"] in ("SEVERE", "WARNING")]


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_every_kind_of_page_is_right_on_every_screen(chromium, pages, width, dark):
    """All rules once, on the phone; contrasts in light and in dark; all parts are open."""
    where, names = pages
    whole, contrast = (width, dark) == LOOKS[-1], (width, dark) in (LOOKS[0], LOOKS[-1])
    flaws = {}
    for name in names:
        look_at(chromium, where / f"{name}.html", width=width, dark=dark)
        flaws[name] = faults(chromium)
        open_all(chromium)
        flaws[name] += faults(chromium, rules=whole, contrast=contrast)
    assert {name: what for name, what in flaws.items() if what} == {}


def test_the_verdict_is_on_the_first_screen_and_links_open_what_is_folded(chromium, pages):
    look_at(chromium, pages[0] / "run.html")
    chromium.get((pages[0] / "run.html").as_uri())
    end = "return document.querySelectorAll('#glance figure')[2].getBoundingClientRect().bottom"
    assert chromium.execute_script(end) < 900
    opened = "return document.querySelector('#cap > details').open"
    assert not chromium.execute_script(opened)
    chromium.execute_script("location.hash = '#cap'")
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(chromium, 60).until(lambda driver: driver.execute_script(opened))


def test_a_pair_that_is_chosen_is_in_view(chromium, pages):
    chromium.get((pages[0] / "run.html").as_uri())
    chromium.execute_script(
        "document.querySelector('g.heat .pair').dispatchEvent(new MouseEvent('click'))"
    )
    box = "const b = document.getElementById('pair-view').getBoundingClientRect(); return [b.top, "
    from selenium.webdriver.support.wait import WebDriverWait

    margins = box + "innerHeight - b.bottom]"
    WebDriverWait(chromium, 60).until(lambda driver: min(driver.execute_script(margins)) >= -1)
    top, height = chromium.execute_script(margins)
    assert top >= -1
    assert height >= -1


def test_faults_are_found(chromium, pages):
    """Control: in parts that are folded, too, nothing that is wrong stays unseen."""
    look_at(chromium, pages[0] / "run.html")
    chromium.execute_script("""
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("#figures td { color: #ddd } .chart .tick { fill: #ddd } "
        + ".heat rect { fill: #777 } h1 { width: 4em; overflow: hidden; white-space: nowrap }");
      document.adoptedStyleSheets = [sheet];
      const folded = document.querySelector("#figures > details");
      folded.append(document.createElement("img"), document.createElement("input"));
      const seen = document.querySelectorAll(".chart .tick");
      seen[0].setAttribute("x", "-20");
      seen[1].after(seen[1].cloneNode(true));
      fetch("https://example.org").catch(() => 0);
      console.error("a control");
    """)
    open_all(chromium)
    flaws = "\n".join(faults(chromium, rules=True, contrast=True))
    for words in ("picture: ", "overlap: ", "text: Synthetic", "a control", "Security Policy"):
        assert words in flaws
    if not axe_script():
        pytest.skip(NO_AXE)
    for words in ("color-contrast: ", "image-alt", "label: ", "contrast: rgb(221, 221, 221) on "):
        assert words in flaws
    assert "on rgb(119, 119, 119)" in flaws  # a cell of a map
