"""A program of one's own for a chaos run. Its number tells whether each step was counted once, in order: one that is left out, repeated or of another
training gives another number. Two processes stay behind it, one of them in a session of its own.

It adds lines to FAKE_TRIAL_EVIDENCE as fake_trial does, and "from TOKEN STAGE STEP …" with the step that it continues after.
"""
import json
import os
import signal
import sys
import time

# The description; its command is added where the files are.
DESCRIPTION = """
name: count
files: [count.py]
parameters:
  until: {type: INTEGER, min: 1, required: true}
  bits: {type: INTEGER, min: 1, default: 8, read_by: EVALUATION}
measurements:
  total: {formula: a number of the seed and all steps}
  rest: {formula: total modulo bits, reported_by: EVALUATION}
"""
EVERY = 20  # Steps between two checkpoints.


def counted(total, step):
    return (31 * total + step) % 1_000_003


def total_of(seed, until):
    total = seed
    for step in range(1, until + 1):
        total = counted(total, step)
    return total


class Attempt:
    def __init__(self):
        with open(os.environ["INLIER_TRIAL"], encoding="utf-8") as file:
            self.trial = json.load(file)
        self.evidence = os.open(os.environ["FAKE_TRIAL_EVIDENCE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def note(self, what, about):
        line = f"{what} {self.trial['token']} {self.trial['stage_id']} {about} {os.getppid()} {time.monotonic_ns()}\n"
        os.write(self.evidence, line.encode())

    def report(self, kind, /, **fields):
        os.write(int(os.environ["INLIER_EVENTS"]), (json.dumps({kind: fields}) + "\n").encode())

    def save(self, name, total, step, final=False):
        with open(os.path.join(self.trial["output_dir"], name), "w", encoding="utf-8") as file:
            file.write(str(total))
        self.report("checkpoint", path=name, step=step, final=final)

    def train(self):
        until, step, total = self.trial["parameters"]["until"], self.trial.get("resume_step", 0), self.trial["seed"]
        if "resume_from" in self.trial:
            with open(self.trial["resume_from"], encoding="utf-8") as file:
                total = int(file.read())
        self.note("from", step)
        asked = []
        signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
        while step < until:
            time.sleep(int(os.environ["FAKE_STEP_MS"]) / 1000)
            step += 1
            total = counted(total, step)
            self.note("at", os.getpid())
            self.report("progress", step=step, steps_total=until)
            self.report("measurement", name="total", value=total, step=step)
            if step < until and (asked or step % EVERY == 0):
                self.save(f"step-{step}", total, step)
            if asked and step < until:
                sys.exit()
        self.save("model", total, until, final=True)
        self.report("measurement", name="total", value=total, step=until, final=True)

    def evaluate(self):
        with open(self.trial["model"], encoding="utf-8") as file:
            self.report("measurement", name="rest", value=int(file.read()) % self.trial["parameters"]["bits"], final=True)

    def run(self):
        self.note("begin", os.getpid())
        for own_session in (False, True):
            if os.fork() == 0:
                if own_session:
                    os.setsid()
                time.sleep(1000)
        self.train() if self.trial["stage"] == "train" else self.evaluate()
        self.note("end", os.getpid())
        self.report("outcome", kind="SUCCEEDED")


if __name__ == "__main__":
    Attempt().run()
