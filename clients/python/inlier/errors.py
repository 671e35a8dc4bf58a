"""Exceptions of this package. The text is the coordinator's own: the place of the mistake and the remedy."""
from __future__ import annotations

import grpc


class InlierError(Exception):
    """The base of all. `code` is the gRPC status that the error has on the command line, too."""

    code = grpc.StatusCode.UNKNOWN

    def __init__(self, message: str, code: grpc.StatusCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidError(InlierError, ValueError):
    """The request must change: a sweep with a mistake, SQL with a mistake, settings of the connection."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NotFoundError(InlierError):
    """There is no such sweep, trial, worker or folder."""

    code = grpc.StatusCode.NOT_FOUND


class ConflictError(InlierError):
    """The state does not allow it: another version of inlier, a sweep that was edited since, more trials than allowed."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class AccessError(InlierError):
    """No valid credentials, or a role without this permission."""

    code = grpc.StatusCode.PERMISSION_DENIED


class LimitError(InlierError):
    """Over a limit of the coordinator: time or memory of a query, calls at once, size of a message."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class UnavailableError(InlierError):
    """No coordinator answers. The same call may succeed later."""

    code = grpc.StatusCode.UNAVAILABLE


class TruncatedError(InlierError):
    """There are more rows than were asked for; `max_rows` or a narrower query has all."""

    code = grpc.StatusCode.OUT_OF_RANGE


_CLASSES: dict[grpc.StatusCode, type[InlierError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidError,
    grpc.StatusCode.OUT_OF_RANGE: InvalidError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.FAILED_PRECONDITION: ConflictError,
    grpc.StatusCode.ALREADY_EXISTS: ConflictError,
    grpc.StatusCode.ABORTED: ConflictError,
    grpc.StatusCode.UNIMPLEMENTED: ConflictError,
    grpc.StatusCode.UNAUTHENTICATED: AccessError,
    grpc.StatusCode.PERMISSION_DENIED: AccessError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitError,
    grpc.StatusCode.DEADLINE_EXCEEDED: UnavailableError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
}


def make_error(code: grpc.StatusCode, message: str) -> InlierError:
    return _CLASSES.get(code, InlierError)(message, code)
