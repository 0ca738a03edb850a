"""The console's files: they hold no data, load nothing from elsewhere, and run nothing that stands in a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

from mnemolog.changes.feed import TYPES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATHS = ("/console", "/console/", "/console/console.css", "/console/console.js")

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def test_each_file_is_served_with_a_policy_that_allows_no_other(door: FrontDoor):
    kinds = {}
    for path in PATHS:
        answer = await door.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        kinds[path] = answer.headers["content-type"].partition(";")[0]
        assert re.findall(r"(?:https?:)?//[a-z0-9.]+/", answer.text.replace("http://www.w3.org/2000/", "")) == []
    assert sorted(kinds.values()) == ["text/css", "text/html", "text/html", "text/javascript"]


async def test_the_page_has_no_script_or_style_within_and_names_files_that_there_are(door: FrontDoor):
    page = (await door.get("/console")).text
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=", page) == []
    named = re.findall(r'(?:src|href)="(/[^"]*)"', page)
    assert sorted(named) == ["/console/console.css", "/console/console.js"]


async def test_the_script_puts_nothing_into_the_page_as_html(door: FrontDoor):
    script = (await door.get("/console/console.js")).text
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script) == []


async def test_every_type_of_change_can_be_chosen_for_a_webhook(door: FrontDoor):
    script = (await door.get("/console/console.js")).text
    [listed] = re.findall(r"const CHANGES = \[(.*?)\]", script, re.DOTALL)
    assert sorted(re.findall(r"\w+", listed)) == [*TYPES]


async def test_the_lag_of_each_partition_is_told_with_its_worker(door: FrontDoor):
    await door.post("/v1/memories", {"user_id": "u1", "content": "likes tea"})
    await door.post("/v1/admin/drain", {})
    rows = (await door.get("/v1/admin/lag")).json()["items"]
    inbox = [row for row in rows if row["topic"] == "mnemolog.inbox"]
    assert [row["partition"] for row in inbox] == list(range(door.worker.shards.partitions))
    assert {(row["step"], row["items"], row["seconds"]) for row in inbox} == {("remember", 0, 0.0)}
    assert {row["step"] for row in rows} == {"extract", "remember", "project"}
    assert all(row["worker"].startswith("http") for row in rows)


async def test_what_is_not_extracted_yet_is_counted_with_its_age(door: FrontDoor):
    turn = {"type": "TurnRecorded", "event_id": "waits", "user_id": "u2", "session_id": "open", "role": "user"}
    await door.post("/v1/events", turn | {"content": "I like tea."})
    rows = (await door.get("/v1/admin/lag")).json()["items"]
    [waiting] = [row for row in rows if row["items"]]
    assert (waiting["topic"], waiting["step"], waiting["items"]) == ("mnemolog.conversations", "extract", 1)
    assert waiting["seconds"] >= 0
