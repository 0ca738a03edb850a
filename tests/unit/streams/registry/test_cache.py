"""What a registry's ids mean survives a restart, belongs to that registry, and is only a convenience."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest

from schemas.codec import Undecodable, released_schema
from schemas.messages.observations import SessionEnded
from streams.registry.confluent.cache import SchemaCache
from streams.registry.confluent.registry import SchemaRegistry, subjects
from streams.registry.confluent.requests import RegistryClient, without_password
from streams.registry.protocol import NoRegistry

if TYPE_CHECKING:
    from pathlib import Path

REGISTRY = "http://name:secret@registry:8081"


def test_what_an_id_means_is_known_after_a_restart(tmp_path: Path):
    SchemaCache(tmp_path / "data" / "registry.json", REGISTRY).put(7, ['"string"'])
    again = SchemaCache(tmp_path / "data" / "registry.json", REGISTRY)
    assert (again.get(7), again.get(8)) == (['"string"'], None)


def test_ids_belong_to_their_registry_and_the_file_holds_no_password(tmp_path: Path):
    file = tmp_path / "registry.json"
    SchemaCache(file, REGISTRY).put(7, ['"string"'])
    assert SchemaCache(file, "http://another:8081").get(7) is None
    assert "secret" not in file.read_text("utf-8")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"registry": "x"}'])
def test_a_file_that_cannot_be_read_is_asked_for_anew(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture):
    file = tmp_path / "registry.json"
    file.write_text(text, "utf-8")
    cache = SchemaCache(file, REGISTRY)
    cache.put(7, ['"string"'])
    assert SchemaCache(file, REGISTRY).get(7) == ['"string"']
    assert ("cannot be read" in caplog.text) is (text != '{"registry": "x"}')


def test_a_file_that_cannot_be_written_costs_a_question_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").touch()
    cache = SchemaCache(tmp_path / "file" / "registry.json", REGISTRY)
    cache.put(7, ['"string"'])
    assert cache.get(7) == ['"string"']
    assert "cannot be written" in caplog.text


def test_a_url_is_told_without_its_password():
    assert without_password(REGISTRY) == "http://registry:8081"
    assert without_password("http://registry:8081/a@b") == "http://registry:8081/a@b"


def test_every_input_message_has_a_subject_after_its_topic_and_record_name():
    assert [name for name, _ in subjects()] == [
        "mnemolog.conversations-mnemolog.TurnRecorded",
        "mnemolog.conversations-mnemolog.SessionEnded",
        "mnemolog.screenshots-mnemolog.ScreenshotAnalysed",
        "mnemolog.articles-mnemolog.ArticleInferred",
    ]


GUID = "89791762-2336-4186-9674-299b90a802e2"


async def test_without_a_registry_there_is_nothing_to_register():
    registry = NoRegistry()
    await registry.register_now()
    await registry.register_later()
    assert not registry.is_registered


class UnreadableSchemas(RegistryClient):
    """A registry that has one id for every schema, and no Avro behind it."""

    async def request(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Answer anything with that schema."""
        del method, path, body
        return httpx.Response(200, json={"id": 7, "schema": "{"})


async def test_a_schema_that_cannot_be_read_is_not_kept_and_is_another_one_than_ours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    cache = SchemaCache(tmp_path / "registry.json", REGISTRY)
    registry = SchemaRegistry(REGISTRY, cache, UnreadableSchemas(REGISTRY))
    with pytest.raises(Undecodable):
        await registry.writer(7)
    assert cache.get(7) is None
    cache.put(7, ["{"])  # as a version before kept it
    await registry.register()
    assert "7 meant another schema" in caplog.text
    await registry.aclose()


class Guids(RegistryClient):
    """A registry that finds one schema by its GUID, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(REGISTRY)
        self.asked: list[str] = []

    async def request(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Answer with the schema of SessionEnded for the known GUID."""
        del method, body
        self.asked.append(path)
        if not path.endswith(GUID):
            return httpx.Response(404)
        return httpx.Response(200, json={"schema": orjson.dumps(released_schema(SessionEnded)).decode()})


async def test_a_schema_is_found_by_its_guid_and_one_that_no_registry_finds_is_not_waited_for(tmp_path: Path):
    client, file = Guids(), tmp_path / "registry.json"
    registry = SchemaRegistry(REGISTRY, SchemaCache(file, REGISTRY), client)
    writer: Any = await registry.writer(GUID)
    assert (writer["name"], client.asked) == ("mnemolog.SessionEnded", [f"/schemas/guids/{GUID}"])
    assert SchemaCache(file, REGISTRY).get(GUID) is not None
    with pytest.raises(Undecodable, match="finds none by a GUID: have the producer write the schema's id"):
        await registry.writer(GUID.replace("8", "9"))
    await registry.aclose()
