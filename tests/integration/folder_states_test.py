#!/usr/bin/env python3
"""Which coordinator and which database are a folder's: a table of states of a state folder, verbs, and what each must do.

A state is made from one of three folders: `rest` (stopped in order, with a finished sweep and a training that has checkpoints), `crashed` (the
same, killed with kill -9) and `live` (its coordinator runs). A verb that must fail leaves the folder as it was.
"""
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness

SWEEP = """name: {name}
base:
  model: {{gpt2: {{layers: 1, hidden_size: 16, heads: 2, ffn_size: 32}}}}
  data: {{backcopy: {{}}}}
  training: {{steps: {steps}, batch_size: 4, checkpoint_every: 20, optimizer: {{adamw: {{learning_rate: 1e-3}}}}}}
  evaluation: {{batches: 1, batch_size: 4}}
axes: [{{field: seed, values: [1]}}]
"""
READ_FROM = "read from {dir} (no coordinator is running)"
NONE_RUNS = "no coordinator is running in {dir}"
MISSING = "there is no {dir}/inlier.db, but {dir}/attempts has files of one. Nothing was changed"
UP = "inlier is up in {dir}"
CHANGES = ("cancel t-2", "pause long", "resume long", "edit long --set priority=-5", "retry long", "drain any", "gc", "submit {tiny}")
READS = ("status", "table tiny --columns loss --rows seed", "query SELECT(1)", "why t-2", "where")

# (state, verb, exit status, text in the output). `up` is stopped again once it is up.
TABLE = [
    ("live", "status", 0, "tiny"), ("live", "doctor", 0, "healthy"), ("live", "up", 6, "already running at"), ("live", "pause long", 0, ""),
    *(("copy of live", verb, 0, "none is running" if verb == "where" else READ_FROM) for verb in READS),
    *(("copy of live", verb, 4, NONE_RUNS) for verb in CHANGES),
    ("copy of live", "doctor", 0, "no coordinator runs in this folder"), ("copy of live", "up", 0, UP),
    ("moved", "status", 0, "tiny"), ("moved", "cancel t-2", 4, NONE_RUNS), ("moved", "up", 0, UP),
    ("own link", "status", 0, "tiny"), ("own link", "up", 0, UP),
    ("process id of another program", "status", 0, READ_FROM), ("process id of another program", "cancel t-2", 4, NONE_RUNS),
    ("process id of another program", "doctor", 0, "names process"), ("process id of another program", "doctor --repair", 0, "repaired: removed"),
    ("process id of another program", "up", 0, UP),
    ("damaged endpoint.json", "status", 0, READ_FROM), ("damaged endpoint.json", "doctor", 0, "is damaged"), ("damaged endpoint.json", "up", 0, UP),
    ("lock held by another program", "status", 0, "tiny"), ("lock held by another program", "cancel t-2", 4, "does not answer yet in"),
    ("lock held by another program", "doctor", 0, "a coordinator is starting"), ("lock held by another program", "doctor --repair", 6, "is in use by"),
    ("lock held by another program", "up", 6, "is starting"),
    ("crashed", "status", 0, READ_FROM), ("crashed", "doctor", 0, "healthy"), ("crashed", "cancel t-2", 4, NONE_RUNS), ("crashed", "up", 0, UP),
    ("crashed, -wal cut", "status", 0, "tiny"), ("crashed, -wal cut", "up", 0, UP),
    ("no database", "status", 4, "has no database (inlier.db)"), ("no database", "doctor", 5, "there is no"), ("no database", "up", 6, MISSING),
    ("no database", "run {tiny}", 6, MISSING),
    ("no database", "up --new-database", 0, UP),
    ("only the -wal", "status", 4, "has no database (inlier.db)"), ("only the -wal", "up", 6, "but its log, {dir}/inlier.db-wal, is there"),
    ("database of 0 bytes", "status", 6, "is empty. Nothing was changed"), ("database of 0 bytes", "up", 6, "is empty. Nothing was changed"),
    ("database cut", "status", 7, "the file is damaged"), ("database cut", "doctor", 1, "NOT healthy"), ("database cut", "up", 6, "the file is damaged"),
    ("another database", "status", 0, ""), ("another database", "up", 0, UP),
    ("a backup restored", "status", 0, "tiny"), ("a backup restored", "doctor", 0, "healthy"), ("a backup restored", "up", 0, UP),
    ("crashed, a backup over inlier.db", "status", 6, "is the log of another file than {dir}/inlier.db"),
    ("crashed, a backup over inlier.db", "doctor", 1, "is the log of another file"), ("crashed, a backup over inlier.db", "up", 6, "is the log of another file"),
    ("checkpoint removed", "doctor", 1, "is to continue at step"), ("checkpoint removed", "up", 0, UP),
    ("rest", "up --new-database", 6, "is there: start without --new-database"),
    ("read-only", "status", 0, READ_FROM), ("read-only", "doctor", 0, "healthy"), ("read-only", "cancel t-2", 4, NONE_RUNS), ("read-only", "up", 6, ""),
]


def content(folder):
    """Digests of what must not change: databases and the files of attempts."""
    files = [path for pattern in ("inlier.db*", "attempts/*/*/*", "artifacts/*") for path in folder.glob(pattern) if path.is_file() and path.suffix != ".db-shm"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
            if not path.name.endswith("-shm") and not (path.name.endswith("-wal") and path.stat().st_size == 0)}  # SQLite's own, of a reader.


def checkpoints(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.glob("attempts/*/*/*.safetensors"))


class Folders:
    """The three folders that states are made from."""

    def __init__(self, root):
        self.root = root
        for name, steps in (("tiny", 20), ("long", 10_000_000)):
            (root / f"{name}.yaml").write_text(SWEEP.format(name=name, steps=steps))
        self.local = harness.Local("--slots", "1")
        self.local.submit(root / "tiny.yaml")
        self.local.inlier("watch", "tiny", "--plain")
        self.local.submit(root / "long.yaml")
        harness.wait_for("a checkpoint", lambda: len(self.local.sql("SELECT 1 FROM artifact WHERE final = 0")) > 1)
        self.local.process.send_signal(signal.SIGSTOP)  # It would start them again.
        for program in ("inlier-coordinator", "inlier-worker", "inlier-trial"):
            for pid in self.local.pids(program):
                os.kill(pid, signal.SIGKILL)
        self.local.process.kill()
        self.local.process.wait()
        self.crashed = self.copy(self.local.dir, "crashed")
        self.rest = self.copy(self.crashed, "rest")
        up(self.rest, [])
        self.live = self.copy(self.rest, "live")
        self.up = subprocess.Popen([str(harness.INLIER), "up", "--dir", str(self.live), "--json", "--slots", "1"], stdout=subprocess.PIPE, text=True)
        assert self.up.stdout.readline().startswith("{")

    @staticmethod
    def copy_tree(source, target):
        for tries in range(5):  # A training removes an old checkpoint now and then.
            if subprocess.run(["cp", "-a", str(source), str(target)], stderr=subprocess.DEVNULL if tries < 4 else None, check=tries == 4).returncode == 0:
                return target
            shutil.rmtree(target)
        return target

    def copy(self, source, name):
        return self.copy_tree(source, self.root / name)

    def close(self):
        self.up.send_signal(signal.SIGINT)
        self.up.wait(60)
        self.local.__exit__()


def up(folder, arguments):
    """`inlier up` until it is up or has ended: status and output."""
    with subprocess.Popen([str(harness.INLIER), "up", "--dir", str(folder), "--slots", "1", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        text = ""
        for line in process.stdout:
            text += line
            if "Stop: Ctrl-C" in line:
                break
        process.send_signal(signal.SIGINT)
        text += process.stdout.read()
    return process.returncode, text


@contextlib.contextmanager
def state(folders, name, root):
    """A folder in that state."""
    folder = root / "state"
    if name == "live":
        yield folders.live
        return
    folders.copy_tree({"copy of live": folders.live, "crashed": folders.crashed, "crashed, -wal cut": folders.crashed, "crashed, a backup over inlier.db": folders.crashed,
                       "only the -wal": folders.crashed}.get(name, folders.rest), folder)
    database = folder / "inlier.db"
    if name == "moved":
        folder = folder.rename(root / "new ü place")
    elif name == "own link":
        folder.rename(root / "place")
        folder.symlink_to(root / "place")
    elif name == "process id of another program":
        (folder / "endpoint.json").write_text(json.dumps({"grpc": f"127.0.0.1:{harness.free_port()}", "http": "127.0.0.1:1", "version": "0.1.0",
                                                          "pid": str(os.getpid())}))
    elif name == "damaged endpoint.json":
        (folder / "endpoint.json").write_text("{")
    elif name == "crashed, -wal cut":
        os.truncate(folder / "inlier.db-wal", max(0, (folder / "inlier.db-wal").stat().st_size - 100))
    elif name in ("no database", "only the -wal"):
        database.unlink()
        if name == "only the -wal":
            shutil.rmtree(folder / "attempts")
            shutil.rmtree(folder / "artifacts")
    elif name == "database of 0 bytes":
        os.truncate(database, 0)
    elif name == "database cut":
        os.truncate(database, database.stat().st_size // 2)
    elif name == "another database":
        up(root / "other", [])
        shutil.copy(root / "other/inlier.db", database)
    elif name == "a backup restored":
        harness.inlier("backup", root / "backup", "--dir", folder)
        database.unlink()
        (root / "backup").rename(database)
    elif name == "crashed, a backup over inlier.db":
        harness.inlier("backup", root / "backup", "--dir", folders.rest)
        shutil.copy(root / "backup", database)
    elif name == "checkpoint removed":
        for path in folder.glob("attempts/*/*/*.safetensors"):
            path.unlink()
    if name == "lock held by another program":
        with open(folder / "inlier.lock", "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    elif name == "read-only":
        if os.geteuid() != 0 or subprocess.run(["mount", "--bind", str(folder), str(folder)], capture_output=True, check=False).returncode != 0:
            yield None
            return
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    else:
        yield folder


def run_row(folders, row):
    """(seen, what is wrong); wrong is None when the row holds."""
    name, verb, status, text = row
    with harness.temporary_folder() as root, state(folders, name, root) as folder:
        if folder is None:
            return "skipped: no root", None
        before, kept = None if name == "live" else content(folder), checkpoints(folder)  # A live one changes while it is read.
        words = verb.format(tiny=folders.root / "tiny.yaml").replace("SELECT(1)", "SELECT|1").split()
        words = [word.replace("|", " ") for word in words]
        if words[0] == "up":
            seen, output = up(folder, words[1:])
        else:
            done = harness.inlier(*words, "--dir", folder, check=False)
            seen, output = done.returncode, done.stdout + done.stderr
        if seen != status:
            return seen, f"status {seen}, not {status}: {output}"
        expected = text.format(dir=folder)
        if expected not in output:
            return seen, f"no {expected!r} in: {output}"
        if (status not in (0, 1) or words[0] in ("status", "doctor")) and before is not None and content(folder) != before:
            return seen, f"the folder was changed: {set(before.items()) ^ set(content(folder).items())}"
        if words[0] == "up" and status == 0 and name not in ("checkpoint removed",):
            moved = [path for path in kept if not (folder / path).exists() and not list(folder.glob(f"set-aside/*/{path}"))]
            # A training that runs on replaces its checkpoint.
            if moved and not checkpoints(folder) and not list(folder.glob("set-aside/*/attempts")):
                return seen, f"checkpoints are gone: {moved}"
        return seen, None


class FolderStatesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        root = cls.enterClassContext(harness.temporary_folder())
        cls.folders = Folders(root)
        cls.addClassCleanup(cls.folders.close)

    def test_every_verb_in_every_state(self):
        wrong = []
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            results = list(pool.map(lambda row: run_row(self.folders, row), TABLE))
        print(f"\n{'state':32}{'verb':46}{'expected':>8}  seen")
        for row, (seen, problem) in zip(TABLE, results):
            print(f"{row[0]:32}{row[1]:46}{row[2]:>8}  {seen}{'' if problem is None else '  WRONG'}")
            if problem:
                wrong.append(f"{row[0]}, {row[1]}: {problem}")
        self.assertEqual([], wrong, "\n\n".join(wrong))

    def test_what_was_called_for_a_copy_reached_no_original(self):
        with harness.temporary_folder() as root, state(self.folders, "copy of live", root) as copy:
            before = harness.inlier("audit", "--dir", self.folders.live, "--json").stdout
            verbs = [verb.format(tiny=self.folders.root / "tiny.yaml").split() for verb in CHANGES]
            with concurrent.futures.ThreadPoolExecutor(len(verbs)) as pool:
                ended = [done.returncode for done in pool.map(lambda verb: harness.inlier(*verb, "--dir", copy, check=False), verbs)]
            self.assertEqual([4] * len(verbs), ended)
            self.assertEqual(before, harness.inlier("audit", "--dir", self.folders.live, "--json").stdout)

    def test_a_new_database_gives_the_folder_back_to_the_old_one(self):
        with harness.temporary_folder() as root, state(self.folders, "rest", root) as folder:
            kept = {path: (folder / path).read_bytes() for path in checkpoints(folder)}
            self.assertTrue(kept)
            database = (folder / "inlier.db").rename(root / "away.db")
            self.assertEqual(0, up(folder, ["--new-database"])[0])
            with contextlib.closing(harness_up(folder)):
                harness.inlier("submit", self.folders.root / "tiny.yaml", "--dir", folder, "--quiet")
                harness.inlier("watch", "tiny", "--plain", "--dir", folder)
            for path in folder.glob("inlier.db*"):
                path.unlink()
            database.rename(folder / "inlier.db")
            resumed = lambda: harness.sql(folder, "SELECT resumed_step FROM attempts WHERE resumed_step > 0")  # pylint: disable=unnecessary-lambda-assignment
            with contextlib.closing(harness_up(folder)):
                harness.wait_for("the training to continue from its checkpoint", resumed)


class StartTest(harness.FolderTest):
    """`inlier up`, and the commands that follow it without a wait."""

    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", SWEEP.format(name="tiny", steps=20))
        self.environment = {**os.environ, "PATH": f"{harness.BIN}:{os.environ['PATH']}", "HOME": str(self.folder)}

    def shell(self, script, **options):
        return subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120, check=False, **options)

    def test_a_block_that_is_pasted_works(self):
        done = self.shell("inlier up --dir state --slots 1 > up.txt 2>&1 & inlier submit tiny.yaml --dir state; echo status $?; kill $!; wait")
        self.assertIn("status 0", done.stdout, done.stderr)

    def test_a_folder_in_which_nothing_starts_is_given_up_soon(self):
        (self.folder / "state").mkdir()
        begun = time.monotonic()
        done = self.shell("inlier submit tiny.yaml --dir state")
        self.assertEqual(4, done.returncode)
        self.assertIn("waiting for one that may be starting", done.stderr)
        self.assertLess(time.monotonic() - begun, 10)

    def test_detached_daemons_are_ready_and_outlive_the_shell(self):
        done = self.shell("inlier up --dir state --slots 1 --detach && inlier workers --dir state")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("connected", done.stdout)
        pid = int(done.stdout.split("kill ")[1].split()[0])
        self.addCleanup(os.kill, pid, signal.SIGTERM)
        self.assertEqual(0, harness.inlier("status", "--dir", self.folder / "state").returncode)
        again = self.shell("inlier up --dir state --detach")
        self.assertEqual(6, again.returncode)
        self.assertIn("already running at", again.stderr)

    def test_what_is_printed_is_served(self):
        ports = [harness.free_port() for _ in range(2)]
        _, text = up(self.folder / "state", ["--coordinator-set", f"http_listen=127.0.0.1:{ports[0]}", "--worker-set", f"http_listen=127.0.0.1:{ports[1]}"])
        self.assertIn(f"http://127.0.0.1:{ports[0]}/metrics  http://127.0.0.1:{ports[1]}/metrics\n", text)
        _, text = up(self.folder / "state", ["--worker-set", "http_listen=127.0.0.1:0"])
        self.assertRegex(text, r"metrics   http://127.0.0.1:\d+/metrics\n")

    def test_the_port_of_the_page_is_the_same_at_each_start(self):
        port, seen = harness.free_port(), []
        for taken in (True, False):
            with socket.socket() as usual:
                if taken:
                    usual.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    with contextlib.suppress(OSError):
                        usual.bind(("127.0.0.1", 7421))
                        usual.listen()
                _, text = up(self.folder / "state", ["--port", str(port)])
                seen.append(re.search(r"metrics   http://(\S+)/metrics ", text)[1])
        self.assertEqual(seen[0], seen[1])

    def test_no_page_is_named_that_nobody_serves(self):
        if socket.socket().connect_ex(("127.0.0.1", 7420)) == 0:
            self.skipTest("another program has port 7420")
        done = self.shell("inlier page --print")
        self.assertEqual((4, ""), (done.returncode, done.stdout))

    def test_a_link_in_place_of_the_default_folder_is_not_followed(self):
        (self.folder / "elsewhere").mkdir()
        (self.folder / ".inlier").symlink_to("elsewhere")
        done = self.shell("inlier up")
        self.assertEqual(6, done.returncode)
        self.assertIn(".inlier is a link to elsewhere; to use that folder, name it: --dir .inlier", done.stderr)
        self.assertEqual([], list((self.folder / "elsewhere").iterdir()))


class harness_up:  # pylint: disable=invalid-name
    """`inlier up --detach` in a folder that is there."""

    def __init__(self, folder):
        self.folder = folder
        text = harness.inlier("up", "--detach", "--slots", "1", "--dir", folder).stdout
        self.pid = int(text.split("kill ")[1].split()[0])

    def close(self):
        os.kill(self.pid, signal.SIGTERM)
        harness.wait_for("the end", lambda: not pathlib.Path(f"/proc/{self.pid}").exists() or " Z " in pathlib.Path(f"/proc/{self.pid}/stat").read_text())


if __name__ == "__main__":
    unittest.main()
