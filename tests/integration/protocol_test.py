#!/usr/bin/env python3
"""The protocol for programs of one's own once more, in Perl: perl_program/ was written from the text alone, docs/reference/protocol.md and its schema. It
has right results under the worker, and each of its lines obeys the schema: the text says enough for a program in any language."""
import json
import pathlib
import shutil
import unittest

import harness
import jsonschema
import stand_in

PROGRAM = pathlib.Path(__file__).parent / "perl_program"
COMMAND = ["perl", "descent.pl"]
GIVEN = {"start": 5, "steps": 30, "noisy": True, "descent": {"rate": 0.1, "comment": "größer"}, "pause": 0, "scale": 1}


def descended(seed=1, rate=0.1, steps=30, noisy=True):
    """Where the program ends, by the same arithmetic."""
    x, draw = 5.0, 1 + seed % 2147483646
    for _ in range(steps):
        draw = draw * 48271 % 2147483647
        x -= rate * (x + (draw / 2147483647 - 0.5 if noisy else 0))
    return x


class LinesTest(unittest.TestCase):
    """Without a worker: what the program writes."""

    def program(self, given=(), **parameters):
        return stand_in.Program(command=COMMAND, folder=PROGRAM, given={"parameters": {**GIVEN, **parameters}, **dict(given)})

    def end(self, program):
        ended = program.end()
        schema = json.loads(stand_in.SCHEMA.read_text(encoding="utf-8"))
        checker = jsonschema.validators.validator_for(schema)(schema)
        for line in ended.lines:
            checker.validate(line)
        self.assertEqual((0, ""), (ended.status, ended.err))
        return ended

    def test_a_training_reports_each_kind_of_line_as_the_schema_has_it(self):
        ended = self.end(self.program({"seed": 7}))
        self.assertEqual({"progress", "measurement", "checkpoint", "file", "outcome"}, {key for line in ended.lines for key in line})
        self.assertEqual(["loss"] * 6, [name for name, _, _ in ended.points])
        self.assertAlmostEqual(descended(seed=7), ended.results["end"], places=12)

    def test_it_stops_on_request_and_goes_on_from_its_checkpoint_and_evaluates_the_model(self):
        with harness.temporary_folder() as folder:
            running = self.program(pause=0.05)
            running.wait_for('"step":3,')
            running.stop()
            running.process.wait(60)
            shutil.copytree(running.output, folder, dirs_exist_ok=True)
            stopped = self.end(running)
            self.assertIsNone(stopped.outcome)
            saved = stopped.of("checkpoint")[-1]
            resumed = self.end(self.program({"resume_from": str(folder / saved["path"]), "resume_step": saved["step"]}))
            self.assertEqual(saved["step"] + 1, resumed.of("progress")[0]["step"])
            self.assertEqual([f"resumed at step {saved['step']} ✓"], [line["text"] for line in resumed.of("log")])
            self.assertAlmostEqual(descended(), resumed.results["end"], places=12)
            model = folder / "model.json"
            model.write_text('{"step": 30, "x": "-2.5", "random": 1}')
            evaluated = self.end(self.program({"stage": "evaluate", "model": str(model)}, scale=2))
            self.assertEqual({"distance": 5}, evaluated.results)

    def test_an_infinite_loss_is_a_result_and_a_failure_has_a_class(self):
        diverged = self.end(self.program(descent={"rate": 1e10}, steps=100))
        self.assertEqual(("DIVERGED", {"end": "Infinity"}), (diverged.outcome["kind"], diverged.results))
        failed = self.end(self.program(failure="OUT_OF_MEMORY"))
        self.assertEqual(("FAILED", "OUT_OF_MEMORY"), (failed.outcome["kind"], failed.outcome["failure"]))
        self.assertEqual("INVALID_SPEC", self.end(self.program({"protocol": 2})).outcome["failure"])


class WorkerTest(harness.FolderTest):
    """The program under coordinator and worker."""

    def setUp(self):
        super().setUp()
        shutil.copytree(PROGRAM, self.folder, dirs_exist_ok=True)

    def run_sweep(self, sweep, program="descent", **options):
        self.write("sweep.yaml", f"name: descents\nprogram: {program}\n{sweep}")
        return harness.inlier("run", self.folder / "sweep.yaml", "--dir", self.folder / "state", "--slots", "2", **options)

    def sql(self, query):
        return [list(row) for row in harness.sql(self.folder / "state", query)]

    def test_inlier_program_test_finds_nothing_wrong(self):
        said = harness.inlier("program", "test", self.folder).stdout
        self.assertEqual(f"{self.folder} does what the protocol asks\n", said)

    def test_a_sweep_has_the_right_numbers_from_the_model_too(self):
        self.run_sweep("base: {pause: 0}\naxes: [{field: descent.rate, values: [0.1, 0.5]}, {field: noisy, values: [true, false]},\n"
                                       "  {field: seed, values: [1, 4294967295]}, {field: scale, values: [1, -2]}]\n")
        rows = self.sql("SELECT rate, noisy, seed, scale, [end], distance FROM results")
        self.assertEqual(16, len(rows))
        for rate, noisy, seed, scale, end, distance in rows:
            self.assertAlmostEqual(descended(seed, rate, noisy=bool(noisy)), end, places=12)
            self.assertAlmostEqual(abs(end) * scale, distance, places=12)
        self.assertEqual([["EVALUATE", 16], ["TRAIN", 8]], self.sql("SELECT kind, count(DISTINCT token) FROM attempts GROUP BY 1 ORDER BY 1"))
        self.assertEqual([[5], [10], [15], [20], [25], [30]], self.sql("SELECT step FROM curves WHERE trial = 't-1' AND name = 'loss'"))
        kept = list(self.folder.glob("state/attempts/*/*/files/end.txt"))
        self.assertEqual(8, len(kept))
        self.assertIn('größer als "nichts"', kept[0].read_text(encoding="utf-8"))

    def test_each_way_to_end_is_the_one_of_the_text(self):
        ways = {"diverges": "descent.rate: 1e10, steps: 100", "crashes": "failure: CRASHED", "is invalid": "failure: INVALID_SPEC"}
        variants = "".join(f"      - {{label: {label}, set: {{{fields}}}}}\n" for label, fields in ways.items())
        self.run_sweep(f"base: {{pause: 0}}\nretry: {{max_crashes: 2}}\naxes:\n  - name: way\n    variants:\n{variants}", fails=True)
        self.assertEqual([["t-1", "DIVERGED", None, "the loss is not finite at step 16", 1], ["t-2", "FAILED", "CRASHED", "as the trial asks", 2],
                          ["t-3", "FAILED", "INVALID_SPEC", "as the trial asks", 1]],
                         self.sql("SELECT trial, outcome, failure, message, count(*) FROM attempts GROUP BY 1, 2, 3, 4 ORDER BY 1"))

    def test_several_processes_meet(self):
        description = (PROGRAM / "inlier-program.yaml").read_text(encoding="utf-8")
        self.write("inlier-program.yaml", description.replace("name: descent", "name: pair") + "resources: {processes: 2}\n")
        self.run_sweep("", program="pair")
        self.assertAlmostEqual(descended(), self.sql("SELECT [end] FROM results")[0][0], places=12)
        self.assertEqual([[1]], self.sql("SELECT count(*) FROM logs WHERE text = '2 processes have met'"))

    def test_stopped_and_killed_in_the_middle_it_ends_with_the_same_result(self):
        path = self.write("sweep.yaml", "name: long\nprogram: descent\nbase: {steps: 200, pause: 0.03}\n")
        with harness.Local("--slots", "1", "--worker-set", f"program_roots={self.folder}", "--coordinator-set", "lease_ttl_ms=5000") as local:
            def reach(step):
                harness.wait_for(f"step {step}", lambda: local.sql(f"SELECT 1 FROM curves WHERE step >= {step}"))

            sweep = local.submit(path)
            reach(15)
            local.inlier("pause", sweep, "--now")
            harness.wait_for("the end of the attempt", lambda: local.sql("SELECT 1 FROM attempts WHERE outcome = 'PREEMPTED'"))
            local.inlier("resume", sweep)
            reach(25 + local.sql("SELECT max(step) FROM curves")[0][0])
            local.kill("inlier-worker")
            local.inlier("watch", sweep)
            outcomes, failures, steps = zip(*local.sql("SELECT outcome, failure, resumed_step FROM attempts WHERE kind = 'TRAIN' ORDER BY token"))
            self.assertEqual((("PREEMPTED", "FAILED", "SUCCEEDED"), "LOST"), (outcomes, failures[1]))
            self.assertTrue(0 == steps[0] < 15 <= steps[1] < steps[2], steps)
            texts = [text for text, in local.sql("SELECT text FROM logs")]
            for step in steps[1:]:
                self.assertIn(f"resumed at step {step} ✓", texts)
            self.assertTrue(any(text.startswith("removed step") for text in texts), texts)
            end, distance = local.sql("SELECT [end], distance FROM results")[0]
            self.assertAlmostEqual(descended(steps=200), end, places=12)
            self.assertAlmostEqual(abs(end), distance, places=12)
            self.assertEqual([(step,) for step in range(5, 201, 5)], local.sql("SELECT step FROM curves WHERE name = 'loss' ORDER BY step"))


if __name__ == "__main__":
    unittest.main()
