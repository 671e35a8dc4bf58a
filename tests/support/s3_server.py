#!/usr/bin/env python3
"""A real S3-compatible store for tests: SeaweedFS, which checks signatures and keeps its objects when it is killed.

  s3_server.py FOLDER [BUCKET [PORT]]     prints the endpoint when the bucket is there; ends with its standard input

`tools/setup/setup s3-server` installs the program. The key pair is KEY, for every caller in this process's environment, too.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

PROGRAM = pathlib.Path(os.environ.get("INLIER_S3_SERVER", pathlib.Path(__file__).resolve().parents[2] / ".deps/s3-server/bin/weed"))
KEY = {"AWS_ACCESS_KEY_ID": "test-access", "AWS_SECRET_ACCESS_KEY": "test-secret-of-no-value"}
_PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc")


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class S3Server:
    """Keeps its ports and its objects over kill() and start()."""

    def __init__(self, folder, bucket="checkpoints", port=None):
        self.folder = pathlib.Path(folder)
        self.bucket = bucket
        self.process = None
        self.ports = dict(zip(_PORTS, _free_ports(len(_PORTS))))
        if port is not None:
            self.ports["s3.port"] = int(port)
        self.endpoint = f"http://127.0.0.1:{self.ports['s3.port']}"
        (self.folder / "data").mkdir(parents=True)
        identity = {"name": "tests", "credentials": [{"accessKey": KEY["AWS_ACCESS_KEY_ID"], "secretKey": KEY["AWS_SECRET_ACCESS_KEY"]}],
                    "actions": ["Admin", "Read", "Write", "List"]}
        (self.folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    def start(self, seconds=120):
        if not PROGRAM.exists():
            raise AssertionError(f"{PROGRAM} is not there; tools/setup/setup s3-server installs it")
        arguments = [str(PROGRAM), "-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={self.folder / 'data'}", "-filer", "-s3",
                     f"-s3.config={self.folder / 's3.json'}", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=0",
                     *(f"-{name}={port}" for name, port in self.ports.items())]
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + seconds
        while self.request("PUT", "") not in (200, 409):  # 409: the bucket is there from before.
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"the S3 server does not answer: {(self.folder / 'server.log').read_text()[-3000:]}")
            time.sleep(0.1)
        while self.request("PUT", "ready", b"ready") != 200:  # Volumes are there after the bucket.
            if time.monotonic() > deadline:
                raise AssertionError(f"the S3 server stores nothing: {(self.folder / 'server.log').read_text()[-3000:]}")
            time.sleep(0.1)
        return self

    def request(self, method, key, body=None, to=None):
        """The HTTP status, 0 where nothing answers; the answer's body goes to the file `to`."""
        command = ["curl", "-s", "-o", str(to or os.devnull), "-w", "%{http_code}", "--aws-sigv4", "aws:amz:us-east-1:s3", "-K", "-", "-X", method,
                   "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", f"{self.endpoint}/{self.bucket}/{key}".rstrip("/")]
        config = f"user = {KEY['AWS_ACCESS_KEY_ID']}:{KEY['AWS_SECRET_ACCESS_KEY']}\n"
        if body is not None:
            (self.folder / "body").write_bytes(body)
            command += ["-T", str(self.folder / "body")]
        return int(subprocess.run(command, input=config, capture_output=True, text=True, timeout=60).stdout or 0)

    def put(self, key, body):
        status = self.request("PUT", key, body)
        assert status == 200, f"PUT {key}: {status}"

    def get(self, key):
        """Its content; None where there is no such object."""
        status = self.request("GET", key, to=self.folder / "got")
        return (self.folder / "got").read_bytes() if status == 200 else None

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    with S3Server(*sys.argv[1:]) as server:
        print(server.endpoint, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
