#!/usr/bin/env python3
"""Debian's Prometheus (`make setup-test`) with the shipped rules scrapes the daemons: every panel of the boards answers during a sweep,
every alert fires when it should, a killed worker fires those of its runbook, and the boards have the form that Grafana publishes."""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import urllib.parse
import urllib.request

import harness

PROMETHEUS = harness.ROOT / "dashboard/prometheus"
CONFIG, RULES, ALERTS = PROMETHEUS / "prometheus.yml", PROMETHEUS / "rules.yml", PROMETHEUS / "alerts.yml"
ALERTS_TEST = pathlib.Path(__file__).with_name("alerts_test.yml")
RUNBOOKS = harness.ROOT / "docs/runbooks"
BOARDS = {file.stem: json.loads(file.read_text()) for file in sorted((harness.ROOT / "dashboard/grafana").glob("*.json"))}
SCHEMA = pathlib.Path(__file__).parent / "grafana/board.schema.json"
FAKE_DRIVER = harness.BIN.parent / "tests/fake_driver"
# Panels without an answer while nothing is wrong, and why.
ONLY_SOMETIMES = {("coordinator", "Errors"): "only while calls are not answered OK"}
SEEDS = 64  # More than the test waits for.
SWEEP = """
name: watched
base:
  model: {bert: {layers: 2, hidden_size: 64, heads: 4, ffn_size: 128}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 2000, batch_size: 8, optimizer: {adamw: {learning_rate: 3e-3}}, measure_every: 5, measure_outliers_every: 10, checkpoint_every: 500}
  evaluation: {batches: 2, batch_size: 16}
axes:
  - {field: seed, values: {seeds}}
  - name: bits
    variants:
      - {label: float, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 2}}}}
""".replace("{seeds}", str(list(range(1, SEEDS + 1))))


def fetch(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return answer.read().decode()


def panels():
    """(board, panel) of every panel with queries."""
    return [(name, panel) for name, board in BOARDS.items() for panel in board["panels"] if panel.get("targets")]


def queries():
    """(board, title, expression) of every query, the boards' variables at All."""
    for board, panel in panels():
        for target in panel["targets"]:
            yield board, panel["title"], target["expr"].replace("$__rate_interval", "15s").replace("$sweep", ".*").replace("$worker", ".*")


def annotations():
    return [(name, annotation["name"], annotation["expr"]) for name, board in BOARDS.items() for annotation in board["annotations"]["list"]]


def alerts():
    """(name, its lines) of every alert."""
    parts = re.split(r"- alert: (\w+)\n", ALERTS.read_text())
    return list(zip(parts[1::2], parts[2::2], strict=True))


def known_metrics():
    pages = [subprocess.run([harness.BIN / program, "--metrics-reference"], capture_output=True, text=True, check=True).stdout
             for program in ("inlier-coordinator", "inlier-worker")]
    return set(re.findall(r"`((?:inlier|process)_[a-z_0-9]+)", "\n".join(pages))) | set(re.findall(r"record: (\S+)", RULES.read_text()))


def faster(rules):
    """The rules with every duration divided by 12: a minute is five seconds."""
    rules = re.sub(r"\b(\d+)m\b", lambda match: f"{5 * int(match[1])}s", rules)
    return re.sub(r"\b(\d+)h\b", lambda match: f"{300 * int(match[1])}s", rules)


class ShippedFilesTest(unittest.TestCase):
    def test_every_query_names_metrics_that_exist(self):
        known = known_metrics()
        self.assertGreater(len(known), 20)
        self.assertGreater(len(list(queries())), 60)
        self.assertGreater(len(alerts()), 10)
        named = [(f"{board}: {title}", text) for board, title, text in [*queries(), *annotations()]]
        named += [(f"{name}: {variable['name']}", variable["query"]) for name, board in BOARDS.items() for variable in board["templating"]["list"]]
        for place, text in [*named, *alerts(), ("rules.yml", re.sub(r"(?m)^.*record: .*$|^groups.*$|^ *- name: .*$|^#.*$", "", RULES.read_text()))]:
            for name in re.findall(r"\b(?:inlier|process|instance)[_:][a-z_0-9:]+", text):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue(name in known or base in known, f"{place}: {name} is not declared")

    def test_boards_have_the_form_that_grafana_publishes(self):
        def problems(*boards):
            with harness.temporary_folder() as folder:
                files = [folder / f"{number}.json" for number in range(len(boards))]
                for file, board in zip(files, boards):
                    file.write_text(json.dumps(board))
                return subprocess.run(["/usr/bin/python3", "-m", "jsonschema", *(f"--instance={file}" for file in files), SCHEMA], capture_output=True,
                                      text=True).stderr
        self.assertEqual({"coordinator", "fleet", "runs"}, set(BOARDS))
        self.assertEqual("", problems(*BOARDS.values()))
        for break_it in (lambda board: board.update(refresch="5s"), lambda board: board["panels"][1]["options"].update(orientation="across"),
                         lambda board: board["annotations"]["list"][0].pop("iconColor")):
            broken = json.loads(json.dumps(BOARDS["runs"]))
            break_it(broken)
            self.assertNotEqual("", problems(broken))

    def test_boards_agree_with_themselves(self):
        uids = {board["uid"] for board in BOARDS.values()}
        self.assertEqual(len(BOARDS), len(uids))
        for name, board in BOARDS.items():
            text = json.dumps(board)
            ids = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(ids), len(set(ids)), name)
            variables = {variable["name"] for variable in board["templating"]["list"]}
            used = set(re.findall(r"\$\{?(\w+)", text)) - {"__rate_interval", "__all", "__field"}
            self.assertEqual(variables, used, name)
            self.assertLessEqual(set(re.findall(r"/d/([\w-]+)", text)), uids)
            self.assertIn("${coordinator}/", text)
            for address in re.findall(r"\$\{coordinator\}/(#/\w+)", text):
                self.assertRegex((harness.ROOT / "dashboard/page/main.js").read_text(), rf"// .*{address}\b")  # Its list of addresses.
            for panel in board["panels"]:
                self.assertTrue(panel["type"] == "row" or panel["targets"], panel["title"])
                places = [(q["gridPos"], q["title"]) for q in board["panels"] if q is not panel]
                grid = panel["gridPos"]
                self.assertLessEqual(grid["x"] + grid["w"], 24, panel["title"])
                for other, title in places:
                    apart = (grid["x"] + grid["w"] <= other["x"] or other["x"] + other["w"] <= grid["x"] or grid["y"] + grid["h"] <= other["y"]
                             or other["y"] + other["h"] <= grid["y"])
                    self.assertTrue(apart, f"{name}: {panel['title']} lies on {title}")

    def test_every_alert_is_seen_to_fire_and_not_to_fire(self):
        self.assertIn(f"rule_files: [{RULES.name}, {ALERTS.name}]", CONFIG.read_text())
        tried = {}
        for name, expected in re.findall(r"alertname: (\w+)(?:, exp_alerts: \[(\{?))?", ALERTS_TEST.read_text()):
            tried.setdefault(name, set()).add(bool(expected))
        self.assertEqual({name: {True, False} for name, _ in alerts()}, tried)
        with harness.temporary_folder() as folder:
            for file in (RULES, ALERTS, ALERTS_TEST):
                shutil.copy(file, folder)
            done = subprocess.run(["promtool", "test", "rules", ALERTS_TEST.name], cwd=folder, capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)


class PrometheusTest(unittest.TestCase):
    """A sweep on two workers, one of which is not supervised and is killed in the end."""

    def setUp(self):
        version = subprocess.run([harness.BIN / "inlier-trial", "--version"], capture_output=True, text=True, check=True).stdout
        self.fake_gpus = "CUDA not found" in version or "CUDA" not in version  # Trials would use them.
        environment = dict(os.environ)
        if self.fake_gpus:
            self.assertTrue((FAKE_DRIVER / "libnvidia-ml.so.1").exists())
            os.environ["LD_LIBRARY_PATH"] = f"{FAKE_DRIVER}:{environment.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(environment)))
        self.local = self.enterContext(harness.Local("--slots", "1", "--worker-set", "threads_per_slot=1", "--coordinator-set",
                                                     "lease_ttl_ms=5000", "--coordinator-set", "lease_margin_ms=200"))
        self.other = f"127.0.0.1:{harness.free_port()}"
        another_cpu = str(max(os.sched_getaffinity(0)))
        self.start("inlier-worker", "-c", another_cpu, harness.BIN / "inlier-worker", *(f"--set={key}={value}" for key, value in {
            "coordinator": self.local.addresses["grpc"], "name": "other", "state_dir": self.local.dir, "cache_dir": self.local.dir / "cache-of-other",
            "slots": 1, "threads_per_slot": 1, "http_listen": self.other, "token_file": self.local.dir / "worker.token"}.items()), program="taskset")
        self.listen = f"127.0.0.1:{harness.free_port()}"
        config = CONFIG.read_text()
        for default, actual in (("127.0.0.1:7421", self.local.addresses["coordinator_http"]),
                                ("[127.0.0.1:7422]", f"[{self.local.addresses['worker_http']}, {self.other}]"), ("scrape_interval: 5s",
                                                                                                                 "scrape_interval: 1s\n  evaluation_interval: 1s")):
            self.assertIn(default, config)
            config = config.replace(default, actual)
        file = self.local.dir / "prometheus.yml"
        file.write_text(config)
        for rules in (RULES, ALERTS):
            (self.local.dir / rules.name).write_text(faster(rules.read_text()))
        self.start("prometheus", f"--config.file={file}", f"--storage.tsdb.path={self.local.dir}/tsdb", f"--web.listen-address={self.listen}")

    def start(self, name, *arguments, program=None):
        log = self.enterContext(open(self.local.dir / "logs" / f"{name}-of-test.log", "wb"))
        process = subprocess.Popen([program or name, *arguments], stdout=log, stderr=log)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)
        self.processes = {**getattr(self, "processes", {}), name: process}

    def answer(self, expression):
        """The series of the answer, as (labels, value); none until Prometheus listens."""
        try:
            page = fetch(self.listen, "/api/v1/query?query=" + urllib.parse.quote(expression))
        except OSError:
            return []
        return [(series["metric"], float(series["value"][1])) for series in json.loads(page)["data"]["result"]]

    def firing(self):
        return {(alert["labels"]["alertname"], alert["labels"].get("instance", "")) for alert in
                json.loads(fetch(self.listen, "/api/v1/alerts"))["data"]["alerts"] if alert["state"] == "firing"}

    def test_panels_answer_and_a_killed_worker_fires_its_alerts(self):
        local = self.local
        for address in (local.addresses["coordinator_http"], local.addresses["worker_http"]):
            lint = subprocess.run(["promtool", "check", "metrics"], input=fetch(address, "/metrics"), capture_output=True, text=True)
            self.assertEqual((0, ""), (lint.returncode, lint.stdout + lint.stderr))
        file = local.dir / "watched.yaml"
        file.write_text(SWEEP)
        sweep = local.submit(file)
        harness.wait_for("three targets up", lambda: sum(value for _, value in self.answer("up")) == 3, 60)

        titles = {(board, panel["title"]) for board, panel in panels()}
        self.assertLessEqual(set(ONLY_SOMETIMES), titles)
        for board, title, expression in queries():
            if (board, title) in ONLY_SOMETIMES or (title.startswith("GPU ") and not self.fake_gpus):
                continue
            def answered(expression=expression):
                values = [value for _, value in self.answer(expression)]
                return values and all(math.isfinite(value) for value in values)
            harness.wait_for(f"finite numbers for {board}: {title}: {expression}", answered, 120)
        for _, name, expression in annotations():
            self.answer(expression)  # Valid, or fetch() raises on status 400.

        # The numbers are the sweep's.
        status = local.inlier_json("status", sweep)
        (labels, trials), = self.answer(f'sum by (sweep, name) (inlier_sweep_trials{{sweep="{sweep}"}})')
        self.assertEqual(({"sweep": sweep, "name": "watched"}, 2 * SEEDS), (labels, trials), status)
        stored = harness.wait_for("a stored result at W8A8",  # The panels may have had a running evaluation's.
                                  lambda: local.sql("SELECT min(perplexity) FROM results WHERE weight_bits = 8")[0][0], 120)
        harness.wait_for("the best perplexity of the database, or a better one",  # A scrape is up to seconds old.
                         lambda: self.answer('inlier_sweep_best{measurement="perplexity", setting="W8A8"}')[0][1] <= stored * 1.0001, 30)

        rules = [rule for group in json.loads(fetch(self.listen, "/api/v1/rules"))["data"]["groups"] for rule in group["rules"]]
        self.assertEqual([name for name, _ in alerts()], [rule["name"] for rule in rules if rule["type"] == "alerting"])
        self.assertEqual([], [rule for rule in rules if rule["health"] == "err"])
        self.assertEqual(set(), self.firing())

        harness.wait_for("a training of the other worker, far from its end",
                         lambda: any(value < 1000 for _, value in self.answer('inlier_attempt_step{worker="other", kind="TRAIN"}')), 60)
        self.processes["inlier-worker"].kill()
        runbook = (RUNBOOKS / "InlierWorkersLost.md").read_text().split("## When a worker is killed")[1]
        expected = {name for name, rest in re.findall(r"- `(\w+)`(.*)", runbook) if "only if" not in rest}
        self.assertEqual({"InlierDown", "InlierWorkersLost"}, expected)
        fired = set()

        def all_fired():
            fired.update(self.firing())
            return {name for name, _ in fired} >= expected
        harness.wait_for("the alerts of a killed worker", all_fired, 60)
        self.assertEqual(expected, {name for name, _ in fired}, fired)
        self.assertIn(("InlierDown", self.other), fired)
        local.inlier("cancel", sweep)
        harness.wait_for("the end of the sweep's series", lambda: not self.answer("inlier_sweep_trials") and not self.answer("inlier_attempt_step"), 30)
        self.assertEqual(expected, {name for name, _ in self.firing()})


if __name__ == "__main__":
    unittest.main()
