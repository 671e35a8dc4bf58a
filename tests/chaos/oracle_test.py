#!/usr/bin/env python3
"""Tests of the oracle: a small sound history has no finding, and each defect has the right one."""
import contextlib
import hashlib
import pathlib
import sqlite3
import sys
import tempfile
import types
import unittest

import count
import oracle

MIGRATIONS = pathlib.Path(__file__).resolve().parents[2] / "coordinator/store/migrations"
MODEL = b"a model"
DIGEST = hashlib.sha256(MODEL).hexdigest()
SECOND = 1_000_000_000

SOUND = f"""
UPDATE meta SET value = 10 WHERE key = 'next_token';
INSERT INTO sweep (id, name, spec, state, points, trials, request_id, submitted_ms, ended_ms) VALUES (1, 'a', '{{}}', 'COMPLETE', 1, 1, 'c0-1', 1, 2);
INSERT INTO worker (incarnation, name, host, version, slots, devices, draining, connected, last_seen_ms) VALUES ('w', 'w', 'h', '1', 1, '[]', 0, 1, 1);
INSERT INTO stage (id, kind, fingerprint, state, result_token, checkpoint, spec) VALUES (1, 'TRAIN_STAGE', X'f1', 'SUCCEEDED', 1, '{DIGEST}', '{{}}');
INSERT INTO stage (id, kind, fingerprint, train_stage, state, result_token, spec) VALUES (2, 'EVALUATE_STAGE', X'f2', 1, 'SUCCEEDED', 2, '{{}}');
INSERT INTO trial (id, sweep, point, train_stage, evaluate_stage, state, labels) VALUES (1, 1, 0, 1, 2, 'SUCCEEDED', '{{}}');
INSERT INTO attempt (token, stage, number, sweep, worker, slot, started_ms, ended_ms, outcome) VALUES (1, 1, 1, 1, 'w', 0, 1, 2, 'SUCCEEDED'),
  (2, 2, 1, 1, 'w', 0, 1, 2, 'SUCCEEDED');
INSERT INTO measurement (token, name, step, value, site, final, at_ms) VALUES (1, 'train_loss', 1, 2, '', 0, 1), (1, 'train_loss', 1, 2, '', 1, 1),
  (2, 'loss', 0, 2, '', 1, 1);
INSERT INTO artifact (token, kind, step, sha256, bytes, final, at_ms) VALUES (1, 'CHECKPOINT', 1, '{DIGEST}', 7, 1, 1);
"""
HISTORY = "submit c0-1\nacknowledged c0-1 s-1 1\ntrial t-1 s-1 SUCCEEDED\n"
EVIDENCE = f"begin 1 st-1 50 40 {SECOND}\nend 1 st-1 50 40 {2 * SECOND}\nbegin 2 st-2 51 40 {3 * SECOND}\nend 2 st-2 51 40 {4 * SECOND}\n"


class OracleTest(unittest.TestCase):
    def findings(self, sql="", history=HISTORY, evidence=EVIDENCE, model=MODEL, seen=None):
        with tempfile.TemporaryDirectory(prefix="inlier-oracle-") as name:
            folder = pathlib.Path(name)
            (folder / "artifacts").mkdir()
            (folder / f"artifacts/{DIGEST}.safetensors").write_bytes(model)
            (folder / "client-0.history").write_text(history)
            (folder / "evidence").write_text(evidence)
            with contextlib.closing(sqlite3.connect(folder / "inlier.db")) as database:
                for file in sorted(MIGRATIONS.glob("*.sql")):
                    database.executescript(file.read_text())
                # The schema itself would refuse most of what follows.
                database.execute("PRAGMA ignore_check_constraints = ON")
                for kind, item in database.execute("SELECT type, name FROM sqlite_schema WHERE (type = 'trigger' OR (type = 'index' AND "
                                                   "sql LIKE 'CREATE UNIQUE%'))").fetchall():
                    database.execute(f"DROP {kind} {item}")
                database.executescript(SOUND)
                database.executescript(sql)
            world = types.SimpleNamespace(state=folder, shared=folder, folder=folder, evidence=folder / "evidence", clients=[None],
                                          log=lambda text: None)
            judge = oracle.Oracle(world)
            if seen:
                judge.outcomes.update(seen)
            judge.judge()
            return {kind: found for kind, found in judge.findings.items() if found}

    def assert_found(self, kind, text, **broken):
        found = self.findings(**broken)
        self.assertTrue(any(text in line for line in found.get(kind, [])), f"{kind} {text}: {found}")

    def test_a_sound_history_has_no_findings(self):
        self.assertEqual({}, self.findings())

    def test_what_was_acknowledged_and_is_gone_is_lost(self):
        self.assert_found("LOST", "acknowledged c0-9", history=HISTORY + "submit c0-9\nacknowledged c0-9 s-9 1\n")
        self.assert_found("LOST", "trial t-1 s-1 SUCCEEDED, and the store has FAILED", sql="UPDATE trial SET state = 'FAILED'")
        self.assert_found("LOST", "never ended", sql="UPDATE trial SET state = 'PENDING'")
        self.assert_found("LOST", "without a final measurement", sql="DELETE FROM measurement WHERE token = 2")
        self.assert_found("LOST", "a point of the curve", sql="DELETE FROM measurement WHERE final = 0")
        self.assert_found("LOST", "is damaged", model=b"another")
        self.assert_found("LOST", "the outcome of attempt 3", seen={3: "SUCCEEDED"})

    def test_a_child_of_no_committed_lease_is_found(self):
        self.assert_found("LOST", "a child ran attempt 7", evidence=EVIDENCE + f"begin 7 st-1 52 40 {9 * SECOND}\n")

    def test_what_is_there_or_ran_twice_is_doubled(self):
        self.assert_found("DOUBLED", "a measurement was stored twice", sql="INSERT INTO measurement (token, name, step, value, site, final, at_ms) "
                                                                           "SELECT token, name, step, value, site, final, at_ms FROM measurement")
        second = "INSERT INTO attempt (token, stage, number, sweep, worker, slot, started_ms, ended_ms, outcome{}) VALUES (3, 1, 2, 1, 'w', 0, 1, 2, {})"
        self.assert_found("DOUBLED", "two results", sql=second.format("", "'SUCCEEDED'"))
        self.assert_found("DOUBLED", "which no client sent", history="")
        self.assert_found("DOUBLED", "attempt 2 was started twice", evidence=EVIDENCE + f"begin 2 st-2 53 40 {5 * SECOND}\n")
        # Attempts run on while the coordinator is away: that is what tokens are for.
        overlap = EVIDENCE + f"begin 3 st-1 52 41 {3 * SECOND // 2}\nend 3 st-1 52 41 {3 * SECOND}\n"
        lost = second.format(", failure", "'FAILED', 'LOST'")
        self.assertEqual({}, self.findings(sql=lost, evidence=overlap))

    def test_a_result_of_a_file_that_nobody_wrote_is_wrong(self):
        read = EVIDENCE + f"read 2 st-2 {{}} 40 {3 * SECOND}\n"
        self.assertEqual({}, self.findings(evidence=read.format(DIGEST)))
        self.assert_found("WRONG", "attempt 2 of st-2", evidence=read.format("0" * 64))

    def test_an_attempt_resumes_from_the_newest_checkpoint(self):
        saved = ("UPDATE attempt SET number = 2, token = 3 WHERE token = 1; UPDATE measurement SET token = 3, step = 8 WHERE token = 1; UPDATE stage SET "
                 "result_token = 3 WHERE id = 1; UPDATE artifact SET token = 3; INSERT INTO attempt (token, stage, number, sweep, worker, slot, started_ms, "
                 "ended_ms, outcome, failure) VALUES (1, 1, 1, 1, 'w', 0, 1, 2, 'FAILED', 'LOST'); INSERT INTO artifact (token, kind, step, saved_as, sha256, "
                 f"bytes, final, at_ms) VALUES (1, 'CHECKPOINT', 7, 'x', '{'0' * 64}', 7, 0, 1); UPDATE attempt SET resume_step = {{}} WHERE token = 3; "
                 "UPDATE attempt SET resumed_step = {} WHERE token = 3")
        went_on = EVIDENCE + f"from 3 st-1 7 40 {5 * SECOND}\n"
        self.assertEqual({}, self.findings(sql=saved.format(7, 7), evidence=went_on))
        for asked, done in ((0, 0), (7, 0)):
            self.assert_found("LOST", "did not resume from the newest checkpoint", sql=saved.format(asked, done), evidence=EVIDENCE)
        self.assert_found("LOST", "attempt 3 of st-1 went on after step 5", sql=saved.format(7, 7), evidence=went_on.replace("st-1 7", "st-1 5"))

    def test_a_number_that_is_not_of_each_step_once_is_wrong(self):
        total = count.total_of(seed=3, until=4)
        trained = ("UPDATE stage SET spec = '{{\"seed\": 3, \"program\": {{\"name\": \"count\", \"parameters\": {{\"until\": 4}}}}}}' WHERE id = 1; UPDATE stage "
                   "SET spec = '{{\"program_evaluation\": {{\"parameters\": {{\"bits\": 8}}}}}}' WHERE id = 2; UPDATE measurement SET value = {} WHERE token = 1 AND "
                   "final = 1; UPDATE measurement SET value = {} WHERE token = 2")
        self.assertEqual({}, self.findings(sql=trained.format(total, total % 8)))
        self.assert_found("WRONG", f"its 4 steps from seed 3 give {total}", sql=trained.format(count.total_of(3, 5), total % 8))
        self.assert_found("WRONG", "st-2 has", sql=trained.format(total, total % 8 + 1))

    def test_what_belongs_to_nothing_is_orphaned(self):
        self.assert_found("ORPHANED", "no specification", sql="UPDATE stage SET spec = ''")
        self.assert_found("ORPHANED", "live although its stage does not run", sql="UPDATE attempt SET ended_ms = NULL, outcome = NULL WHERE token = 2")
        self.assert_found("ORPHANED", "needed by no trial", sql="INSERT INTO stage (id, kind, fingerprint, spec) VALUES (3, 'TRAIN_STAGE', X'f3', '{}')")
        self.assert_found("ORPHANED", "has no worker", sql="UPDATE attempt SET worker = 'x' WHERE token = 2")


if __name__ == "__main__":
    sys.exit(unittest.main())
