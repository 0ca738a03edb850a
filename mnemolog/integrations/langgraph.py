"""LangGraph's store in mnemolog: `MnemologStore(url)` is a BaseStore. `pip install 'mnemolog[langgraph]'`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypeVar

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp, TTLConfig

from mnemolog.client.client import AsyncClient, Client
from mnemolog.client.errors import Conflict, Refused, Unavailable
from mnemolog.client.memories import forget, memories, query_memories, remember, revise, search
from mnemolog.integrations.langgraph_items import (
    DOCUMENT,
    FOREVER,
    Place,
    end_of,
    filters_of,
    found_item,
    has_ended,
    indexed_paths,
    is_refreshed,
    item_of,
    key_of,
    put_call,
)
from mnemolog.integrations.own_vectors import OwnVectors, Texts, likeness, texts_at
from mnemolog.integrations.sweeper import Sweeper

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from types import TracebackType

    from langgraph.store.base import IndexConfig, Item, MatchCondition, Op, Result, SearchItem

    from mnemolog.client.call import Call, Json

T = TypeVar("T")
Steps: TypeAlias = "Generator[Call[Json] | Texts, Any, T]"
"""A generator of an operation's calls and texts to embed, which receives each answer and returns the result."""
PAGE: Final = 200
SWEEP_MINUTES: Final = 5.0
MOST_FOUND: Final = 100
"""The results of a search that have a score; later ones have none."""
MOST_COMPARED: Final = 10_000
"""The items that a search with the caller's own embedder compares at most."""
DECISIONS_AWAITED: Final = 6
"""How often a command is sent until it is decided; each attempt waits 5 s."""
NOBODYS: Final = "langgraph"
"""The default user of items whose namespace is too short to name one.

No namespace begins with this name, because LangGraph reserves it.
"""
DIRECTORY: Final = "langgraph.directory"
"""The user whose documents list the other users. No namespace contains it, because LangGraph allows no dots there."""


class MnemologStore(BaseStore):  # type: ignore[misc, unused-ignore] # langgraph is an extra
    """Stores items as documents of users: exactly, under a key, and exempt from decay.

    `user_part` is the index of the namespace part that names the user: with 0, `("alice", "notes")` belongs to alice,
    and with 1, `("memories", "alice")` does. Erasing alice erases her items. With None all items belong to `user_id`.
    Puts, deletions and refreshing reads have taken effect when they return. Raises MnemologError.
    """

    supports_ttl = True

    __slots__ = (
        *("_async_client", "_client", "_fields", "_known", "_make", "_own_vectors", "_place", "_sweeper"),
        *("embeddings", "index_config", "ttl_config"),
    )

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        api_key: str | None = None,
        *,
        user_part: int | None = 0,
        user_id: str = NOBODYS,
        fields: Sequence[str] = ("$",),
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        **connection: Any,  # noqa: ANN401 - what both clients take
    ) -> None:
        """Connect to a server with a key. `fields` are the paths whose text is searched; `$` is the whole value.

        `index` configures your own embedder, as for LangGraph's stores; its `fields` take precedence. Without it the
        server embeds and searches. With it the vectors are stored with the items and compared in the client: a search
        fetches all items that match its prefix and its filter, at most 10,000.

        `connection` holds the client's other arguments: `timeout_seconds`, `retries`, `ca_file`. Raises ValueError.
        """
        self._client = Client(url, api_key, **connection)
        self._make: Mapping[str, Any] = {"url": url, "api_key": api_key, **connection}
        self._async_client: AsyncClient | None = None
        self._sweeper: Sweeper | None = None
        self._place = Place(user_part, user_id)
        self.index_config = index
        self._own_vectors = None if index is None else OwnVectors(index)
        self.embeddings = None if self._own_vectors is None else self._own_vectors.embeddings
        self._fields = list((index or {}).get("fields") or fields)
        self._known: set[str] = set()
        self.ttl_config = ttl

    # -- execution of operations

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in order; reads see the puts before them."""
        return [self._run(self._steps(op)) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations like `batch`, without blocking; use a store in one event loop only."""
        return [await self._arun(self._steps(op)) for op in ops]

    def sweep_ttl(self) -> int:
        """Delete the expired items of all users, which are only hidden until then; return their number."""
        return self._run(self._sweep())

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep periodically in a thread; return a future that is done when the thread has stopped.

        The default interval is that of the store's `ttl`, else 5 minutes. A failed sweep is logged and retried.
        """
        if self._sweeper is None:
            minutes = sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or SWEEP_MINUTES
            self._sweeper = Sweeper(self.sweep_ttl, minutes * 60)
        return self._sweeper.done

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper, waiting at most `timeout` seconds for a sweep to end; return whether it has stopped."""
        if self._sweeper is None or self._sweeper.stop(timeout):
            self._sweeper = None
        return self._sweeper is None

    def _run(self, steps: Steps[T]) -> T:
        answer: Any = None
        try:
            while True:
                call = steps.send(answer)
                if isinstance(call, Texts):
                    answer = [] if self._own_vectors is None else self._own_vectors.of(call)
                    continue
                try:
                    answer = self._client.carry(call)
                except Refused as error:
                    answer = {"refused": error}
        except StopIteration as end:
            result: T = end.value
            return result

    async def _arun(self, steps: Steps[T]) -> T:
        if self._async_client is None:
            self._async_client = AsyncClient(**self._make)
        answer: Any = None
        try:
            while True:
                call = steps.send(answer)
                if isinstance(call, Texts):
                    answer = [] if self._own_vectors is None else await self._own_vectors.aof(call)
                    continue
                try:
                    answer = await self._async_client.carry(call)
                except Refused as error:
                    answer = {"refused": error}
        except StopIteration as end:
            result: T = end.value
            return result

    def close(self) -> None:
        """Stop the sweeper, and close the connections of calls without await."""
        self.stop_ttl_sweeper()
        self._client.close()

    async def aclose(self) -> None:
        """Stop the sweeper, and close all connections."""
        await asyncio.to_thread(self.close)
        if self._async_client is not None:
            await self._async_client.close()

    async def __aenter__(self) -> Self:
        """Return the store, which is closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        await self.aclose()

    def __enter__(self) -> Self:
        """Return the store, which is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    # -- operations

    def _steps(self, op: Op) -> Steps[Result]:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, PutOp):
            return self._put(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _get(self, op: GetOp) -> Steps[Item | None]:
        user_id = self._place.owner_of(op.namespace)
        memory = yield from _newest(user_id, op.namespace, op.key)
        if memory is None or has_ended(memory, _now()):
            return None
        if is_refreshed(memory, op):
            yield from _refresh(memory)
        return item_of(memory)

    def _put(self, op: PutOp) -> Steps[None]:
        user_id = self._place.owner_of(op.namespace)
        old = yield from _newest(user_id, op.namespace, op.key)
        if op.value is None:
            if old is not None:
                yield from _decided(forget(old["memory_id"], user_id=user_id))
            return
        if self._place.user_part is not None:
            yield from self._register(user_id)
        now = _now()
        lives = old is not None and not has_ended(old, now)
        created_at = old["metadata"]["created_at"] if old is not None and lives else None
        vectors: list[str] | None = None
        if self._own_vectors is not None:
            texts = texts_at(op.value, indexed_paths(op, self._fields))
            vectors = (yield Texts(texts)) if texts else []
        yield from _decided(put_call(op, user_id, created_at, self._fields, now, vectors))

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        now, wanted = _now(), op.offset + op.limit
        filters = filters_of(op.namespace_prefix, op.filter, now)
        users = yield from self._users(op.namespace_prefix)
        scored: list[tuple[Json, float | None]] = []
        if op.query and self._own_vectors is not None:
            scored = yield from _compared(op.query, users, filters)
        elif op.query:
            indexed = filters | {"metadata.is_indexed": True}
            for user_id in users:
                limit = min(wanted, MOST_FOUND)
                call = search(
                    user_id,
                    query=op.query,
                    filters=indexed,
                    limit=limit,
                    recall=False,
                    include_global=False,
                    include=["memories"],
                    understand_time=False,
                )
                scored += [(memory, memory["score"]) for memory in (yield from _asked(call))["results"]]
            scored.sort(key=lambda pair: -(pair[1] or 0.0))
        if len(scored) < wanted:
            found = {memory["memory_id"] for memory, _ in scored}
            rest: list[Json] = []
            for user_id in users:
                rest += yield from _listed(user_id, filters, wanted)
            rest.sort(key=lambda memory: str(memory["formed_at"]), reverse=len(users) > 1)
            scored += [(memory, None) for memory in rest if memory["memory_id"] not in found]
        shown = scored[op.offset : wanted]
        for memory, _ in shown:
            if is_refreshed(memory, op):
                yield from _refresh(memory)
        return [found_item(memory, score) for memory, score in shown]

    def _list(self, op: ListNamespacesOp) -> Steps[list[tuple[str, ...]]]:
        conditions = op.match_conditions or ()
        prefix = next((_fixed(one) for one in conditions if one.match_type == "prefix"), ())
        found: set[tuple[str, ...]] = set()
        for user_id in (yield from self._users(prefix)):
            for memory in (yield from _listed(user_id, filters_of(prefix, None, _now()), None)):
                namespace = tuple(memory["metadata"]["namespace"])
                if all(_matches(one, namespace) for one in conditions):
                    found.add(namespace[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    def _sweep(self) -> Steps[int]:
        over = 0
        for user_id in (yield from self._users(())):
            filters = {"kind": DOCUMENT, "value": {"lte": end_of(0, _now())}, "metadata.within": {"exists": True}}
            for memory in (yield from _listed(user_id, filters, None)):
                yield from _decided(forget(memory["memory_id"], user_id=user_id))
                over += 1
        return over

    # -- users

    def _users(self, prefix: Sequence[str]) -> Steps[list[str]]:
        """Return the users whose items a prefix may match: one user, or all in the directory."""
        one = self._place.user_of(prefix)
        if one is not None:
            return [one]
        filters = {"kind": DOCUMENT, "metadata.user": {"exists": True}}
        try:
            entries = yield from _listed(DIRECTORY, filters, None)
        except Refused as error:
            raise Refused(f"{error}: begin the prefix with a user, or take a key for {DIRECTORY!r} too") from None
        with suppress(Refused):  # an older version listed users there; the key may lack access
            entries += yield from _listed(NOBODYS, filters, None)
        return sorted({self._place.user_id, *(str(entry["metadata"]["user"]) for entry in entries)})

    def _register(self, user_id: str) -> Steps[None]:
        """Add a user to the directory, once. If the key may not write there, the item is stored nevertheless."""
        if user_id in self._known or user_id == self._place.user_id:
            return
        attribute = key_of((), user_id)
        known = yield memories(DIRECTORY, kind=DOCUMENT, attribute=attribute)
        if not known.get("items") and "refused" not in known:
            yield remember(
                attribute, DIRECTORY, kind=DOCUMENT, attribute=attribute, value=FOREVER, metadata={"user": user_id}
            )
        self._known.add(user_id)


def _now() -> datetime:
    return datetime.now(UTC)


def _asked(call: Call[Json]) -> Steps[Json]:
    """Make a call and return its answer. Raises Refused."""
    answer: Json = yield call
    if "refused" in answer:
        raise answer["refused"]
    return answer


def _decided(call: Call[Json]) -> Steps[Json]:
    """Send a command until it is decided, and return the decision. Raises MnemologError."""
    for _ in range(DECISIONS_AWAITED):
        answer = yield from _asked(call)  # a repeat has the same key, and so is the same command
        if "memory_id" in answer:
            return answer
    raise Unavailable("the command is in the log and not decided yet: it will be")


def _newest(user_id: str, namespace: Sequence[str], key: str) -> Steps[Json | None]:
    found = yield from _asked(memories(user_id, kind=DOCUMENT, attribute=key_of(namespace, key)))
    items: list[Json] = found["items"]
    return max(items, key=lambda memory: (memory["formed_at"], memory["memory_id"]), default=None)


def _listed(user_id: str, filters: Mapping[str, Any], most: int | None) -> Steps[list[Json]]:
    """Return the matching documents, newest first: at most `most`, or all."""
    items: list[Json] = []
    for page in count(1):
        answer = yield from _asked(query_memories(user_id, filters, page=page, page_size=PAGE))
        items += answer["items"]
        if len(answer["items"]) < PAGE or (most is not None and len(items) >= most):
            break
    return items


def _compared(query: str, users: Sequence[str], filters: Mapping[str, Any]) -> Steps[list[tuple[Json, float | None]]]:
    """Return the matching items with vectors of the caller's embedder, the most similar first. Raises Refused."""
    [asked] = yield Texts((query,), is_query=True)
    found: list[Json] = []
    for user_id in users:
        found += yield from _listed(user_id, filters, MOST_COMPARED + 1 - len(found))
        if len(found) > MOST_COMPARED:
            raise Refused(f"more than {MOST_COMPARED} items would be compared here: name a longer prefix, or a filter")
    scores = [(memory, likeness(asked, memory["metadata"].get("vectors"))) for memory in found]
    return sorted((pair for pair in scores if pair[1] is not None), key=lambda pair: -(pair[1] or 0.0))


def _refresh(memory: Json) -> Steps[None]:
    """Restart an item's time to live, unless it was put again meanwhile."""
    until = end_of(memory["metadata"]["ttl"], _now())
    answer = yield revise(memory["memory_id"], user_id=memory["user_id"], value=until)
    if isinstance(answer.get("refused"), Refused) and not isinstance(answer["refused"], Conflict):
        raise answer["refused"]


def _fixed(condition: MatchCondition) -> tuple[str, ...]:
    """Return the parts of a prefix before its first wildcard."""
    path = list(condition.path)
    return tuple(path[: path.index("*")] if "*" in path else path)


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = (condition.path,) if isinstance(condition.path, str) else tuple(condition.path)
    if len(namespace) < len(path):
        return False
    parts = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", part) for wanted, part in zip(path, parts, strict=True))
