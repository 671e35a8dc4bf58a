"""inlier from Python: ablation sweeps of transformers, their results as data frames.

    import inlier

    client = inlier.connect()                 # or folder="demo", or address="head:7420", tls_ca="ca.pem", token_file="alice.token"
    sweep = client.submit("sweeps/from-scratch.yaml").sweep
    client.wait(sweep, progress=True)
    client.results(sweep)                     # a data frame, a row for each trial
"""
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
