"""Origin checks: refuse requests that a page of another site may have made a browser send.

Without API keys the server listens on loopback only, and any page in a browser of this machine could reach it.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mnemolog.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.types import Scope

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CROSS_SITE: Final = b"cross-site"
OTHER_SITES: Final = frozenset({CROSS_SITE, b"same-site"})
"""Sec-Fetch-Site of a page that is not ours; another port of this machine is the same site, and not ours."""
NAVIGATION: Final = b"navigate"
"""Sec-Fetch-Mode of a link that a person follows: the page that has it does not see the answer."""
FOR_EVERYBODY: Final = "/health/"
JSON: Final = b"application/json"
"""The content type that nearly every body has."""
OF_FORMS: Final = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
"""Content types that any page may send anywhere without a preflight."""
MAX_HOST_CHARACTERS: Final = 300
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)\.?)(?::[0-9]{1,5})?")
"""An address in brackets or a name, perhaps with the dot of the root, and perhaps a port."""


def check_origin(scope: Scope, hosts: Collection[str] | None, scheme: str | None) -> None:
    """Refuse what a page of another site may have sent. `hosts` are the names that the server goes by; None: any.

    `scheme` is what browsers reach the server by; None: that of the connection. A page whose name was pointed at this
    machine (DNS rebinding) is of our origin for the browser; only its Host header gives it away. Raises Problem.
    """
    headers: Mapping[bytes, bytes] = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if hosts is not None and name_of(host) not in hosts:
        detail = f"this server is not {host[:MAX_HOST_CHARACTERS]!r}: ask it by {', '.join(sorted(hosts))}"
        raise Problem(HTTPStatus.MISDIRECTED_REQUEST, detail)
    origin = headers.get(b"origin")
    reads = scope["method"] in READING
    site = headers.get(b"sec-fetch-site")
    is_foreign = origin is not None and origin.decode("latin-1").lower() != f"{scheme or scope['scheme']}://{host}"
    if not reads:
        is_foreign = is_foreign or site in OTHER_SITES
    elif site == CROSS_SITE and headers.get(b"sec-fetch-mode") != NAVIGATION:
        is_foreign = is_foreign or not scope["path"].startswith(FOR_EVERYBODY)
    if is_foreign:
        detail = "a page of another site sent this request: browsers may use mnemolog from its own pages only"
        raise Problem(HTTPStatus.FORBIDDEN, detail)
    if reads or (kind := headers.get(b"content-type", b"")) == JSON:
        return
    sent = kind.decode("latin-1").partition(";")[0].strip().lower()
    if sent in OF_FORMS:
        detail = f"a body of type {sent} is not read: send JSON, with Content-Type: application/json"
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)


def name_of(host: str) -> str | None:
    """Return the name in a Host header, without a port, or the address without its brackets; None: it has neither."""
    found = _HOST.fullmatch(host.lower()) if len(host) <= MAX_HOST_CHARACTERS else None
    return None if found is None else found[1] or found[2]
