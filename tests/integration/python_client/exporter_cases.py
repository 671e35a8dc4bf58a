"""What other tools' own readers find in what inlier.export wrote: equal curves, results and hyper-parameters."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import inlier
import numpy as np

STATE = pathlib.Path(sys.argv.pop())


class ExporterTest(unittest.TestCase):
    def setUp(self):
        self.folder = inlier.open_dir(STATE)
        self.addCleanup(self.folder.close)
        self.out = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.curves = self.folder.curves("methods")
        self.results = self.folder.results("methods").set_index("trial")
        self.assertGreater(len(self.curves), 20)

    def trials(self):
        return [(trial, points.groupby("name")) for trial, points in self.curves.groupby("trial")]

    def test_tensorboard(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.plugins.hparams import metadata

        folders = {folder.name.split()[0]: folder for folder in inlier.export.tensorboard(self.folder, "methods", self.out)}
        self.assertEqual(set(self.results.index), set(folders))
        for trial, curves in self.trials():
            reader = EventAccumulator(str(folders[trial]))
            reader.Reload()
            for name, points in curves:
                events = reader.Scalars(name)
                self.assertEqual([(step, float(np.float32(value))) for step, value in zip(points["step"], points["value"])],
                                 [(event.step, event.value) for event in events])  # fmt: skip
                self.assertEqual([time.timestamp() for time in points["at"]], [event.wall_time for event in events])
            self.assertEqual(float(np.float32(self.results.perplexity[trial])), reader.Scalars("final/perplexity")[0].value)
            plugin = reader.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
            hparams = metadata.parse_session_start_info_plugin_data(plugin).hparams
            self.assertEqual(self.results.method[trial], hparams["method"].string_value)
            self.assertEqual(0.004, hparams["learning_rate"].number_value)
        with self.assertRaisesRegex(inlier.InlierError, "is there already; remove it or name another folder"):
            inlier.export.tensorboard(self.folder, "methods", self.out)

    def test_sites_are_exported_when_asked_for(self):
        from inlier.export._runs import runs_of

        sites = self.folder.curves("methods", sites=True)
        tags = {point.tag for run in runs_of(self.folder, "methods", True) for point in run.points}
        self.assertEqual({f"{name}/{site}" if site else name for name, site in zip(sites["name"], sites["site"])}, tags)

    def test_names_become_those_of_files_and_of_mlflow(self):
        from inlier.export._mlflow import key, keys
        from inlier.export._runs import Run

        run = Run("t-1", "../x/y", "s-3", "../../elsewhere", "SUCCEEDED", {}, {}, [])
        self.assertEqual(("_.._elsewhere-s-3", "t-1 .._x_y"), (run.sweep_file_name, run.file_name))
        self.assertEqual("hidden_size_ffn_size", key("hidden_size+ffn_size"))
        self.assertEqual(["layers.0/attention", "x_y", "_.", "a_.._b", "_abs"], [key(name) for name in ("layers.0/attention", "x=y", "..", "a/../b", "/abs")])
        self.assertEqual(["a_b", "a_b_2", "a_b_3"], keys(["a+b", "a_b", "a=b"]))
        self.assertEqual([250, 244], [len(name) for name in keys(["n" * 300, "n" * 301])])

    def test_the_command_names_what_is_wrong(self):
        command = [sys.executable, "-m", "inlier.export", "tensorboard", "--dir", str(STATE), "--sweep", "nothing", "-o", str(self.out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, "^error: there is no sweep nothing")

    @unittest.skipUnless(os.environ["INLIER_TEST_EXPORTERS"] == "1", "make test-exporters")
    def test_mlflow(self):
        from mlflow.tracking import MlflowClient

        ids = inlier.export.mlflow(self.folder, "methods", self.out / "mlruns")
        client = MlflowClient(tracking_uri=(self.out / "mlruns").as_uri())
        runs = {run.data.tags["inlier.trial"]: run for run in map(client.get_run, ids)}
        self.assertEqual(set(self.results.index), set(runs))
        for trial, curves in self.trials():
            run = runs[trial]
            for name, points in curves:
                history = client.get_metric_history(run.info.run_id, name)
                self.assertEqual(list(zip(points["step"], points["value"])), [(point.step, point.value) for point in history])
            self.assertEqual(self.results.perplexity[trial], run.data.metrics["final/perplexity"])
            self.assertEqual(("FINISHED", self.results.method[trial]), (run.info.status, run.data.params["method"]))

    @unittest.skipUnless(os.environ["INLIER_TEST_EXPORTERS"] == "1", "make test-exporters")
    def test_wandb(self):
        import json

        from wandb.proto import wandb_internal_pb2
        from wandb.sdk.internal.datastore import DataStore

        for folder in inlier.export.wandb(self.folder, "methods", self.out):
            reader = DataStore()
            reader.open_for_scan(str(next(folder.glob("*.wandb"))))
            history, summary, config = {}, {}, {}
            while (data := reader.scan_data()) is not None:
                record = wandb_internal_pb2.Record()
                record.ParseFromString(data)
                if record.HasField("run"):
                    config.update({item.key: json.loads(item.value_json) for item in record.run.config.update})
                if record.HasField("history"):
                    row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                    for name, value in row.items():
                        history.setdefault(name, []).append((row["_step"], value))
                if record.HasField("summary"):
                    summary.update({item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.summary.update})
            trial = config["trial"]
            for name, points in dict(self.trials())[trial]:
                self.assertEqual(list(zip(points["step"], points["value"])), history[name])
            self.assertEqual(self.results.perplexity[trial], summary["perplexity"])
            self.assertEqual(self.results.method[trial], config["method"])


if __name__ == "__main__":
    unittest.main()
