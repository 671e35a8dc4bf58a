#!/usr/bin/env python3
"""The command line at a terminal: a pseudo-terminal with an emulator (pyte) that shows what a person would see."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

import harness
import pyte

# Trains for minutes on a slow machine: the tests look at it and cancel it.
LONG = """
name: long
base: {model: {bert: {preset: tiny}}, data: {text: {corpus: gcide, sequence_length: 64}}, training: {steps: 100000, measure_every: 5, measure_outliers_every: 0}, evaluation: {batches: 2, batch_size: 8}}
axes:
- name: method
  variants: [{label: vanilla, set: {}}, {label: clipped, set: {attention.softmax.clipped.gamma: -0.03}}]
- {field: seed, values: [1, 2]}
"""
SHORT = """
name: short
base: {model: {bert: {preset: tiny}}, data: {text: {corpus: gcide, sequence_length: 64}}, training: {steps: 20}, evaluation: {batches: 2, batch_size: 8}}
axes: [{field: seed, values: [1, 2]}]
"""


def has_terminals():
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
    except OSError:
        return False
    return True


needs_terminals = unittest.skipUnless(has_terminals(), "this system has no pseudo-terminals: mount devpts on /dev/pts")


class Screen(pyte.Screen):
    """pyte's, which knows no scrolling of the lines between the margins (SU and SD); ncurses sends both where a frame has moved by a line."""

    def scroll_up(self, count=1):
        self.edit_at_top_margin(self.delete_lines, count)

    def scroll_down(self, count=1):
        self.edit_at_top_margin(self.insert_lines, count)

    def edit_at_top_margin(self, edit, count):
        column, row = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        edit(count)
        self.cursor.x, self.cursor.y = column, row


class Stream(pyte.ByteStream):
    csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down"}


class Terminal:
    """A program on a terminal of its own; `screen` is what it shows."""

    def __init__(self, *arguments, columns=120, rows=30, env=None):
        self.master, slave = pty.openpty()
        self.size(columns, rows, slave)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.screen = Screen(columns, rows)
        self.stream = Stream(self.screen)
        self.raw = b""
        self.process = subprocess.Popen([str(harness.INLIER), *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})})

    @staticmethod
    def size(columns, rows, descriptor):
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.size(columns, rows, self.master)
        self.screen.resize(rows, columns)

    def read(self, seconds=0.05):
        while select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data
            self.stream.feed(data)

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def wait(self, *patterns, seconds=60):
        """Until the screen matches every regular expression; its text. What one frame shows is asked for in one call: the screen may hold half of it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read()
            if all(re.search(pattern, self.text(), re.MULTILINE) for pattern in patterns):
                return self.text()
        missing = [pattern for pattern in patterns if not re.search(pattern, self.text(), re.MULTILINE)]
        raise AssertionError(f"the screen never had {missing}:\n{self.text()}")

    def type(self, keys, *patterns):
        """With patterns, waits then until the screen matches them; its text."""
        os.write(self.master, keys.encode())
        return self.wait(*patterns) if patterns else None

    def end(self, seconds=60):
        """Waits for the program; its exit status."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"it did not end:\n{self.text()}")
            self.read()
        self.read()
        return self.process.returncode

    def restored(self):
        """The modes of the terminal are as before, the other screen is left, and the cursor is shown."""
        left = self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h")
        shown = max(self.raw.rfind(b"\x1b[?25h"), self.raw.rfind(b"\x1b[?12l\x1b[?25h")) > self.raw.rfind(b"\x1b[?25l")
        return termios.tcgetattr(self.slave) == self.before and left and shown

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class TerminalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.local = cls.enterClassContext(harness.Local("--slots", "2"))
        cls.short = cls.local.submit(cls.sweep("short", SHORT))
        cls.local.inlier("watch", cls.short)
        cls.long = cls.local.submit(cls.sweep("long", LONG))

    @classmethod
    def sweep(cls, name, text):
        file = cls.local.dir / f"{name}.yaml"
        file.write_text(text)
        return file

    def open(self, *arguments, **options):
        terminal = Terminal(*arguments, "--dir", self.local.dir, **options)
        self.addCleanup(terminal.close)
        return terminal

    def wait_until_it_fits(self, terminal, columns):
        """The title once, no rest of an earlier frame, and the keys in the last line."""
        def fits():
            terminal.read()
            lines = terminal.lines()
            titles = sum(line.startswith("long  s-2") for line in lines)
            return titles == 1 and max(map(len, lines)) <= columns and lines[-1].startswith("q quit")

        try:
            harness.wait_for("a frame that fits", fits)
        except AssertionError as error:
            raise AssertionError(f"{error}, {columns} columns:\n{terminal.text()}") from None

    @needs_terminals
    def test_watch_shows_attempts_and_follows_the_size_of_the_terminal(self):
        terminal = self.open("watch", "long")
        terminal.wait(r"> t-\d+ +train \d+/100000 .*[▁▂▃▄▅▆▇█]{2}.*\d/s.*\n    method=vanilla, seed=[12]$", r"^long  s-2  active")
        self.wait_until_it_fits(terminal, 120)
        for columns in (60, 40, 150, 60):
            terminal.resize(columns, 24)
            terminal.wait(r"> t-\d+ +train \d+/100000", r"^    method=vanilla, seed=[12]" if columns < 140 else r"method=vanilla, seed=[12]$")
            self.wait_until_it_fits(terminal, columns)
        terminal.type("q")
        self.assertEqual(0, terminal.end())
        self.assertTrue(terminal.restored())
        self.assertIn("s-2 keeps running", terminal.text())

    @needs_terminals
    def test_keys_of_watch(self):
        terminal = self.open("watch", "long")
        terminal.wait(r"> t-\d+ +train")
        terminal.type("?", "leave; the sweep keeps running")
        first = re.search(r"(?m)^> (t-\d+)", terminal.type("x", r"> t-\d+")).group(1)
        terminal.type("j", rf"^> (?!{first} )t-\d+")
        terminal.type("\x1bOA", rf"^> {first} ")  # Up, as ncurses asks a terminal to send it.
        terminal.type("\r", rf"^{first}  of long", r"^why$", r"attempt \d+ runs on worker", r"^log$", r"started on .* parameters")
        terminal.type("\x1b", r"> t-\d+ +train")
        terminal.type("p", r"Pause s-2\? Running attempts continue\. \[y/N\]")
        terminal.type("n", "q quit")
        self.assertFalse(self.local.inlier_json("status", "long")["sweep"]["paused"])
        terminal.type("p", r"Pause s-2\?")
        terminal.type("y", "PAUSED")
        terminal.type("p", r"Resume s-2\?")
        terminal.type("y", "s-2  active")
        self.assertFalse(self.local.inlier_json("status", "long")["sweep"]["paused"])
        terminal.type("q")
        self.assertEqual(0, terminal.end())

    @needs_terminals
    def test_the_terminal_is_restored_after_signals(self):
        for number, status in ((signal.SIGTERM, 130), (signal.SIGINT, 130), (signal.SIGQUIT, -signal.SIGQUIT), (signal.SIGSEGV, -signal.SIGSEGV)):
            with self.subTest(number), Terminal("watch", "long", "--dir", self.local.dir) as terminal:
                terminal.wait(r"> t-\d+")
                terminal.process.send_signal(number)
                self.assertEqual(status, terminal.end())
                self.assertTrue(terminal.restored(), terminal.raw[-200:])

    @needs_terminals
    def test_without_colours_and_without_a_screen(self):
        terminal = self.open("watch", "long", env={"NO_COLOR": "1"})
        terminal.wait(r"> t-\d+")
        terminal.type("q")
        terminal.end()
        self.assertIsNone(re.search(rb"\x1b\[[0-9;]*3[0-7]m", terminal.raw))
        for options in ({"env": {"TERM": "dumb"}}, {"columns": 30, "rows": 24}):
            plain = self.open("watch", "short", **options)
            self.assertEqual(0, plain.end())
            self.assertNotIn(b"\x1b[?1049h", plain.raw)
            self.assertIn("2/2 trials", plain.text())
        unknown = self.open("watch", "long", env={"TERM": "no-such-terminal"})
        self.assertEqual(6, unknown.end())
        self.assertIn("--plain", unknown.text())
        self.assertIn("100%  2/2 trials", harness.inlier("watch", "short", "--dir", self.local.dir).stdout)

    @needs_terminals
    def test_top_lists_sweeps_and_workers_and_opens_a_sweep(self):
        terminal = self.open("top", columns=120)
        terminal.wait(r"> s-2 .*0/4 trials", r"^1 active sweep, \d of 2 slots busy", r"^  \S+ +connected +\d/2 busy", r"^  t-\d+ +train")
        terminal.resize(60, 24)
        terminal.wait(r"^    0/4 trials")
        terminal.type("\r", "^long  s-2")
        terminal.type("\x1b", "^inlier top")
        terminal.type("q")
        self.assertEqual(0, terminal.end())
        self.assertTrue(terminal.restored())
        once = self.local.inlier("top").stdout
        self.assertRegex(once, r"s-2 .*long .*0/4 trials")
        self.assertNotIn("\x1b", once)

    @needs_terminals
    def test_cancelling_a_sweep_asks_on_a_terminal_only(self):
        def submit():
            return self.local.submit(self.sweep("doomed", LONG.replace("name: long", "name: doomed\npriority: -5").replace("[1, 2]", "[7]")))

        def pending(sweep):
            return self.local.inlier_json("status", sweep)["sweep"]["state"] == "ACTIVE"

        sweep = submit()
        for answer, status in (("n\n", 130), ("\n", 130), ("maybe\n", 130), ("\x04", 130)):
            terminal = self.open("cancel", sweep)
            terminal.wait(rf"Cancel 2 trials of {sweep} \(doomed\), 0 of them running\? \[y/N\]")
            terminal.type(answer)
            self.assertEqual(status, terminal.end(), answer)
            self.assertIn("nothing was cancelled", terminal.text())
            self.assertTrue(pending(sweep))
        terminal = self.open("cancel", sweep)
        terminal.wait(r"\[y/N\]")
        terminal.type("y\n")
        self.assertEqual(0, terminal.end())
        self.assertIn("2 trials cancelled", terminal.text())
        self.assertFalse(pending(sweep))
        sweep = submit()
        terminal = self.open("cancel", sweep, "--yes")
        self.assertEqual(0, terminal.end())
        self.assertNotIn("[y/N]", terminal.text())
        sweep = submit()
        self.assertIn("2 trials cancelled", self.local.inlier("cancel", sweep).stdout)  # Piped.
        self.assertIn("2 trials queued again", self.local.inlier("retry", sweep).stdout)
        self.local.inlier("cancel", sweep)

    def test_retry_and_edit_give_their_reasons(self):
        self.assertIn("0 trials queued again: none has failed or was cancelled (2 with a result, 0 waiting or running)",
                      self.local.inlier("retry", "short").stdout)
        self.assertIn("t-1 has not failed and was not cancelled", self.local.inlier("retry", "t-1").stdout)
        self.assertIn('priority: default -> 3', self.local.inlier("edit", "long", "--set", "priority=3").stdout)
        more = self.sweep("more", LONG.replace("[1, 2]", "[1, 2, 3]"))
        self.local.inlier("edit", "long", more, fails=6, says=("would reset settings of the sweep: priority: 3 -> default", "--set priority=3"))
        before = self.local.inlier_json("status", "long")["sweep"]["revision"]
        tried = self.local.inlier("edit", "long", more, "--set", "priority=3", "--dry-run").stdout
        self.assertIn("axes.seed.values: [1,2] -> [1,2,3]", tried)
        self.assertEqual(before, self.local.inlier_json("status", "long")["sweep"]["revision"])
        other = self.sweep("other", LONG.replace("steps: 100000", "steps: 90000"))
        for dry_run in ([], ["--dry-run"]):
            self.local.inlier("edit", "long", other, "--set", "priority=3", *dry_run, fails=6, says="base: it decides every trial and cannot be edited")
        edited = self.local.inlier("edit", "long", more, "--reset").stdout
        self.assertIn("priority: 3 -> default (not set in", edited)
        self.assertIn("6 trials, 2 added, 4 kept", edited)
        self.local.inlier("edit", "long", self.sweep("long", LONG))

    def test_logs_have_the_trainings_own_lines_and_follow_a_trial(self):
        lines = self.local.inlier("logs", "t-1").stdout
        self.assertEqual("trial t-1 (seed=1)", lines.splitlines()[0])
        self.assertRegex(lines, r"started on .* parameters")
        self.assertRegex(lines, r"train 20/20 \(100 %\), loss [0-9.]+")
        self.assertEqual(2, len(re.findall(r"SUCCEEDED after", lines)))
        self.assertRegex(self.local.inlier("logs", "t-1", "--tail", "1", "-q").stdout, r"^\S+Z  SUCCEEDED after .*\n$")
        sweep = self.local.submit(self.sweep("followed", SHORT.replace("name: short", "name: followed\npriority: 9").replace("[1, 2]", "[9]")))
        trial = self.local.inlier_json("status", sweep)["trials"]["trials"][0]["trial_id"]
        self.local.inlier("pause", "long", "--now")
        followed = self.local.inlier("logs", trial, "-f").stdout  # Ends with the trial.
        self.local.inlier("resume", "long")
        self.assertEqual(2, len(re.findall(r"SUCCEEDED after", followed)), followed)
        self.assertEqual({"PREEMPTED"}, {row[0] for row in self.local.sql("SELECT outcome FROM attempts WHERE failure = 'PREEMPTED'")})

    def test_status_and_check_name_times(self):
        status = self.local.inlier("status", "short").stdout
        self.assertRegex(status, r"submitted \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}, took \d")
        running = re.compile(r"RUNNING +method=vanilla, seed=1 +\d+ +train \d+/100000")
        harness.wait_for("the work of a running trial", lambda: running.search(self.local.inlier("status", "long").stdout))
        again = self.sweep("again", SHORT.replace("name: short", "name: again"))
        checked = self.local.inlier("check", again).stdout
        self.assertIn("2 trials, 2 trainings, 2 evaluations", checked)
        self.assertRegex(checked, r"time: (less than a minute|about \d+ min) on 2 slots, by \d+ earlier trainings")
        self.local.inlier("submit", again, "--watch")
        self.assertIn("2/2 trials, 2 known before", self.local.inlier("status", "again").stdout)

    def test_shell_completion_asks_for_names(self):
        script = f"""
            inlier() {{ {harness.INLIER} "$@"; }}
            source <(inlier completion bash)
            complete_at() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _inlier; echo "${{COMPREPLY[*]}}"; }}
            complete_at inlier --dir {self.local.dir} watch lo
            complete_at inlier logs --dir {self.local.dir} t-1
            complete_at inlier table short --format mark
            complete_at inlier --tls-ca x.pem sub
            complete_at inlier submit {harness.ROOT}/sweeps/bondarenko-table2.yaml --scale sm
            complete_at inlier --dir {self.local.dir} restore lo
            complete_at inlier --dir /no/such/folder watch lo
        """
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
        lines = done.stdout.splitlines()
        self.assertEqual(["long", "markdown", "submit", "small"], [lines[0], *lines[2:5]], done.stdout)
        self.assertTrue(lines[1] and all(trial.startswith("t-1") for trial in lines[1].split()), done.stdout)
        self.assertNotIn("long", lines[5].split(), "it was not removed")
        self.assertEqual("", done.stderr)


if __name__ == "__main__":
    unittest.main()
