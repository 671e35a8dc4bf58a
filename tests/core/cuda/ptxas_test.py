#!/usr/bin/env python3
"""Compiles every kernel of core/cuda for sm_80 and sm_90: no spills, registers and static shared memory within limits.

Prints a table: kernel, architecture, registers, static shared memory, bytes spilled. nvcc is that of PATH, else that of .deps/nvcc
(tools/setup/setup nvcc). Shared memory that a launch asks for is not known to ptxas: cuda_test holds it to 160 KiB, which with
STATIC_MAX is sm_80's 163 KiB.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
ARCHITECTURES = ("80", "90")
REGISTERS_MAX = 255
STATIC_MAX = 3 * 1024


def find_nvcc():
    installed = ROOT / ".deps/nvcc/nvidia/cu13/bin/nvcc"
    found = shutil.which("nvcc") or (str(installed) if installed.exists() else None)
    if found is None:
        sys.exit("cuda.ptxas: there is no nvcc in PATH and none in .deps/nvcc\ncuda.ptxas: remedy: tools/setup/setup nvcc")
    return found


def short(mangled):
    """Name and template arguments of a kernel: LongQueryGradientKernel<64>, ForwardKernel<Bf16>."""
    name, types = "", []
    rest = mangled.split("_GLOBAL__N__", 1)[-1]
    match = re.search(r"(?<=\d)([A-Z][A-Za-z]*?Kernel|Kernel)(I.*?E)?(?:v|E)", rest)
    if match:
        name = match[1]
        arguments = match[2] or ""
        types = re.findall(r"Li(\d+)E", arguments) + (["Bf16"] if "Bf16" in arguments else []) + \
            (["float"] if re.match(r"If", arguments) else []) + [("false", "true")[int(b)] for b in re.findall(r"Lb(\d)E", arguments)]
    return (name or mangled) + (f"<{', '.join(types)}>" if types else "")


def compile_one(nvcc, source, folder):
    command = [nvcc, "-std=c++20", "-O3", f"-I{ROOT}", "-Xptxas", "-v", "-fatbin", "-o", f"{folder}/{source.stem}.fatbin", str(source)]
    for arch in ARCHITECTURES:
        command += ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"cuda.ptxas: {source.name} does not compile\n{ran.stderr}")
    text = ran.stdout + ran.stderr
    pattern = (r"Compiling entry function '(\w+)' for 'sm_(\d+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads\s+"
               r"ptxas info\s+: Used (\d+) registers([^\n]*)")
    for mangled, arch, stores, loads, registers, more in re.findall(pattern, text, re.S):
        shared = re.search(r"(\d+) bytes smem", more)
        yield source.stem, short(mangled), f"sm_{arch}", int(registers), int(shared[1]) if shared else 0, int(stores) + int(loads)


def main():
    nvcc = find_nvcc()
    sources = sorted((ROOT / "core/cuda").glob("*.cu"))
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for source in sources for row in compile_one(nvcc, source, folder)]
    if {row[0] for row in rows} != {source.stem for source in sources}:
        sys.exit("cuda.ptxas: ptxas reports nothing for some sources")
    print("| source | kernel | architecture | registers | static shared memory | spilled |\n|---|---|---|---|---|---|")
    wrong = []
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
        if row[3] > REGISTERS_MAX or row[4] > STATIC_MAX or row[5] > 0:
            wrong.append(row)
    for row in wrong:
        print(f"cuda.ptxas: {row[1]} of {row[0]}.cu for {row[2]} is above a limit: {row[3]} registers, {row[4]} bytes shared, {row[5]} bytes spilled",
              file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
