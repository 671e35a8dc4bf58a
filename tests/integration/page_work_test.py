#!/usr/bin/env python3
"""The page as people work with it, in Chromium: trials found, sorted, compared; parallel coordinates and charts by keys and by the mouse, with their
addresses and files; devices over time; the log of a trial that runs."""
import csv
import itertools
import json
import pathlib
import re
import time
import unittest

from selenium.webdriver.common.keys import Keys

import harness
from page_case import EVIL, PageTestCase


class PageWorkTest(PageTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sweep = cls.local.submit(harness.SMOKE, "--set", "training.steps=60")
        harness.wait_for("its results", lambda: cls.local.sql(f"SELECT 1 FROM sweep WHERE id = {cls.sweep[2:]} AND ended_ms IS NOT NULL"), 240)
        cls.browser.open(cls.address)
        cls.browser.wait_text("Sweeps", "h1")

    def test_trials_are_found_sorted_marked_and_compared(self):
        browser, values = self.browser, self.values("perplexity")
        self.go(f"/sweep/{self.sweep}?tab=trials")
        browser.wait("the rows", lambda: len(self.column("trial")) == 8)
        browser.tab_to("perplexity")
        browser.keys(Keys.ENTER)
        browser.wait("the order", lambda: self.column("trial") == sorted(values, key=values.get))
        self.assertEqual(["perplexity"], browser.js("return [...document.querySelectorAll('th[aria-sort=ascending]')].map((c) => c.innerText.split(' ')[0])"))
        browser.keys(Keys.ENTER)
        browser.wait("the reverse, with the focus kept", lambda: self.column("trial") == sorted(values, key=values.get, reverse=True))
        most = sorted(values.values())[3]
        self.find(f"perplexity<={most} succeeded")
        browser.wait("those below", lambda: len(self.column("trial")) == 4)
        self.find("vanilla float")
        browser.wait("those with the words", lambda: self.column("method") == ["vanilla"] * 2 and self.column("bits") == ["float"] * 2)
        address = browser.js("return location.href")
        self.assertIn("find=vanilla", address)
        self.assertIn("sort=-perplexity", address)
        self.press("Data (CSV)")
        rows = list(csv.DictReader(browser.download("smoke-trials.csv").splitlines()))
        self.assertEqual(sorted(self.column("trial")), sorted(row["trial"] for row in rows))
        for row in rows:
            self.assertAlmostEqual(values[row["trial"]], float(row["perplexity"]))
        for _ in range(2):
            browser.tab_to("mark t-")
            browser.keys(" ")
            browser.keys(Keys.TAB)
        browser.wait_text("2 marked")
        marked = browser.js("return location.hash.match(/trials=([^&]+)/)[1]").replace("%2C", ",").split(",")
        self.picture("trials")
        browser.open(address.replace("find=vanilla", "find=gated"))  # What the address says is shown.
        browser.wait("its rows", lambda: self.column("method") == ["gated"] * 2)
        self.go("/compare?trials=" + ",".join(marked))
        browser.wait_text("model.bert.layers")
        text = browser.text("table.sides")
        self.assertIn("model.opt.layers", text)
        self.assertNotIn("training.batch_size", text)  # Equal fields are folded.
        cells = browser.wait("the measurements", lambda: browser.js(
            "return [...document.querySelectorAll('table.sides tr')].filter((r) => r.cells[0].innerText === 'perplexity').map((r) => [...r.cells].slice(1).map((c) => c.innerText))"))[0]
        for trial, cell in zip(marked, cells, strict=True):
            self.assertAlmostEqual(values[trial], float(cell.split()[0]), delta=1e-4 * values[trial])
        self.assertRegex(cells[1], "[+−].* %")
        browser.wait("the curves", lambda: browser.find(".chart[aria-label*='train_loss over steps: 2 lines'] canvas"))
        self.picture("compare")
        browser.tab_to("trial to add")
        browser.keys("nonsense", Keys.ENTER)
        browser.wait_text("is not a trial", ".notice")
        failed = self.local.sql("SELECT min(id) FROM trial WHERE sweep = " + self.failed[2:])[0][0]
        browser.js("document.querySelector('main form input').value = ''")
        browser.keys(f"t-{failed}", Keys.ENTER)
        browser.wait_text(EVIL, "table.sides")  # Of another sweep, as a text.
        self.assertIn(f"t-{failed}", browser.js("return decodeURIComponent(location.hash)"))
        browser.tab_to(f"take out t-{failed}", 100)
        browser.keys(Keys.ENTER)
        browser.wait("two trials", lambda: EVIL not in browser.text())

    def test_parallel_coordinates_choose_trials_by_ranges(self):
        browser, values = self.browser, self.values("perplexity")
        self.go(f"/sweep/{self.sweep}?tab=parallel")
        browser.wait("the lines", lambda: browser.find("[data-chosen='8']"))
        browser.js("document.querySelector('details.picker').open = true")
        middle = (sorted(values.values())[3] + sorted(values.values())[4]) / 2
        browser.tab_to("perplexity to", 200)
        browser.keys(f"{middle:.6g}", Keys.TAB)
        browser.wait("the half below", lambda: browser.find("[data-chosen='4']"))
        self.assertEqual(sorted(values, key=values.get)[:4], sorted(self.column("trial"), key=values.get))
        browser.tab_to("logarithm of perplexity")
        browser.keys(" ")
        browser.wait("the logarithm in the address", lambda: "logs=perplexity" in browser.js("return location.hash"))
        browser.tab_to("flip perplexity")
        browser.keys(" ")
        browser.tab_to("perplexity to the left")
        browser.keys(Keys.ENTER)
        browser.wait("the order in the address", lambda: re.search("axes=[^&]*perplexity%2Cbits", browser.js("return location.hash")))
        address = browser.js("return location.href")
        self.picture("parallel-half")
        browser.open(address)
        browser.wait("the same half", lambda: browser.find("[data-chosen='4']"))
        self.assertIn("flips=perplexity", address)
        self.press("Forget ranges")
        browser.wait("all", lambda: browser.find("[data-chosen='8']"))
        self.assertNotIn("ranges", browser.js("return location.hash"))
        self.press("Data (CSV)")
        self.assertEqual(8, len(list(csv.DictReader(browser.download("smoke-parallel.csv").splitlines()))))
        self.go(f"/sweep/{self.sweep}?tab=parallel&axes=model,max_inf_norm,perplexity&color=perplexity")
        browser.wait("three axes", lambda: browser.find(".chart[aria-label*='over model, max_inf_norm, perplexity']"))
        norms = self.values("max_inf_norm")
        ranks = [sorted(by, key=by.get) for by in (values, norms)]
        squares = sum((ranks[0].index(trial) - ranks[1].index(trial)) ** 2 for trial in values)
        cell = browser.js("return [...document.querySelectorAll('details.picker tr')].find((r) => r.cells[0].textContent === 'max_inf_norm').cells[3].textContent")
        self.assertEqual(8, len(set(norms.values())))  # No ties.
        self.assertAlmostEqual(1 - 6 * squares / (8 * 63), float(cell), delta=0.01)
        # The mouse: along the first axis, then on a line.
        self.go(f"/sweep/{self.sweep}?tab=parallel&axes=model,perplexity")
        browser.wait("two axes", lambda: browser.find(".chart[aria-label*='over model, perplexity']"))
        browser.js("window.scrollTo(0, 0)")
        left, top = browser.js("const b = document.querySelector('.chart').getBoundingClientRect(); return [b.left, b.top]")
        browser.drag((left + 60, top + 60), (left + 60, top + 190))
        browser.wait("the upper half of the first axis", lambda: browser.find("[data-chosen='4']"))
        self.assertEqual({"OPT"}, set(self.column("model")))
        self.assertIn("ranges=model", browser.js("return location.hash"))
        self.press("Forget ranges")
        browser.wait("all", lambda: browser.find("[data-chosen='8']"))
        for y in range(100, 150):  # Until a line is under the mouse.
            browser.move((left + 90, top + y))
            if browser.text(".tip"):
                break
        self.assertRegex(browser.text(".tip"), "(?s)t-[0-9]+.*model: OPT.*perplexity: ")
        browser.click()
        browser.wait("the line's trial", lambda: "#/trial/t-" in browser.js("return location.href"))

    def test_a_chart_of_ones_own_is_in_its_address(self):
        browser, values = self.browser, self.values("perplexity")
        self.go(f"/sweep/{self.sweep}?tab=chart")
        self.choose("Draw", "points")
        self.choose("x", "learning_rate")
        self.choose("x scale", "1")
        self.choose("Colour", "method")
        self.choose("Facets", "model")
        wanted = "perplexity against learning_rate: 8 trials, colour method, 2 facets of model"
        browser.wait("the chart", lambda: browser.find(f".chart[aria-label='{wanted}'] canvas"))
        address = browser.js("return location.href")
        for part in ("tab=chart", "draw=points", "x=learning_rate", "logx=1", "by=method", "facet=model"):
            self.assertIn(part, address)
        self.picture("chart")
        browser.open(address)
        browser.wait("the same", lambda: browser.find(f".chart[aria-label='{wanted}'] canvas"))
        self.press("Data (CSV)")
        rows = list(csv.DictReader(browser.download("smoke-perplexity-by-learning_rate.csv").splitlines()))
        self.assertEqual({"trial", "learning_rate", "perplexity", "method", "model"}, set(rows[0]))
        self.assertEqual({trial: f"{value:.9g}" for trial, value in values.items()}, {row["trial"]: f"{float(row['perplexity']):.9g}" for row in rows})
        self.assertEqual({("BERT", 0.004), ("OPT", 0.003)}, {(row["model"], float(row["learning_rate"])) for row in rows})
        self.press("Picture (SVG)")
        drawn = browser.download("smoke-perplexity-by-learning_rate.svg")
        self.assertRegex(drawn, "(?s)^<svg.*model=BERT.*</svg>")
        self.press("Picture (PNG)")
        self.assertEqual(b"\x89PNG", browser.download("smoke-perplexity-by-learning_rate.png", binary=True)[:4])
        self.go(f"/sweep/{self.sweep}?tab=chart&x=method&by=bits&y=max_inf_norm")
        browser.wait_text("Mean over trainings")
        self.press("Data (CSV)")
        means = list(csv.DictReader(browser.download("smoke-max_inf_norm-by-method.csv").splitlines()))
        norms = self.values("max_inf_norm")
        self.assertEqual(4, len(means))
        self.assertAlmostEqual(sum(norms.values()) / 8, sum(float(row["mean max_inf_norm"]) for row in means) / 4)
        self.assertEqual({"2"}, {row["n"] for row in means})

    def test_labels_of_people_are_texts_in_every_chart(self):
        browser = self.browser
        file = self.folder / "evil.yaml"  # Its results are known.
        file.write_text(harness.SMOKE.read_text().replace("name: smoke", "name: evil").replace("label: BERT", f"label: {json.dumps(EVIL)}"))
        sweep = self.local.submit(file, "--set", "training.steps=60")
        browser.wait("its results", lambda: self.local.sql(f"SELECT 1 FROM sweep WHERE id = {sweep[2:]} AND ended_ms IS NOT NULL"))
        for part in ("chart&by=model&facet=model", "parallel", "trials&find=img", "matrix"):
            self.go(f"/sweep/{sweep}?tab={part}")
            browser.wait("the part", lambda: browser.find("[data-trials='8'], [data-rows='8'], .chart[aria-label*='8 trials'] canvas"))
        self.go(f"/sweep/{sweep}?tab=chart&draw=points&x=model")
        browser.wait("the points", lambda: browser.find(".chart[aria-label*='against model'] canvas"))
        box = browser.js("const b = document.querySelector('.chart canvas').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]")
        for x, y in itertools.product(range(-12, 13, 4), range(30, 350, 4)):  # Until a point of the first of two labels is under the mouse.
            browser.move((box[0] + 44 + (box[2] - 64) / 4 + x, box[1] + y))
            if browser.text(".tip"):
                break
        self.assertIn(EVIL, browser.text(".tip"))
        self.go(f"/sweep/{self.sweep}?tab=chart&with={sweep}")
        browser.wait("both sweeps", lambda: browser.find(".chart[aria-label*='16 trials, colour sweep'] canvas"))
        self.picture("chart-with")

    def test_devices_are_shown_over_time(self):
        browser = self.browser
        self.go("/workers")
        browser.wait_text("the machine")
        browser.wait("the use of the CPU", lambda: browser.find(".chart[aria-label*='in use of the worker'] canvas"))
        browser.wait("its memory", lambda: browser.find(".chart[aria-label*='memory of the worker'] canvas"))
        worker = self.local.inlier_json("workers")["workers"][0]["incarnation"]
        tracks = browser.js("return import('/page/source.js').then(({LiveSource}) => new LiveSource().deviceTracks(arguments[0]))", worker)
        [cpu] = [track for track in tracks if track["device"] == "cpu"]
        total = int(re.search("MemTotal: *([0-9]+)", pathlib.Path("/proc/meminfo").read_text())[1]) >> 10
        self.assertEqual(total, cpu["memory"])
        self.assertTrue(all(0 < point["memory"] < total for point in cpu["points"]))
        self.assertTrue(any(0 < (point["utilization"] or 0) <= 1 for point in cpu["points"]))
        self.choose("Of the last", "24")
        browser.wait("the day", lambda: "hours=24" in browser.js("return location.hash"))
        self.picture("workers")
        self.go(f"/trial/{self.trials()[0]}")
        browser.wait_text("Devices while it ran")
        browser.wait("the devices", lambda: browser.find(f".chart[aria-label*='in use of {self.trials()[0]}'], .chart[aria-label*='memory of {self.trials()[0]}']"))

    def test_the_log_of_a_trial_is_followed_and_paused(self):
        browser = self.browser
        folder = self.programs / "talk"
        folder.mkdir()
        (folder / "inlier-program.yaml").write_text("name: talk\ncommand: [sh, run.sh]\nfiles: [run.sh]\nparameters: {lines: {type: INTEGER, default: 9}}\nmeasurements: {said: {better: HIGHER}}\n")
        (folder / "run.sh").write_text(f"i=0\nwhile true; do i=$((i+1)); echo \"line $i {EVIL}\"; sleep 0.2; done\n")
        (folder / "talk.yaml").write_text("name: talk\nprogram: .\nbase: {lines: 5}\n")
        sweep = self.local.submit(folder / "talk.yaml")

        def lines():
            return len(browser.find(".log .line"))

        def scrolled():
            return browser.js("const log = document.querySelector('.log'); return [log.scrollTop, log.scrollHeight - log.clientHeight]")

        try:
            trial = f"t-{self.local.sql(f'SELECT id FROM trial WHERE sweep = {sweep[2:]}')[0][0]}"
            self.go(f"/trial/{trial}")
            browser.wait("more lines than the box has room for", lambda: lines() > 20, 120)
            browser.wait_text("live, ")
            self.assertIn(f"line 2 {EVIL}", browser.text(".log"))
            browser.wait("the end in view", lambda: scrolled()[0] >= scrolled()[1] - 8)
            before = lines()
            browser.wait("more lines, still followed", lambda: lines() > before and scrolled()[0] >= scrolled()[1] - 8)
            browser.js("document.querySelector('.log').scrollTop = 0")
            browser.wait("following ends", lambda: not browser.js("return document.querySelector('main input[type=checkbox]').checked"))
            before = lines()
            browser.wait("more lines, not followed", lambda: lines() > before and scrolled()[0] == 0)
            self.press("Pause")
            browser.wait_text("paused")
            before = lines()
            time.sleep(2.5)  # Longer than the time between two readings.
            self.assertEqual(before, lines())
            self.picture("log")
            self.press("Go on")
            browser.wait("more lines", lambda: lines() > before)
            numbers = [int(number) for number in re.findall("line ([0-9]+) <", browser.text(".log"))]
            self.assertEqual(list(range(numbers[0], numbers[0] + len(numbers))), numbers)
        finally:
            self.local.inlier("cancel", sweep, "--yes")


if __name__ == "__main__":
    unittest.main()
