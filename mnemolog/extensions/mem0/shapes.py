"""Our memories, histories and event states in mem0's shapes."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.extensions.mem0.whose import APP, shown_run, shown_user
from mnemolog.http.problems import Problem
from schemas.identity import derived_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    Shown = dict[str, Any]

ENDS: Final = frozenset({"MemoryForgotten", "MemorySuperseded", "MemoryExpired"})
FORMED: Final = frozenset({"MemoryFormed", "MemoryImported", "MemoryRestored"})
_DAY_CHARACTERS: Final = len("2026-01-05")
PENDING: Final = "PENDING"
SUCCEEDED: Final = "SUCCEEDED"
FAILED: Final = "FAILED"
STATUSES: Final = {"remembered": SUCCEEDED, "nothing": SUCCEEDED, "rejected": FAILED, "dead": FAILED}
"""mem0's event states by our final ones."""


def memory_shown(memory: Mapping[str, Any], fields: list[str] | None = None) -> Shown:
    """Return a memory in mem0's shape, with its id and the requested fields, or with all fields."""
    metadata = {key: value for key, value in memory["metadata"].items() if key != APP}
    app_id = memory["metadata"].get(APP)
    expires_at = memory["expires_at"]
    shown: Shown = {
        "id": memory["memory_id"],
        "memory": memory["content"],
        "hash": memory["content_hash"],
        "user_id": shown_user(memory["user_id"]),
        "agent_id": memory["agent_id"],
        "app_id": app_id if isinstance(app_id, str) else None,
        "run_id": shown_run(memory["session_id"]),
        "session_id": shown_run(memory["session_id"]),
        "metadata": metadata,
        "categories": [memory["category"]],
        "created_at": memory["formed_at"],
        "updated_at": max(memory["formed_at"], memory["last_accessed_at"]),
        "expiration_date": expires_at[:_DAY_CHARACTERS] if expires_at else None,
        "replaced_by": memory["superseded_by"],
    }
    if "score" in memory:
        shown["score"] = memory["score"]
        shown["score_breakdown"] = {"semantic": memory["scores"]["semantic"], "bm25": memory["scores"]["keyword"]}
    return shown if not fields else {name: shown[name] for name in ("id", *fields) if name in shown}


def result_shown(memory: Mapping[str, Any], *, is_new: bool) -> Shown:
    """Return the result of storing a message verbatim; a known one changed nothing."""
    words = memory["content"]
    return {
        "id": memory["memory_id"],
        "memory": words,
        "data": {"memory": words},
        "event": "ADD" if is_new else "NONE",
        "user_id": shown_user(memory["user_id"]),
    }


def history_shown(history: Mapping[str, Any], memory: Mapping[str, Any]) -> list[Shown]:
    """Return the additions, changes and deletions of a memory, oldest first.

    The first entry has the memory's sources, and the last one its current metadata, because both may be large.
    """
    shown: list[Shown] = []
    said = [
        {"role": one.get("role") or "user", "content": one["content"]}
        for one in history["lineage"]["observations"]
        if isinstance(one.get("content"), str)
    ]
    words: str | None = None
    for event in history["events"]:
        before, after = event["before"] or {}, event["after"] or {}
        old, new = words, after.get("content", words)
        words = new
        if event["type"] in ENDS:
            name, new = "DELETE", None
        elif event["type"] in FORMED:
            name = "ADD"
        elif "content" in before or "metadata" in before:
            name = "UPDATE"
        else:
            continue  # mere fading or a recall is not a change to mem0
        shown.append(
            {
                "id": derived_id("mem0 history", history["memory_id"], event["event_id"], event["type"]),
                "memory_id": history["memory_id"],
                "input": [] if shown else said,
                "old_memory": old,
                "new_memory": new,
                "user_id": shown_user(memory["user_id"]),
                "agent_id": memory["agent_id"],
                "event": name,
                "action": name,
                "is_deleted": name == "DELETE",
                "metadata": {},
                "categories": [memory["category"]],
                "created_at": event["occurred_at"],
                "updated_at": event["recorded_at"],
            }
        )
    if shown:
        shown[-1]["metadata"] = {key: value for key, value in memory["metadata"].items() if key != APP}
    return shown


@dataclass(frozen=True, slots=True)
class Adding:
    """Accepted messages: their user, and the ids of their events. Nothing is stored: the name contains everything."""

    user_id: str
    base: str
    messages: int

    @property
    def event_ids(self) -> list[str]:
        """The ids of the messages' events, in their order."""
        return [derived_id("mem0 message", self.base, number) for number in range(self.messages)]

    @property
    def name(self) -> str:
        """The id by which mem0's client asks for the state."""
        return urlsafe_b64encode(orjson.dumps([self.user_id, self.base, self.messages])).decode().rstrip("=")


MOST_MESSAGES: Final = 1_000


def adding_of(name: str) -> Adding:
    """Return the messages that an event id stands for. Raises Problem for an id that is not ours."""
    unknown = Problem(HTTPStatus.NOT_FOUND, "there is no such event: give the event_id of an answer to an add")
    try:
        parts = orjson.loads(urlsafe_b64decode(name + "=" * (-len(name) % 4)))
    except ValueError:
        raise unknown from None
    match parts:
        case [str(user_id), str(base), int(messages)] if 0 < messages <= MOST_MESSAGES:
            return Adding(user_id, base, messages)
    raise unknown
