"""One connection: the channel, its credentials, repeated calls, and errors as exceptions of this package."""
from __future__ import annotations

import random
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import grpc

from inlier import _credentials, _settings
from inlier._source import VERSION
from inlier.errors import ConflictError, InlierError, UnavailableError, make_error
from inlier.v1 import sweep_service_pb2_grpc

_MESSAGE_BYTES_MAX = 64 << 20
_OPTIONS = [
    ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", _MESSAGE_BYTES_MAX),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.keepalive_time_ms", 20000),
    ("grpc.keepalive_timeout_ms", 10000),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
]


def _works_with(package: str, coordinator: str) -> bool:
    """As base/version_skew.h, which the coordinator applies to each call: of its minor release, or of the one before."""
    try:
        (major, minor), (its_major, its_minor) = (tuple(map(int, version.split(".")[:2])) for version in (package, coordinator))
    except ValueError:
        return package == coordinator
    return major == its_major and its_minor - 1 <= minor <= its_minor


class Connection:
    """Calls of the service. Thread-safe."""

    def __init__(self, choice: _settings.Choice, security: _credentials.Security, patience: float = 15) -> None:
        self._choice = choice
        self._security = security.completed(choice)
        self._patience = patience
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._open(_settings.find(choice))

    def _open(self, found: _settings.Found) -> None:
        if found.version and not _works_with(VERSION, found.version):
            raise ConflictError(
                f"the coordinator in {self._choice.folder} is inlier {found.version} and this package inlier {VERSION}; install the package of its minor "
                "release or of the one before"
            )
        token = _credentials.find_token(self._security, self._choice, found)
        credentials = _credentials.channel_credentials(self._security, token, found.address)
        if credentials is None:
            channel = grpc.insecure_channel(found.address, options=_OPTIONS)
        else:
            channel = grpc.secure_channel(found.address, credentials, options=_OPTIONS)
        if self._channel is not None:
            self._channel.close()
        self.address = found.address
        self._named = found.named
        self._channel = channel
        self._stub = sweep_service_pb2_grpc.SweepServiceStub(channel)
        self._metadata = [("inlier-version", VERSION)] + ([("authorization", f"Bearer {token}")] if token else [])
        self._database_id = found.database_id
        if found.database_id:
            self._metadata.append(("inlier-database", found.database_id))

    def close(self) -> None:
        with self._lock:
            if self._channel is not None:
                self._channel.close()

    def reopen_if_moved(self) -> None:
        """A coordinator that was started again in its folder may have another address. Errors are those of the next call."""
        if self._choice.address:
            return
        try:
            found = _settings.find(self._choice)
        except InlierError:
            return
        with self._lock:
            if (found.address, found.database_id) != (self.address, self._database_id):
                self._open(found)

    def call(self, method: str, request: Any, *, timeout: float = 60, repeat: bool = True) -> Any:
        """One answer. While no coordinator answers the call is repeated for as long as `patience`: changes carry a request_id, so that
        a repeated one has no second effect."""
        deadline = time.monotonic() + (self._patience if repeat else 0)
        tries = 0
        while True:
            try:
                answer, done = getattr(self._stub, method).with_call(request, timeout=timeout, metadata=self._metadata)
            except grpc.RpcError as error:
                tries += 1
                wait = self._wait(error, tries)
                if wait is None or time.monotonic() + wait > deadline:
                    raise self.explain(error) from None
            else:
                for key, value in done.trailing_metadata() or ():
                    if key == "inlier-note-bin":
                        warnings.warn(value.decode(), stacklevel=3)
                return answer
            time.sleep(wait)
            self.reopen_if_moved()

    def stream(self, method: str, request: Any) -> Iterator[Any]:
        """The answers of a streaming call, with its cancel()."""
        stream: Iterator[Any] = getattr(self._stub, method)(request, metadata=self._metadata)
        return stream

    def _wait(self, error: grpc.RpcError, tries: int) -> float | None:
        """Seconds until the call may be repeated; None: it must not be."""
        if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
            metadata: Any = error.trailing_metadata() or ()
            for key, value in metadata:
                if key == "inlier-retry-after-ms":
                    return int(value) / 1000
            return None
        if _has_notice(error):
            return None
        return backoff(tries) if error.code() == grpc.StatusCode.UNAVAILABLE else None

    def explain(self, error: grpc.RpcError) -> InlierError:
        code, details = error.code(), error.details() or ""
        if _has_notice(error):
            return make_error(code, details)
        if code == grpc.StatusCode.UNAUTHENTICATED and not self._named and not self._security.tls_ca:
            return make_error(
                code,
                f"the coordinator at {self.address} asks for a token, and none was sent: any user of this machine may listen there; "
                f'name it with connect(address="{self.address}"), or its folder with connect(folder=...)',
            )
        if code == grpc.StatusCode.UNAVAILABLE:
            if not self._security.tls_ca and _speaks_tls(self.address):
                return ConflictError(f"the coordinator at {self.address} requires TLS: pass tls_ca, the CA of its certificate (or set INLIER_TLS_CA)")
            tls = "; with TLS also: it has TLS off, or the certificates do not fit together, see its log" if self._security.tls_ca else ""
            start = f"Start one with `inlier up --dir {self._choice.folder}`, or name another with connect(address=...)"
            return UnavailableError(f"no coordinator answers at {self.address} ({details}{tls}). {start}")
        if code == grpc.StatusCode.DEADLINE_EXCEEDED and details == "Deadline Exceeded":
            return UnavailableError(f"the coordinator at {self.address} did not answer in time; it may be overloaded: try again", code)
        if code == grpc.StatusCode.UNIMPLEMENTED:
            return ConflictError(f"the server at {self.address} does not support this call: it is another program or another version of inlier", code)
        return make_error(code, details)


def _has_notice(error: grpc.RpcError) -> bool:
    """The coordinator answers, with the reason, for example a full disk: a repeated call would get the same."""
    metadata: Any = error.trailing_metadata() or ()
    return any(key == "inlier-notice-bin" for key, _ in metadata)


def backoff(tries: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return float(min(0.1 * 2 ** min(tries - 1, 10), 5.0) * random.uniform(0.8, 1.2))


def _speaks_tls(address: str) -> bool:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection(_settings.split_address(address), timeout=5) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False
