"""inlier from Python: ablation sweeps of transformers, their results as data frames.

    import inlier

    client = inlier.connect()                 # or folder="demo", or address="head:7420", tls_ca="ca.pem", token_file="alice.token"
    sweep = client.submit("sweeps/from-scratch.yaml").sweep
    client.wait(sweep, progress=True)
    client.results(sweep)                     # a data frame, a row for each trial

Names are imported when they are first used, so that `from inlier import trial`, which a program of one's own does, takes no gRPC and no pandas with it.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inlier import export
    from inlier._source import VERSION as __version__
    from inlier.client import Client, connect
    from inlier.errors import (
        AccessError,
        ConflictError,
        InlierError,
        InvalidError,
        LimitError,
        NotFoundError,
        TruncatedError,
        UnavailableError,
    )
    from inlier.folder import Folder, open_dir
    from inlier.models import Edited, Explanation, LogLine, Running, Status, Stopped, Submitted, Update
    from inlier.tables import Table

__all__ = [
    "AccessError", "Client", "ConflictError", "Edited", "Explanation", "Folder", "InlierError", "InvalidError", "LimitError", "LogLine", "NotFoundError",
    "Running", "Status", "Stopped", "Submitted", "Table", "TruncatedError", "UnavailableError", "Update", "__version__", "connect", "export", "open_dir",
]  # fmt: skip

_MODULES = {
    "client": ("Client", "connect"),
    "errors": ("AccessError", "ConflictError", "InlierError", "InvalidError", "LimitError", "NotFoundError", "TruncatedError", "UnavailableError"),
    "folder": ("Folder", "open_dir"),
    "models": ("Edited", "Explanation", "LogLine", "Running", "Status", "Stopped", "Submitted", "Update"),
    "tables": ("Table",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("inlier._source").VERSION
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"inlier.{_MODULE_OF[name]}"), name)
    if name == "export" or name in _MODULES:
        return importlib.import_module(f"inlier.{name}")
    raise AttributeError(f"module 'inlier' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
