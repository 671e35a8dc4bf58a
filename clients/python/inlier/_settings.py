"""Which coordinator a client uses: the rules of the command line (cli/connection/client_settings.h, cli/connection/session.cc).

Arguments before environment variables, these before the user's client.yaml, that before the default. The first of them that names an address or
a folder decides; an address before a folder. Credentials of client.yaml are for the coordinator that it names.
"""
from __future__ import annotations

import dataclasses
import difflib
import fcntl
import json
import os
import pathlib
import socket
import stat
import time

import yaml

from inlier.errors import InlierError, InvalidError, NotFoundError, UnavailableError

DEFAULT_FOLDER = ".inlier"
DEFAULT_ADDRESS = "127.0.0.1:7420"
START_SECONDS = 30.0  # A coordinator that is starting is waited for so long,
RESTART_SECONDS = 5.0  # one that was killed, and may be started again, so long.
_PATH_KEYS = ("dir", "tls_ca", "tls_certificate", "tls_key", "token_file")
_KEYS = ("server", *_PATH_KEYS)


@dataclasses.dataclass
class Credentials:
    tls_ca: str = ""
    tls_certificate: str = ""
    tls_key: str = ""
    token_file: str = ""


@dataclasses.dataclass
class Choice:
    """`address`, or the coordinator that runs in `folder`. `named_by`: empty for the default."""

    address: str
    folder: pathlib.Path
    named_by: str
    credentials: Credentials


def settings_file() -> pathlib.Path | None:
    base = os.environ.get("XDG_CONFIG_HOME")
    if base:
        return pathlib.Path(base) / "inlier" / "client.yaml"
    home = os.environ.get("HOME")
    return pathlib.Path(home) / ".config" / "inlier" / "client.yaml" if home else None


def read_settings(file: pathlib.Path | None) -> dict[str, str]:
    """The mapping in client.yaml; paths are relative to its folder. InvalidError with the place of a mistake."""
    if file is None or not file.exists():
        return {}
    try:
        document = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise InvalidError(f"{file}:{mark.line + 1 if mark else 1}:{mark.column + 1 if mark else 1}: {error.problem}") from None
    if document is None:
        return {}

    def wrong(node: yaml.Node, what: str) -> InvalidError:
        return InvalidError(f"{file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}: {what}")

    if not isinstance(document, yaml.MappingNode):
        raise wrong(document, "expected a mapping, for example server: head:7420")
    settings: dict[str, str] = {}
    for key, value in document.value:
        if key.value not in _KEYS:
            near = difflib.get_close_matches(str(key.value), _KEYS, 1)
            raise wrong(key, f'unknown key "{key.value}"' + (f'; did you mean "{near[0]}"?' if near else ""))
        if key.value in settings:
            raise wrong(key, f'"{key.value}" is there twice; remove one')
        if not isinstance(value, yaml.ScalarNode) or not value.value:
            raise wrong(value, f"{key.value}: expected a text")
        text = value.value
        if key.value in _PATH_KEYS:
            text = os.path.normpath(file.parent / pathlib.Path(text).expanduser())
        settings[key.value] = text
    return settings


def choose(address: str | None, folder: str | None) -> Choice:
    file = settings_file()
    settings = read_settings(file)
    levels = [
        (address or "", folder or "", "address", "folder"),
        (os.environ.get("INLIER_SERVER", ""), os.environ.get("INLIER_DIR", ""), "INLIER_SERVER", "INLIER_DIR"),
        (settings.get("server", ""), settings.get("dir", ""), str(file), str(file)),
    ]
    choice = Choice("", pathlib.Path(DEFAULT_FOLDER), "", Credentials())
    for server, directory, server_by, directory_by in levels:
        if choice.named_by:
            break
        if server:
            choice.address, choice.named_by = server, server_by
        elif directory:
            choice.folder, choice.named_by = pathlib.Path(directory), directory_by
    names_nothing = not settings.get("server") and not settings.get("dir")
    if names_nothing or choice.named_by == str(file):
        choice.credentials = Credentials(**{key: value for key, value in settings.items() if key not in ("server", "dir")})
    return choice


@dataclasses.dataclass
class Found:
    address: str
    from_folder: bool  # The address is that of an endpoint file.
    version: str = ""  # Of that file.
    named: bool = True  # False: at the default port, where any user of the machine may listen, so that no token is sent in plain text.
    database_id: str = ""  # The same: a coordinator with another database refuses the calls.


def find(choice: Choice) -> Found:
    """The coordinator of the choice. Waits a short time for one that was killed and may be starting again."""
    if choice.address:
        return Found(choice.address, False)
    begun = time.monotonic()
    while True:
        running = _running_in(choice.folder)
        if running is not None:
            return running
        patience = START_SECONDS if _is_starting(choice.folder) else RESTART_SECONDS if (choice.folder / "endpoint.json").exists() else 0.0
        if time.monotonic() - begun >= patience:
            break
        time.sleep(0.05)
    if not choice.named_by and not (choice.folder / "inlier.db").exists() and _accepts(DEFAULT_ADDRESS):
        return Found(DEFAULT_ADDRESS, False, named=False)
    raise _nobody_answers(choice)


def _is_held(lock: pathlib.Path) -> bool | None:
    """Whether a process has the lock; None: it cannot be known."""
    try:
        with open(lock, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None


def _is_starting(folder: pathlib.Path) -> bool:
    return any(_is_held(folder / name) for name in ("inlier.lock", "up.lock"))


def _nobody_answers(choice: Choice) -> InlierError:
    folder = choice.folder
    by = f" ({choice.named_by})" if choice.named_by and choice.named_by != "folder" else ""
    remedy = f'`inlier up --dir {folder}` starts one there, and connect(address="HOST:PORT") names another'
    if not folder.exists():
        return NotFoundError(f"there is no folder {folder}{by}; {remedy}")
    default = "" if choice.named_by else f", and none answers at {DEFAULT_ADDRESS}"
    stored = (folder / "inlier.db").exists()
    read = f'; inlier.open_dir("{folder}") reads its results without one' if stored else ", and the folder has no database (inlier.db)"
    return UnavailableError(f"no coordinator is running in {folder}{by}{default}{read}; {remedy}")


def _running_in(folder: pathlib.Path) -> Found | None:
    path = folder / "endpoint.json"
    # The coordinator of a folder is the process that holds its lock; a copy's lock has another number (rpc/endpoint_file.cc).
    held = _is_held(folder / "inlier.lock")
    try:
        endpoint = json.loads(path.read_text(encoding="utf-8"))
        address = str(endpoint["grpc"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError) as error:
        if not held:
            return None
        raise InlierError(f"{path} cannot be read as an endpoint file ({error}); remove it and start the coordinator again") from None
    try:
        of_copy = "lock_inode" in endpoint and int(endpoint["lock_inode"]) != (folder / "inlier.lock").stat().st_ino
    except OSError:
        of_copy = True
    may_run = not of_copy and (held is not False or not is_loopback(address))
    if not may_run or not _accepts(address):
        return None
    return Found(address, True, str(endpoint.get("version", "")), database_id=str(endpoint.get("database_id", "")))


def split_address(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidError(f"address: '{address}' is not an address; expected host:port, for example {DEFAULT_ADDRESS}")
    return host, int(port)


def _accepts(address: str) -> bool:
    try:
        with socket.create_connection(split_address(address), timeout=5):
            return True
    except OSError:
        return False


def is_loopback(address: str) -> bool:
    host, _ = split_address(address)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(str(info[4][0]).startswith("127.") or info[4][0] == "::1" for info in found)


def is_trusted(folder: pathlib.Path) -> bool:
    """Only this user or root can have written the endpoint file: a token of this user may go to the address in it."""
    for path in (folder, folder / "endpoint.json"):
        try:
            info = path.stat()
        except OSError:
            return False
        if info.st_uid not in (os.geteuid(), 0) or info.st_mode & stat.S_IWOTH:
            return False
    return True
