"""Erasures amid what changes the installation meanwhile: the digest is then that of a world without the users."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from contract.scripted_model import ScriptedModel
from support.tiny_encoder import write_encoder

from mnemolog.diagnostics.residue import find_residue
from projections.encrypted_files import open_database

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor

KEPT = [f"kept-{n}" for n in range(3)]
GONE = [f"gone-{n}" for n in range(12)]
FACTS = ["likes coffee", "works in Berlin", "plays the violin", "has a dog called Rex"]
WORD = "Vexleyham"


async def ask(door: FrontDoor, method: str, path: str, body: Any = None) -> Any:
    answer = await door.http.request(method, path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


async def digest(door: FrontDoor) -> str:
    return str((await ask(door, "GET", "/v1/admin/digest"))["total"])


async def check_that_it_is_as_if_they_had_never_been(door: FrontDoor, without: str) -> None:
    assert await digest(door) == without
    assert (await ask(door, "POST", "/v1/admin/rebuild"))["equal"]
    assert await digest(door) == without
    for user in GONE:
        assert (await ask(door, "GET", f"/v1/memories?user_id={user}"))["total"] == 0


def users_in(folder: Path) -> set[str]:
    """Return the users who have vectors in the encodings of a folder."""
    users = set()
    for path in folder.glob("*.sqlite3"):
        with closing(open_database(path, "ro")) as connection:
            users |= {user for (user,) in connection.execute("select distinct user_id from vectors")}
    return users


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_users_who_are_erased_while_another_encoder_is_switched_to(tmp_path: Path, encryption: str):
    tiny = f"onnx:{write_encoder(tmp_path / 'tiny')}"
    async with front_door(tmp_path / "data", encryption=encryption) as door:
        for user in KEPT:
            for fact in FACTS:
                await door.remember(fact, user)
        without = await digest(door)
        for user in GONE:
            for fact in FACTS:
                await door.remember(f"{fact} in {WORD}", user)
        for number, user in enumerate(GONE):
            encoder = ("builtin", tiny)[number // 2 % 2]
            switch = asyncio.create_task(
                ask(door, "POST", "/v1/admin/reembed", {"encoder": encoder, "what": "activate"})
            )
            await asyncio.sleep(0.02 * number)  # at any moment of it
            await asyncio.gather(switch, ask(door, "DELETE", f"/v1/users/{user}"))
        await check_that_it_is_as_if_they_had_never_been(door, without)
        assert users_in(tmp_path / "data" / "encodings") == set(KEPT)
        for user in KEPT:
            found = await ask(door, "POST", "/v1/search", {"user_id": user, "query": "coffee", "recall": False})
            assert "likes coffee" in [one["memory"] for one in found["results"]]
        assert await find_residue(door.worker.settings, [WORD]) == []


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_users_who_are_erased_while_policies_change_and_a_model_answers(tmp_path: Path, encryption: str):
    policies = [{"never": ["salary"]}, {"never_categories": ["finance"]}, {"instructions": "Be brief."}]
    with ScriptedModel() as model:
        asked = {"extractor": "model", "llm_base_url": model.base_url, "encryption": encryption}
        async with front_door(tmp_path, **asked) as door:
            for user in KEPT:
                await ask(door, "POST", "/v1/events", turn(f"t-{user}", "I live in Paris.", user_id=user))
            await ask(door, "POST", "/v1/admin/drain")
            without = await digest(door)
            model.play("hang")
            for user in GONE:
                await ask(door, "POST", "/v1/events", turn(f"t-{user}", f"I live in {WORD}.", user_id=user))
            async with asyncio.timeout(120):
                while not any(WORD in str(request) for request in model.requests):  # noqa: ASYNC110 - a thread has them
                    await asyncio.sleep(0.05)
            for n, user in enumerate(GONE):
                setting = asyncio.create_task(ask(door, "PUT", "/v1/policy", policies[n % 3]))
                if n == len(GONE) // 2:
                    model.play("ok")  # some are answered while they are erased, others after it
                await asyncio.gather(setting, ask(door, "DELETE", f"/v1/users/{user}"))
            await ask(door, "POST", "/v1/admin/drain")
            await check_that_it_is_as_if_they_had_never_been(door, without)
            assert (await ask(door, "GET", "/v1/policy"))["version"] == len(GONE)
            assert await find_residue(door.worker.settings, [WORD]) == []
