#!/usr/bin/env python3
"""deploy/kubernetes and deploy/containers: the manifests build, have the published forms, and agree with themselves, the guide and the
programs; the container file names what there is. kubernetes_pods_test.py runs the programs as the pods name them."""
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import yaml

import harness
from kubernetes import guide, kustomize, manifests

CONTAINERS = harness.ROOT / "deploy/containers"
EVENT_SECONDS = 10  # A worker that drains waits as long for its last events (worker/agent.h).


def kubectl_kustomize(folder):
    """What `kubectl kustomize` makes of it; None where there is no kubectl with a kustomize of today."""
    if shutil.which("kubectl") is None:
        return None
    version = subprocess.run(["kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True)
    if version.returncode != 0 or not re.search(r'"kustomizeVersion": "v5', version.stdout):
        return None
    built = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(built.stdout))


def by_name(documents):
    return {manifests.title(document): document for document in documents}


class ManifestsTest(harness.FolderTest):
    def test_every_set_of_components_has_the_published_forms(self):
        for count in range(len(guide.COMPONENTS) + 1):
            for components in itertools.combinations(guide.COMPONENTS, count):
                with self.subTest(components):
                    documents = kustomize.build(guide.write_overlay(self.folder, components))
                    self.assertEqual([], manifests.problems(documents))
                    self.assertEqual({"inlier"}, {document["metadata"]["namespace"] for document in documents})
                    self.assertEqual(len(documents), len(by_name(documents)))

    def test_the_guide_builds_and_kustomize_agrees(self):
        guide.follow(self.folder)
        with_data = self.folder / "cluster-with-data/kustomization.yaml"
        with_data.parent.mkdir()
        with_data.write_text((self.folder / "cluster/kustomization.yaml").read_text().replace("components:\n", "components:\n  - ../cluster/data\n"))
        for folder in (self.folder / "cluster", with_data.parent):
            documents = kustomize.build(folder)
            self.assertEqual([], manifests.problems(documents))
            kustomized = kubectl_kustomize(folder)
            if kustomized is not None:
                self.assertEqual(by_name(kustomized), by_name(documents))
        print("kubectl kustomize:", "not compared: there is no kubectl with kustomize 5" if kustomized is None else "equal")
        worker = kustomize.pod_of(manifests.one(documents, "Deployment", "inlier-worker"))["spec"]["containers"][0]
        self.assertIn("--set=data_roots=/data", worker["args"])
        rules = kustomize.read(self.folder / "rules.yaml")
        self.assertEqual(["inlier-rules", "inlier-alerts"], [rule["metadata"]["name"] for rule in rules])
        self.assertEqual([], manifests.problems(rules))

    def test_images_have_the_version_of_the_programs(self):
        version = subprocess.run([harness.BIN / "inlier-worker", "--version"], capture_output=True, text=True, check=True).stdout.split()[1].split("+")[0]
        guide.follow(self.folder)
        images = [container["image"] for document in kustomize.build(self.folder / "cluster") for container in kustomize.containers(document)]
        self.assertEqual({version}, {image.rpartition(":")[2] for image in images})

    def test_numbers_of_a_worker_agree(self):
        documents = kustomize.build(guide.write_overlay(self.folder, guide.COMPONENTS))
        config, resources, grace = manifests.worker_numbers(documents)
        self.assertEqual(config["slots"] * config["threads_per_slot"], int(resources["requests"]["cpu"]), "a slot's threads are the CPUs of the pod")
        self.assertEqual(config["slots"], int(resources["limits"]["nvidia.com/gpu"]), "a slot a GPU")
        # Else the kubelet gives it no CPUs of its own.
        self.assertEqual(*({name: of[name] for name in ("cpu", "memory")} for of in (resources["requests"], resources["limits"])))
        # As long again for the upload of the checkpoint.
        self.assertGreaterEqual(grace, 2 * config["stop_grace_ms"] / 1000 + EVENT_SECONDS)
        (trigger,) = manifests.one(documents, "ScaledObject", "inlier-worker")["spec"]["triggers"]
        self.assertEqual(str(config["slots"]), trigger["metadata"]["threshold"])
        self.assertNotIn("replicas", manifests.one(documents, "Deployment", "inlier-worker")["spec"], "KEDA's alone")

    def test_pods_fit_the_restricted_standard(self):
        # Rules of our own: Kubernetes' Pod Security Standard, restricted, is no schema.
        for document in kustomize.build(guide.write_overlay(self.folder, guide.COMPONENTS)):
            pod = kustomize.pod_of(document)
            if pod is None:
                continue
            context = pod["spec"]["securityContext"]
            self.assertEqual((True, "RuntimeDefault"), (context["runAsNonRoot"], context["seccompProfile"]["type"]))
            self.assertGreater(context["runAsUser"], 0)
            self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & set(pod["spec"]))
            self.assertFalse([volume for volume in pod["spec"]["volumes"] if "hostPath" in volume])
            for container in pod["spec"]["containers"]:
                self.assertEqual({"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, container["securityContext"])

    def test_no_file_holds_a_secret(self):
        for file in sorted(guide.DEPLOY.rglob("*")):
            if file.is_file():
                text = file.read_text()
                self.assertNotRegex(text, r"PRIVATE KEY|BEGIN CERTIFICATE|inlier_[0-9a-f]{16}|kind: Secret", file)


class BadInputTest(harness.FolderTest):
    def problem(self, kind, name, change):
        documents = kustomize.build(guide.write_overlay(self.folder, guide.COMPONENTS))
        change(manifests.one(documents, kind, name))
        found = manifests.problems(documents)
        self.assertEqual(1, len(found), found)
        return found[0]

    def test_values_that_are_no_resource(self):
        def container(document):
            return document["spec"]["template"]["spec"]["containers"][0]
        worker = ("Deployment", "inlier-worker")
        for (kind, name), change, expected in (
                (worker, lambda d: container(d)["resources"]["limits"].update(memory="lots"),
                 "Deployment inlier-worker: spec.template.spec.containers[0].resources.limits.memory: 'lots' is no quantity; write a number with or without a unit: 2, 500m, 16Gi"),
                (("StatefulSet", "inlier-coordinator"), lambda d: d["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"].update(storage="50 GB"),
                 "StatefulSet inlier-coordinator: spec.volumeClaimTemplates[0].spec.resources.requests.storage: '50 GB' is no quantity"),
                (worker, lambda d: d["spec"].update(replicas="two"), "Deployment inlier-worker: spec.replicas: 'two' is not of type 'integer'"),
                (worker, lambda d: container(d).update(imagePullPolice="Always"), "spec.template.spec.containers[0]: Additional properties are not allowed ('imagePullPolice' was unexpected)"),
                (worker, lambda d: d["spec"].pop("selector"), "Deployment inlier-worker: spec: 'selector' is a required property"),
                (worker, lambda d: d.update(kind="Deploiment"), "there is no schema of apps/v1 Deploiment: add it to tests/integration/kubernetes/make_schemas, or correct"),
                (worker, lambda d: container(d)["livenessProbe"]["httpGet"].update(port="web"), "Deployment inlier-worker: livenessProbe: the container has no port web"),
                (worker, lambda d: container(d)["volumeMounts"][0].update(name="sate"), "the mount /var/lib/inlier-worker names the volume sate, which is not there"),
                (worker, lambda d: d["spec"]["template"].update(spec=None), "spec.template.spec: it has no value; write one, or remove the key"),
                (("Service", "inlier-coordinator"), lambda d: d["spec"]["selector"].update({"app.kubernetes.io/name": "coordinator"}), "Service inlier-coordinator: it selects no pod"),
                (("NetworkPolicy", "inlier-worker"), lambda d: d["spec"]["egress"][0]["ports"][0].update(port=7520), "NetworkPolicy inlier-worker: no container has the port 7520"),
                (("ScaledObject", "inlier-worker"), lambda d: d["spec"]["triggers"][0]["metadata"].update(threshold=1), "ScaledObject inlier-worker: spec.triggers[0].metadata.threshold: 1 is not of type 'string'"),
                (("ScaledObject", "inlier-worker"), lambda d: d["spec"].update(maxReplicas=3), "ScaledObject inlier-worker: spec: Additional properties are not allowed ('maxReplicas' was unexpected)"),
                (("ServiceMonitor", "inlier-coordinator"), lambda d: d["spec"]["endpoints"][0].update(interval=["15s"]), "ServiceMonitor inlier-coordinator: spec.endpoints[0].interval: ['15s'] is not of type"),
                (("PodMonitor", "inlier-worker"), lambda d: d["spec"].pop("selector"), "PodMonitor inlier-worker: spec: 'selector' is a required property")):
            with self.subTest(expected):
                self.assertIn(expected, self.problem(kind, name, change))

    def test_kustomizations_with_faults(self):
        for further, expected in (
                ("helmCharts: []\n", "helmCharts: not among the fields that this test builds"),
                ("patches: [{target: {kind: Deployment, name: worker}, patch: '[]'}]\n", "patches: there is no Deployment worker"),
                ("patches: [{target: {kind: Deployment, name: inlier-worker}, patch: '[{op: replace, path: /spec/replica, value: 2}]'}]\n",
                 "patches: Deployment inlier-worker has no /spec/replica"),
                ("images: [{name: inlier, newTag: '1'}]\n", "images: no container has the image inlier"),
                ("namespace: other\n", "the key 'namespace' occurs twice")):
            with self.subTest(expected), self.assertRaises(kustomize.ManifestError) as caught:
                kustomize.build(guide.write_overlay(self.folder, (), further))
            self.assertIn(expected, str(caught.exception))
        for text, expected in (("kind: ConfigMap\nmetadata: {name: a}\n", "a document is no resource: it needs apiVersion, kind and metadata.name"), ("a: [1\n", "extra.yaml"),
                               (None, "extra.yaml: No such file")):
            cluster = guide.write_overlay(self.folder, ())
            file = cluster / "kustomization.yaml"
            file.write_text(file.read_text().replace("resources: [", "resources: [extra.yaml, "))
            if text is not None:
                (cluster / "extra.yaml").write_text(text)
            with self.subTest(expected), self.assertRaises(kustomize.ManifestError) as caught:
                kustomize.build(cluster)
            self.assertIn(expected, str(caught.exception))


class ImagesTest(unittest.TestCase):
    """What can be known of the container file without an engine: nothing here has built it."""

    def setUp(self):
        text = re.sub(r"(?m)^#.*\n", "", (CONTAINERS / "Containerfile").read_text()).replace("\\\n", " ")
        self.lines = [line for line in text.splitlines() if line]
        self.commands = [command.strip() for line in self.lines if line.startswith("RUN ") for command in re.split(r"&&|>", line[4:])]

    def test_stages_and_copied_files_exist(self):
        stages = []
        for line in self.lines:
            words = line.split()
            if words[0] == "FROM":
                self.assertTrue(words[1] in stages or re.fullmatch(r"\$\{(BUILD_)?BASE\}", words[1]), line)
                stages.append(words[3])
            elif words[0] == "COPY" and words[1].startswith("--from="):
                self.assertIn(words[1].removeprefix("--from="), stages[:-1], line)
            elif words[0] == "COPY":
                self.assertTrue((harness.ROOT / words[1]).exists(), line)
            else:
                self.assertIn(words[0], ("ARG", "RUN", "WORKDIR", "USER", "ENV", "ENTRYPOINT"), line)
        targets = re.findall(r"--target (\S+) -t \S+/(\S+):", guide.TEXT)
        self.assertEqual([("coordinator", "inlier-coordinator"), ("worker", "inlier-worker")], targets)
        self.assertLessEqual({target for target, _ in targets}, set(stages))

    def test_commands_name_what_there_is(self):
        presets = {preset["name"] for preset in json.loads((harness.ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        steps = set(re.findall(r"(?m)^    ([a-z-]+)\) ", (harness.ROOT / "tools/setup/setup").read_text()))
        options = (harness.ROOT / "CMakeLists.txt").read_text() + (harness.ROOT / "cmake/LibTorch.cmake").read_text()
        seen = set()
        for command in self.commands:
            words = command.split()
            seen.add(words[0])
            if command.startswith("cmake --preset"):
                self.assertIn(words[2], presets)
                for name in re.findall(r"-D(\w+)=", command):
                    self.assertRegex(options, rf"(set|option)\({name} ")
            elif command.startswith("cmake --build"):
                for target in words[words.index("--target") + 1:]:
                    self.assertTrue((harness.BIN / target).exists(), target)
            elif words[0] == "tools/setup/setup":
                self.assertLessEqual(set(words[1:]), steps)
            elif words[0].startswith(("tools/", "deploy/")):
                self.assertTrue(os.access(harness.ROOT / words[0], os.X_OK), words[0])
            elif "apt-get install" in command:
                for package in words[words.index("--no-install-recommends") + 1:]:
                    self.assertEqual(0, subprocess.run(["apt-cache", "show", package], capture_output=True).returncode, package)
        self.assertLessEqual({"cmake", "tools/setup/setup", "deploy/containers/runtime-packages", "xargs"}, seen)

    def test_users_and_programs_are_those_of_the_pods(self):
        with harness.temporary_folder() as folder:
            pods = {container["name"]: (pod["spec"]["securityContext"], container) for document in kustomize.build(guide.write_overlay(folder, ()))
                    if (pod := kustomize.pod_of(document)) for container in pod["spec"]["containers"]}
        found, stage = {}, None
        for line in self.lines:
            if line.startswith("FROM "):
                stage = line.split()[3]
            elif line.startswith(("USER ", "ENTRYPOINT ")):
                found.setdefault(stage, {})[line.split()[0]] = line.split(maxsplit=1)[1]
        self.assertEqual({name: {"USER": f"{context['runAsUser']}:{context['runAsGroup']}", "ENTRYPOINT": json.dumps(container["command"])}
                          for name, (context, container) in pods.items()}, found)

    def test_packages_of_the_programs_are_found(self):
        tool = CONTAINERS / "runtime-packages"
        programs = [harness.BIN / name for name in ("inlier", "inlier-coordinator")]
        packages = subprocess.run([tool, *programs], capture_output=True, text=True, check=True).stdout.split()
        loaded = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
        # Every library is a file of one of them.
        files = subprocess.run(["dpkg", "-L", *packages], capture_output=True, text=True, check=True).stdout.split()
        names = {pathlib.Path(file).name for file in files}
        libraries = set(re.findall(r"=> \S+/(\S+) \(", loaded))
        self.assertGreater(len(libraries), 10)
        self.assertEqual(set(), {library for library in libraries if library not in names})
        for wrong, expected in (([], "usage"), ([CONTAINERS / "Containerfile"], "is no program that loads libraries")):
            done = subprocess.run([tool, *wrong], capture_output=True, text=True)
            self.assertNotEqual(0, done.returncode)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    unittest.main()
