"""Chromium (`make setup-test`) without a screen, for the tests of the page and bench/page."""
import contextlib
import pathlib
import tempfile
import time

import axe_core_python
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

AXE = pathlib.Path(axe_core_python.__file__).with_name("axe.min.js")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars")


class Browser:
    """One window; `with` closes it."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.TemporaryDirectory(prefix="inlier-chromium-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in (*FLAGS, f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(60)
        self.downloads = pathlib.Path(self.profile.name) / "downloads"
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.downloads)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.profile.cleanup()

    def open(self, address):
        self.driver.get("about:blank")  # Another fragment alone would load nothing.
        self.driver.get(address)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css="main"):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join('\\n')", css)

    def wait(self, what, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(StaleElementReferenceException):
                value = condition()
                if value:
                    return value
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s in vain for {what}; the page:\n{self.text('body')}\n{self.errors()}")

    def wait_text(self, text, css="main", seconds=60):
        self.wait(f"{text!r} in {css}", lambda: text in self.text(css), seconds)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        """Text, or name, of the element with the focus."""
        return self.js("const e = document.activeElement; return e.getAttribute('aria-label') || e.innerText || e.tagName")

    def tab_to(self, name, most=60):
        for _ in range(most):
            if name in self.focused():
                return
            self.keys(Keys.TAB)
        raise AssertionError(f"{name!r} is not reached by Tab; the focus is on {self.focused()!r}")

    def mouse(self, kind, place, **more):
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": place[0], "y": place[1], **more})
        self.at = place

    def move(self, place):
        self.mouse("mouseMoved", place)

    def click(self):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, self.at, button="left", clickCount=1)

    def drag(self, begin, end):
        self.move(begin)
        self.mouse("mousePressed", begin, button="left", buttons=1, clickCount=1)
        for part in range(1, 11):
            self.mouse("mouseMoved", [a + (b - a) * part / 10 for a, b in zip(begin, end, strict=True)], button="left", buttons=1)
        self.mouse("mouseReleased", end, button="left", clickCount=1)

    def download(self, name, binary=False):
        """The content of a file that the page has made; it is removed."""
        file = self.downloads / name
        self.wait(f"the file {name}", file.is_file)
        content = file.read_bytes()
        file.unlink()
        return content if binary else content.decode()

    def scheme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def size(self, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def overflow(self):
        """Pixels by which the page is wider than the window."""
        return self.js("return document.scrollingElement.scrollWidth - window.innerWidth")

    def errors(self):
        """Errors and warnings of the console since the last call."""
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]

    def violations(self):
        """Serious and critical findings of axe-core."""
        # Not bound by the policy of the page, as an extension of a browser is not.
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text()})
        found = self.driver.execute_async_script("axe.run(document).then(r => arguments[0](r.violations))")
        return [f"{one['id']}: {one['help']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}" for one in found
                if one["impact"] in ("serious", "critical") for node in one["nodes"]]

    def picture(self, file):
        self.driver.save_screenshot(str(file))
