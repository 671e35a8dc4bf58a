"""A pod of the manifests, run by hand: its volumes as folders, its user and groups, its command, its probes by HTTP.

The programs run outside a container, so paths of the container become folders, and ports become free ones; nothing else of
their configuration is changed.
"""
import os
import pathlib
import re
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import harness
from kubernetes import kustomize


class Pod:
    def __init__(self, workload, documents, secrets, folder, ports, extra_arguments=(), volumes=None):
        """`secrets`: their files, by name and key. `ports`: the free one of each. `volumes`: folders of an earlier pod, for claims."""
        self.spec = kustomize.pod_of(workload)["spec"]
        (self.container,) = self.spec["containers"]
        self.ports, self.process = ports, None
        context = self.spec["securityContext"]
        self.user, self.group = context["runAsUser"], context["fsGroup"]
        folder.mkdir(mode=0o755)
        self.mounts, self.volumes = {}, {}
        claims = {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        by_name = {volume["name"]: volume for volume in self.spec["volumes"]}
        for mount in self.container["volumeMounts"]:
            name = mount["name"]
            place = (volumes or {}).get(name) or folder / name
            self.mounts[mount["mountPath"]] = self.volumes[name] = place
            if not place.exists():
                self.fill(place, by_name.get(name, {}), name in claims)
        for name, source in by_name.items():
            if "projected" in source:
                self.project(self.volumes[name], source["projected"], documents, secrets)
        words = [*self.container["command"], *self.container["args"]]
        self.command = [str(harness.BIN / words[0]), *map(self.outside, words[1:]), *extra_arguments]
        self.log = folder / "log"

    def fill(self, place, source, is_claim):
        if not is_claim and not {"emptyDir", "projected"} & set(source):
            raise AssertionError(f"the volume {source} is of a kind that this test does not make")
        place.mkdir()
        if IS_ROOT:  # As the kubelet leaves a volume for a pod with an fsGroup.
            os.chown(place, 0, self.group)
            place.chmod(0o2775)

    def project(self, place, projected, documents, secrets):
        """Files behind a link that is replaced as a whole, of root and the pod's group."""
        files = {}
        for source in projected["sources"]:
            if "configMap" in source:
                (data,) = [document["data"] for document in documents if document["kind"] == "ConfigMap" and document["metadata"]["name"] == source["configMap"]["name"]]
                files |= {key: self.outside(text).encode() for key, text in data.items()}
            else:
                files |= {key: path.read_bytes() for key, path in secrets[source["secret"]["name"]].items()}
        for key in files:
            (place / key).symlink_to(pathlib.Path("..data") / key)
        self.projected = place, projected["defaultMode"], files
        self.renew({})

    def renew(self, changed):
        """Other contents of some files, as the kubelet brings them when a Secret has changed."""
        place, mode, files = self.projected
        files |= changed
        data = place / f"..{len(list(place.iterdir()))}"
        data.mkdir()
        for key, content in files.items():
            (data / key).write_bytes(content)
            (data / key).chmod(mode)
            if IS_ROOT:
                os.chown(data / key, 0, self.group)
        (place / "..data_tmp").symlink_to(data.name)
        (place / "..data_tmp").rename(place / "..data")

    def outside(self, text):
        """A text of the container with folders and ports of this machine; the coordinator's Service is this machine."""
        text = re.sub(r"\b74\d\d\b", lambda match: str(self.ports[int(match[0])]), text)
        text = re.sub(r"\binlier-coordinator:", "localhost:", text)
        paths = "|".join(re.escape(path) for path in self.mounts)
        return re.sub(rf"(?<![\w./-])({paths})(?=/|$)", lambda match: str(self.mounts[match[1]]), text)

    def open(self, words, output):
        environment = {"PATH": f"{harness.BIN}:{os.environ['PATH']}", "HOME": "/nonexistent", "TMPDIR": str(self.mounts["/tmp"])}
        as_user = {"user": self.user, "group": self.group, "extra_groups": [self.group]} if IS_ROOT else {}
        return subprocess.Popen(words, env=environment, stdout=output, stderr=output, cwd="/", **as_user)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = self.open(self.command, log)

    def run(self, words):
        """The exit status of a further command in the pod (`kubectl exec`)."""
        with open(self.log, "ab") as log:
            return self.open([self.outside(word) for word in words], log).wait(60)

    def probe(self, kind):
        """The answer to one probe, as the kubelet asks: it verifies no certificate."""
        get = self.container[kind]["httpGet"]
        (number,) = [port["containerPort"] for port in self.container["ports"] if port["name"] == get["port"]]
        address = f"{get.get('scheme', 'HTTP').lower()}://127.0.0.1:{self.ports[number]}{get['path']}"
        try:
            with urllib.request.urlopen(address, timeout=self.container[kind].get("timeoutSeconds", 1), context=ssl._create_unverified_context()) as answer:
                return 200 <= answer.status < 400
        except (urllib.error.URLError, OSError):
            return False

    def wait_until_ready(self):
        """Startup, then readiness and liveness. The seconds until the first success of the startup probe."""
        startup, started = self.container["startupProbe"], time.monotonic()

        def up():
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}:\n{self.output()}")
            return self.probe("startupProbe")
        harness.wait_for(f"the startup probe of {self.command[0]}", up, startup["periodSeconds"] * startup["failureThreshold"])
        seconds = time.monotonic() - started
        for kind in ("readinessProbe", "livenessProbe"):
            if not self.probe(kind):
                raise AssertionError(f"{kind} fails after the startup probe:\n{self.output()}")
        return seconds

    def delete(self):
        """SIGTERM, as a pod is deleted; (exit status, seconds), within the grace period or this fails."""
        started = time.monotonic()
        self.process.terminate()
        try:
            status = self.process.wait(self.spec["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it runs after terminationGracePeriodSeconds:\n{self.output()}") from None
        return status, time.monotonic() - started

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def output(self):
        return self.log.read_text(errors="replace")[-4000:]


# Root can be another user, where the build is in folders that others may enter.
IS_ROOT = os.geteuid() == 0 and all(place.stat().st_mode & 0o001 for place in [harness.BIN.resolve(), *harness.BIN.resolve().parents])
