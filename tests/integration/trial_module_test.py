#!/usr/bin/env python3
"""inlier.trial in real programs: their values, and the lines on a pipe that they report; every line obeys docs/reference/protocol.schema.json."""
import json
import subprocess
import sys
import textwrap
import unittest

import jsonschema
import stand_in

START = "from inlier import trial\n"


def line_checker():
    schema = json.loads(stand_in.SCHEMA.read_text(encoding="utf-8"))
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    return checker(schema)


class TrialCase(unittest.TestCase):
    def run_program(self, code, **options):
        ended = stand_in.run(START + textwrap.dedent(code), **options)
        checker = line_checker()
        for line in ended.lines:
            checker.validate(line)
        return ended


class ReportTest(TrialCase):
    def test_points_results_and_success_arrive_in_order(self):
        ended = self.run_program("""
            trial.log(step=1, loss=2.5)
            trial.log({"eval/loss": 3}, step=2, loss=2)
            trial.result(perplexity=31.25)
        """)
        self.assertEqual((0, ""), (ended.status, ended.err))
        self.assertEqual([("loss", 1, 2.5), ("eval/loss", 2, 3.0), ("loss", 2, 2.0)], ended.points)
        self.assertEqual({"perplexity": 31.25}, ended.results)
        self.assertEqual({"kind": "SUCCEEDED"}, ended.outcome)
        self.assertEqual("", ended.out, "nothing is printed for people")

    def test_the_schema_refuses_what_is_no_line(self):
        checker = line_checker()
        for line in ({}, {"progress": {"step": 1}, "log": {"text": ""}}, {"measurement": {"value": 1}}, {"outcome": {"kind": "WON"}}):
            with self.subTest(line), self.assertRaises(jsonschema.ValidationError):
                checker.validate(line)

    def test_steps_are_counted_where_none_is_given_and_go_on_from_a_checkpoint(self):
        code = "trial.log(loss=1)\ntrial.log(loss=1)\ntrial.progress(9, 20)\ntrial.log(loss=1)"
        self.assertEqual([1, 2, 9], [step for _, step, _ in self.run_program(code).points])
        self.assertEqual([121, 122, 9], [step for _, step, _ in self.run_program(code, given={"resume_step": 120}).points])

    def test_a_result_has_one_value_and_a_program_that_stops_or_fails_has_none(self):
        self.assertEqual([2.0], [m["value"] for m in self.run_program("trial.result(loss=1)\ntrial.log(step=1, loss=3)\ntrial.result(loss=2)").of("measurement") if m["final"]])
        for end in ("raise ValueError", "import os, signal; trial.should_stop(); os.kill(os.getpid(), signal.SIGTERM); trial.should_stop()"):
            self.assertEqual({}, self.run_program(f"trial.result(loss=1)\n{end}").results)

    def test_what_is_not_finite_is_a_text(self):
        ended = self.run_program("trial.log(step=1, a=float('nan'), b=float('inf'), c=-float('inf'), loss=float('nan'))")
        self.assertEqual(["NaN", "Infinity", "-Infinity", "NaN"], [value for _, _, value in ended.points])

    def test_scalars_of_other_packages_are_numbers(self):
        ended = self.run_program("""
            class Scalar:
                def __init__(self, value): self.value = value
                def item(self): return self.value
            trial.log(step=1, loss=Scalar(1.5), correct=True)
            for wrong in ("1", None, [1], Scalar([1, 2])):
                try: trial.log(step=2, loss=wrong)
                except TypeError as error: print(error)
        """)
        self.assertEqual([("loss", 1, 1.5), ("correct", 1, 1.0)], ended.points)
        self.assertEqual(4, ended.out.count("loss is "))
        self.assertIn("a measurement is one number", ended.out)

    def test_progress_is_thinned_but_for_its_end(self):
        ended = self.run_program("for step in range(1, 20001): trial.progress(step, 20000, loss=1 / step, phase='train')")
        lines = ended.of("progress")
        self.assertEqual({"step": 1, "steps_total": 20000, "loss": 1.0, "phase": "train"}, lines[0])
        self.assertEqual(20000, lines[-1]["step"])
        self.assertLess(len(lines), 10000)

    def test_checkpoints_and_files_are_below_the_folder_of_the_output(self):
        ended = self.run_program("""
            out = trial.output_dir()
            (out / "step-3").mkdir()
            (out / "step-3/weights").write_text("w")
            trial.checkpoint(out / "step-3", step=3)
            (out / "model").write_text("m")
            trial.checkpoint("model", step=5, final=True)
            (out / "loss.png").write_text("p")
            trial.keep("loss.png")
            for wrong, kind in (("absent", FileNotFoundError), (__file__, ValueError), (out, ValueError)):
                try: trial.checkpoint(wrong)
                except kind as error: print(error)
        """)
        self.assertEqual([{"path": "step-3", "step": 3, "final": False}, {"path": "model", "step": 5, "final": True}], ended.of("checkpoint"))
        self.assertEqual([{"path": "loss.png"}], ended.of("file"))
        self.assertIn("absent is not there: report it when it is whole on disk", ended.out)
        self.assertEqual(2, ended.out.count("write it to trial.output_dir()"))

    def test_steps_save_report_and_remove_what_the_worker_has(self):
        ended = self.run_program("""
            import time
            for step in trial.steps(50, lambda path: path.write_text(str(step)), every=10):
                time.sleep(0.01)
            print(sorted(path.name for path in trial.output_dir().iterdir()))
        """)
        self.assertEqual([(10, False), (20, False), (30, False), (40, False), (50, True)], [(saved["step"], saved["final"]) for saved in ended.of("checkpoint")])
        self.assertIn("'model'", ended.out)
        self.assertNotIn("'step-10'", ended.out)

    def test_lines_of_threads_are_whole(self):
        ended = self.run_program("""
            import threading
            def work(number):
                for step in range(200): trial.log({"thread-%d" % number + "x" * 5000: step}, step=step)
            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        """)
        self.assertEqual(800, len(ended.points))

    def test_the_import_is_light(self):
        # Of modules, not of time: gRPC, protobuf, pandas and YAML take a second of each start.
        code = "import sys; from inlier import trial; print(sorted({m.partition('.')[0] for m in sys.modules}))"
        loaded = self.run_program(code, by_hand=True).out
        for heavy in ("grpc", "google", "pandas", "numpy", "yaml", "dataclasses", "multiprocessing", "argparse"):
            self.assertNotIn(f"'{heavy}'", loaded)


class OutcomeTest(TrialCase):
    def test_an_exception_fails_with_its_last_line(self):
        ended = self.run_program("trial.log(step=1, loss=2)\nraise ValueError('bad width 7')")
        self.assertEqual({"kind": "FAILED", "message": "ValueError: bad width 7", "failure": "CRASHED"}, ended.outcome)
        self.assertEqual(1, ended.status)
        self.assertIn("Traceback", ended.err)

    def test_a_lack_of_memory_is_named(self):
        for code in ("raise MemoryError", "raise RuntimeError('CUDA out of memory. Tried to allocate 2 GiB')", "class OutOfMemoryError(Exception): pass\nraise OutOfMemoryError"):
            with self.subTest(code):
                self.assertEqual("OUT_OF_MEMORY", self.run_program(code).outcome["failure"])

    def test_other_ends_report_no_success(self):
        for code, message in (("import sys; sys.exit(3)", None), ("import sys; sys.exit('no data')", "no data"), ("import os; os._exit(0)", None),
                              ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", None)):
            with self.subTest(code):
                outcome = self.run_program(code).outcome
                self.assertEqual(message, outcome and outcome["message"])
        self.assertEqual("SUCCEEDED", self.run_program("import sys; sys.exit(0)").outcome["kind"])

    def test_a_divergence_ends_the_program_and_is_the_last_line(self):
        ended = self.run_program("trial.diverge('the loss is NaN at step 7')")
        self.assertEqual((0, {"kind": "DIVERGED", "message": "the loss is NaN at step 7"}), (ended.status, ended.outcome))
        ended = self.run_program("trial.succeed()\ntrial.log(step=1, loss=2)\nraise ValueError")
        self.assertEqual([{"outcome": {"kind": "SUCCEEDED"}}], ended.lines)
        self.assertIn("trial.log is ignored: the trial's outcome is reported", ended.err)

    def test_a_worker_that_is_gone_asks_to_stop(self):
        code = START + "import os\nos.close(int(os.environ['INLIER_EVENTS']))\ntrial.log(step=1, loss=2)\nprint(trial.should_stop())"
        ended = stand_in.run(code)
        self.assertEqual((0, "True\n"), (ended.status, ended.out))
        self.assertIn("the worker reads no reports any more", ended.err)


class StopTest(TrialCase):
    LOOP = START + textwrap.dedent("""
        import time
        for step in range(1, 100000):
            {ask}
            trial.log(step=step, loss=1)
            time.sleep(0.01)
    """)

    def test_a_program_that_asks_saves_ends_and_reports_no_success(self):
        saves = "if trial.should_stop(): (trial.output_dir() / 'c').write_text('c'); trial.checkpoint('c'); break"
        program = stand_in.Program(self.LOOP.format(ask=saves))
        program.wait_for("measurement")
        program.stop()
        ended = program.end()
        self.assertEqual((0, None), (ended.status, ended.outcome))
        self.assertEqual(ended.points[-1][1], ended.of("checkpoint")[0]["step"])

    def test_a_program_that_never_asks_dies_by_the_signal(self):
        program = stand_in.Program(self.LOOP.format(ask="pass"))
        program.wait_for("measurement")
        program.stop()
        ended = program.end()
        self.assertEqual((-15, None), (ended.status, ended.outcome))

    def test_one_that_finishes_before_it_asks_again_has_succeeded(self):
        ended = self.run_program("import os, signal\ntrial.should_stop()\nos.kill(os.getpid(), signal.SIGTERM)\ntrial.result(loss=1)")
        self.assertEqual("SUCCEEDED", ended.outcome["kind"])

    def test_a_handler_of_the_program_is_still_called(self):
        code = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: print('mine'))\nfrom inlier import trial\nimport os\nos.kill(os.getpid(), signal.SIGTERM)\nprint(trial.should_stop())"
        self.assertEqual("mine\nTrue\n", stand_in.run(code).out)


class ProcessTest(TrialCase):
    def test_only_the_first_process_reports(self):
        ended = self.run_program("""
            import os, subprocess, sys
            if __name__ == "__main__":
                import multiprocessing
                if os.fork() == 0:
                    trial.log(step=1, loss=1)
                    trial.succeed()
                    sys.exit(0)
                os.wait()
                for kind in ("spawn", "fork", "forkserver"):
                    child = multiprocessing.get_context(kind).Process(target=trial.log, kwargs={"step": 2, "loss": 2})
                    child.start()
                    child.join()
                subprocess.run([sys.executable, "-c", "from inlier import trial; trial.log(step=3, loss=3); trial.succeed()"], check=True)
                trial.log(step=4, loss=4)
        """)
        self.assertEqual([("loss", 4, 4.0)], ended.points)
        self.assertEqual("SUCCEEDED", ended.outcome["kind"])
        self.assertEqual(5, ended.err.count("trial.log is ignored in process"))

    def test_ranks_of_a_launcher_that_closes_descriptors(self):
        launcher = textwrap.dedent("""
            import os, subprocess, sys
            ranks = [subprocess.Popen([sys.executable, "program.py"], env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3"})
                     for rank in range(3)]
            sys.exit(max(rank.wait() for rank in ranks))
        """)
        ended = self.run_program("import os\nos.write(1, f'{trial.rank()} {trial.world_size()}\\n'.encode())\ntrial.log(step=1, loss=trial.rank() + 5)", command=[sys.executable, "-c", launcher])
        self.assertEqual({"0 3", "1 3", "2 3"}, set(ended.out.splitlines()))
        self.assertEqual([("loss", 1, 5.0)], ended.points)
        self.assertEqual("SUCCEEDED", ended.outcome["kind"])

    def test_a_rank_with_a_runner_of_its_own_reports_its_outcome_alone(self):
        ended = self.run_program("print(trial.rank(), trial.world_size())\ntrial.log(step=1, loss=2)", given={"rank": 1, "world_size": 2})
        self.assertEqual("1 2\n", ended.out)
        self.assertEqual([{"outcome": {"kind": "SUCCEEDED"}}], ended.lines)

    def test_a_wrong_start_is_named(self):
        for environment, message in (({"INLIER_TRIAL": "/nowhere"}, "INLIER_TRIAL names /nowhere"), ({"INLIER_EVENTS": "77"}, "descriptor '77', which is not open")):
            with self.subTest(message):
                program = [sys.executable, "-c", f"import os; os.environ.update({environment}); from inlier import trial"]
                self.assertIn(message, stand_in.run(command=program).err)
        self.assertIn("is of protocol 2, this package of 1", self.run_program("", given={"protocol": 2}).err)


class ParametersTest(TrialCase):
    GIVEN = {"parameters": {"lr": 1, "layers": 6, "optimizer": {"name": "adam", "nesterov": True}}, "seed": 7}

    def test_values_come_from_the_trial_with_the_types_of_the_defaults(self):
        code = """
            p = trial.parameters(lr=3e-4, layers=4, optimizer={"name": "sgd", "nesterov": False}, width=8)
            print(repr(p.lr), p["layers"], p.optimizer.name, p["optimizer.nesterov"], p.width, "optimizer.name" in p, "depth" in p, sorted({**p}), trial.seed())
        """
        ended = self.run_program(code, given=self.GIVEN)
        self.assertEqual("1.0 6 adam True 8 True False ['layers', 'lr', 'optimizer', 'width'] 7\n", ended.out)
        self.assertEqual("inlier: the trial has no value for width: the program keeps its own; declare it in inlier-program.yaml to vary it\n", ended.err)
        self.assertEqual("0.0003 4 sgd False 8 True False ['layers', 'lr', 'optimizer', 'width'] 1\n", self.run_program(code, by_hand=True).out)

    def test_values_that_nobody_asks_for_are_named(self):
        self.assertIn("never asked for layers, optimizer.name, optimizer.nesterov", self.run_program("trial.parameters(lr=1.0)", given=self.GIVEN).err)
        self.assertEqual("", self.run_program("print(trial.parameters().optimizer.name)", given=self.GIVEN).err)

    def test_another_type_is_refused_with_the_remedy(self):
        for default, given in (("4", 4.5), ("True", 1), ("'a'", 3), ("4", True)):
            with self.subTest(default):
                ended = self.run_program(f"trial.parameters(x={default})", given={"parameters": {"x": given}})
                self.assertIn("make its type in inlier-program.yaml the same", ended.err)
                self.assertEqual("INVALID_SPEC", ended.outcome["failure"])

    def test_dataclasses(self):
        code = """
            import dataclasses, enum, pathlib
            class Norm(enum.Enum):
                LAYER = 1
                RMS = 2
            @dataclasses.dataclass
            class Optimizer:
                name: str = "sgd"
                nesterov: bool = False
            @dataclasses.dataclass(frozen=True)
            class Config:
                lr: float
                layers: int = 4
                norm: Norm = Norm.LAYER
                data: pathlib.Path = pathlib.Path("here")
                betas: tuple = (0.9, 0.99)
                seed: int = 0
                optimizer: Optimizer = dataclasses.field(default_factory=Optimizer)
            print(trial.parameters({}))
        """
        given = {**self.GIVEN, "parameters": {**self.GIVEN["parameters"], "norm": "RMS", "data": "there"}}
        shown = "Config(lr=1.0, layers=6, norm=<Norm.RMS: 2>, data=PosixPath('there'), betas=(0.9, 0.99), seed=7, optimizer=Optimizer(name='adam', nesterov=True))\n"
        for of in ("Config", "Config(lr=0.5)"):
            self.assertEqual(shown, self.run_program(code.format(of), given=given).out)
        self.assertIn("layers=4", self.run_program(code.format("Config(lr=0.5)"), by_hand=True).out)
        self.assertIn("Config.lr has no default, and the trial has no parameter lr", self.run_program(code.format("Config"), by_hand=True).err)

    def test_parsers_and_their_namespaces(self):
        code = """
            import argparse, pathlib
            parser = argparse.ArgumentParser()
            parser.add_argument("--lr", type=float, required=True)
            parser.add_argument("--layers", type=int, default=4)
            parser.add_argument("--optimizer.name", choices=["adam", "sgd"], default="sgd")
            parser.add_argument("--optimizer.nesterov", action="store_true")
            parser.add_argument("--data", type=pathlib.Path, default="here")
            print(trial.parameters({}))
        """
        given = {**self.GIVEN, "parameters": {**self.GIVEN["parameters"], "data": "there"}}
        ended = self.run_program(code.format("parser"), given=given, command=[sys.executable, "program.py", "--lr=9", "--layers=9"])
        self.assertEqual("Namespace(lr=1.0, layers=6, data=PosixPath('there'), **{'optimizer.name': 'adam', 'optimizer.nesterov': True})\n", ended.out)
        self.assertEqual(ended.out, self.run_program(code.format("parser"), given=given).out, "--lr need not be given")
        self.assertIn("lr=1.0, layers=6", self.run_program(code.format("parser.parse_args(['--lr=9'])"), given=given).out)
        by_hand = self.run_program(code.format("parser"), by_hand=True, command=[sys.executable, "program.py", "--lr=9"])
        self.assertIn("lr=9.0, layers=4", by_hand.out)

    def test_what_a_trial_is_told(self):
        code = "print(trial.stage(), trial.model(), trial.resume_from(), trial.resume_step(), trial.device(), trial.meeting())"
        self.assertEqual("train None None 0 cpu \n", self.run_program(code).out)
        given = {"stage": "evaluate", "model": "/m", "resume_from": "/r", "resume_step": 3, "device": "cuda", "meeting": "/meet"}
        self.assertEqual("evaluate /m /r 3 cuda /meet\n", self.run_program(code, given=given).out)

    def test_settings_of_inliers_evaluation_are_read_by_their_path(self):
        code = "print(trial.setting('data.text.path'), trial.setting('data.text')['sequence_length'], trial.setting('data.images', 'none'), trial.setting('data.text.path.x'))"
        given = {"settings": {"data": {"text": {"path": "/t", "sequence_length": 8}}}}
        self.assertIn("/t 8 none None", self.run_program(code, given=given).out)
        self.assertIn("None None", self.run_program("print(trial.setting('data.text'), trial.setting('data.text.path'))", by_hand=True).out)


class ByHandTest(TrialCase):
    def test_reports_are_lines_for_people(self):
        code = """
            trial.progress(1, 10, loss=3)
            trial.log(step=1, loss=2.5, accuracy=0.25)
            trial.result(perplexity=31.25)
            (trial.output_dir() / "c").write_text("c")
            trial.checkpoint("c", step=10)
        """
        ended = self.run_program(code, by_hand=True)
        self.assertEqual(["step 1/10, loss 3", "step 1: loss 2.5, accuracy 0.25", "result: perplexity 31.25", "checkpoint: output/c"], ended.out.splitlines())
        self.assertEqual((0, [], ""), (ended.status, ended.lines, ended.err))

    def test_python_3_9_reads_it(self):
        python = subprocess.run(["bash", "-c", "command -v python3.9 && python3.9 --version"], capture_output=True, text=True)
        if python.returncode != 0:
            self.skipTest("python3.9 is not there")
        ended = self.run_program("trial.result(loss=trial.parameters(lr=1.0).lr)", given={"parameters": {"lr": 2}}, python="python3.9")
        self.assertEqual(({"loss": 2.0}, "SUCCEEDED"), (ended.results, ended.outcome["kind"]))


if __name__ == "__main__":
    unittest.main()
