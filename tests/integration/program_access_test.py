#!/usr/bin/env python3
"""Who may run which program, and what a program reaches: a submitter names neither a command nor a path, what is refused is in the audit, and a program of
another user gets neither the worker's secrets nor what belongs to other trials."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest
import urllib.error
import urllib.request
import uuid

import daemons
import harness

DESCRIPTION = """
name: {name}
command: [sh, run.sh]
files: [run.sh]
parameters:
  until: {{type: INTEGER, min: 1, max: 9}}
measurements:
  total: {{better: HIGHER}}
"""
# Reports `until`, as it is in the file of its trial.
RUN = """
until=$(sed -n 's/.*"until": \\(.*\\)/\\1/p' "$INLIER_TRIAL")
echo "{\\"measurement\\": {\\"name\\": \\"total\\", \\"value\\": $until, \\"final\\": true}}" >&3
echo '{"outcome": {"kind": "SUCCEEDED"}}' >&3
"""
# Tries each path of a list: what of it can be read is in the log.
SPY = """
env | cut -d= -f1 | sed 's/^/has /'
while read -r path; do
  cat "$path" >/dev/null 2>&1 && echo "read $path"
  ls -d "$path"/* >/dev/null 2>&1 && echo "listed $path"
done <targets
id -u | sed 's/^/uid /'
""" + RUN
SWEEP = "name: {0}\nprogram: {0}\nbase: {{until: 3}}\n"


class ProgramAccessTest(daemons.DaemonTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        tokens = self.folder / "tokens"
        self.tokens = {}
        for name, role in (("alice", "submit"), ("rita", "read"), ("worker", "work")):
            added = harness.inlier("token", "add", "--file", tokens, "--role", role, "--name", name, "--quiet")
            self.tokens[name] = added.stdout.strip()
        self.token_file = self.write("worker.token", self.tokens["worker"] + "\n", 0o600)
        self.http = harness.free_address()
        self.coordinator(tokens_file=tokens, http_listen=self.http)
        self.program("count", RUN)

    def program(self, name, script):
        """The folder of a program, with a sweep of it."""
        folder = self.folder / "programs" / name
        folder.mkdir(parents=True)
        (folder / "inlier-program.yaml").write_text(DESCRIPTION.format(name=name))
        (folder / "run.sh").write_text(script)
        (folder.parent / f"{name}.yaml").write_text(SWEEP.format(name))
        return folder

    def by(self, name, *arguments, **options):
        return self.inlier(*arguments, env={**os.environ, "INLIER_TOKEN": self.tokens[name]}, **options)

    def submit(self, name):
        return self.by("alice", "submit", self.folder / f"programs/{name}.yaml", "--quiet").stdout.strip()

    def post(self, sweep):
        """Submits a sweep as it is, without the command line: the answer, or the text of the refusal."""
        body = json.dumps({"request_id": str(uuid.uuid4()), "sweep": sweep}).encode()
        request = urllib.request.Request(f"http://{self.http}/api/inlier.v1.SweepService/SubmitSweep", body, {
            "Authorization": f"Bearer {self.tokens['alice']}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def start_worker(self, **settings):
        worker = self.worker("w", state_dir=self.folder / "worker", token_file=self.token_file, artifacts="STREAMED", **settings)
        worker.wait_for_log("started ")
        return worker

    def end_of(self, sweep):
        """What its trial has come to: state, message, total."""
        self.by("alice", "watch", sweep, check=False)
        return self.sql(f"SELECT state, message, (SELECT total FROM results WHERE results.trial = trials.trial) FROM trials WHERE sweep_id = '{sweep}'")[0]

    def attempt(self, sweep):
        """The folder of a training of the sweep, on the worker."""
        stage, token = self.sql(f"SELECT stage, token FROM attempts WHERE sweep_id = '{sweep}' AND kind = 'TRAIN'")[0]
        return self.folder / "worker/attempts" / stage / str(token)

    def test_what_is_refused_is_in_the_audit_and_a_submission_with_its_program(self):
        self.by("rita", "submit", self.folder / "programs/count.yaml", fails=True, says="role")
        sweep = self.submit("count")
        use = json.loads(self.sql("SELECT spec FROM sweeps")[0][0])["program"]
        for name in ("../count", "/etc", "a/b", ".."):
            described = {**use, "name": name, "description": {**use["description"], "name": name}}
            self.assertIn("cannot name a program", self.post({"name": "out", "program": described, "base": {}}))
        for files in ({"files": ["../run.sh"]}, {"environment": {"venv": "/etc"}}, {"environment": {"lock": "a/../../x"}}):
            described = {**use, "description": {**use["description"], **files}}
            self.assertIn("leaves the program's folder", self.post({"name": "out", "program": described, "base": {}}))
        rows = self.sql("SELECT who, method, sweep_id, outcome FROM audit ORDER BY number")
        self.assertEqual([("rita", "SubmitSweep", None, "PERMISSION_DENIED"), ("alice", "SubmitSweep", sweep, "OK")] +
                         7 * [("alice", "SubmitSweep", None, "INVALID_ARGUMENT")], rows)
        requests = [request for request, in self.sql("SELECT request FROM audit WHERE who = 'alice' ORDER BY number")]
        self.assertIn(f'program: {{name: "count", digest: "{use["digest"]}"}}', requests[0])
        self.assertIn('program: {name: "../count", ', requests[1])

    def test_a_worker_runs_what_its_own_description_says(self):
        self.start_worker(program_roots=self.folder / "programs")
        self.assertEqual(("SUCCEEDED", "", 3), self.end_of(self.submit("count")))
        use = json.loads(self.sql("SELECT spec FROM sweeps")[0][0])["program"]
        owned = self.folder / "owned"
        described = {**use["description"], "command": ["touch", str(owned)], "environment": {"conda": "../.."}}
        own = {"name": "own", "program": {**use, "description": described}, "base": {"program": {"parameters": {"until": 4}}}}
        self.assertEqual(("SUCCEEDED", "", 4), self.end_of(self.post(own)["sweep_id"]))
        # Nor is a value taken that the description does not allow, whatever the submitter's copy of it says.
        for until, problem in ((10, "until: 10 is out of range"), (f"$(touch {owned})", "until: ")):
            described["parameters"] = {"until": {"type": "NUMBER" if until == 10 else "TEXT"}}
            own = {"name": "own", "program": {**use, "description": described}, "base": {"program": {"parameters": {"until": until}}}}
            state, message, _ = self.end_of(self.post(own)["sweep_id"])
            self.assertEqual("FAILED", state)
            self.assertIn(problem, message)
            self.assertIn("inlier-program.yaml allows it", message)
        described["parameters"] = {**use["description"]["parameters"], "more": {"type": "TEXT"}}
        own = {"name": "own", "program": {**use, "description": described}, "base": {"program": {"parameters": {"until": 5, "more": "x"}}}}
        self.assertIn("more: unknown field", self.end_of(self.post(own)["sweep_id"])[1])
        self.assertFalse(owned.exists())
        # A name leads to no folder that the owner has not named.
        described = {**use["description"], "name": "programs"}
        other = {"name": "other", "program": {**use, "name": "programs", "description": described}, "base": {"program": {"parameters": {"until": 4}}}}
        self.assertIn("has none of it", self.end_of(self.post(other)["sweep_id"])[1])

    @unittest.skipUnless(os.geteuid() == 0, "to run as another user needs root")
    def test_a_program_of_another_user_reads_nothing_of_the_worker_and_of_other_trials(self):
        spy = self.program("spy", SPY)
        worker = self.folder / "worker"
        key = self.write("worker.key", "key\n", 0o600)
        config = self.write("worker.yaml", json.dumps({"programs": [{"root": str(spy), "user": "nobody"}, {"root": str(spy.parent / "count")}]}))
        secret = {"INLIER_TOKEN": "inlier_secret", "AWS_SECRET_ACCESS_KEY": "secret", "DATABASE_PASSWORD": "secret", "INLIER_TOKEN_FILE": str(self.token_file)}
        daemon = self.start_worker(config=config, further=secret)
        self.assertEqual("SUCCEEDED", self.end_of(self.submit("count"))[0])
        left = self.attempt("s-1")
        self.assertTrue((left / "log.txt").exists())
        (spy / "targets").write_text("\n".join(map(str, (
            self.token_file, key, f"/proc/{daemon.process.pid}/environ", worker / "attempts", left, left / "log.txt", left / "spec.json",
            left.parent, worker / "outbox", worker / "artifacts", *worker.glob("artifacts/*"), *worker.glob("outbox/*"), "/etc/hostname"))) + "\n")
        (spy / "targets").chmod(0o644)
        self.assertEqual(("SUCCEEDED", "", 3), self.end_of(self.submit("spy")))
        log = (self.attempt("s-2") / "log.txt").read_text()
        self.assertIn("uid 65534", log)
        self.assertEqual(["read /etc/hostname"], [line for line in log.splitlines() if line.startswith(("read ", "listed "))])
        for name in secret:
            self.assertNotIn(f"has {name}", log.splitlines())

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "a group of one's own needs root")
    def test_a_worker_refuses_to_start_where_a_group_of_the_user_reads_its_token(self):
        group = self.write("group", pathlib.Path("/etc/group").read_text() + "readers:x:54321:nobody\n")
        self.token_file.chmod(0o640)
        os.chown(self.token_file, 0, 54321)
        config = self.write("worker.yaml", json.dumps({"programs": [{"root": str(self.folder / "programs/count"), "user": "nobody"}]}))
        command = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/group && shift && exec "$@"', "sh", group, harness.BIN / "inlier-worker", "--config",
                   config, *(f"--set={field}={value}" for field, value in {"state_dir": self.folder / "worker", "coordinator": self.server, "token_file": self.token_file,
                                                                          "http_listen": "127.0.0.1:0"}.items())]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(0, done.returncode)
        self.assertIn(f"nobody can read token_file {self.token_file}; chmod 600 it", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
