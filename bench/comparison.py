"""What comparisons with other systems share: an environment that has them, and where the results go."""
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def environment_of(packages, folder):
    """An interpreter, and the peers of {peer: package} that it has. A folder that already has them is used as it is."""
    python = folder / "venv/bin/python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", folder / "venv"], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit("bench: no environment for the peers can be made; remedy: apt-get install python3-venv, or give --python or --peers ''")
    installed = []
    for name, package in packages.items():
        print(f"installing {name} into {folder.name}/venv", flush=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package])
        if done.returncode == 0:
            installed.append(name)
        else:
            print(f"{name} does not install here and is left out", flush=True)
    return python, installed


def write_results(name, results):
    out = ROOT / "bench/results"
    out.mkdir(exist_ok=True)
    file = out / time.strftime(f"{name}-%Y%m%dT%H%M%SZ.json", time.gmtime())
    file.write_text(json.dumps(results, indent=1) + "\n")
    print(f"written to {file.relative_to(ROOT)}")
