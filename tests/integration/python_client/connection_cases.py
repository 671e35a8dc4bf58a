"""Which coordinator a client uses, TLS and tokens, versions, and a coordinator that dies and returns."""
import json
import os
import pathlib
import unittest
from unittest import mock

import daemons
import harness
import inlier
from client_cases import sweep_of
from inlier import _connection
from renewed_certificate_test import Authority


class LostConnectionTest(unittest.TestCase):
    def test_a_killed_coordinator_costs_no_notice_and_no_second_sweep(self):
        with harness.Local("--slots", "2") as local, inlier.connect(local.dir) as client:
            sweep = client.submit(sweep_of(), set={"training.steps": 150}).sweep
            seen, killed = [], False
            for update in client.watch(sweep):
                seen.append(update)
                if not killed and update.running and update.running[0].step > 0:
                    killed = bool(local.kill("inlier-coordinator"))
                    second = client.submit(sweep_of(name="second"), set={"training.steps": 150})  # Repeated until the coordinator is there again.
                    self.assertEqual(8, second.trials)
            self.assertTrue(killed)
            self.assertEqual(("COMPLETE", 8), (seen[-1].status.state, seen[-1].status.succeeded))
            self.assertEqual("COMPLETE", client.wait(second.sweep).state)
            self.assertEqual(["second", "cases"], [status.name for status in client.sweeps()])
            # Notices once each, in order, as a watch from the beginning has them.
            sequences = [update.sequence for update in seen]
            self.assertEqual(sorted(sequences), sequences)
            replayed = [notice for update in client.watch(sweep, from_sequence=0) for notice in update.notices]
            watched = [notice for update in seen for notice in update.notices]
            self.assertEqual(len(set(watched)), len(watched))
            self.assertLessEqual(set(watched), set(replayed))

    def test_an_end_of_all_is_named_with_its_remedy(self):
        with harness.Local() as local:
            client = inlier.connect(local.dir, patience=0.5)
            local.stop()
            with self.assertRaisesRegex(inlier.UnavailableError, "no coordinator answers at .*inlier up --dir"):
                client.sweeps()
            with self.assertRaisesRegex(inlier.UnavailableError, r"no coordinator is running in .*inlier.open_dir\(.*inlier up --dir"):
                inlier.connect(local.dir)
            self.assertTrue(inlier.open_dir(local.dir).sweeps().empty)


class ChoiceTest(unittest.TestCase):
    """The rules of the command line; `inlier where` is asked for the same answer."""

    @classmethod
    def setUpClass(cls):
        cls.one, cls.two = harness.Local(), harness.Local()
        cls.addClassCleanup(cls.one.__exit__)
        cls.addClassCleanup(cls.two.__exit__)

    def check(self, local, environment, **arguments):
        flags = [word for name, flag in (("folder", "--dir"), ("address", "--server")) if name in arguments for word in (flag, arguments[name])]
        with mock.patch.dict(os.environ, {**environment, "INLIER_TOKEN_FILE": str(local.dir / "token")}), inlier.connect(**arguments) as client:
            self.assertEqual(local.addresses["grpc"], client.address)
            self.assertEqual(client.address, harness.inlier_json("where", *flags, env=dict(os.environ))["address"])

    def test_arguments_environment_file_in_this_order(self):
        one, two = (local.addresses["grpc"] for local in (self.one, self.two))
        with harness.temporary_folder() as config:
            (config / "inlier").mkdir()
            settings = config / "inlier/client.yaml"
            home = {"XDG_CONFIG_HOME": str(config)}
            settings.write_text(f"# mine\ndir: {self.two.dir}\n")
            self.check(self.two, home)
            self.check(self.one, {**home, "INLIER_DIR": str(self.one.dir)})
            self.check(self.one, {**home, "INLIER_DIR": str(self.two.dir), "INLIER_SERVER": one})
            self.check(self.two, {**home, "INLIER_SERVER": one}, folder=str(self.two.dir))
            self.check(self.two, {**home, "INLIER_DIR": str(self.one.dir)}, address=two)
            settings.write_text(f"server: {two}\n")
            self.check(self.two, home)
            for text, words in (("server: a:1\nserevr: b:2\n", r'client.yaml:2:1: unknown key "serevr"; did you mean "server"'),
                                ("server: [a]\n", "client.yaml:1:9: server: expected a text"), ("dir: a\ndir: b\n", '"dir" is there twice')):  # fmt: skip
                settings.write_text(text)
                with mock.patch.dict(os.environ, home), self.assertRaisesRegex(inlier.InvalidError, words):
                    inlier.connect()

    def test_a_named_folder_is_never_replaced_by_another_coordinator(self):
        with harness.temporary_folder() as folder:
            with self.assertRaisesRegex(inlier.NotFoundError, "there is no folder .*nothing"):
                inlier.connect(folder / "nothing")
            with self.assertRaisesRegex(inlier.UnavailableError, "no coordinator is running in .*no database"):
                inlier.connect(folder)
            with self.assertRaisesRegex(inlier.InvalidError, "expected host:port"):
                inlier.connect(address="head")

    def knows(self, address, token):
        """The coordinator reads its tokens again within a second."""
        try:
            inlier.connect(address=address, token=token).close()
        except inlier.AccessError:
            return False
        return True

    def test_a_coordinator_with_another_database_is_refused(self):
        """The endpoint file names the database that the folder has; what answers at its address may have another."""
        file = pathlib.Path(self.two.dir) / "endpoint.json"
        written = file.read_text()
        self.addCleanup(file.write_text, written)
        file.write_text(json.dumps({**json.loads(written), "database_id": "another"}))
        with self.assertRaisesRegex(inlier.InlierError, "database"), inlier.connect(self.two.dir, patience=0.5) as client:
            client.sweeps()

    def test_tokens(self):
        address = self.one.addresses["grpc"]
        with self.assertRaisesRegex(inlier.AccessError, "token"):
            inlier.connect(address=address)
        with self.assertRaisesRegex(inlier.AccessError, "token"):
            inlier.connect(address=address, token="inlier_" + "0" * 64)
        token = (self.one.dir / "token").read_text().strip()
        inlier.connect(address=address, token=token).close()
        with mock.patch.dict(os.environ, {"INLIER_TOKEN": token}):
            inlier.connect(address=address).close()
        with mock.patch.dict(os.environ, {"INLIER_TOKEN": "inlier_other"}):
            inlier.connect(self.one.dir).close()  # The folder's own comes before the environment's.
        with harness.temporary_folder() as folder:
            file = folder / "token"
            file.write_text(token + "\n")
            file.chmod(0o644)
            with self.assertRaisesRegex(inlier.InvalidError, "chmod 600"):
                inlier.connect(address=address, token_file=file)
            file.chmod(0o600)
            inlier.connect(address=address, token_file=file).close()
        reader = self.one.inlier("token", "add", "--role", "read", "--name", "alice", "--quiet").stdout.strip()
        harness.wait_for("the new token", lambda: self.knows(address, reader))
        with inlier.connect(address=address, token=reader) as client, self.assertRaisesRegex(inlier.AccessError, "role"):
            client.submit(sweep_of())
        with self.assertRaisesRegex(inlier.InvalidError, "in plain text"):
            inlier.connect(address="192.0.2.1:7420", token=token)

    def test_another_version_is_refused(self):
        with mock.patch.object(_connection, "VERSION", "99.1.0"):
            with self.assertRaisesRegex(inlier.ConflictError, "the coordinator in .* is inlier .* and this package inlier 99.1.0; install the package"):
                inlier.connect(self.one.dir)
            with self.assertRaisesRegex(inlier.ConflictError, "the caller is inlier 99.1.0 and this coordinator inlier .*upgrade the coordinator first"):
                inlier.connect(address=self.one.addresses["grpc"], token_file=self.one.dir / "token")

    def test_the_minor_release_before_is_taken(self):
        major, minor, _ = _connection.VERSION.split(".")
        for version in (f"{major}.{minor}.99", f"{major}.{int(minor) - 1}.0")[:2 if int(minor) > 0 else 1]:
            with mock.patch.object(_connection, "VERSION", version):
                inlier.connect(self.one.dir).close()
        for package, coordinator, fits in (("0.3.1", "0.3.9", True), ("0.2.0", "0.3.0", True), ("0.1.0", "0.3.0", False), ("0.4.0", "0.3.0", False),
                                           ("0.9.0", "1.0.0", False), ("odd", "odd", True), ("odd", "0.3.0", False)):
            self.assertEqual(fits, _connection._works_with(package, coordinator), (package, coordinator))


class TlsTest(daemons.DaemonTest):
    def test_tls_with_certificates_and_tokens(self):
        authority, other = Authority(self.folder / "ca"), Authority(self.folder / "other")
        for name in ("server", "alice"):
            authority.issue(name, 3)
            (authority.folder / f"{name}.key").chmod(0o600)
        tokens = self.folder / "tokens"
        token = self.write("token", harness.inlier("token", "add", "--file", tokens, "--role", "submit", "--name", "alice", "--quiet").stdout, 0o600)
        address, ca = self.server, authority.folder
        self.coordinator(tls_certificate=ca / "server.pem", tls_key=ca / "server.key", tls_client_ca=ca / "ca.pem", tokens_file=tokens)
        certificate = {"certificate": ca / "alice.pem", "key": ca / "alice.key"}
        with inlier.connect(address=address, tls_ca=ca / "ca.pem", token_file=token, **certificate) as client:
            sweep = client.submit(sweep_of()).sweep
            self.assertEqual("alice", client.status(sweep).message.owner)
            self.assertIn("no worker", str(client.why(sweep)).lower())
        with mock.patch.dict(os.environ, {"INLIER_TLS_CA": str(ca / "ca.pem")}), inlier.connect(address=address, token_file=token, **certificate) as client:
            self.assertEqual(1, len(client.sweeps()))
        with self.assertRaisesRegex(inlier.ConflictError, "requires TLS: pass tls_ca"):
            inlier.connect(address=address, token_file=token)
        with self.assertRaisesRegex(inlier.UnavailableError, "certificates do not fit together"):
            inlier.connect(address=address, tls_ca=other.folder / "ca.pem", token_file=token, **certificate)
        with self.assertRaisesRegex(inlier.UnavailableError, "certificates do not fit together"):
            inlier.connect(address=address, tls_ca=ca / "ca.pem", token_file=token)
        with self.assertRaisesRegex(inlier.AccessError, "token"):
            inlier.connect(address=address, tls_ca=ca / "ca.pem", **certificate)
        with self.assertRaisesRegex(inlier.InvalidError, "is not a PEM file"):
            inlier.connect(address=address, tls_ca=tokens)
        with self.assertRaisesRegex(inlier.InvalidError, "go together"):
            inlier.connect(address=address, tls_ca=ca / "ca.pem", certificate=ca / "alice.pem")


if __name__ == "__main__":
    unittest.main()
