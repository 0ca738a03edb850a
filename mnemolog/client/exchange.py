"""The calls for export, import and erasure; the lines of an export are read as they arrive."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.client.call import Call, Json, command, filter_of, get, path_of, query_of, whole
from mnemolog.client.carrier import method
from mnemolog.client.errors import ServerFailed
from mnemolog.client.transport import read_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import httpx

LAST: Final = "Exported"
"""The type of an export's last line."""
ERASING_SECONDS: Final = 60.0
"""How long an erasure may take in addition to the timeout."""


def export_call(
    user_id: str,
    scope: str,
    filters: Mapping[str, Any] | None = None,
    session_id: str | None = None,
    app_id: str | None = None,
) -> Call[Json]:
    """Return the request of an export."""
    query = query_of(scope=scope, filters=filter_of(filters), session_id=session_id, app_id=app_id)
    return Call(method="GET", path=path_of("v1", "users", user_id, "export"), query=query, read=whole)


def import_memories(
    memories: Iterable[Mapping[str, Any]], user_id: str | None = None, *, wait_seconds: float = 5.0
) -> Call[Json]:
    """Import at most 1,000 memories, as `export` gives them; of `user_id`, else each of its own user.

    Returns `{items: [{memory_id, action, reason}], imported, known, waiting, refused, skipped}`.

    The same again changes nothing.
    """
    return Call(
        method="POST",
        path="/v1/import",
        query=query_of(user_id=user_id, wait=wait_seconds),
        body=list(memories),
        wait_seconds=wait_seconds,
        is_repeatable=True,
        read=whole,
    )


def preview_erasure(user_id: str) -> Call[Json]:
    """Return what the erasure of a user would remove: `{user, events, memories, generations, index, remains}`."""
    return Call(
        method="DELETE", path=path_of("v1", "users", user_id), query={"preview": "true"}, is_repeatable=True, read=whole
    )


def erase(user_id: str, *, key: str | None = None, force: bool = False) -> Call[Json]:
    """Erase a user for good; return the signed receipt. Repeating it with the same `key` gives the same receipt.

    Raises NotFound for a user of whom nothing is known, unless `force` is given.
    """
    return command(
        "DELETE", path_of("v1", "users", user_id), key=key, wait_seconds=ERASING_SECONDS, force=force or None
    )


def preview_memory_erasure(memory_id: str, *, user_id: str | None = None) -> Call[Json]:
    """Return what the erasure of a memory would remove: as `preview_erasure`, and `{memory_id, event_ids, kept}`."""
    query = query_of(forever=True, preview=True, user_id=user_id)
    return Call(method="DELETE", path=path_of("v1", "memories", memory_id), query=query, is_repeatable=True, read=whole)


def erase_memory(memory_id: str, *, user_id: str | None = None, key: str | None = None) -> Call[Json]:
    """Erase a memory and the observations that it came from, for good; return the signed receipt.

    Raises Conflict on Kafka without encryption, where no record can be changed and no key destroyed.
    """
    path = path_of("v1", "memories", memory_id)
    return command("DELETE", path, key=key, wait_seconds=ERASING_SECONDS, forever=True, user_id=user_id)


def erasures() -> Call[Json]:
    """Return the tenant's erasures, without names: `{items: [{receipt_id, subject, public_key, …}], public_key}`."""
    return get("/v1/erasures")


class Lines:
    """Assembles an export from the lines that arrive, and detects a premature end."""

    def __init__(self, response: httpx.Response) -> None:
        """Take the response before its body is read."""
        self._response = response
        self._is_whole = False
        self._rest = b""

    @property
    def is_refused(self) -> bool:
        """Whether the answer is not an export: its body is then a problem, to be read and passed to `refuse`."""
        return self._response.status_code != HTTPStatus.OK

    def refuse(self, call: Call[Json]) -> None:
        """Raise the MnemologError for the answer."""
        read_answer(call, self._response)

    def read(self, part: bytes) -> list[Json]:
        """Return the lines that are now complete."""
        *whole_lines, self._rest = (self._rest + part).split(b"\n")  # text may contain other line ends
        found: list[Json] = [orjson.loads(line) for line in whole_lines]
        if found:
            self._is_whole = found[-1].get("type") == LAST
        return found

    def end(self) -> None:
        """Mark the end of the answer. Raises ServerFailed if lines are missing."""
        if not self._is_whole or self._rest:
            raise ServerFailed("the export ended before its last line: export again", self._response.status_code)


class ExchangeMethods:
    """The methods of these calls, of both clients."""

    import_memories = method(import_memories)
    preview_erasure = method(preview_erasure)
    erase = method(erase)
    preview_memory_erasure = method(preview_memory_erasure)
    erase_memory = method(erase_memory)
    erasures = method(erasures)
