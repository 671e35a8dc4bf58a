#!/usr/bin/env python3
"""Another user of the machine gets nothing of an `inlier up`, and no token goes to an address that another user wrote."""
import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness

NOBODY = 65534


def as_nobody(*arguments, env=None):
    """The command line, run by another user in a folder of its own."""
    return subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", str(harness.INLIER), *map(str, arguments)],
                          capture_output=True, text=True, timeout=60, cwd="/", env=env)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class LocalFolderTest(harness.FolderTest):
    def test_the_folder_is_closed_and_the_command_line_finds_the_token(self):
        folder = self.folder / "state"
        folder.mkdir(0o755)
        (folder / "old.txt").touch(0o644)
        with running(folder):
            self.assertEqual(0o700, mode(folder))
            for name in ("token", "worker.token", "tokens", "endpoint.json", "inlier.db", "logs/coordinator.log", "logs/worker.log", "old.txt"):
                self.assertEqual(0o600, mode(folder / name), name)
            harness.inlier("status", "--dir", folder)
            # The environment's token is another coordinator's.
            harness.inlier("status", "--dir", folder, env=dict(os.environ, INLIER_TOKEN="inlier_other"))
            address = json.loads((folder / "endpoint.json").read_text())["grpc"]
            harness.inlier("status", "--server", address, fails=True, says="token")
            harness.inlier("status", "--server", address, "--token-file", folder / "token")
        token = (folder / "token").read_text()
        added = harness.inlier("token", "add", "--role", "read", "--name", "alice", "--quiet", "--dir", folder).stdout
        with running(folder):
            self.assertEqual(token, (folder / "token").read_text())
            address = json.loads((folder / "endpoint.json").read_text())["grpc"]
            harness.inlier("status", "--server", address, env=dict(os.environ, INLIER_TOKEN=added.strip()))

    def test_a_configuration_with_callers_of_its_own_gets_no_token_of_ours(self):
        tokens = self.folder / "mine"
        keys = {role: harness.inlier("token", "add", "--file", tokens, "--role", role, "--name", "me", "--quiet").stdout for role in ("submit", "work")}
        for role, key in keys.items():
            (self.folder / role).write_text(key)
            (self.folder / role).chmod(0o600)
        with running(self.folder / "state", "--token-file", self.folder / "submit", "--coordinator-set", f"tokens_file={tokens}", "--worker-set",
                     f"token_file={self.folder / 'work'}"):
            self.assertFalse((self.folder / "state/token").exists())
            harness.inlier("status", "--dir", self.folder / "state", "--token-file", self.folder / "submit")
            self.assertNotEqual(0, harness.inlier("status", "--dir", self.folder / "state", check=False).returncode)

    def test_own_files_are_read_and_those_elsewhere_are_not(self):
        text = self.write("own.txt", (harness.ROOT / "tests/data/tiny.txt").read_text())
        sweep = self.folder / "own.yaml"
        sweep.write_text(
            "name: own\n"
            f"base: {{model: {{bert: {{layers: 1, hidden_size: 32, heads: 2, ffn_size: 64}}}}, data: {{text: {{path: {text}, sequence_length: 16, "
            "tokenizer: {byte_pair: {vocab_size: 300}}}}, training: {steps: 2, batch_size: 4}, evaluation: {batches: 1, batch_size: 4}}\n"
            "axes: [{field: seed, values: [1]}]\n")
        with tempfile.TemporaryDirectory() as state:
            self.assertEqual(0, harness.inlier("run", sweep, "--dir", state).returncode)
        with running(self.folder / "state"):  # The test's current folder is another one.
            # A coordinator that is named by its address may be anyone's: what this user may read is not shared with it.
            address = json.loads((self.folder / "state/endpoint.json").read_text())["grpc"]
            harness.inlier("submit", sweep, "--watch", "--server", address, "--token-file", self.folder / "state/token", fails=1)
            message = harness.sql(self.folder / "state", "SELECT message FROM failures")[0][0]
            self.assertIn(f"--worker-set data_roots={self.folder}`", message)
            self.assertIn(str(text), message)
            self.assertFalse((self.folder / "state/data_roots").exists())
            # That of one's own folder reads what its user names, from then on, and nothing beside it.
            harness.inlier("submit", sweep, "--watch", "--again", "--dir", self.folder / "state")
            self.assertEqual(f"{text}\n", (self.folder / "state/data_roots").read_text())
            self.assertEqual(0o600, mode(self.folder / "state/data_roots"))
            other = self.write("other.txt", text.read_text())
            sweep.write_text(sweep.read_text().replace(str(text), str(other)).replace("name: own", "name: other"))
            harness.inlier("submit", sweep, "--watch", "--server", address, "--token-file", self.folder / "state/token", fails=1)
        with running(self.folder / "state", "--worker-set", f"data_roots={self.folder}"):
            self.assertEqual(0, harness.inlier("retry", "other", "--dir", self.folder / "state").returncode)
            harness.inlier("watch", "other", "--dir", self.folder / "state")


@contextlib.contextmanager
def running(folder, *arguments, user=None):
    command = [str(harness.INLIER), "up", "--dir", str(folder), "--json", "--slots", "1", *map(str, arguments)]
    if user is not None:
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
    env = dict(os.environ, HOME="/nonexistent")
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env, cwd="/")

        def ready():
            output.seek(0)
            text = output.read()
            if process.poll() is not None:
                raise AssertionError(f"inlier up ended with {process.returncode}: {text}")
            return text.endswith("}\n")
        try:
            harness.wait_for("inlier up", ready)
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "a second user needs root, and setpriv of util-linux")
class DefaultPortTest(harness.FolderTest):
    def test_no_token_goes_to_the_default_port(self):
        """Any user of the machine may listen there; nothing named that coordinator."""
        heard = bytearray()
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", 7420))
            except OSError:
                self.skipTest("port 7420 is taken")
            listener.listen()

            def serve():
                while True:
                    try:
                        connection, _ = listener.accept()
                    except OSError:
                        return
                    with connection:
                        connection.settimeout(1)
                        with contextlib.suppress(OSError):
                            connection.sendall(bytes.fromhex("000000040000000000"))  # SETTINGS of HTTP/2, so that the call is sent.
                            while data := connection.recv(65536):
                                heard.extend(data)

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            secret = "inlier_" + 64 * "5"
            own = self.write("own", secret + "\n", 0o600)
            settings = self.folder / "config/inlier/client.yaml"
            settings.parent.mkdir(parents=True)
            settings.write_text(f"token_file: {own}\n")
            for env, flags in (({"INLIER_TOKEN": secret}, []), ({"INLIER_TOKEN_FILE": str(own)}, []), ({}, ["--token-file", own]),
                               ({"XDG_CONFIG_HOME": str(self.folder / "config")}, [])):
                heard.clear()
                done = subprocess.run([str(harness.INLIER), *map(str, flags), "status"], capture_output=True, text=True, cwd=self.folder, timeout=60, env={**os.environ, **env}, check=False)
                self.assertNotEqual(0, done.returncode, done.stdout)
                self.assertIn(b"HTTP/2", bytes(heard), "the call was not sent")
                self.assertNotIn(secret.encode(), bytes(heard), (env, flags))
                page = subprocess.run([str(harness.INLIER), *map(str, flags), "page", "--print"], capture_output=True, text=True, cwd=self.folder, timeout=60, env={**os.environ, **env}, check=False)
                self.assertNotIn(secret, page.stdout, (env, flags))
            heard.clear()
            subprocess.run([str(harness.INLIER), "status", "--server", "127.0.0.1:7420"], capture_output=True, cwd=self.folder, timeout=60, env={**os.environ, "INLIER_TOKEN": secret}, check=False)
            self.assertIn(secret.encode(), bytes(heard), "a named server gets it")


class TokensLockTest(harness.FolderTest):
    def test_a_lock_that_another_process_holds_is_named_after_a_second(self):
        tokens = self.folder / "tokens"
        harness.inlier("token", "add", "--file", tokens, "--role", "read", "--name", "first")
        lock = self.folder / "tokens.lock"
        self.assertEqual(0o600, lock.stat().st_mode & 0o777)
        lock.chmod(0o644)  # As older versions made it.
        holder = subprocess.Popen([sys.executable, "-c", f"import fcntl, time; f = open({str(lock)!r}); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(1000)"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual("held", holder.stdout.readline().strip())
            for verb in (["add", "--role", "read", "--name", "second"], ["remove", "--name", "first"]):
                began = time.monotonic()
                done = harness.inlier("token", verb[0], "--file", tokens, *verb[1:], check=False, timeout=60)
                self.assertNotEqual(0, done.returncode)
                self.assertLess(time.monotonic() - began, 5)
                self.assertIn(f"tokens.lock is locked by process {holder.pid} (", done.stderr)
                self.assertIn(f"of user {os.getuid()}", done.stderr)
                self.assertEqual("", done.stdout)
        finally:
            holder.kill()
            holder.wait()
            holder.stdout.close()
        harness.inlier("token", "add", "--file", tokens, "--role", "read", "--name", "second")
        self.assertEqual(0o600, lock.stat().st_mode & 0o777)


class OtherUserTest(harness.FolderTest):
    def test_another_user_gets_nothing(self):
        self.folder.chmod(0o755)
        folder = self.folder / "state"
        with running(folder):
            address = json.loads((folder / "endpoint.json").read_text())["grpc"]
            sweep = self.write("sweep.yaml", harness.SMOKE.read_text(), 0o644)
            for verb in (["status"], ["submit", sweep], ["query", "SELECT 1"], ["workers"], ["cancel", "s-1"], ["logs", "t-1"]):
                for where in (["--server", address], ["--dir", folder]):
                    done = as_nobody(*verb, *where)
                    self.assertNotEqual(0, done.returncode, f"{verb} {where}: {done.stdout}")
                    self.assertEqual("", done.stdout)
            for name in ("token", "worker.token", "tokens", "endpoint.json", "inlier.db", "logs/worker.log"):
                done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "cat", str(folder / name)],
                                      capture_output=True, text=True, check=False)
                self.assertNotEqual(0, done.returncode, name)
                self.assertEqual("", done.stdout)
            self.assertEqual([], harness.sql(folder, "SELECT * FROM sweep"))

    def test_no_token_goes_to_the_address_of_another_user(self):
        self.folder.chmod(0o755)
        theirs = self.folder / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        with running(theirs, user=NOBODY):
            # This user's token would even be taken there: it is a valid one.
            token = (theirs / "token").read_text().strip()
            own = self.write("token", token + "\n", 0o600)
            for env in ({"INLIER_TOKEN": token}, {"INLIER_TOKEN_FILE": str(own)}):
                harness.inlier("status", "--dir", theirs, fails=True, says=("which another user may have written", "--server"), env={**os.environ, **env})
            harness.inlier("status", "--dir", theirs, "--token-file", own)
            address = json.loads((theirs / "endpoint.json").read_text())["grpc"]
            harness.inlier("status", "--server", address, env={**os.environ, "INLIER_TOKEN": token})

    def test_the_folder_of_another_user_is_refused(self):
        theirs = self.folder / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        harness.inlier("up", "--dir", theirs, fails=True, says="belongs to another user", timeout=60)
        self.assertEqual([], list(theirs.iterdir()))


if __name__ == "__main__":
    unittest.main()
