#!/usr/bin/env python3
"""Two people and an admin at the command line: whose sweep it is, what the limits refuse, and what `inlier audit` lists."""
import json
import os
import subprocess
import unittest

import harness

SWEEP = """
name: {name}
priority: {priority}
base: {{model: {{bert: {{preset: tiny}}}}, data: {{text: {{corpus: gcide, sequence_length: 64}}}}, training: {{steps: 20}}}}
axes: [{{field: seed, values: [1, 2]}}]
"""


class PeopleTest(unittest.TestCase):
    def setUp(self):
        self.folder_context = harness.temporary_folder()
        self.folder = self.folder_context.__enter__()
        self.addCleanup(self.folder_context.__exit__, None, None, None)
        state, tokens = self.folder / "state", self.folder / "tokens"
        state.mkdir(mode=0o700)
        self.tokens = {}
        for name, role in (("alice", "submit"), ("bob", "submit"), ("root", "admin")):
            added = harness.inlier("token", "add", "--file", tokens, "--role", role, "--name", name, "--quiet")
            self.tokens[name] = added.stdout.strip()
        config = self.folder / "coordinator.yaml"
        config.write_text(f"state_dir: {state}\nlisten: 127.0.0.1:0\nhttp_listen: 127.0.0.1:0\ntokens_file: {tokens}\n"
                          "callers: [{name: '*', priority_max: 3}]\n")
        log = open(self.folder / "coordinator.log", "w", encoding="utf-8")
        self.addCleanup(log.close)
        self.process = subprocess.Popen([str(harness.BIN / "inlier-coordinator"), "--config", str(config)], stdout=log, stderr=log)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.terminate)
        endpoint = state / "endpoint.json"
        harness.wait_for("the coordinator", lambda: endpoint.exists() and endpoint.stat().st_size > 0)
        self.server = json.loads(endpoint.read_text())["grpc"]

    def by(self, name, *arguments, **options):
        env = {**os.environ, "INLIER_TOKEN": self.tokens[name]}
        return harness.inlier("--server", self.server, *arguments, env=env, **options)

    def sweep(self, name, priority=0):
        file = self.folder / f"{name}.yaml"
        file.write_text(SWEEP.format(name=name, priority=priority))
        return file

    def test_owner_limits_and_audit(self):
        self.by("alice", "submit", self.sweep("gamma"))
        refused = self.by("bob", "cancel", "gamma", check=False)
        self.assertEqual(6, refused.returncode, refused.stderr)
        self.assertIn("sweep s-1 (gamma) belongs to alice, and bob is no admin", refused.stderr)
        refused = self.by("bob", "submit", self.sweep("urgent", priority=4), check=False)
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("priority: 4 is above the maximum of 3", refused.stderr)
        self.by("root", "pause", "gamma")
        self.by("alice", "cancel", "gamma")
        self.assertRegex(self.by("bob", "status").stdout, r"gamma .* alice")
        self.assertIn("owner alice", self.by("bob", "status", "gamma").stdout)
        self.assertEqual("alice", json.loads(self.by("bob", "status", "--json").stdout)["sweeps"][0]["owner"])

        rows = json.loads(self.by("bob", "audit", "--json").stdout)
        self.assertEqual([("alice", "submit", "SubmitSweep", "s-1", "OK"), ("bob", "submit", "Cancel", "s-1", "PERMISSION_DENIED"),
                          ("bob", "submit", "SubmitSweep", None, "PERMISSION_DENIED"), ("root", "admin", "PauseSweep", "s-1", "OK"),
                          ("alice", "submit", "Cancel", "s-1", "OK")],
                         [(row["who"], row["role"], row["method"], row["sweep_id"], row["outcome"]) for row in rows])
        self.assertEqual(4, len(json.loads(self.by("bob", "audit", "--sweep", "gamma", "--json").stdout)))
        self.assertEqual(2, len(json.loads(self.by("bob", "audit", "--who", "bob", "--json").stdout)))
        self.assertEqual(5, self.by("bob", "audit", "--who", "' OR 1 --", check=False).returncode)
        self.assertEqual(1, len(json.loads(self.by("bob", "audit", "--max-rows", "1", "--json").stdout)))
        self.assertIn("belongs to alice", self.by("bob", "audit").stdout)
        self.assertEqual(5, self.by("bob", "audit", "--sweep", "gama", check=False).returncode)


if __name__ == "__main__":
    unittest.main()
