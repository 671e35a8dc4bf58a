"""Derives from the sources of the repository: the gRPC stubs with types, the version, and the schema version of the database.

In a checkout these come from ../../proto and its neighbours; a source distribution has copies of them below `source/`.
"""
import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SERVICE = "inlier/v1/sweep_service.proto"
PROTOBUF = "6.31.1"  # Of the compiler in grpcio-tools: its stubs need this version or a newer one, up to the next major version.


def source(root):
    """The folder with proto/, CMakeLists.txt and coordinator/store/migrations/."""
    copied = pathlib.Path(root).resolve() / "source"
    return copied if copied.is_dir() else pathlib.Path(root).resolve().parents[1]


def version_of(root):
    text = (source(root) / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(inlier VERSION ([0-9.]+)", text, re.MULTILINE)[1]


def migrations(root):
    return sorted((source(root) / "coordinator/store/migrations").glob("[0-9]*.sql"))


def protos(root):
    """The service's file and all that it imports, relative to proto/."""
    found, waiting = [], [SERVICE]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            text = (source(root) / "proto" / name).read_text(encoding="utf-8")
            waiting += re.findall(r'^import "(inlier/[^"]+)";', text, re.MULTILINE)
    return sorted(found)


class MetadataHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata):
        metadata["version"] = version_of(self.root)
        metadata["dependencies"] = [
            f"grpcio>={importlib.metadata.version('grpcio-tools')}",
            f"protobuf>={PROTOBUF},<{int(PROTOBUF.split('.')[0]) + 2}",
            "pandas>=1.5",
            "PyYAML>=6",
        ]


class BuildHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        if self.target_name == "sdist":
            self.copy_sources(build_data)
            return
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inlier-stubs-"))
        self.compile(self.folder)
        facts = f'VERSION = "{version_of(self.root)}"\nSCHEMA_VERSION = {len(migrations(self.root))}\n'
        (self.folder / "inlier/_source.py").write_text('"""Facts of the programs that this package was made with."""\n' + facts, encoding="utf-8")
        places = {str(path): path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.py*")}
        if version == "editable":  # `pip install -e`: next to the sources, where git ignores them.
            for made, place in places.items():
                target = pathlib.Path(self.root) / place
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(made, target)
        build_data["force_include"].update(places)

    def finalize(self, version, build_data, artifact_path):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    def compile(self, folder):
        import grpc_tools

        includes = [source(self.root) / "proto", pathlib.Path(grpc_tools.__file__).parent / "_proto"]
        made = [f"--{kind}={folder}" for kind in ("python_out", "pyi_out", "grpc_python_out", "mypy_grpc_out")]
        plugin = shutil.which("protoc-gen-mypy_grpc", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("protoc-gen-mypy_grpc")
        command = [sys.executable, "-m", "grpc_tools.protoc", *(f"-I{path}" for path in includes), *made,
                   f"--plugin=protoc-gen-mypy_grpc={plugin}", *protos(self.root)]
        subprocess.run(command, check=True)
        for path in folder.rglob("*_pb2.py"):
            if f"# Protobuf Python Version: {PROTOBUF}\n" not in path.read_text(encoding="utf-8"):
                raise RuntimeError(f"{path.name} is not of protobuf {PROTOBUF}: PROTOBUF in hatch_build.py must follow grpcio-tools in pyproject.toml")
        for path in folder.rglob("*_pb2_grpc.py*"):  # Only one file has a service.
            if not path.name.startswith("sweep_service"):
                path.unlink()
        (folder / "inlier/v1/__init__.py").write_text('"""Generated from proto/inlier/v1: the messages of the service."""\n', encoding="utf-8")

    def copy_sources(self, build_data):
        root = source(self.root)
        for path in [root / "CMakeLists.txt", *migrations(self.root), *(root / "proto" / name for name in protos(self.root))]:
            build_data["force_include"][str(path)] = "source/" + path.relative_to(root).as_posix()
