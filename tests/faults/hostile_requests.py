"""What a stranger may send to stop a worker: each stopped an earlier version for seconds, minutes or for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

MIB = 1 << 20
STRANGER = "stranger"
JSON = "application/json"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A request, by the number of the finding that it belongs to."""

    finding: str
    path: str
    content: bytes
    content_type: str = JSON


def _json(finding: str, path: str, body: Any) -> Hostile:
    return Hostile(finding, path, orjson.dumps(body))


def _members(number: int) -> dict[str, int]:
    return {f"k{n}": 0 for n in range(number)}


def _said(finding: str, text: str) -> Hostile:
    """Return a conversation of one turn, which is extracted from at once."""
    turn = {"role": "user", "content": text}
    return _json(finding, "/v1/conversations", {"user_id": STRANGER, "messages": [turn], "end_session": True})


def _remembered(finding: str, content: str, **more: str) -> Hostile:
    return _json(finding, "/v1/memories", {"user_id": STRANGER, "content": content} | more)


BODIES = [
    Hostile("2 bad lines", "/v1/events", b"x\n" * (4 * MIB), LINES),
    Hostile("2 bad lines without a type", "/v1/events", b"0\n" * (4 * MIB)),
    Hostile("2 bad lines imported", "/v1/import", b"x\n" * (4 * MIB), LINES),
    Hostile("2 as many bad lines as are read", "/v1/events", b"x\n" * 1_000, LINES),
    Hostile("3 members of an event", "/v1/events", orjson.dumps(_members(600_000))),
    _json("3 members of a memory", "/v1/memories", _members(30_000)),
    _json("3 members of a memory that is imported", "/v1/import", _members(190_000)),
    _json(
        "3 members of a thousand messages", "/v1/conversations", {"user_id": "u", "messages": [_members(20)] * 1_000}
    ),
    _json("3 items that are no ids", "/v1/import", {"content": "x", "source_ids": [0] * 190_000}),
    Hostile("3 nothing but brackets", "/v1/events", b"[" * (8 * MIB)),
    Hostile("3 nothing but numbers", "/v1/events", b"[" + b"0," * (4 * MIB - 1) + b"0]"),
]
"""Requests that cost by being read."""

TEXTS = [
    _said("1 a pattern with 2^39 readings", "能不能" * 39 + "吗"),
    _remembered("4 a text that grows", "\ufdfa" * 21_000),
    _json("4 a question of short words", "/v1/search", {"user_id": STRANGER, "query": ", thanks " * 7_000}),
    _remembered("5 a day of many digits", "My birthday is soon.", attribute="birthday", value="1" * 24_000),
    _remembered("6 marks upon marks", "a" + "\u0301\u0323" * 16_000),
    _said("6 clauses of clauses", "我是," * 1_500),
    _said("6 clauses of all that is known", "我叫张三，今年30岁，住在北京，" * 350),
    _said("6 what is liked", "我喜欢茶，" * 1_200),
    _said("6 today and today", "今天" * 99 + "。"),
    _said("6 what somebody is", "I am a nurse," * 460),
    _said("6 spaces", "x" + " " * 6_000 + "y"),
]
"""Requests that cost by what becomes of them."""
