#!/usr/bin/env python3
"""Tab in bash, zsh and fish: names that others gave are never evaluated. A shell that is not installed is skipped."""
import os
import pty
import select
import shutil
import signal
import subprocess
import time
import unittest

import harness

HOSTILE = ["$(touch evil)", "`touch evil`", "plain$(touch evil)", "plain`touch evil`", ";touch evil", "plain;touch evil", "&touch evil&", "|touch evil", "*", "?", "~", "{a,b}",
           "plain name", "plain\\", "'", '"', "plain'", "plain\t$(touch evil)", "\x1b]0;title\x07", "plain\rname", "-x", "$HOME", "!!", "<(touch evil)", ">evil"]
# Prints the names as the real one never does, so that each script is tried by itself.
STUB = """#!/bin/sh
case "$*" in *__complete*) cat "{folder}/names" ;; *) exec "{inlier}" "$@" ;; esac
"""
STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(inlier completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit && compinit -u -D && source <(inlier completion zsh)"),
    "fish": (["fish", "--no-config", "--private", "-i"], "inlier completion fish | source"),
}


class Terminal:
    """A shell on a pseudo-terminal, in `folder`."""

    def __init__(self, name, folder):
        command, self.load = STARTS[name]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "TERM": "dumb" if name != "fish" else "xterm", "HOME": str(folder), "PS1": "> ",
                           "XDG_CONFIG_HOME": f"{folder}/config", "XDG_DATA_HOME": f"{folder}/data", "XDG_CACHE_HOME": f"{folder}/cache"}
            os.execvpe(command[0], command, environment)
        self.shown = ""

    def type(self, text, seconds=2.0, until=None):
        """Sends `text`; what is shown within `seconds`, or until a text is there."""
        os.write(self.terminal, text.encode())
        shown, deadline = "", time.monotonic() + seconds
        while time.monotonic() < deadline and not (until and until in shown):
            ready, _, _ = select.select([self.terminal], [], [], 0.1)
            if ready:
                try:
                    shown += os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:
                    break
        return shown

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class CompletionTest(harness.FolderTest):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        self.write("bin/inlier", STUB.format(folder=self.folder, inlier=harness.INLIER), 0o755)
        (self.folder / "names").write_text("\n".join(HOSTILE + ["worker-seven", "worker-eight"]) + "\n")

    def check(self, name):
        if shutil.which(name) is None:
            self.skipTest(f"{name} is not installed")
        shell = Terminal(name, self.folder)
        try:
            shell.type("", 3)
            shell.type(f"{shell.load}; echo load''ed\n", 30, "loaded")
            for line in ("inlier drain ", "inlier drain plain", "inlier drain '", "inlier logs $", "inlier submit s.yaml --scale ", "inlier submit s.yaml --scale plain", "inlier watch *"):
                shell.type(line + "\t\t", 3)
                shell.type("n", 0.2)  # "Display all possibilities?"
                shell.type("\x03", 0.5)
                self.assertFalse((self.folder / "evil").exists(), f"{name}: {line!r} runs a part of a name")
            shown = shell.type("inlier drain worker-s\t", 10, "worker-seven")
            self.assertIn("worker-seven", shown)
        finally:
            shell.close()

    def test_bash(self):
        self.check("bash")

    def test_zsh(self):
        self.check("zsh")

    def test_fish(self):
        self.check("fish")

    def test_names_that_a_shell_would_read_are_not_offered(self):
        hostile = self.folder / "hostile.yaml"
        hostile.write_text("name: s\nscales:\n" + "".join(f"  {key}: {{description: x}}\n" for key in ("'$(touch evil)'", "'`touch evil`'", "'a b'", "\"a\\nb\"", "small")))
        done = subprocess.run([str(harness.INLIER), "__complete", "scales", str(hostile)], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(["small"], done.stdout.split("\n")[:-1])


if __name__ == "__main__":
    unittest.main()
