#!/usr/bin/env python3
"""Never the wrong coordinator: a folder without one is read as it is and never changed, and who answers follows flags, environment, file."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import unittest

import daemons
import harness

SWEEP = """
name: {name}
base: {{model: {{bert: {{layers: 1, hidden_size: 32, heads: 2, ffn_size: 64}}}}, data: {{text: {{path: {text}, sequence_length: 16,
  tokenizer: {{byte_pair: {{vocab_size: 300}}}}}}}}, training: {{steps: {steps}, batch_size: 4, checkpoint_every: 20}}, evaluation: {{batches: 1, batch_size: 4}}}}
axes: [{{field: seed, values: {seeds}}}]
table: {{title: {name}, rows: [seed], columns: [{{heading: ppl, measurement: perplexity}}]}}
"""
NOTE = "inlier: read from {} (no coordinator is running)\n"
# Each on the sweep s-1 and its trial t-1.
READING = (["status"], ["status", "s-1"], ["table", "s-1"], ["query", "SELECT count(*) FROM results"], ["logs", "t-1"], ["why", "t-1"], ["why", "s-1"],
           ["workers"], ["audit"])
CHANGING = (["cancel", "s-1"], ["retry", "s-1"], ["pause", "s-1"], ["resume", "s-1"], ["edit", "s-1", "--set", "priority=3"], ["drain", "w"], ["gc"])


def write_sweep(folder, name, seeds, steps=2):
    text = folder / "own.txt"
    text.write_text((harness.ROOT / "tests/data/tiny.txt").read_text())
    file = folder / f"{name}.yaml"
    file.write_text(SWEEP.format(name=name, text=text, seeds=seeds, steps=steps))
    return file


def digests(folder):
    """Every file below `folder` with the digest of its content."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


class OfflineTest(unittest.TestCase):
    """`demo` has two trials that ended, and no coordinator; `other` has one that runs, with other sweeps."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.temporary_folder())
        cls.demo = cls.folder / "demo"
        harness.inlier("run", write_sweep(cls.folder, "quickstart", [1, 2]), "--dir", cls.demo)
        cls.temporary = cls.folder / "tmp"
        cls.temporary.mkdir()
        cls.other = harness.Local("--slots", "1", "--worker-set", f"data_roots={cls.folder}")
        cls.addClassCleanup(cls.other.__exit__, None, None, None)
        cls.other.submit(write_sweep(cls.folder, "other", [3]), "--watch")

    def setUp(self):
        self.env = {**os.environ, "TMPDIR": str(self.temporary)}

    def inlier(self, *arguments, **options):
        options.setdefault("env", self.env)
        return harness.inlier(*arguments, check=False, **options)

    def test_the_database_of_the_folder_is_read_and_not_that_of_another_coordinator(self):
        table = self.inlier("table", "s-1", "--dir", self.demo)
        self.assertEqual(0, table.returncode, table.stderr)
        self.assertIn("quickstart", table.stdout)
        self.assertEqual(NOTE.format(self.demo), table.stderr)
        count = harness.sql(self.demo, "SELECT count(*) FROM results")[0][0]
        self.assertEqual(2, count)
        self.assertEqual(count, int(self.inlier("query", "--dir", self.demo, "SELECT count(*) FROM results", "--quiet").stdout.split()[-1]))
        csv = self.inlier("query", "--dir", self.demo, "SELECT 1 AS a, 'x, \"y\"' AS \"b,c\", 1.0 / 3 AS d, NULL AS e", "--csv").stdout
        self.assertEqual('a,"b,c",d,e\n1,"x, ""y""",0.3333333333333333,\n', csv)
        for command in (["--dir", "/no/such/folder", "cancel", "s-1"], ["cancel", "s-1", "--dir", "/no/such/folder"]):
            refused = self.inlier(*command)
            self.assertEqual(5, refused.returncode, refused.stdout)
            self.assertIn("there is no folder /no/such/folder", refused.stderr)
        self.assertEqual(5, self.inlier("status", "--dir", "/no/such/folder").returncode)
        self.assertEqual([("SUCCEEDED",)], self.other.sql("SELECT state FROM trials"))

    def test_reading_changes_no_file_and_leaves_none(self):
        before = digests(self.demo)
        for verb in READING:
            done = self.inlier(*verb, "--dir", self.demo)
            self.assertEqual(0, done.returncode, f"{verb}: {done.stderr}")
            self.assertEqual(NOTE.format(self.demo), done.stderr, verb)
            self.assertTrue(done.stdout, verb)
        self.assertEqual(before, digests(self.demo))
        model = self.folder / "model"
        done = self.inlier("export", "t-1", model, "--dir", self.demo)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue((model / "config.json").exists())

        def without_cache(files):  # The vocabulary is in it, and the digest of the text is remembered there.
            return {name: digest for name, digest in files.items() if not name.startswith("cache/")}

        self.assertEqual(without_cache(before), without_cache(digests(self.demo)))
        self.assertEqual([], list(self.temporary.iterdir()))

    def test_quiet_has_no_note_and_json_keeps_its_form(self):
        self.assertEqual("", self.inlier("table", "s-1", "--quiet", "--dir", self.demo).stderr)
        shown = json.loads(self.inlier("table", "s-1", "--json", "--dir", self.demo).stdout)
        with running(self.demo):
            self.assertEqual(shown, json.loads(self.inlier("table", "s-1", "--json", "--dir", self.demo).stdout))
            self.assertEqual("", self.inlier("table", "s-1", "--dir", self.demo).stderr)

    def test_a_verb_that_changes_is_refused_with_the_remedy(self):
        before = digests(self.demo)
        for verb in (*CHANGING, ["watch", "s-1"], ["submit", write_sweep(self.folder, "more", [9])]):
            for where, env in ((["--dir", self.demo], {}), ([], {"INLIER_DIR": str(self.demo)})):
                done = self.inlier(*verb, *where, env={**self.env, **env})
                self.assertEqual(4, done.returncode, f"{verb}: {done.stdout}{done.stderr}")
                self.assertIn(f"no coordinator is running in {self.demo} ({'INLIER_DIR' if env else '--dir'})", done.stderr)
                self.assertIn(f"`inlier up --dir {self.demo}`", done.stderr)
                self.assertIn("--server HOST:PORT", done.stderr)
        self.assertEqual(before, digests(self.demo))

    def test_a_folder_without_a_database_is_an_error(self):
        empty = self.folder / "empty"
        empty.mkdir()
        done = self.inlier("status", "--dir", empty)
        self.assertEqual(4, done.returncode)
        self.assertIn(f"no coordinator is running in {empty}", done.stderr)
        self.assertIn("no database", done.stderr)
        self.assertEqual([], list(empty.iterdir()))

    def test_a_file_that_is_no_database_is_named(self):
        folder = self.folder / "damaged"
        folder.mkdir()
        (folder / "inlier.db").write_text("not a database " * 100)
        done = self.inlier("status", "--dir", folder)
        self.assertNotEqual(0, done.returncode)
        self.assertIn(str(folder / "inlier.db"), done.stderr)
        self.assertNotIn(str(self.temporary), done.stderr)
        self.assertEqual([], list(self.temporary.iterdir()))

    def test_the_copy_goes_also_when_the_command_is_killed(self):
        command = [str(harness.INLIER), "--dir", str(self.demo), "query",
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"]
        with subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE) as process:
            self.assertEqual(NOTE.format(self.demo).encode(), process.stderr.readline())
            self.assertEqual(1, len(list(self.temporary.iterdir())))
            process.kill()
        harness.wait_for("the end of the copy", lambda: not list(self.temporary.iterdir()), 20)

    def test_flags_before_environment_before_file(self):
        settings = self.folder / "config/inlier"
        settings.mkdir(parents=True, exist_ok=True)
        file = settings / "client.yaml"
        address = self.other.addresses["grpc"]

        def where(*flags, **variables):
            env = {**self.env, "XDG_CONFIG_HOME": str(self.folder / "config"), **variables}
            done = self.inlier("where", "--json", *flags, env=env)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            found = json.loads(done.stdout)
            return found["answers"], found["address"] or found["dir"], found["chosen_by"]

        demo = ("folder", str(self.demo))
        other = ("coordinator", address)
        file.write_text("dir: ../../demo\n")
        self.assertEqual((*demo, str(file)), where())
        self.assertEqual((*other, "INLIER_DIR"), where(INLIER_DIR=str(self.other.dir)))
        self.assertEqual((*demo, "--dir"), where("--dir", self.demo, INLIER_DIR=str(self.other.dir)))
        self.assertEqual((*demo, "--dir"), where("--dir", self.demo, INLIER_SERVER="192.0.2.1:7420"))
        token = self.other.dir / "token"
        file.write_text(f"server: {address}\ntoken_file: {token}\n")
        self.assertEqual((*other, str(file)), where())
        self.assertEqual((*demo, "INLIER_DIR"), where(INLIER_DIR=str(self.demo)))
        file.write_text("dir: ../../demo\n")
        self.assertEqual((*other, "INLIER_SERVER"), where(INLIER_SERVER=address, INLIER_TOKEN_FILE=str(token)))
        self.assertEqual((*other, "--server"), where("--server", address, INLIER_DIR=str(self.demo), INLIER_TOKEN_FILE=str(token)))
        # A token of the file is for the coordinator of the file.
        file.write_text(f"server: 192.0.2.1:7420\ntoken_file: {token}\n")
        env = {**self.env, "XDG_CONFIG_HOME": str(self.folder / "config")}
        refused = self.inlier("status", "--server", address, env=env)
        self.assertEqual(6, refused.returncode, refused.stderr)
        file.write_text("servr: head:7420\n")
        refused = self.inlier("status", env=env)
        self.assertEqual(3, refused.returncode)
        self.assertIn(f'{file}:1:1: unknown key "servr"; did you mean "server"?', refused.stderr)

    def test_the_default_folder_comes_before_the_default_port(self):
        """There may be another user's coordinator."""
        where = self.folder / "here"
        where.mkdir()
        (where / ".inlier").symlink_to(self.demo)

        def here(*verb):
            return subprocess.run([str(harness.INLIER), *verb], cwd=where, env=self.env, capture_output=True, text=True, timeout=60, check=False)

        done = here("status")
        self.assertEqual(NOTE.format(".inlier"), done.stderr)
        self.assertIn("quickstart", done.stdout)
        changed = here("cancel", "s-1")
        self.assertEqual(4, changed.returncode)
        self.assertIn("no coordinator is running in .inlier, whose database is meant before the coordinator at 127.0.0.1:7420", changed.stderr)


class KilledTest(unittest.TestCase):
    def test_the_folder_of_a_coordinator_killed_with_a_running_attempt(self):
        with harness.temporary_folder() as folder, harness.Local("--slots", "1", "--worker-set", f"data_roots={folder}") as local:
            local.submit(write_sweep(folder, "long", [1, 2], steps=100000))
            harness.wait_for("a running attempt", lambda: local.sql("SELECT count(*) FROM trials WHERE state = 'RUNNING'")[0][0] == 1)
            local.process.send_signal(signal.SIGSTOP)  # It would start them again.
            for program in ("inlier-coordinator", "inlier-worker", "inlier-trial"):
                for pid in local.pids(program):
                    os.kill(pid, signal.SIGKILL)
            local.process.kill()
            local.process.wait()
            harness.wait_for("the end of all", lambda: not any(local.pids(p) for p in ("inlier-coordinator", "inlier-worker", "inlier-trial")))
            self.assertGreater((local.dir / "inlier.db-wal").stat().st_size, 0)
            self.assertTrue((local.dir / "endpoint.json").exists())
            before = digests(local.dir)
            for verb in READING:
                done = harness.inlier(*verb, "--dir", local.dir)
                self.assertEqual(NOTE.format(local.dir), done.stderr, verb)
            status = harness.inlier("status", "long", "--dir", local.dir).stdout
            self.assertRegex(status, r"t-1 +RUNNING")
            self.assertRegex(status, r"t-2 +PENDING")
            harness.inlier("cancel", "long", "--dir", local.dir, fails=4)
            self.assertEqual(before, digests(local.dir))
            # A coordinator starts there as before.
            with running(local.dir):
                self.assertEqual("", harness.inlier("status", "--dir", local.dir).stderr)
                harness.inlier("cancel", "long", "--dir", local.dir)


class TlsTest(daemons.DaemonTest):
    def test_a_coordinator_with_tls_is_named_as_such(self):
        key, certificate = self.folder / "head.key", self.folder / "head.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate), "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        key.chmod(0o600)
        self.coordinator(tls_certificate=certificate, tls_key=key)
        for where in (["--server", self.server], ["--dir", self.state]):
            harness.inlier("status", *where, fails=6, says=(f"the coordinator at {self.server} requires TLS", "--tls-ca FILE"))
        self.inlier("status", "--tls-ca", certificate)
        (self.folder / "config/inlier").mkdir(parents=True)
        self.write("config/inlier/client.yaml", f"server: {self.server}\ntls_ca: ../../head.pem\n")
        harness.inlier("status", env={**os.environ, "XDG_CONFIG_HOME": str(self.folder / "config")})


class running:  # pylint: disable=invalid-name
    """`inlier up` in a folder that is there already."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        self.process = subprocess.Popen([str(harness.INLIER), "up", "--dir", str(self.folder), "--json", "--slots", "1"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("{"):
            raise AssertionError(f"inlier up: {line}{self.process.stdout.read()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stdout.close()


if __name__ == "__main__":
    unittest.main()
