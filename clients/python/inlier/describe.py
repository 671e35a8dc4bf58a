"""Writes inlier-program.yaml from a dataclass, an argparse parser or a configuration of Hydra that a program has.

    python -m inlier.describe train.py > inlier-program.yaml            # its parser, or its only dataclass
    python -m inlier.describe train.py --config Config                  # this dataclass
    python -m inlier.describe train.py --parser make_parser             # the parser that this function returns
    python -m inlier.describe conf/config.yaml                          # a configuration of Hydra or OmegaConf

Types, defaults, choices and help become those of parameters. Anything else is a comment in the file and a message. Standard library alone,
but for YAML; the program's file is run in a process of its own, up to the place where its parser would read the command line.
"""
from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from inlier._describe_facts import Fact, facts_of_mapping

SECONDS_MAX = 120  # For imports such as torch.
_WORD = "[A-Za-z][A-Za-z0-9_]{0,63}"
_NAME = re.compile(rf"{_WORD}(\.{_WORD}){{0,7}}")
_NOT_PLAIN = ("true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf")
_LOWER, _HIGHER = re.compile(r"loss|perplexity|ppl|error|seconds|wer$|norm"), re.compile(r"acc|f1|bleu|rouge|auc|score|ratio|speed")


class DescribeError(Exception):
    """A sentence with the remedy."""


def text_of(value: Any) -> str:
    """A scalar in YAML: a text in quotes where another reader could take it for something else."""
    if isinstance(value, str):
        plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", value) and value.lower() not in _NOT_PLAIN
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def line_of(fact: Fact) -> str:
    """The parameter's line, or a comment with its `problem`."""
    if fact.get("problem"):
        return f"  # {fact['name']}: {fact['problem']}"
    parts = [f"type: {fact['type']}"]
    if fact.get("required"):
        parts.append("required: true")
    elif fact.get("default") is not None:
        parts.append(f"default: {text_of(fact['default'])}")
    parts += [f"{key}: {text_of(fact[key])}" for key in ("min", "max") if fact.get(key) is not None]
    if fact.get("column"):
        parts.append(f"column: {fact['column']}")
    if fact.get("choices"):
        parts.append("choices: [" + ", ".join(map(text_of, fact["choices"])) + "]")
    if fact.get("comment"):
        parts.append(f"comment: {json.dumps(' '.join(str(fact['comment']).split()), ensure_ascii=False)}")
    return f"  {fact['name']}: {{{', '.join(parts)}}}"


def measurements_of(source: str) -> list[str]:
    """Names that the source reports by trial.log(name=…) and trial.result(name=…), or as keys of a mapping there."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("trial.log", "trial.result"):
            keys = [key.value for mapping in node.args if isinstance(mapping, ast.Dict) for key in mapping.keys if isinstance(key, ast.Constant)]
            found.update(dict.fromkeys([*map(str, keys), *(word.arg for word in node.keywords if word.arg and word.arg != "step")]))
    return list(found)


def program_text(name: str, command: list[str], files: str, facts: list[Fact], measurements: list[str], made_from: str) -> str:
    lines = [f"# Made by inlier.describe from {made_from}. Read it once: remove what no sweep varies, add ranges (min, max).", f"name: {text_of(name)}"]
    lines.append("command: [" + ", ".join(map(text_of, command)) + "]")
    lines.append('# evaluate: [python3, evaluate.py]      # a second command, for what is measured on the trained model')
    lines.append(f"files: {files:<33}# a change of one of them makes other trials; name data, too")
    lines.append("parameters:                             # seed is there for every program" if facts else "# parameters: none were found")
    lines += [line_of(fact) for fact in facts]
    if measurements:
        lines.append("measurements:")
        for measured in measurements:
            if not re.fullmatch(_WORD, measured):
                lines.append(f"  # {measured}: this is no name of a measurement: letters, digits and _; rename it in the program")
                continue
            better = "LOWER" if _LOWER.search(measured) else "HIGHER" if _HIGHER.search(measured) else "NEITHER"
            lines.append(f"  {measured}: {{better: {better}}}")
    else:
        lines += ["# measurements:                         # declare all that trial.log and trial.result report", "#   loss: {better: LOWER}"]
    return "\n".join(lines) + "\n"


def checked(facts: list[Fact]) -> list[Fact]:
    """Without the seed, with a problem for a name that cannot be one, and with a column of its own where the last words of two names are the same."""
    last_words = [fact["name"].rpartition(".")[2] for fact in facts if not fact.get("problem")]
    kept = []
    for fact in facts:
        if fact["name"] == "seed":
            continue
        if not _NAME.fullmatch(fact["name"]):
            fact = {"name": fact["name"], "problem": "this is no name of a parameter: letters, digits and _ in groups with a point between them"}
        elif "." in fact["name"] and last_words.count(fact["name"].rpartition(".")[2]) > 1:
            fact = {**fact, "column": fact["name"].replace(".", "_")}
        kept.append(fact)
    return kept


def facts_of_program(file: pathlib.Path, config: str, parser: str) -> list[Fact]:
    """Those that a child process finds, which imports or runs the file: what that prints does not get into ours."""
    with tempfile.TemporaryDirectory(prefix="inlier-describe-") as folder:
        answer = pathlib.Path(folder) / "facts.json"
        here = pathlib.Path(__file__).resolve().parents[1]
        start = "import sys; sys.path.append(sys.argv.pop(1)); from inlier import _describe_facts; _describe_facts.main()"
        command = [sys.executable, "-c", start, str(here), str(file), str(answer), config, parser]
        try:
            done = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise DescribeError(f"{file} runs for {SECONDS_MAX} seconds without reading its command line: name a dataclass (--config) or a function "
                                "that returns its parser (--parser)") from None  # fmt: skip
        if not answer.is_file():
            raise DescribeError(f"{file} ended before it could be described:\n{(done.stderr or done.stdout).strip()[-2000:]}")
        found = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in found:
        raise DescribeError(found["error"])
    facts: list[Fact] = found["facts"]
    return facts


def facts_of_config(file: pathlib.Path) -> list[Fact]:
    """A configuration with its list of defaults, as Hydra puts it together: groups are files of folders next to it."""
    import yaml

    problems: list[Fact] = []

    def read(path: pathlib.Path) -> dict[str, Any]:
        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except (OSError, yaml.YAMLError) as error:
            raise DescribeError(f"{path} cannot be read: {error}") from None
        if not isinstance(found, dict):
            raise DescribeError(f"{path} is no mapping")
        merged: dict[str, Any] = {}
        own = False
        for entry in found.pop("defaults", []):
            if entry == "_self_":
                merge(merged, found)
                own = True
            elif isinstance(entry, str):
                merge(merged, read(path.parent / f"{entry}.yaml"))
            elif isinstance(entry, dict) and len(entry) == 1 and isinstance(next(iter(entry.values())), str):
                group, option = next(iter(entry.items()))
                chosen = path.parent / group / f"{option}.yaml"
                if group.startswith("override ") or "@" in group or not chosen.is_file():
                    problems.append({"name": group, "problem": f'"{option}" of the list of defaults is not followed; write its values down here'})
                else:
                    at: dict[str, Any] = {}
                    place = at
                    for part in group.split("/"):
                        place = place.setdefault(part, {})
                    place.update(read(chosen))
                    merge(merged, at)
        if not own:
            merge(merged, found)
        return merged

    values = read(file)
    values.pop("hydra", None)
    return facts_of_mapping(values) + problems


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


def describe(file: pathlib.Path, config: str = "", parser: str = "", name: str = "") -> tuple[str, list[str]]:
    """The text of inlier-program.yaml, and a message for each thing that it has no form for."""
    file = file.resolve()
    if not file.is_file():
        raise DescribeError(f"{file} is not there")
    is_config = file.suffix in (".yaml", ".yml")
    facts = checked(facts_of_config(file) if is_config else facts_of_program(file, config, parser))
    folder = file.parent.parent if is_config and file.parent.name.startswith("conf") else file.parent
    program = next((path for path in (folder / "train.py", folder / "main.py") if path.is_file()), folder / "train.py") if is_config else file
    measurements = measurements_of(program.read_text(encoding="utf-8")) if program.is_file() else []
    named = name or re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-")[:64] or "program"
    named = named if named[0].isalpha() else f"program-{named}"[:64]
    messages = [f"{fact['name']}: {fact['problem']}" for fact in facts if fact.get("problem")]
    configurations = f', "{file.parent.name}/**"' if file.parent != folder else ', "*.yaml"' if is_config else ""
    text = program_text(named, ["python3", program.name], f'["*.py"{configurations}]', facts, measurements, file.name)
    return text, messages


def main() -> None:
    parser = argparse.ArgumentParser(prog="inlier.describe", description="Writes inlier-program.yaml from a program's dataclass, parser or configuration.")
    parser.add_argument("file", type=pathlib.Path, help="the program (train.py), or its configuration for Hydra (conf/config.yaml)")
    parser.add_argument("--config", default="", metavar="NAME", help="a dataclass of the file")
    parser.add_argument("--parser", default="", metavar="NAME", help="a function of the file that returns its argparse parser, or the parser's own name")
    parser.add_argument("--name", default="", help="the program's name; that of its folder when not given")
    arguments = parser.parse_args()
    try:
        text, messages = describe(arguments.file, arguments.config, arguments.parser, arguments.name)
    except DescribeError as error:
        sys.exit(f"inlier.describe: {error}")
    print(text, end="")
    for message in messages:
        print(f"inlier.describe: {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
