#!/usr/bin/env python3
"""Mutual TLS whose authority and certificates are all renewed while a training runs: it ends in its first attempt, and calls use the new ones."""
import json
import subprocess
import unittest

import daemons
import harness

SWEEP = """
name: renewal
base:
  model: {bert: {layers: 2, hidden_size: 64, heads: 4, ffn_size: 128}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 600}}, sequence_length: 32, mask_probability: 0.3}}
  training: {steps: 500, batch_size: 16, measure_every: 10}
  evaluation: {batches: 4, batch_size: 32}
axes: [{field: seed, values: [1]}]
"""
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """A certificate authority in a folder of its own, and what it signs."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self.openssl("req", "-x509", *EC, "-keyout", "ca.key", "-out", "ca.pem", "-days", "3", "-subj", f"/CN={folder.name}")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def issue(self, name, days):
        """The serial number of NAME.pem, whose key is NAME.key."""
        self.openssl("req", *EC, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem",
                     "-days", str(days), "-extfile", "names")
        return serial_of((self.folder / f"{name}.pem").read_text())


def serial_of(pem):
    return subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, check=True, capture_output=True, text=True).stdout.strip()


def replace(path, content):
    """As people renew files: never half of one."""
    part = path.with_suffix(".part")
    part.write_text(content)
    part.chmod(0o600)
    part.rename(path)


class RenewedCertificateTest(daemons.DaemonTest):
    def setUp(self):
        super().setUp()
        self.live = self.folder / "live"  # The files that the programs use.
        self.live.mkdir(mode=0o700)

    def start_coordinator(self):
        return self.coordinator(tls_certificate=self.live / "server.pem", tls_key=self.live / "server.key", tls_client_ca=self.live / "ca.pem")

    def call(self, *arguments, folder=None, **options):
        """`inlier` with the certificate of alice in `folder`."""
        folder = folder or self.live
        return self.inlier("--tls-ca", folder / "ca.pem", "--tls-certificate", folder / "alice.pem", "--tls-key",
                              folder / "alice.key", *arguments, **options)

    def presented(self):
        """The serial number of the certificate that the coordinator presents to a new connection."""
        shown = subprocess.run(["openssl", "s_client", "-connect", self.server, "-cert", self.live / "alice.pem", "-key", self.live / "alice.key"],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return serial_of(shown.stdout[shown.stdout.index("-----BEGIN CERTIFICATE-----"):])

    def logged(self):
        return "".join(log.read_text()[-2000:] for log in self.folder.glob("*.log"))

    def wait_for(self, what, condition, seconds=60):
        try:
            return harness.wait_for(what, condition, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logged()}") from None

    def install(self, authority, names=("server", "worker", "alice")):
        for name in names:
            for ending in ("pem", "key"):
                replace(self.live / f"{name}.{ending}", (authority.folder / f"{name}.{ending}").read_text())

    def step(self):
        """Of the training, which has not ended."""
        self.assertEqual([("TRAIN", "LIVE")], harness.sql(self.state, "SELECT kind, outcome FROM attempts"), self.logged())
        return harness.sql(self.state, "SELECT coalesce(max(step), 0) FROM curves")[0][0]

    def test_all_are_renewed_while_a_training_runs(self):
        old, new = Authority(self.folder / "old"), Authority(self.folder / "new")
        serials = {name: old.issue(name, days=1) for name in ("server", "worker", "alice")}
        self.install(old)
        replace(self.live / "ca.pem", (old.folder / "ca.pem").read_text())
        coordinator = self.start_coordinator()
        self.worker("worker", tls_ca=self.live / "ca.pem", tls_certificate=self.live / "worker.pem", tls_key=self.live / "worker.key")
        self.assertEqual(serials["server"], self.presented())
        self.call("submit", self.write("sweep.yaml", SWEEP), "--quiet")
        self.assertEqual("alice", json.loads(self.call("status", "--json").stdout)["sweeps"][0]["owner"])
        self.wait_for("the training", lambda: harness.sql(self.state, "SELECT 1 FROM curves"))

        # Both authorities are trusted before any certificate is of the new one.
        replace(self.live / "ca.pem", "".join((authority.folder / "ca.pem").read_text() for authority in (old, new)))
        self.call("status")
        renewed = {name: new.issue(name, days=3) for name in ("server", "worker", "alice")}
        self.install(new, ["server"])
        self.assertEqual(renewed["server"], self.presented())
        self.assertNotEqual(serials["server"], renewed["server"])
        # The certificate of alice is the old one, and then the new one.
        self.call("status")
        self.install(new)
        self.call("status")
        # The old authority goes, and with it every certificate that it signed.
        replace(self.live / "ca.pem", (new.folder / "ca.pem").read_text())
        before = self.step()
        (old.folder / "ca.pem").write_text((new.folder / "ca.pem").read_text())
        self.call("status", folder=old.folder, fails=True)

        # The worker's open connection has lived through all that. A new one shows its new certificate, which is the only one that is let in.
        self.assertEqual(0, coordinator.stop(30))
        self.start_coordinator()
        self.assertEqual(renewed["server"], self.presented())
        self.wait_for("the worker", lambda: json.loads(self.call("workers", "--json").stdout)["workers"][0].get("connected"))
        self.wait_for("a further step", lambda: self.step() > before)
        self.assertIn("credentials_read", self.logged())

        self.wait_for("the end", lambda: harness.sql(self.state, "SELECT 1 FROM trials WHERE state NOT IN ('PENDING', 'RUNNING')"), 400)
        self.assertEqual([("SUCCEEDED",)], harness.sql(self.state, "SELECT state FROM trials"), self.logged())
        self.assertEqual([("EVALUATE", 1, "SUCCEEDED"), ("TRAIN", 1, "SUCCEEDED")],
                         harness.sql(self.state, "SELECT kind, attempt, outcome FROM attempts ORDER BY kind"), self.logged())


if __name__ == "__main__":
    unittest.main()
