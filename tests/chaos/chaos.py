#!/usr/bin/env python3
"""Real faults on real processes: `make chaos`, or chaos.py [--seconds N] [--seed N] [--json] [--keep].

A coordinator, workers whose trials, of ours and of a program of one's own, take a fraction of a second to two seconds, and clients run while processes are killed (kill -9, at
random and at named failpoints), paused beyond their lease, cut off silently, the coordinator's disk fills up, and bits of
checkpoints, models and databases are flipped, cut off or gone. Then the faults stop, everything must come to its end, and an
oracle compares what clients were promised and what children really did with the store. Exit status 0: nothing lost, nothing
doubled, nothing wrong, nothing orphaned.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import oracle
import world as worlds

SETTLE_SECONDS = 180
# How often each fault is chosen.
WEIGHTS = {"kill -9 trial": 5, "kill -9 worker": 4, "kill -9 coordinator": 3, "kill -9 client": 3, "pause worker": 2, "pause coordinator": 1,
           "pause trial": 1, "partition": 6, "disk full": 0.5}
DAMAGES = {"damage checkpoint": 3, "damage model": 3, "damage database": 0.3}


class Chaos:
    def __init__(self, folder, seed, log, damages=True, of_program=25):
        self.weights = WEIGHTS | (DAMAGES if damages else {})
        self.log = log
        self.random = random.Random(seed)
        self.world = worlds.World(folder, workers=4, clients=4, log=log, of_program=of_program)
        self.oracle = oracle.Oracle(self.world)
        self.injected = collections.Counter()
        self.later = []  # (when, action)
        self.cut = set()
        self.disk_full = False
        self.injecting = True
        self.totals = collections.Counter()
        self.counted = {}  # Metrics of the life that runs now.
        self.orphans = {}  # pid -> since when its worker is gone.

    # Processes.

    def failpoint(self, program):
        if not self.injecting or not program.points or self.random.random() < 0.5:
            return None
        name = self.random.choice(sorted(program.points))
        action = "stop" if self.random.random() < 0.2 else "kill"
        return f"{name}={action}@{self.random.randint(1, program.points[name])}"

    def start_fresh_database(self):
        """The first starts, of which two end in the middle of making the tables."""
        for point in ("migration.before", "migration.after"):
            self.world.coordinator.start(f"{point}=kill@1")
            self.world.coordinator.process.wait(30)
            self.note_end(self.world.coordinator)
        for program in self.world.programs():
            program.start()

    def note_end(self, program):
        """Records why a process ended: killed here, at a failpoint, or as requested; any other end is a finding."""
        status, output = program.process.returncode, program.output()
        if program.killed_by_us:
            return
        for line in output.splitlines():
            if status == -signal.SIGKILL and line.startswith("failpoint "):
                self.injected[f"kill at {line.split(' ')[1]}"] += 1
                return
        if self.disk_full and status == 1 and any(sign in output for sign in ("No space left", "is full", "free space")):
            self.totals["starts refused while the disk was full"] += 1
            return
        if not self.injecting and status == 0:
            return
        self.oracle.find("BROKEN", f"{program.name} ended by itself with {status}: {output[-600:]}")

    def tend(self):
        """Restarts ended processes, resumes those that a failpoint stopped, runs the actions that are due."""
        now = time.monotonic()
        for program in self.world.programs():
            if program.process is not None and program.process.poll() is not None:
                self.note_end(program)
                program.process = None
                long = program is self.world.coordinator and self.random.random() < 0.1
                rest = self.random.uniform(2, 5) if long else self.random.uniform(0, 0.4)
                program.again_at = float("inf") if program.dismissed else now + rest
                if program is self.world.coordinator:
                    self.bank_metrics()
            if program.process is None and now >= program.again_at:
                program.start(self.failpoint(program))
            if program.stopped_by_itself():
                name = next((line.split(" ")[1] for line in reversed(program.output().splitlines()) if line.startswith("failpoint ")), "?")
                self.injected[f"pause at {name}"] += 1
                program.paused = True
                for pid in program.children():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGSTOP)
                self.resume_later(program, program.process, self.random.uniform(0.2, 4))
        for due in [entry for entry in self.later if entry[0] <= now]:
            self.later.remove(due)
            due[1]()

    def after(self, seconds, action):
        self.later.append((time.monotonic() + seconds, action))

    def resume_later(self, program, process, seconds):
        self.after(seconds, lambda: program.resume() if program.process is process else None)

    # Faults.

    def inject(self):
        kind = self.random.choices(list(self.weights), list(self.weights.values()))[0]
        done = getattr(self, "fault_" + kind.replace(" -9", "").replace(" ", "_"))()
        if done:
            self.injected[kind if done is True else done] += 1

    def trials(self, workers):
        """The processes of trials: whether one of `workers` is above it, by pid."""
        found = {pid: (parent, name) for pid, parent, name in worlds.processes(self.world.folder)}

        def led(pid):
            while pid in found and pid not in workers:
                pid = found[pid][0]
            return pid in workers
        return {pid: led(pid) for pid, (_, name) in found.items() if name in worlds.TRIALS}

    def running_trials(self):
        return [pid for pid, led in self.trials({w.process.pid for w in self.world.workers if w.alive() and not w.paused}).items() if led]

    def fault_kill_trial(self):
        found = self.running_trials()
        with contextlib.suppress(IndexError, ProcessLookupError):
            os.kill(self.random.choice(found), signal.SIGKILL)
            return True
        return False

    def fault_pause_trial(self):
        found = self.running_trials()
        if not found:
            return False
        pid = self.random.choice(found)

        def resume():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        self.after(self.random.uniform(0.2, 2), resume)
        return True

    def fault_kill_worker(self):
        return self.random.choice(self.world.workers).kill()

    def fault_kill_client(self):
        return self.random.choice(self.world.clients).kill()

    def fault_kill_coordinator(self):
        return self.world.coordinator.kill()

    def fault_pause_worker(self):
        program = self.random.choice(self.world.workers)
        if not program.pause():
            return False
        self.resume_later(program, program.process, self.random.uniform(0.3, 5))
        return True

    def fault_pause_coordinator(self):
        program = self.world.coordinator
        if not program.pause():
            return False
        self.resume_later(program, program.process, self.random.uniform(0.2, 4))
        return True

    def fault_partition(self):
        free = [i for i in range(len(self.world.workers)) if i not in self.cut]
        if len(free) <= 1:
            return False
        worker = self.random.choice(free)
        kind = self.random.choice(self.world.network.kinds())
        self.cut.add(worker)
        self.world.network.cut(worker, kind)

        def heal():
            self.world.network.heal(worker)
            self.cut.discard(worker)
        self.after(self.random.uniform(0.3, 5), heal)
        return {"link": "partition: link down", "up": "partition: worker unheard", "down": "partition: worker deaf"}.get(kind, "partition: both ways")

    def fault_disk_full(self):
        if self.disk_full or not self.world.fill_disk():
            return False
        self.disk_full = True
        self.after(self.random.uniform(1, 3), self.world.free_disk)

        def settled():
            self.disk_full = False
        self.after(5, settled)
        return True

    def damage(self, file):
        """What a disk, a full one, or a person does to a file; how."""
        how = self.random.choice(["flip", "cut", "empty", "remove"])
        try:
            size = file.stat().st_size
            if how == "remove":
                file.unlink()
            elif how == "flip" and size > 0:
                at = self.random.randrange(size)
                with open(file, "r+b") as content:
                    content.seek(at)
                    byte = content.read(1)[0]
                    content.seek(at)
                    content.write(bytes([byte ^ 1 << self.random.randrange(8)]))
            else:
                os.truncate(file, size * self.random.randrange(100) // 100 if how == "cut" else 0)
        except (OSError, IndexError):  # It is gone, or is being written.
            return False
        return f"{how} a "

    def fault_damage_checkpoint(self):
        found = [file for name in ("checkpoint-*.safetensors", "step-*.tar") for file in self.world.shared.glob(f"attempts/*/*/{name}")]
        how = found and self.damage(self.random.choice(found))
        return how and how + "checkpoint"

    def fault_damage_model(self):
        # Of each model the workers' copy, or the coordinator's, never both.
        found = [file for place, odd in ((self.world.shared, 0), (self.world.state, 1)) for file in place.glob("artifacts/*.safetensors")
                 if int(file.name[0], 16) % 2 == odd]
        how = found and self.damage(self.random.choice(found))
        return how and how + "model"

    def fault_damage_database(self):
        """A coordinator is started on damaged files, where no client reaches it; then they are as they were. It must remove nothing."""
        program, state = self.world.coordinator, self.world.state
        if self.disk_full or not program.kill():
            return False
        program.process = None
        program.again_at = time.monotonic()
        self.bank_metrics()
        sound = self.world.folder / "sound"
        shutil.rmtree(sound, ignore_errors=True)
        sound.mkdir()
        for file in [*state.glob("inlier.db*"), state / "inlier.lock"]:  # The lock has the folder's note.
            if file.is_file():
                shutil.copy2(file, sound)
        models = {file.name for file in state.rglob("*.safetensors")}
        target = self.random.choice([file for name in ("inlier.db", "inlier.db-wal") if (file := state / name).is_file()])
        how = self.damage(target)
        trial = self.world.coordinator_elsewhere()
        trial.start()
        with contextlib.suppress(Exception):
            trial.process.wait(self.random.uniform(0.5, 2))
        self.totals[f"damaged databases that were {'served' if trial.alive() else 'refused'}"] += 1
        trial.kill()
        gone = models - {file.name for file in state.rglob("*.safetensors")}
        if gone:
            self.oracle.find("LOST", f"{how}{target.name}: the coordinator that was started on it removed {len(gone)} models")
        for file in state.glob("inlier.db*"):
            if file.is_file():
                file.unlink()
        for file in sound.iterdir():
            shutil.copy2(file, state)
        return how and how + ("database" if target.name == "inlier.db" else "log of the database")

    # Checks while it runs.

    def bank_metrics(self):
        self.totals.update(self.counted)
        self.counted = {}

    def check(self):
        self.oracle.check_committed()
        self.counted = self.world.metrics() or self.counted
        workers = {w.process.pid for w in self.world.workers if w.alive()}
        paused = any(w.paused for w in self.world.workers)
        seen = {pid for pid, led in self.trials(workers).items() if not led}
        self.orphans = {pid: self.orphans.get(pid, time.monotonic()) for pid in seen}
        for pid, since in self.orphans.items():
            if not paused and time.monotonic() - since > 5:
                self.oracle.find("ORPHANED", f"process {pid} of a trial runs although its worker has ended")

    def run(self, seconds, pace):
        started = time.monotonic()
        self.start_fresh_database()
        next_fault = next_check = time.monotonic() + 1
        while time.monotonic() - started < seconds:
            self.tend()
            if time.monotonic() >= next_fault:
                self.inject()
                next_fault = time.monotonic() + self.random.uniform(0, 2 * pace)
            if time.monotonic() >= next_check:
                self.check()
                next_check = time.monotonic() + 1
            time.sleep(0.02)
        self.log("the faults stop")
        self.settle()

    def settle(self):
        self.injecting = False
        while self.later:
            self.later.pop(0)[1]()
        self.world.free_disk()
        self.disk_full = False
        for program in self.world.programs():
            program.resume()
        # Lives that still carry a failpoint may reach it.
        for program in [self.world.coordinator, *self.world.workers]:
            program.kill()
        deadline, fewest = time.monotonic() + SETTLE_SECONDS, float("inf")
        clients_stopped = False
        while time.monotonic() < deadline:
            self.tend()
            if not clients_stopped and all(c.alive() for c in self.world.clients):
                time.sleep(0.5)  # The last life has set its handler.
                for client in self.world.clients:
                    client.dismissed = True
                    client.signal(signal.SIGTERM)
                clients_stopped = True
            if clients_stopped and all(c.process is None for c in self.world.clients):
                left = self.left()
                if left == 0:
                    break
                if left < fewest:  # A slow machine may have much to do.
                    deadline, fewest = time.monotonic() + SETTLE_SECONDS, left
            time.sleep(0.1)
        self.check()
        self.bank_metrics()
        for client in self.world.clients:
            if client.process is not None and client.process.poll() is None:
                self.oracle.find("LOST", f"{client.name} waits for an answer {SETTLE_SECONDS} s after the last fault")
        for program in [*self.world.workers, self.world.coordinator]:
            program.signal(signal.SIGTERM)
            with contextlib.suppress(Exception):
                program.process.wait(30)
            if program.process is None or program.process.poll() != 0:
                self.oracle.find("BROKEN", f"{program.name} does not end when asked: {program.output()[-600:]}")
        for pid, _, name in worlds.processes(self.world.folder):
            if not name.startswith("python") and pid != os.getpid():
                self.oracle.find("ORPHANED", f"process {pid} ({name}) is left")
        self.oracle.judge()

    def left(self):
        """Sweeps and trials that have not ended."""
        with contextlib.suppress(Exception):
            return self.oracle.sql("SELECT (SELECT count(*) FROM sweep WHERE state = 'ACTIVE') + (SELECT count(*) FROM trial WHERE state = 'PENDING')")[0][0]
        return float("inf")

    # The report.

    def report(self):
        rows = self.oracle.sql("SELECT (SELECT count(*) FROM sweep), (SELECT count(*) FROM trial), (SELECT count(*) FROM trial WHERE "
                               "state = 'SUCCEEDED'), (SELECT count(*) FROM attempt), (SELECT count(*) FROM measurement)")[0]
        failures = dict(self.oracle.sql("SELECT failure, count(*) FROM attempt WHERE failure NOT NULL GROUP BY failure"))
        named = {"leases expired": "leases_expired_total", "attempts adopted after a restart": "attempts_adopted_total",
                 "late events refused (stale token)": "stale_events_total", "doubled events dropped": "doubled_events_total",
                 "stages tried again": "stage_retries_total"}
        happened = {text: int(self.totals["inlier_" + name]) for text, name in named.items()}
        for text in ("starts refused while the disk was full", "damaged databases that were refused", "damaged databases that were served"):
            happened[text] = self.totals[text]
        happened["checkpoints passed over"] = self.oracle.sql("SELECT count(*) FROM event WHERE kind = 'checkpoint_passed_over'")[0][0]
        happened["attempts that overlapped with the next"] = self.oracle.ran_on
        happened["attempts that resumed"] = self.oracle.sql("SELECT count(*) FROM attempt WHERE resumed_step > 0")[0][0]
        happened.update({f"attempts ended {name}": count for name, count in sorted(failures.items())})
        return {
            "work": {"requests sent": self.oracle.submitted, "acknowledged": self.oracle.acknowledged, "sweeps": rows[0], "trials": rows[1],
                     "trials succeeded": rows[2], "of them of a program": self.oracle.of_program, "attempts": rows[3], "children seen": self.oracle.children, "measurements": rows[4]},
            "injected": dict(sorted(self.injected.items())),
            "kills": sum(count for name, count in self.injected.items() if name.startswith("kill")),
            "partitions": sum(count for name, count in self.injected.items() if name.startswith("partition")),
            "happened": happened,
            "verdict": {name.lower(): len(found) for name, found in self.oracle.findings.items()},
            "findings": self.oracle.findings,
        }


def print_table(report):
    for title in ("work", "injected", "happened"):
        print(title)
        for name, count in report[title].items():
            print(f"  {name:44}{count:>9}")
    print(f"in all: {report['kills']} kills, {report['partitions']} partitions")
    verdict = report["verdict"]
    print(f"verdict: {verdict['lost']} lost, {verdict['doubled']} doubled, {verdict['wrong']} wrong, {verdict['orphaned']} orphaned, {verdict['broken']} broken")
    for name, found in report["findings"].items():
        for text in found:
            print(f"  {name}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("CHAOS_SECONDS", 600)), help="how long faults are injected")
    parser.add_argument("--pace", type=float, default=0.22, help="mean seconds between two faults")
    parser.add_argument("--seed", type=int, default=None, help="of the choice of faults")
    parser.add_argument("--of-program", type=int, default=25, metavar="PERCENT", help="of the sweeps that are of a program of one's own")
    parser.add_argument("--no-damage", action="store_true", help="files stay as they were written")
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="inlier-chaos-"))
    log = lambda text: print(f"chaos: {text}", file=sys.stderr, flush=True)
    log(f"seed {seed}, {options.seconds:g} s, {folder}")
    chaos = Chaos(folder, seed, log, damages=not options.no_damage, of_program=options.of_program)
    if not chaos.world.network.namespaces:
        log("no network namespaces (they need root): partitions are made by the proxies alone")
    if not chaos.world.tmpfs:
        log("no disk of limited size (mounting one needs root): the disk is never full")
    try:
        chaos.run(options.seconds, options.pace)
        report = {"seed": seed, "seconds": options.seconds, **chaos.report()}
    finally:
        chaos.world.close()
        if options.keep:
            log(f"kept {folder}")
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        print_table(report)
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if chaos.oracle.clean() else 1


if __name__ == "__main__":
    sys.exit(main())
