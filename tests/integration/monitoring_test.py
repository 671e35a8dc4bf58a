#!/usr/bin/env python3
"""Debian's Prometheus (`make setup-test`) with the shipped configuration scrapes both daemons, every query of the dashboard answers during
a sweep, and every alert fires when it should."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse
import urllib.request

import harness

CONFIG = harness.ROOT / "dashboard/prometheus/prometheus.yml"
ALERTS = CONFIG.parent / "alerts.yml"
ALERTS_TEST = pathlib.Path(__file__).with_name("alerts_test.yml")
DASHBOARDS = sorted((harness.ROOT / "dashboard/grafana").glob("*.json"))


def fetch(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return answer.read().decode()


def queries():
    for file in DASHBOARDS:
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield f"{file.name}: {panel['title']}", target["expr"].replace("$__rate_interval", "10s")


def alerts():
    """(name, expression) of every alert."""
    text = ALERTS.read_text()
    return list(zip(re.findall(r"- alert: (\w+)", text), re.findall(r" expr: (.+)", text), strict=True))


def known_metrics():
    pages = (harness.ROOT / "docs/reference/metrics.md", harness.ROOT / "docs/reference/worker_metrics.md")
    return set(re.findall(r"`((?:inlier|process)_[a-z_]+)", "\n".join(p.read_text() for p in pages)))


class MonitoringTest(unittest.TestCase):
    def test_every_query_names_metrics_that_exist(self):
        known = known_metrics()
        self.assertGreater(len(known), 20)
        self.assertGreater(len(list(queries())), 10)
        self.assertGreater(len(alerts()), 3)
        for place, expression in [*queries(), *alerts()]:
            for name in re.findall(r"\b(?:inlier|process)_[a-z_]+", expression):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue(name in known or base in known, f"{place}: {name} is in no reference page")

    def test_every_alert_is_seen_to_fire_and_not_to_fire(self):
        self.assertIn(f"rule_files: [{ALERTS.name}]", CONFIG.read_text())
        tried = {}
        for name, expected in re.findall(r"alertname: (\w+)(?:, exp_alerts: \[(\{?))?", ALERTS_TEST.read_text()):
            tried.setdefault(name, set()).add(bool(expected))
        self.assertEqual({name: {True, False} for name, _ in alerts()}, tried)
        with harness.temporary_folder() as folder:
            for file in (ALERTS, ALERTS_TEST):
                shutil.copy(file, folder)
            done = subprocess.run(["promtool", "test", "rules", ALERTS_TEST.name], cwd=folder, capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_prometheus_scrapes_both_daemons(self):
        with harness.Local("--slots", "2") as local:
            for key in ("coordinator_http", "worker_http"):
                page = fetch(local.addresses[key], "/metrics")
                lint = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
                self.assertEqual((0, ""), (lint.returncode, lint.stdout + lint.stderr))
            config = CONFIG.read_text()
            for default, key in (("127.0.0.1:7421", "coordinator_http"), ("127.0.0.1:7422", "worker_http")):
                self.assertIn(default, config)
                config = config.replace(default, local.addresses[key])
            config = re.sub(r"scrape_interval: \w+", "scrape_interval: 1s", config)
            file = pathlib.Path(local.dir) / "prometheus.yml"
            file.write_text(config)
            shutil.copy(ALERTS, local.dir)
            listen = "127.0.0.1:" + str(int(local.addresses["grpc"].split(":")[1]) + 100)
            prometheus = subprocess.Popen(["prometheus", f"--config.file={file}", f"--storage.tsdb.path={local.dir}/tsdb",
                                           f"--web.listen-address={listen}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                def answer(expression):
                    try:
                        page = fetch(listen, "/api/v1/query?query=" + urllib.parse.quote(expression))
                    except OSError:
                        return []
                    return json.loads(page)["data"]["result"]

                sweep = local.submit(harness.SMOKE, "--set", "training.steps=1500")
                harness.wait_for("both targets up", lambda: sum(r["value"][1] == "1" for r in answer("up")) == 2, 60)
                for place, expression in queries():
                    harness.wait_for(f"an answer to {place}: {expression}", lambda expression=expression: answer(expression), 90)
                rules = [rule for group in json.loads(fetch(listen, "/api/v1/rules"))["data"]["groups"] for rule in group["rules"]]
                self.assertEqual([name for name, _ in alerts()], [rule["name"] for rule in rules])
                self.assertEqual([], [rule["name"] for rule in rules if rule["health"] == "err" or rule["state"] != "inactive"])
                local.inlier("cancel", sweep)
            finally:
                prometheus.terminate()
                prometheus.wait(30)


if __name__ == "__main__":
    sys.exit(unittest.main())
