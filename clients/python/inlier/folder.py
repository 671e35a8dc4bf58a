"""A state folder without a coordinator: its database, read-only."""
from __future__ import annotations

import os
import pathlib
import sqlite3
import threading
import urllib.parse
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from google.protobuf import json_format

from inlier import _program, tables
from inlier._results import Results, quoted
from inlier._source import SCHEMA_VERSION
from inlier.errors import ConflictError, InlierError, InvalidError, NotFoundError
from inlier.v1 import sweep_service_pb2

_APPLICATION_ID = 0x696E6C72
_SQLITE = (3, 37, 0)  # The tables are STRICT.


class Folder(Results):
    """Data frames of `inlier.db`; also while a coordinator runs in the folder. Close it, or use it in a `with`."""

    def __init__(self, folder: os.PathLike[str] | str) -> None:
        self.path = pathlib.Path(folder)
        file = self.path / "inlier.db"
        if not file.exists():
            what = "there is no folder" if not self.path.exists() else "there is no database (inlier.db) in"
            raise NotFoundError(f"{what} {self.path}; `inlier up --dir {self.path}` makes one")
        if sqlite3.sqlite_version_info < _SQLITE:
            raise ConflictError(f"this Python has SQLite {sqlite3.sqlite_version}, and the database needs 3.37 or newer; use a newer Python")
        self._lock = threading.Lock()
        uri = f"file:{urllib.parse.quote(str(file.resolve()))}?mode=ro"
        self._database = sqlite3.connect(uri, uri=True, timeout=10, check_same_thread=False)
        try:
            self._check(file)
        except BaseException:
            self._database.close()
            raise

    def _check(self, file: pathlib.Path) -> None:
        try:
            application, version = (self._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        except sqlite3.Error as error:
            raise InlierError(f"{file} cannot be read: {error}; `inlier doctor --dir {self.path}` examines it") from None
        if application != _APPLICATION_ID:
            raise ConflictError(f"{file} is a database of another program; name the state folder of an inlier")
        if version > SCHEMA_VERSION:
            raise ConflictError(
                f"{file} has schema version {version}, written by a newer inlier; this package knows {SCHEMA_VERSION}: install the package of that version"
            )
        if version < SCHEMA_VERSION:
            raise ConflictError(
                f"{file} has schema version {version}, of an older inlier; this package reads {SCHEMA_VERSION}: start the coordinator of this version once "
                "(it keeps a backup and brings the database up to date), or install the package of that version"
            )

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sweeps(self) -> pd.DataFrame:
        """A row for each sweep, the newest first, with counts of its trials."""
        return self.query("SELECT * FROM sweeps ORDER BY submitted_at DESC, sweep_id DESC").drop(columns="spec")

    def table(self, sweep: str, table: Mapping[str, Any] | None = None) -> tables.Table:
        """The sweep's table, computed by the program `inlier` (in PATH, or INLIER_PROGRAM)."""
        with tables.table_file(table) as arguments:
            answer = _program.run("table", self._sweep_id(sweep), "--dir", str(self.path), *arguments)
        return tables.Table(json_format.ParseDict(answer, sweep_service_pb2.Table(), ignore_unknown_fields=True))

    def _rows(self, sql: str, max_rows: int) -> tuple[list[str], list[Sequence[Any]], bool]:
        with self._lock:
            try:
                cursor = self._database.execute(sql)
                rows = cursor.fetchmany(max_rows + 1)
            except sqlite3.Error as error:
                raise InvalidError(f"SQL: {error}") from None
            columns = [column[0] for column in cursor.description or ()]
            cursor.close()
        return columns, rows[:max_rows], len(rows) > max_rows

    def _sweep_id(self, sweep: str) -> str:
        name = quoted(sweep)
        rows = self.query(f"SELECT sweep_id, owner FROM sweeps WHERE sweep_id = {name} OR sweep = {name}")
        found = rows.sweep_id
        if sweep in set(found):
            return sweep
        if found.empty:
            known = self.query("SELECT DISTINCT sweep FROM sweeps").sweep
            raise NotFoundError(f"there is no sweep {sweep} in {self.path}; known are {', '.join(known[:10]) or 'none'}")
        latest = str(max(found, key=lambda one: int(one[2:])))
        if rows.owner.nunique() > 1:
            warnings.warn(f'"{sweep}" is {latest}; several users have sweeps of this name ({", ".join(found)}): name one by its id', stacklevel=3)
        return latest


def open_dir(folder: os.PathLike[str] | str) -> Folder:
    """The database of a state folder, read-only: results, curves, SQL as data frames. No coordinator needs to run there."""
    return Folder(folder)
