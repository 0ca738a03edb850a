"""A model's wrong slot erases nothing: what the user said of themselves stays in the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from contract.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("attribute", "true", "said", "other", "wrong"),
    [
        ("user_name", "Amy", "My name is Amy.", "Our cat Momo hates fish.", "Momo"),
        ("user_name", "小雨", "我叫小雨", "豆豆不喜欢吃鱼", "豆豆"),
        ("city", "Oslo", "I live in Oslo.", "I flew to Paris on Monday.", "Paris"),
    ],
)
async def test_a_value_that_the_user_did_not_say_of_themselves_supersedes_nothing(
    *, tmp_path: Path, attribute: str, true: str, said: str, other: str, wrong: str
):
    def guessed(lines: list[tuple[int, str]]) -> list[dict[str, Any]]:
        return [
            {"content": text, "sources": [number], "memory_type": "long_term", "category": "people"}
            | {"attribute": attribute, "value": true if true in text else wrong}
            for number, text in lines
        ]

    with ScriptedModel(guessed) as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            for number, text in enumerate((said, other)):
                event = turn(f"m-{number}", text, session_id=f"m-{number}")
                assert (await door.http.post("/v1/events?wait=60", json=event)).status_code == 200
            assert (await door.get("/v1/users/u1/profile")).json()[attribute] == true
            assert (await door.get("/v1/memories", user_id="u1")).json()["total"] == 2
