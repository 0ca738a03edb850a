"""What the product asks of a schema registry, and the absence of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from schemas.codec import Undecodable

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemas.inputs.decoding import SchemaId


class RegistryUnavailable(Exception):
    """The registry cannot be reached, or something else answers in its place: try again later."""


class RegistryRefused(Exception):
    """The registry rejects one of our schemas; the message says what to do."""


class WriterSchemas(Protocol):
    """Finds the schema that a record was written with."""

    async def writer(self, schema_id: SchemaId, waits: Callable[[], None] = lambda: None) -> object:
        """Return the parsed schema of an id, waiting while the registry is down.

        Each failed attempt calls `waits`. Raises Undecodable for an id that does not belong to an Avro schema.
        """
        ...


class Registry(WriterSchemas, Protocol):
    """A registry that finds the schemas of records, and has ours."""

    url: str
    """Its URL, without a password."""
    is_registered: bool
    """Whether our schemas are known to be registered."""

    async def register_now(self) -> None:
        """Register our schemas; if the registry is down, leave it to `register_later`. Raises RegistryRefused."""
        ...

    async def register_later(self) -> None:
        """Register our schemas as soon as the registry is up, unless `register_now` did."""
        ...

    async def unregistered(self) -> tuple[list[str], list[str]]:
        """Return the subjects that still lack our schema, and the input subjects that would refuse it.

        Raises RegistryUnavailable.
        """
        ...

    async def aclose(self) -> None:
        """Cancel the pending requests, and close the connections."""
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
