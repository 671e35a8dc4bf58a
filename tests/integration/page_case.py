"""What the tests of the page share: `inlier up` with a sweep that fails, and a browser on its page."""
import json
import os
import pathlib
import tempfile
import unittest
import urllib.error
import urllib.request

import harness
from browser import Browser

# Labels and messages of people must not run.
EVIL = "<img src=x onerror=window.owned=1>"
EVIL_PATH = "/no/such</script><script>window.owned=2</script>"
PICTURES = os.environ.get("INLIER_PICTURES")  # A folder: what was seen is kept there.


class PageTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.local = cls.enterClassContext(harness.Local("--slots", "2", "--coordinator-set", "materialised_trials_max=200000", "--worker-set", f"program_roots={cls.programs}"))
        cls.browser = cls.enterClassContext(Browser())
        cls.folder = pathlib.Path(cls.local.dir)
        base = harness.SMOKE.read_text().split("axes:")[0].replace("corpus: kjv, ", "")
        model = "{bert: {layers: 1, hidden_size: 8, heads: 1, ffn_size: 8}}"
        failing = cls.folder / "failing.yaml"
        failing.write_text(base.replace("base:", f"base:\n  model: {model}", 1).replace("name: smoke", "name: failing")
                           .replace("description: A small", f"description: {EVIL} A small") + f"""
axes:
  - name: path
    variants: [{{label: {json.dumps(EVIL)}, set: {{data: {{text: {{path: {json.dumps(EVIL_PATH)}}}}}}}}}]
  - {{field: seed, values: [1, 2, 3]}}
table: {{title: {json.dumps(EVIL)}, rows: [path], columns: [{{measurement: perplexity, heading: {json.dumps(EVIL)}}}]}}
""")
        cls.address = cls.local.inlier("page", "--print").stdout.strip()
        cls.failed = cls.local.submit(failing)
        cls.sweep = None

    def setUp(self):
        self.browser.size(1200)
        self.browser.scheme("light")

    def tearDown(self):
        self.assertEqual([], self.browser.errors())
        self.assertIsNone(self.browser.js("return window.owned ?? null"))

    def go(self, place):
        self.browser.js("location.hash = arguments[0]", place)

    def about(self, token):
        request = urllib.request.Request(self.address.split("#")[0] + "api/about", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:
            return None

    def trials(self):
        return [f"t-{row[0]}" for row in self.local.sql(f"SELECT id FROM trial WHERE sweep = {self.sweep[2:]} ORDER BY id")]

    def column(self, heading):
        """The texts of a column of the table of rows."""
        return self.browser.js("""
            const table = [...document.querySelectorAll('main table')].find((t) => [...t.tHead?.rows[0].cells ?? []].some((c) => c.innerText.startsWith(arguments[0])));
            if (!table) return [];
            const at = [...table.tHead.rows[0].cells].findIndex((c) => c.innerText.startsWith(arguments[0]));
            return [...table.tBodies[0].rows].map((row) => row.cells[at].innerText)""", heading)

    def press(self, text):
        self.browser.wait(f"the button {text}", lambda: self.browser.js(
            "const b = [...document.querySelectorAll('main button')].find((one) => one.innerText === arguments[0]); b?.click(); return Boolean(b)", text))

    def choose(self, name, value):
        self.browser.wait(f"the choice {name}", lambda: self.browser.js(
            "const s = document.querySelector(`main select[name='${arguments[0]}']`); if (!s) return false; s.value = arguments[1]; s.dispatchEvent(new Event('change')); return true", name, value))

    def find(self, text):
        self.browser.js("const field = document.querySelector('main input[type=search]'); field.value = arguments[0]; field.dispatchEvent(new Event('input'))", text)

    def values(self, measurement):
        return {trial: value for trial, value in self.local.sql(
            "SELECT 't-' || trial.id, value FROM trial JOIN stage ON stage.id = evaluate_stage JOIN measurement ON token = result_token AND final = 1 AND site = '' "
            f"AND measurement.name = '{measurement}' WHERE sweep = {self.sweep[2:]}")}

    def picture(self, name):
        if PICTURES:
            self.browser.picture(pathlib.Path(PICTURES) / f"{name}.png")
