"""A model is shown what is known of the user when it is asked about the next window, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from contract.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path


def last(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


@pytest.mark.parametrize("tokens", [None, 0])
async def test_the_next_window_is_shown_what_the_one_before_left_unless_it_is_forgotten(
    tmp_path: Path, tokens: int | None
):
    with ScriptedModel() as model:
        settings: dict[str, Any] = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        settings |= {} if tokens is None else {"known_tokens": tokens}
        async with front_door(tmp_path, **settings) as door:

            async def says(number: int, text: str, **more: Any) -> str:
                event = turn(f"m-{number}", text, session_id=f"m-{number}", **more)
                assert (await door.http.post("/v1/events?wait=60", json=event)).status_code == 200
                return last(model.requests[-1])

            assert "K1" not in await says(1, "I live in Oslo, by the sea.")
            [memory] = (await door.get("/v1/memories", user_id="u1")).json()["items"]
            shown = await says(2, "I moved from Oslo to Bergen.")
            assert ("lives in Oslo, by the sea." in shown) is (tokens is None)
            assert memory["memory_id"] not in shown  # ids are never the model's
            assert "Oslo" not in await says(3, "I like tea.", user_id="u2")
            await door.http.delete(f"/v1/memories/{memory['memory_id']}")
            assert "by the sea" not in await says(4, "I left Oslo for ever.")
