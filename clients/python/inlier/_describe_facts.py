"""What describe.py finds in a process of its own: parameters as {name, type, default, choices, min, max, comment, required}, or {name, problem}."""
from __future__ import annotations

import argparse
import ast
import contextlib
import enum
import json
import math
import os
import pathlib
import re
import runpy
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

Fact = dict[str, Any]
_TYPES = {bool: "TRUE_OR_FALSE", int: "INTEGER", float: "NUMBER", str: "TEXT"}
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")  # PyYAML has these as texts, OmegaConf as numbers.
_INTEGER_MAX = 2**31 - 1


class Found(BaseException):
    """A parser is about to read the command line. No `except Exception` of the program catches it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def scalar(name: str, kind: Any, default: Any, **more: Any) -> Fact:
    """The fact of a parameter of a Python type; `default` None: there is none."""
    if isinstance(default, enum.Enum):
        default = default.name
    if isinstance(default, os.PathLike):
        default = os.fspath(default)
    if kind is int and isinstance(default, int) and abs(default) > _INTEGER_MAX:
        kind = float
    if kind is float and default is not None:
        default = float(default)
        if not math.isfinite(default):
            return {"name": name, "problem": f"its default is {default}, which no parameter can have"}
    if kind not in _TYPES or (default is not None and not isinstance(default, (bool, int, float, str))):
        return {"name": name, "problem": f"a parameter is one number, text or truth value, and this is {shown(kind)} ({default!r}); the program keeps its own"}
    return {"name": name, "type": _TYPES[kind], "default": default, **{key: value for key, value in more.items() if value}}


def shown(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind)).replace("NoneType", "of no known type")


def choices_of(kind: Any, choices: Iterable[Any]) -> Fact:
    """As choices of a text, or as the ends of whole numbers without a gap; {} where neither holds."""
    values: list[Any] = [choice.name if isinstance(choice, enum.Enum) else choice for choice in choices]
    if kind is str and all(isinstance(value, str) for value in values):
        return {"choices": values}
    if kind is int and values and sorted(values) == list(range(min(values), max(values) + 1)):
        return {"min": min(values), "max": max(values)}
    return {}


def of_hint(name: str, hint: Any, default: Any, **more: Any) -> Fact:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is getattr(types, "UnionType", None):
        kinds = [kind for kind in arguments if kind is not type(None)]
        hint = kinds[0] if len(kinds) == 1 else float if set(kinds) == {int, float} else hint
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        kind = type(arguments[0])
        found = choices_of(kind, arguments)
        if not found:
            return {"name": name, "problem": f"one of {list(arguments)}: only texts, or whole numbers without a gap, can be choices"}
        return scalar(name, kind, default, **found, **more)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return scalar(name, str, default, choices=[member.name for member in hint], **more)
    if isinstance(hint, type) and issubclass(hint, os.PathLike):
        return scalar(name, str, default, **more)
    if hint is None or hint is Any:
        hint = type(default)
    return scalar(name, float if hint is float or (hint is int and isinstance(default, float)) else hint, default, **more)


def facts_of_dataclass(of: Any, path: str = "") -> list[Fact]:
    import dataclasses

    cls = of if isinstance(of, type) else type(of)
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # Annotations may name what is not there.
        hints = {}
    facts: list[Fact] = []
    for field in dataclasses.fields(cls):
        if not field.init or field.name.startswith("_"):
            continue
        name, hint, default = path + field.name, hints.get(field.name), field.default
        if not isinstance(of, type):
            default = getattr(of, field.name)
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if dataclasses.is_dataclass(default) or (default is dataclasses.MISSING and dataclasses.is_dataclass(hint)):
            facts += facts_of_dataclass(hint if default is dataclasses.MISSING else default, name + ".")
        else:
            missing = default is dataclasses.MISSING
            facts.append(of_hint(name, hint, None if missing else default, comment=field.metadata.get("help", ""), required=missing))
    return facts


def fact_of_action(action: argparse.Action) -> Fact:
    default = None if action.default is argparse.SUPPRESS else action.default
    comment = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    with contextlib.suppress(KeyError, ValueError, TypeError):
        comment = comment % {**vars(action), "default": default, "prog": "", "type": shown(action.type)}
    more = {"comment": comment, "required": action.required and default is None}
    if action.nargs not in (None, "?", 0):
        return {"name": action.dest, "problem": f"it takes several values (nargs={action.nargs!r}); the program keeps its own"}
    if action.nargs == 0:  # A flag: store_true, store_const, count.
        kind: Any = type(default) if isinstance(default, (bool, int)) else bool
        const = getattr(action, "const", None)
        if const is not None and type(const) is not kind:
            return {"name": action.dest, "problem": f"a flag for {const!r}; the program keeps its own"}
        return scalar(action.dest, kind, default, **more)
    if isinstance(default, str) and action.type not in (None, str):
        with contextlib.suppress(TypeError, ValueError, argparse.ArgumentTypeError):
            default = action.type(default) if callable(action.type) else default
    kind = action.type if isinstance(action.type, type) else type(default) if action.type and default is not None else str
    if action.choices is not None:
        found = choices_of(kind if kind in _TYPES else str, action.choices)
        if not found:
            return {"name": action.dest, "problem": f"one of {list(action.choices)}: only texts, or whole numbers without a gap, can be choices"}
        more.update(found)
    return of_hint(action.dest, kind, default, **more)


def facts_of_parser(parser: argparse.ArgumentParser) -> list[Fact]:
    facts: dict[str, Fact] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            facts[action.dest] = {"name": action.metavar or "subcommand", "problem": "subcommands are not described; name one's parser by --parser"}
        elif not isinstance(action, (argparse._HelpAction, argparse._VersionAction)):
            facts.setdefault(action.dest, fact_of_action(action))
    return list(facts.values())


def facts_of_mapping(values: Mapping[Any, Any], path: str = "") -> list[Fact]:
    """Of a configuration in YAML: a type is that of the value."""
    facts: list[Fact] = []
    for key, value in values.items():
        name = f"{path}{key}"
        if isinstance(value, Mapping):
            facts += facts_of_mapping(value, name + ".")
        elif value == "???":
            facts.append({"name": name, "problem": "it must be given, and its type is not known: write {type: …, required: true}"})
        elif value is None:
            facts.append({"name": name, "problem": "its default is null, and its type is not known: write {type: …}"})
        elif isinstance(value, str) and "${" in value:
            facts.append({"name": name, "problem": f"it is made of others ({value})"})
        elif isinstance(value, str) and _FLOAT.fullmatch(value):
            facts.append(scalar(name, float, float(value)))
        else:
            facts.append(scalar(name, type(value), value))
    return facts


def run_to_parser(file: str) -> argparse.ArgumentParser | None:
    """Runs the program until it reads its command line; None: it ended without."""

    def intercept(parser: argparse.ArgumentParser, *arguments: Any, **more: Any) -> Any:
        raise Found(parser)

    names = ("parse_args", "parse_known_args", "parse_intermixed_args")
    originals = {name: getattr(argparse.ArgumentParser, name) for name in names}
    for name in names:
        setattr(argparse.ArgumentParser, name, intercept)
    try:
        sys.argv = [file]
        runpy.run_path(file, run_name="__main__")
    except Found as found:
        return found.parser
    finally:
        for name, original in originals.items():
            setattr(argparse.ArgumentParser, name, original)
    return None


def dataclasses_of(source: str) -> list[str]:
    """Names of dataclasses at the top of the file that no other one of them contains."""

    def is_dataclass(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(decorator) for decorator in node.decorator_list)

    classes = [node for node in ast.parse(source).body if is_dataclass(node) and isinstance(node, ast.ClassDef)]
    used = {name.id for node in classes for part in node.body if isinstance(part, ast.AnnAssign) for name in ast.walk(part) if isinstance(name, ast.Name)}
    return [node.name for node in classes if node.name not in used]


def find(file: pathlib.Path, config: str, parser: str) -> list[Fact]:
    source = file.read_text(encoding="utf-8")
    candidates = dataclasses_of(source)
    if not config and not parser:
        # Without a parser in its text the file is not run: that could train.
        if re.search(r"arg_?parse", source, re.IGNORECASE):
            found = run_to_parser(str(file))
            if found is not None:
                return facts_of_parser(found)
        if len(candidates) != 1:
            has = f"its dataclasses are {', '.join(candidates)}" if candidates else "it has no dataclass"
            remedy = "name one by --config, or a function that returns a parser by --parser"
            raise LookupError(f"{file.name} reads no command line by argparse, and {has}: {remedy}")
        config = candidates[0]
    module = runpy.run_path(str(file), run_name="inlier_described")
    named = module.get(config or parser)
    if named is None:
        raise LookupError(f"{file.name} has no {config or parser}" + (f"; its dataclasses are {', '.join(candidates)}" if candidates and config else ""))
    if config:
        if not hasattr(named, "__dataclass_fields__"):
            raise LookupError(f"{config} of {file.name} is no dataclass")
        return facts_of_dataclass(named)
    made = named if isinstance(named, argparse.ArgumentParser) else named()
    if not isinstance(made, argparse.ArgumentParser):
        raise LookupError(f"{parser} of {file.name} returned {made!r}, which is no argparse.ArgumentParser")
    return facts_of_parser(made)


def main() -> None:
    """FILE ANSWER CONFIG PARSER: writes {"facts": [...]} or {"error": "..."} to ANSWER."""
    file, answer, config, parser = sys.argv[1:5]
    sys.path[0] = str(pathlib.Path(file).parent)
    try:
        found: dict[str, Any] = {"facts": find(pathlib.Path(file), config, parser)}
    except LookupError as error:
        found = {"error": str(error.args[0])}
    pathlib.Path(answer).write_text(json.dumps(found), encoding="utf-8")
