#!/usr/bin/env python3
"""Programs of one's own from a sweep's file to its table: run once, resumed, run again where their source has changed, refused where a worker's owner
has not named them."""
import contextlib
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import harness

DESCRIPTION = """
name: count
command: [bash, train.sh]
evaluate: [bash, evaluate.sh]
files: ["*.sh"]
parameters:
  until: {type: INTEGER, default: 5, min: 1, column: count_to}
  optimizer.rate: {type: NUMBER, default: 0.5}
  bits: {type: INTEGER, default: 8, read_by: EVALUATION}
measurements:
  total: {better: HIGHER, formula: the sum of the numbers}
  rounded: {better: LOWER, reported_by: EVALUATION}
"""
# Adds the numbers up to `until`; saves after each.
TRAIN = """
value() { sed -n 's/.*"'$1'": \\([0-9][0-9.]*\\).*/\\1/p' "$INLIER_TRIAL"; }
text() { sed -n 's/.*"'$1'": "\\(.*\\)".*/\\1/p' "$INLIER_TRIAL"; }
out=$(text output_dir); until=$(value until); step=0; total=0
if [ -n "$(text resume_from)" ]; then step=$(value resume_step); total=$(cat "$(text resume_from)"); echo "from $step"; fi
stop=0; trap 'stop=1' TERM
while [ $step -lt $until ] && [ $stop = 0 ]; do
  step=$((step + 1)); total=$((total + step)); echo $total >"$out/at-$step"
  echo "{\\"progress\\": {\\"step\\": $step, \\"steps_total\\": $until}}" >&3
  echo "{\\"checkpoint\\": {\\"path\\": \\"at-$step\\", \\"step\\": $step}}" >&3
  read -r saved
  sleep 0.01
done
[ $stop = 1 ] && exit 0
mkdir "$out/model"; echo $total >"$out/model/total"
echo "{\\"checkpoint\\": {\\"path\\": \\"model\\", \\"step\\": $until, \\"final\\": true}}" >&3
echo "{\\"measurement\\": {\\"name\\": \\"total\\", \\"value\\": $total, \\"step\\": $until, \\"final\\": true}}" >&3
echo '{"outcome": {"kind": "SUCCEEDED"}}' >&3
"""
EVALUATE = """
model=$(sed -n 's/.*"model": "\\(.*\\)".*/\\1/p' "$INLIER_TRIAL"); bits=$(sed -n 's/.*"bits": \\([0-9]*\\).*/\\1/p' "$INLIER_TRIAL")
echo "{\\"measurement\\": {\\"name\\": \\"rounded\\", \\"value\\": $(($(cat "$model/total") / bits)), \\"final\\": true}}" >&3
echo '{"outcome": {"kind": "SUCCEEDED"}}' >&3
"""
SWEEP = """
name: counts
program: count
axes:
  - {field: until, values: [3, 4]}
  - {field: bits, values: [1, 2]}
table: {rows: [until, bits], columns: [{measurement: total}, {measurement: rounded}]}
"""


class ProgramFolderTest(harness.FolderTest):
    run_options = ()

    def setUp(self):
        super().setUp()
        self.write("evaluate.sh", EVALUATE)
        self.write("inlier-program.yaml", DESCRIPTION)
        self.write("train.sh", TRAIN)
        self.write("sweep.yaml", SWEEP)

    def run_words(self):
        return ["run", self.folder / "sweep.yaml", "--dir", self.folder / "state", *self.run_options]

    def run_sweep(self, **options):
        return harness.inlier(*self.run_words(), **options)

    def start_long_sweep(self):
        """In the background, with one slot: numbers up to 25, and a checkpoint after each."""
        self.write("train.sh", TRAIN.replace("sleep 0.01", "sleep 0.2"))
        self.write("sweep.yaml", "name: long\nprogram: count\nbase: {until: 25}\n")
        run = subprocess.Popen([harness.INLIER, *self.run_words(), "--slots", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        harness.wait_for("checkpoints", lambda: len(list((self.folder / "state/attempts").glob("*/*/step-*.tar"))) >= 2)
        return run

    def sql(self, query):
        return [list(row) for row in harness.sql(self.folder / "state", query)]


class ProgramsTest(ProgramFolderTest):
    def test_a_sweep_of_a_script_ends_in_a_table_and_changed_source_runs_again(self):
        table = self.run_sweep().stdout
        for number in ("6.00", "10.00", "3.00", "5.00"):
            self.assertIn(number, table)
        columns = "SELECT count_to, rate, bits, total, rounded, seed FROM results ORDER BY trial"
        self.assertEqual([[3, 0.5, 1, 6, 6, 1], [3, 0.5, 2, 6, 3, 1], [4, 0.5, 1, 10, 10, 1], [4, 0.5, 2, 10, 5, 1]], self.sql(columns))
        self.assertEqual([["EVALUATE", 4], ["TRAIN", 2]], self.sql("SELECT kind, count(DISTINCT token) FROM attempts GROUP BY 1 ORDER BY 1"))
        bars = self.folder / "total.csv"  # It reports no curve of it.
        harness.inlier("plot", "counts", "counts-2", "-o", bars, "--dir", self.folder / "state")
        self.assertEqual({"6", "10"}, {row["total mean"] for row in csv.DictReader(bars.read_text().splitlines())})
        self.write("notes.txt", "no part of it")
        self.run_sweep()
        self.assertEqual([[6]], self.sql("SELECT count(DISTINCT token) FROM attempts"))
        self.write("train.sh", TRAIN.replace("total + step", "total + 2 * step"))
        self.run_sweep()
        self.assertEqual([[6, 4], [12, 2]], self.sql("SELECT total, count(*) FROM results WHERE count_to = 3 GROUP BY 1 ORDER BY 1"))

    def test_a_damaged_checkpoint_is_passed_over_and_the_program_goes_on_after_the_step_of_the_one_before_it(self):
        run = self.start_long_sweep()
        state = self.folder / "state"

        def saved():
            return {int(tar.stem.removeprefix("step-")): tar for tar in state.glob("attempts/*/*/step-*.tar")}
        harness.wait_for("checkpoints", lambda: max(saved(), default=0) >= 4)
        os.kill(harness.pids("inlier-worker", self.folder)[0], signal.SIGKILL)
        step = max(saved())
        saved()[step].write_bytes(b"damaged")
        self.assertEqual(0, run.wait(120))
        self.assertEqual([[325]], self.sql("SELECT total FROM results"))
        self.assertEqual([[step - 1]], self.sql("SELECT resumed_step FROM attempts WHERE kind = 'TRAIN' ORDER BY token DESC LIMIT 1"))

    def test_a_killed_worker_costs_no_step_that_is_saved(self):
        run = self.start_long_sweep()
        harness.wait_for("a program", lambda: harness.pids("bash", "train.sh"))
        os.kill(harness.pids("inlier-worker", self.folder)[0], signal.SIGKILL)
        self.assertEqual(0, run.wait(120))
        self.assertEqual([[325]], self.sql("SELECT total FROM results"))
        resumed = self.sql("SELECT max(resumed_step) FROM attempts WHERE kind = 'TRAIN'")[0][0]
        self.assertGreaterEqual(resumed, 1)
        self.assertEqual([], harness.pids("bash", "train.sh"))

    def test_an_evaluation_without_a_command_starts_no_process(self):
        self.write("inlier-program.yaml", "name: count\ncommand: [bash, train.sh]\nfiles: [train.sh]\n")
        self.write("train.sh", "echo '{\"outcome\": {\"kind\": \"SUCCEEDED\"}}' >&3\n")
        self.write("sweep.yaml", "name: plain\nprogram: count\n")
        self.run_sweep()
        self.assertEqual([["EVALUATE", "SUCCEEDED", 0], ["TRAIN", "SUCCEEDED", 1]], self.sql("SELECT kind, outcome, pid > 0 FROM attempts ORDER BY 1"))

    def test_the_source_of_a_table_is_shown_long_after(self):
        def git(*words):
            subprocess.run(["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

        def source(name, **options):
            return harness.inlier("program", "source", name, "--dir", self.folder / "state", **options)

        self.run_sweep()
        source("s-1", fails=5, says="was in no git repository with a commit when a sweep was submitted")
        git("init", "-q")
        git("add", "train.sh", "inlier-program.yaml")
        git("commit", "-q", "-m", "first")
        commit = subprocess.run(["git", "-C", self.folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        self.write("train.sh", TRAIN.replace("total + step", "total + 2 * step"))
        self.run_sweep()
        self.write("train.sh", TRAIN)
        git("add", "evaluate.sh")
        git("commit", "-q", "-m", "second")
        table = self.sql("SELECT DISTINCT dataset_digest FROM results WHERE sweep_id = 's-2'")
        of_sweep = source("counts").stdout
        self.assertEqual(of_sweep, source(table[0][0][:12].upper()).stdout)
        self.assertIn(f"commit  {commit}\n\ndiff --git a/evaluate.sh b/evaluate.sh\nnew file mode", of_sweep)
        self.assertIn("+  step=$((step + 1)); total=$((total + 2 * step))", of_sweep)
        told = harness.inlier_json("program", "source", "s-2", "--dir", self.folder / "state")
        self.assertEqual(["count", table[0][0], commit], [told[key] for key in ("program", "digest", "commit")])
        # With it the files are made again.
        other = self.folder / "other"
        subprocess.run(["git", "clone", "-q", self.folder, other], check=True, capture_output=True)
        subprocess.run(["git", "-C", other, "checkout", "-q", told["commit"]], check=True, capture_output=True)
        subprocess.run(["patch", "-s", "-p1"], cwd=other, input=source("s-2").stdout, text=True, check=True)
        (other / "sweep.yaml").write_text(SWEEP)
        self.assertEqual(table[0][0], harness.inlier_json("check", other / "sweep.yaml")["sweep"]["program"]["digest"])
        # The source of the first sweep is the second commit: it is stored when it is submitted from there.
        self.run_sweep()
        self.assertIn("its files are those of the commit", source("s-3").stdout)
        self.assertEqual("", harness.inlier("program", "source", "s-1", "--quiet", "--dir", self.folder / "state").stdout)
        self.assertEqual([[2]], self.sql("SELECT count(*) FROM program_sources"))

    def test_where_what_leads_a_program_is_killed_all_that_it_started_ends(self):
        self.write("train.sh", "setsid sleep 1000 & sleep 1000 & wait\n")
        self.write("sweep.yaml", "name: led\nprogram: count\nretry: {max_crashes: 0}\n")
        run = subprocess.Popen([harness.INLIER, *self.run_words()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        harness.wait_for("what it starts", lambda: len(self.started("sleep")) == 2)
        leader, = [pid for pid in harness.pids("inlier-worker", self.folder) if b"run-program" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        self.assertEqual("inlier-program\n", pathlib.Path(f"/proc/{leader}/comm").read_text())
        os.kill(leader, signal.SIGKILL)
        run.wait(60)
        self.assertEqual([], self.started("sleep"))

    def started(self, program):
        """Processes of `program` that trials of this test have started."""
        found = []
        for pid in harness.pids(program, ""):
            with contextlib.suppress(OSError):
                if f"INLIER_TRIAL={self.folder}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(pid)
        return found

    def test_what_is_wrong_is_named_in_the_trial(self):
        self.write("train.sh", "echo hello; exit 0\n")
        self.write("sweep.yaml", "name: broken\nprogram: count\nretry: {max_crashes: 0}\n")
        self.run_sweep(fails=True)
        self.assertIn("ended with status 0 without an outcome", self.sql("SELECT message FROM trials")[0][0])

    def test_parameters_without_a_column_are_named_when_the_sweep_is_submitted_and_where_they_are_asked_for(self):
        for name in ("first", "second"):
            self.write("train.sh", "echo '{\"outcome\": {\"kind\": \"SUCCEEDED\"}}' >&3\n")
            parameters = "\n".join(f"  {name}_{i}: {{type: INTEGER, default: {i}}}" for i in range(600))
            self.write("inlier-program.yaml", f"name: {name}\ncommand: [bash, train.sh]\nfiles: [train.sh]\nmeasurements: {{score: {{better: HIGHER}}}}\nparameters:\n{parameters}\n")
            self.write("sweep.yaml", f"name: of-{name}\nprogram: {name}\n")
            ran = self.run_sweep()
            self.assertEqual(name == "second", "the views have columns for 1000 parameters of programs, and none for second_" in ran.stderr, ran.stderr)
        self.assertIn(" and 195 more of second; query it as spec->>'$.program.parameters.\"second_", ran.stderr)
        state = ("--dir", self.folder / "state")
        why = "no such column: second_99; the views have columns for 1000 parameters of programs, and none for second_99 of second"
        harness.inlier("query", "SELECT second_99 FROM trials", *state, fails=3, says=why)
        harness.inlier("table", "of-second", "--rows", "second_99", "--columns", "score", *state, fails=3, says=why)
        self.assertEqual([[99]], self.sql("SELECT spec->>'$.program.parameters.\"second_99\"' FROM trials WHERE sweep = 'of-second'"))

    def test_a_coordinator_that_is_shared_runs_only_what_a_workers_owner_named(self):
        with harness.Local("--slots", "1") as local:  # Its folder is another one: this program is in none of its roots.
            path = self.folder / "sweep.yaml"
            sweep = local.submit(path)
            local.inlier("watch", sweep, check=False)
            self.assertIn("has none of it", local.sql("SELECT message FROM trials")[0][0])
            self.write("train.sh", TRAIN + "# changed\n")
            for dry_run in ([], ["--dry-run"]):
                local.inlier("edit", sweep, path, *dry_run, fails=6, says="program: its source has changed since the sweep began, so this is another sweep: submit it as a new one")


class Images:
    """The program in an image of a shell and its tools, by a real runtime, where that can start containers here."""

    def setUp(self):
        super().setUp()
        self.real, shell = shutil.which(self.runtime), shutil.which("busybox")
        if not self.real or not shell:
            self.skipTest(f"needs {self.runtime} and busybox-static")
        (self.folder / "bin").mkdir()
        exports = "".join(f"export {name}={value}\n" for name, value in self.environment().items())
        self.command = self.write(f"bin/{self.runtime}", f'#!/bin/sh\n{exports}exec {self.real} "$@"\n', 0o755)
        self.run_options = ("--worker-set", f"container_runtime={self.command}")
        (self.folder / "root/bin").mkdir(parents=True)
        shutil.copy(shell, self.folder / "root/bin/busybox")
        for name in ("sh", "cat", "mkdir", "sed", "sleep", "touch"):
            (self.folder / "root/bin" / name).symlink_to("busybox")
        subprocess.run(["tar", "-C", self.folder / "root", "-cf", self.folder / "root.tar", "."], check=True)
        made = self.call("import", self.folder / "root.tar", "inlier-test")
        self.image = "sha256:" + self.call("image", "inspect", "--format", "{{.Id}}", "inlier-test").stdout.strip().removeprefix("sha256:")
        ran = self.call("run", "--rm", "--network=host", self.image, "sh", "-c", "echo it runs")
        if "it runs" not in ran.stdout:
            self.skipTest(f"{self.runtime} starts no container here: {made.stderr[-200:]} {ran.stderr[-300:]}")
        self.write("inlier-program.yaml", DESCRIPTION.replace("bash", "sh") + f"environment: {{image: '{self.image}'}}\n")

    def call(self, *words):
        return subprocess.run([self.command, *words], check=False, capture_output=True, text=True, timeout=120)

    def containers(self):
        return [name for name in self.call("ps", "-a", "--format", "{{.Names}}").stdout.split() if name.startswith("inlier-st-")]

    def test_a_sweep_ends_in_the_same_table(self):
        self.write("train.sh", "touch written 2>/dev/null && exit 1\n" + TRAIN)
        table = self.run_sweep().stdout
        for number in ("6.00", "10.00", "3.00", "5.00"):
            self.assertIn(number, table)
        self.assertEqual([[6]], self.sql(f"SELECT count(DISTINCT token) FROM attempts WHERE build LIKE '% in {self.image}'"))
        self.assertEqual([], self.containers())

    def test_a_killed_worker_takes_its_containers_with_it(self):
        run = self.start_long_sweep()
        first = self.containers()
        self.assertEqual(1, len(first))
        os.kill(harness.pids("inlier-worker", self.folder)[0], signal.SIGKILL)
        harness.wait_for("the end of the container", lambda: first[0] not in self.containers())
        self.assertEqual(0, run.wait(120))
        self.assertEqual([[325]], self.sql("SELECT total FROM results"))
        self.assertGreaterEqual(self.sql("SELECT max(resumed_step) FROM attempts")[0][0], 1)
        harness.wait_for("the end of all", lambda: not self.containers())


class PodmanTest(Images, ProgramFolderTest):
    runtime = "podman"

    def environment(self):
        """Images of its own; runc, where it is there, and limits that root without all capabilities may set."""
        self.write("containers.conf", '[containers]\ndefault_ulimits=["nofile=1024:1024","nproc=1000:1000"]\n[engine]\ncgroup_manager="cgroupfs"\n'
                   + ('runtime="runc"\n' if shutil.which("runc") else ""))
        self.write("storage.conf", f'[storage]\ndriver="vfs"\ngraphroot="{self.folder}/store"\nrunroot="{self.folder}/run"\n')
        return {"CONTAINERS_CONF": self.folder / "containers.conf", "CONTAINERS_STORAGE_CONF": self.folder / "storage.conf"}

    def test_it_is_stopped_and_resumed_there(self):
        said = harness.inlier("program", "test", self.folder, env={**os.environ, "PATH": f"{self.command.parent}:{os.environ['PATH']}"})
        self.assertIn("does what the protocol asks", said.stdout)


class DockerTest(Images, ProgramFolderTest):
    runtime = "docker"

    def environment(self):
        return {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}


if __name__ == "__main__":
    unittest.main()
