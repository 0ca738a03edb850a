"""Why a server could not be asked is said by the cause that knows, not by what the client made of it."""

from __future__ import annotations

import socket

from support.tables import each

from projections.index.remote.failure import causes, sentence


class Refused(Exception):
    """A client's error that has the status of the answer."""

    def __init__(self, status: int) -> None:
        super().__init__("the client says little")
        self.status_code = status


def raised(top: Exception, *causes: Exception) -> Exception:
    """Return an error that was raised from the first cause, that from the next."""
    for error, cause in zip((top, *causes), causes, strict=False):
        error.__cause__ = cause
    return top


@each(
    ("cause", "expected"),
    [
        (socket.gaierror(-2, "Name or service not known"), "nobody knows a host of that name"),
        (OSError("Connect call failed ('127.0.0.1', 8080)"), "nobody listens at 127.0.0.1:8080"),
        (
            OSError("[Connect call failed ('::1', 80, 0, 0)], [Connect call failed ('127.0.0.1', 80)]"),
            "nobody listens at ::1:80, 127.0.0.1:80",
        ),
        (Refused(401), "does not let us in (401)"),
        (Refused(403), "does not let us in (403)"),
    ],
)
def test_a_cause_below_explains_more_than_the_error(cause: Exception, expected: str):
    assert sentence(raised(ValueError("could not connect"), RuntimeError("retried"), cause)) == expected


def test_without_a_cause_that_explains_the_error_speaks_for_itself():
    assert sentence(raised(ValueError("could not connect"), Refused(500))) == "could not connect"
    assert sentence(ValueError()) == "ValueError"


def test_causes_are_those_it_was_raised_from_and_those_it_was_raised_among():
    first, second, third = ValueError("1"), ValueError("2"), ValueError("3")
    first.__cause__ = second
    second.__context__ = third
    assert list(causes(first)) == [first, second, third]
