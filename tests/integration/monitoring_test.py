#!/usr/bin/env python3
"""Debian's Prometheus with the shipped configuration scrapes both daemons, and every query of the dashboard answers during a sweep."""
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
DASHBOARDS = sorted((harness.ROOT / "dashboard/grafana").glob("*.json"))


def fetch(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return answer.read().decode()


def queries():
    for file in DASHBOARDS:
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield f"{file.name}: {panel['title']}", target["expr"].replace("$__rate_interval", "10s")


def known_metrics():
    pages = (harness.ROOT / "docs/reference/metrics.md", harness.ROOT / "docs/reference/worker_metrics.md")
    return set(re.findall(r"`((?:inlier|process)_[a-z_]+)", "\n".join(p.read_text() for p in pages)))


class MonitoringTest(unittest.TestCase):
    def test_every_query_names_metrics_that_exist(self):
        known = known_metrics()
        self.assertGreater(len(known), 20)
        for place, expression in queries():
            for name in re.findall(r"\b(?:inlier|process)_[a-z_]+", expression):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue(name in known or base in known, f"{place}: {name} is in no reference page")

    @unittest.skipUnless(shutil.which("prometheus"), "Debian's package prometheus is not installed")
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
                local.inlier("cancel", sweep)
            finally:
                prometheus.terminate()
                prometheus.wait(30)


if __name__ == "__main__":
    sys.exit(unittest.main())
