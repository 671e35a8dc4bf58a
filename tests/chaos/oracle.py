"""Checks the store against the clients' histories and the children's evidence.

Kinds of finding: LOST (something acknowledged, started or saved is gone), DOUBLED (something is there twice: two results
of a stage, one attempt started twice), WRONG (a result of a damaged file, or not of each step once), ORPHANED (something is left that belongs to nothing).
Two attempts of a stage may run at one time, because attempts run on while the coordinator is away; two results may not be. Read-only SQL, as a
stranger would.
"""
import collections
import contextlib
import hashlib
import pathlib
import sqlite3

import count

TERMINAL = ("SUCCEEDED", "DIVERGED", "FAILED", "CANCELLED")

# A training of count.py; what else is wrong with a specification is another finding.
OF_PROGRAM = "iif(json_valid({0}.spec), {0}.spec, '{{}}') ->> '$.program.name' = 'count'"

# Each selects rows that must not exist; the first column names them.
INVARIANTS = {
    "ORPHANED": {
        "a stage is needed by no trial": "SELECT id FROM stage WHERE state = 'PENDING' AND id NOT IN (SELECT train_stage FROM trial "
                                         "WHERE train_stage NOT NULL AND state = 'PENDING' UNION SELECT evaluate_stage FROM trial "
                                         "WHERE evaluate_stage NOT NULL AND state = 'PENDING')",
        "an attempt is live although its stage does not run": "SELECT token FROM attempt JOIN stage ON stage.id = attempt.stage "
                                                              "WHERE ended_ms IS NULL AND stage.state <> 'PENDING'",
        "a sweep has ended with open trials": "SELECT sweep.id FROM sweep JOIN trial ON trial.sweep = sweep.id WHERE sweep.state <> 'ACTIVE' "
                                              "AND trial.state = 'PENDING'",
        "a trial's row has no specification": "SELECT id FROM trial WHERE evaluate_stage IS NULL AND NOT coalesce(json_valid(spec), 0)",
        "a stage's row has no specification": "SELECT id FROM stage WHERE NOT json_valid(spec)",
        "an attempt has no worker": "SELECT token FROM attempt WHERE worker NOT IN (SELECT incarnation FROM worker)",
    },
    "LOST": {
        "a trial succeeded without its stages": "SELECT trial.id FROM trial JOIN stage ON stage.id IN (trial.train_stage, trial.evaluate_stage) "
                                                "WHERE trial.state = 'SUCCEEDED' AND stage.state <> 'SUCCEEDED'",
        "a stage succeeded without a final measurement": "SELECT id FROM stage WHERE state = 'SUCCEEDED' AND NOT EXISTS "
                                                         "(SELECT 1 FROM measurement WHERE token = result_token AND final = 1)",
        "a point of the curve of a result is missing": "SELECT stage.id FROM stage JOIN attempt ON token = result_token WHERE kind = 'TRAIN_STAGE' AND "
                                                       "stage.state = 'SUCCEEDED' AND (SELECT count(*) FROM measurement m WHERE m.token = "
                                                       "result_token AND final = 0) <> (SELECT max(step) FROM measurement m WHERE m.token = "
                                                       "result_token) - coalesce(resumed_step, 0)",
        "a complete sweep lacks trials": "SELECT sweep.id FROM sweep WHERE state = 'COMPLETE' AND trials <> "
                                         "(SELECT count(*) FROM trial WHERE sweep = sweep.id)",
        "an attempt did not resume from the newest checkpoint": "SELECT token FROM attempt WHERE coalesce(resumed_step, resume_step) <> "
                                                                "coalesce((SELECT step FROM artifact JOIN attempt AS earlier USING (token) WHERE NOT final "
                                                                "AND earlier.stage = attempt.stage AND earlier.token < attempt.token "
                                                                "ORDER BY artifact.id DESC LIMIT 1), 0) "
                                                                "AND stage NOT IN (SELECT stage FROM event WHERE kind = 'checkpoint_passed_over')",
        "the token of an attempt is above the counter": "SELECT token FROM attempt WHERE token >= (SELECT value FROM meta WHERE key = 'next_token')",
    },
    "DOUBLED": {
        "a stage has two results": "SELECT stage FROM attempt WHERE outcome IN ('SUCCEEDED', 'DIVERGED') GROUP BY stage HAVING count(*) > 1",
        "a stage has two live attempts": "SELECT stage FROM attempt WHERE ended_ms IS NULL GROUP BY stage HAVING count(*) > 1",
        "a measurement was stored twice": "SELECT token FROM measurement GROUP BY token, name, step, site, final HAVING count(*) > 1",
        "a final checkpoint was stored twice": "SELECT token FROM artifact WHERE final = 1 GROUP BY token HAVING count(*) > 1",
        "a trial of a sweep is there twice": "SELECT sweep FROM trial GROUP BY sweep, point HAVING count(*) > 1",
        "a result is not the attempt that succeeded": "SELECT stage.id FROM stage JOIN attempt ON token = result_token "
                                                      "WHERE attempt.stage <> stage.id OR outcome <> stage.state",
    },
}


class Oracle:
    def __init__(self, world):
        self.world = world
        self.findings = {"LOST": [], "DOUBLED": [], "WRONG": [], "ORPHANED": [], "BROKEN": []}
        self.results = {}   # stage -> (state, token, checkpoint) as once seen committed.
        self.outcomes = {}  # token -> outcome.
        self.read = {}      # token -> digests of the files that its child has read.

    def find(self, kind, text):
        if len(self.findings[kind]) < 50 and text not in self.findings[kind]:
            self.findings[kind].append(text)
            self.world.log(f"{kind}: {text}")

    def sql(self, statement, *values):
        with contextlib.closing(sqlite3.connect(f"file:{self.world.state}/inlier.db?mode=ro", uri=True, timeout=5)) as connection:
            return connection.execute(statement, values).fetchall()

    def check_committed(self):
        """While it runs: committed results and outcomes must stay. A busy or absent file is checked later."""
        try:
            results = self.sql("SELECT id, state, result_token, checkpoint FROM stage WHERE result_token NOT NULL")
            outcomes = self.sql("SELECT token, outcome FROM attempt WHERE ended_ms NOT NULL")
        except sqlite3.OperationalError:
            return
        self._stays("the result of stage", self.results, {row[0]: row[1:] for row in results})
        self._stays("the outcome of attempt", self.outcomes, dict(outcomes))

    def _stays(self, what, before, now):
        for key, value in before.items():
            if now.get(key) != value:
                self.find("LOST", f"{what} {key} was {value} and is {now.get(key)}")
        before.update(now)

    def judge(self):
        """At the end, when the faults have stopped and all sweeps have ended."""
        self.check_committed()
        for kind, rules in INVARIANTS.items():
            for text, statement in rules.items():
                if rows := self.sql(statement):
                    self.find(kind, f"{text}: {[row[0] for row in rows[:5]]}")
        for text, statement in {"integrity_check": "PRAGMA integrity_check", "foreign_key_check": "PRAGMA foreign_key_check"}.items():
            if (rows := self.sql(statement)) not in ([("ok",)], []):
                self.find("LOST", f"{text}: {rows[:3]}")
        for trial, state in self.sql("SELECT id, state FROM trial WHERE state = 'PENDING'"):
            self.find("LOST", f"trial t-{trial} never ended ({state})")
        for sweep, in self.sql("SELECT id FROM sweep WHERE state = 'ACTIVE'"):
            self.find("LOST", f"sweep s-{sweep} never ended")
        self._promises()
        self._children()
        self._read()
        self._counted()
        self._files()

    def _promises(self):
        """Compares the clients' histories with the store."""
        sweeps = {request: (f"s-{number}", trials) for number, request, trials in self.sql("SELECT id, request_id, trials FROM sweep")}
        trials = {f"t-{number}": state for number, state in self.sql("SELECT id, state FROM trial")}
        self.submitted = self.acknowledged = 0
        intents = set()
        for client in range(len(self.world.clients)):
            history = self.world.folder / f"client-{client}.history"
            for line in history.read_text().splitlines() if history.exists() else []:
                verb, *words = line.split(" ")
                if verb == "submit":
                    intents.add(words[0])
                elif verb == "acknowledged":
                    self.acknowledged += 1
                    if sweeps.get(words[0]) != (words[1], int(words[2])):
                        self.find("LOST", f"{line}, and the store has {sweeps.get(words[0])}")
                elif verb == "trial" and words[2] in ("SUCCEEDED", "DIVERGED") and trials.get(words[0]) != words[2]:
                    self.find("LOST", f"{line}, and the store has {trials.get(words[0])}")
                elif verb == "trial" and words[0] not in trials:
                    self.find("LOST", f"{line}, and the store has no such trial")
                elif verb == "broken":
                    self.find("BROKEN", f"client c{client}: {line}")
        self.submitted = len(intents)
        for request in sweeps.keys() - intents:
            self.find("DOUBLED", f"a sweep with request id {request}, which no client sent")

    def _children(self):
        """The children's evidence: only durably leased attempts ran, each once."""
        tokens = {token: (f"st-{stage}", ended) for token, stage, ended in self.sql("SELECT token, stage, outcome FROM attempt")}
        resumed = dict(self.sql("SELECT token, resumed_step FROM attempt WHERE resumed_step NOT NULL"))
        runs = {}  # token -> [stage, first, last]
        for line in self.world.evidence.read_text().splitlines() if self.world.evidence.exists() else []:
            what, token, stage, about, _, at = line.split(" ")
            token, at = int(token), int(at)
            if what == "from" and resumed.get(token, int(about)) != int(about):
                self.find("LOST", f"attempt {token} of {stage} went on after step {about}, and the store has {resumed[token]}")
            if what == "read":
                self.read.setdefault(token, set()).add(about)
            if tokens.get(token, (None,))[0] != stage:
                self.find("LOST", f"a child ran attempt {token} of {stage}, and the store has {tokens.get(token)}")
            if what == "begin" and token in runs:
                self.find("DOUBLED", f"attempt {token} was started twice")
            runs.setdefault(token, [stage, at, at])[2] = at
        self.children = len(runs)
        later = collections.defaultdict(list)  # stage -> (token, first) of its attempts
        for token, (stage, first, _) in runs.items():
            later[stage].append((token, first))
        self.ran_on = sum(any(newer > token and first < last for newer, first in later[stage]) for token, (stage, _, last) in runs.items())

    def _read(self):
        """What an attempt with a result has read is what another one has written."""
        written = collections.defaultdict(set)  # stage -> digests of its checkpoints and models
        for stage, digest in self.sql("SELECT stage, sha256 FROM artifact JOIN attempt USING (token)"):
            written[stage].add(digest)
        for token, stage, train in self.sql("SELECT token, stage.id, coalesce(train_stage, stage.id) FROM attempt JOIN stage ON stage.id = stage "
                                            "WHERE outcome IN ('SUCCEEDED', 'DIVERGED')"):
            for digest in self.read.get(token, set()) - written[train]:
                self.find("WRONG", f"attempt {token} of st-{stage} has a result of a file that no attempt wrote: {digest}")

    def _counted(self):
        """The numbers of trials of the program are those of all their steps."""
        rows = self.sql("SELECT stage.id, stage.kind = 'TRAIN_STAGE', train.spec ->> '$.seed', train.spec ->> '$.program.parameters.until', "
                        "stage.spec ->> '$.program_evaluation.parameters.bits', value FROM stage JOIN stage AS train ON train.id = "
                        "coalesce(stage.train_stage, stage.id) JOIN measurement ON token = stage.result_token AND final = 1 "
                        f"WHERE {OF_PROGRAM.format('train')}")
        for stage, training, seed, until, bits, value in rows:
            total = count.total_of(seed, until)
            if value != (total if training else total % bits):
                self.find("WRONG", f"st-{stage} has {value}, its {until} steps from seed {seed} give {total}")
        self.of_program = self.sql("SELECT count(*) FROM trial JOIN stage ON stage.id = trial.train_stage WHERE trial.state = 'SUCCEEDED' AND "
                                   f"{OF_PROGRAM.format('stage')}")[0][0]

    def _files(self):
        """Every committed model is there, whole: with the workers, or, where their copy is damaged, with the coordinator."""
        for stage, path, digest in self.sql("SELECT stage.id, path, sha256 FROM stage JOIN artifact ON token = result_token AND artifact.final = 1 "
                                            "WHERE state = 'SUCCEEDED' AND stage.kind = 'TRAIN_STAGE'"):
            copies = [file for place in (self.world.shared, self.world.state) if (file := pathlib.Path(place) / path).is_file()]
            if not any(hashlib.sha256(file.read_bytes()).hexdigest() == digest for file in copies):
                self.find("LOST", f"the model of st-{stage}, {path}, {'is damaged' if copies else 'is not there'}")

    def clean(self):
        return not any(self.findings.values())
