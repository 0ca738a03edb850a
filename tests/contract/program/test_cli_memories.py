"""`mnemolog memory`, `revise` and `history` against a whole worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import httpx
import orjson
import pytest
from contract.front_door import front_door, turn

from mnemolog import AsyncClient, Conflict, NotFound, Refused
from mnemolog.cli.commands.context import context
from mnemolog.cli.commands.drain import reextract
from mnemolog.cli.commands.export import export
from mnemolog.cli.commands.history import MOST_WORDS, history
from mnemolog.cli.commands.memories import forget, memories, memory, remember, revise
from mnemolog.cli.commands.profile import entities
from mnemolog.cli.commands.search import search
from mnemolog.cli.invocation import CommandFailed
from mnemolog.cli.options import filters
from mnemolog.cli.output import Output
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    async with front_door(tmp_path) as door:
        transport = httpx.ASGITransport(make_http(door.worker))
        async with AsyncClient("http://127.0.0.1", transport=transport) as opened:
            yield opened


async def test_a_memory_is_revised_and_read_by_its_id(client: AsyncClient, capsys: pytest.CaptureFixture[str]):
    memory_id = (await client.remember("Owns a red bicycle", "u1", category="habit"))["memory_id"]
    output = Output(as_json=False)
    await revise(client, output, memory_id, content="Owns a blue bicycle", importance=0.9, expected_version=1)
    assert capsys.readouterr().out == f"{memory_id}  active  Owns a blue bicycle\n"
    with pytest.raises(Conflict):
        await revise(client, output, memory_id, content="Owns a green bicycle", expected_version=1)
    with pytest.raises(Refused, match="nothing is to be changed"):
        await revise(client, output, memory_id)
    await memory(client, output, memory_id)
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if len(line.split()) > 1)
    assert (lines["content"], lines["importance"], lines["category"]) == ("Owns a blue bicycle", "0.9", "habit")
    await memory(client, Output(as_json=True), memory_id)
    assert orjson.loads(capsys.readouterr().out) == await client.memory(memory_id)


async def test_what_is_remembered_is_read_and_what_is_similar_stands_below_it(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    known = (await client.remember("User drinks green tea at noon", "u1"))["memory_id"]
    output = Output(as_json=False)
    await remember(client, output, "User drinks green tea at nine", user="u1")
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("  active  User drinks green tea at nine")
    assert second == f"similar: {known}  User drinks green tea at noon"
    await remember(client, Output(as_json=True), "I live in Berlin.", user="u1")
    told = orjson.loads(capsys.readouterr().out)
    assert (told["attribute"], told["value"], told["similar"]) == ("city", "Berlin", [])


async def test_what_happened_is_revised_and_an_empty_word_is_taken_away(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    said = [turn("t-1", "昨天我们吵架了，我很难过", occurred_at="2026-01-05T08:00:00Z")]
    [accepted] = (await client.publish(said, wait_seconds=20))["accepted"]
    memory_id, output = accepted["memory_ids"][0], Output(as_json=True)
    await revise(
        client,
        output,
        memory_id,
        event_type="makeup",
        emotion="happy",
        emotion_intensity=0.4,
        key_dialogue=["我们和好了", ""],
    )
    revised = orjson.loads(capsys.readouterr().out)
    assert (revised["event_type"], revised["emotion"], revised["emotion_intensity"]) == ("makeup", "happy", 0.4)
    assert revised["key_dialogue"] == ["我们和好了"]
    await revise(client, output, memory_id, emotion="", key_dialogue=[""])
    revised = orjson.loads(capsys.readouterr().out)
    assert (revised["event_type"], revised["emotion"], revised["key_dialogue"]) == ("makeup", None, [])


async def test_entities_are_listed_and_one_is_shown_with_its_facts(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    output = Output(as_json=False)
    await entities(client, output, user="u1")
    assert "no memory of u1 names anything" in capsys.readouterr().err
    await client.publish([turn("t-1", "I live in Berlin.", occurred_at="2026-01-05T08:00:00Z")], wait_seconds=20)
    await client.publish([turn("t-2", "I live in Oslo now.", occurred_at="2026-03-05T08:00:00Z")], wait_seconds=20)
    await entities(client, output, user="u1", kind="place")
    shown = capsys.readouterr().out
    assert [name for name in ("Berlin", "Oslo") if name not in shown] == []
    await entities(client, output, user="u1", kind="organisation")
    assert "no memory of u1 names any organisation" in capsys.readouterr().err
    items = (await client.entities("u1"))["items"]
    [berlin] = [entity["entity_id"] for entity in items if entity["name"] == "Berlin"]
    await entities(client, output, user="u1", entity_id=berlin)
    shown = capsys.readouterr().out
    assert "Berlin (place)" in shown
    assert [cell.strip() for cell in shown.splitlines()[-2].split("│")[1:4]] == [
        "2026-01-05",
        "User lives in Berlin",
        "2026-03-05",
    ]
    await entities(client, Output(as_json=True), user="u1", entity_id=berlin)
    assert orjson.loads(capsys.readouterr().out) == await client.entity("u1", berlin)
    with pytest.raises(NotFound):
        await entities(client, output, user="u1", entity_id="nobody")


async def test_a_search_shows_what_was_said_and_until_when_something_was_true(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    await client.publish([turn("t-1", "I live in Berlin.", occurred_at="2026-01-05T08:00:00Z")], wait_seconds=20)
    await client.publish([turn("t-2", "I live in Oslo now.", occurred_at="2026-03-05T08:00:00Z")], wait_seconds=20)
    await search(client, Output(as_json=False), "Where did I live before?", user="u1", turns=True)
    shown = capsys.readouterr().out
    assert "lives in Berlin (until 2026-03-05)" in shown
    assert "lives in Oslo " in shown
    await client.publish([turn("t-3", "Is the ferry late again?")], wait_seconds=20)
    for turns in (True, False):
        await search(client, Output(as_json=False), "ferry", user="u1", turns=turns)
        out = capsys.readouterr().out
        assert ("ferry late again" in out, "said" in out) == (turns, turns)


async def test_rejected_windows_are_extracted_again_until_none_is_left(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    await reextract(client, Output(as_json=False), rejected=True, user="u1")
    assert "windows" in capsys.readouterr().out
    with pytest.raises(CommandFailed, match="--rejected"):
        await reextract(client, Output(as_json=False))


async def test_a_history_leads_back_to_the_words_for_a_person_too(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    said, long, seen = (
        "I live in Berlin.",
        f"My sister is called Ines. {'x' * MOST_WORDS}",
        "Payment of 42.50 euros to Stadtwerke",
    )
    screen = {"type": "ScreenshotAnalysed", "user_id": "u1", "screenshot_id": "i", "app": "Bank", "relevance": "high"}
    events = [turn("t-1", said), turn("t-2", long, session_id="s2"), screen | {"event_id": "p-1", "text": seen}]
    accepted = (await client.publish(events, wait_seconds=20))["accepted"]
    shown = []
    for one in accepted:
        await history(client, Output(as_json=False), one["memory_ids"][0])
        shown.append(capsys.readouterr().out)
    [words] = [line for line in shown[0].splitlines() if said in line]
    assert [cell.strip() for cell in words.split("│")[2:5]] == ["user", said, "t-1"]
    assert [
        word for word in ("MemoryFormed", "rules", "mnemolog.inbox:", "mnemolog.memories:") if word not in shown[0]
    ] == []
    assert "x…" in shown[1]
    assert "ScreenshotAnalysed" in shown[2]
    assert seen in shown[2]


async def test_what_nobody_said_has_no_words_behind_it(client: AsyncClient, capsys: pytest.CaptureFixture[str]):
    memory_id = (await client.remember("likes tea", "u1"))["memory_id"]
    await history(client, Output(as_json=False), memory_id)
    printed_streams = capsys.readouterr()
    assert "the words behind it" not in printed_streams.out
    assert printed_streams.err == ""


async def test_what_meets_a_filter_is_listed_found_and_forgotten(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    for name, content in (("red", "the red box"), ("blue", "the blue box"), ("green", "Ada's box of limes")):
        await client.remember(content, "u1", metadata={"colour": name})
    output, blue = Output(as_json=True), {"metadata.colour": "blue"}

    def printed() -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(capsys.readouterr().out)
        return found

    await memories(client, output, user="u1", filters=blue)
    [item] = printed()["items"]
    assert item["content"] == "the blue box"
    await search(client, output, "box", user="u1", filters=blue)
    assert [hit["memory_id"] for hit in printed()["results"]] == [item["memory_id"]]
    for preview in (True, False):
        await forget(client, output, user="u1", filters=blue, preview=preview)
        assert printed()["items"] == [item["memory_id"]]
    await memories(client, output, user="u1", filters=blue)
    assert printed()["items"] == []
    for memory_id, user, wanted in ((None, "u1", None), (None, None, blue), (item["memory_id"], "u1", blue)):
        with pytest.raises(CommandFailed, match="name a memory, or say"):
            await forget(client, output, memory_id, user=user, filters=wanted)
    await forget(client, output, user="u1", filters={"metadata.colour": {"ne": "red"}}, forever=True)
    assert len(printed()["receipts"]) == 2  # the forgotten one too
    assert [m["content"] for m in (await client.memories("u1"))["items"]] == ["the red box"]


async def test_what_is_of_an_application_or_a_session_is_listed_found_exported_and_forgotten(
    client: AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output, into = Output(as_json=True), tmp_path / "exported.jsonl"

    def printed() -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(capsys.readouterr().out)
        return found

    await remember(client, output, "the blue box is empty", user="u1", app="web")
    of_web = printed()["memory_id"]
    kept = await client.remember("Ada has a box of pears", "u1", app_id="phone", session_id="s1")
    for app, session, expected in (("web", None, of_web), (None, "s1", kept["memory_id"])):
        await memories(client, output, user="u1", app=app, session=session)
        assert [one["memory_id"] for one in printed()["items"]] == [expected]
        await export(client, output, user="u1", into=into, app=app, session=session)
        assert printed()["memories"] == 1
    await search(client, output, "box", user="u1", app="phone")
    assert [one["memory_id"] for one in printed()["results"]] == [kept["memory_id"]]
    await context(client, output, user="u1", app="phone", query="box")
    assert [one["memory_id"] for one in printed()["memories"]] == [kept["memory_id"]]
    await forget(client, output, user="u1", session="s1")
    assert printed()["items"] == [kept["memory_id"]]
    await forget(client, output, user="u1", app="web")
    assert printed()["items"] == [of_web]


@pytest.mark.parametrize("text", ["{", "[]", "1"])
def test_what_is_no_filter_is_refused_before_anything_is_asked(text: str):
    with pytest.raises(click.BadParameter):
        filters(text)
