"""Token and TLS of a connection, found in the order of the command line (cli/connection/session.cc, Security)."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import stat

import grpc

from inlier import _settings
from inlier.errors import InvalidError


@dataclasses.dataclass
class Security:
    """As given to connect(); the rest is found in the environment, the folder and client.yaml."""

    tls_ca: str = ""
    certificate: str = ""
    key: str = ""
    token: str = ""
    token_file: str = ""
    insecure: bool = False

    def completed(self, choice: _settings.Choice) -> Security:
        of_file = choice.credentials
        return dataclasses.replace(
            self,
            tls_ca=self.tls_ca or os.environ.get("INLIER_TLS_CA", "") or of_file.tls_ca,
            certificate=self.certificate or os.environ.get("INLIER_TLS_CERTIFICATE", "") or of_file.tls_certificate,
            key=self.key or os.environ.get("INLIER_TLS_KEY", "") or of_file.tls_key,
        )


def find_token(security: Security, choice: _settings.Choice, found: _settings.Found) -> str:
    if not found.named and not security.tls_ca:
        return ""
    if security.token:
        return _checked(security.token, "token")
    if security.token_file:
        return read_token(security.token_file, "token_file", security.insecure)
    if found.from_folder:
        if not _settings.is_trusted(choice.folder):
            return ""
        local = choice.folder / "token"
        if local.exists():
            return read_token(local, "token", security.insecure)
    of_environment = os.environ.get("INLIER_TOKEN_FILE", "")
    if of_environment:
        return read_token(of_environment, "INLIER_TOKEN_FILE", security.insecure)
    token = os.environ.get("INLIER_TOKEN", "")
    if token or not choice.credentials.token_file:
        return _checked(token, "INLIER_TOKEN")
    return read_token(choice.credentials.token_file, f"token_file of {_settings.settings_file()}", security.insecure)


def read_token(file: os.PathLike[str] | str, field: str, insecure: bool) -> str:
    """The first line of a file that only this user (its group may read it) or root has access to."""
    try:
        if not insecure:
            check_private(file, field)
        with open(file, encoding="utf-8") as stream:
            line = stream.readline(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"{field}: cannot read {os.fspath(file)}: {error}") from None
    if not line:
        raise InvalidError(f"{field}: the first line of {os.fspath(file)} is not a token")
    return _checked(line, field)


def check_private(file: os.PathLike[str] | str, field: str) -> None:
    info = os.stat(file)
    if stat.S_ISREG(info.st_mode) and (info.st_uid not in (os.geteuid(), 0) or info.st_mode & 0o037):
        raise InvalidError(
            f"{field}: other users may read or write {os.fspath(file)}: make it your own with chmod 600, or pass insecure=True where they are trusted"
        )


def _checked(token: str, field: str) -> str:
    if not all("!" <= character <= "~" for character in token):
        raise InvalidError(f"{field}: the token has characters that no token has")
    return token


def channel_credentials(security: Security, token: str, address: str) -> grpc.ChannelCredentials | None:
    """None: plain text. InvalidError for files that do not fit together, and for a token in plain text to another machine."""
    if not security.tls_ca:
        if security.certificate or security.key:
            raise InvalidError("certificate and key need tls_ca, the certificate that signed the coordinator's")
        if token and not security.insecure and not _settings.is_loopback(address):
            raise InvalidError(
                f"the token would go to {address} in plain text, for everyone in between to read: pass tls_ca, or insecure=True on a network you trust"
            )
        return None
    if bool(security.certificate) != bool(security.key):
        raise InvalidError("certificate and key go together; pass both")
    if security.key and not security.insecure and os.path.exists(security.key):
        check_private(security.key, "key")
    return grpc.ssl_channel_credentials(
        root_certificates=_read_pem(security.tls_ca, "tls_ca"),
        private_key=_read_pem(security.key, "key") if security.key else None,
        certificate_chain=_read_pem(security.certificate, "certificate") if security.certificate else None,
    )


def _read_pem(file: str, field: str) -> bytes:
    try:
        content = pathlib.Path(file).read_bytes()
    except OSError as error:
        raise InvalidError(f"{field}: cannot read {file}: {error}") from None
    if b"-----BEGIN" not in content:
        raise InvalidError(f"{field}: {file} is not a PEM file (it has no BEGIN line)")
    return content
