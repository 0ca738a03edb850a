"""A LangGraph item as a document of a user: its key, its searched text, and the filters that find it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from langgraph.store.base import InvalidNamespaceError, Item, SearchItem, get_text_at_path

from mnemolog.client.errors import Refused
from mnemolog.client.memories import remember

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langgraph.store.base import GetOp, PutOp, SearchOp

    from mnemolog.client.call import Call, Json

DOCUMENT: Final = "document"
FOREVER: Final = "forever"
"""A value in place of an expiry, which sorts after every expiry as text."""
_ITEM: Final = "metadata.item."
MAX_WORDS_BYTES: Final = 8 * 1024
"""The part of an item's text that is searched; more would hardly change its vector."""
_MOST_NUMBER: Final = sys.float_info.max
_INTEGERS: Final = range(-(2**63), 2**64)
"""The integers that mnemolog's JSON preserves exactly."""
_OPERATORS: Final = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


@dataclass(frozen=True, slots=True)
class Place:
    """The rule for the owners of items: the part of a namespace that names the user, or one user for all."""

    user_part: int | None
    user_id: str

    def user_of(self, namespace: Sequence[str]) -> str | None:
        """Return the user of a namespace; None for a prefix that can belong to several users."""
        if self.user_part is None:
            return self.user_id
        return namespace[self.user_part] if len(namespace) > self.user_part else None

    def owner_of(self, namespace: Sequence[str]) -> str:
        """Return the owner of an item: the store's own user if the namespace is too short to name one."""
        if not namespace:
            raise InvalidNamespaceError("the namespace is empty: say where the item belongs")
        return self.user_of(namespace) or self.user_id


def key_of(namespace: Sequence[str], key: str) -> str:
    """Return a hash of a namespace and a key: 32 hexadecimal digits."""
    return blake2b(json.dumps([list(namespace), key]).encode(), digest_size=16).hexdigest()


def indexed_paths(op: PutOp, fields: Sequence[str]) -> Sequence[str]:
    """Return the paths of an item's value whose texts are searched."""
    if op.index is False:
        return ()
    return fields if op.index is None else op.index


def put_call(  # noqa: PLR0917 - the parts of an item
    op: PutOp,
    user_id: str,
    created_at: str | None,
    fields: Sequence[str],
    now: datetime,
    vectors: Sequence[str] | None = None,
) -> Call[Json]:
    """Return the command that stores an item, with the vectors of the caller's embedder if there is one.

    Raises Refused for a value that JSON cannot represent.
    """
    try:
        value = json.loads(json.dumps(op.value, allow_nan=False), parse_int=_integer)
    except (TypeError, ValueError) as error:
        raise Refused(f"the value of {op.key!r} cannot be kept: {error}") from None
    words = _words(value, indexed_paths(op, fields))
    metadata = {
        "namespace": list(op.namespace),
        "within": [within(op.namespace[:n]) for n in range(len(op.namespace) + 1)],
        "key": op.key,
        "item": value,
        "created_at": created_at or now.isoformat(),
        "ttl": op.ttl,
        "is_indexed": bool(words),
    } | ({} if vectors is None else {"vectors": list(vectors)})
    return remember(
        "\n".join(words) or key_of(op.namespace, op.key),
        user_id,
        kind=DOCUMENT,
        attribute=key_of(op.namespace, op.key),
        value=end_of(op.ttl, now),
        metadata=metadata,
    )


def _integer(text: str) -> int:
    number = int(text)
    if number not in _INTEGERS:
        raise ValueError(f"the integer {text[:32]} has more than 64 bits: write it as a text")
    return number


def _words(value: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    texts = [text for name in fields for text in get_text_at_path(value, name) if text.strip()]
    words = "\n".join(texts).encode()[:MAX_WORDS_BYTES].decode(errors="ignore")
    return [words] if words else []


def within(prefix: Sequence[str]) -> str:
    """Return a prefix of a namespace as text."""
    return json.dumps(list(prefix))


def end_of(minutes: float | None, now: datetime) -> str:
    """Return the expiry of an item that is refreshed now, as text that sorts by time."""
    return FOREVER if minutes is None else _instant(now + timedelta(minutes=minutes))


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def filters_of(prefix: Sequence[str], wanted: Mapping[str, Any] | None, now: datetime) -> dict[str, Any]:
    """Return the filter for the items below a prefix that have not expired.

    Raises ValueError for an unknown operator, and for a name that no member can have.
    """
    compared = [one for name, value in (wanted or {}).items() for one in _comparisons(f"{_ITEM}{name}", value)]
    ours: list[dict[str, Any]] = [
        {"value": {"gt": _instant(now)}},
        {"metadata.within": {"contains": within(prefix)}},
    ]
    return {"kind": DOCUMENT, "AND": ours + compared}


def _comparisons(path: str, wanted: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON value
    if not all(path.split(".")):
        raise ValueError(f"Invalid filter key: {path.removeprefix(_ITEM)!r} has an empty part between its dots")
    if not isinstance(wanted, dict):
        return [{path: _compared("eq", wanted)}]
    if any(name.startswith("$") for name in wanted):
        if unknown := [name for name in wanted if name not in _OPERATORS]:
            raise ValueError(f"Unsupported operator: {unknown[0]}; there are {', '.join(_OPERATORS)}")
        return [{path: _compared(_OPERATORS[name], value)} for name, value in wanted.items()]
    return [one for name, value in wanted.items() for one in _comparisons(f"{path}.{name}", value)]


def _compared(operator: str, wanted: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return a comparison in mnemolog's filter syntax; for a number that JSON lacks, an equivalent one."""
    if not isinstance(wanted, int | float) or isinstance(wanted, bool):
        return {operator: wanted}
    if -_MOST_NUMBER <= wanted <= _MOST_NUMBER:
        return {operator: wanted if isinstance(wanted, float) or wanted in _INTEGERS else float(wanted)}
    if operator == "ne":
        return {"nin": []}
    if operator in ("lt", "lte") and wanted > 0:
        return {"lte": _MOST_NUMBER}
    if operator in ("gt", "gte") and wanted < 0:
        return {"gte": -_MOST_NUMBER}
    return {"in": []}


def has_ended(memory: Json, now: datetime) -> bool:
    """Return whether an item has expired."""
    return str(memory["value"]) <= _instant(now)


def is_refreshed(memory: Json, op: GetOp | SearchOp) -> bool:
    """Return whether reading an item restarts its time to live."""
    return bool(op.refresh_ttl) and memory["metadata"]["ttl"] is not None


def item_of(memory: Json) -> Item:
    """Return the item that a document represents."""
    return Item(**_fields(memory))


def found_item(memory: Json, score: float | None) -> SearchItem:
    """Return the item of a document as a search result; its score is None if the query did not find it."""
    return SearchItem(**_fields(memory), score=score)


def _fields(memory: Json) -> dict[str, Any]:
    kept = memory["metadata"]
    return {
        "namespace": tuple(kept["namespace"]),
        "key": kept["key"],
        "value": kept["item"],
        "created_at": datetime.fromisoformat(kept["created_at"]),
        "updated_at": datetime.fromisoformat(memory["formed_at"]),
    }
