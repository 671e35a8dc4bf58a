#!/usr/bin/env python3
"""The programs of docs/examples/programs, by hand and in the place of a worker, and trainings with torchrun and Lightning. Cases of missing packages are skipped."""
import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile
import textwrap
import unittest

import stand_in

EXAMPLES = stand_in.ROOT / "docs/examples/programs"
SMALL_GPT = {"n": 1, "lr": 2e-3, "layers": 1, "width": 8, "heads": 2, "context": 8, "batch_size": 2, "steps": 1500}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)} is not installed")


class ExampleCase(unittest.TestCase):
    def copy(self, name):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / name
        shutil.copytree(EXAMPLES / name, folder)
        return folder

    def start(self, folder, command, **options):
        return stand_in.Program(folder=folder, command=command, environment=ONE_THREAD, **options)

    def stop_and_resume(self, folder, given, wait):
        """The lines up to a stop, and those of the program that resumes from the checkpoint."""
        kept = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        first = self.start(folder, [sys.executable, "train.py"], given={**given, "output_dir": str(kept)})
        first.wait_for(wait)
        first.stop()
        first = first.end()
        self.assertEqual((0, None), (first.status, first.outcome), first.err)
        saved = first.of("checkpoint")[-1]
        self.assertGreater(saved["step"], 0)
        second = self.start(folder, [sys.executable, "train.py"], given={**given, "resume_from": str(kept / saved["path"]), "resume_step": saved["step"]}).end()
        self.assertEqual((0, "SUCCEEDED"), (second.status, second.outcome and second.outcome["kind"]), second.err)
        self.assertGreater(min(step for _, step, _ in second.points), saved["step"])
        return saved, second


class MarksTest(unittest.TestCase):
    def test_a_training_has_five_lines_for_inlier_and_all_are_marked(self):
        for file in EXAMPLES.glob("*/*.py"):
            lines = [line for line in file.read_text(encoding="utf-8").splitlines() if re.search(r"\btrial\b|InlierCallback", line)]
            self.assertEqual([str(number) for number in range(1, len(lines) + 1)], [(re.findall(r"# inlier (\d)$", line) or [line])[0] for line in lines])
            self.assertLessEqual(len(lines), 5, file)
        self.assertLess(len((EXAMPLES / "gpt/train.py").read_text(encoding="utf-8").splitlines()), 150)


class BenchmarkTest(ExampleCase):
    def test_a_shell_script_reads_its_values_and_reports(self):
        given = {"parameters": {"tool": "gzip", "level": 9, "lines": 5000}}
        ended = self.start(self.copy("benchmark"), ["sh", "run.sh"], given=given).end()
        self.assertEqual((0, {"kind": "SUCCEEDED"}), (ended.status, ended.outcome), ended.err)
        self.assertEqual({"seconds", "ratio"}, set(ended.results))
        self.assertGreater(ended.results["ratio"], 2)
        given["parameters"]["tool"] = "no-such-tool"
        self.assertEqual("INVALID_SPEC", self.start(self.copy("benchmark"), ["sh", "run.sh"], given=given).end().outcome["failure"])

    def test_it_runs_by_hand(self):
        ended = self.start(self.copy("benchmark"), ["./run.sh"], by_hand=True).end()
        self.assertIn('{"name": "ratio", "value": ', ended.out)


@needs("torch")
class GptTest(ExampleCase):
    def test_it_runs_by_hand(self):
        folder = self.copy("gpt")
        code = (folder / "train.py").read_text(encoding="utf-8")
        (folder / "train.py").write_text(code.replace("steps=300", "steps=10"), encoding="utf-8")
        ended = self.start(folder, [sys.executable, "train.py"], by_hand=True).end()
        self.assertEqual(0, ended.status, ended.err)
        self.assertRegex(ended.out, r"step 10: loss [\d.]+\n(.*\n)*checkpoint: output/model\nresult: perplexity [\d.]+, max_inf_norm")

    def test_a_stopped_training_goes_on_to_the_same_result(self):
        folder, given = self.copy("gpt"), {"parameters": SMALL_GPT, "seed": 3}
        whole = self.start(folder, [sys.executable, "train.py"], given=given).end()
        self.assertEqual((0, "SUCCEEDED"), (whole.status, whole.outcome and whole.outcome["kind"]), whole.err)
        self.assertEqual("", whole.err, "all parameters are declared and read")
        self.assertEqual({"path": "model", "step": 1500, "final": True}, whole.of("checkpoint")[-1])
        saved, rest = self.stop_and_resume(folder, given, '"step": 50,')
        self.assertLess(saved["step"], 1500)
        self.assertEqual(whole.results, rest.results)
        self.assertEqual([point for point in whole.points if point[1] > saved["step"]], rest.points)

    def test_softmax_n_is_what_it_says(self):
        ended = self.start(self.copy("gpt"), [sys.executable, "-c", textwrap.dedent("""
            import torch, train
            scores = torch.randn(5, 7, dtype=torch.float64) * 3
            for n in (0.0, 1.0, 2.5):
                expected = scores.exp() / (n + scores.exp().sum(-1, keepdim=True))
                assert torch.allclose(train.softmax_n(scores, n), expected), n
                assert torch.isfinite(train.softmax_n(scores * 1000, n)).all()
        """)], by_hand=True).end()
        self.assertEqual((0, ""), (ended.status, ended.err))


@needs("torch", "transformers", "accelerate")
class BertTest(ExampleCase):
    GIVEN = {"parameters": {"gamma": -0.03, "layers": 1, "hidden_size": 16, "lr": 1e-3, "steps": 230}}

    def test_training_checkpoints_and_evaluation(self):
        folder = self.copy("bert")
        saved, rest = self.stop_and_resume(folder, self.GIVEN, '"name": "eval_loss"')
        self.assertGreaterEqual(saved["step"], 100)
        self.assertEqual({"loss", "eval_loss"}, set(rest.results), "of what the Trainer logs, the description's")
        self.assertIn("eval_loss", {name for name, _, _ in rest.points})
        self.assertEqual({"path": "model", "step": 230, "final": True}, rest.of("checkpoint")[-1])

    def test_the_product_is_evaluated(self):
        folder = self.copy("bert")
        kept = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        given = {"parameters": {**self.GIVEN["parameters"], "steps": 30}, "output_dir": str(kept)}
        trained = self.start(folder, [sys.executable, "train.py"], given=given).end()
        self.assertEqual("SUCCEEDED", trained.outcome and trained.outcome["kind"], trained.err)
        results = []
        for bits in (32, 2):
            given = {"stage": "evaluate", "model": str(kept / "model"), "parameters": {**self.GIVEN["parameters"], "bits": bits}}
            ended = self.start(folder, [sys.executable, "evaluate.py"], given=given).end()
            self.assertEqual("SUCCEEDED", ended.outcome and ended.outcome["kind"], ended.err)
            results.append(ended.results["rounded_loss"])
        self.assertNotEqual(*results)
        by_hand = self.start(folder, [sys.executable, "evaluate.py", str(kept / "model")], by_hand=True).end()
        self.assertRegex(by_hand.out, "result: accuracy [0-9.]+, rounded_loss ")


@needs("torch")
class RanksTest(ExampleCase):
    CODE = textwrap.dedent("""
        import time, torch
        from inlier import trial
        torch.distributed.init_process_group("gloo")
        for step in trial.steps(100000, lambda path: path.write_text("saved")):
            total = torch.tensor([trial.rank() + 1.0])
            torch.distributed.all_reduce(total)
            trial.log(step=step, total=total)
            time.sleep(0.001)
    """)

    def test_torchrun_has_one_reporter_and_all_processes_stop_after_the_same_step(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "train.py").write_text(self.CODE)
        program = self.start(folder, [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py"])
        program.wait_for('"name": "total"')
        program.stop()
        ended = program.end()
        self.assertEqual(list(range(1, len(ended.points) + 1)), [step for _, step, _ in ended.points])
        self.assertEqual({3.0}, {value for _, _, value in ended.points})
        self.assertEqual(len(ended.points), ended.of("checkpoint")[-1]["step"])
        self.assertIsNone(ended.outcome)


@needs("torch", "lightning")
class LightningTest(ExampleCase):
    CODE = textwrap.dedent("""
        import time, torch
        from lightning.pytorch import LightningModule, Trainer
        from inlier import trial
        from inlier.integrations.lightning import InlierCallback

        class Line(LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(1, 1)
            def training_step(self, batch, number):
                time.sleep(0.002)
                loss = ((self.layer(batch) - 2 * batch) ** 2).mean()
                self.log("loss", loss)
                self.log("other", loss)
                return loss
            def validation_step(self, batch, number):
                self.log("validation_loss", ((self.layer(batch) - 2 * batch) ** 2).mean())
            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.1)

        callback = InlierCallback(checkpoint_every=100)
        data = torch.utils.data.DataLoader(torch.linspace(-1, 1, 40)[:, None], batch_size=4)
        trainer = Trainer(max_steps=trial.parameters(steps=300).steps, callbacks=[callback], enable_checkpointing=False, logger=False,
                          enable_progress_bar=False, enable_model_summary=False, accelerator="cpu", log_every_n_steps=5)
        trainer.fit(Line(), data, data, ckpt_path=callback.resume_from())
    """)

    def test_curves_results_checkpoints_and_stops(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "train.py").write_text(self.CODE)
        (folder / "inlier-program.yaml").write_text("measurements: {loss: {better: LOWER}, validation_loss: {}, accuracy: {reported_by: EVALUATION}}\n")
        saved, rest = self.stop_and_resume(folder, {"parameters": {"steps": 300}}, '"step": 105,')
        self.assertEqual({"loss", "validation_loss"}, {name for name, _, _ in rest.points})
        self.assertEqual({"loss", "validation_loss"}, set(rest.results))
        self.assertLess(rest.results["loss"], 0.1)
        self.assertEqual({"path": "final.ckpt", "step": 300, "final": True}, rest.of("checkpoint")[-1])


class MissingPackagesTest(ExampleCase):
    def test_a_missing_package_is_named_with_the_remedy(self):
        for module, package in (("huggingface", "transformers"), ("lightning", "lightning")):
            hide = f"import sys; sys.modules.update(dict.fromkeys(['transformers', 'lightning', 'pytorch_lightning'])); import inlier.integrations.{module}"
            self.assertRegex(stand_in.run(command=[sys.executable, "-c", hide], by_hand=True).err, f"inlier.integrations.{module} needs .*pip install .*{package}")


if __name__ == "__main__":
    unittest.main()
