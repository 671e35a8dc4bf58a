#!/usr/bin/env python3
"""A hook command and a webhook get each notification once: also when the receiver was down, and when the coordinator was killed before
the delivery; a receiver that hangs delays no one. --down SECONDS: how long the receiver is down (default 2)."""
import hashlib
import hmac
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import daemons
import harness

DOWN_SECONDS = 2.0
KEY = b"key of the laboratory"
SWEEP = """name: {name}
base:
  model: {{bert: {{layers: 1, hidden_size: 32, heads: 2, ffn_size: 64}}}}
  data: {{text: {{path: {path}, sequence_length: 16, tokenizer: {{byte_pair: {{vocab_size: 300}}}}}}}}
  training: {{steps: 2, batch_size: 4}}
  evaluation: {{batches: 1, batch_size: 4}}
axes: [{{field: seed, values: [1]}}]
"""
SCRIPT = """#!/usr/bin/env python3
import sys
with open({file!r}, "a") as file:
    file.write(sys.stdin.read() + "\\n")
print("noticed")
"""


class Receiver:
    """The webhook's side, on a thread: checks the signature and keeps what it got. `hold`: answers only once it is set."""

    def __init__(self, port=0, hold=None):
        self.got, self.hold = [], hold
        self.reached = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                wanted = "sha256=" + hmac.new(KEY, body, hashlib.sha256).hexdigest()
                right = hmac.compare_digest(wanted, self.headers["X-Inlier-Signature"])
                receiver.got.append((right, self.headers["X-Inlier-Event"], self.headers["X-Inlier-Delivery"], json.loads(body)))
                receiver.reached.set()
                if receiver.hold is not None:
                    receiver.hold.wait(60)
                self.send_response(204 if right else 403)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def bodies(self):
        for right, event, delivery, body in self.got:
            assert right and event == body["event"] and delivery == body["id"], self.got
        return [dict(body) for _, _, _, body in self.got]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class NotificationsTest(daemons.DaemonTest):
    def setUp(self):
        super().setUp()
        self.secret = self.write("secret", KEY.decode() + "\n", 0o600)
        self.text = self.write("text.txt", (harness.ROOT / "tests/data/tiny.txt").read_text())

    def receiver(self, **options):
        receiver = Receiver(**options)
        self.addCleanup(receiver.close)
        return receiver

    def webhook(self, url, **more):
        return {"url": url, "secret_file": str(self.secret), **more}

    def configure(self, **hooks):
        return self.write("coordinator.yaml", json.dumps({"state_dir": str(self.state), "hooks": hooks}), 0o600)

    def coordinator(self, failpoints=None):
        return super().coordinator(f"coordinator-{failpoints}", config=self.folder / "coordinator.yaml",
                                   further={"INLIER_FAILPOINTS": failpoints} if failpoints else None)

    def worker(self):
        trial = os.environ.get("INLIER_TRIAL_PROGRAM")
        super().worker("worker", data_roots=self.folder, **({"trial_program": trial} if trial else {}))

    def submit(self, name, path=None):
        self.inlier("submit", self.write(f"{name}.yaml", SWEEP.format(name=name, path=path or self.text)))

    def rows(self, columns="state"):
        return self.sql(f"SELECT {columns} FROM notification ORDER BY id")

    def wait_for_rows(self, *states):
        try:
            harness.wait_for(f"{states}", lambda: [row[0] for row in self.rows()] == list(states), 120)
        except AssertionError as error:
            logs = "\n".join(log.read_text()[-3000:] for log in self.folder.glob("*.log"))
            raise AssertionError(f"{error}: {self.rows('event, state, tries, error')}\n{logs}") from None

    def test_each_arrives_once_at_a_command_and_a_webhook(self):
        receiver = self.receiver()
        file = self.folder / "noticed"
        script = self.write("hook", SCRIPT.format(file=str(file)), 0o700)
        self.configure(on_end=[{"command": str(script)}, self.webhook(receiver.url)], on_failure=[self.webhook(receiver.url)])
        coordinator = self.coordinator()
        self.worker()
        self.submit("small")
        self.wait_for_rows("DELIVERED", "DELIVERED")
        end, = receiver.bodies()
        by_command, = map(json.loads, file.read_text().splitlines())
        self.assertNotEqual(end.pop("id"), by_command.pop("id"))
        self.assertEqual(end, by_command)
        self.assertEqual(("end", "small", "COMPLETE", 1), (end["event"], end["sweep"]["name"], end["sweep"]["state"],
                                                           end["sweep"]["trials"]["succeeded"]))

        self.submit("broken", path=self.folder / "missing.txt")
        self.wait_for_rows(*["DELIVERED"] * 5)
        failure, = [body for body in receiver.bodies() if body["event"] == "failure"]
        self.assertEqual(1, failure["failures"])
        self.assertEqual("INVALID_SPEC", failure["trials"][0]["failure"])
        self.assertIn("missing.txt", failure["trials"][0]["message"])
        self.assertEqual({"seed": "1"}, failure["trials"][0]["labels"])
        self.assertEqual(["small", "broken"], [body["sweep"]["name"] for body in receiver.bodies() if body["event"] == "end"])
        self.assertEqual(2, len(file.read_text().splitlines()))

        shown = json.loads(self.inlier("query", "--json", "SELECT event, sweep_id, state, tries FROM notifications").stdout)
        self.assertEqual(5, len(shown))
        _, metrics = coordinator.get("/metrics")
        self.assertRegex(metrics, rf'inlier_notifications_delivered_total{{hook="end {script}"}} 2\n')
        self.assertRegex(metrics, rf'inlier_notifications_delivered_total{{hook="failure http://127.0.0.1:{receiver.port} \(\w+\)"}} 1\n')
        self.assertRegex(metrics, rf'inlier_notifications_waiting{{hook="end {script}"}} 0\n')
        self.assertIn('text="noticed"', coordinator.log())
        self.assertNotIn("/hook (", coordinator.log())
        self.assertNotIn(KEY.decode(), coordinator.log())

    def test_a_receiver_that_was_down_gets_it_once(self):
        receiver = Receiver()
        receiver.close()  # Its port is free now.
        self.configure(on_end=[self.webhook(receiver.url)])
        self.coordinator()
        self.submit("first")
        self.inlier("cancel", "first")
        self.submit("second")
        self.inlier("cancel", "second")
        harness.wait_for("a try that fails", lambda: any(tries > 0 for tries, in self.rows("tries")))
        time.sleep(DOWN_SECONDS)
        self.assertEqual(["WAITING", "WAITING"], [row[0] for row in self.rows()])
        back = self.receiver(port=receiver.port)
        self.wait_for_rows("DELIVERED", "DELIVERED")
        self.assertEqual(["first", "second"], [body["sweep"]["name"] for body in back.bodies()])
        print(f"down for {DOWN_SECONDS} s: tries and last errors {self.rows('tries, error')}")

    def test_a_kill_between_the_decision_and_the_delivery_loses_and_doubles_none(self):
        receiver = self.receiver()
        self.configure(on_end=[self.webhook(receiver.url)])
        # Before it is made, when it is stored, before it is sent.
        for sweeps, (point, stored) in enumerate((("notify.before", 0), ("notify.after", 1), ("notification.before", 1))):
            coordinator = self.coordinator(failpoints=f"{point}=kill@1")
            self.submit(f"small-{sweeps}")
            self.inlier("cancel", f"small-{sweeps}", check=False)
            self.assertEqual(-signal.SIGKILL, coordinator.process.wait(60))
            self.assertEqual(sweeps + stored, len(self.rows()), point)
            coordinator = self.coordinator()
            self.wait_for_rows(*["DELIVERED"] * (sweeps + 1))
            coordinator.stop()
        self.assertEqual([f"small-{sweep}" for sweep in range(3)], [body["sweep"]["name"] for body in receiver.bodies()])

    def test_a_kill_after_the_answer_doubles_it_with_the_same_id(self):
        receiver = self.receiver()
        self.configure(on_end=[self.webhook(receiver.url)])
        coordinator = self.coordinator(failpoints="notification.answered=kill@1")
        self.submit("small")
        self.inlier("cancel", "small", check=False)
        self.assertEqual(-signal.SIGKILL, coordinator.process.wait(60))
        self.coordinator()
        self.wait_for_rows("DELIVERED")
        first, second = receiver.bodies()
        self.assertEqual(first, second)

    def test_a_receiver_that_hangs_delays_nobody(self):
        release = threading.Event()
        self.addCleanup(release.set)
        hanging, other = self.receiver(hold=release), self.receiver()
        self.configure(on_end=[self.webhook(hanging.url), self.webhook(other.url)])
        self.coordinator()
        self.submit("small")
        self.inlier("cancel", "small")
        self.assertTrue(hanging.reached.wait(60))
        times = []
        for _ in range(5):
            begin = time.monotonic()
            self.inlier("status")
            times.append(time.monotonic() - begin)
        self.wait_for_rows("WAITING", "DELIVERED")  # The other hook's, and status, while the first hangs.
        self.assertEqual(1, len(hanging.got))
        release.set()
        self.wait_for_rows("DELIVERED", "DELIVERED")
        self.assertEqual((1, 1), (len(hanging.got), len(other.got)))
        print(f"inlier status while a receiver hangs: at most {1000 * max(times):.0f} ms, the start of the program included")

    def test_trials_that_no_worker_can_run(self):
        receiver = self.receiver()
        self.configure(on_no_worker=[self.webhook(receiver.url)], no_worker_seconds=1)
        self.coordinator()
        self.submit("lonely")
        self.wait_for_rows("DELIVERED")
        body, = receiver.bodies()
        self.assertEqual(("no_worker", "no worker is connected", "lonely"), (body["event"], body["reason"], body["sweep"]["name"]))

    def test_hooks_are_checked_at_the_start_and_can_be_tested(self):
        receiver = self.receiver()
        script = self.write("hook", "#!/bin/sh\nexit 3\n", 0o700)
        config = self.configure(on_end=[self.webhook(receiver.url)], on_failure=[{"command": str(script)}])

        def run(*arguments):
            return subprocess.run([str(harness.BIN / "inlier-coordinator"), "--config", str(config), *arguments], capture_output=True,
                                  text=True, timeout=60, check=False)
        tested = run("--test-hooks")
        self.assertEqual(1, tested.returncode, tested.stderr)
        self.assertRegex(tested.stdout, rf"^on_end http://127.0.0.1:{receiver.port} \(\w+\): taken\non_failure {script}: it ended with status 3\n$")
        self.assertEqual("test", receiver.bodies()[0]["event"])
        script.chmod(0o722)
        for done in (run("--test-hooks"), run()):
            self.assertEqual(2, done.returncode)
            self.assertIn(f"hooks.on_failure: command: {script} is writable by other users", done.stderr)


if __name__ == "__main__":
    if "--down" in sys.argv:
        at = sys.argv.index("--down")
        DOWN_SECONDS = float(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
