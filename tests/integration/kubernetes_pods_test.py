#!/usr/bin/env python3
"""The programs run as the pods of deploy/kubernetes name them, by hand and in the order of their probes: no engine here runs the
manifests themselves. Prometheus scrapes them as the monitors name them, and answers the query by which KEDA scales."""
import json
import math
import re
import shutil
import ssl
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

import harness
from kubernetes import guide, kustomize, manifests
from kubernetes.pods import IS_ROOT, Pod

SWEEP = """
name: moved
base:
  model: {bert: {layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 400}}, sequence_length: 16, mask_probability: 0.3}}
  training: {steps: 600, batch_size: 8, measure_every: 10, checkpoint_every: 1000000}
  evaluation: {batches: 2, batch_size: 16}
axes:
  - {field: seed, values: [1]}
  - name: bits
    variants:
      - {label: float, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 2}}}}
"""


class ByHandTest(unittest.TestCase):
    """The programs as the pods of the guide's cluster name them, in the order in which a cluster would start them."""

    def setUp(self):
        self.folder = self.enterContext(harness.temporary_folder())
        self.folder.chmod(0o711)
        (self.folder / "guide").mkdir(mode=0o711)
        guide.follow(self.folder / "guide")
        self.documents = kustomize.build(self.folder / "guide/cluster")
        self.secrets = guide.secrets_of(self.folder / "guide")
        self.assertEqual({"inlier-coordinator", "inlier-worker"}, set(self.secrets))
        self.ports = {port: harness.free_port() for port in (7420, 7421, 7422)}
        print("as the user of the pods" if IS_ROOT else "as this user, since only root can be the pods' user", flush=True)

    def pod(self, kind, name, folder, **options):
        pod = Pod(manifests.one(self.documents, kind, name), self.documents, self.secrets, self.folder / folder, self.ports, **options)
        self.addCleanup(pod.end)
        return pod

    def worker(self, folder):
        # The corpora are in the image.
        return self.pod("Deployment", "inlier-worker", folder, extra_arguments=[f"--set=data_dir={harness.DATA}"])

    def call(self, *arguments, **options):
        pki = self.folder / "guide/pki"
        return harness.inlier(*arguments, "--server", f"localhost:{self.ports[7420]}", "--tls-ca", pki / "ca.pem", "--token-file", pki / "alice.token", **options)

    def connected(self):
        """The number of connected workers, of the coordinator's metrics."""
        address = f"https://127.0.0.1:{self.ports[7421]}/metrics"
        with urllib.request.urlopen(address, timeout=10, context=ssl._create_unverified_context()) as page:
            return int(re.search(r'inlier_workers\{state="CONNECTED"\} (\d+)', page.read().decode())[1])

    def start_prometheus(self):
        """Prometheus with the targets of the monitors, as the operator makes them: job, scheme, path, name in the certificate."""
        monitor = manifests.one(self.documents, "ServiceMonitor", "inlier-coordinator")["spec"]
        (endpoint,) = monitor["endpoints"]
        ca = self.secrets[endpoint["tlsConfig"]["ca"]["secret"]["name"]][endpoint["tlsConfig"]["ca"]["secret"]["key"]]
        service = manifests.one(self.documents, "Service", "inlier-coordinator")
        (number,) = [port["port"] for port in service["spec"]["ports"] if port["name"] == endpoint["port"]]
        pods = manifests.one(self.documents, "PodMonitor", "inlier-worker")["spec"]
        (of_pods,) = pods["podMetricsEndpoints"]
        labels = kustomize.pod_of(manifests.one(self.documents, "Deployment", "inlier-worker"))["metadata"]["labels"]
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [
            {"job_name": service["metadata"]["labels"][monitor["jobLabel"]], "scheme": endpoint["scheme"], "metrics_path": endpoint["path"],
             "tls_config": {"ca_file": str(ca), "server_name": endpoint["tlsConfig"]["serverName"]}, "static_configs": [{"targets": [f"127.0.0.1:{self.ports[number]}"]}]},
            {"job_name": labels[pods["jobLabel"]], "metrics_path": of_pods["path"], "static_configs": [{"targets": [f"127.0.0.1:{self.ports[7422]}"]}]}]}
        file = self.folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(config))
        self.prometheus = f"127.0.0.1:{harness.free_port()}"
        log = self.enterContext(open(self.folder / "prometheus.log", "wb"))
        process = subprocess.Popen(["prometheus", f"--config.file={file}", f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address={self.prometheus}"], stdout=log, stderr=log)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)

    def answer(self, expression):
        """The values by the label `job`; {} until Prometheus is ready."""
        try:
            with urllib.request.urlopen(f"http://{self.prometheus}/api/v1/query?query={urllib.parse.quote(expression)}", timeout=10) as page:
                return {series["metric"].get("job", ""): float(series["value"][1]) for series in json.load(page)["data"]["result"]}
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return {}
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        except OSError:
            return {}

    def wanted_workers(self):
        """The replicas that KEDA's trigger asks for; None while its query has no answer."""
        spec = manifests.one(self.documents, "ScaledObject", "inlier-worker")["spec"]
        (trigger,) = spec["triggers"]
        values = self.answer(trigger["metadata"]["query"])
        if not values:
            return None
        (value,) = values.values()
        return min(spec["maxReplicaCount"], max(spec["minReplicaCount"], math.ceil(value / float(trigger["metadata"]["threshold"]))))

    def sql(self, statement):
        return harness.sql(self.coordinator.volumes["state"] / "state", statement)

    def test_a_training_moves_to_another_pod(self):
        self.coordinator = self.pod("StatefulSet", "inlier-coordinator", "coordinator")
        self.assertFalse(self.coordinator.probe("startupProbe"), "nothing runs yet")
        self.coordinator.start()
        print(f"coordinator: startup probe after {self.coordinator.wait_until_ready():.1f} s", flush=True)
        self.start_prometheus()
        self.assertEqual([], json.loads(self.call("workers", "--json").stdout).get("workers", []))
        harness.wait_for("the answer to KEDA's query without work", lambda: self.wanted_workers() == 0)

        sweep = self.folder / "moved.yaml"
        sweep.write_text(SWEEP)
        sweep = self.call("submit", sweep, "--quiet").stdout.strip()
        harness.wait_for("KEDA's query to ask for a worker", lambda: self.wanted_workers() == 1)

        first = self.worker("first")
        first.start()
        print(f"worker: startup probe after {first.wait_until_ready():.1f} s", flush=True)
        harness.wait_for("the first worker", self.connected)
        config, _, _ = manifests.worker_numbers(self.documents)
        self.assertEqual([config["slots"]], [worker["slots"] for worker in json.loads(self.call("workers", "--json").stdout)["workers"]])
        harness.wait_for("both targets up", lambda: self.answer("up") == {"inlier-coordinator": 1, "inlier-worker": 1})
        self.wait_for("steps of the training", lambda: self.sql("SELECT 1 FROM curves WHERE step >= 50"), first, 120)
        self.assertEqual(1, self.wanted_workers(), "while it runs, too")
        status, seconds = first.delete()
        print(f"worker: ended {seconds:.1f} s after SIGTERM", flush=True)
        self.assertEqual(0, status, first.output())
        harness.wait_for("the worker to be gone", lambda: self.connected() == 0)
        saved = self.sql("SELECT coalesce(max(step), 0) FROM artifact")[0][0]
        self.assertGreater(saved, 0, "the checkpoint of its end is with the coordinator")

        # The disk of the first pod is gone. The coordinator's is not: what people run in the pod finds it.
        shutil.rmtree(first.volumes["state"])
        self.assertEqual([0, 0], self.ends_of_guide_commands(), self.coordinator.output())

        second = self.worker("second")
        second.start()
        second.wait_until_ready()
        self.wait_for("the end of the sweep", lambda: self.sql("SELECT 1 FROM sweep WHERE ended_ms IS NOT NULL"), second, 240)
        self.assertEqual([("SUCCEEDED", 2)], self.sql("SELECT state, count(*) FROM trials GROUP BY state"), second.output())
        self.assertEqual([saved], [step for step, in self.sql("SELECT DISTINCT resumed_step FROM attempts WHERE kind = 'TRAIN' AND outcome = 'SUCCEEDED'")])
        harness.wait_for("KEDA's query to ask for no worker", lambda: self.wanted_workers() == 0)

        # A changed Secret counts without a restart.
        pki = self.folder / "guide/pki"
        bob = harness.inlier("token", "add", "--file", pki / "tokens", "--role", "read", "--name", "bob", "--quiet").stdout
        (pki / "alice.token").write_text(bob)
        self.assertNotEqual(0, self.call("status", check=False).returncode)
        self.coordinator.renew({"tokens": (pki / "tokens").read_bytes()})
        harness.wait_for("the new token", lambda: self.call("status", check=False).returncode == 0)

        # A coordinator that goes takes no worker with it.
        status, seconds = self.coordinator.delete()
        print(f"coordinator: ended {seconds:.1f} s after SIGTERM", flush=True)
        self.assertEqual(0, status, self.coordinator.output())
        self.assertTrue(second.probe("livenessProbe"))
        again = self.pod("StatefulSet", "inlier-coordinator", "again", volumes={"state": self.coordinator.volumes["state"]})
        again.start()
        again.wait_until_ready()
        harness.wait_for("the worker to come back", self.connected)
        self.assertIn("complete, 2/2 trials", self.call("status", sweep).stdout)
        self.assertEqual([0, 0], [second.delete()[0], again.delete()[0]])

    def wait_for(self, what, condition, worker, seconds):
        try:
            harness.wait_for(what, condition, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.coordinator.output()}\n{worker.output()}") from None

    def ends_of_guide_commands(self):
        """The exit statuses of what the guide runs in the coordinator's pod, here."""
        return [self.coordinator.run(command.split()) for command in re.findall(r"exec inlier-coordinator-0 -- (.*)", guide.TEXT)]


if __name__ == "__main__":
    unittest.main()
