"""The `inlier` program, which reads and checks YAML with the place of every mistake."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import json_format

from inlier import _specs
from inlier.errors import InlierError, InvalidError, make_error
from inlier.v1 import sweep_spec_pb2


def find_program() -> str:
    """$INLIER_PROGRAM, or that of the wheel that this package is a part of, or `inlier` of the PATH."""
    of_wheel = pathlib.Path(__file__).resolve().parents[1] / "inlier_programs/bin/inlier"
    program = os.environ.get("INLIER_PROGRAM") or (str(of_wheel) if of_wheel.is_file() else shutil.which("inlier"))
    if not program:
        raise InlierError(
            "YAML files, scales and tables of stored folders are read by the program `inlier`, which is not there: put its folder into PATH, or its path "
            "into INLIER_PROGRAM; a sweep as a Python dict needs no program"
        )
    return program


def run(*arguments: str) -> Any:
    """The JSON that `inlier ARGUMENTS --json` prints; its warnings are Python's."""
    program = find_program()
    try:
        done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise InlierError(f"{program} cannot be started: {error}") from None
    for line in done.stderr.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: ") :], stacklevel=4)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise InlierError(done.stderr.strip() or f"{program} ended with {done.returncode}") from None
    if done.returncode != 0 and isinstance(answer, dict) and "error" in answer:
        code = getattr(grpc.StatusCode, str(answer["error"]["code"]), grpc.StatusCode.UNKNOWN)
        raise make_error(code, str(answer["error"]["message"]))
    return answer


def read_sweep(file: os.PathLike[str] | str, scale: str | None, settings: Mapping[str, Any]) -> sweep_spec_pb2.SweepSpec:
    arguments = ["check", os.fspath(file)]
    if scale:
        arguments += ["--scale", scale]
    for path, value in settings.items():
        arguments += ["--set", f"{path}={_specs.setting_text(value)}"]
    answer = run(*arguments)
    return json_format.ParseDict(answer["sweep"], sweep_spec_pb2.SweepSpec())


def read_sweep_text(text: str, scale: str | None, settings: Mapping[str, Any]) -> sweep_spec_pb2.SweepSpec:
    with tempfile.TemporaryDirectory(prefix="inlier-") as folder:
        file = pathlib.Path(folder) / "sweep.yaml"
        file.write_text(text, encoding="utf-8")
        try:
            return read_sweep(file, scale, settings)
        except InvalidError as error:
            raise InvalidError(error.message.replace(f"{file}:", "sweep:"), error.code) from None
