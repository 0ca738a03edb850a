"""The schema registry, by Confluent's API: schemas by their id, and ours under their subjects.

Producers find the input schemas there, and readers of the ledger without mnemolog find its writer schemas.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import orjson
from fastavro.schema import SchemaParseException, parse_schema, to_parsing_canonical_form

from schemas.codec import Undecodable, newest_version, released_schema
from schemas.messages.data_keys import DataKey
from schemas.messages.events import LEDGER_EVENTS
from schemas.topics import INPUTS, KEYS, LEDGER
from streams.delivery.retry import pauses
from streams.registry.requests import RegistryClient, RegistryUnavailable, json_object, without_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from schemas.inputs.decoding import SchemaId
    from schemas.topics import Topic
    from streams.registry.cache import SchemaCache

log = logging.getLogger("mnemolog")
LONGEST_PAUSE_SECONDS: Final = 5.0
COMPATIBILITY: Final = "FULL_TRANSITIVE"
CONFLICT_ATTEMPTS: Final = 5
"""How many times to try to set a subject's compatibility while other workers set it too."""
NO_SUCH_SCHEMA: Final = 40403
"""The registry's own error code; a 404 without it does not come from a registry."""
MAX_ID: Final = 2**31 - 1
MAX_REFERENCES: Final = 100


class RegistryRefused(Exception):
    """The registry rejects one of our schemas; the message says what to do."""


class WriterSchemas(Protocol):
    """Finds the schema that a record was written with."""

    async def writer(self, schema_id: SchemaId, waits: Callable[[], None] = lambda: None) -> object:
        """Return the parsed schema of an id, waiting while the registry is down.

        Each failed attempt calls `waits`. Raises Undecodable for an id that does not belong to an Avro schema.
        """
        ...


class NoRegistry:
    """The absence of a configured registry: it registers nothing and knows no id."""

    is_registered = False

    async def writer(self, schema_id: SchemaId, waits: Callable[[], None] = lambda: None) -> object:
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
    """Yield each input message's subject and our schema (TopicRecordNameStrategy, as a topic has several types)."""
    for topic in INPUTS:
        for message in topic.messages:
            yield _subject(topic, message, newest_version(message))


def ledger_subjects() -> Iterator[tuple[str, str]]:
    """Yield the subject and schema of each version of the ledger's messages, the oldest first.

    A ledger is kept indefinitely, so all versions are in use. Events are inside decisions, and have subjects under the
    ledger's name. The data key, which decrypts them, is included.
    """
    messages = [*((LEDGER, message) for message in (*LEDGER.messages, *LEDGER_EVENTS)), (KEYS, DataKey)]
    for topic, message in messages:
        for version in range(1, newest_version(message) + 1):
            yield _subject(topic, message, version)


def _subject(topic: Topic, message: type, version: int) -> tuple[str, str]:
    schema = released_schema(message, version)
    text = orjson.dumps(schema).decode()
    # Apicurio 3.0 guesses the type of a schema and fails on "{}" in a text: send the same JSON with an escape.
    return f"{topic.name}-{schema['namespace']}.{schema['name']}", text.replace('"{}"', r'"\u007b\u007d"')


class SchemaRegistry:
    """One registry. The schema of an id never changes: each is requested once, and cached across restarts."""

    def __init__(self, url: str, cache: SchemaCache, client: RegistryClient | None = None) -> None:
        """Connect to nothing yet. The URL may contain a name and a password; `client` defaults to one for this URL."""
        self.url = without_password(url)
        self.is_registered = False
        self._cache = cache
        self._client = client or RegistryClient(url)
        self._writers: dict[SchemaId, object] = {}
        self._requests: dict[SchemaId, asyncio.Task[object]] = {}

    async def aclose(self) -> None:
        """Cancel the pending requests, and close the connections."""
        requests = list(self._requests.values())
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await self._client.aclose()

    async def writer(self, schema_id: SchemaId, waits: Callable[[], None] = lambda: None) -> object:
        """See `WriterSchemas.writer`. All callers that wait for an id share one request."""
        if (schema := self._writers.get(schema_id)) is not None:
            return schema
        if isinstance(schema_id, int) and schema_id > MAX_ID:
            raise Undecodable(f"{schema_id} is no id of a schema: 00 at the beginning, but not registry Avro")
        if (task := self._requests.get(schema_id)) is None:
            task = self._requests[schema_id] = asyncio.get_running_loop().create_task(self._find(schema_id, waits))
            task.add_done_callback(lambda done: self._forget_request(schema_id, done))
        return await asyncio.shield(task)

    def _forget_request(self, schema_id: SchemaId, done: asyncio.Task[object]) -> None:
        del self._requests[schema_id]
        if not done.cancelled():
            # The callers have the error. Retrieving it keeps asyncio from warning if they were all cancelled.
            done.exception()

    async def _find(self, schema_id: SchemaId, waits: Callable[[], None]) -> object:
        texts = self._cache.get(schema_id)
        if texts is None:
            pause = pauses()
            is_reported = False
            while True:
                try:
                    texts = await self._request_texts(schema_id)
                    break
                except RegistryUnavailable as error:
                    waits()
                    if not is_reported:
                        log.warning("records of schema %s wait for the schema registry: %s", schema_id, error)
                        is_reported = True
                    await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, pause()))
        self._writers[schema_id] = schema = _parsed(schema_id, texts)
        self._cache.put(schema_id, texts)
        return schema

    async def _request_texts(self, schema_id: SchemaId) -> list[str]:
        """Return the texts of the schemas that an id's schema refers to, then its own.

        Raises RegistryUnavailable, Undecodable.
        """
        if isinstance(schema_id, str):
            response = await self._client.request("GET", f"/schemas/guids/{schema_id}")
            if response.status_code == HTTPStatus.NOT_FOUND:  # also the answer of a registry without this route
                raise Undecodable(
                    f"the schema registry at {self.url} knows no schema {schema_id}, or finds none by a GUID: have the "
                    "producer write the schema's id before the body, or send JSON"
                )
        else:
            response = await self._client.request("GET", f"/schemas/ids/{schema_id}")
        if response.status_code == HTTPStatus.NOT_FOUND and json_object(response).get("error_code") == NO_SUCH_SCHEMA:
            raise Undecodable(f"the schema registry at {self.url} knows no schema {schema_id}")
        texts: dict[str, str] = {}
        await self._collect(self._client.successful(response), f"schema {schema_id}", texts)
        return [text for text in texts.values() if text]

    async def _collect(self, answer: dict[str, Any], name: str, texts: dict[str, str]) -> None:
        """Add the schemas that a schema refers to, then its own text."""
        if (kind := answer.get("schemaType") or "AVRO") != "AVRO":
            raise Undecodable(f"{name} is {kind}: only Avro is read")
        try:
            text = str(answer["schema"])
            places = [(str(r["subject"]), int(r["version"])) for r in answer.get("references") or ()]
        except (KeyError, TypeError, ValueError) as error:
            raise RegistryUnavailable(f"{self.url} answers what is no schema for {name}") from error
        for subject, version in places:
            other = f"version {version} of subject {subject}"
            if other in texts:
                continue
            texts[other] = ""  # seen: schemas that refer to each other end here
            if len(texts) > MAX_REFERENCES:
                raise Undecodable(f"{name} refers to more than {MAX_REFERENCES} schemas")
            response = await self._client.request("GET", f"/subjects/{quote(subject, safe='')}/versions/{version}")
            await self._collect(self._client.successful(response), other, texts)
        texts.pop(name, None)
        texts[name] = text

    async def register(self) -> None:
        """Register our schemas, make each subject FULL_TRANSITIVE, and cache the inputs' ids; safe to repeat.

        Raises RegistryUnavailable, and RegistryRefused if the subject of an input has a version that is incompatible
        with ours: we could not read the producers' records. Only mnemolog writes with the ledger's subjects, so a
        refusal of those is only logged.
        """
        for subject, schema in subjects():
            self._cache_ours(await self._register(subject, schema), schema)
        for subject, schema in ledger_subjects():
            try:
                await self._register(subject, schema)
            except RegistryRefused as error:
                log.error("readers of the ledger by the registry lack a schema: %s", error)  # noqa: TRY400 - no bug of ours

    async def _register(self, subject: str, schema: str) -> object:
        """Register a schema, and return its id. Raises RegistryUnavailable, RegistryRefused."""
        await self._set_compatibility(subject)
        body = {"schema": schema, "schemaType": "AVRO"}
        response = await self._client.request("POST", f"/subjects/{subject}/versions", body)
        if response.status_code in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
            message = json_object(response).get("message", response.text[:500])
            raise RegistryRefused(
                f"the schema registry at {self.url} refuses our schema for subject {subject} ({message}): it holds "
                f"a version that is not {COMPATIBILITY} compatible with mnemolog's. Delete that version if it is a "
                "mistake, or unset MNEMOLOG_SCHEMA_REGISTRY_URL"
            )
        return self._client.successful(response).get("id")

    async def _set_compatibility(self, subject: str) -> None:
        """Set a subject's compatibility; retry at once on a 409, which means that another worker sets it too."""
        for _ in range(CONFLICT_ATTEMPTS):
            response = await self._client.request("PUT", f"/config/{subject}", {"compatibility": COMPATIBILITY})
            if response.status_code != HTTPStatus.CONFLICT:
                break
        self._client.successful(response)

    def _cache_ours(self, schema_id: object, schema: str) -> None:
        """Cache the id of one of our schemas before the first record names it."""
        if not isinstance(schema_id, int):
            return  # it is requested when a record names it
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
        """Register; if the registry is down, log that and leave it to `register_later`. Raises RegistryRefused."""
        try:
            await self.register()
        except RegistryUnavailable as error:
            log.warning("our schemas are not registered yet, tried again until they are: %s", error)
        else:
            self.is_registered = True

    async def register_later(self) -> None:
        """Register as soon as the registry is up, unless `register_now` did.

        A refusal is logged and ends the attempts: it prevents a start, but does not stop a running worker.
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
            log.info("our schemas are registered at %s", self.url)

    async def unregistered(self) -> tuple[list[str], list[str]]:
        """Return the subjects that still lack our schema, and the input subjects that would refuse it.

        Raises RegistryUnavailable.
        """
        inputs = list(subjects())
        lacking: dict[str, None] = {}
        refusing: list[str] = []
        for subject, schema in (*inputs, *ledger_subjects()):
            body = {"schema": schema, "schemaType": "AVRO"}
            response = await self._client.request("POST", f"/subjects/{subject}", body)
            if response.status_code != HTTPStatus.NOT_FOUND or "error_code" not in json_object(response):
                self._client.successful(response)
                continue
            lacking[subject] = None
            if (subject, schema) not in inputs:
                continue
            check = await self._client.request("POST", f"/compatibility/subjects/{subject}/versions/latest", body)
            if json_object(check).get("is_compatible") is False:
                refusing.append(subject)
        return list(lacking), refusing


def _are_alike(schema_id: int, texts: list[str], schema: str) -> bool:
    """Return whether the cached texts of an id are our schema; unreadable texts are not."""
    try:
        return _canonical(schema_id, texts) == _canonical(schema_id, [schema])
    except Undecodable:
        return False


def _canonical(schema_id: int, texts: list[str]) -> str:
    """Return a schema in its canonical form: a registry may return the same schema in another spelling."""
    return str(to_parsing_canonical_form(_parsed(schema_id, texts)))


def _parsed(schema_id: SchemaId, texts: list[str]) -> Any:  # noqa: ANN401 - a parsed schema
    """Return the last schema, parsed with the names that the previous ones define. Raises Undecodable."""
    named: dict[str, Any] = {}
    try:
        *_, last = [parse_schema(orjson.loads(text), named_schemas=named) for text in texts]
    except (SchemaParseException, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Undecodable(f"schema {schema_id} of the registry cannot be read: {error}") from error
    return last
