"""The schema registry, by Confluent's API: what a schema's id means, and our input schemas under their subjects."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import orjson
from fastavro.schema import SchemaParseException, parse_schema, to_parsing_canonical_form

from schemas.codec import Undecodable, released_schema
from schemas.topics import INPUTS
from streams.delivery.retry import pauses
from streams.registry.requests import RegistryCalls, RegistryUnavailable, shown, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streams.registry.cache import SchemaCache

log = logging.getLogger("mnemolog")
LONGEST_PAUSE_SECONDS: Final = 5.0
COMPATIBILITY: Final = "FULL_TRANSITIVE"
AT_ONCE: Final = 5
"""How often a subject's compatibility is demanded when others do the same."""
NO_SUCH_SCHEMA: Final = 40403
"""The registry's own code; another 404 comes from somebody who is no registry."""
MAX_ID: Final = 2**31 - 1
MAX_REFERENCES: Final = 100


class RegistryRefused(Exception):
    """The registry does not take one of our schemas; the message says what to do."""


class WriterSchemas(Protocol):
    """Tells what a schema's id means."""

    async def writer(self, schema_id: int, waits: Callable[[], None] = lambda: None) -> object:
        """Return the parsed schema, waiting for the registry as long as it takes.

        Each attempt that fails calls `waits`. Raises Undecodable for an id that no Avro schema has.
        """
        ...


class NoRegistry:
    """What there is where none is configured: nothing to register, and no id means anything."""

    is_registered = False

    async def writer(self, schema_id: int, waits: Callable[[], None] = lambda: None) -> object:
        """See `WriterSchemas.writer`."""
        del waits
        raise Undecodable(
            f"registry Avro of schema {schema_id}, and no registry is configured: set MNEMOLOG_SCHEMA_REGISTRY_URL, "
            "then send this back with `mnemolog dead-letters retry`"
        )

    async def register_now(self) -> None:
        """Do nothing."""

    async def register_later(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""


def subjects() -> Iterator[tuple[str, str]]:
    """Yield each subject (TopicRecordNameStrategy: several types a topic) and the schema that is ours there."""
    for topic in INPUTS:
        for message in topic.messages:
            schema = released_schema(message)
            text = orjson.dumps(schema).decode()
            # The same JSON, spelt so that Apicurio 3.0 recognises Avro in it: its guess stumbles over "{}" in a text.
            yield f"{topic.name}-{schema['namespace']}.{schema['name']}", text.replace('"{}"', r'"\u007b\u007d"')


class SchemaRegistry:
    """Asks one registry. What an id means never changes, so each is asked for once, and kept across restarts."""

    def __init__(self, url: str, cache: SchemaCache) -> None:
        """Name the registry, with name and password in the URL where it wants them; nothing is asked yet."""
        self.url = shown(url)
        self.is_registered = False
        self._cache = cache
        self._calls = RegistryCalls(url)
        self._writers: dict[int, object] = {}
        self._asking: dict[int, asyncio.Task[object]] = {}

    async def aclose(self) -> None:
        """Ask no more."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await self._calls.aclose()

    async def writer(self, schema_id: int, waits: Callable[[], None] = lambda: None) -> object:
        """See `WriterSchemas.writer`. Everybody who waits for an id waits for the same request."""
        if (known := self._writers.get(schema_id)) is not None:
            return known
        if schema_id > MAX_ID:
            raise Undecodable(f"{schema_id} is no id of a schema: 00 at the beginning, but not registry Avro")
        if (task := self._asking.get(schema_id)) is None:
            task = self._asking[schema_id] = asyncio.get_running_loop().create_task(self._find(schema_id, waits))
            task.add_done_callback(lambda done: self._answered_for(schema_id, done))
        return await asyncio.shield(task)

    def _answered_for(self, schema_id: int, done: asyncio.Task[object]) -> None:
        del self._asking[schema_id]
        if not done.cancelled():
            done.exception()  # whoever waited has it; they may all have been cancelled meanwhile

    async def _find(self, schema_id: int, waits: Callable[[], None]) -> object:
        texts = self._cache.get(schema_id)
        if texts is None:
            pause, said = pauses(), False
            while True:
                try:
                    texts = await self._ask(schema_id)
                    break
                except RegistryUnavailable as error:
                    waits()
                    if not said:
                        log.warning("records of schema %d wait for the schema registry: %s", schema_id, error)
                        said = True
                    await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, pause()))
        self._writers[schema_id] = found = _parsed(schema_id, texts)
        self._cache.put(schema_id, texts)
        return found

    async def _ask(self, schema_id: int) -> list[str]:
        """Return an id's schema behind those that it refers to. Raises RegistryUnavailable, Undecodable."""
        answer = await self._calls.request("GET", f"/schemas/ids/{schema_id}")
        if answer.status_code == HTTPStatus.NOT_FOUND and told(answer).get("error_code") == NO_SUCH_SCHEMA:
            raise Undecodable(f"the schema registry at {self.url} knows no schema {schema_id}")
        texts: dict[str, str] = {}
        await self._collect(self._calls.answered(answer), f"schema {schema_id}", texts)
        return [text for text in texts.values() if text]

    async def _collect(self, found: dict[str, Any], name: str, texts: dict[str, str]) -> None:
        """Put a schema behind those that it refers to."""
        if (kind := found.get("schemaType") or "AVRO") != "AVRO":
            raise Undecodable(f"{name} is {kind}: only Avro is read")
        try:
            text = str(found["schema"])
            places = [(str(r["subject"]), int(r["version"])) for r in found.get("references") or ()]
        except (KeyError, TypeError, ValueError) as error:
            raise RegistryUnavailable(f"{self.url} answers what is no schema for {name}") from error
        for subject, version in places:
            other = f"version {version} of subject {subject}"
            if other in texts:
                continue
            texts[other] = ""  # seen: schemas that refer to each other end here
            if len(texts) > MAX_REFERENCES:
                raise Undecodable(f"{name} refers to more than {MAX_REFERENCES} schemas")
            answer = await self._calls.request("GET", f"/subjects/{quote(subject, safe='')}/versions/{version}")
            await self._collect(self._calls.answered(answer), other, texts)
        texts.pop(name, None)
        texts[name] = text

    async def register(self) -> None:
        """Register our input schemas, each subject FULL_TRANSITIVE, and keep what their ids mean; safe to repeat.

        Raises RegistryUnavailable, and RegistryRefused where a subject holds what ours is incompatible with.
        """
        for subject, schema in subjects():
            await self._demand_compatibility(subject)
            body = {"schema": schema, "schemaType": "AVRO"}
            answer = await self._calls.request("POST", f"/subjects/{subject}/versions", body)
            if answer.status_code in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
                said = told(answer).get("message", answer.text[:500])
                raise RegistryRefused(
                    f"the schema registry at {self.url} refuses our schema for subject {subject} ({said}): it holds a "
                    f"version that is not {COMPATIBILITY} compatible with mnemolog's. Delete that version if it is a "
                    "mistake, or unset MNEMOLOG_SCHEMA_REGISTRY_URL"
                )
            self._learn(self._calls.answered(answer).get("id"), schema)

    async def _demand_compatibility(self, subject: str) -> None:
        """Ask again at once on a 409: another worker, or another request, wrote the same between look and write."""
        for _ in range(AT_ONCE):
            answer = await self._calls.request("PUT", f"/config/{subject}", {"compatibility": COMPATIBILITY})
            if answer.status_code != HTTPStatus.CONFLICT:
                break
        self._calls.answered(answer)

    def _learn(self, schema_id: object, schema: str) -> None:
        """Know what the id of our schema means from now on, also where none of its records came by here yet."""
        if not isinstance(schema_id, int):
            return  # it is asked for when a record names it
        texts = self._cache.get(schema_id)
        if texts is None:
            self._cache.put(schema_id, [schema])
        elif not _are_alike(schema_id, texts, schema):
            log.error(
                "%s gives its ids anew: %d meant another schema. Stop the workers and delete their registry.json",
                self.url,
                schema_id,
            )

    async def register_now(self) -> None:
        """Register; where the registry is down, say so and leave it to `register_later`. Raises RegistryRefused."""
        try:
            await self.register()
        except RegistryUnavailable as error:
            log.warning("input schemas are not registered yet, tried again until they are: %s", error)
        else:
            self.is_registered = True

    async def register_later(self) -> None:
        """Register as soon as the registry is there, unless that was done.

        A refusal is said and ends the trying: it stops a start, and not a worker that reads what comes.
        """
        pause = pauses()
        while not self.is_registered:
            await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, pause()))
            try:
                await self.register()
            except RegistryUnavailable:
                continue
            except RegistryRefused as error:
                log.error("%s. This worker goes on, its next start will be refused", error)  # noqa: TRY400 - no bug of ours
                return
            self.is_registered = True
            log.info("input schemas are registered at %s", self.url)

    async def unregistered(self) -> tuple[list[str], list[str]]:
        """Return the subjects that still lack our schema, and those of them that would refuse it.

        Raises RegistryUnavailable.
        """
        lacking: list[str] = []
        refusing: list[str] = []
        for subject, schema in subjects():
            body = {"schema": schema, "schemaType": "AVRO"}
            answer = await self._calls.request("POST", f"/subjects/{subject}", body)
            if answer.status_code != HTTPStatus.NOT_FOUND or "error_code" not in told(answer):
                self._calls.answered(answer)
                continue
            lacking.append(subject)
            asked = await self._calls.request("POST", f"/compatibility/subjects/{subject}/versions/latest", body)
            if told(asked).get("is_compatible") is False:
                refusing.append(subject)
        return lacking, refusing


def _are_alike(schema_id: int, texts: list[str], schema: str) -> bool:
    """Tell whether what an id meant is our schema; what cannot be read is another one."""
    try:
        return _canonical(schema_id, texts) == _canonical(schema_id, [schema])
    except Undecodable:
        return False


def _canonical(schema_id: int, texts: list[str]) -> str:
    """Return what of a schema says how bytes are read: a registry may answer it spelt otherwise."""
    return str(to_parsing_canonical_form(_parsed(schema_id, texts)))


def _parsed(schema_id: int, texts: list[str]) -> Any:  # noqa: ANN401 - a parsed schema
    """Return the last schema, with the names of those before it. Raises Undecodable."""
    named: dict[str, Any] = {}
    try:
        *_, last = [parse_schema(orjson.loads(text), named_schemas=named) for text in texts]
    except (SchemaParseException, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Undecodable(f"schema {schema_id} of the registry cannot be read: {error}") from error
    return last
