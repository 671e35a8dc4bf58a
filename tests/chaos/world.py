"""The processes of a chaos run: a coordinator, workers, clients; started, killed, paused and started again."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import urllib.request

import count
import network

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("INLIER_BIN", ROOT / "build/release/bin"))
LEASE_TTL_MS = 1500
LEASE_MARGIN_MS = 1000
DISK_BYTES = 512 << 20
# Of a program of one's own what leads it, and all that it starts; and our own child.
OF_PROGRAM = ("run-program", "count.py")
TRIALS = ("fake_trial", *OF_PROGRAM)

COORDINATOR_POINTS = {"commit.before": 60, "commit.after": 60, "commit.acknowledge": 60, "reply.before": 60, "wal.move.before": 3,
                      "wal.move.after": 3}
WORKER_POINTS = {"outbox.sync.before": 20, "outbox.sync.after": 20, "checkpoint.send": 12, "artifact.rename.before": 4,
                 "artifact.rename.after": 4, "attempt.folder.written": 8, "child.started": 8}


def stat(pid):
    """The fields of /proc/PID/stat from the state on: state, parent, ..."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def processes(folder):
    """(pid, parent, program) of every process that names `folder` on its command line; the program is one of OF_PROGRAM where a word names it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if any(str(folder) in word for word in command):
                parent = int(stat(entry.name)[1])
                words = [pathlib.Path(word).name for word in command]
                found.append((int(entry.name), parent, next((word for word in words if word in OF_PROGRAM), words[0])))
    return found


class Program:
    """One of the processes, over its lives. Its log keeps all of them."""

    def __init__(self, name, command, log, env=None, points=None):
        self.name, self.command, self.log, self.points = name, command, log, points or {}
        self.env = {**os.environ, **(env or {})}
        self.process = None
        self.killed_by_us = False
        self.paused = False
        self.dismissed = False  # It does not start again once it has ended.
        self.again_at = 0.0
        self.log_read = 0

    def start(self, failpoint=None):
        env = dict(self.env)
        if failpoint:
            env["INLIER_FAILPOINTS"] = failpoint
        self.log_read = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        self.killed_by_us = False
        self.paused = False

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def output(self):
        """The log of this life."""
        with open(self.log, "rb") as log:
            log.seek(self.log_read)
            return log.read().decode(errors="replace")

    def signal(self, number):
        if self.alive():
            self.process.send_signal(number)

    def kill(self):
        if not self.alive():
            return False
        self.killed_by_us = True
        self.resume()
        self.process.kill()
        self.process.wait()
        return True

    def children(self):
        """With their children."""
        found = [self.process.pid] if self.process else []
        for pid in found:
            with contextlib.suppress(OSError, ValueError):
                found += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found[1:]

    def stopped_by_itself(self):
        if not self.alive() or self.paused:
            return False
        with contextlib.suppress(OSError):
            return stat(self.process.pid)[0] == "T"
        return False

    def waits(self):
        """Nanoseconds that each of its threads has waited for a processor so far, by thread."""
        waited = {}
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # A thread may end meanwhile.
                waited[path.parent.name] = int(path.read_text().split()[1])
        return waited

    def pause(self):
        """As a machine that sleeps: its children are stopped too."""
        if not self.alive() or self.paused:
            return False
        self.paused = True
        for pid in [self.process.pid, *self.children()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return True

    def resume(self):
        if self.paused and self.alive():
            for pid in [*self.children(), self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        self.paused = False


class World:
    def __init__(self, folder, workers, clients, log=print, lease_ttl_ms=LEASE_TTL_MS, lease_margin_ms=LEASE_MARGIN_MS, step_ms=15, of_program=0):
        """`of_program`: so many of 100 sweeps are of a program of one's own."""
        self.folder, self.log = folder, log
        self.state, self.shared = folder / "state", folder / "shared"
        self.evidence = folder / "evidence"
        program = folder / "programs/count"
        for path in (self.state, self.shared, folder / "data", program.parent, program):
            path.mkdir()
        shutil.copy(count.__file__, program)
        command = json.dumps([sys.executable, "-I", "-S", str(program / "count.py")])
        (program / "inlier-program.yaml").write_text(f"{count.DESCRIPTION}\ncommand: {command}\nevaluate: {command}\n")
        self.tmpfs = os.geteuid() == 0 and network.run("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.state))
        self.ballast = self.state / "ballast"
        port = network.free_port()
        self.address = f"127.0.0.1:{port}"
        self.network = network.Network(workers, port)
        self.coordinator = Program("coordinator", [
            str(BIN / "inlier-coordinator"), "--set", f"state_dir={self.state}", "--set", f"listen={self.address}",
            "--set", "http_listen=127.0.0.1:0", "--set", f"lease_ttl_ms={lease_ttl_ms}", "--set", f"lease_margin_ms={lease_margin_ms}"],
            folder / "coordinator.log", points=COORDINATOR_POINTS)
        self.workers = [Program(f"worker-{i}", [
            *self.network.prefix(i), str(BIN / "inlier-worker"), "--set", f"state_dir={self.shared}",
            "--set", f"coordinator={self.network.address(i)}", "--set", "http_listen=127.0.0.1:0", "--set", f"name=worker-{i}",
            "--set", "slots=2", "--set", "threads_per_slot=1", "--set", f"data_dir={folder / 'data'}",
            "--set", f"trial_program={BIN / 'fake_trial'}", "--set", f"program_roots={program.parent}", "--set", "trial_environment=FAKE_*",
            "--set", "stop_grace_ms=300"],
            folder / f"worker-{i}.log", env={"FAKE_STEP_MS": str(step_ms), "FAKE_TRIAL_EVIDENCE": str(self.evidence)},
            points=WORKER_POINTS) for i in range(workers)]
        self.clients = [Program(f"client-{i}", [str(BIN / "chaos_client"), self.address, f"c{i}", str(folder / f"client-{i}.history"), str(program),
                                                str(of_program)], folder / f"client-{i}.log") for i in range(clients)]

    def coordinator_elsewhere(self):
        """The coordinator at an address that no worker and no client knows."""
        command = [f"listen=127.0.0.1:{network.free_port()}" if word.startswith("listen=") else word for word in self.coordinator.command]
        return Program("coordinator on damaged files", command, self.folder / "coordinator-elsewhere.log")

    def programs(self):
        return [self.coordinator, *self.workers, *self.clients]

    def metrics(self):
        """Counters of the coordinator that runs now, by name; labels are summed. None when it does not answer."""
        try:
            endpoint = json.loads((self.state / "endpoint.json").read_text())
            with urllib.request.urlopen(f"http://{endpoint['http']}/metrics", timeout=0.5) as answer:
                text = answer.read().decode()
        except (OSError, ValueError, KeyError):
            return None
        values = {}
        for line in text.splitlines():
            if match := re.match(r"(inlier_\w+_total)(?:\{[^}]*\})? ([0-9.e+]+)$", line):
                values[match[1]] = values.get(match[1], 0) + float(match[2])
        return values

    def fill_disk(self):
        """Leaves a few pages free. Returns whether it could."""
        if not self.tmpfs:
            return False
        usage = os.statvfs(self.state)
        with open(self.ballast, "wb") as ballast, contextlib.suppress(OSError):
            os.posix_fallocate(ballast.fileno(), 0, max(4096, usage.f_bavail * usage.f_frsize - 16384))
        return True

    def free_disk(self):
        self.ballast.unlink(missing_ok=True)

    def close(self):
        for program in self.programs():
            program.kill()
        self.network.close()
        if self.tmpfs:
            network.run("umount", "-l", str(self.state))
