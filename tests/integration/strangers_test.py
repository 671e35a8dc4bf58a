#!/usr/bin/env python3
"""What other people wrote: their SQL ends, also when the coordinator stops, and their texts do not control a terminal."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

import daemons
import harness

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m"
PATH = "/no/such" + EVIL
SHOWN = r"\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
# A child that fails with words of its own.
TRIAL = """#!/bin/sh
[ "$1" = --version ] && exec {real} --version
printf 'line \\033]0;owned\\007 of the child\\n' >&2
exit 3
"""
# One instruction of SQLite that takes hours.
HOURS = "SELECT instr(replace(hex(zeroblob(8000000)), '00', 'aa'), replace(hex(zeroblob(4000000)), '00', 'aa') || 'b')"


def controls(text):
    """Control characters of a text, but ends of lines and tabs."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)


class TerminalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(harness.temporary_folder())
        trial = folder / "trial"
        trial.write_text(TRIAL.format(real=harness.BIN / "inlier-trial"))
        trial.chmod(0o755)
        cls.local = cls.enterClassContext(harness.Local("--worker-set", f"trial_program={trial}"))
        cls.sweep = folder / "sweep.yaml"
        base = harness.SMOKE.read_text().split("axes:")[0].replace("corpus: kjv, ", "")
        model = "{bert: {layers: 1, hidden_size: 8, heads: 1, ffn_size: 8}}"
        cls.sweep.write_text(base.replace("base:", f"base:\n  model: {model}").replace("name: smoke", "name: evil") + f"""
axes:
  - {{field: data.text.path, values: [{json.dumps(PATH)}]}}
  - {{field: seed, values: [1, 2]}}
table: {{title: {json.dumps(EVIL)}, rows: [path], columns: [{{measurement: perplexity, heading: {json.dumps(EVIL)}}}]}}
""")
        cls.local.submit(cls.sweep)
        harness.wait_for("the sweep to end", lambda: cls.local.sql("SELECT 1 FROM sweep WHERE ended_ms IS NOT NULL"), 120)

    def test_no_verb_lets_them_through(self):
        for arguments, shows in (
                (("status",), False), (("status", "--all"), False), (("status", "s-1"), True), (("status", "s-1", "--failed"), False),
                (("why", "s-1"), False), (("why", "t-1"), False), (("watch", "s-1"), False), (("logs", "t-1"), False), (("workers",), False),
                (("table", "s-1"), True), (("table", "s-1", "--format", "markdown"), False), (("table", "s-1", "--format", "latex"), False),
                (("table", "s-1", "--format", "csv"), True), (("query", "SELECT * FROM trials"), True), (("query", "SELECT * FROM events"), False),
                (("query", f"SELECT 1 AS \"{EVIL}\""), True), (("query", f"SELECT '{EVIL}"), True), (("query", f"SELECT x{EVIL} FROM trials"), False),
                (("check", self.sweep), True), (("submit", self.sweep), False), (("status", f"no{EVIL}"), False), (("why", f"no{EVIL}"), False),
                (("logs", f"t-{EVIL}"), False), (("cancel", f"no{EVIL}"), False), (("pause", f"no{EVIL}"), False), (("drain", f"w{EVIL}"), False),
                (("edit", "s-1", "--set", f"group={EVIL}"), False), (("gc", "--dry-run"), False), (("doctor",), False),
                (("check", f"/no/such{EVIL}"), True), (("table", "s-1", "--format", EVIL), True), ((f"--no{EVIL}",), False)):
            with self.subTest(arguments):
                done = self.local.inlier(*arguments, check=False)
                text = done.stdout + done.stderr
                self.assertEqual([], controls(text.replace("\r\n", "\n")), text)
                self.assertTrue(text)
                if shows:
                    self.assertIn(SHOWN, text)

    def test_lines_of_a_child_are_shown(self):
        self.assertIn(r"\x1b]0;owned\x07 of the child", self.local.inlier("logs", "t-1").stdout)

    def test_json_is_exact(self):
        self.assertEqual(PATH, self.local.inlier_json("status", "s-1")["trials"]["trials"][0]["labels"]["path"])
        self.assertEqual([{"path": PATH}], self.local.inlier_json("query", "SELECT labels->>'path' AS path FROM trials LIMIT 1"))
        self.assertEqual(EVIL, self.local.inlier_json("table", "s-1")["title"])


class QueryTest(unittest.TestCase):
    def test_queries_of_hours_delay_nobody_and_end_with_the_coordinator(self):
        with harness.Local("--slots", "1") as local:
            refused = []
            queries = [threading.Thread(target=lambda: refused.append(local.inlier("query", HOURS, check=False))) for _ in range(4)]
            for query in queries:
                query.start()
            harness.wait_for("a query that runs", lambda: busy(local.dir))
            for command in (("status",), ("workers",), ("gc", "--dry-run")):
                local.inlier(*command)
            # Not after the first of them, which has had its time then.
            self.assertEqual([], refused)
            pid = local.pids("inlier-coordinator")[0]
            os.kill(pid, signal.SIGTERM)
            harness.wait_for("the coordinator to end", lambda: pid not in local.pids("inlier-coordinator"), 60)
            for query in queries:
                query.join()
            self.assertEqual([], children(local.dir))
            self.assertEqual(4, len(refused))
            for done in refused:
                self.assertNotEqual(0, done.returncode, done.stdout)
                self.assertNotIn("took longer than", done.stderr)

    def test_a_query_ends_at_its_time_and_when_its_caller_goes(self):
        with harness.Local("--slots", "1") as local:
            done = local.inlier("query", HOURS, check=False)
            self.assertIn("took longer than 10", done.stderr)
            caller = subprocess.Popen([str(harness.INLIER), "query", HOURS, "--dir", str(local.dir)], stderr=subprocess.DEVNULL)
            harness.wait_for("the query", lambda: busy(local.dir))
            caller.kill()
            caller.wait()
            harness.wait_for("the end of the query", lambda: not busy(local.dir), 8)
            self.assertEqual("1\n1\n", local.inlier("query", "SELECT 1").stdout)


class ConnectionsTest(daemons.DaemonTest):
    def test_connections_beyond_the_limit_of_files_are_refused_and_later_ones_served(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        coordinator = self.coordinator(limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
        for _ in range(2):
            held = [socket.create_connection(("127.0.0.1", int(self.server.split(":")[1]))) for _ in range(400)]
            coordinator.wait_for_log("connections_refused ")
            self.inlier("status", fails=True, says="as many connections as its limit of open files allows")
            self.assertEqual((200, "ok\n"), coordinator.get("/healthz"))
            for one in held:
                one.close()
            harness.wait_for("the port", lambda: self.inlier("status", check=False).returncode == 0, 30)
        self.assertEqual(0, coordinator.stop())


def children(folder):
    """Processes that run queries on the database of a folder, with their CPU time in ticks."""
    found = []
    for pid in harness.pids("inlier-query", folder):
        with contextlib.suppress(OSError):
            found.append((pid, int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])))
    return found


def busy(folder):
    """Query processes that used the CPU within a tenth of a second."""
    before = dict(children(folder))
    time.sleep(0.1)
    return [pid for pid, ticks in children(folder) if ticks > before.get(pid, ticks)]


if __name__ == "__main__":
    unittest.main()
