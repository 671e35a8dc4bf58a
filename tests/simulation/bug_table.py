"""The deliberate bugs: those in the sources, and those of the table bugs.tsv."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/simulation/bugs.tsv"


def bugs_of_sources(folders=("coordinator", "worker")):
    """Names in INLIER_BUG("..."), sorted."""
    names = set()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                names.update(re.findall(r'INLIER_BUG\(\s*"([a-z_]+)"\)', path.read_text()))
    return sorted(names)


def read_table():
    """Rows (name, seed, what caught it)."""
    lines = TABLE.read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]
