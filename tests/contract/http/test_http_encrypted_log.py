"""A log in clear that was encrypted in place says what it said, to who has the key, and no word to anybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract.front_door import front_door
from contract.http.test_http_residue import CANARIES, lives, residue

from mnemolog.extensions.webhooks.part import part_of
from mnemolog.operations.encryption import encrypt_log
from mnemolog.settings import from_environment
from schemas import codec
from schemas.messages.webhooks import WebhookProgress

if TYPE_CHECKING:
    from pathlib import Path

HOST = {"webhook_hosts": "127.0.0.1"}


async def test_nothing_is_lost_and_no_word_stays_in_clear(tmp_path: Path):
    async with front_door(tmp_path, encryption="off", **HOST) as door:
        await lives(door, "zara")
        assert (await door.post("/v1/admin/drain")).status_code == 200
        answer = await door.post("/v1/webhooks", {"url": "http://127.0.0.1:9/hook", "user_id": "zara"})
        assert answer.status_code == 201, answer.text
        [webhook] = part_of(door.worker).webhooks.all()
        reached = WebhookProgress(
            webhook_id=webhook.webhook_id, reached=webhook.message.after, move=webhook.offset, deliveries=7, given_up=0
        )
        await part_of(door.worker).webhooks.write(reached)
        digest = (await door.get("/v1/admin/digest")).json()
        assert {one.line for one in await residue(tmp_path)} == set(range(1, len(CANARIES) + 1))
    assert await encrypt_log(from_environment({}, data_dir=tmp_path, partitions=2), lambda _: None) > 0
    assert await residue(tmp_path) == []
    async with front_door(tmp_path, **HOST) as door:
        assert (await door.get("/v1/admin/digest")).json() == digest
        await part_of(door.worker).webhooks.follow()
        [webhook] = part_of(door.worker).webhooks.all()
        assert codec.encode(webhook.state) == codec.encode(reached)
    assert await residue(tmp_path) == []
