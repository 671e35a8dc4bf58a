"""What a framework logs, as measurements: those that the program's description declares."""
from __future__ import annotations

import difflib
import numbers
from collections.abc import Mapping
from typing import Any

from inlier import trial

_FILE = "inlier-program.yaml"


def declared() -> list[str] | None:
    """The measurements that inlier-program.yaml in the program's folder declares for this stage; None: there is no such file."""
    import yaml  # Every package that has a callback here needs it, too.

    file = trial.program_folder() / _FILE
    if not file.is_file():
        return None
    stage = "EVALUATION" if trial.stage() == "evaluate" else "TRAINING"
    described = (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get("measurements") or {}
    return [name for name, options in described.items() if (options or {}).get("reported_by", "TRAINING") == stage]


class Logs:
    """Renames and chooses what is logged. `names`: {name in the log: name of the measurement}, before the names themselves."""

    def __init__(self, names: Mapping[str, str] | None) -> None:
        self.names, self.declared, self.seen = dict(names or {}), declared(), dict[str, float]()
        for name in self.names.values() if self.declared is not None else ():
            if name not in (self.declared or ()):
                near = difflib.get_close_matches(name, self.declared or (), 1)
                raise ValueError(f'{_FILE} declares no measurement "{name}" for this stage' + (f'; did you mean "{near[0]}"?' if near else ""))

    def choose(self, logs: Mapping[str, Any]) -> dict[str, Any]:
        chosen = {}
        for name, value in logs.items():
            name = self.names.get(name, name)
            is_number = isinstance(value, numbers.Real) or getattr(value, "numel", lambda: 0)() == 1
            if is_number and (self.declared is None or name in self.declared):
                chosen[name] = value
        self.seen.update(chosen)
        return chosen
