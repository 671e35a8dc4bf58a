#!/usr/bin/env python3
"""Tests that own_network.py starts at the same moment listen on one port: each in its own network, or one after the other."""
import shutil
import subprocess
import sys
import unittest

import harness

LISTENS = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    for host in ("127.0.0.1", "localhost"):
        with socket.create_connection((host, int(sys.argv[1]))) as caller:
            assert server.accept()[1] == caller.getsockname()
    time.sleep(0.5)
"""


class OwnNetworkTest(unittest.TestCase):
    def test_several_at_once_listen_on_one_port(self):
        with harness.temporary_folder() as folder:
            (folder / "listens.py").write_text(LISTENS)
            port = str(harness.free_port())
            launcher = shutil.copy(harness.ROOT / "tests/integration/own_network.py", folder)  # With a lock of its own.
            started = [subprocess.Popen([sys.executable, launcher, folder / "listens.py", port], stderr=subprocess.PIPE, text=True) for _ in range(3)]
            self.assertEqual([(0, "")] * 3, [(one.wait(60), one.communicate()[1]) for one in started])


if __name__ == "__main__":
    unittest.main()
