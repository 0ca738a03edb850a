"""Additions: the messages that mem0's clients send, and the memories that result from them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

import orjson

from mnemolog.extensions.mem0.projects import instructions_of
from mnemolog.extensions.mem0.requests import OwnRoutes, end_of, instant_of, object_in, several, without_none
from mnemolog.extensions.mem0.shapes import (
    FAILED,
    MOST_MESSAGES,
    PENDING,
    STATUSES,
    SUCCEEDED,
    Adding,
    adding_of,
    result_shown,
)
from mnemolog.extensions.mem0.whose import AGENT, APP, RUN, USER, session_of, whose_of
from mnemolog.http.bounds.bodies import MAX_BODY_BYTES
from mnemolog.http.problems import Problem
from schemas.inputs.foreign_messages import message_of
from schemas.inputs.zone import UNKNOWN
from schemas.messages.observations import EXPIRES_AT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fastapi import Request

    from mnemolog.extensions.mem0.requests import Body


class Additions:
    """Accepts messages, and returns the memories that result from them."""

    def __init__(self, request: Request) -> None:
        self._routes = OwnRoutes(request)

    async def add(self, body: Body) -> tuple[Adding, list[Body] | None]:
        """Accept messages; return the handle of their event, and their results if these are already known.

        With `infer` false, each message is stored verbatim at once.
        """
        whose, messages = whose_of(body), _messages(body)
        metadata = dict(object_in(body, "metadata"))
        if APP in whose.named:
            metadata[APP] = whose.named[APP]
        owner = {"user_id": whose.user_id, "agent_id": whose.named.get(AGENT), "session_id": whose.named.get(RUN)}
        adding = Adding(whose.user_id, self._routes.key, len(messages))
        expires_at = end_of(body["expiration_date"]) if body.get("expiration_date") is not None else None
        occurred_at = _time_of(body)
        instructions = instructions_of(body, is_of_agent=USER not in whose.named)
        if body.get("infer") is False:
            times = without_none({"expires_at": expires_at, "occurred_at": occurred_at})
            return adding, await self._keep(adding, messages, owner, metadata, times)
        if expires_at is not None:
            metadata[EXPIRES_AT] = expires_at
        if len(orjson.dumps(metadata)) * len(messages) > MAX_BODY_BYTES:  # each message has them, before any is counted
            detail = "the metadata are too large for so many messages: send fewer at once"
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
        turns = [
            {
                "role": message["role"],
                "content": message["content"],
                "event_id": event_id,
                "name": message.get("name"),
                "occurred_at": occurred_at,
                "metadata": metadata or None,
            }
            for message, event_id in zip(messages, adding.event_ids, strict=True)
        ]
        conversation = {
            **without_none(owner),
            "session_id": session_of(whose),
            "messages": turns,
            "instructions": instructions,
        }
        await self._routes.body("POST", "/v1/conversations", body=conversation)
        return adding, None

    async def _keep(self, adding: Adding, messages: list[Body], owner: Body, metadata: Body, times: Body) -> list[Body]:
        """Store each message verbatim."""
        fact = {**without_none(owner), **({"metadata": metadata} if metadata else {}), **times, "read": False}
        kept = []
        for message, event_id in zip(messages, adding.event_ids, strict=True):  # in order, one after another
            answered = await self._routes.answer(
                "POST", "/v1/memories", body=fact | {"content": message["content"]}, key=event_id
            )
            if answered.status == HTTPStatus.ACCEPTED:
                kept.append({"id": answered.body["command_id"], "event": PENDING})
                continue
            kept.append(result_shown(answered.body, is_new=answered.status == HTTPStatus.CREATED))
        return kept

    async def wait(self, adding: Adding, seconds: float) -> list[Body]:
        """Return the results of messages, after waiting for at most `seconds`."""
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            if _status_of(await self._states(adding, is_free=True)) != PENDING:
                break
            await asyncio.sleep(0.05)
        results: list[Body] = (await self.event(adding.name))["results"]
        return results

    async def event(self, name: str) -> Body:
        """Return the state of accepted messages, and the memories that resulted from them."""
        adding = adding_of(name)
        states = await self._states(adding)
        ids = dict.fromkeys(i for state in states for i in (*state["memory_ids"], *state["known_ids"]))
        new = {i for state in states for i in state["memory_ids"] if i not in state["known_ids"]}
        found = await several(self._routes.memory(memory_id) for memory_id in ids)
        failed = next((state["reason"] for state in states if STATUSES.get(state["state"]) == FAILED), None)
        return {
            "id": name,
            "event_type": "ADD",
            "status": _status_of(states),
            "results": [
                result_shown(one, is_new=one["memory_id"] in new)
                for one in found
                if one is not None and (one["memory_id"] in new or one["status"] == "active")
            ],
            "metadata": None,
            **({"error": failed} if failed else {}),
        }

    async def _states(self, adding: Adding, *, is_free: bool = False) -> list[Body]:
        """Return the states of accepted messages. Raises Problem if there are none."""
        asked = {"user_id": adding.user_id, "event_ids": adding.event_ids}
        found = await self._routes.body("POST", "/v1/events/status", body=asked, is_free=is_free)
        states: list[Body] = found["items"]
        if not states:
            raise Problem(HTTPStatus.NOT_FOUND, "there is no such event, or it is older than RETENTION_DAYS")
        return states


def _status_of(states: Iterable[Body]) -> str:
    """Return mem0's status of messages in these states."""
    statuses = [STATUSES.get(state["state"], PENDING) for state in states]
    return next((one for one in (PENDING, FAILED) if one in statuses), SUCCEEDED)


def _messages(body: Body) -> list[Body]:
    """Return the messages that contain text, without system messages. Raises Problem."""
    given = body.get("messages")
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    given = [given] if isinstance(given, dict) else given
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Problem(HTTPStatus.BAD_REQUEST, 'messages must be a list, such as [{"role": "user", "content": "…"}]')
    if len(given) > MOST_MESSAGES:
        raise Problem(HTTPStatus.BAD_REQUEST, f"there are {len(given)} messages: send at most {MOST_MESSAGES} at once")
    messages = []
    for one in given:
        read = message_of({"role": "user", **one})
        if read is None:
            continue
        words, role = read.get("content"), read.get("role")
        if not isinstance(role, str):
            raise Problem(HTTPStatus.BAD_REQUEST, "the role of a message must be a text, such as 'user'")
        if role != "system" and isinstance(words, str) and words.strip():
            messages.append({"role": role, "content": words, "name": one.get("name")})
    if not messages:
        raise Problem(HTTPStatus.BAD_REQUEST, "there is no message with words of a user or an assistant")
    return messages


def _time_of(body: Body) -> str | None:
    """Return the time of the messages: a time, a date, or seconds since 1970, whose offset is unknown."""
    for name in ("timestamp", "observation_datetime", "observation_date"):
        if (given := body.get(name)) is not None:
            occurred_at = instant_of(given)
            return given if isinstance(given, str) else occurred_at and occurred_at.replace("Z", UNKNOWN)
    return None
