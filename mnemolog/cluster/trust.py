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
"""Header of a request that another worker has forwarded, with that worker's URL: it is not forwarded again."""
STATED: Final = "mnemolog-principal"
"""Header with the statement of the caller on whose behalf another worker asks."""


@dataclass(frozen=True, slots=True)
class PeerTrust:
    """How requests to other workers are authenticated; without a proof by their URL alone, on one machine."""

    hosts: PeerHosts = field(default_factory=lambda: PeerHosts.beside(None))
    is_proven: bool = False
    """Whether workers prove who they are: by `proof`, by the certificates of `tls`, or by both."""
    proof: Proof | None = None
    tls: Renewed | None = None
    """The context for connections to others; None: as for any server."""
    why_none: str | None = None
    """Why no other worker may be asked; None where they may."""
    clock: Callable[[], float] = time.time
    """Returns seconds since 1970, as other workers have them."""

    def refusal(self, url: str) -> str | None:
        """Return why a URL of the group must not be asked, or None."""
        return self.why_none or self.hosts.refusal(url)

    def mark(self, request: httpx.Request, receiver: str, sender: str) -> None:
        """Add the headers with the sender, the caller and the proof to a request."""
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
