"""Calls as HTTP, for both clients: the request, the meaning of the answer, and when to retry."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

import httpx

from mnemolog.client.errors import Refused, ServerFailed, Unavailable, error_of
from mnemolog.client.trace import trace_headers

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.client.call import Call

T = TypeVar("T")
TIMEOUT_SECONDS: Final = 30.0
RETRIES: Final = 3
EXAMPLE: Final = "127.0.0.1:8420"
FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 5.0


LEAST_WHOLE: Final = -(2**63)
MOST_WHOLE: Final = 2**64 - 1
MOST_DEEP: Final = 100
"""The most levels of nesting in a body; a server accepts fewer."""

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Connection(TypedDict):
    """The arguments of httpx's clients."""

    verify: ssl.SSLContext | bool
    trust_env: bool


def address(url: str) -> str:
    """Return the address of a server. Raises ValueError if it is not one."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is no address of a server: it begins with http:// or https://, as http://{EXAMPLE}")
    return url


def connection_to(url: str, ca_file: Path | None) -> Connection:
    """Return the options of a connection to a server; a server on this machine is never reached through a proxy.

    Raises ValueError for a file without CA certificates.
    """
    proxied = httpx.URL(url).host not in LOOPBACK
    if ca_file is None:  # without TLS there is nothing to verify, and loading the authorities takes a while
        return {"verify": httpx.create_ssl_context() if url.startswith("https:") else False, "trust_env": proxied}
    try:
        return {"verify": ssl.create_default_context(cafile=ca_file), "trust_env": proxied}
    except OSError as error:
        raise ValueError(f"{ca_file} cannot be used as certificates of authorities: {error.strerror}") from error


def headers_of(api_key: str | None) -> dict[str, str]:
    """Return the headers of every request. Raises ValueError for an impossible key, without repeating it."""
    if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key):
        raise ValueError("the API key must be printable ASCII, such as mnl_…: check where it comes from")
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}


def request_of(http: httpx.Client | httpx.AsyncClient, call: Call[T], timeout_seconds: float) -> httpx.Request:
    """Return the HTTP request of a call. Raises Refused for content that JSON or a header cannot carry."""
    key = {} if call.key is None else {"Idempotency-Key": call.key}
    if not all(value.isascii() and value.isprintable() for value in key.values()):
        raise Refused("the key of a request must be printable ASCII")
    body = None
    if call.body is not None:
        body = json.dumps(carried(call.body), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return http.build_request(
        call.method,
        call.path,
        params={name: whole_text(value) for name, value in call.query.items()} or None,  # with {}, the URL is made anew
        content=body,
        headers=({} if body is None else {"Content-Type": "application/json"}) | key | trace_headers(),
        timeout=timeout_seconds + call.wait_seconds,
    )


def whole_text(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def carried(value: object, place: str = "$", depth: int = MOST_DEEP) -> Any:  # noqa: ANN401 - any JSON
    """Return a value in the form in which JSON carries it. Raises Refused, with its path, for an unsupported value."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, Mapping) and depth:
        if names := [name for name in value if not isinstance(name, str)]:
            raise Refused(f"{place}: has the name {names[0]!r}, which is no text")
        return {whole_text(name): carried(one, f"{place}.{name}", depth - 1) for name, one in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [carried(one, f"{place}[{number}]", depth - 1) for number, one in enumerate(value)]
    if (fault := _fault(value)) is not None:
        raise Refused(f"{place}: {fault}")
    return value


def _fault(value: object) -> str | None:
    """Return why JSON or a server cannot keep a value; None if they can."""
    if isinstance(value, int) and not LEAST_WHOLE <= value <= MOST_WHOLE:
        return "has more than 64 bits: send it as a text"
    if isinstance(value, float) and not isfinite(value):
        return f"is {value}, which JSON lacks"
    if isinstance(value, Mapping | list | tuple):
        return "is nested too deep"
    if value is None or isinstance(value, int | float):
        return None
    return f"is a {type(value).__name__}, which JSON lacks: send it as a text or a number"


def read_answer(call: Call[T], response: httpx.Response) -> T:
    """Return the content of the answer. Raises MnemologError."""
    body: Any
    try:
        body = response.json()
    except ValueError:
        body = None
    if not response.is_success:
        raise error_of(response.status_code, body, response.headers.get("Retry-After"))
    if call.is_text:
        return call.read({"text": response.text})
    if not isinstance(body, dict):
        where = response.request.url
        raise ServerFailed(f"{where} did not answer with a JSON object: is that mnemolog?", response.status_code)
    return call.read(body)


def unreachable(http: httpx.Client | httpx.AsyncClient, error: httpx.TransportError) -> Unavailable:
    """Return the error for a lost connection."""
    reason = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        advice = "name its authority, by ca_file or MNEMOLOG_CA_FILE"
        return Unavailable(f"{http.base_url} shows a certificate that is not trusted here ({reason}): {advice}")
    return Unavailable(f"{http.base_url} does not answer ({reason}): is `mnemolog up` running there?")


def pause_before(attempt: int, call: Call[T], error: Unavailable, retries: int) -> float:
    """Return how many seconds to wait before sending the call again; raise the error if it must not be repeated."""
    if not call.is_repeatable or attempt >= retries:
        raise error
    asked = error.retry_after_seconds or 0.0
    if asked > LONGEST_PAUSE_SECONDS:
        raise error
    return max(asked, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * float(2**attempt)))
