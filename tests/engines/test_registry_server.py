"""The schema registry that tests start is a real one: it takes a schema, gives it an id, and checks what follows it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx
import orjson

if TYPE_CHECKING:
    from support.registry_server import RegistryServer

FIELD = {"name": "city", "type": "string"}
FIRST = {"type": "record", "name": "Moved", "fields": [FIELD]}
WITHOUT_DEFAULT = {**FIRST, "fields": [FIELD, {"name": "since", "type": "string"}]}


async def test_a_schema_gets_an_id_and_an_incompatible_one_is_refused(registry: RegistryServer):
    async with httpx.AsyncClient(base_url=registry.url, timeout=180) as http:
        subject = "/subjects/moved-value/versions"
        given = await http.post(subject, json={"schema": orjson.dumps(FIRST).decode()})
        again = await http.post(subject, json={"schema": orjson.dumps(FIRST).decode()})
        assert given.json()["id"] == again.json()["id"]
        await http.put("/config/moved-value", json={"compatibility": "FULL_TRANSITIVE"})
        refused = await http.post(subject, json={"schema": orjson.dumps(WITHOUT_DEFAULT).decode()})
        assert refused.status_code in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
