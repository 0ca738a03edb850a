"""What a stranger sends is bounded before it is looked at: lines, members, values, and the faults that are told."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import orjson
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.http.bounds.json_body import MAX_LINE_BYTES, MAX_VALUES
from mnemolog.http.problems import MAX_ERRORS
from schemas.inputs.slices import SLICE_SECONDS, in_slices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

pytestmark = pytest.mark.asyncio(loop_scope="module")
JSON, LINES = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}
MIB = 1 << 20


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


def members(number: int) -> dict[str, int]:
    return {f"k{n}": 0 for n in range(number)}


async def send(door: FrontDoor, path: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
    return await door.http.post(path, content=body, headers=headers)


@pytest.mark.parametrize("path", ["/v1/events", "/v1/import"])
async def test_lines_are_counted_before_any_is_parsed(door: FrontDoor, path: str):
    response = await send(door, path, b"x\n" * 1_001, LINES)
    assert (response.status_code, "at most 1000" in response.json()["detail"]) == (413, True)


@pytest.mark.parametrize("path", ["/v1/events", "/v1/import"])
async def test_of_a_thousand_bad_lines_a_hundred_are_told_and_that_there_are_more(door: FrontDoor, path: str):
    response = await send(door, path, b"x\n" * 1_000, LINES)
    refusal = response.json()
    assert (response.status_code, len(refusal["errors"])) == (422, MAX_ERRORS)
    assert refusal["detail"].endswith("and at least 100 more")


async def test_a_bad_line_is_named_by_its_number_blank_ones_counted(door: FrontDoor):
    response = await send(door, "/v1/events", b"\n \n7\n\nx\n", LINES)
    assert "line 5 is not JSON" in response.json()["detail"]


async def test_a_line_that_is_longer_than_any_event_is_not_parsed(door: FrontDoor):
    response = await send(door, "/v1/events", b'"' + b"x" * MAX_LINE_BYTES + b'"\n', LINES)
    assert f"line 1 has more than {MAX_LINE_BYTES} bytes" in response.json()["detail"]


async def test_of_a_thousand_bad_events_a_hundred_faults_are_told(door: FrontDoor):
    response = await send(door, "/v1/events", orjson.dumps([turn(None, "x") | members(10)] * 1_000), JSON)
    assert (response.status_code, len(response.json()["errors"])) == (422, MAX_ERRORS)
    assert "at least 100 more" in response.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memories", members(1_000)),
        ("/v1/events", turn(None, "x") | members(1_000)),
        ("/v1/import", {"content": "x"} | members(1_000)),
        ("/v1/search", {"user_id": "u", "query": "x"} | members(1_000)),
    ],
)
async def test_an_object_with_far_too_many_members_has_one_fault(door: FrontDoor, path: str, body: dict[str, object]):
    response = await door.post(path, body)
    [fault] = response.json()["errors"]
    assert (response.status_code, "members, of which at most" in fault["message"]) == (422, True)


async def test_a_filter_with_far_too_many_members_has_one_fault(door: FrontDoor):
    response = await door.post("/v1/search", {"user_id": "u", "query": "x", "filters": members(1_000)})
    [fault] = response.json()["errors"]
    assert (response.status_code, "k0: is no field" in fault["message"]) == (422, True)


async def test_a_list_of_nothing_but_faults_has_one(door: FrontDoor):
    response = await door.post("/v1/import", {"content": "x", "source_ids": [0] * 5_000})
    assert [fault["message"] for fault in response.json()["errors"]] == ["has 5000 faults: look at what is sent"]


async def test_a_name_that_a_caller_made_up_is_cut_where_it_is_told_back(door: FrontDoor):
    response = await door.post("/v1/search", {"user_id": "u", "query": "x", "n" * 60_000: 1})
    assert (response.status_code, len(response.content) < 2_000) == (422, True)


async def test_a_body_of_too_many_values_is_not_read(door: FrontDoor):
    response = await send(door, "/v1/events", b"[" + b"0," * MAX_VALUES + b"0]", JSON)
    assert (response.status_code, "values" in response.json()["detail"]) == (413, True)


@pytest.mark.parametrize("text", ['",[{', "a,b\\"], ids=["brackets", "commas"])
async def test_what_stands_in_text_is_no_value(door: FrontDoor, text: str):
    body = orjson.dumps([turn(None, text * 4_000)] * 60)
    assert body.count(b",") > MAX_VALUES
    assert (await send(door, "/v1/events", body, JSON)).status_code == 202


HOSTILE = {
    "x lines": b"x\n",
    "lines of JSON": b"0\n",
    "blank lines": b" \n",
    "lists": b"[],",
    "open lists": b"[",
    "quotes": b'"\\',
    "ends of text": b'",',
}


async def seconds(door: FrontDoor, path: str, unit: bytes, size: int) -> float:
    """Return how much processor time a body of such units takes, with what a small request costs anyway."""
    body = (unit * (size // len(unit)))[:size]
    began = time.process_time()  # the door is in this process
    await send(door, path, body, JSON)
    return time.process_time() - began + 0.005


@pytest.mark.parametrize("path", ["/v1/events", "/v1/import"])
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
async def test_eight_times_the_body_takes_not_much_more_than_eight_times_as_long(
    door: FrontDoor, path: str, unit: bytes
):
    """It was quadratic: 8 MiB of bad lines stood still for 73 s."""
    small = min([await seconds(door, path, unit, MIB) for _ in range(3)])
    for _ in range(3):  # the least of three: no other is run where one is quick enough
        large = await seconds(door, path, unit, 8 * MIB)
        if large < small * 8 * 4:
            break
    assert large < small * 8 * 4


async def test_between_slices_of_work_others_have_their_turn():
    turns: list[float] = []

    async def other() -> None:
        while True:
            turns.append(time.perf_counter())
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    async for _ in in_slices(range(20)):
        time.sleep(SLICE_SECONDS / 4)  # noqa: ASYNC251 - work that does not wait
    task.cancel()
    assert len(turns) >= 3
    assert all(later - earlier >= SLICE_SECONDS / 4 for earlier, later in pairwise(turns))
