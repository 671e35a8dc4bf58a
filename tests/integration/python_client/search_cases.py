"""Sweeps whose points Optuna proposes: run whole, killed in all places, refused where something is missing."""
import json
import os
import signal
import subprocess
import sys
import unittest

import harness

PYTHON = sys.executable
DESCRIPTION = """
name: bowl
command: [bash, train.sh]
files: [train.sh]
parameters:
  rate: {type: NUMBER, default: 0.5}
  size: {type: INTEGER, default: 8}
measurements:
  loss: {better: LOWER, formula: a bowl}
"""
TRAIN = """
value() { sed -n 's/.*"'$1'": \\([0-9][-0-9.e]*\\).*/\\1/p' "$INLIER_TRIAL"; }
out=$(sed -n 's/.*"output_dir": "\\(.*\\)".*/\\1/p' "$INLIER_TRIAL"); seed=$(value seed); sleep ${PAUSE:-0}
loss=$(awk -v r="$(value rate)" -v s="$(value size)" -v e="${seed:-1}" 'BEGIN { x = log(r) / log(10) + 2; print x * x + s / 640 + e / 100 }')
mkdir "$out/model"; echo $loss >"$out/model/loss"
echo '{"checkpoint": {"path": "model", "step": 1, "final": true}}' >&3
echo "{\\"measurement\\": {\\"name\\": \\"loss\\", \\"value\\": $loss, \\"step\\": 1, \\"final\\": true}}" >&3
echo '{"outcome": {"kind": "SUCCEEDED"}}' >&3
"""
SWEEP = """
name: tune
program: bowl
sampling: {optuna: {trials: 14, parallel: 2, objectives: [{measurement: loss}], start: [{rate: 0.5, size: 64}]}}
axes:
  - {field: rate, range: {min: 1e-4, max: 1, log: true}}
  - {field: size, range: {min: 8, max: 64, step: 8}}
  - {field: seed, values: [1, 2], each: true}
table: {rows: [rate, size], columns: [{measurement: loss}]}
"""


class SearchTest(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.write("inlier-program.yaml", DESCRIPTION)
        self.write("train.sh", TRAIN)
        self.sweep = self.write("tune.yaml", SWEEP)
        self.state = self.folder / "state"
        self.environment = {**os.environ, "INLIER_PYTHON": PYTHON}

    def rows(self, query):
        return [list(row) for row in harness.sql(self.state, query)]

    def check_whole(self, sweep_id, points=14):
        """As many points as asked for, each with a trial a seed, none doubled, and every point after the start with what was known."""
        asked = self.rows(f"SELECT number, point_values, told FROM search_points WHERE sweep_id = '{sweep_id}' ORDER BY number")
        self.assertEqual(list(range(points)), [number for number, _, _ in asked])
        different = len({values for _, values, _ in asked})
        trials = self.rows(f"SELECT rate, size, seed, loss FROM results WHERE sweep_id = '{sweep_id}'")
        self.assertEqual(2 * different, len(trials))
        self.assertEqual(len(trials), len({tuple(trial[:3]) for trial in trials}))
        told = [number for _, _, numbers in asked for number in json.loads(numbers)]
        self.assertEqual(len(told), len(set(told)))
        self.assertEqual({"rate": 0.5, "size": 64}, json.loads(asked[0][1]))
        return [values for _, values, _ in asked]

    def test_run_asks_optuna_and_ends_in_a_table(self):
        checked = harness.inlier("check", self.sweep).stdout
        self.assertIn("sampling: 14 points that Optuna proposes (TPE), 2 at once, seed 1", checked)
        self.assertEqual(28, harness.inlier_json("check", self.sweep)["trials"])
        command = [str(harness.INLIER), "run", str(self.sweep), "--dir", str(self.state), "--slots", "2"]
        run = subprocess.Popen(command, env={**self.environment, "PAUSE": "0.1"}, stdout=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        database = self.state / "inlier.db"
        harness.wait_for("some points", lambda: database.exists() and len(harness.sql(self.state, "SELECT 1 FROM sqlite_master WHERE name = 'search_points'"))
                         and self.rows("SELECT count(*) FROM search_points")[0][0] >= 4)  # fmt: skip
        os.kill(self.samplers()[0], signal.SIGKILL)
        output, _ = run.communicate(timeout=120)
        self.assertEqual(0, run.returncode, output)
        points = self.check_whole("s-1")
        self.assertIn("loss", output)
        # The same file again proposes the same points, whose results are known.
        attempts = self.rows("SELECT count(DISTINCT token) FROM attempts")
        harness.inlier("run", self.sweep, "--dir", self.state, "--slots", "2", env=self.environment)
        if json.loads(json.dumps(points)) == self.check_whole("s-2"):  # With two at once the order of ends is the machine's.
            self.assertEqual(attempts, self.rows("SELECT count(DISTINCT token) FROM attempts"))

    def samplers(self):
        return harness.wait_for("a sampler", lambda: [pid for pid in harness.pids("python", self.state) if b"inlier.optimize" in open(f"/proc/{pid}/cmdline", "rb").read()])

    def test_up_asks_too_and_nothing_is_lost_when_all_are_killed(self):
        os.environ["INLIER_PYTHON"] = PYTHON
        self.addCleanup(os.environ.pop, "INLIER_PYTHON")
        with harness.Local("--slots", "2", "--worker-set", f"program_roots={self.folder}") as local:
            self.state = local.dir
            sweep = local.submit(self.sweep)
            for program in ("python", "inlier-coordinator", "inlier-worker"):
                before = self.rows("SELECT count(*) FROM search_points")[0][0]
                harness.wait_for("more points", lambda: self.rows("SELECT count(*) FROM search_points")[0][0] > min(before + 1, 12))
                if program == "python":
                    os.kill(self.samplers()[0], signal.SIGKILL)
                else:
                    local.kill(program)
            local.inlier("watch", sweep)
            self.check_whole(sweep)
            self.assertIn("14 of 14 points were asked for", local.inlier("why", sweep).stdout)
            self.assertIn("has ended (COMPLETE)", self.extend_by_hand(local, sweep))
            # More of them, by an edit.
            local.inlier("edit", sweep, "--set", "sampling.optuna.trials=16", "--yes")
            local.inlier("watch", sweep)
            self.check_whole(sweep, 16)

    def extend_by_hand(self, local, sweep):
        code = ("import sys, inlier; from inlier.v1 import sweep_service_pb2 as s\n"
                "try: inlier.connect(sys.argv[1])._connection.call('ExtendSweep', s.ExtendSweepRequest(sweep=sys.argv[2], first=14, points=[s.SearchPoint()]))\n"
                "except inlier.InlierError as error: print(error)")  # fmt: skip
        return subprocess.run([PYTHON, "-c", code, local.dir, sweep], capture_output=True, text=True, timeout=60, check=True).stdout

    def test_what_is_missing_is_one_sentence_and_nothing_is_submitted(self):
        for python, says in (("/nonexistent/python", "cannot be started; install it"), (os.path.realpath(PYTHON), "pip install inlier[optuna]")):
            environment = {**os.environ, "INLIER_PYTHON": python, "PYTHONPATH": ""}
            harness.inlier("run", self.sweep, "--dir", self.state, fails=True, says=["sampling.optuna needs", says], env=environment)
            self.assertFalse((self.state / "inlier.db").exists())
        with harness.Local("--slots", "1") as local:
            self.state = local.dir
            plain = self.write("plain.yaml", "name: plain\nprogram: bowl\n")
            sweep = local.submit(plain)
            local.inlier("optimize", sweep, fails=True, says="has no sampling.optuna", env=self.environment)


if __name__ == "__main__":
    unittest.main()
