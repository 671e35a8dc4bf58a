#!/usr/bin/env python3
"""The page in Chromium: a live sweep to its end, a failed trial's reason, keys alone, both schemes, 400 pixels, and a saved file."""
import re
import subprocess
import unittest

from selenium.webdriver.common.keys import Keys

import harness
from page_case import EVIL, PageTestCase

PARTS = ("matrix", "trials", "curves", "table", "chart", "parallel", "failures")


class PageTest(PageTestCase):
    # The first one: the others show its sweep.
    def test_a_a_live_sweep_is_followed_to_its_end(self):
        browser = self.browser
        browser.open(self.address)
        browser.wait_text("Sweeps", "h1")
        self.assertIn("token=", self.address)
        self.assertNotIn("token", browser.js("return location.href"))
        sweep = self.local.submit(harness.SMOKE, "--set", "training.steps=60")
        type(self).sweep = sweep
        browser.wait_text("smoke")
        self.go(f"/sweep/{sweep}")
        browser.wait_text("active")
        browser.wait_text("running", seconds=120)
        self.picture("live")
        self.go(f"/sweep/{sweep}?tab=curves")
        browser.wait("a curve", lambda: browser.find(".chart[aria-label*='line']"), 120)
        browser.wait_text("complete", ".state", 240)
        browser.wait_text("8 of 8 trials ended")
        self.picture("curves")
        self.go(f"/sweep/{sweep}?color=perplexity")
        browser.wait("the matrix", lambda: browser.find("[data-trials='8']"))
        browser.wait_text("no value", ".legend")
        self.picture("matrix")
        self.go(f"/sweep/{sweep}?tab=table")
        browser.wait_text("W8A8 ppl", "table.paper")
        self.assertEqual(4, len(browser.find("table.paper tbody tr")))
        self.picture("table")
        self.go(f"/sweep/{sweep}?tab=figure&x=method")
        browser.wait("the figure", lambda: browser.find(".chart[aria-label*='against method']"))
        browser.wait_text("Mean over trainings")
        self.picture("figure")
        results = [{"training": 1, "value": 1}, {"training": 1, "value": 3}, {"training": 2, "value": 6}, {"value": 4}, {"value": 8}]
        summary = browser.js("return import('/page/statistics.js').then(({summarise}) => summarise(arguments[0]))", results)
        self.assertEqual((4, 5), (summary["n"], summary["mean"]))
        self.assertAlmostEqual((20 / 3) ** 0.5, summary["deviation"])
        self.go(f"/sweep/{sweep}?tab=parallel")
        browser.wait("the lines", lambda: browser.find(".chart[aria-label*='of 8 trials']"))
        self.picture("parallel")
        trial = self.local.sql("SELECT min(id) FROM trial WHERE sweep = " + sweep[2:])[0][0]
        self.go(f"/trial/t-{trial}")
        for text in ("Attempts", "perplexity", "train_loss", "Differences from its neighbours", "attention.gate", "succeeded"):
            browser.wait_text(text)
        self.picture("trial")

    def test_a_b_the_parallel_lines_are_seen_in_both_schemes(self):
        browser = self.browser
        contrast = """
            const canvas = document.querySelector('.chart canvas');
            if (!canvas || !canvas.width) return [0, 0];  // It is being drawn again.
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});  // Else Chromium gives the page advice.
            copy.drawImage(canvas, 0, 0);
            const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
            const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            const light = (r, g, b) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
            const [r, g, b] = getComputedStyle(document.querySelector('.panel')).backgroundColor.match(/[0-9]+/g).map(Number), back = light(r, g, b);
            let lines = 0, seen = 0;
            for (let i = 0; i < data.length; i += 4) {
              const high = Math.max(data[i], data[i + 1], data[i + 2]), low = Math.min(data[i], data[i + 1], data[i + 2]);
              if (data[i + 3] < 250 || high - low < 60) continue;  // Not a text, which has no colour, or an edge of a line.
              const own = light(data[i], data[i + 1], data[i + 2]);
              ++lines;
              if ((Math.max(own, back) + 0.05) / (Math.min(own, back) + 0.05) >= 2.8) ++seen;
            }
            return [lines, seen]"""
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            self.go(f"/sweep/{self.sweep}?tab=parallel")
            browser.wait("the lines", lambda: browser.find(".chart[aria-label*='of 8 trials']"))
            lines, seen = browser.wait("coloured lines", lambda: (lambda counts: counts if counts[0] > 50 else None)(browser.js(contrast)))
            self.assertGreater(seen, 0.9 * lines, scheme)
            self.picture(f"parallel-{scheme}")

    def test_a_c_running_trials_have_the_labels_of_every_axis(self):
        browser = self.browser
        file = self.folder / "running.yaml"
        file.write_text(harness.SMOKE.read_text().split("axes:")[0].replace("name: smoke", "name: running")
                        .replace("base:", "base:\n  model: {bert: {layers: 2, hidden_size: 64, heads: 4, ffn_size: 128}}", 1) + """axes:
  - {field: training.optimizer.adamw.learning_rate, values: [1e-3, 4e-3]}
  - {zip: [training.batch_size, training.gradient_accumulation], values: [[4, 1], [8, 2]]}
  - name: bits
    variants: [{label: float, set: {}}, {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 2}}}}]
""")
        sweep = self.local.submit(file, "--set", "training.steps=20000")
        try:
            self.go(f"/sweep/{sweep}")
            text = browser.wait("two running trainings", lambda: (lambda found: found if found.count("learning_rate=") >= 2 else None)(browser.text(".running")), 120)
            self.assertIn("batch_size+gradient_accumulation=", text)
            self.assertRegex(text, r"[0-9]+ running trials, by 2 attempts")
        finally:
            self.local.inlier("cancel", sweep, "--yes")

    def test_b_numbers_are_those_of_the_database(self):
        browser = self.browser
        rows = dict(self.local.sql("SELECT 't-' || trial.id, printf('%.6g', value) FROM trial JOIN stage ON stage.id = evaluate_stage "
                                   "JOIN measurement ON token = result_token AND measurement.name = 'perplexity' AND final = 1 AND site = '' "
                                   f"WHERE sweep = {self.sweep[2:]}"))
        self.assertEqual(8, len(rows))
        for trial, value in list(rows.items())[:2]:
            self.go(f"/trial/{trial}")
            browser.wait_text(trial, "h1")
            cells = browser.wait("the results", lambda: browser.js(
                "return [...document.querySelectorAll('table.compact tr')].filter(r => r.cells[0].innerText === 'perplexity').map(r => r.cells[1].innerText)"))
            self.assertAlmostEqual(float(value), float(cells[0]), delta=1e-4 * float(value))

    def test_c_a_failed_trial_has_its_reason(self):
        browser = self.browser
        harness.wait_for("the failures", lambda: self.local.sql(f"SELECT 1 FROM sweep WHERE id = {self.failed[2:]} AND ended_ms IS NOT NULL"), 120)
        self.go("/sweeps")
        browser.wait_text("failing")
        browser.wait("its state, which is not a green \"complete\"", lambda: browser.find(".state.sweep-failed"))
        self.go(f"/sweep/{self.failed}?tab=failures")
        browser.wait_text("failed", ".state.sweep-failed")
        browser.wait_text(EVIL)
        browser.wait_text("/no/such</script>")
        reason = browser.text("tbody tr th")
        self.assertEqual(1, len(browser.find("tbody tr")), "three failures of one reason are one row")
        self.assertIn("3", browser.text("tbody tr td.number"))
        self.picture("failures")
        self.go(f"/sweep/{self.failed}?tab=table")
        browser.wait_text(EVIL, "table.paper")
        self.go(f"/sweep/{self.failed}")
        browser.wait("the matrix", lambda: browser.find("[data-trials='3']"))
        trial = self.local.sql("SELECT min(id) FROM trial WHERE sweep = " + self.failed[2:])[0][0]
        self.go(f"/trial/t-{trial}")
        browser.wait_text(reason.splitlines()[0][:60], ".notice")
        self.picture("failed")

    def test_d_keys_alone_lead_from_the_list_to_a_trial(self):
        browser = self.browser
        self.go("/workers")
        browser.wait_text("2 slots")
        browser.keys("s")
        browser.wait_text("smoke")
        browser.tab_to("smoke")
        self.assertTrue(browser.js("return document.activeElement.matches(':focus-visible')"))
        browser.keys(Keys.ENTER)
        browser.wait("the matrix", lambda: browser.find("[data-trials='8']"))
        browser.tab_to("Matrix of trials")
        browser.wait_text("t-", ".matrix-cell")
        seen = [browser.text(".matrix-cell")]
        for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT):
            browser.keys(key)
            seen.append(browser.wait("another cell", lambda: browser.text(".matrix-cell") not in seen and browser.text(".matrix-cell")))
        browser.keys(" ")
        browser.wait("the mark in the address", lambda: "trials=t-" in browser.js("return location.hash"))
        browser.keys("3")
        browser.wait("its curve", lambda: browser.find(".chart[aria-label*='1 line']"))
        browser.keys("1")
        browser.wait("the matrix", lambda: browser.find("[data-trials='8']"))
        browser.tab_to("Matrix of trials")
        browser.keys(Keys.END, Keys.ENTER)
        browser.wait_text("Specification")
        self.assertIn("#/trial/t-", browser.js("return location.href"))
        browser.keys("?")
        browser.wait_text("arrow keys", "dialog")
        browser.keys(Keys.ESCAPE)
        browser.wait("the end of the dialog", lambda: not browser.find("dialog"))

    def test_e_every_view_fits_and_is_accessible(self):
        browser = self.browser
        trial = self.local.sql("SELECT min(id) FROM trial WHERE sweep = " + self.failed[2:])[0][0]
        places = ["/sweeps", "/workers", f"/trial/t-{trial}", f"/compare?trials=t-{trial},{','.join(self.trials())}", *(f"/sweep/{self.sweep}?tab={part}" for part in PARTS)]
        for scheme, width in (("light", 1200), ("dark", 400)):
            browser.scheme(scheme)
            browser.size(width)
            for place in places:
                with self.subTest(place=place, scheme=scheme, width=width):
                    self.go(place)
                    browser.wait("the view", lambda: browser.find("main .panel, main table") and "Loading" not in browser.text())
                    if re.search("curves|chart|parallel|compare|workers", place):
                        browser.wait("its chart", lambda: browser.find(".chart canvas"))
                    self.assertEqual(scheme, browser.js("return document.documentElement.dataset.theme"))
                    self.assertLessEqual(browser.overflow(), 0)
                    self.assertEqual([], browser.violations())
                    self.picture(f"{scheme}-{width}-{re.sub('[^a-z]+', '-', place.split('?tab=')[-1])}")

    def test_e_a_sweep_is_named_by_its_id_or_its_name(self):
        for name in (self.failed, "failing"):
            self.assertRegex(self.local.inlier("page", name, "--print").stdout.strip(), f"[#=]/sweep/{self.failed}$")
        missing = self.local.inlier("page", "failin", "--print", check=False)
        self.assertEqual(self.local.inlier("status", "failin", check=False).returncode, missing.returncode)
        self.assertIn('there is no sweep "failin"', missing.stderr)

    def test_f_a_sweep_is_saved_as_a_file(self):
        browser = self.browser
        file = self.folder / "sweep.html"
        self.local.inlier("page", self.sweep, "-o", file)
        evil = self.folder / "evil.html"
        self.local.inlier("page", self.failed, "-o", evil)
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
        try:
            browser.open(file.as_uri())
            browser.wait("the matrix", lambda: browser.find("[data-trials='8']"))
            for part, text in (("table", "W8A8 ppl"), ("failures", "No trial has failed"), ("chart&facet=model", "Mean over"), ("trials", "vanilla"), ("parallel", "Each line is a trial")):
                self.go(f"/sweep/{self.sweep}?tab={part}")
                browser.wait_text(text)
                self.assertEqual([], browser.find(".notice.error"))
                self.picture(f"saved-{part[:5]}")
            browser.wait("the lines", lambda: browser.find(".chart[aria-label*='of 8 trials'] canvas"))
            self.go("/compare?trials=" + ",".join(self.trials()[:2]))
            browser.wait_text("quantization.weights.bits")
            browser.wait("the curves side by side", lambda: browser.find(".chart[aria-label*='2 lines'] canvas"))
            self.go(f"/sweep/{self.sweep}?tab=curves")
            browser.wait("the curves", lambda: browser.find(".chart[aria-label*='line']"))
            self.assertEqual([], browser.violations())
            self.picture("saved")
            browser.open(evil.as_uri() + "#/sweep/x?tab=failures")
            browser.wait_text("/no/such</script>")
        finally:
            browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})

    def test_f_b_sweeps_are_found_tagged_and_removed_several_at_once(self):
        browser = self.browser
        others = []
        for name in ("other-a", "other-b"):  # Their results are known.
            file = self.folder / f"{name}.yaml"
            file.write_text(harness.SMOKE.read_text().replace("name: smoke", f"name: {name}"))
            others.append(self.local.submit(file, "--set", "training.steps=60"))
        for sweep in others:  # One that has not ended is not removed.
            self.local.inlier("watch", sweep)
        press = "[...document.querySelectorAll('main button, dialog button')].find((one) => one.textContent === arguments[0]).click()"
        choose = "document.querySelector(`input[aria-label='choose ${arguments[0]}']`).click()"
        select = "const s = [...document.querySelectorAll('select')].find((s) => s.textContent.includes(arguments[0])); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"

        def rows():
            return [row.text.split("\n")[0] for row in browser.find("table.sweeps tbody th")]

        browser.open(self.address)
        browser.wait_text("other-b")
        browser.js("const field = document.querySelector('input[type=search]'); field.value = 'OTHER'; field.dispatchEvent(new Event('input'))")
        browser.wait("the two", lambda: len(rows()) == 2)
        browser.js(select, "name")
        browser.wait("their order", lambda: [row[:7] for row in rows()] == ["other-a", "other-b"])
        for sweep in others:
            browser.js(choose, sweep)
        browser.wait_text("2 sweeps:")
        browser.js("document.querySelector('input[aria-label=tag]').value = 'tries'")
        browser.js(press, "Add tag")
        browser.wait("their tags", lambda: [tag.text for tag in browser.find(".tag")] == ["tries", "tries"])
        self.assertEqual([], browser.violations())
        self.picture("bulk")
        for sweep in others:
            browser.js(choose, sweep)
        browser.js(press, "Remove …")
        browser.js(press, "Remove")
        browser.wait_text("No sweep is so.")
        self.assertEqual(others[::-1], [one["sweep_id"] for one in self.local.inlier_json("list", "--removed")["sweeps"]])
        browser.js(select, "removed")
        browser.wait("the removed ones", lambda: len(rows()) == 2)
        browser.js(choose, others[0])
        browser.js(press, "Restore")
        browser.wait("the other", lambda: len(rows()) == 1)
        self.assertEqual(["other-a"], [one["name"] for one in self.local.inlier_json("list", "--tag", "tries")["sweeps"]])

    def test_g_who_may_not_change_gets_no_buttons(self):
        browser = self.browser
        reader = self.local.inlier("token", "add", "--role", "read", "--name", "guest", "--quiet").stdout.strip()
        # The coordinator looks at its tokens at most once a second.
        harness.wait_for("the token", lambda: self.about(reader), 30)
        browser.open("about:blank")
        browser.open(self.address.split("#")[0] + f"#token={reader}&to=/sweep/{self.failed}")
        browser.wait_text("guest (read)", "header", 30)
        browser.wait_text("failed", ".legend")
        self.assertEqual([], browser.find("main button"))
        browser.open(self.address)
        self.go(f"/sweep/{self.failed}")
        browser.wait_text("Retry failed", "main button")
        # Without a token the page asks for one.
        browser.js("sessionStorage.clear()")
        browser.open(self.address.split("#")[0])
        browser.wait_text("A token, please", "h1")
        browser.find("#token")[0].send_keys(reader, Keys.ENTER)
        browser.wait_text("Sweeps", "h1")
        # The refusal that made the page ask is an error in the console.
        self.assertEqual([], [error for error in browser.errors() if "401" not in error])

    def test_h_a_hundred_thousand_trials_are_all_there(self):
        browser = self.browser
        self.local.inlier("drain", self.local.inlier_json("workers")["workers"][0]["name"])
        # Workers of the benchmark, which end trials at once: 2,000 trainings with 50 evaluations each.
        subprocess.run([harness.BIN / "dispatch_load", "throughput", "--address", self.local.addresses["grpc"], "--trials", "100000", "--evaluations", "50",
                        "--token-file", self.folder / "token", "--worker-token-file", self.folder / "worker.token"], check=True, capture_output=True, timeout=300)
        sweep = f"s-{self.local.sql('SELECT max(id) FROM sweep')[0][0]}"
        browser.open(self.address)
        browser.wait_text("Sweeps", "h1")
        self.go(f"/sweep/{sweep}")
        browser.wait("the matrix", lambda: browser.find("[data-trials='100000']"), 60)
        browser.tab_to("Matrix of trials")
        browser.js("const m = document.querySelector('.matrix'); m.scrollTop = m.scrollHeight")
        for _ in range(100):
            browser.keys(*([Keys.PAGE_DOWN] * 20))
            if "seed=2000" in browser.text(".matrix-cell"):
                break
        browser.keys(Keys.END)
        browser.wait_text("seed=2000, calibration_seed=50", ".matrix-cell")
        self.picture("large")
        self.go(f"/sweep/{sweep}?tab=trials")
        browser.wait("the rows", lambda: browser.find("[data-rows='100000']"), 60)
        self.find("seed=2000 calibration_seed>49")
        browser.wait("the last one", lambda: len(self.column("trial")) == 1)


if __name__ == "__main__":
    unittest.main()
