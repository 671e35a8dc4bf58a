"""What the integration tests share: the four programs, a folder each, waiting on conditions with a deadline."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("INLIER_BIN", ROOT / "build/release/bin"))
INLIER = BIN / "inlier"
DATA = pathlib.Path(os.environ.get("INLIER_DATA_DIR", ROOT / ".deps/corpora"))
SMOKE = ROOT / "sweeps/smoke.yaml"
# The user's own choice of a coordinator is not the tests'.
for _name in ("INLIER_DIR", "INLIER_SERVER"):
    os.environ.pop(_name, None)
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
# Of the models that sweeps of sweeps/ name it has the sizes: `inlier check` needs no more.
os.environ["HF_HUB_CACHE"] = str(ROOT / "tests/support/hub")


def free_port():
    """A port of this machine that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def free_address():
    return f"127.0.0.1:{free_port()}"


def words(seed, lines=400):
    """Text like language in nothing but its shape; another seed gives another one of the same length."""
    draw = random.Random(seed)
    vocabulary = ["".join(draw.choices("abcdefghij", k=5)) for _ in range(60)]
    return "".join(" ".join(draw.choices(vocabulary, k=8)) + "\n" for _ in range(lines))


def pids(program, folder):
    """Processes of `program` with a path below `folder` among their words, oldest first."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if pathlib.Path(command[0]).name == program and any(str(folder) in word for word in command):
                    found.append(int(entry.name))
    return sorted(found)


def wait_for(what, condition, seconds=60):
    """The first true value of condition(); fails loudly with `what` when the time is over."""
    deadline = time.monotonic() + seconds
    while (began := time.monotonic()) < deadline:
        value = condition()
        if value:
            return value
        time.sleep(max(0.02, min(0.5, 2 * (time.monotonic() - began))))  # A condition that starts a program leaves the processor to what is waited for.
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def inlier(*arguments, check=True, fails=None, says=(), timeout=300, env=None):
    """Runs the command line; its CompletedProcess, with the output as text. With `fails` it must end with this status (True: any but 0), and have `says`,
    a text or several, among its errors."""
    done = subprocess.run([str(INLIER), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, env=env)
    if fails is None:
        right = done.returncode == 0 or not check
    else:
        right = done.returncode != 0 if fails is True else done.returncode == fails
    missing = [text for text in ([says] if isinstance(says, str) else says) if text not in done.stderr]
    if not right or missing:
        raise AssertionError(f"inlier {' '.join(map(str, arguments))}: status {done.returncode}, without {missing}\n{done.stdout}\n{done.stderr}")
    return done


def inlier_json(*arguments, **options):
    return json.loads(inlier(*arguments, "--json", **options).stdout)


class Local:
    """`inlier up` in a temporary folder."""

    def __init__(self, *arguments):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="inlier-test-"))
        self.output = open(self.dir / "up.txt", "w+", encoding="utf-8")
        self.process = subprocess.Popen([str(INLIER), "up", "--dir", str(self.dir), "--json", *map(str, arguments)],
                                        stdout=self.output, stderr=subprocess.STDOUT)
        try:
            wait_for("inlier up", self._ready, 60)
        except AssertionError as error:
            self.stop()
            raise AssertionError(f"{error}\n{self.log()}") from None
        self.addresses = json.loads((self.dir / "up.txt").read_text().splitlines()[0])

    def _ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"inlier up ended with {self.process.returncode}: {self.log()}")
        return (self.dir / "up.txt").read_text().endswith("}\n")

    def log(self):
        return "\n".join(p.read_text()[-4000:] for p in [self.dir / "up.txt", *self.dir.glob("logs/*.log")] if p.exists())

    def inlier(self, *arguments, **options):
        return inlier(*arguments, "--dir", self.dir, **options)

    def inlier_json(self, *arguments, **options):
        return inlier_json(*arguments, "--dir", self.dir, **options)

    def sql(self, statement):
        return sql(self.dir, statement)

    def submit(self, sweep, *arguments):
        return self.inlier("submit", sweep, "--quiet", *arguments).stdout.strip()

    def pids(self, program):
        return pids(program, self.dir)

    def kill(self, program):
        """kill -9 of one process of `program`; waits for one first."""
        pid = wait_for(f"a process of {program}", lambda: self.pids(program))[0]
        os.kill(pid, signal.SIGKILL)
        return pid

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.output.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


def sql(folder, statement):
    """One statement on a read-only connection, as a stranger would, also while the daemon runs."""
    with contextlib.closing(sqlite3.connect(f"file:{folder}/inlier.db?mode=ro", uri=True, timeout=10)) as connection:
        return connection.execute(statement).fetchall()


@contextlib.contextmanager
def temporary_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="inlier-test-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class FolderTest(unittest.TestCase):
    """Each test has a folder of its own, which is removed when all that it started has ended."""

    def setUp(self):
        self.folder = self.enterContext(temporary_folder())

    def write(self, name, text, mode=0o644):
        """The path of a new file in the folder."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path


def table_of(output):
    """The lines of a printed table, from its heading to the blank line after it, without the places of columns."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in output.splitlines()]
    start = next(i for i, line in enumerate(lines) if "ppl" in line)
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return lines[start:end]
