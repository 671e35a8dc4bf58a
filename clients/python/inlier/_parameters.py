"""The parameters of a trial as its program has them: by name, a dataclass, an argparse parser, a configuration of Hydra. Standard library alone."""
from __future__ import annotations

import pathlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any


class ParameterError(TypeError):
    """The program and its description do not fit: another attempt would end in the same way."""


class Parameters(types.SimpleNamespace):
    """Values by attribute and by item, `p.optimizer.lr` and `p["optimizer.lr"]`; `dict(p)` and `**p` work."""

    def __getitem__(self, name: str) -> Any:
        found: Any = self
        for part in name.split("."):
            try:
                found = vars(found)[part]
            except (KeyError, TypeError):
                raise KeyError(name) from None
        return found

    def __contains__(self, name: str) -> bool:
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def keys(self) -> Any:
        return vars(self).keys()


def note(text: str) -> None:
    print(f"inlier: {text}", file=sys.stderr, flush=True)


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """{"optimizer.lr": 0.1} of {"optimizer": {"lr": 0.1}}."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found.update(_flat(value, f"{path}{name}.") if isinstance(value, Mapping) else {path + name: value})
    return found


def _typed(name: str, value: Any, kind: Any) -> Any:
    """The trial's value as the type that the program has for it."""
    if kind is float and (type(value) in (int, float) or value in ("NaN", "Infinity", "-Infinity")):
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in (bool, int, str, float):
        if type(value) is not kind:
            own = f"{kind.__name__} in the program"
            raise ParameterError(f"parameter {name} is {value!r} in this trial, but {own}: make its type in inlier-program.yaml the same")
        return value
    if isinstance(kind, type) and hasattr(kind, "__members__"):  # An enumeration, by name.
        members: Mapping[str, Any] = kind.__members__
        return members[value] if value in members else kind(value)
    if isinstance(kind, type) and issubclass(kind, pathlib.PurePath) and isinstance(value, str):
        return kind(value)
    return value


class Values:
    """The parameters of the trial, and which of them the program has asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.nested: Mapping[str, Any] = given.get("parameters", {})
        self.flat = {**({"seed": given["seed"]} if "seed" in given else {}), **_flat(self.nested)}
        self.asked: set[str] = set()
        self.undeclared: list[str] = []

    def take(self, name: str, default: Any, kind: Any = None) -> Any:
        if name in self.flat:
            self.asked.add(name)
            return _typed(name, self.flat[name], kind or type(default))
        self.undeclared.append(name)
        return default

    def group(self, defaults: Mapping[str, Any], path: str = "") -> Parameters:
        made = Parameters()
        for name, default in defaults.items():
            full = path + str(name)
            setattr(made, str(name), self.group(default, full + ".") if isinstance(default, Mapping) else self.take(full, default))
        return made

    def data_class(self, of: Any, path: str = "") -> Any:
        """`of` is a dataclass or an instance of one."""
        import dataclasses
        import typing

        of_type = of if isinstance(of, type) else type(of)
        try:
            hints = typing.get_type_hints(of_type)
        except Exception:  # Annotations may name what is not there when the program runs.
            hints = {}
        values = {}
        for field in dataclasses.fields(of_type):
            if not field.init:
                continue
            full, hint = path + field.name, hints.get(field.name)
            default: Any = field.default
            if not isinstance(of, type):
                default = getattr(of, field.name)
            elif field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            if dataclasses.is_dataclass(default) or (default is dataclasses.MISSING and dataclasses.is_dataclass(hint)):
                values[field.name] = self.data_class(hint if default is dataclasses.MISSING else default, full + ".")
            elif default is dataclasses.MISSING and full not in self.flat:
                raise ParameterError(f"{of_type.__name__}.{field.name} has no default, and the trial has no parameter {full}: give it a default, or declare it")
            else:
                values[field.name] = self.take(full, default, hint if isinstance(hint, type) and not hasattr(hint, "__origin__") else None)
        return of(**values) if isinstance(of, type) else dataclasses.replace(of, **values)

    def parser(self, of: Any) -> Any:
        """Values of the trial come before those of the command line: they are the trial's identity."""
        actions = {action.dest: action for action in of._actions}
        for name in actions.keys() & self.flat.keys():
            actions[name].required = False
        parsed = of.parse_args()
        for name, action in actions.items():
            if name not in self.flat or not hasattr(parsed, name):
                continue
            self.asked.add(name)
            value, kind = self.flat[name], action.type
            known = kind in (bool, int, float, str)
            made = kind(value) if callable(kind) and not known and isinstance(value, str) else _typed(name, value, kind if known else type(action.default))
            setattr(parsed, name, made)
        self.undeclared += [name for name in vars(parsed) if name not in self.flat]
        return parsed

    def read(self, of: Any, defaults: Mapping[str, Any]) -> Any:
        if of is None:
            self.asked.update(() if defaults else self.flat)
            return self.group(defaults if defaults else self.nested)
        if defaults:
            raise TypeError("trial.parameters takes an object or names with their defaults, not both")
        if hasattr(of, "__dataclass_fields__"):
            return self.data_class(of)
        if type(of).__module__.startswith("omegaconf"):
            return self.config(of)
        if isinstance(of, Mapping):
            return self.group(of)
        if hasattr(of, "parse_args"):
            return self.parser(of)
        if hasattr(of, "__dict__"):  # argparse.Namespace.
            return type(of)(**{name: self.take(name, value) for name, value in vars(of).items()})
        raise TypeError(f"trial.parameters({of!r}): expected a dataclass, an argparse parser or its Namespace, a mapping, or names with their defaults")

    def config(self, of: Any) -> Any:
        """`of` is a configuration of OmegaConf, which Hydra has."""
        from omegaconf import OmegaConf

        made: dict[str, Any] = {}
        for name, default in _flat(OmegaConf.to_container(of)).items():  # type: ignore[arg-type]
            if name in self.flat:
                *groups, last = name.split(".")
                place = made
                for group in groups:
                    place = place.setdefault(group, {})
                place[last] = self.take(name, default, None if default == "???" else type(default))
            else:
                self.undeclared.append(name)
        return OmegaConf.merge(of, made)

    def note_undeclared(self) -> None:
        if self.undeclared:
            shown = ", ".join(self.undeclared[:6]) + (", …" if len(self.undeclared) > 6 else "")
            note(f"the trial has no value for {shown}: the program keeps its own; declare it in inlier-program.yaml to vary it")
            self.undeclared.clear()

    def note_not_asked(self) -> None:
        missing = sorted(self.flat.keys() - self.asked - {"seed"})
        if missing:
            note(f"the program never asked for {', '.join(missing)}: what a sweep sets there has no effect; read it by trial.parameters")
