"""`mnemolog doctor --erased`: nothing of an erased user is left under any key, and the search can fail."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import front_door, turn

from mnemolog.cli.commands.doctor import doctor
from mnemolog.cli.invocation import CommandFailed, Surroundings
from mnemolog.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path


async def asked(folder: Path, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """Ask doctor about a data directory that no worker uses; return its answer."""
    around = Surroundings({}, folder, None, Output(as_json=True))
    capsys.readouterr()
    with suppress(CommandFailed):
        await doctor(around, **options)
    found: dict[str, Any] = orjson.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_nothing_is_left_of_who_was_erased_and_all_of_who_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encryption: str
):
    data, before, words, file = (tmp_path / name for name in ("data", "before", "words", "receipt"))
    words.write_text("Quirinius\n")
    async with front_door(data, encryption=encryption) as door:
        for user, name in (("zara", "Quirinius"), ("yuri", "Vexleyham")):
            await door.post("/v1/events", turn(f"t-{user}", f"My name is {name}.", user_id=user))
        assert (await door.post("/v1/admin/drain")).status_code == 200
    shutil.copytree(data, before)
    async with front_door(data, encryption=encryption) as door:
        receipt = (await door.http.delete("/v1/users/zara")).json()
        await door.post("/v1/events", turn("t-again", "My name is Quirinius again.", user_id="zara"))
    file.write_bytes(orjson.dumps(receipt))
    shutil.copytree(data / "keys", before / "keys", dirs_exist_ok=True)

    proof = await asked(data, capsys, erased=file)
    assert (proof["ok"], proof["found"], proof["control"]["user"]) == (True, [], "yuri")
    assert proof["opened"] > proof["control"]["records"] > 0

    left = await asked(before, capsys, erased=file, residue=words)  # as a backup that somebody has restored
    kinds = {one["what"] for one in left["found"]}
    assert left["ok"] is False
    assert "a record of this user from before the erasure" in kinds
    assert "the word of line 1" in kinds
    assert any(one.startswith("the data key") for one in kinds) == (encryption == "on")

    plain = await asked(before, capsys, residue=words)
    assert plain["ok"] is (encryption == "on")  # which is why this alone proves no erasure
    assert "also of who was not erased" in plain["proves"]


async def test_only_a_receipt_of_this_installation_is_taken(tmp_path: Path):
    async with front_door(tmp_path / "data") as door:
        await door.post("/v1/events", turn("t-zara", "I live in Bern.", user_id="zara"))
        receipt = (await door.http.delete("/v1/users/zara")).json()
    around = Surroundings({}, tmp_path / "data", None, Output(as_json=True))
    file = tmp_path / "receipt"
    told = [
        (receipt | {"user": "yuri"}, "not signed by this installation"),
        (receipt | {"memory_id": "m"}, "give one of a user"),
        ([], "no receipt"),
    ]
    for content, why in told:
        file.write_bytes(orjson.dumps(content))
        with pytest.raises(CommandFailed, match=why):
            await doctor(around, erased=file)
    file.write_bytes(orjson.dumps(receipt))
    with pytest.raises(CommandFailed, match="there is no log in"):
        await doctor(Surroundings({}, tmp_path / "elsewhere", None, Output(as_json=True)), erased=file)
