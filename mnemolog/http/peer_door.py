"""The port for other workers: each request is authenticated before its body is read, and marked as a worker's.

At the port for callers, `check_sender` removes the headers that only a worker may send.
"""

from __future__ import annotations

import logging
import time
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mnemolog.access.principal import LOCAL, PRINCIPAL
from mnemolog.access.statement import NoStatement, read_statement
from mnemolog.cluster.proof import PROOF, Covered, NotProven, Proof, normalised, signed_headers
from mnemolog.cluster.trust import FORWARDED, STATED
from mnemolog.http.authentication import BETWEEN_WORKERS, NOT_FOR_CALLERS
from mnemolog.http.problems import Problem, problem
from projections.log_limit import LogLimit

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

FROM_PEER: Final = "mnemolog.from_peer"
"""The member of the scope of a request that came through the workers' port and was proven: the caller in whose name it
is, or None if the worker asks on its own behalf."""
OF_PROVEN: Final = frozenset({STATED.encode(), PROOF.encode()})
"""Headers that have no effect without a proof."""
OF_PEERS: Final = OF_PROVEN | {FORWARDED.encode()}
"""Headers that only another worker may send; without proofs, any sender can claim a worker's name."""
WITHOUT_CALLER: Final = (BETWEEN_WORKERS, "/health/")
"""The prefixes of paths that a worker requests on its own behalf."""
WARN_EVERY_SECONDS: Final = 10.0

log = logging.getLogger("mnemolog.peers")


class PeerDoor:
    """ASGI middleware around the whole application, at the port for other workers."""

    def __init__(self, app: ASGIApp, url: str, proof: Proof | None, clock: Callable[[], float] = time.time) -> None:
        """`url` is this port's URL for the others; without a `proof`, their certificates have authenticated them.

        `clock` returns the group's time, in seconds since 1970.
        """
        self._app = app
        self._url = normalised(url)
        self._proof = proof
        self._clock = clock
        self._log_limit = LogLimit(WARN_EVERY_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request of another worker, and answer 401 to any other."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = _Body(receive, self._admit(scope))
        except (NotProven, NoStatement) as error:
            await self._refuse(str(error), scope, receive, send)
            return
        await self._app(scope, body.receive, send)
        if body.was_changed:
            await self._refuse("its body was changed on its way", scope, receive, send)

    def _admit(self, scope: Scope) -> str | None:
        """Mark the scope as another worker's; return the body's SHA-256, or None if TLS protects it.

        Raises NotProven, NoStatement.
        """
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            name = raw.decode("latin-1")
            if name in (FORWARDED, STATED, PROOF) and name in headers:
                raise NotProven(f"it has {name} twice")
            headers[name] = value.decode("latin-1")
        sender, stated = headers.get(FORWARDED), headers.get(STATED, "")
        if sender is None:
            raise NotProven("it names no worker")
        query = scope["query_string"]
        target = (scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")
        covered = Covered(scope["method"], target, self._url, sender, stated, signed_headers(scope["headers"]))
        body = None if self._proof is None else self._proof.verify(covered, headers.get(PROOF))
        caller = read_statement(stated, self._clock()) if stated else None
        if caller is None and not scope["path"].startswith(WITHOUT_CALLER):
            raise NotProven("it states no principal, whose request it is")
        scope[FROM_PEER], scope[PRINCIPAL] = caller, caller or LOCAL
        return body

    async def _refuse(self, reason: str, scope: Scope, receive: Receive, send: Send) -> None:
        if self._log_limit.admit() is not None:
            log.warning("a request at the port for other workers was refused: %s", reason)
        detail = f"this port is for the group's other workers, and this request is refused: {reason}"
        await problem(HTTPStatus.UNAUTHORIZED, detail, headers={"Connection": "close"})(scope, receive, send)


class _Body:
    """A body with a signed digest: the last part of a body with another digest is withheld."""

    def __init__(self, receive: Receive, expected: str | None) -> None:
        self._receive = receive
        self._expected = expected
        self._digest = sha256()
        self.was_changed = False

    async def receive(self) -> Message:
        """Return the next message; at the end of a body that was changed, return a disconnect instead."""
        message = await self._receive()
        if self._expected is None or message["type"] != "http.request":
            return message
        self._digest.update(message.get("body", b""))
        if message.get("more_body", False) or compare_digest(self._digest.hexdigest(), self._expected):
            return message
        self.was_changed = True
        return {"type": "http.disconnect"}


def check_sender(scope: Scope, *, names_suffice: bool) -> None:
    """Remove the headers that only another worker may send. Raises Problem for its routes.

    If `names_suffice`, on one machine without keys, a request with the name of another worker is taken as that
    worker's.
    """
    if FROM_PEER in scope:
        return
    forged = OF_PROVEN if names_suffice else OF_PEERS
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in forged]
    if not names_suffice and scope["path"].startswith(BETWEEN_WORKERS):
        raise Problem(HTTPStatus.NOT_FOUND, NOT_FOR_CALLERS)
