#!/usr/bin/env python3
"""Two people and an admin at the command line: whose sweep it is, what the limits refuse, and what `inlier audit` lists."""
import json
import os
import unittest

import daemons
import harness

SWEEP = """
name: {name}
priority: {priority}
base: {{model: {{bert: {{preset: tiny}}}}, data: {{text: {{corpus: gcide, sequence_length: 64}}}}, training: {{steps: 20}}}}
axes: [{{field: seed, values: [1, 2]}}]
"""


class PeopleTest(daemons.DaemonTest):
    def setUp(self):
        super().setUp()
        tokens = self.folder / "tokens"
        self.tokens = {}
        for name, role in (("alice", "submit"), ("bob", "submit"), ("root", "admin")):
            added = harness.inlier("token", "add", "--file", tokens, "--role", role, "--name", name, "--quiet")
            self.tokens[name] = added.stdout.strip()
        self.coordinator(config=self.write("coordinator.yaml", "callers: [{name: '*', priority_max: 3}]\n"), tokens_file=tokens)

    def by(self, name, *arguments, **options):
        return self.inlier(*arguments, env={**os.environ, "INLIER_TOKEN": self.tokens[name]}, **options)

    def sweep(self, name, priority=0):
        return self.write(f"{name}.yaml", SWEEP.format(name=name, priority=priority))

    def test_owner_limits_and_audit(self):
        self.by("alice", "submit", self.sweep("gamma"))
        self.by("bob", "cancel", "gamma", fails=6, says="sweep s-1 (gamma) belongs to alice, and bob is not an admin")
        self.by("bob", "submit", self.sweep("urgent", priority=4), fails=True, says="priority: 4 is above the maximum of 3")
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
