"""The pages in headless Chromium: whole paths, the keyboard alone, nothing that axe-core minds.

Each page of a path is looked at as it comes: no error in the console, no serious or critical
violation in light and in dark, nothing wider than a screen of 1280 or of 390 pixels.
"""

import socket
import threading
from contextlib import contextmanager

import pytest
import uvicorn
from replay_trials import GAP

from tests.chromium import NO_AXE, axe_script, started_chromium
from tests.extensions.verification.server.conftest import spent

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

PATIENCE = 60
"""Seconds until something that should come is a fault, on whatever machine."""
WIDTHS = (1280, 390)
FOCUS = """
const e = document.activeElement, box = e.getBoundingClientRect(), look = getComputedStyle(e);
return {
  name: e.name || e.id, tag: e.tagName, text: e.textContent.trim(),
  seen: box.width > 0 && box.right > 0 && box.bottom > 0 && box.top < innerHeight
    && look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2,
};
"""
AXE = """
const done = arguments[arguments.length - 1];
axe.run({resultTypes: ["violations"], ...arguments[0]}).then(
  (found) => done(found.violations.filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).join(", "))),
  (error) => done([String(error)]));
"""


class Screen:
    """A browser as a person has it: labels and words, no selectors."""

    def __init__(self, driver):
        self.driver, self.axe, self.place, self.tokens = driver, axe_script(), "", {}

    def open(self, path):
        self.driver.get(self.place + path)

    def wait(self, what, of):
        stale = (StaleElementReferenceException,)  # the page is just being replaced
        return WebDriverWait(self.driver, PATIENCE, 0.05, stale).until(of, what)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def at(self, heading):
        """Wait for a page that is whole, by its heading."""
        script = (
            "return document.readyState === 'complete' && document.querySelector('h1')?.innerText"
        )
        self.wait(f"the page {heading}", lambda _: heading in (self.js(script) or ""))

    @property
    def text(self):
        return self.js("return document.body.innerText")

    def _first(self, *xpaths):
        def shown(driver):
            elements = (e for path in xpaths for e in driver.find_elements(By.XPATH, path))
            return next((e for e in elements if e.is_displayed()), None)

        return self.wait(xpaths[0], shown)

    def click(self, words):
        """Click the first button or link whose words begin so."""
        begins = f"[starts-with(normalize-space(.), {words!r})]"
        self._first(f"//button{begins}", f"//a{begins}", f"//summary{begins}").click()

    def field(self, label):
        """Return what a label belongs to."""
        begins = f"//label[starts-with(normalize-space(.), {label!r})]"
        element = self._first(begins)
        name = element.get_attribute("for")
        return (
            self.driver.find_element(By.ID, name)
            if name
            else element.find_element(By.TAG_NAME, "input")
        )

    def fill(self, label, text):
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def focus(self):
        return self.js(FOCUS)

    def tab_to(self, name, most=80):
        """Go on by Tab alone until a field or button has the focus, which is seen at each step."""
        for _ in range(most):
            self.press(Keys.TAB)
            at = self.focus()
            assert at["seen"], f"the focus is not seen: {at}"
            if name in (at["name"], at["text"]):
                return
        raise AssertionError(f"{name} is not reached by Tab")

    def width(self, pixels, dark=False):
        metrics = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        look = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [look]})

    def violations(self, **options):
        """Return what axe-core finds serious or critical."""
        if not self.axe:
            return []
        if not self.js("return Boolean(window.axe)"):
            self.js(self.axe)
        return self.driver.execute_async_script(AXE, options)

    def console(self):
        """Return what the console complains of since the last look."""
        lines = self.driver.get_log("browser")
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]

    def looks_right(self, name, status=200):
        """Look at a page in every width, in light and in dark."""
        for pixels in WIDTHS:
            self.width(pixels)
            wide = self.js("return document.documentElement.scrollWidth")
            assert wide <= pixels, f"{name} is {wide} wide on a screen of {pixels}"
        assert self.violations() == [], f"{name} at {pixels}"
        self.width(WIDTHS[0], dark=True)
        assert self.violations(runOnly=["color-contrast"]) == [], f"{name} in the dark"
        self.width(WIDTHS[0])
        messages = [line for line in self.console() if f"a status of {status}" not in line]
        assert messages == [], name

    def sign_in(self, name):
        self.open("/sign-in")
        self.at("Sign in")
        self.fill("Token", self.tokens[name])
        self.click("Sign in")


@pytest.fixture(scope="module")
def chromium():
    driver = started_chromium()
    yield driver
    driver.quit()


@contextmanager
def served(app):
    """Serve an app on a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_keep_alive=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def screen(chromium, app, accounts, service):
    """Return a browser before a running server with a researcher, a project and a steward."""
    screen = Screen(chromium)
    for name, role in (("ada", "researcher"), ("stella", "steward")):
        account = accounts.add(name, role, actor="test")
        screen.tokens[name] = accounts.new_token(account, "test", actor="test")
    service.projects.make(account, "pay gap", "panel", ["ada"], questions=12)
    with served(app) as screen.place:
        screen.width(WIDTHS[0])
        yield screen
        chromium.get("about:blank")
        chromium.delete_all_cookies()


FORMULA = "I(log(pay)) ~ sex + age"


RESEARCHERS = (
    "/datasets", "/datasets/panel", "/datasets/panel/ask", "/datasets/panel/ask/claim",
    "/datasets/panel/dry-runs/{digest}", "/queries/{id}", "/queries/{id}?numbers=true",
    "/queries/{id}/cite", "/queries", "/tokens",
)  # fmt: skip
STEWARDS = ("queries", "projects", "alarms", "accounts", "accounts/ada", "audit?check=true")


def test_every_page_looks_right(screen, service, accounts):
    made = service.submit(accounts.named("ada"), "panel", GAP, project="pay gap")
    screen.open(f"/queries/{made.id}")  # who is not signed in comes back to what he wanted
    screen.at("Sign in")
    screen.looks_right("sign-in")
    screen.fill("Token", screen.tokens["ada"])
    screen.click("Sign in")
    screen.at("Answer")  # the page waits for it by its script
    for page in RESEARCHERS:
        screen.open(page.format(**made.model_dump()))
        screen.at("")
        screen.looks_right(page)
    screen.open("/datasets/panel")
    screen.fill("Search the variables", "agen")
    assert "1 of 6 variables" in screen.text
    screen.open("/datasets/panel/ask/claim")
    screen.fill("Formula", FORMULA)
    screen.click("Show the coefficients")
    screen.wait("coefficients", lambda _: "The model has 3 coefficients" in screen.text)
    screen.click("Try it")
    screen.wait("problems", lambda _: "nothing was asked" in screen.text)
    screen.looks_right("problems", status=422)
    screen.click("Sign out")
    screen.at("Sign in")
    screen.sign_in("stella")
    screen.at("Is it true of")
    for page in STEWARDS:
        screen.open(f"/steward/{page}")
        screen.at("")
        screen.looks_right(page)
    screen.open("/steward/projects")
    screen.click("Pause panel")
    screen.looks_right("pause")
    assert not service.list_datasets()[0].is_paused
    screen.click("Yes, pause panel")
    screen.wait("the pause", lambda _: "Paused: nothing new is charged" in screen.text)
    assert service.list_datasets()[0].is_paused


def test_the_keyboard_alone_asks_a_question(screen, service):
    screen.open("/sign-in")
    screen.at("Sign in")
    screen.tab_to("Skip to the content", most=1)
    screen.press(Keys.ENTER)
    screen.wait("the content", lambda _: screen.focus()["name"] == "content")
    screen.tab_to("token", most=1)
    screen.press(screen.tokens["ada"], Keys.ENTER)
    screen.at("Is it true of")
    screen.tab_to("Ask a question for pay gap")
    screen.press(Keys.ENTER)
    screen.at("What do you want to know?")
    screen.tab_to(
        "Is it true? Is a coefficient at least, at most, between, or near the synthetic one?"
    )
    screen.press(Keys.ENTER)
    screen.at("Is it true?")
    screen.tab_to("formula")
    screen.press(FORMULA)
    screen.tab_to("ask.coefficient")
    screen.press("sex[F]")
    screen.tab_to("ask.below")
    screen.press("-0.05", Keys.ENTER)
    screen.at("The answer will probably be yes or no")
    screen.tab_to("Ask the confidential data: 1 question")
    screen.press(Keys.ENTER)
    screen.wait("a query", lambda driver: "/queries/" in driver.current_url)
    screen.at("Answer")
    assert spent(service) > 0
    assert screen.console() == []


def test_faults_of_a_page_are_found(screen):
    """Control: a label, the look of the focus, the contrast and the console, each made wrong."""
    screen.open("/sign-in")
    screen.at("Sign in")
    screen.js("""
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("* { outline: none !important } .lead { color: #eee !important }");
      document.adoptedStyleSheets = [sheet];
      document.querySelector("label[for=token]").remove();
      console.error("a control");
    """)
    with pytest.raises(AssertionError, match="focus is not seen"):
        screen.tab_to("token")
    assert any("a control" in line for line in screen.console())
    if not screen.axe:
        pytest.skip(NO_AXE)
    violations = dict(line.split(": ") for line in screen.violations())
    assert set(violations) == {"color-contrast", "label", "label-title-only"}
    assert violations["label"] == "#token"
