"""What a model is given of a tool's answer: a line for each memory, marked with where it is from."""

from __future__ import annotations

from typing import Any

from support.tables import each

from mnemolog.integrations.answers import as_text

MEMORY: dict[str, Any] = {
    "memory_id": "m1",
    "content": "User has a cat",
    "category": "fact",
    "provenance": "chat",
    "occurred_at": "2026-01-05T08:00:00Z",
    "content_hash": "0123",
}
LINE = "- 2026-01-05 [fact] User has a cat (from a conversation) (id m1)"


@each(
    ("answer", "text"),
    [
        ({"results": []}, "Nothing was found."),
        (
            {"results": [MEMORY | {"memory": "User has a cat"}]},
            "- 2026-01-05 [fact] User has a cat (from a conversation) (id m1)",
        ),
        (MEMORY, "Remembered:\n- 2026-01-05 [fact] User has a cat (from a conversation) (id m1)"),
        ({"command_id": "c1"}, "Accepted; it will be remembered in a moment."),
    ],
    ids=["nothing", "found", "remembered", "accepted"],
)
def test_an_answer_is_a_line_for_each_memory(answer: dict[str, Any], text: str):
    assert as_text(answer) == text
