"""Trust: how the workers of a group authenticate each other's requests."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mnemolog.access.caller import caller
from mnemolog.access.statement import write_statement
from mnemolog.cluster.peer_hosts import PeerHosts
from mnemolog.cluster.proof import PROOF, Covered, Proof, normalised, signed_headers

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from mnemolog.tls import Renewed

FORWARDED: Final = "mnemolog-forwarded-by"
"""The header of a forwarded request, with the URL of the worker that forwarded it. It is not forwarded again."""
STATED: Final = "mnemolog-principal"
"""The header with the statement of the caller on whose behalf a worker sends a request."""


@dataclass(frozen=True, slots=True)
class PeerTrust:
    """How requests to other workers are authenticated. Without proofs only their URL is checked, on one machine."""

    hosts: PeerHosts = field(default_factory=lambda: PeerHosts.beside(None))
    is_proven: bool = False
    """Whether workers prove their identity: with `proof`, with the certificates of `tls`, or with both."""
    proof: Proof | None = None
    tls: Renewed | None = None
    """The TLS context for connections to other workers; None for the default one."""
    why_none: str | None = None
    """The reason why requests to other workers are forbidden; None if they are allowed."""
    clock: Callable[[], float] = time.time
    """Returns seconds since 1970, by a clock that the workers share."""

    def refusal(self, url: str) -> str | None:
        """Return the reason not to send requests to a URL of the group, or None."""
        return self.why_none or self.hosts.refusal(url)

    def mark(self, request: httpx.Request, receiver: str, sender: str) -> None:
        """Add the sender, the caller's statement and the proof to the headers of a request."""
        request.headers[FORWARDED] = sender
        if not self.is_proven:
            return
        whose = caller()
        stated = "" if whose is None else write_statement(whose, self.clock())
        if stated:
            request.headers[STATED] = stated
        if self.proof is not None:
            target = request.url.raw_path.decode("ascii")
            headers = signed_headers(request.headers.raw)
            covered = Covered(request.method, target, normalised(receiver), sender, stated, headers)
            request.headers[PROOF] = self.proof.sign(covered, request.content)
