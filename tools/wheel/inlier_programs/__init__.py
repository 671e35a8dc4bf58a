"""Starts the programs of this wheel: one sentence about what they miss here, or the program in the place of this process.

The programs are in bin/, what they carry is in ../inlier.libs, their texts are in share/inlier/corpora. LibTorch is that of the installed package torch.
"""
import os
import sys

from inlier_programs import built

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "share/inlier/corpora")
# Commands of `inlier` that start inlier-trial, the one program that needs LibTorch.
TRAINING = {"run", "up", "analyze"}
WITHOUT_TRAINING = {"--help", "-h", "--help-all", "--version", "--metrics-reference"}


class MissingError(Exception):
    """One sentence: what the programs miss here, and the remedy."""


def find(package, file):
    """The folder of an installed package that has this file: the one next to this package, where the RPATH of the programs leads, else one of
    sys.path. The package is not imported: that takes seconds of torch."""
    for place in [os.path.dirname(HERE), *sys.path]:
        if os.path.isfile(os.path.join(place, package, file)):
            return os.path.abspath(os.path.join(place, package))
    return None


def check_machine():
    system = os.uname()
    if (system.sysname, system.machine) != ("Linux", built.MACHINE):
        raise MissingError(f"these programs run on Linux on {built.MACHINE}, and this is {system.sysname} on {system.machine}: use such a machine")
    try:
        library, version = os.confstr("CS_GNU_LIBC_VERSION").split()
    except (AttributeError, OSError, ValueError):
        library, version = "", ""
    needed = "these programs need glibc {}.{} or newer, which is in Debian 12, Ubuntu 24.04 and newer".format(*built.GLIBC)
    if library != "glibc":
        raise MissingError(f"{needed}, and this Python is of another C library (musl of Alpine, for example): use a Python of such a system")
    if tuple(map(int, version.split(".")[:2])) < built.GLIBC:
        raise MissingError(f"{needed}, and this system has {version}: use such a system, or build inlier on this one from its source")


def check_torch(torch):
    remedy = f"pip install torch=={built.TORCH}"
    if torch is None:
        raise MissingError(f"torch is not installed, and training needs its LibTorch: {remedy}")
    version = version_of(torch)
    if version.split("+")[0] != built.TORCH:
        raise MissingError(f"torch {version} is installed, and these programs are built over torch {built.TORCH}, which has other symbols: {remedy}")
    if not os.path.isfile(os.path.join(torch, "lib/libtorch_cpu.so")):
        raise MissingError(f"{torch} has no lib/libtorch_cpu.so, it is not whole: pip install --force-reinstall torch=={built.TORCH}")
    if built.CUDA and not os.path.isfile(os.path.join(torch, "lib/libtorch_cuda.so")):
        raise MissingError(f"torch {version} is without CUDA, and these programs are built over the torch with CUDA: {remedy} from PyPI, or take a wheel "
                           "of inlier without CUDA")


def version_of(torch):
    with open(os.path.join(torch, "version.py"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("__version__"):
                return line.partition("=")[2].strip(" \n'\"")
    return "of an unknown version"


def environment(torch):
    """That of this process, with LibTorch's folder where it is not the one in the program's RPATH. Programs hand it on to those that they start."""
    changed = dict(os.environ)
    if torch is not None and os.path.realpath(torch) != os.path.realpath(os.path.join(HERE, "../torch")):
        folders = [os.path.join(torch, "lib"), *(os.path.join(torch, "..", folder) for folder in built.TORCH_NEEDS), changed.get("LD_LIBRARY_PATH")]
        changed["LD_LIBRARY_PATH"] = ":".join(folder for folder in folders if folder)
    return changed


def needs_torch(program, arguments):
    if program == "inlier-trial":
        return True
    starts_it = program == "inlier-worker" or program == "inlier" and TRAINING.intersection(arguments)
    return bool(starts_it) and not WITHOUT_TRAINING.intersection(arguments)


def command_of(program, torch):
    arguments = sys.argv[1:]
    if program == "inlier" and arguments[:1] in (["demo"], ["corpora"]):
        from inlier_programs import demo

        return demo.COMMANDS[arguments[0]](arguments[1:], torch)
    if needs_torch(program, arguments):
        check_torch(torch)
    return [os.path.join(HERE, "bin", program), *arguments]


def start(program):
    try:
        check_machine()
        torch = find("torch", "version.py")
        command = command_of(program, torch)
        os.execve(command[0], command, environment(torch))
    except MissingError as missing:
        reason = str(missing)
    except OSError as error:
        reason = f"{error.filename or program} cannot be started ({error.strerror}): install the wheel again, in a folder whose programs may run"
    print(f"{program}: {reason}", file=sys.stderr)
    sys.exit(7 if program == "inlier" else 1)


def inlier():
    start("inlier")


def coordinator():
    start("inlier-coordinator")


def worker():
    start("inlier-worker")


def trial():
    start("inlier-trial")
