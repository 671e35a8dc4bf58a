"""python -m inlier.export tensorboard|wandb|mlflow --sweep S -o FOLDER [--dir FOLDER | --server HOST:PORT]"""
from __future__ import annotations

import argparse
import sys

import inlier
from inlier import export


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m inlier.export", description="Write the trials of a sweep for another tool.")
    parser.add_argument("tool", choices=export.__all__)
    parser.add_argument("--sweep", required=True, help="id or name")
    parser.add_argument("-o", "--out", required=True, help="folder; for mlflow also the URI of a tracking server")
    parser.add_argument("--dir", help="state folder whose database is read; no coordinator needs to run")
    parser.add_argument("--server", help="coordinator, HOST:PORT; without --dir and --server: as inlier.connect()")
    parser.add_argument("--tls-ca", default="", help="PEM file: CA of the coordinator's certificate")
    parser.add_argument("--token-file", default="", help="file with the token in its first line")
    parser.add_argument("--sites", action="store_true", help="also the curves of single modules")
    arguments = parser.parse_args()
    if arguments.dir and arguments.server:
        parser.error("--dir and --server exclude each other")
    try:
        source: inlier.Folder | inlier.Client
        if arguments.dir:
            source = inlier.open_dir(arguments.dir)
        else:
            source = inlier.connect(address=arguments.server, tls_ca=arguments.tls_ca, token_file=arguments.token_file)
        with source:
            written = getattr(export, arguments.tool)(source, arguments.sweep, arguments.out, sites=arguments.sites)
    except inlier.InlierError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{len(written)} runs in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
