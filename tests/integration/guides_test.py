#!/usr/bin/env python3
"""The commands of README.md and docs/guides run unchanged: a page at a time, in order, in a fresh folder with daemons of its own."""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import guide_page
import harness

PAGE_SECONDS_MAX = 300  # On a processor that others keep busy; alone none takes a minute.
# Links in a page's folder, which is like a clone; sweeps/ is a copy.
LINKED = ("docs", "dashboard", "bench", "tools", "clients", "core", "spec", "proto", "coordinator", "worker", "cli", "tests", ".deps", "LICENSE")


def pages():
    return [harness.ROOT / "README.md", *sorted((harness.ROOT / "docs/guides").glob("*.md"))]


@contextlib.contextmanager
def usual_ports_taken():
    """Each `inlier up` then takes free ports, also two that start at the same time. A port in use is taken when it becomes free."""
    over, held = threading.Event(), []

    def take():
        missing = [7420, 7421, 7422]
        while not over.wait(0.02):
            for port in list(missing):
                taken = socket.socket()
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    taken.bind(("127.0.0.1", port))
                    taken.listen(1)
                except OSError:
                    taken.close()
                else:
                    held.append(taken)
                    missing.remove(port)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        time.sleep(0.1)
        yield
    finally:
        over.set()
        thread.join()
        for taken in held:
            taken.close()


class Run:
    """One page in its folder."""

    def __init__(self, path, folder):
        self.folder = folder
        self.page = guide_page.read_page(path.read_text(encoding="utf-8"))
        text = "".join(block.text for block in self.page.blocks)
        self.ports = {port: str(harness.free_port()) for port in set(re.findall(r"\b74\d\d\b", text))}
        for name in LINKED:
            if (harness.ROOT / name).exists():
                (folder / name).symlink_to(harness.ROOT / name)
        shutil.copytree(harness.ROOT / "sweeps", folder / "sweeps")
        for file in (folder / "sweeps").glob("*.yaml"):
            file.write_text(self.smaller(file.read_text()))
        (folder / "build/release").mkdir(parents=True)
        (folder / "build/release/bin").symlink_to(harness.BIN)
        (folder / "tmp").mkdir()

    def smaller(self, text):
        for old, new in self.page.smaller:
            text = text.replace(old, new)
        return text

    def script(self):
        """One program of bash: each block's output in a file of its own, the first status that is not 0 ends it."""
        parts = ["set -e -o pipefail"]
        for number, block in enumerate(self.page.blocks):
            text = self.smaller(re.sub(r"\b74\d\d\b", lambda match: self.ports[match[0]], block.text))
            if block.not_run:
                continue
            if block.language == "sh":
                parts.append(f"echo {number} > {self.folder}/tmp/block\n{{\n:\n{text}}} > {self.folder}/tmp/{number}.txt 2>&1")
            elif block.file:
                place = self.folder / "tmp" / f"{number}.file"
                place.write_text(text)
                parts.append(f"mkdir -p $(dirname {block.file}); cp {place} {block.file}")
            if block.is_sweep():
                place = block.file or self.folder / "tmp" / f"{number}.yaml"  # A program is looked for beside the sweep.
                if not block.file:
                    place.write_text(text)
                parts.append(f"echo {number} > {self.folder}/tmp/block; inlier check {place} > {self.folder}/tmp/{number}.txt 2>&1")
        return "\n".join(parts) + "\n"

    def run(self):
        """What is wrong, a text; None when nothing is."""
        script = self.folder / "tmp/page.sh"
        script.write_text(self.script())
        environment = dict(os.environ, HOME=str(self.folder), PATH=f"{harness.BIN}:{os.environ['PATH']}", TMPDIR=str(self.folder / "tmp"),
                           XDG_CONFIG_HOME=str(self.folder / ".config"), INLIER_DATA_DIR=str(harness.DATA), COLUMNS="120")
        if not any(block.file and block.file.endswith("client.yaml") for block in self.page.blocks):
            environment["INLIER_DIR"] = ".inlier"  # Never another coordinator, at port 7420.
        with open(self.folder / "tmp/bash.txt", "w", encoding="utf-8") as errors:
            shell = subprocess.Popen(["bash", str(script)], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=errors, start_new_session=True)
        try:
            status = shell.wait(PAGE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            status = f"none after {PAGE_SECONDS_MAX} s"
        finally:
            end_session(shell.pid, self.folder)
        if status != 0:
            at = self.folder / "tmp/block"
            block = self.page.blocks[int(at.read_text())] if at.exists() else self.page.blocks[0]
            return f"line {block.line}: status {status} in\n{block.text}\n{self.output(block)}{(self.folder / 'tmp/bash.txt').read_text()}"
        for block in self.page.blocks:
            if block.expected and not block.not_run:
                missing = guide_page.missing_line(block.expected, self.output(block))
                if missing is not None:
                    return f"line {block.line}: the output has no line like\n{missing}\nit is\n{self.output(block)}"
        return None

    def output(self, block):
        file = self.folder / "tmp" / f"{self.page.blocks.index(block)}.txt"
        return file.read_text(errors="replace") if file.exists() else ""


def members(session, folder):
    """The processes of a session, and those in the background that were started in the folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                if os.getsid(int(entry.name)) == session or pathlib.Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                    found.append(int(entry.name))
    return found


def end_session(session, folder):
    """Ends what a page started and left: first with a chance to write its state."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in members(session, folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + 10
        while members(session, folder) and time.monotonic() < deadline:
            time.sleep(0.05)


def run_page(path):
    with harness.temporary_folder() as folder:
        started = time.monotonic()
        try:
            run = Run(path, folder)
        except guide_page.PageError as error:
            return path, str(error), [], 0
        wrong = run.run()
        return path, wrong, [(b.line, b.not_run) for b in run.page.blocks if b.not_run], time.monotonic() - started


class GuidesTest(unittest.TestCase):
    def test_the_commands_of_the_pages_run(self):
        chosen = [page for page in pages() if not PAGES or page.stem in PAGES]
        self.assertTrue(chosen, f"no page of {PAGES}")
        failed = []
        with usual_ports_taken(), concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, wrong, left_out, seconds in pool.map(run_page, chosen):
                name = path.relative_to(harness.ROOT)
                print(f"{name}: {seconds:.1f} s", *(f"  not run: line {line}, {reason}" for line, reason in left_out), sep="\n", flush=True)
                if wrong:
                    failed.append(f"{name}, {wrong}")
        self.assertEqual([], failed, "\n\n".join(failed))

    def test_links_lead_to_files_and_headings(self):
        wrong = []
        for path in pages():
            text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                place = (path.parent / file).resolve() if file else path
                if not place.exists():
                    wrong.append(f"{path.name}: {target}")
                elif anchor and anchor not in anchors(place):
                    wrong.append(f"{path.name}: {target} has no such heading")
        self.assertEqual([], wrong)

    def test_named_files_of_the_sources_exist(self):
        wrong = []
        for path in pages():
            for name in re.findall(r"`((?:core|spec|proto|coordinator|worker|cli|tests|base|rpc|dashboard|bench|tools|sweeps)/[A-Za-z0-9_./-]+)`", path.read_text()):
                if not (harness.ROOT / name).exists():
                    wrong.append(f"{path.name}: {name}")
        self.assertEqual([], wrong)


class PageFormTest(unittest.TestCase):
    """The rules of pages themselves, on pages with faults."""

    def run_text(self, text):
        with harness.temporary_folder() as folder:
            (folder / "page.md").write_text(text)
            (folder / "run").mkdir()
            return Run(folder / "page.md", folder / "run").run()

    def test_a_failing_command_and_another_output_are_found(self):
        self.assertIsNone(self.run_text("```sh\necho 12 trials, ready\n```\n\n```text\n8 trials, ready\n```\n"))
        self.assertIn("line 2: status 3", self.run_text("```sh\n(exit 3)\necho never\n```\n"))
        self.assertIn("no line like", self.run_text("```sh\necho 12 trials, ready\n```\n```text\n8 trials, done\n```\n"))
        self.assertIn("no line like", self.run_text("```sh\necho b; echo a\n```\n```text\na\nb\n```\n"))
        self.assertIn("status", self.run_text("```yaml\nname: x\nbase: {model: {brt: {}}}\n```\n"))

    def test_directives_and_files_are_followed(self):
        self.assertIsNone(self.run_text("<!-- smaller: 400 => 12 -->\n<!-- first: touch ready -->\n```yaml\n# a/b.yaml: a file\nsteps: 400\n```\n```sh\nls ready; cat a/b.yaml\n```\n"
                                        "```text\nready\nsteps: 77\n```\n"))
        # 7420 is replaced in both; the word in two parts is not.
        self.assertIsNone(self.run_text("```yaml\n# b.yaml\nport: 7420\n```\n```sh\ngrep 7420 b.yaml\n! grep 74''20 b.yaml\n```\n"))

    def test_only_allowed_reasons_leave_a_block_out(self):
        self.assertIsNone(self.run_text("<!-- not run: needs a GPU -->\n```sh\nfalse\n```\n"))
        with self.assertRaises(guide_page.PageError):
            self.run_text("<!-- not run: it fails -->\n```sh\nfalse\n```\n")


def anchors(path):
    return {re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-") for line in path.read_text().splitlines() if line.startswith("#")}


PAGES = []

if __name__ == "__main__":
    # `guides_test.py first-sweep` runs that page alone.
    PAGES = [argument for argument in sys.argv[1:] if not argument.startswith("-") and not argument.startswith(("GuidesTest", "PageFormTest"))]
    unittest.main(argv=[sys.argv[0], *(argument for argument in sys.argv[1:] if argument not in PAGES)])
